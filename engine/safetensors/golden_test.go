package safetensors

import (
	"bytes"
	"compress/gzip"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

const (
	golden   = "../testdata/golden"
	original = "../../../shared/golden/engine" // beside a checkout that has it
)

// TestGoldenCopies compares the golden data of the engine packages with its
// original, both ways, where the original is there.
func TestGoldenCopies(t *testing.T) {
	if _, err := os.Stat(original); err != nil {
		t.Skip("no original beside this checkout")
	}
	copies := map[string]bool{"README.md": true} // each tree has its own
	walk(t, golden, func(name string, b []byte) {
		if name == "README.md" {
			return
		}
		if plain, ok := strings.CutSuffix(name, ".gz"); ok && !strings.Contains(name, "malformed/") {
			r, err := gzip.NewReader(bytes.NewReader(b))
			if err != nil {
				t.Fatal(err)
			}
			if b, err = io.ReadAll(r); err != nil {
				t.Fatal(err)
			}
			name = plain
		}
		copies[name] = true
		want, err := os.ReadFile(filepath.Join(original, name))
		if err != nil || !bytes.Equal(b, want) {
			t.Errorf("%s differs from the original: %v", name, err)
		}
	})
	walk(t, original, func(name string, _ []byte) {
		if !copies[name] {
			t.Errorf("%s is not copied", name)
		}
	})
}

func walk(t *testing.T, root string, visit func(name string, b []byte)) {
	t.Helper()
	err := fs.WalkDir(os.DirFS(root), ".", func(name string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		b, err := os.ReadFile(filepath.Join(root, name))
		visit(filepath.ToSlash(name), b)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
}
