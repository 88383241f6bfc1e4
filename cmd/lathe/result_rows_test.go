package main

import (
	"errors"
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"lathe/bench"
)

// TestRowsEndTornLines keeps what others wrote into the result file, and cuts only what is no JSON.
func TestRowsEndTornLines(t *testing.T) {
	for _, c := range []struct{ before, after string }{
		{"", ""},
		{"{\"a\":1}\n", "{\"a\":1}\n"},
		{"{\"a\":1}", "{\"a\":1}\n"},
		{"{\"a\":1}\n{\"b\":2}", "{\"a\":1}\n{\"b\":2}\n"},
		{"{\"a\":1}\n{\"b\":", "{\"a\":1}\n"},
		{"{\"run_na", ""},
	} {
		path := filepath.Join(t.TempDir(), "r.jsonl")
		if err := os.WriteFile(path, []byte(c.before), 0o644); err != nil {
			t.Fatal(err)
		}
		r, err := openRows(path, "x")
		if err != nil {
			t.Fatal(err)
		}
		r.Close()
		got, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		if string(got) != c.after {
			t.Errorf("%q became %q, want %q", c.before, got, c.after)
		}
	}
}

// TestRowsIntoADevice: what is no regular file takes rows and is never read, since /dev/full and
// /dev/zero read for ever.
func TestRowsIntoADevice(t *testing.T) {
	f := &bench.File{Points: []bench.Point{{Kind: bench.KindPoint, Status: bench.StatusOK, Batch: 1, InputLen: 8, OutputLen: 4}}}
	for path, want := range map[string]error{"/dev/null": nil, "/dev/full": syscall.ENOSPC} {
		if _, err := os.Stat(path); err != nil {
			t.Skip(err)
		}
		r, err := openRows(path, "x")
		if err != nil {
			t.Fatal(err)
		}
		if err := r.append(f); !errors.Is(err, want) {
			t.Errorf("append to %s: %v, want %v", path, err, want)
		}
		if err := r.catchUp(f); !errors.Is(err, want) {
			t.Errorf("catch up in %s: %v, want %v", path, err, want)
		}
		r.Close()
	}
	if _, err := openRows(t.TempDir(), "x"); err == nil {
		t.Error("a directory was opened")
	}
}
