package main

import (
	"os"
	"path/filepath"
	"testing"
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
