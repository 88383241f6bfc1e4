package main

import (
	"fmt"
	"io"
	"os"
	"path/filepath"
)

// resultFile is a result that replaces an older one only when it is whole: it is written beside it
// and renamed. A pipe or a device, which must not be replaced, is written to.
type resultFile struct {
	path   string // as given, for messages
	target string // what is replaced: behind the links of path; "" for a pipe or a device
	file   *os.File
}

// openResult opens the file before anything is measured; nil for "".
func openResult(flag, path string) (*resultFile, error) {
	if path == "" {
		return nil, nil
	}
	r := &resultFile{path: path, target: path}
	info, err := os.Stat(path)
	if err == nil {
		r.target, err = filepath.EvalSymlinks(path)
	}
	switch {
	case err != nil: // not there yet
		r.target = path
		r.file, err = beside(path)
	case info.IsDir():
		err = fmt.Errorf("is a directory")
	case info.Mode().IsRegular():
		r.file, err = beside(r.target)
	default:
		r.target = ""
		r.file, err = os.OpenFile(path, os.O_WRONLY, 0)
	}
	if err != nil {
		return nil, usageError(flag+" names another place", "open result file: %s: %w", path, err)
	}
	return r, nil
}

// beside makes a new file in the directory of path.
func beside(path string) (*os.File, error) {
	return os.CreateTemp(filepath.Dir(path), "."+filepath.Base(path)+".*")
}

// commit makes what was written the result.
func (r *resultFile) commit(write func(io.Writer) error) error {
	err := write(r.file)
	if err == nil && r.target != "" {
		err = r.file.Chmod(0o644)
	}
	if closed := r.file.Close(); err == nil {
		err = closed
	}
	if err == nil && r.target != "" {
		err = os.Rename(r.file.Name(), r.target)
	}
	if err != nil {
		return fmt.Errorf("write result file: %s: %w", r.path, err)
	}
	return nil
}

// discard removes what was not committed.
func (r *resultFile) discard() {
	if r == nil {
		return
	}
	r.file.Close()
	if r.target != "" {
		os.Remove(r.file.Name())
	}
}
