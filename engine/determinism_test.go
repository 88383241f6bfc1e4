package engine

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"lathe/engine/llama"
	"lathe/engine/native"
)

// rowBits runs prompts and collects, for one of them, the bit patterns of the logits
// of every generated position.
func rowBits(t *testing.T, m *Model, p path, o Options, prompts [][]int32, which, steps int) []uint32 {
	t.Helper()
	o.Sequences, o.Context = max(o.Sequences, len(prompts)), 256
	e := p.engine(t, m, o)
	defer e.Close()
	if err := e.Begin(prompts, steps); err != nil {
		t.Fatal(err)
	}
	logits := make([]float32, m.Config.Vocab)
	var out []uint32
	for i := range steps {
		step := e.Decode
		if i == 0 {
			step = e.Prefill
		}
		if err := step(); err != nil {
			t.Fatal(err)
		}
		if err := e.Wait(); err != nil {
			t.Fatal(err)
		}
		if err := e.Logits(which, logits); err != nil {
			t.Fatal(err)
		}
		for _, v := range logits {
			out = append(out, math.Float32bits(v))
		}
	}
	return out
}

func randomPrompt(r *rand.Rand, n, vocab int) []int32 {
	out := make([]int32, n)
	for i := range out {
		out[i] = int32(r.IntN(vocab))
	}
	return out
}

// TestRowBits holds the determinism rule of ARCHITECTURE.md: within one path the
// bits of a row do not depend on page size, thread count, batch neighbours or how
// the prompt was cut into chunks.
func TestRowBits(t *testing.T) {
	for _, p := range everyPath() {
		t.Run(p.name, func(t *testing.T) {
			m := p.seeded(t)
			r := rand.New(rand.NewPCG(1, 2))
			prompt := randomPrompt(r, 97, m.Config.Vocab)
			want := rowBits(t, m, p, Options{Threads: 1}, [][]int32{prompt}, 0, 6)
			check := func(name string, o Options, prompts [][]int32, which int) {
				t.Helper()
				if got := rowBits(t, m, p, o, prompts, which, 6); !slices.Equal(got, want) {
					t.Errorf("%s: the row's bits changed", name)
				}
			}
			for _, page := range []int{1, 16, 64, 256} {
				check(fmt.Sprintf("page size %d", page), Options{PageSize: page}, [][]int32{prompt}, 0)
			}
			for threads := 1; threads <= 4; threads++ {
				check(fmt.Sprintf("%d threads", threads), Options{Threads: threads}, [][]int32{prompt}, 0)
			}
			for _, chunk := range []int{1, 3, 64, 200} {
				check(fmt.Sprintf("chunks of %d rows", chunk), Options{ChunkRows: chunk}, [][]int32{prompt}, 0)
			}
			for _, n := range []int{2, 3, 5, 8, 13, 17} {
				batch := make([][]int32, n)
				for i := range batch {
					batch[i] = randomPrompt(r, 1+r.IntN(150), m.Config.Vocab)
				}
				which := r.IntN(n)
				batch[which] = prompt
				check(fmt.Sprintf("batch of %d", n), Options{PageSize: 16, Threads: 3, ChunkRows: 4096}, batch, which)
			}
		})
	}
}

// TestRolesAgree keeps the two lists of roles, llama's and backend.h's, the same.
func TestRolesAgree(t *testing.T) {
	cfg := llama.Config{Vocab: 2, Hidden: 2, Layers: 1, QHeads: 1, KVHeads: 1, HeadDim: 2, FFN: 2, AttentionBias: true, MLPBias: true}
	want := map[string]native.Role{
		"model.embed_tokens.weight": native.RoleEmbed, "model.norm.weight": native.RoleNormFinal, "lm_head.weight": native.RoleHead,
		"model.layers.0.input_layernorm.weight": native.RoleNormAttn, "model.layers.0.post_attention_layernorm.weight": native.RoleNormFFN,
		"model.layers.0.self_attn.q_proj.weight": native.RoleQ, "model.layers.0.self_attn.k_proj.weight": native.RoleK,
		"model.layers.0.self_attn.v_proj.weight": native.RoleV, "model.layers.0.self_attn.o_proj.weight": native.RoleO,
		"model.layers.0.mlp.gate_proj.weight": native.RoleGate, "model.layers.0.mlp.up_proj.weight": native.RoleUp,
		"model.layers.0.mlp.down_proj.weight": native.RoleDown, "model.layers.0.self_attn.q_proj.bias": native.RoleQBias,
		"model.layers.0.self_attn.k_proj.bias": native.RoleKBias, "model.layers.0.self_attn.v_proj.bias": native.RoleVBias,
		"model.layers.0.self_attn.o_proj.bias": native.RoleOBias, "model.layers.0.mlp.gate_proj.bias": native.RoleGateBias,
		"model.layers.0.mlp.up_proj.bias": native.RoleUpBias, "model.layers.0.mlp.down_proj.bias": native.RoleDownBias,
	}
	seen := 0
	for spec := range cfg.Tensors() {
		role, ok := want[spec.Name]
		if !ok || native.Role(spec.Role) != role {
			t.Errorf("%s has role %d, backend.h says %d", spec.Name, spec.Role, role)
		}
		seen++
	}
	if seen != int(native.Roles) {
		t.Errorf("%d tensors, backend.h has %d roles", seen, native.Roles)
	}
}

// TestStepAllocatesNothing holds the rule of a measured step.
func TestStepAllocatesNothing(t *testing.T) {
	for _, p := range paths() {
		t.Run(p.name, func(t *testing.T) {
			e := p.engine(t, p.seeded(t), Options{Sequences: 4, Context: 256, PageSize: 16})
			prompts := [][]int32{{1, 2}, {3}, {4, 5, 6}, {7}}
			if _, err := generate(e, prompts, 2); err != nil {
				t.Fatal(err)
			}
			n := testing.AllocsPerRun(100, func() {
				if e.Decode() != nil || e.Wait() != nil {
					t.Error("step failed")
				}
			})
			if n != 0 {
				t.Errorf("%g allocations a decode step", n)
			}
		})
	}
}
