package main

import (
	"context"
	"errors"
)

// runModelInfo does model info.
func runModelInfo(ctx context.Context, app *application, o modelInfoOptions) error {
	return errors.New("not wired yet")
}

// runModelFetch does model fetch.
func runModelFetch(ctx context.Context, app *application, o modelFetchOptions) error {
	return errors.New("not wired yet")
}
