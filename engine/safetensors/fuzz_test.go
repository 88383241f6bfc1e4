package safetensors

import (
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"testing"
	"unicode/utf8"
)

// FuzzHeader: a classed error, or entries that tile the data and a header that
// another JSON parser takes too.
func FuzzHeader(f *testing.F) {
	paths, err := filepath.Glob(filepath.Join(golden, "malformed/*/*.safetensors"))
	if err != nil || len(paths) < 50 {
		f.Fatalf("%d seeds, %v", len(paths), err)
	}
	for _, path := range paths {
		b, err := os.ReadFile(path)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(b)
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		entries, data, err := parse(b, SingleFile)
		if err != nil {
			var e *Error
			if !errors.As(err, &e) || e.Class == "" {
				t.Fatalf("%v has no class", err)
			}
			return
		}
		var end, total int64
		names := map[string]bool{}
		for _, e := range entries {
			if e.begin != end || e.end < e.begin || names[e.name] || elementBits(e.dtype) == 0 {
				t.Fatalf("entry %+v after %d", e, end)
			}
			names[e.name] = true
			end = e.end
			total += int64(len(data[e.begin:e.end]))
		}
		if total != int64(len(data)) {
			t.Fatalf("%d bytes of tensors, %d of data", total, len(data))
		}
		if header := b[8 : len(b)-len(data)]; !json.Valid(header) || !utf8.Valid(header) {
			t.Fatalf("accepted a header that is not JSON: %q", header)
		}
	})
}

// FuzzIndex: a classed error, or places that another JSON parser finds too.
func FuzzIndex(f *testing.F) {
	paths, err := filepath.Glob(filepath.Join(golden, "*/"+IndexFile))
	more, err2 := filepath.Glob(filepath.Join(golden, "malformed/*/"+IndexFile))
	if paths = append(paths, more...); err != nil || err2 != nil || len(paths) < 8 {
		f.Fatalf("%d seeds, %v, %v", len(paths), err, err2)
	}
	for _, path := range paths {
		b, err := os.ReadFile(path)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(b)
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		places, err := parseIndex(b)
		if err != nil {
			var e *Error
			if !errors.As(err, &e) || e.Class != Index {
				t.Fatalf("%v is not of class index", err)
			}
			return
		}
		var other struct {
			Map map[string]string `json:"weight_map"`
		}
		if err := json.Unmarshal(b, &other); err != nil {
			t.Fatalf("accepted an index that is not JSON: %v", err)
		}
		for _, p := range places {
			if got := other.Map[p.tensor]; got != p.file && !jsonFoldsCase(b) {
				t.Fatalf("%q in %q, the other parser says %q", p.tensor, p.file, got)
			}
			if checkShardName(p.file) == nil && !filepath.IsLocal(p.file) {
				t.Fatalf("%q leads outside", p.file)
			}
		}
	})
}

// jsonFoldsCase reports keys that encoding/json takes for weight_map, too.
func jsonFoldsCase(b []byte) bool {
	var keys map[string]json.RawMessage
	return json.Unmarshal(b, &keys) != nil || len(keys) > 1
}
