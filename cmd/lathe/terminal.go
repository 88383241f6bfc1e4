package main

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"sync"
	"unicode"
)

// terminal owns the two streams. stdout carries results only; everything said about them (error:,
// hint:, warning:, progress) goes to stderr. A warning is said once. Writes to stdout that fail are
// remembered, so that a full disk behind a redirection is an error and not a short file.
type terminal struct {
	out      *stickyWriter
	err      io.Writer
	isTTY    bool
	mu       sync.Mutex
	progress string
	pending  bool // a progress line stands without its newline
	warned   map[string]bool
}

func newTerminal(stdout, stderr io.Writer) *terminal {
	return &terminal{
		out: &stickyWriter{w: stdout}, err: stderr, isTTY: isTerminal(stderr),
		progress: progressAuto, warned: map[string]bool{},
	}
}

// stickyWriter keeps the first error of w.
type stickyWriter struct {
	w   io.Writer
	err error
}

func (s *stickyWriter) Write(p []byte) (int, error) {
	if s.err != nil {
		return 0, s.err
	}
	n, err := s.w.Write(p)
	if err != nil {
		s.err = err
	}
	return n, err
}

// warn prints a warning once, however often it is raised.
func (t *terminal) warn(format string, args ...any) {
	text := oneLine(fmt.Sprintf(format, args...))
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.warned[text] {
		return
	}
	t.warned[text] = true
	t.lineLocked("warning: " + text)
}

// fail prints an error and, where it carries one, its hint.
func (t *terminal) fail(err error) {
	var coded *exitError
	if errors.As(err, &coded) && coded.err == nil {
		return
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	t.lineLocked("error: " + oneLine(err.Error()))
	var hinted interface{ Hint() string }
	if errors.As(err, &hinted) && hinted.Hint() != "" {
		t.lineLocked("hint: " + oneLine(hinted.Hint()))
	}
}

// say prints a line that is neither a result nor a complaint, such as where a file was left.
func (t *terminal) say(format string, args ...any) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.lineLocked(oneLine(fmt.Sprintf(format, args...)))
}

// pass writes what another process of this program said, as it said it.
func (t *terminal) pass(p []byte) {
	t.mu.Lock()
	defer t.mu.Unlock()
	_, _ = t.err.Write(p)
	t.pending = t.isTTY && len(p) > 0 && !bytes.HasSuffix(p, []byte("\n")) && !bytes.HasSuffix(p, []byte("\x1b[K"))
}

func (t *terminal) lineLocked(line string) {
	if t.pending {
		t.pending = false
		line = "\r\x1b[K" + line
	}
	fmt.Fprintln(t.err, line)
}

// oneLine keeps a message on the line that the contract gives it, and what steers a terminal visible
// instead: a message may quote an argument or a file.
func oneLine(s string) string {
	return visible(strings.Join(strings.FieldsFunc(strings.TrimSpace(s), func(r rune) bool { return r == '\n' || r == '\r' }), "; "))
}

// visible shows what would steer a terminal, line ends too, as escapes.
func visible(s string) string {
	var b strings.Builder
	for _, r := range s {
		switch {
		case unicode.IsControl(r) && r != '\t':
			fmt.Fprintf(&b, `\x%02x`, r)
		case r >= 0x202a && r <= 0x202e, r >= 0x2066 && r <= 0x2069: // the direction of writing
			fmt.Fprintf(&b, `\u%04x`, r)
		default:
			b.WriteRune(r)
		}
	}
	return b.String()
}

// Progress modes of --progress.
const (
	progressAuto   = "auto"
	progressAlways = "always"
	progressNever  = "never"
)

func (t *terminal) setProgress(mode string) {
	t.mu.Lock()
	t.progress = mode
	t.mu.Unlock()
}

// showProgress says how far a sweep is. On a terminal it rewrites one line; elsewhere it prints
// lines, and only under --progress always. Never call it between two clock reads.
func (t *terminal) showProgress(done, total int, label string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.progress == progressNever || (t.progress == progressAuto && !t.isTTY) {
		return
	}
	line := fmt.Sprintf("[%d/%d] %s", done, total, oneLine(label))
	if !t.isTTY {
		fmt.Fprintln(t.err, line)
		return
	}
	fmt.Fprint(t.err, "\r\x1b[K"+line)
	t.pending = true
}

// showsProgress says whether showProgress would print anything.
func (t *terminal) showsProgress() bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.progress == progressAlways || t.progress == progressAuto && t.isTTY
}

// clearProgress removes the progress line, before results are printed.
func (t *terminal) clearProgress() {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.pending {
		t.pending = false
		fmt.Fprint(t.err, "\r\x1b[K")
	}
}

// isTerminal reports whether w is a character device other than the null device.
func isTerminal(w io.Writer) bool {
	f, ok := w.(*os.File)
	if !ok {
		return false
	}
	info, err := f.Stat()
	if err != nil || info.Mode()&os.ModeCharDevice == 0 {
		return false
	}
	null, err := os.Stat(os.DevNull)
	return err != nil || !os.SameFile(info, null)
}
