package engine

import (
	"fmt"
	"math"
	"testing"

	"lathe/engine/llama"
	"lathe/engine/native"
)

// shapes are models of one or two layers whose workspaces are ruled by different
// dimensions: activations, logits, positions, odd sizes.
func shapes() map[string]llama.Config {
	shape := func(vocab, hidden, layers, qHeads, kvHeads, headDim, ffn, positions int) llama.Config {
		return llama.Config{Architecture: "LlamaForCausalLM", Vocab: vocab, Hidden: hidden, Layers: layers, QHeads: qHeads, KVHeads: kvHeads,
			HeadDim: headDim, FFN: ffn, MaxPosition: positions, RMSEps: 1e-5, RopeTheta: 10000, DType: "bfloat16"}
	}
	return map[string]llama.Config{
		"tiny":       shape(256, 64, 2, 4, 2, 16, 128, 1024),
		"odd":        shape(61, 41, 1, 6, 2, 10, 57, 512),
		"wide ffn":   shape(300, 256, 1, 4, 1, 64, 14336, 4096),
		"many heads": shape(300, 64, 1, 32, 1, 128, 64, 4096),
		"vocabulary": shape(128256, 32, 1, 2, 2, 16, 32, 4096),
		"positions":  shape(64, 32, 1, 2, 1, 128, 32, 131072),
		"large head": shape(64, 32, 1, 1, 1, 1022, 32, 256),
	}
}

// TestWorkspaceBound: what a session takes is at most the bound, and the bound at
// most twice that and 1 MiB.
func TestWorkspaceBound(t *testing.T) {
	for name, cfg := range shapes() {
		for _, p := range everyPath() {
			t.Run(name+"/"+p.name, func(t *testing.T) {
				m := p.load(t, &Source{Name: name, Config: cfg}, nil)
				for _, o := range []Options{
					{Sequences: 1, Context: 1},
					{Sequences: 1, Context: cfg.MaxPosition, ChunkRows: 64},
					{Sequences: 3, Context: 256, Threads: 1},
					{Sequences: 16, Context: 100, ChunkRows: 900, Logits: 64, PageSize: 16, Threads: 3},
				} {
					boundHolds(t, p, m, o)
				}
				if p.name != "reference" {
					for _, op := range native.ReplaceableOps() {
						boundHolds(t, p, m, Options{Sequences: 3, Context: 200, ChunkRows: 250, Logits: 9, Threads: 3, Overrides: builtins(op)})
					}
				}
				// The table of the longest engine above is still there.
				boundHolds(t, p, m, Options{Sequences: 1, Context: 2})
			})
		}
	}
}

func boundHolds(t *testing.T, p path, m *Model, o Options) {
	t.Helper()
	o.ISA, o.KV = p.isa, p.kv
	bound := m.WorkspaceBound(o)
	e := p.engine(t, m, o)
	defer e.Close()
	took := e.Memory().Workspace + e.Memory().Weights - m.WeightBytes()
	text := fmt.Sprintf("%d x %d, chunks of %d, %d overrides: %d bytes, the bound is %d", o.Sequences, o.Context, o.ChunkRows, len(o.Overrides), took, bound)
	if took == 0 || took > bound || bound > 2*took+1<<20 {
		t.Error(text)
	} else {
		t.Log(text)
	}
}

// TestWorkspaceBoundIsCounted: the bound needs no memory of its own size, and what
// 64 bits cannot count is more than any machine has.
func TestWorkspaceBoundIsCounted(t *testing.T) {
	for _, p := range everyPath() {
		m := p.seeded(t)
		if n := m.WorkspaceBound(Options{Sequences: 1 << 20, Context: 1 << 20, ChunkRows: 1 << 40}); n < 1<<48 || n > 1<<56 {
			t.Errorf("%s: %d bytes for 2^40 rows", p.name, n)
		}
		for _, o := range []Options{
			{Sequences: 1, Context: 1024, ChunkRows: math.MaxInt, Logits: math.MaxInt},
			{Sequences: math.MaxInt / 2, Context: 1024, ChunkRows: math.MaxInt},
			{Sequences: 1, Context: 1024, ChunkRows: -1 << 62, Logits: -1},
		} {
			if n := m.WorkspaceBound(o); n < 1<<60 {
				t.Errorf("%s: %d bytes for %+v", p.name, n, o)
			}
		}
	}
}
