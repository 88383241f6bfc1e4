package report

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"testing"

	"lathe/bench/serving"
)

// different says where got does not hold what want holds: "" where it does.
// Numbers must have the same bits.
func different(got, want any, path string) string {
	switch w := want.(type) {
	case map[string]any:
		g, ok := got.(map[string]any)
		if !ok {
			return fmt.Sprintf("%s: %v, want an object", path, got)
		}
		for _, k := range slices.Sorted(maps.Keys(w)) {
			if k == "error_text" && w[k] == nil {
				continue // the corpus has the harness's own texts of a status only
			}
			if _, ok := g[k]; !ok {
				return path + "." + k + ": missing"
			}
			if d := different(g[k], w[k], path+"."+k); d != "" {
				return d
			}
		}
		return ""
	case []any:
		g, ok := got.([]any)
		if !ok || len(g) != len(w) {
			return fmt.Sprintf("%s: %v, want %v", path, got, want)
		}
		for i := range w {
			if d := different(g[i], w[i], path+"["+strconv.Itoa(i)+"]"); d != "" {
				return d
			}
		}
		return ""
	case json.Number:
		g, ok := got.(json.Number)
		if !ok {
			break
		}
		a, err1 := g.Float64()
		b, err2 := w.Float64()
		if err1 == nil && err2 == nil && a == b {
			return ""
		}
	default:
		if got == want {
			return ""
		}
	}
	return fmt.Sprintf("%s: %v, want %v", path, got, want)
}

func tree(t testing.TB, data []byte) any {
	t.Helper()
	d := json.NewDecoder(bytes.NewReader(data))
	d.UseNumber()
	var v any
	if err := d.Decode(&v); err != nil {
		t.Fatal(err)
	}
	return v
}

// check compares one scenario's report with what the harnesses said.
func (c *corpus) check(t *testing.T, s *scenario, v serving.Version, capture []byte) {
	t.Helper()
	expect := c.expect(s, v)
	names := slices.Sorted(maps.Keys(expect))
	got := tree(t, servingJSON(t, read(t, bytes.NewReader(capture), names, s.options(v)))).(map[string]any)
	for _, name := range names {
		if d := different(got[name], tree(t, expect[name]), name); d != "" {
			t.Errorf("%s %s: %s", v, s.Name, d)
		}
	}
}

func TestCorpusBitForBit(t *testing.T) {
	c := loadCorpus(t)
	for _, v := range serving.Versions() {
		t.Run(string(v), func(t *testing.T) {
			for i := range c.scenarios {
				s := &c.scenarios[i]
				c.check(t, s, v, lines(t, s.records(t)))
			}
		})
	}
}

// The copies are those of the shared corpus, where it is at hand.
func TestCorpusCopies(t *testing.T) {
	dir := filepath.Join("..", "..", "..", "shared", "golden")
	if _, err := os.Stat(filepath.Join(dir, "serving")); err != nil {
		t.Skip("no shared golden corpus beside the repository")
	}
	c := loadCorpus(t)
	same := func(path string, data []byte) {
		if want, err := os.ReadFile(filepath.Join(dir, path)); err != nil || !bytes.Equal(data, want) {
			t.Errorf("%s differs from the copy in testdata (%v)", path, err)
		}
	}
	for name, data := range c.files {
		same(filepath.Join("serving", name), data)
	}
	same("serving-2026-11/expect.json", gunzip(t, "serving-2026-11.json.gz"))
	same("serving-2026-11/reports.json", gunzip(t, "serving-reports-2026-11.json.gz"))
}
