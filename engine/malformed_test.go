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
	ErrorClass  string   `json:"error_class"` // "" where it is null
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

// opens says whether the directory itself is sound: what is wrong shows later, to
// the tokenizer (whose package tests those) or in the logits.
func (c malformedCase) opens() bool {
	return c.MustFail == "no" || strings.Contains(c.Path, "tokenizer-")
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
	if strings.ContainsAny(err.Error(), "\n\r") || len(err.Error()) > 1000 {
		t.Errorf("the error is not one readable line: %q", err)
	}
}

// withoutMuchMemory runs body and bounds what it allocates.
func withoutMuchMemory(t *testing.T, body func()) {
	t.Helper()
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	body()
	runtime.ReadMemStats(&after)
	if n := after.TotalAlloc - before.TotalAlloc; n > 64<<20 {
		t.Errorf("%d bytes allocated", n)
	}
}

// TestMalformedModels opens every malformed directory: what must fail fails with
// its class, its words and the name of a file, without a large allocation. The rest
// is loaded and run on both built-in backends: the two NaN models end in an error
// and never in a token.
func TestMalformedModels(t *testing.T) {
	for _, c := range malformed(t) {
		t.Run(filepath.Base(c.Path), func(t *testing.T) {
			var src *Source
			var err error
			withoutMuchMemory(t, func() {
				src, err = OpenDir(filepath.Join("testdata", "golden", c.Path), safetensors.Options{})
			})
			switch {
			case err == nil && c.opens():
				defer src.Close()
				runOpened(t, c, src)
			case err == nil:
				src.Close()
				t.Fatalf("opened: %s", c.Wrong)
			case c.opens():
				t.Fatalf("must open (%s): %v", c.Wrong, err)
			default:
				refusedAs(t, c, err)
			}
		})
	}
}

// refusedAs checks the class and the text of an error of OpenDir.
func refusedAs(t *testing.T, c malformedCase, err error) {
	t.Helper()
	var classed interface{ ErrorClass() string }
	if !errors.As(err, &classed) {
		t.Fatalf("%v has no class", err)
	}
	if classed.ErrorClass() != c.ErrorClass {
		t.Errorf("class %s, want %s: %v", classed.ErrorClass(), c.ErrorClass, err)
	}
	mentions(t, err, c.MustMention)
	if text := err.Error(); !strings.Contains(text, ".json") && !strings.Contains(text, "safetensors") {
		t.Errorf("%q names no file", err)
	}
}

// runOpened loads the weights on both backends and generates three tokens.
func runOpened(t *testing.T, c malformedCase, src *Source) {
	for _, open := range []func() (*native.Backend, error){native.Reference, native.CPU} {
		b, err := open()
		if err != nil {
			t.Fatal(err)
		}
		withoutMuchMemory(t, func() { err = run(b, src) })
		switch {
		case c.ErrorClass != "non_finite" && err != nil:
			t.Errorf("backend %s: %s: %v", b.Name(), c.Wrong, err)
		case c.ErrorClass == "non_finite" && !errors.Is(err, native.ErrNonFinite):
			t.Errorf("backend %s: %s: got %v, want a non-finite error", b.Name(), c.Wrong, err)
		case c.ErrorClass == "non_finite":
			mentions(t, err, c.MustMention)
		}
	}
}

func run(b *native.Backend, src *Source) error {
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

func TestTinyModelsOpen(t *testing.T) {
	for _, name := range []string{"tiny", "tiny-llama3rope", "tiny-headdim32", "tiny-tied"} {
		src, err := OpenDir(filepath.Join("testdata", "golden", name), safetensors.Options{})
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		if len(src.Warnings) != 0 {
			t.Errorf("%s: warnings %q", name, src.Warnings)
		}
		if got, want := src.Checkpoint.Bytes(), src.Config.WeightBytes(2); got != want {
			t.Errorf("%s: %d bytes of tensors, the config asks for %d", name, got, want)
		}
		src.Close()
	}
}
