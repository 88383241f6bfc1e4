package llama

import (
	"fmt"
	"math"
	"testing"
)

// randomModel is a float64 forward pass over seeded weights, written for this test
// alone: it answers whether the standard deviations of Tensors give a model whose
// numbers stay of order one.
type randomModel struct {
	Config
	weights map[string][]float64
}

func splitmix(x uint64) uint64 {
	x += 0x9E3779B97F4A7C15
	x = (x ^ (x >> 30)) * 0xBF58476D1CE4E5B9
	x = (x ^ (x >> 27)) * 0x94D049BB133111EB
	return x ^ (x >> 31)
}

// seeded is the generator of backend.h without its rounding to bfloat16.
func seeded(s TensorSpec, seed uint64) []float64 {
	key := splitmix(seed ^ uint64(uint32(s.Role))<<32 ^ uint64(uint32(s.Layer+1)))
	out := make([]float64, s.Elements())
	for i := range out {
		out[i] = 1
		if s.Std != 0 {
			r := splitmix(key + uint64(i)*0x9E3779B97F4A7C15)
			sum := int64(r&0xFFFF) + int64(r>>16&0xFFFF) + int64(r>>32&0xFFFF) + int64(r>>48) - 131070
			out[i] = float64(sum) / 37837.2227 * float64(s.Std)
		}
	}
	return out
}

func newRandomModel(c Config) randomModel {
	m := randomModel{c, map[string][]float64{}}
	for s := range c.Tensors() {
		m.weights[s.Name] = seeded(s, 1)
	}
	return m
}

func rms(x []float64) float64 {
	var sum float64
	for _, v := range x {
		sum += v * v
	}
	return math.Sqrt(sum / float64(len(x)))
}

func (m randomModel) normed(x []float64) []float64 {
	out, scale := make([]float64, len(x)), 1/math.Sqrt(rms(x)*rms(x)+m.RMSEps)
	for i, v := range x {
		out[i] = v * scale
	}
	return out
}

// times is a matrix [rows, len(x)] times x.
func times(w, x []float64) []float64 {
	out := make([]float64, len(w)/len(x))
	for r := range out {
		for i, v := range x {
			out[r] += w[r*len(x)+i] * v
		}
	}
	return out
}

func add(x, y []float64) {
	for i := range x {
		x[i] += y[i]
	}
}

// attend is causal attention of the last position over all; RoPE turns vectors
// without changing their length, so it is left out.
func (m randomModel) attend(q []float64, keys, values [][]float64) []float64 {
	out := make([]float64, len(q))
	d := m.HeadDim
	for h := range m.QHeads {
		kv := h / (m.QHeads / m.KVHeads) * d
		var total float64
		p := make([]float64, len(keys))
		for t, k := range keys {
			for i := range d {
				p[t] += q[h*d+i] * k[kv+i]
			}
			p[t] = math.Exp(p[t] / math.Sqrt(float64(d)))
			total += p[t]
		}
		for t, v := range values {
			for i := range d {
				out[h*d+i] += p[t] / total * v[kv+i]
			}
		}
	}
	return out
}

// run returns the residual stream and the logits of the last position.
func (m randomModel) run(tokens []int) (residual, logits []float64) {
	x := make([][]float64, len(tokens))
	for t, id := range tokens {
		x[t] = append([]float64(nil), m.weights["model.embed_tokens.weight"][id*m.Hidden:(id+1)*m.Hidden]...)
	}
	for layer := range m.Layers {
		w := func(name string) []float64 { return m.weights[fmt.Sprintf("model.layers.%d.%s.weight", layer, name)] }
		var keys, values [][]float64
		for t := range x {
			n := m.normed(x[t])
			keys, values = append(keys, times(w("self_attn.k_proj"), n)), append(values, times(w("self_attn.v_proj"), n))
			add(x[t], times(w("self_attn.o_proj"), m.attend(times(w("self_attn.q_proj"), n), keys, values)))
			n = m.normed(x[t])
			g, u := times(w("mlp.gate_proj"), n), times(w("mlp.up_proj"), n)
			for i := range g {
				g[i] = g[i] / (1 + math.Exp(-g[i])) * u[i]
			}
			add(x[t], times(w("mlp.down_proj"), g))
		}
	}
	head := m.weights["lm_head.weight"]
	if m.Tied {
		head = m.weights["model.embed_tokens.weight"]
	}
	last := x[len(x)-1]
	return last, times(head, m.normed(last))
}

func TestSeededWeightsGiveSaneLogits(t *testing.T) {
	for _, layers := range []int{1, 2, 32, 80} {
		for _, tied := range []bool{false, true} {
			c := preset(t, "tiny")
			c.Layers, c.Tied = layers, tied
			residual, logits := newRandomModel(c).run([]int{254, 76, 97, 116, 104, 101})
			r, l := rms(residual), rms(logits)
			t.Logf("%d layers, tied %v: residual %.3f, logits %.3f", layers, tied, r, l)
			if !(r > 0.05 && r < 5) {
				t.Errorf("%d layers: residual stream of size %g", layers, r)
			}
			if !(l > 0.1 && l < 8) {
				t.Errorf("%d layers, tied %v: logits of size %g", layers, tied, l)
			}
		}
	}
}
