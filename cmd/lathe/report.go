package main

import (
	"context"
	"errors"
)

// runReport does the command.
func runReport(ctx context.Context, app *application, o reportOptions) error {
	return errors.New("not wired yet")
}
