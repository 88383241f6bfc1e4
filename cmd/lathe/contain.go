//go:build unix

package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strconv"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// closeOnExec keeps files from the processes that this one starts.
func closeOnExec(fds ...int) {
	for _, fd := range fds {
		unix.CloseOnExec(fd)
	}
}

// containment is a second process at work, seen from the first.
type containment struct {
	app    *application
	what   string // the command, for messages
	text   bool   // the command's report would be text
	cmd    *exec.Cmd
	stdout printed
	stderr stderrFilter
	frames chan frame
	orders *os.File
	quiet  silence

	raw    string          // path of the raw file; "" before there is one
	code   int             // of the last frame
	ended  bool            // there was a last frame
	hung   time.Duration   // killed after this silence
	signal *interruptError // the first signal
	late   bool            // killed as the signal changed nothing
	junk   error           // what came through the pipe is no frame
}

type frame struct {
	kind    byte
	payload []byte
	err     error // no frame
}

// printed counts what is written to it.
type printed struct{ n int }

func (p *printed) Write(b []byte) (int, error) {
	p.n += len(b)
	return len(b), nil
}

// contain does the whole command line in a second process, and returns what it ended as.
func (app *application) contain(ctx context.Context, what string, text bool) error {
	c := &containment{app: app, what: what, text: text, quiet: silence{least: 2 * time.Minute, times: 50, grace: 5 * time.Second}}
	return c.run(ctx)
}

func (c *containment) run(ctx context.Context) error {
	if err := ctx.Err(); err != nil {
		return context.Cause(ctx)
	}
	frames, err := c.start()
	if err != nil {
		return fmt.Errorf("start the process that runs the kernel: %w", err)
	}
	defer frames.Close()
	defer c.orders.Close()
	stop := make(chan struct{})
	defer close(stop)
	go c.read(frames, stop)
	gone := make(chan struct{})
	go func() {
		_ = c.cmd.Wait() // its state says how it ended
		_ = frames.SetReadDeadline(time.Now().Add(time.Second))
		close(gone)
	}()
	c.follow(ctx, gone)
	_ = syscall.Kill(-c.cmd.Process.Pid, syscall.SIGKILL) // what it left behind
	c.stderr.flush()
	return c.outcome()
}

// start starts the process, in a group of its own: what a terminal sends reaches this one only.
func (c *containment) start() (*os.File, error) {
	exe, err := os.Executable()
	if err != nil {
		return nil, err
	}
	frames, theirFrames, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	defer theirFrames.Close()
	theirOrders, orders, err := os.Pipe()
	if err != nil {
		frames.Close()
		return nil, err
	}
	defer theirOrders.Close()
	mode := containedPlain
	if c.app.term.isTTY {
		mode = containedTerminal
	}
	c.frames = make(chan frame)
	c.orders, c.stderr.pass = orders, c.app.term.pass
	c.cmd = exec.Command(exe, append([]string{containedProcess, mode}, c.app.argv...)...)
	c.cmd.Stdin, c.cmd.Stdout, c.cmd.Stderr = c.app.stdin, &c.stdout, &c.stderr
	c.cmd.ExtraFiles = []*os.File{theirFrames, theirOrders}
	c.cmd.WaitDelay = time.Second // a process that it left behind may hold the pipes
	c.cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	c.quiet.last = time.Now()
	if err := c.cmd.Start(); err != nil {
		frames.Close()
		orders.Close()
		return nil, err
	}
	return frames, nil
}

// read passes frames on until they end.
func (c *containment) read(from *os.File, stop <-chan struct{}) {
	defer close(c.frames)
	for r := bufio.NewReader(from); ; {
		kind, payload, err := readFrame(r)
		for _, end := range []error{io.EOF, io.ErrUnexpectedEOF, os.ErrDeadlineExceeded, os.ErrClosed} {
			if errors.Is(err, end) {
				return
			}
		}
		select {
		case c.frames <- frame{kind, payload, err}:
		case <-stop:
			return
		}
		if err != nil {
			return
		}
	}
}

// follow returns when the process is gone and its frames are read.
func (c *containment) follow(ctx context.Context, gone <-chan struct{}) {
	signals, frames := ctx.Done(), c.frames
	timer := time.NewTimer(time.Hour)
	defer timer.Stop()
	for gone != nil || frames != nil {
		if left, watched := c.left(); watched && gone != nil {
			timer.Reset(left)
		}
		select {
		case f, open := <-frames:
			if !open {
				frames = nil
			} else {
				c.take(f)
			}
		case <-gone:
			gone = nil
		case <-signals:
			signals = nil
			c.interrupt(ctx)
		case <-timer.C:
			if left, watched := c.left(); watched && left <= 0 && gone != nil {
				c.giveUp()
			}
		}
	}
}

