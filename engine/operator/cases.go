package operator

import (
	"fmt"
	"slices"
	"strings"

	"lathe/engine/native"
)

// elems are the element types of a case: activations, weights or KV pages, outputs, and in a fused
// operator what enters its product.
type elems struct{ in, weight, out, between native.DType }

// elemChoices are the element types that an operator is checked with: first those of the engine's paths
// (products of bf16, then of f32), then others that operator.h allows.
func elemChoices(op string) []elems {
	const f, h = native.F32, native.BF16
	switch symbolOf(op) {
	case "attn_decode":
		return []elems{{f, h, h, f}, {f, h, f, f}, {f, f, h, f}, {f, f, f, f}, {h, h, h, h}}
	case "rmsnorm":
		return []elems{{f, f, h, f}, {f, f, f, f}, {h, h, h, h}}
	case "rope_append", "silu_mul":
		return []elems{{f, h, h, f}, {f, f, f, f}, {h, h, h, h}}
	}
	return []elems{{h, h, f, h}, {f, h, f, f}, {h, h, h, h}, {f, f, f, f}}
}

// String is the types as kernel list shows them.
func (e elems) String() string {
	return e.in.String() + "/" + e.weight.String() + "/" + e.out.String()
}

// fused are the types of a fused operator's case: its input is the residual stream, which is f32 beside
// f32 outputs.
func (e elems) fused() elems {
	if e.out == native.F32 {
		e.in = native.F32
	}
	return e
}

// bias is the element type of biases and of a fused operator's norm: as trained beside bf16 outputs,
// f32 elsewhere.
func (e elems) bias() native.DType {
	if e.out == native.BF16 {
		return native.BF16
	}
	return native.F32
}

// casesOf lists the edge cases of an operator, a name that --kernel takes.
func casesOf(op string) ([]spec, error) {
	var out []spec
	name, role, _ := strings.Cut(op, ".")
	for _, e := range elemChoices(op) {
		switch name {
		case "attn_decode":
			out = append(out, attnCases(e)...)
		case "rmsnorm":
			out = append(out, normCases(e)...)
		case "gemm":
			out = append(out, gemmCases(e, role)...)
		case "rope_append":
			out = append(out, ropeCases(e)...)
		case "silu_mul":
			out = append(out, siluCases(e)...)
		case "norm_qkv_rope_append":
			out = append(out, qkvCases(e.fused())...)
		case "o_add", "down_add":
			out = append(out, addCases(e, name)...)
		case "norm_gate_up_silu":
			out = append(out, gateUpCases(e.fused())...)
		case "norm_head_argmax":
			out = append(out, headCases(e.fused())...)
		}
	}
	if len(out) == 0 {
		return nil, fmt.Errorf("operator %q: no such operator: there are %s", op, strings.Join(Names(), ", "))
	}
	return out, nil
}

func attnCases(e elems) []spec {
	type c struct {
		label                         string
		qHeads, kvHeads, dim, page, q int
		lengths                       []int
	}
	var out []spec
	for _, c := range []c{
		{"one key", 4, 2, 64, 16, 1, []int{1}},
		{"around a page", 4, 2, 64, 16, 1, []int{15, 16, 17}},
		{"padded rows", 4, 2, 64, 32, 1, []int{0, 33, 0, 5}},
		{"no sharing of heads", 2, 2, 128, 64, 1, []int{64, 63, 65, 1}},
		{"four heads share", 8, 2, 128, 64, 1, []int{130}},
		{"three heads share", 9, 3, 64, 64, 1, []int{129, 64}},
		{"one key/value head", 6, 1, 64, 16, 1, []int{40, 2}},
		{"rows to verify", 4, 1, 64, 16, 4, []int{4, 16, 19}},
		{"a long context", 2, 1, 64, 16, 1, []int{1000}},
		{"long and short", 2, 1, 128, 64, 1, []int{3, 517}},
		{"pages of one token", 2, 1, 64, 1, 1, []int{9, 4}},
		{"large pages", 2, 1, 64, 256, 1, []int{255, 257}},
	} {
		out = append(out, attnSpec{label: c.label, qHeads: c.qHeads, qPerSeq: c.q, lengths: c.lengths, qElem: e.in, outElem: e.out,
			paging: paging{kvHeads: c.kvHeads, headDim: c.dim, pageSize: c.page, elem: e.weight}})
	}
	plain := attnSpec{qHeads: 4, qPerSeq: 1, lengths: []int{50, 7}, qElem: e.in, outElem: e.out,
		paging: paging{kvHeads: 2, headDim: 64, pageSize: 16, elem: e.weight}}
	odd, heads, lse, large := plain, plain, plain, plain
	odd.label, odd.paging.odd = "odd strides", true
	heads.label, heads.paging.headMajor = "pages by head", true
	lse.label, lse.lse, lse.qPerSeq = "lse wanted", true, 2
	large.label, large.lift = "scores too large for an exponential", 100
	return append(out, odd, heads, lse, large)
}

