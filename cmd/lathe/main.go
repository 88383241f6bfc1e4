package main

import (
	"context"
	"os"
	"os/signal"
	"syscall"
)

func main() {
	ctx, stop := interruptible(context.Background(), os.Stderr)
	code := run(ctx, os.Args[1:], os.Stdin, os.Stdout, os.Stderr, os.LookupEnv)
	stop()
	os.Exit(code)
}

// interruptible returns a context that the first SIGINT or SIGTERM cancels, with the signal as the
// cause. The second signal ends the process at once, with the code of that signal.
func interruptible(parent context.Context, stderr *os.File) (context.Context, func()) {
	ctx, cancel := context.WithCancelCause(parent)
	signals := make(chan os.Signal, 2)
	signal.Notify(signals, os.Interrupt, syscall.SIGTERM)
	quit := make(chan os.Signal, 1)
	signal.Notify(quit, syscall.SIGQUIT) // Go's own answer is a stack trace
	go func() {
		if _, open := <-quit; open {
			os.Exit(exitQuit)
		}
	}()
	go func() {
		first, open := <-signals
		if !open {
			return
		}
		_, _ = stderr.WriteString("warning: interrupted: finishing the record being written (a second signal quits at once)\n")
		cancel(interruptFrom(first))
		if second, open := <-signals; open {
			os.Exit(interruptFrom(second).code)
		}
	}()
	return ctx, func() {
		signal.Stop(signals)
		signal.Stop(quit)
		close(signals)
		close(quit)
		cancel(nil)
	}
}

// interruptFrom maps a signal to the exit code that shells give it: 128 + its number.
func interruptFrom(s os.Signal) *interruptError {
	if s == syscall.SIGTERM {
		return &interruptError{name: "SIGTERM", code: exitTerminated}
	}
	return &interruptError{name: "SIGINT", code: exitInterrupted}
}