// left is how long the process may still be silent; watched is false while that is not asked.
func (c *containment) left() (left time.Duration, watched bool) {
	since := time.Since(c.quiet.last)
	switch {
	case c.late || c.hung > 0 || c.junk != nil:
		return 0, false // killed already
	case c.signal != nil:
		return c.quiet.graceLimit() - since, true
	}
	return c.quiet.limit() - since, c.quiet.recording
}

// take does what a frame asks for. Every frame is a sign of life.
func (c *containment) take(f frame) {
	c.quiet.heard(time.Now())
	switch {
	case f.err != nil:
		c.junk = f.err
		c.kill()
	case f.kind == frameResult:
		_, _ = c.app.term.out.Write(f.payload) // it remembers the error
	case f.kind == frameSaid:
		c.app.term.pass(f.payload)
	case f.kind == frameRaw:
		c.raw, c.quiet.recording = string(f.payload), true
	case f.kind == frameEnd:
		c.code, f.err = strconv.Atoi(string(f.payload))
		c.ended = f.err == nil
	}
}

// interrupt passes the signal that ended ctx on.
func (c *containment) interrupt(ctx context.Context) {
	cause, ok := interrupted(ctx)
	if !ok {
		cause = &interruptError{name: "SIGINT", code: exitInterrupted}
	}
	c.signal = cause
	c.quiet.last = time.Now()
	_, _ = c.orders.Write([]byte{byte(cause.code)})
}

// giveUp kills a process that was silent for too long.
func (c *containment) giveUp() {
	if c.signal != nil {
		c.late = true
	} else {
		c.hung = time.Since(c.quiet.last)
	}
	c.kill()
}

func (c *containment) kill() { _ = syscall.Kill(-c.cmd.Process.Pid, syscall.SIGKILL) }

// outcome is the command's end.
func (c *containment) outcome() error {
	c.app.term.clearProgress()
	switch {
	case c.late:
		c.app.term.say("the kernel did not return and was killed; %s", c.onDisk())
		return c.signal
	case !c.ended:
		return c.invalid("%s", c.death())
	case c.stdout.n > 0:
		return &exitError{code: exitInvalid, err: fmt.Errorf("%s: the kernel wrote %d bytes to standard output", c.what, c.stdout.n),
			hint: "whatever stands above is void: a kernel that prints does other work than it was checked for"}
	case c.app.term.out.err != nil:
		return fmt.Errorf("write the results: standard output: %w", c.app.term.out.err)
	}
	return verdict(c.code)
}

// death says how a process that did not end as it should did end.
func (c *containment) death() string {
	status, _ := c.cmd.ProcessState.Sys().(syscall.WaitStatus)
	switch {
	case c.hung > 0:
		return fmt.Sprintf("the kernel hangs: nothing was recorded for %v", c.hung.Round(time.Second))
	case c.junk != nil:
		return fmt.Sprintf("the kernel wrote to a file that is not its own: %v", c.junk)
	case c.stderr.dump != "":
		return "the kernel crashed: " + c.stderr.crash()
	case status.Signaled() && status.Signal() == syscall.SIGKILL:
		return "the process that runs the kernel was killed: by the system where memory ran out, or by somebody"
	case status.Signaled() && signalWords(unix.SignalName(status.Signal())) != "":
		return "the kernel crashed: " + signalWords(unix.SignalName(status.Signal()))
	case status.Signaled():
		return "the process that runs the kernel was ended by " + unix.SignalName(status.Signal())
	}
	return fmt.Sprintf("the kernel ended the process: exit code %d", status.ExitStatus())
}

// invalid is exit code 4; where a comparison would have printed its verdict, this one stands.
func (c *containment) invalid(format string, args ...any) error {
	if c.what == "compare" && c.text {
		fmt.Fprintln(c.app.term.out, "verdict: invalid")
		if c.raw != "" {
			fmt.Fprintf(c.app.term.out, "raw: %s\n", c.raw)
		}
	}
	return &exitError{code: exitInvalid, err: fmt.Errorf("%s: "+format, append([]any{c.what}, args...)...), hint: c.onDisk()}
}

// onDisk names what is left of the run.
func (c *containment) onDisk() string {
	if c.raw == "" {
		return "nothing was recorded"
	}
	return fmt.Sprintf("%s holds what was recorded, without its end", c.raw)
}
