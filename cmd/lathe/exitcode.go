package main

import (
	"context"
	"errors"
	"fmt"
)

// Exit codes, fixed by the command-line contract.
const (
	exitPass         = 0   // faster, or no difference that matters
	exitRegression   = 1   // slower, or failed requests where asked to be strict
	exitUsage        = 2   // usage or internal error
	exitInconclusive = 3   // the samples do not decide
	exitInvalid      = 4   // invalid or not comparable
	exitInterrupted  = 130 // SIGINT
	exitQuit         = 131 // SIGQUIT, at once
	exitTerminated   = 143 // SIGTERM
)

// exitError is an error that decides the exit code. A nil err prints no error: line, for a verdict
// that the report has already told.
type exitError struct {
	code int
	err  error
	hint string
}

func (e *exitError) Error() string {
	if e.err == nil {
		return fmt.Sprintf("exit code %d", e.code)
	}
	return e.err.Error()
}

func (e *exitError) Unwrap() error { return e.err }

// Hint is what the user can do about it, or "".
func (e *exitError) Hint() string { return e.hint }

// usageError is exit code 2 with a hint ("" for none).
func usageError(hint, format string, args ...any) error {
	return &exitError{code: exitUsage, err: fmt.Errorf(format, args...), hint: hint}
}

// verdict ends the command with a code and no error: line.
func verdict(code int) error {
	if code == exitPass {
		return nil
	}
	return &exitError{code: code}
}

// interruptError is the cause of a context that a signal cancelled.
type interruptError struct {
	name string
	code int
}

func (e *interruptError) Error() string { return "interrupted by " + e.name }

// interrupted reports whether a signal ended ctx; a command that was cut short returns its error.
func interrupted(ctx context.Context) (*interruptError, bool) {
	var cause *interruptError
	ok := errors.As(context.Cause(ctx), &cause)
	return cause, ok
}

// exitCode is the process's code for what a command returned. A command that ended because the
// context did, whatever error its libraries made of that, has the code of the signal.
func exitCode(ctx context.Context, err error) int {
	if err == nil {
		return exitPass
	}
	var signal *interruptError
	if errors.As(err, &signal) {
		return signal.code
	}
	if cause, ok := interrupted(ctx); ok && errors.Is(err, context.Canceled) {
		return cause.code
	}
	var coded *exitError
	if errors.As(err, &coded) {
		return coded.code
	}
	return exitUsage
}
