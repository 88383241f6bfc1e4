package engine

import (
	"bytes"
	"compress/gzip"
	"context"
	"encoding/json"
	"io"
	"math"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"lathe/engine/native"
	"lathe/third_party/smollm2"
)

// class is a row of the tolerance table of testdata/golden/README.md for the real
// model: largest logit difference, RMS of a row (each and median), the gap up to
// which a token may differ, and the relative L2 of the residual stream.
type class struct {
	name             string
	logit, each, mid float64
	gap, residual    float64
}

var (
	classA = class{"A", 1e-3, 2e-4, 4e-5, 2e-3, 2e-5}
	classC = class{"C", 0.6, 0.3, 0.03, 0.1, 0.012}
	classD = class{"D", 1.1, 0.6, 0.08, 0.2, 0.02}
)

type classedPath struct {
	path
	class class
}

func realPaths() []classedPath {
	return []classedPath{
		{path{name: "reference", backend: native.Reference, kv: native.F32}, classA},
		{path{name: "portable-f32kv", backend: native.CPU, isa: "portable", kv: native.F32}, classA},
		{path{name: "portable", backend: native.CPU, isa: "portable", kv: native.BF16}, classC},
		{path{name: "avx512bf16", backend: native.CPU, isa: "avx512bf16", kv: native.BF16}, classD},
	}
}

// smollm2Dir is the real model in the cache, fetched on first use. Without it the
// test fails, unless SKIP_DOWNLOADS=1.
func smollm2Dir(t *testing.T) string {
	t.Helper()
	cache := os.Getenv("LATHE_CACHE")
	if cache == "" {
		user, err := os.UserCacheDir()
		if err != nil {
			t.Fatal(err)
		}
		cache = filepath.Join(user, "lathe")
	}
	if os.Getenv("SKIP_DOWNLOADS") == "1" {
		t.Skip("SKIP_DOWNLOADS=1: the real model's goldens are not checked")
	}
	dir, err := smollm2.Fetch(context.Background(), cache, nil)
	if err != nil {
		t.Fatal(err)
	}
	return dir
}

