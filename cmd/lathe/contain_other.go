//go:build !unix

package main

import (
	"context"
	"errors"
)

func closeOnExec(...int) {}

// contain returns an error: this system's build starts no second process, and checks no kernel either.
func (app *application) contain(context.Context, string, bool) error {
	return usageError("", "%w", errors.New("a kernel runs in a process of its own, which this system's build does not start"))
}