func normCases(e elems) []spec {
	var out []spec
	for _, s := range []normSpec{
		{label: "one row", batch: 1, hidden: 64},
		{label: "rows", batch: 3, hidden: 576},
		{label: "many rows", batch: 17, hidden: 128},
		{label: "wide", batch: 2, hidden: 4096},
		{label: "odd strides", batch: 3, hidden: 100, odd: true},
		{label: "small values", batch: 2, hidden: 256, scale: 1e-3},
		{label: "into the residual", batch: 3, hidden: 192, residual: true},
		{label: "into the residual, odd strides", batch: 2, hidden: 99, residual: true, odd: true},
	} {
		s.x, s.residualElem, s.weight, s.out = e.in, e.in, e.weight, e.out
		out = append(out, s)
	}
	return out
}

func gemmShapes() []gemmSpec {
	return []gemmSpec{
		{label: "one row", m: 1, n: 96, k: 64},
		{label: "one long row", m: 1, n: 257, k: 576},
		{label: "two rows", m: 2, n: 64, k: 2048},
		{label: "odd strides", m: 5, n: 131, k: 99, odd: true},
		{label: "many rows", m: 17, n: 64, k: 320},
		{label: "bias", m: 3, n: 100, k: 128, bias: true},
	}
}

func gemmCases(e elems, role string) []spec {
	roles := []int{slices.Index(roleNames(), role)}
	if role == "" {
		roles = []int{roleQKV, roleO, roleGateUp, roleDown, roleHead}
	} else if roles[0] < 0 {
		return nil
	}
	shapes := append(gemmShapes(), gemmSpec{label: "into the residual", m: 2, n: 160, k: 96, accumulate: true},
		gemmSpec{label: "into the residual, bias", m: 4, n: 64, k: 64, accumulate: true, bias: true})
	var out []spec
	for i, s := range shapes {
		s.op, s.role, s.a, s.w, s.out, s.biasElem = "gemm", roles[i%len(roles)], e.in, e.weight, e.out, e.bias()
		out = append(out, s)
	}
	return out
}

func addCases(e elems, op string) []spec {
	role := map[string]int{"o_add": roleO, "down_add": roleDown}[op]
	var out []spec
	for _, s := range gemmShapes() {
		s.op, s.role, s.a, s.w, s.out, s.biasElem, s.accumulate = op, role, e.in, e.weight, e.out, e.bias(), true
		out = append(out, s)
	}
	return out
}

func siluCases(e elems) []spec {
	var out []spec
	for _, s := range []siluSpec{
		{label: "one row", batch: 1, ffn: 64},
		{label: "rows", batch: 3, ffn: 1536},
		{label: "many rows", batch: 17, ffn: 96},
		{label: "odd strides", batch: 4, ffn: 101, odd: true},
		{label: "values too large for an exponential", batch: 2, ffn: 128, scale: 60},
	} {
		s.in, s.out = e.in, e.out
		out = append(out, s)
	}
	return out
}

// CaseCount is how many cases an operator is checked with.
func CaseCount(op string) (int, error) {
	specs, err := casesOf(op)
	return len(specs), err
}