func gunzip(t *testing.T, name string) []byte {
	t.Helper()
	data, err := os.ReadFile(filepath.Join("testdata", "golden", name+".gz"))
	if err != nil {
		t.Fatal(err)
	}
	z, err := gzip.NewReader(bytes.NewReader(data))
	if err != nil {
		t.Fatal(err)
	}
	out, err := io.ReadAll(z)
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// TestSmolLM2Goldens takes minutes, so -short leaves it out.
func TestSmolLM2Goldens(t *testing.T) {
	if testing.Short() {
		t.Skip("the real model takes minutes")
	}
	dir := smollm2Dir(t)
	var g golden
	if err := json.Unmarshal(gunzip(t, "smollm2-greedy.json"), &g); err != nil {
		t.Fatal(err)
	}
	for _, p := range realPaths() {
		t.Run(p.name, func(t *testing.T) {
			e := p.open(t, dir, Options{Sequences: 1, Context: 600, Logits: 64})
			var top []float64
			for _, prompt := range g.Prompts {
				top = append(top, forcedReal(t, p, e, prompt)...)
				freeRunning(t, path{gap: p.class.gap}, e, prompt)
			}
			t.Logf("class %s: largest of %d top-five differences %.3g, median %.3g", p.class.name, len(top), slices.Max(top), median(top))
			lastReal(t, p, e, g)
			layersReal(t, p, e, g)
		})
	}
}

func median(v []float64) float64 {
	s := slices.Sorted(slices.Values(v))
	return s[len(s)/2]
}

// forcedReal compares all 48 steps of a prompt in one prefill and returns the
// differences of the top five logits.
func forcedReal(t *testing.T, p classedPath, e *Engine, g goldenPrompt) (diffs []float64) {
	t.Helper()
	first := len(g.Prompt) - 1
	text := slices.Concat(g.Prompt, g.Tokens[:len(g.Tokens)-1])
	err := e.Trace(text, first, func(position int, logits []float32) error {
		step := g.Steps[position-first]
		for _, top := range step.Top5 {
			d := math.Abs(float64(logits[int(top[0])]) - top[1])
			if diffs = append(diffs, d); d > p.class.logit {
				t.Errorf("%s step %d: logit of %d differs by %g, class %s allows %g", g.Name, position-first, int(top[0]), d, p.class.name, p.class.logit)
			}
		}
		if got := argmax(logits); got != g.Tokens[position-first] && step.Gap > p.class.gap {
			t.Errorf("%s step %d: token %d, want %d (gap %g)", g.Name, position-first, got, g.Tokens[position-first], step.Gap)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return diffs
}

// lastReal compares whole rows of 49152 logits by both bounds of the class.
func lastReal(t *testing.T, p classedPath, e *Engine, g golden) {
	t.Helper()
	var rms []float64
	for _, name := range []string{"len17", "len200", "chat1"} {
		data := gunzip(t, "smollm2-logits-"+name+".bin")
		i := slices.IndexFunc(g.Prompts, func(q goldenPrompt) bool { return q.Name == name })
		if i < 0 {
			t.Fatalf("no prompt %s in the goldens", name)
		}
		prompt := g.Prompts[i].Prompt
		err := e.Trace(prompt, len(prompt)-1, func(_ int, logits []float32) error {
			var sum, worst float64
			for j, v := range logits {
				d := math.Abs(float64(v) - float64(float32At(data, j)))
				worst, sum = max(worst, d), sum+d*d
			}
			row := math.Sqrt(sum / float64(len(logits)))
			rms = append(rms, row)
			if worst > p.class.logit || row > p.class.each {
				t.Errorf("%s: largest difference %g (allowed %g), row RMS %g (allowed %g)", name, worst, p.class.logit, row, p.class.each)
			}
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	if m := median(rms); m > p.class.mid {
		t.Errorf("median row RMS %g, class %s allows %g", m, p.class.name, p.class.mid)
	}
	t.Logf("row RMS %.3g", rms)
}

func float32At(data []byte, i int) float32 {
	b := data[4*i:]
	return math.Float32frombits(uint32(b[0]) | uint32(b[1])<<8 | uint32(b[2])<<16 | uint32(b[3])<<24)
}

type goldenLayers struct {
	Stages []struct {
		Stage   string      `json:"stage"`
		L2      []float64   `json:"l2"`
		First64 [][]float64 `json:"first64"`
	} `json:"stages"`
}

// layersReal compares the residual stream after every layer with the layer file:
// the norm of each position, and the first 64 dimensions relative to it.
func layersReal(t *testing.T, p classedPath, e *Engine, g golden) {
	t.Helper()
	var want goldenLayers
	if err := json.Unmarshal(gunzip(t, "smollm2-layers-len17.json"), &want); err != nil {
		t.Fatal(err)
	}
	i := slices.IndexFunc(g.Prompts, func(q goldenPrompt) bool { return q.Name == "len17" })
	got, err := e.Residuals(g.Prompts[i].Prompt)
	if err != nil {
		t.Fatal(err)
	}
	if len(got) != len(want.Stages) {
		t.Fatalf("%d stages, the layer file has %d", len(got), len(want.Stages))
	}
	var worst float64
	for s, stage := range want.Stages {
		hidden := len(got[s]) / len(stage.L2)
		for pos, norm := range stage.L2 {
			row := got[s][pos*hidden : (pos+1)*hidden]
			worst = max(worst, relative(row, stage.First64[pos], norm))
		}
	}
	if worst > p.class.residual {
		t.Errorf("residual stream differs by relative L2 %g, class %s allows %g", worst, p.class.name, p.class.residual)
	}
	t.Logf("worst residual difference: relative L2 %.3g", worst)
}

// relative is the L2 of the differences in the known dimensions over the norm of the
// whole row, or the difference of the norms over it if that is larger.
func relative(row []float32, first []float64, norm float64) float64 {
	var diff, all float64
	for i, v := range row {
		all += float64(v) * float64(v)
		if i < len(first) {
			diff += (float64(v) - first[i]) * (float64(v) - first[i])
		}
	}
	return max(math.Sqrt(diff)/norm, math.Abs(math.Sqrt(all)-norm)/norm)
}
