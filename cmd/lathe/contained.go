package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/binary"
	"fmt"
	"io"
	"os"
	"strconv"
	"strings"
	"sync"
	"time"

	"lathe/engine/native"
)

// A command that runs a user's kernel is done by a second process of this program, whose standard
// output is watched and whose end is judged: the kernel may exit, crash, hang or print. What that
// process itself has to say comes in frames through a pipe that is no standard stream: a byte that
// says what it is, the length as 32 bits, big end first, and the bytes.

// containedProcess is the word that makes this program that second process; one of the modes and the
// user's arguments follow. It is no command: nothing that a user types leads to it.
const containedProcess = "__contained"

// The modes: whether the first process's standard error is a terminal.
const (
	containedTerminal = "terminal"
	containedPlain    = "plain"
)

// What a frame holds.
const (
	frameResult byte = 'o' // for standard output
	frameSaid   byte = 'e' // for standard error
	frameAlive  byte = 'a' // nothing: records were written
	frameRaw    byte = 'r' // the path of the raw file, which has its header
	frameEnd    byte = 'x' // the exit code; the last one
)

// The files that the second process inherits beside its standard ones.
const (
	fdFrames = 3
	fdOrders = 4 // exit codes of signals, a byte each; its end is the first process's
)

// mostFrame bounds a frame; a longer one is no frame of ours.
const mostFrame = 1 << 20

// frameWriter sends frames of one kind.
type frameWriter struct {
	link *link
	kind byte
}

func (w frameWriter) Write(p []byte) (int, error) {
	for sent := 0; sent < len(p); {
		n := min(len(p)-sent, mostFrame)
		if err := w.link.send(w.kind, p[sent:sent+n]); err != nil {
			return sent, err
		}
		sent += n
	}
	return len(p), nil
}

// link is the second process's end of the pipe. A nil link, of a process that is no second one, sends
// nothing.
type link struct {
	mu   sync.Mutex
	to   io.Writer
	last time.Time // when frameAlive was sent
}

func (l *link) send(kind byte, p []byte) error {
	frame := append(binary.BigEndian.AppendUint32([]byte{kind}, uint32(len(p))), p...)
	l.mu.Lock()
	defer l.mu.Unlock()
	_, err := l.to.Write(frame)
	return err
}

// alive says that the run goes on, once a second at most: the first process shall not wake in every
// step. Never call it between two clock reads.
func (l *link) alive() {
	if l == nil {
		return
	}
	l.mu.Lock()
	now := time.Now()
	due := now.Sub(l.last) >= time.Second
	if due {
		l.last = now
	}
	l.mu.Unlock()
	if due {
		_ = l.send(frameAlive, nil) // a first process that is gone ends this one
	}
}

// raw names the raw file, once its header is written.
func (l *link) raw(path string) {
	if l != nil {
		_ = l.send(frameRaw, []byte(path))
	}
}

// readFrame reads one frame; io.EOF is the end between two.
func readFrame(r *bufio.Reader) (kind byte, payload []byte, err error) {
	if kind, err = r.ReadByte(); err != nil {
		return 0, nil, err
	}
	var size [4]byte
	if _, err = io.ReadFull(r, size[:]); err != nil {
		return 0, nil, err
	}
	n := binary.BigEndian.Uint32(size[:])
	if n > mostFrame || !strings.ContainsRune("oearx", rune(kind)) {
		return 0, nil, fmt.Errorf("read what the kernel's process says: no frame: %q, %d bytes", kind, n)
	}
	payload = make([]byte, n)
	_, err = io.ReadFull(r, payload)
	return kind, payload, err
}

// runContained is the whole program in the second process.
func runContained(ctx context.Context, args []string, stdin io.Reader, stderr io.Writer, lookup func(string) (string, bool)) int {
	frames, orders := os.NewFile(fdFrames, "frames"), os.NewFile(fdOrders, "orders")
	if len(args) < 1 || !isPipe(frames) || !isPipe(orders) {
		fmt.Fprintf(stderr, "error: unknown command: %q: lathe has no such command\n", containedProcess)
		return exitUsage
	}
	closeOnExec(fdFrames, fdOrders)
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	go obey(orders, cancel)
	l := &link{to: frames}
	app := newApplication(args[1:], stdin, frameWriter{l, frameResult}, frameWriter{l, frameSaid}, lookup)
	app.link, app.term.isTTY = l, args[0] == containedTerminal
	code := app.run(ctx)
	native.FlushStreams() // what a kernel printed and the library kept
	if err := l.send(frameEnd, []byte(strconv.Itoa(code))); err != nil {
		return exitUsage
	}
	return code
}

