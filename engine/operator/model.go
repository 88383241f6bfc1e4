package operator

import (
	"fmt"
	"slices"
	"strings"

	"lathe/engine/native"
)

// Shape is a decode step of a model: what its operators are called with.
type Shape struct {
	Hidden, FFN, QHeads, KVHeads, HeadDim, Vocab int

	Batch    int // sequences
	Context  int // tokens of each, the new one included
	PageSize int
	KV       native.DType
	Products native.DType // what enters a matrix product: bf16 or f32, by the numeric path
}

// inStep is the call that a decode step of the shape makes of an operator.
func (s Shape) inStep(op string) (spec, error) {
	const f = native.F32
	e := elems{in: s.Products, weight: native.BF16, out: f, between: s.Products}
	pages := paging{kvHeads: s.KVHeads, headDim: s.HeadDim, pageSize: s.PageSize, headMajor: true, elem: s.KV}
	rope := ropeSpec{label: modelCase, paging: pages, qHeads: s.QHeads, maxPosition: s.Context, qkv: f}
	for i := range s.Batch {
		rope.places = append(rope.places, place{i, s.Context - 1})
	}
	name, role, _ := strings.Cut(op, ".")
	switch name {
	case "attn_decode":
		return attnSpec{label: modelCase, paging: pages, qHeads: s.QHeads, qPerSeq: 1, lengths: slices.Repeat([]int{s.Context}, s.Batch),
			qElem: f, outElem: s.Products}, nil
	case "rmsnorm":
		return normSpec{label: modelCase, batch: s.Batch, hidden: s.Hidden, x: f, weight: f, out: s.Products}, nil
	case "gemm", "o_add", "down_add":
		return s.product(name, role, e)
	case "rope_append":
		return rope, nil
	case "silu_mul":
		return siluSpec{label: modelCase, batch: s.Batch, ffn: s.FFN, in: f, out: s.Products}, nil
	case "norm_qkv_rope_append":
		return qkvSpec{rope: rope, hidden: s.Hidden, x: f, w: e.weight, gain: f, between: e.between}, nil
	case "norm_gate_up_silu":
		return gateUpSpec{label: modelCase, batch: s.Batch, hidden: s.Hidden, ffn: s.FFN, x: f, w: e.weight, out: s.Products, gain: f, between: e.between}, nil
	case "norm_head_argmax":
		return headSpec{label: modelCase, batch: s.Batch, hidden: s.Hidden, vocab: s.Vocab, x: f, w: e.weight, gain: f, between: e.between, logits: true}, nil
	}
	return nil, fmt.Errorf("operator %q: no such operator: there are %s", op, strings.Join(Names(), ", "))
}

const modelCase = "the model's shape"

// mostWeights is how many elements the weights of a case may have; what has more is cut in its outputs.
const mostWeights = 32 << 20

// calls are the calls that a decode step makes of an operator, for its check: all roles of gemm, and
// fewer outputs of a matrix that is very large. cut says that there was one.
func (s Shape) calls(op string) (calls []spec, cut bool, err error) {
	names := []string{op}
	if op == "gemm" {
		names = List()[2].Slots
	}
	for _, name := range names {
		c, err := s.inStep(name)
		if err != nil {
			return nil, false, err
		}
		fits := func(outputs *int, k int) {
			if most := max(64, mostWeights/k/64*64); *outputs > most {
				*outputs, cut = most, true
			}
		}
		switch v := c.(type) {
		case gemmSpec:
			fits(&v.n, v.k)
			c = v
		case gateUpSpec:
			fits(&v.ffn, 2*v.hidden)
			c = v
		case headSpec:
			fits(&v.vocab, v.hidden)
			c = v
		}
		calls = append(calls, c)
	}
	return calls, cut, nil
}

func (s Shape) product(op, role string, e elems) (spec, error) {
	g := gemmSpec{op: op, label: modelCase, m: s.Batch, a: e.in, w: e.weight, out: e.out, biasElem: e.out}
	switch op {
	case "o_add":
		role, g.accumulate = "o", true
	case "down_add":
		role, g.accumulate = "down", true
	}
	g.role = slices.Index(roleNames(), role)
	switch g.role {
	case roleQKV:
		g.n, g.k = (s.QHeads+2*s.KVHeads)*s.HeadDim, s.Hidden
	case roleO:
		g.n, g.k = s.Hidden, s.QHeads*s.HeadDim
	case roleGateUp:
		g.n, g.k = 2*s.FFN, s.Hidden
	case roleDown:
		g.n, g.k = s.Hidden, s.FFN
	case roleHead:
		g.n, g.k = s.Vocab, s.Hidden
	default:
		return nil, fmt.Errorf("operator %s: name one of its roles: %s", op, strings.Join(List()[2].Slots, ", "))
	}
	return g, nil
}

// Step is the call that a decode step makes of an operator.
type Step struct {
	Name     string `json:"name"`
	Bytes    uint64 `json:"bytes"`    // that must be read or written once
	Streamed uint64 `json:"streamed"` // of these, weights and pages
}

// Describe says what a decode step of a shape calls an operator with. It makes the inputs to count them.
func Describe(op string, s Shape) (Step, error) {
	c, err := s.inStep(op)
	if err != nil {
		return Step{}, err
	}
	p := c.build(0, identities(c.rows()))
	return Step{Name: c.name(), Bytes: p.traffic(false), Streamed: p.traffic(true)}, nil
}
