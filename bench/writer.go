package bench

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"sync"
	"syscall"
)

// Mode says what OpenWriter does with a file that exists.
type Mode int

// Modes of OpenWriter.
const (
	New    Mode = iota // refuse one that holds anything: the error is fs.ErrExist
	Append             // go on behind its last whole line
)

// errWritten says that another Writer, of this process or of another, has a file.
var errWritten = errors.New("is being written by another process")

// sink is the file below a Writer. It is an interface for the tests, which
// need a disk that fills up.
type sink interface {
	io.Writer
	Truncate(size int64) error
	Sync() error
	Close() error
}

// Writer appends records to a raw file. Every call writes whole lines and
// flushes them; the first error of the file sticks, and what stood in the file
// before the failing call stays readable. It is safe for concurrent use.
type Writer struct {
	mu       sync.Mutex
	name     string
	file     sink
	size     int64 // bytes handed to file
	whole    int64 // size after the last call that succeeded
	z        flusher
	buf      bytes.Buffer
	enc      *json.Encoder
	warnings []string
	err      error
	closed   bool
}

// OpenWriter opens the raw file path, compressed where its name ends in .gz or
// .zst. In mode Append a torn last line is cut off and Warnings says so; what is
// left of a file that ErrNoHeader is said of is empty.
//
// On a Unix a regular file is locked until Close: a second Writer for it is
// refused. Elsewhere nothing keeps two writers of one file apart.
func OpenWriter(path string, mode Mode) (*Writer, error) {
	w, err := openWriter(path, mode)
	if err != nil {
		return nil, fmt.Errorf("open raw file for writing: %w", err)
	}
	return w, nil
}

func openWriter(path string, mode Mode) (*Writer, error) {
	if mode == Append {
		return appendTo(path)
	}
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE, 0o644)
	if err != nil {
		return nil, err
	}
	st, err := claim(f, path)
	if err == nil && st.Mode().IsRegular() && st.Size() > 0 {
		err = &fs.PathError{Op: "open", Path: path, Err: fs.ErrExist}
	}
	if err != nil {
		f.Close()
		return nil, err
	}
	return newWriter(f, path, 0)
}

// claim locks a regular file, opened as path, and tells its state behind the
// lock. Where another file has taken the path meanwhile, somebody writes that.
func claim(f *os.File, path string) (fs.FileInfo, error) {
	st, err := f.Stat()
	if err != nil || !st.Mode().IsRegular() {
		return st, err
	}
	if err := lock(f); err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	now, err := os.Stat(path)
	if err != nil {
		return nil, err
	}
	if !os.SameFile(st, now) {
		return nil, fmt.Errorf("%s: %w", path, errWritten)
	}
	return f.Stat()
}

// newWriter writes behind the first size bytes of file.
func newWriter(file sink, path string, size int64) (*Writer, error) {
	w := &Writer{name: path, file: file, size: size, whole: size}
	z, err := compressionOf(path).writer(counter{w})
	if err != nil {
		file.Close()
		return nil, err
	}
	w.z = z
	w.enc = json.NewEncoder(&w.buf)
	w.enc.SetEscapeHTML(false)
	return w, nil
}

// counter counts what reaches the file, under the Writer's lock.
type counter struct{ w *Writer }

func (c counter) Write(p []byte) (int, error) {
	n, err := c.w.file.Write(p)
	c.w.size += int64(n)
	return n, err
}

// Write appends records, one line each, in one flush. A record that JSON cannot
// hold (NaN, an infinity) is an error, nothing of the call is written, and the
// file goes on.
func (w *Writer) Write(records ...any) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.buf.Reset()
	for _, r := range records {
		if err := w.encode(r); err != nil {
			return err
		}
	}
	return w.flush()
}

// WriteSteps is Write for the steps of a point, without boxing them.
func (w *Writer) WriteSteps(steps []Step) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.buf.Reset()
	for i := range steps {
		if err := w.encode(&steps[i]); err != nil {
			return err
		}
	}
	return w.flush()
}

func (w *Writer) encode(r any) error {
	if err := w.enc.Encode(r); err != nil {
		return fmt.Errorf("encode %T for raw file: %w", r, err)
	}
	return nil
}

func (w *Writer) flush() error {
	if w.err != nil {
		return w.err
	}
	if w.closed {
		return fmt.Errorf("write raw file: %w", fs.ErrClosed)
	}
	if _, err := w.z.Write(w.buf.Bytes()); err != nil {
		return w.fail("write", err)
	}
	if err := w.z.Flush(); err != nil {
		return w.fail("write", err)
	}
	w.whole = w.size
	return nil
}

// fail keeps the first error and cuts the file back to its last whole line. A
// file that cannot be cut (a pipe) keeps a torn line, which readers accept.
func (w *Writer) fail(doing string, err error) error {
	if w.err == nil {
		w.err = fmt.Errorf("%s raw file: %s: %w", doing, w.name, err)
		if w.size > w.whole && w.file.Truncate(w.whole) == nil {
			w.size = w.whole
		}
	}
	return w.err
}

// sync waits until what was written is on the medium. It is not called between
// points: what a call wrote is the system's and survives the death of the process.
func (w *Writer) sync() error {
	if w.err != nil {
		return w.err
	}
	// A pipe or a terminal has nothing to wait for and says EINVAL.
	if err := w.file.Sync(); err != nil && !errors.Is(err, syscall.EINVAL) && !errors.Is(err, syscall.ENOTSUP) {
		return w.fail("sync", err)
	}
	return nil
}

// Close ends the compressed stream, syncs, closes and unlocks. It returns the first
// error of the Writer's life.
func (w *Writer) Close() error {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.closed {
		return w.err
	}
	w.closed = true
	if w.err == nil {
		if err := w.z.Close(); err != nil {
			w.fail("write", err)
		} else {
			w.whole = w.size
			w.sync()
		}
	}
	if err := w.file.Close(); err != nil {
		w.fail("close", err)
	}
	return w.err
}

// Err is the first error of the file, nil while there is none.
func (w *Writer) Err() error {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.err
}

// Warnings says what opening in mode Append had to cut off.
func (w *Writer) Warnings() []string { return w.warnings }

// Path is the path that the file was opened with.
func (w *Writer) Path() string { return w.name }
