package main

import (
	"bytes"
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
}

// openRows opens the file for appending before anything is measured.
func openRows(path, runName string) (*rowFile, error) {
	if dir := filepath.Dir(path); dir != "." {
		if err := os.MkdirAll(dir, 0o777); err != nil {
			return nil, usageError("--result-filename names another place", "open result file: %w", err)
		}
	}
	f, err := os.OpenFile(path, os.O_APPEND|os.O_CREATE|os.O_RDWR, 0o666)
	if err != nil {
		return nil, usageError("--result-filename names another place", "open result file: %w", err)
	}
	return &rowFile{file: f, runName: runName}, nil
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
// have been killed between a point's line and its row. A torn last row is ended first.
func (r *rowFile) catchUp(before *bench.File) error {
	have, err := io.ReadAll(io.NewSectionReader(r.file, 0, 1<<62))
	if err != nil {
		return fmt.Errorf("read result file: %w", err)
	}
	var buf, missing bytes.Buffer
	if err := report.WriteOneBatchRows(&buf, report.OneBatchRows(before, r.runName)); err != nil {
		return err
	}
	if len(have) > 0 && have[len(have)-1] != '\n' {
		torn := bytes.LastIndexByte(have, '\n') + 1
		if err := r.file.Truncate(int64(torn)); err != nil {
			return fmt.Errorf("cut the torn last row of the result file: %w", err)
		}
		have = have[:torn]
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
