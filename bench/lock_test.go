//go:build darwin || dragonfly || freebsd || linux || netbsd || openbsd

package bench

import (
	"errors"
	"flag"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

var writeTo = flag.String("write-to", "", "raw file that a child process holds until its stdin ends")

func refused(t *testing.T, path string) {
	t.Helper()
	before := mustRead(t, path)
	for _, mode := range []Mode{New, Append} {
		w, err := OpenWriter(path, mode)
		if err == nil {
			w.Close()
		}
		if err == nil || !strings.HasSuffix(err.Error(), filepath.Base(path)+": is being written by another process") {
			t.Errorf("%s, mode %d: %v", filepath.Base(path), mode, err)
		}
	}
	if string(mustRead(t, path)) != string(before) {
		t.Errorf("%s: a writer that was refused changed the file", filepath.Base(path))
	}
}

// Two processes never write one file, whoever opened it and however.
func TestOneWriterAtATime(t *testing.T) {
	for _, suffix := range suffixes {
		path := filepath.Join(t.TempDir(), "raw"+suffix)
		w, err := OpenWriter(path, New)
		if err != nil {
			t.Fatal(err)
		}
		if err := w.Write(header()); err != nil {
			t.Fatal(err)
		}
		refused(t, path)
		w.Close()
		for range 2 { // a compressed file is another one after each opening
			if w, err = OpenWriter(path, Append); err != nil {
				t.Fatal(err)
			}
			refused(t, path)
			w.Close()
		}
		if f, err := ReadFile(path); err != nil || len(f.Warnings) > 0 {
			t.Errorf("%s: %v, %v", suffix, f, err)
		}
		if names, _ := filepath.Glob(path + ".*"); len(names) > 0 {
			t.Errorf("left behind: %v", names)
		}
	}
}

// A file is free once its process is gone, however it went.
func TestLockEndsWithTheProcess(t *testing.T) {
	if *writeTo != "" {
		w, err := OpenWriter(*writeTo, New)
		if err == nil {
			err = w.Write(header())
		}
		if err != nil {
			t.Fatal(err)
		}
		os.Stdout.WriteString("held\n")
		os.Stdin.Read(make([]byte, 1))
		return
	}
	path := filepath.Join(t.TempDir(), "raw.jsonl")
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(exe, "-test.run=^TestLockEndsWithTheProcess$", "-write-to", path)
	if _, err := cmd.StdinPipe(); err != nil {
		t.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	if _, err := out.Read(make([]byte, 1)); err != nil {
		t.Fatal(err)
	}
	refused(t, path)
	if err := cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	var exit *exec.ExitError
	if err := cmd.Wait(); !errors.As(err, &exit) {
		t.Fatal(err)
	}
	w, err := OpenWriter(path, Append)
	if err != nil {
		t.Fatal(err)
	}
	w.Close()
}

// A path that another file has taken since it was opened is somebody else's.
func TestClaimOfAReplacedFile(t *testing.T) {
	path := filepath.Join(t.TempDir(), "raw.jsonl")
	mustWrite(t, path, []byte(head))
	f, err := os.OpenFile(path, os.O_RDWR, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	mustWrite(t, path+".new", []byte(head))
	if err := os.Rename(path+".new", path); err != nil {
		t.Fatal(err)
	}
	if _, err := claim(f, path); !errors.Is(err, errWritten) {
		t.Errorf("%v, want errWritten", err)
	}
}

// A device can be written by anybody at once: it is no file to go on with.
func TestDevicesAreNotLocked(t *testing.T) {
	for range 2 {
		w, err := OpenWriter(os.DevNull, New)
		if err != nil {
			t.Fatal(err)
		}
		defer w.Close()
	}
}
