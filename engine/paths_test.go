package engine

import (
	"encoding/json"
	"errors"
	"slices"
	"testing"

	"lathe/engine/native"
	"lathe/engine/safetensors"
)

// path is a numeric path with the bounds of its class on the tiny models: the
// largest logit difference, and the gap up to which a token may differ. Bounds:
// testdata/golden/README.md, f32 2e-4 and 1e-3; class D twice what was measured.
type path struct {
	name    string
	backend func() (*native.Backend, error)
	isa     string
	kv      native.DType
	first   float64            // bound on last-logits and all-logits
	later   map[string]float64 // bound on later steps by model; "" for all
	gap     float64
}

// paths are those with golden data of the tiny models.
func paths() []path {
	f32 := map[string]float64{"": 1e-3}
	d := map[string]float64{"tiny": 0.54, "tiny-llama3rope": 0.48, "tiny-headdim32": 0.76, "tiny-tied": 1.34}
	return []path{
		{"reference", native.Reference, "", native.F32, 2e-4, f32, 0},
		{"portable-f32kv", native.CPU, "portable", native.F32, 2e-4, f32, 0},
		{"avx512bf16", native.CPU, "avx512bf16", native.BF16, 0, d, 0.096},
	}
}

// everyPath is paths and those that have no golden data.
func everyPath() []path {
	return append(paths(), path{name: "portable", backend: native.CPU, isa: "portable", kv: native.BF16})
}

func (p path) bound(model string) float64 {
	if b, ok := p.later[model]; ok {
		return b
	}
	return p.later[""]
}

func (p path) firstBound(model string) float64 {
	if p.first > 0 {
		return p.first
	}
	return p.bound(model)
}

// load gives a source's weights to the path's backend.
func (p path) load(t *testing.T, src *Source, err error) *Model {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
	defer src.Close()
	b, err := p.backend()
	if err != nil {
		t.Fatal(err)
	}
	m, err := Load(b, src)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(m.Close)
	return m
}

// seeded loads preset:tiny's shape on the path.
func (p path) seeded(t *testing.T) *Model {
	t.Helper()
	src, err := OpenPreset("tiny", 7)
	return p.load(t, src, err)
}

// engine opens an engine on the path. The test is skipped where this CPU lacks the
// path, and there alone: see TestPathsThatRun.
func (p path) engine(t *testing.T, m *Model, o Options) *Engine {
	t.Helper()
	o.ISA, o.KV = p.isa, p.kv
	e, err := m.NewEngine(o)
	if errors.Is(err, native.ErrUnsupported) {
		t.Skip(err)
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(e.Close)
	return e
}

// open is engine for the model of a directory.
func (p path) open(t *testing.T, dir string, o Options) *Engine {
	t.Helper()
	src, err := OpenDir(dir, safetensors.Options{})
	return p.engine(t, p.load(t, src, err), o)
}

// TestPathsThatRun: of every list of paths, those that run here are those that the
// CPU backend says run here, so that none is skipped without a reason and none that
// was added goes untested.
func TestPathsThatRun(t *testing.T) {
	b, err := native.CPU()
	if err != nil {
		t.Fatal(err)
	}
	info, err := b.DeviceInfo(-1)
	if err != nil {
		t.Fatal(err)
	}
	var facts struct{ Paths []string }
	if err := json.Unmarshal(info, &facts); err != nil || len(facts.Paths) == 0 {
		t.Fatalf("%s: %v", info, err)
	}
	var real []path
	for _, p := range realPaths() {
		real = append(real, p.path)
	}
	for name, list := range map[string][]path{"paths": paths(), "everyPath": everyPath(), "realPaths": real} {
		if ran := pathsThatRun(t, list); !slices.Equal(ran, slices.Sorted(slices.Values(facts.Paths))) {
			t.Errorf("%s: %q run here, the device says %q", name, ran, facts.Paths)
		}
	}
}

// pathsThatRun are the names of a list's paths of the CPU backend that open an
// engine, sorted, each once.
func pathsThatRun(t *testing.T, list []path) []string {
	t.Helper()
	var ran []string
	for _, p := range list {
		b, err := p.backend()
		if err != nil {
			t.Fatal(err)
		}
		if b.Name() != "cpu" {
			continue
		}
		e, err := p.seeded(t).NewEngine(Options{Sequences: 1, Context: 8, ISA: p.isa, KV: p.kv})
		if errors.Is(err, native.ErrUnsupported) {
			continue
		}
		if err != nil {
			t.Fatal(err)
		}
		if e.Path() != p.isa {
			t.Errorf("%s was asked for and %s runs", p.isa, e.Path())
		}
		e.Close()
		ran = append(ran, p.isa)
	}
	slices.Sort(ran)
	return slices.Compact(ran)
}
