package main

import (
	"context"
	"errors"
)

// runGenerate does the command.
func runGenerate(ctx context.Context, app *application, o generateOptions) error {
	return errors.New("not wired yet")
}
