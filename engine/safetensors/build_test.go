package safetensors

import (
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// pack puts the header length before a header and data behind it.
func pack(header string, data []byte) []byte {
	b := binary.LittleEndian.AppendUint64(nil, uint64(len(header)))
	return append(append(b, header...), data...)
}

// one is a file with one tensor.
func one(name, dtype, shape string, data []byte) []byte {
	return pack(fmt.Sprintf(`{%q:{"dtype":%q,"shape":%s,"data_offsets":[0,%d]}}`, name, dtype, shape, len(data)), data)
}

// tensors is a file with BF16 vectors of two elements, one a name.
func tensors(names ...string) []byte {
	var entries []string
	for i, n := range names {
		entries = append(entries, fmt.Sprintf(`%q:{"dtype":"BF16","shape":[2],"data_offsets":[%d,%d]}`, n, 4*i, 4*i+4))
	}
	return pack("{"+strings.Join(entries, ",")+"}", make([]byte, 4*len(names)))
}

// directory writes files and returns where.
func directory(t *testing.T, files map[string][]byte) string {
	t.Helper()
	dir := t.TempDir()
	for name, b := range files {
		path := filepath.Join(dir, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, b, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

// file writes one file and returns its path.
func file(t *testing.T, name string, b []byte) string {
	t.Helper()
	return filepath.Join(directory(t, map[string][]byte{name: b}), name)
}

// index is an index over places like "tensor:file".
func index(places ...string) []byte {
	var lines []string
	for _, p := range places {
		tensor, file, _ := strings.Cut(p, ":")
		lines = append(lines, fmt.Sprintf("%q:%q", tensor, file))
	}
	return []byte(`{"metadata":{"total_size":12},"weight_map":{` + strings.Join(lines, ",") + "}}")
}

// opened opens and closes at the end of the test.
func opened(t *testing.T, path string, o Options) *Checkpoint {
	t.Helper()
	c, err := OpenWith(path, o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := c.Close(); err != nil {
			t.Error(err)
		}
	})
	return c
}

// wantFault demands one line of an error with a class and every mention.
func wantFault(t *testing.T, err error, class Class, mention ...string) {
	t.Helper()
	var e *Error
	if !errors.As(err, &e) || e.Class != class || e.ErrorClass() != string(class) {
		t.Errorf("%v, want class %s", err, class)
		return
	}
	if e.Path == "" || strings.ContainsAny(err.Error(), "\n\r") {
		t.Errorf("%q: no path, or more than one line", err)
	}
	for _, m := range mention {
		if !strings.Contains(err.Error(), m) {
			t.Errorf("%q does not mention %q", err, m)
		}
	}
}
