package main

import (
	"context"
	"errors"
)

// runOneBatch does the command.
func runOneBatch(ctx context.Context, app *application, o oneBatchOptions) error {
	return errors.New("not wired yet")
}
