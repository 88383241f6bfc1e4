package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"testing"
)

func TestTerminalLines(t *testing.T) {
	var out, errs bytes.Buffer
	term := newTerminal(&out, &errs)
	term.warn("a %s", "thing")
	term.warn("a thing")
	term.warn("another\nthing\r\n")
	term.fail(usageError("do\nthat", "open x: no such\nfile"))
	term.fail(fmt.Errorf("wrapped: %w", usageError("deep hint", "why")))
	term.fail(verdict(exitInvalid))
	want := "warning: a thing\nwarning: another; thing\nerror: open x: no such; file\nhint: do; that\nerror: wrapped: why\nhint: deep hint\n"
	if got := errs.String(); got != want {
		t.Errorf("got:\n%s\nwant:\n%s", got, want)
	}
	if out.Len() > 0 {
		t.Errorf("on stdout: %q", out.String())
	}
}

func TestProgress(t *testing.T) {
	cases := []struct {
		mode  string
		isTTY bool
		want  string
	}{
		{progressAuto, false, ""},
		{progressNever, true, ""},
		{progressAlways, false, "[1/2] batch 1\n[2/2] batch 4\nwarning: w\n"},
		{progressAuto, true, "\r\x1b[K[1/2] batch 1\r\x1b[K[2/2] batch 4\r\x1b[Kwarning: w\n"},
	}
	for _, c := range cases {
		var errs bytes.Buffer
		term := newTerminal(&bytes.Buffer{}, &errs)
		term.isTTY = c.isTTY
		term.setProgress(c.mode)
		term.showProgress(1, 2, "batch 1")
		term.showProgress(2, 2, "batch 4")
		if c.mode == progressAlways || (c.mode == progressAuto && c.isTTY) {
			term.warn("w")
		}
		term.clearProgress()
		if got := errs.String(); got != c.want {
			t.Errorf("%s, terminal %v: %q, want %q", c.mode, c.isTTY, got, c.want)
		}
	}
}

func TestNullDeviceIsNoTerminal(t *testing.T) {
	null, err := os.OpenFile(os.DevNull, os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer null.Close()
	if isTerminal(null) {
		t.Error("the null device is no terminal")
	}
}

func TestExitCodes(t *testing.T) {
	plain := context.Background()
	cancelled, cancel := context.WithCancelCause(plain)
	cancel(&interruptError{name: "SIGTERM", code: exitTerminated})
	other, stop := context.WithCancel(plain)
	stop()
	cases := []struct {
		name string
		ctx  context.Context
		err  error
		want int
	}{
		{"nothing wrong", plain, nil, 0},
		{"usage", plain, usageError("", "x"), 2},
		{"an error of a library", plain, errors.New("x"), 2},
		{"regression", plain, verdict(exitRegression), 1},
		{"wrapped verdict", plain, fmt.Errorf("x: %w", verdict(exitInconclusive)), 3},
		{"invalid", plain, verdict(exitInvalid), 4},
		{"pass", plain, verdict(exitPass), 0},
		{"signal, told by its cause", cancelled, context.Cause(cancelled), 143},
		{"signal, told as cancelled", cancelled, fmt.Errorf("measure: %w", context.Canceled), 143},
		{"signal, but the command failed of itself", cancelled, errors.New("disk full"), 2},
		{"signal, but the command had finished", cancelled, nil, 0},
		{"cancelled without a signal", other, context.Canceled, 2},
		{"SIGINT", plain, fmt.Errorf("x: %w", interruptFrom(os.Interrupt)), 130},
	}
	for _, c := range cases {
		if got := exitCode(c.ctx, c.err); got != c.want {
			t.Errorf("%s: %d, want %d", c.name, got, c.want)
		}
	}
}

// fullDisk takes n bytes.
type fullDisk struct{ n int }

func (d *fullDisk) Write(p []byte) (int, error) {
	if len(p) > d.n {
		n := d.n
		d.n = 0
		return n, errors.New("no space left on device")
	}
	d.n -= len(p)
	return len(p), nil
}

func TestFullDiskBehindStdout(t *testing.T) {
	for _, args := range [][]string{{"version"}, {"doctor"}, {"help"}} {
		var errs bytes.Buffer
		code := run(context.Background(), args, strings.NewReader(""), &fullDisk{5}, &errs, func(string) (string, bool) { return "", false })
		if code != 2 || errs.String() != "error: write the results: standard output: no space left on device\n" && !strings.HasPrefix(errs.String(), "error: no space left") {
			t.Errorf("%v: exit %d: %s", args, code, errs.String())
		}
	}
}

// TestPanicIsOneErrorLine: an environment that panics stands for any fault inside.
func TestPanicIsOneErrorLine(t *testing.T) {
	var out, errs bytes.Buffer
	code := run(context.Background(), []string{"version"}, strings.NewReader(""), &out, &errs, func(string) (string, bool) { panic("index out of range\n[3]") })
	if code != 2 {
		t.Errorf("exit %d", code)
	}
	if want := "error: internal: index out of range; [3]\nhint: this is a fault of lathe; please report the command line\n"; errs.String() != want {
		t.Errorf("%q", errs.String())
	}
}

// TestMessagesCannotSteerTheTerminal: a message quotes arguments and files.
func TestMessagesCannotSteerTheTerminal(t *testing.T) {
	var out strings.Builder
	term := newTerminal(nil, &out)
	term.fail(usageError("a\u202eb", "open %s: no\r\nsuch file\tthere", "x\x1b]0;title\x07\u009b31m\x7f"))
	term.warn("%s", "é\x00")
	want := "error: open x\\x1b]0;title\\x07\\x9b31m\\x7f: no; such file\tthere\nhint: a\\u202eb\nwarning: é\\x00\n"
	if out.String() != want {
		t.Errorf("%q, want %q", out.String(), want)
	}
}
