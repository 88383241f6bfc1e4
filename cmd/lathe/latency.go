package main

import (
	"context"
	"errors"
)

// runLatency does the command.
func runLatency(ctx context.Context, app *application, o latencyOptions) error {
	return errors.New("not wired yet")
}
