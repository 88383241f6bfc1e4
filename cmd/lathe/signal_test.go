//go:build unix

package main

import (
	"bytes"
	"context"
	"errors"
	"os"
	"os/exec"
	"syscall"
	"testing"
)

// TestSignals starts this test as a child that signals itself: the first signal ends the context
// with the signal as its cause, the second ends the process with that signal's code.
func TestSignals(t *testing.T) {
	if which := os.Getenv("LATHE_TEST_SIGNAL"); which != "" {
		signalChild(which)
	}
	for which, want := range map[string]int{"INT": exitInterrupted, "TERM": exitTerminated, "INT then quit": exitPass} {
		child := exec.Command(os.Args[0], "-test.run", "^TestSignals$")
		child.Env = append(os.Environ(), "LATHE_TEST_SIGNAL="+which)
		var stderr bytes.Buffer
		child.Stderr = &stderr
		got := 0
		var ended *exec.ExitError
		if err := child.Run(); errors.As(err, &ended) {
			got = ended.ExitCode()
		}
		if got != want {
			t.Errorf("%s: exit %d, want %d: %s", which, got, want, stderr.String())
		}
		if want := "warning: interrupted: finishing the record being written (a second signal quits at once)\n"; stderr.String() != want {
			t.Errorf("%s: on stderr: %q", which, stderr.String())
		}
	}
}

// signalChild exits 0 when one signal cancelled the context with the right cause, and otherwise
// waits to be ended by the second.
func signalChild(which string) {
	s := syscall.SIGINT
	if which == "TERM" {
		s = syscall.SIGTERM
	}
	ctx, stop := interruptible(context.Background(), os.Stderr)
	_ = syscall.Kill(os.Getpid(), s)
	<-ctx.Done()
	cause, ok := interrupted(ctx)
	if !ok || exitCode(ctx, cause) != interruptFrom(s).code {
		os.Exit(99)
	}
	if which == "INT then quit" {
		stop()
		os.Exit(exitCode(ctx, nil))
	}
	_ = syscall.Kill(os.Getpid(), s)
	select {}
}
