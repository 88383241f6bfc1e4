package operator

import (
	"fmt"
	"math"

	"lathe/engine/native"
)

// The roles of lathe_gemm_role.
const (
	roleQKV = iota
	roleO
	roleGateUp
	roleDown
	roleHead
)

func roleNames() []string { return []string{"qkv", "o", "gate_up", "down", "head"} }

// gemmSpec is a case of gemm, o_add or down_add.
type gemmSpec struct {
	op         string // gemm, o_add, down_add
	label      string
	role       int
	m, n, k    int
	accumulate bool
	bias       bool
	a, w, out  native.DType
	biasElem   native.DType
	odd        bool
}

func (s gemmSpec) name() string {
	extra := ""
	if s.accumulate {
		extra += ", accumulate"
	}
	if s.bias {
		extra += ", bias"
	}
	return fmt.Sprintf("%s: role %s, %d x %d x %d, a %s w %s out %s%s", s.label, roleNames()[s.role], s.m, s.n, s.k, s.a, s.w, s.out, extra)
}

func (s gemmSpec) rows() int         { return s.m }
func (s gemmSpec) only(row int) spec { s.m = 1; return s }

func (s gemmSpec) build(seed uint64, ids []uint64) *problem {
	p := &problem{op: s.op, loose: 1}
	if s.op == "gemm" {
		p.op += "." + roleNames()[s.role]
	}
	a := p.addMatrix("a", s.a, s.m, s.k, gapOf(s.odd, 3))
	w := p.addMatrix("w", s.w, s.n, s.k, gapOf(s.odd, 1))
	p.stream(w.region)
	bias := matrix{region: -1}
	if s.bias {
		bias = p.addMatrix("bias", s.biasElem, 1, s.n, 0)
		p.drawWeights(bias, seed, "bias", 0.5)
	}
	out := p.addMatrix("out", s.out, s.m, s.n, gapOf(s.odd, 5))
	p.drawRows(a, seed, "a", ids, 1)
	p.drawWeights(w, seed, "w", 1/math.Sqrt(float64(s.k)))
	if s.accumulate {
		p.drawRows(out, seed, "out", ids, 1)
	}
	p.expectRows(out, !s.accumulate, "out")
	p.sites = []site{{a.region, a.at(s.m-1, s.k-1), "a of the last row"}, {w.region, w.at(s.n-1, 0), "the last row of w"}}
	p.args = func(addr []uint64) any { return gemmArguments(addr, s.role, s.accumulate, a, w, bias, out) }
	p.solve = func(p *problem) {
		before := p.rowsOf(out)
		for r, row := range p.product(p.rowsOf(a), w, p.biasOf(bias)) {
			copy(p.runs[r].want, row)
			for i := range row {
				if s.accumulate {
					p.runs[r].want[i] += before[r][i]
				}
			}
		}
	}
	return p
}

// gemmArguments leaves a pointer NULL whose matrix has no region: it lies between fused parts.
func gemmArguments(addr []uint64, role int, accumulate bool, a, w, bias, out matrix) gemmArgs {
	g := gemmArgs{Role: int32(role), M: int32(a.rows), N: int32(w.rows), K: int32(w.cols), ADType: int32(a.elem), WDType: int32(w.elem),
		OutDType: int32(out.elem), BiasDType: int32(w.elem), W: addr[w.region], WRowStride: int64(w.stride)}
	if accumulate {
		g.Accumulate = 1
	}
	if a.region >= 0 {
		g.A, g.ARowStride = addr[a.region], int64(a.stride)
	}
	if bias.region >= 0 {
		g.Bias, g.BiasDType = addr[bias.region], int32(bias.elem)
	}
	if out.region >= 0 {
		g.Out, g.OutRowStride = addr[out.region], int64(out.stride)
	}
	g.StructSize = sizeOf(g)
	return g
}

// biasOf is nil without one.
func (p *problem) biasOf(m matrix) []float64 {
	if m.region < 0 {
		return nil
	}
	return p.wide(m.region)
}

// product is a times the rows of w, plus the bias. Rows of w are widened one at a time: it may be large.
func (p *problem) product(a [][]float64, w matrix, bias []float64) [][]float64 {
	out, weights := make([][]float64, len(a)), make([]float64, w.cols)
	for r := range a {
		out[r] = make([]float64, w.rows)
	}
	for n := range w.rows {
		p.row(w, n, weights)
		for r, row := range a {
			out[r][n] = dot(row, weights)
			if bias != nil {
				out[r][n] += bias[n]
			}
		}
	}
	return out
}
