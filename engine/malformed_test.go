package engine

import (
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"lathe/engine/native"
	"lathe/engine/safetensors"
)

type malformedCase struct {
	Path        string   `json:"path"`
	Wrong       string   `json:"wrong"`
	ErrorClass  string   `json:"error_class"`
	MustFail    string   `json:"must_fail"`
	MustMention []string `json:"must_mention"`
}

func malformed(t *testing.T) []malformedCase {
	t.Helper()
	data, err := os.ReadFile(filepath.Join("testdata", "golden", "malformed.json"))
	if err != nil {
		t.Fatal(err)
	}
	var doc struct {
		Cases []malformedCase `json:"cases"`
	}
	if err := json.Unmarshal(data, &doc); err != nil {
		t.Fatal(err)
	}
	if len(doc.Cases) < 70 {
		t.Fatalf("%d malformed models, expected all", len(doc.Cases))
	}
	return doc.Cases
}

// mentions checks must_mention: every string, ignoring case, "a|b" being one of them.
func mentions(t *testing.T, err error, want []string) {
	t.Helper()
	text := strings.ToLower(err.Error())
	for _, w := range want {
		found := false
		for alternative := range strings.SplitSeq(strings.ToLower(w), "|") {
			found = found || strings.Contains(text, alternative)
		}
		if !found {
			t.Errorf("the error does not mention %q: %v", w, err)
		}
	}
	if strings.ContainsAny(err.Error(), "\n\r") {
		t.Errorf("the error has more than one line: %q", err)
	}
}

// run loads a directory on a backend and generates three tokens.
func run(b *native.Backend, dir string) error {
	src, err := OpenDir(dir, safetensors.Options{})
	if err != nil {
		return err
	}
	defer src.Close()
	m, err := Load(b, src)
	if err != nil {
		return err
	}
	defer m.Close()
	e, err := m.NewEngine(Options{Sequences: 1, Context: 16, KV: native.F32})
	if err != nil {
		return err
	}
	defer e.Close()
	_, err = generate(e, [][]int32{{1, 2, 3}}, 3)
	return err
}

// TestMalformedModels loads and runs every malformed directory on both built-in
// backends: those that must fail fail with their message and no large allocation,
// the two NaN models end in an error and never in a token, the rest run.
func TestMalformedModels(t *testing.T) {
	for _, open := range []func() (*native.Backend, error){native.Reference, native.CPU} {
		b, err := open()
		if err != nil {
			t.Fatal(err)
		}
		for _, c := range malformed(t) {
			if strings.Contains(c.Path, "tokenizer-") {
				continue // text is asked for in cmd/lathe, whose tests run these
			}
			t.Run(b.Name()+"/"+filepath.Base(c.Path), func(t *testing.T) {
				var before, after runtime.MemStats
				runtime.ReadMemStats(&before)
				err := run(b, filepath.Join("testdata", "golden", c.Path))
				runtime.ReadMemStats(&after)
				if n := after.TotalAlloc - before.TotalAlloc; n > 64<<20 {
					t.Errorf("%d bytes allocated", n)
				}
				switch {
				case c.ErrorClass == "non_finite":
					if !errors.Is(err, native.ErrNonFinite) {
						t.Fatalf("%s: got %v, want a non-finite error", c.Wrong, err)
					}
					mentions(t, err, c.MustMention)
				case c.MustFail == "no" && err != nil:
					t.Fatalf("%s: %v", c.Wrong, err)
				case c.MustFail == "yes" && err == nil:
					t.Fatalf("%s: loaded and ran", c.Wrong)
				case c.MustFail == "yes":
					mentions(t, err, c.MustMention)
				}
			})
		}
	}
}
