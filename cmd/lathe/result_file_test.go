package main

import (
	"errors"
	"io"
	"os"
	"path/filepath"
	"syscall"
	"testing"
)

func writeText(text string) func(io.Writer) error {
	return func(w io.Writer) error { _, err := io.WriteString(w, text); return err }
}

// TestResultFileReplaces: a result takes the place of an older one when it is whole, behind a link too,
// and one that was not committed leaves nothing.
func TestResultFileReplaces(t *testing.T) {
	dir := t.TempDir()
	file, link := filepath.Join(dir, "r.json"), filepath.Join(dir, "link.json")
	if err := os.Symlink("r.json", link); err != nil {
		t.Skip(err)
	}
	for _, path := range []string{file, link} { // the first time, r.json is not there
		r, err := openResult("--output-json", path)
		if err != nil {
			t.Fatal(err)
		}
		if err := r.commit(writeText(path)); err != nil {
			t.Fatal(err)
		}
		r.discard()
		if got, err := os.ReadFile(file); err != nil || string(got) != path {
			t.Errorf("%s: %q, %v", path, got, err)
		}
	}
	if info, err := os.Lstat(link); err != nil || info.Mode().Type() != os.ModeSymlink {
		t.Errorf("the link became %v, %v", info.Mode(), err)
	}
	r, err := openResult("--output-json", file)
	if err != nil {
		t.Fatal(err)
	}
	r.discard()
	if left, err := os.ReadDir(dir); err != nil || len(left) != 2 {
		t.Errorf("left behind: %v, %v", left, err)
	}
	if _, err := openResult("--output-json", dir); err == nil {
		t.Error("a directory was opened")
	}
}

// TestResultFileLeavesADevice: renaming a file onto /dev/full, as root may, would take the device away.
func TestResultFileLeavesADevice(t *testing.T) {
	path := filepath.Join(t.TempDir(), "pipe")
	if err := syscall.Mkfifo(path, 0o600); err != nil {
		t.Skip(err)
	}
	reader, err := os.OpenFile(path, os.O_RDWR, 0) // opened for both, a pipe waits for nobody
	if err != nil {
		t.Fatal(err)
	}
	defer reader.Close()
	r, err := openResult("--output-json", path)
	if err != nil {
		t.Fatal(err)
	}
	if err := r.commit(writeText("result")); err != nil {
		t.Fatal(err)
	}
	r.discard()
	got := make([]byte, len("result"))
	if _, err := io.ReadFull(reader, got); err != nil || string(got) != "result" {
		t.Errorf("the pipe gave %q, %v", got, err)
	}
	if info, err := os.Lstat(path); err != nil || info.Mode().Type() != os.ModeNamedPipe {
		t.Errorf("the pipe became %v, %v", info.Mode(), err)
	}
	if left, err := os.ReadDir(filepath.Dir(path)); err != nil || len(left) != 1 {
		t.Errorf("left behind: %v, %v", left, err)
	}
	if r, err = openResult("--output-json", "/dev/full"); err != nil {
		t.Skip(err)
	}
	if err := r.commit(writeText("x")); !errors.Is(err, syscall.ENOSPC) {
		t.Errorf("a full device: %v", err)
	}
	r.discard()
}
