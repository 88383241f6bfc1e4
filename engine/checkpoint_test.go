package engine_test

import (
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"lathe/engine/llama"
	"lathe/engine/safetensors"
)

const golden = "testdata/golden"

// loadCheckpoint is what every loader does before it touches a backend: config,
// container, and the one against the other.
func loadCheckpoint(dir string, o safetensors.Options) (llama.Config, *safetensors.Checkpoint, []string, error) {
	config, err := llama.ReadConfig(dir)
	if err != nil {
		return config, nil, nil, err
	}
	weights, err := safetensors.OpenWith(dir, o)
	if err != nil {
		return config, nil, nil, err
	}
	warnings, err := config.Check(listing{weights})
	if err != nil {
		weights.Close()
		return config, nil, nil, err
	}
	return config, weights, append(weights.Warnings, warnings...), nil
}

// listing shows a safetensors checkpoint to the config's check.
type listing struct{ *safetensors.Checkpoint }

func (l listing) Where() string { return l.Path }

func (l listing) Info(name string) (llama.TensorInfo, bool) {
	t, ok := l.Tensor(name)
	return llama.TensorInfo{DType: t.DType, Shape: t.Shape, File: t.File}, ok
}

type malformedCase struct {
	Path        string   `json:"path"`
	Wrong       string   `json:"wrong"`
	ErrorClass  *string  `json:"error_class"`
	MustFail    string   `json:"must_fail"`
	MustMention []string `json:"must_mention"`
}

func malformedCases(t *testing.T) []malformedCase {
	t.Helper()
	b, err := os.ReadFile(filepath.Join(golden, "malformed.json"))
	if err != nil {
		t.Fatal(err)
	}
	var list struct{ Cases []malformedCase }
	if err := json.Unmarshal(b, &list); err != nil {
		t.Fatal(err)
	}
	if len(list.Cases) < 60 {
		t.Fatalf("%d cases", len(list.Cases))
	}
	return list.Cases
}

// elsewhere says which cases are found later than loading the weights: by the
// tokenizer, or by the logits.
func elsewhere(c malformedCase) bool {
	return strings.Contains(c.Path, "tokenizer-") || c.MustFail == "no" && c.ErrorClass != nil
}

func TestMalformedModels(t *testing.T) {
	const most = 64 << 20
	for _, c := range malformedCases(t) {
		t.Run(filepath.Base(c.Path), func(t *testing.T) {
			var before, after runtime.MemStats
			runtime.ReadMemStats(&before)
			_, weights, _, err := loadCheckpoint(filepath.Join(golden, c.Path), safetensors.Options{})
			runtime.ReadMemStats(&after)
			if n := after.TotalAlloc - before.TotalAlloc; n > most {
				t.Errorf("allocated %d bytes, the cap is %d", n, most)
			}
			if err == nil {
				defer weights.Close()
			}
			if c.MustFail == "no" || elsewhere(c) {
				if err != nil {
					t.Fatalf("must load (%s): %v", c.Wrong, err)
				}
				return
			}
			if err == nil {
				t.Fatalf("must fail: %s", c.Wrong)
			}
			checkError(t, c, err)
		})
	}
}

func checkError(t *testing.T, c malformedCase, err error) {
	t.Helper()
	t.Log(err)
	var classed interface{ ErrorClass() string }
	if !errors.As(err, &classed) {
		t.Fatalf("%v has no class", err)
	}
	if classed.ErrorClass() != *c.ErrorClass {
		t.Errorf("class %s, want %s: %v", classed.ErrorClass(), *c.ErrorClass, err)
	}
	msg := strings.ToLower(err.Error())
	for _, alternatives := range c.MustMention {
		found := false
		for _, a := range strings.Split(alternatives, "|") {
			found = found || strings.Contains(msg, strings.ToLower(a))
		}
		if !found {
			t.Errorf("%q does not mention %q", err, alternatives)
		}
	}
	if !strings.Contains(msg, ".json") && !strings.Contains(msg, ".safetensors") && !strings.Contains(msg, "safetensors weights") {
		t.Errorf("%q names no file", err)
	}
	if strings.ContainsAny(err.Error(), "\n\r") || len(err.Error()) > 1000 {
		t.Errorf("not one readable line: %q", err)
	}
}

func TestTinyModelsLoad(t *testing.T) {
	for _, name := range []string{"tiny", "tiny-llama3rope", "tiny-headdim32", "tiny-tied"} {
		config, weights, warnings, err := loadCheckpoint(filepath.Join(golden, name), safetensors.Options{})
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		if len(warnings) != 0 {
			t.Errorf("%s: warnings %q", name, warnings)
		}
		if got, want := weights.Bytes(), config.WeightBytes(2); got != want {
			t.Errorf("%s: %d bytes of tensors, the config asks for %d", name, got, want)
		}
		weights.Close()
	}
}
