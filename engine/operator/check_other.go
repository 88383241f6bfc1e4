//go:build !unix

package operator

import (
	"context"
	"errors"
)

// errSystem is why nothing is checked here.
var errSystem = errors.New("a kernel is checked in a process of its own, which this system's build does not start")

// Check returns an error.
func Check(context.Context, Options) (Verdict, error) { return Verdict{}, errSystem }

// Serve returns an error.
func Serve() error { return errSystem }
