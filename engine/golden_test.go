package engine

import (
	"encoding/binary"
	"encoding/json"
	"math"
	"os"
	"path/filepath"
	"slices"
	"testing"
)

// golden is one NAME-golden.json or smollm2-greedy.json; see testdata/golden/README.
type golden struct {
	Prompts []goldenPrompt `json:"prompts"`
}

type goldenPrompt struct {
	Name   string       `json:"name"`
	Prompt []int32      `json:"prompt"`
	Tokens []int32      `json:"tokens"`
	Steps  []goldenStep `json:"steps"`
}

type goldenStep struct {
	Top5 [][2]float64 `json:"top5"`
	Gap  float64      `json:"gap"`
}

func readGolden(t *testing.T, path string) golden {
	t.Helper()
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	var g golden
	if err := json.Unmarshal(data, &g); err != nil {
		t.Fatal(err)
	}
	return g
}

func readFloats(t *testing.T, path string) []float32 {
	t.Helper()
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	out := make([]float32, len(data)/4)
	for i := range out {
		out[i] = math.Float32frombits(binary.LittleEndian.Uint32(data[4*i:]))
	}
	return out
}

func TestTinyGoldens(t *testing.T) {
	for _, p := range paths() {
		for _, model := range []string{"tiny", "tiny-llama3rope", "tiny-headdim32", "tiny-tied"} {
			t.Run(p.name+"/"+model, func(t *testing.T) {
				dir := filepath.Join("testdata", "golden")
				g := readGolden(t, filepath.Join(dir, model+"-golden.json"))
				e := p.open(t, filepath.Join(dir, model), Options{Sequences: 1, Context: 400, Logits: 64})
				last := readFloats(t, filepath.Join(dir, model+"-last-logits.bin"))
				for i, prompt := range g.Prompts {
					teacherForced(t, p, model, e, prompt)
					freeRunning(t, p, e, prompt)
					checkLast(t, p, model, e, prompt, last[i*256:(i+1)*256])
				}
			})
		}
	}
}

func checkLast(t *testing.T, p path, model string, e *Engine, g goldenPrompt, want []float32) {
	t.Helper()
	got := make([]float32, len(want))
	if err := e.Begin([][]int32{g.Prompt}, 0); err != nil {
		t.Fatal(err)
	}
	if err := e.Prefill(); err != nil {
		t.Fatal(err)
	}
	if err := e.Wait(); err != nil {
		t.Fatal(err)
	}
	if err := e.Logits(0, got); err != nil {
		t.Fatal(err)
	}
	if d := largest(got, want); d > p.firstBound(model) {
		t.Errorf("%s: last logits differ by %g, bound %g", g.Name, d, p.firstBound(model))
	}
}

func largest(a, b []float32) float64 {
	var worst float64
	for i := range a {
		worst = max(worst, math.Abs(float64(a[i])-float64(b[i])))
	}
	return worst
}

// teacherForced feeds the prompt and the golden tokens in one prefill and compares
// the top five of every step.
func teacherForced(t *testing.T, p path, model string, e *Engine, g goldenPrompt) {
	t.Helper()
	text := slices.Concat(g.Prompt, g.Tokens[:len(g.Tokens)-1])
	first := len(g.Prompt) - 1
	err := e.Trace(text, first, func(position int, logits []float32) error {
		step := g.Steps[position-first]
		for _, top := range step.Top5 {
			if d := math.Abs(float64(logits[int(top[0])]) - top[1]); d > p.bound(model) {
				t.Errorf("%s step %d: logit of %d differs by %g, bound %g", g.Name, position-first, int(top[0]), d, p.bound(model))
			}
		}
		if got := argmax(logits); got != g.Tokens[position-first] && step.Gap > p.gap {
			t.Errorf("%s step %d: token %d, want %d (gap %g, allowed %g)", g.Name, position-first, got, g.Tokens[position-first], step.Gap, p.gap)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}

func argmax(v []float32) int32 {
	best := 0
	for i, x := range v {
		if x > v[best] {
			best = i
		}
	}
	return int32(best)
}

// freeRunning generates and compares up to the first difference, whose gap must be
// within the class.
func freeRunning(t *testing.T, p path, e *Engine, g goldenPrompt) {
	t.Helper()
	got, err := generate(e, [][]int32{g.Prompt}, len(g.Tokens))
	if err != nil {
		t.Fatal(err)
	}
	for i, tok := range got[0] {
		if tok == g.Tokens[i] {
			continue
		}
		if g.Steps[i].Gap > p.gap {
			t.Errorf("%s: generated token %d is %d, want %d (gap %g, allowed %g)", g.Name, i, tok, g.Tokens[i], g.Steps[i].Gap, p.gap)
		}
		return
	}
}

// generate runs prompts greedily and returns n tokens of each.
func generate(e *Engine, prompts [][]int32, n int) ([][]int32, error) {
	if err := e.Begin(prompts, n); err != nil {
		return nil, err
	}
	out := make([][]int32, len(prompts))
	for i := range n {
		step := e.Decode
		if i == 0 {
			step = e.Prefill
		}
		if err := step(); err != nil {
			return nil, err
		}
		if err := e.Wait(); err != nil {
			return nil, err
		}
		for s, tok := range e.Tokens() {
			out[s] = append(out[s], tok)
		}
	}
	return out, nil
}

func TestTinyAllLogits(t *testing.T) {
	for _, p := range paths() {
		for _, model := range []string{"tiny", "tiny-llama3rope", "tiny-headdim32", "tiny-tied"} {
			t.Run(p.name+"/"+model, func(t *testing.T) {
				dir := filepath.Join("testdata", "golden")
				g := readGolden(t, filepath.Join(dir, model+"-golden.json"))
				want := readFloats(t, filepath.Join(dir, model+"-all-logits-bos-text.bin"))
				i := slices.IndexFunc(g.Prompts, func(q goldenPrompt) bool { return q.Name == "bos-text" })
				e := p.open(t, filepath.Join(dir, model), Options{Sequences: 1, Context: 400, Logits: 64})
				err := e.Trace(g.Prompts[i].Prompt, 0, func(pos int, logits []float32) error {
					if d := largest(logits, want[pos*256:(pos+1)*256]); d > p.firstBound(model) {
						t.Errorf("position %d: logits differ by %g, bound %g", pos, d, p.firstBound(model))
					}
					return nil
				})
				if err != nil {
					t.Fatal(err)
				}
			})
		}
	}
}