func isPipe(f *os.File) bool {
	info, err := f.Stat()
	return err == nil && info.Mode()&os.ModeNamedPipe != 0
}

// obey ends ctx with the signals that the first process got, and this process with that one.
func obey(orders io.Reader, cancel context.CancelCauseFunc) {
	var order [1]byte
	for {
		if _, err := io.ReadFull(orders, order[:]); err != nil {
			os.Exit(exitUsage)
		}
		name := "SIGINT"
		if order[0] == exitTerminated {
			name = "SIGTERM"
		}
		cancel(&interruptError{name: name, code: int(order[0])})
	}
}

// silence tells a process that hangs from one that is slow, by how long it has been silent before.
type silence struct {
	least     time.Duration // shortest silence that is a hang
	times     int           // how many times the longest silence before is one
	grace     time.Duration // shortest silence behind a signal that is one
	last      time.Time     // the last sign of life
	longest   time.Duration // silence so far
	between   time.Duration // silence so far since recording began
	recording bool          // nothing is a hang before
}

// heard notes a sign of life.
func (s *silence) heard(now time.Time) {
	d := now.Sub(s.last)
	s.longest = max(s.longest, d)
	if s.recording {
		s.between = max(s.between, d)
	}
	s.last = now
}

// limit is how long it may be silent: loading counts among the silences, as it grows with the model,
// and a long first prefill must not be taken for a hang.
func (s *silence) limit() time.Duration { return max(s.least, time.Duration(s.times)*s.longest) }

// graceLimit is how long it may be silent once a signal came.
func (s *silence) graceLimit() time.Duration { return max(s.grace, s.between) }

// stderrFilter passes a process's standard error on by lines, and keeps a Go crash dump, which is the
// last thing that a process says, to itself.
type stderrFilter struct {
	pass func(p []byte)
	line []byte // so far
	dump string // the first line of a dump; "" without one
}

// dumpStarts are what the first line of a dump may start with.
func dumpStarts() []string {
	return []string{"SIG", "panic:", "fatal error:", "fatal:", "runtime:", "unexpected fault address", "PC=", "[signal ", "goroutine "}
}

func (f *stderrFilter) Write(p []byte) (int, error) {
	for rest := p; len(rest) > 0 && f.dump == ""; {
		end := bytes.IndexByte(rest, '\n')
		if end < 0 {
			f.line = append(f.line, rest...)
			break
		}
		f.line = append(f.line, rest[:end+1]...)
		f.flush()
		rest = rest[end+1:]
	}
	if len(f.line) > mostFrame {
		f.flush()
	}
	return len(p), nil
}

// flush passes on what stands without its line's end.
func (f *stderrFilter) flush() {
	for _, start := range dumpStarts() {
		if f.dump == "" && bytes.HasPrefix(f.line, []byte(start)) {
			f.dump = strings.TrimSpace(string(f.line))
		}
	}
	if f.dump == "" && len(f.line) > 0 {
		f.pass(f.line)
	}
	f.line = f.line[:0]
}

// crash is what the dump says, in a word or two: "" without a dump.
func (f *stderrFilter) crash() string {
	name, _, _ := strings.Cut(f.dump, ":")
	if words := signalWords(name); words != "" {
		return words
	}
	return f.dump
}

// signalWords is a signal that a fault sends, in words; "" for others.
func signalWords(name string) string {
	switch name {
	case "SIGSEGV":
		return "segmentation fault"
	case "SIGBUS":
		return "bus error"
	case "SIGFPE":
		return "arithmetic fault"
	case "SIGILL":
		return "illegal instruction"
	case "SIGABRT":
		return "aborted"
	}
	return ""
}
