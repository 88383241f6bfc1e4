package bench

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
)

// appendTo opens an existing raw file behind its last whole line.
func appendTo(path string) (*Writer, error) {
	if compressionOf(path) != plain {
		return rewrite(path)
	}
	f, err := os.OpenFile(path, os.O_RDWR, 0)
	if err != nil {
		return nil, err
	}
	if _, err := claim(f, path); err != nil {
		f.Close()
		return nil, err
	}
	w, err := appendPlain(f, path)
	if err != nil {
		f.Close()
		return nil, err
	}
	return w, nil
}

func appendPlain(f *os.File, path string) (*Writer, error) {
	last, start, err := lastLine(f)
	if err != nil {
		return nil, err
	}
	size := start + int64(len(last))
	var warnings []string
	if !isRecord(last) && len(last) > 0 {
		warnings = append(warnings, tornWarning(len(last)))
		size, last = start, nil
		if err := f.Truncate(size); err != nil {
			return nil, err
		}
	}
	if _, err := f.Seek(size, io.SeekStart); err != nil {
		return nil, err
	}
	if len(last) > 0 && last[len(last)-1] != '\n' {
		if _, err := f.Write([]byte("\n")); err != nil {
			return nil, err
		}
		size++
	}
	w, err := newWriter(f, path, size)
	if err != nil {
		return nil, err
	}
	w.warnings = warnings
	return w, nil
}

// lastLine reads backwards to the line end before the last line, which is
// returned with its own line end where it has one, and with its offset.
func lastLine(f *os.File) (line []byte, start int64, err error) {
	st, err := f.Stat()
	if err != nil {
		return nil, 0, err
	}
	const chunk = 64 << 10
	for start = st.Size(); start > 0; {
		n := min(start, chunk)
		if int64(len(line))+n > MaxLine+chunk {
			return nil, 0, fmt.Errorf("%s: last line: %w", f.Name(), ErrLineTooLong)
		}
		grown := make([]byte, n, n+int64(len(line)))
		if _, err := f.ReadAt(grown, start-n); err != nil {
			return nil, 0, err
		}
		line = append(grown, line...)
		start -= n
		if i := bytes.LastIndexByte(bytes.TrimSuffix(line, []byte("\n")), '\n'); i >= 0 {
			return line[i+1:], start + int64(i) + 1, nil
		}
	}
	return line, 0, nil
}

func isRecord(line []byte) bool {
	return bytes.HasPrefix(bytes.TrimSpace(line), []byte("{")) && json.Valid(line)
}

func tornWarning(n int) string {
	return fmt.Sprintf("the last line was torn: %d bytes dropped", n)
}

// rewrite copies the whole lines of a compressed file into a new one beside it,
// which takes its place and stays open: a stream that was cut has no end that
// another could follow.
func rewrite(path string) (*Writer, error) {
	in, err := os.OpenFile(path, os.O_RDWR, 0)
	if err != nil {
		return nil, err
	}
	defer in.Close()
	if _, err := claim(in, path); err != nil {
		return nil, err
	}
	tmp, err := os.CreateTemp(filepath.Dir(path), filepath.Base(path)+".resume-*")
	if err != nil {
		return nil, err
	}
	w, err := newWriter(tmp, path, 0)
	if err != nil {
		os.Remove(tmp.Name())
		return nil, err
	}
	if err = lock(tmp); err == nil { // before it has the path
		err = w.copyLines(in)
	}
	if err == nil {
		err = os.Rename(tmp.Name(), path)
	}
	if err != nil {
		tmp.Close()
		os.Remove(tmp.Name())
		return nil, err
	}
	return w, nil
}

// copyLines copies the whole lines of a compressed stream and syncs.
func (w *Writer) copyLines(in *os.File) error {
	st, err := in.Stat()
	if err != nil {
		return err
	}
	if tmp, ok := w.file.(*os.File); ok {
		if err := tmp.Chmod(st.Mode().Perm()); err != nil {
			return err
		}
	}
	z, err := decompress(in)
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		w.warnings = append(w.warnings, tornWarning(int(st.Size())))
		return w.sync()
	}
	if err != nil {
		return err
	}
	defer z.Close()
	lines := newLineReader(z)
	for {
		line, err := lines.next()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return err
		}
		if lines.atEnd() && !isRecord(line) {
			w.warnings = append(w.warnings, tornWarning(len(line)))
			break
		}
		w.z.Write(line) // an error of the file shows at the flush
		w.z.Write([]byte("\n"))
	}
	w.buf.Reset()
	if err := w.flush(); err != nil {
		return err
	}
	return w.sync()
}
