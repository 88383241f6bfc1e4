package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"lathe/bench"
	"lathe/bench/report"
)

// rowFile is --result-filename of one-batch: a line a point, appended when the point is done, so that
// a crash loses none of the finished ones.
type rowFile struct {
	file    *os.File
	runName string
	regular bool // a pipe or a device takes rows too, and has none to read back
}

// openRows opens the file for appending before anything is measured.
func openRows(path, runName string) (*rowFile, error) {
	if dir := filepath.Dir(path); dir != "." {
		if err := os.MkdirAll(dir, 0o777); err != nil {
			return nil, usageError("--result-filename names another place", "open result file: %w", err)
		}
	}
	r, mode := &rowFile{runName: runName, regular: true}, os.O_RDWR
	if info, err := os.Stat(path); err == nil && !info.Mode().IsRegular() && !info.IsDir() {
		r.regular, mode = false, os.O_WRONLY
	}
	f, err := os.OpenFile(path, os.O_APPEND|os.O_CREATE|mode, 0o666)
	if err != nil {
		return nil, usageError("--result-filename names another place", "open result file: %w", err)
	}
	r.file = f
	if err := r.endTornRow(); err != nil {
		f.Close()
		return nil, err
	}
	return r, nil
}

// differentFiles refuses a raw file and a result file that are one: each would damage the other.
func differentFiles(rawFlag, raw, resultFlag, result string) error {
	if raw == "" || result == "" {
		return nil
	}
	a, errA := os.Stat(raw)
	b, errB := os.Stat(result)
	same := errA == nil && errB == nil && os.SameFile(a, b)
	if absA, err := filepath.Abs(raw); err == nil && !same {
		absB, err := filepath.Abs(result)
		same = err == nil && absA == absB
	}
	if same {
		return usageError("", "%s and %s are the same file: %s", rawFlag, resultFlag, raw)
	}
	return nil
}

// read gives what stands in the file; nothing of a device, which may never end.
func (r *rowFile) read() ([]byte, error) {
	if !r.regular {
		return nil, nil
	}
	have, err := io.ReadAll(io.NewSectionReader(r.file, 0, 1<<62))
	if err != nil {
		return nil, fmt.Errorf("read result file: %w", err)
	}
	return have, nil
}

// endTornRow makes the file end with a whole line, whoever wrote it: a last line that is no JSON is
// the rest of a killed process and is cut off, one that is gets the newline that it lacks.
func (r *rowFile) endTornRow() error {
	have, err := r.read()
	if err != nil {
		return err
	}
	at := bytes.LastIndexByte(have, '\n') + 1
	switch {
	case at == len(have):
		return nil
	case json.Valid(have[at:]):
		_, err = r.file.WriteString("\n")
	default:
		err = r.file.Truncate(int64(at))
	}
	if err != nil {
		return fmt.Errorf("end the torn last row of the result file: %w", err)
	}
	return nil
}

// append writes the rows of a file's finished points.
func (r *rowFile) append(f *bench.File) error {
	var buf bytes.Buffer
	if err := report.WriteOneBatchRows(&buf, report.OneBatchRows(f, r.runName)); err != nil {
		return err
	}
	if _, err := r.file.Write(buf.Bytes()); err != nil {
		return fmt.Errorf("append to result file: %w", err)
	}
	return nil
}

// catchUp appends the rows of a resumed run's finished points that the file lacks: the process may
// have been killed between a point's line and its row.
func (r *rowFile) catchUp(before *bench.File) error {
	have, err := r.read()
	if err != nil {
		return err
	}
	var buf, missing bytes.Buffer
	if err := report.WriteOneBatchRows(&buf, report.OneBatchRows(before, r.runName)); err != nil {
		return err
	}
	for line := range bytes.Lines(buf.Bytes()) {
		if !bytes.Contains(have, line) {
			missing.Write(line)
		}
	}
	if _, err := r.file.Write(missing.Bytes()); err != nil {
		return fmt.Errorf("append to result file: %w", err)
	}
	return nil
}

// Close closes the file; an empty one that nothing was written to is left as it is.
func (r *rowFile) Close() { r.file.Close() }
