package operator

import (
	"fmt"
	"math"

	"lathe/engine/native"
)

// normEps is the epsilon of every norm of the cases.
const normEps = 1e-5

// normSpec is a case of rmsnorm.
type normSpec struct {
	label                string
	batch, hidden        int
	residual             bool // x is added to the residual first
	x, residualElem, out native.DType
	weight               native.DType
	odd                  bool
	scale                float64 // of x, 0 for 1: small ones let eps count
}

func (s normSpec) name() string {
	with := ""
	if s.residual {
		with = fmt.Sprintf(", residual %s", s.residualElem)
	}
	return fmt.Sprintf("%s: %d rows of %d, x %s weight %s out %s%s", s.label, s.batch, s.hidden, s.x, s.weight, s.out, with)
}

func (s normSpec) rows() int         { return s.batch }
func (s normSpec) only(row int) spec { s.batch = 1; return s }

func (s normSpec) build(seed uint64, ids []uint64) *problem {
	p := &problem{op: "rmsnorm", loose: 1}
	scale := s.scale
	if scale == 0 {
		scale = 1
	}
	x := p.addMatrix("x", s.x, s.batch, s.hidden, gapOf(s.odd, 3))
	residual := matrix{region: -1}
	if s.residual {
		residual = p.addMatrix("residual", s.residualElem, s.batch, s.hidden, gapOf(s.odd, 1))
		p.drawRows(residual, seed, "residual", ids, scale)
	}
	weight := p.addMatrix("weight", s.weight, 1, s.hidden, 0)
	out := p.addMatrix("out", s.out, s.batch, s.hidden, gapOf(s.odd, 5))
	p.drawRows(x, seed, "x", ids, scale)
	p.drawGain(weight, seed)
	p.expectRows(out, true, "out")
	if s.residual {
		p.expectRows(residual, false, "residual")
	}
	p.sites = []site{{x.region, x.at(s.batch-1, s.hidden-1), "x of the last row"}, {weight.region, s.hidden / 2, "the weight"}}
	p.args = func(a []uint64) any { return normArguments(a, x, residual, weight, out) }
	p.solve = func(p *problem) {
		rows, gain := p.rowsOf(x), p.wide(weight.region)
		if s.residual {
			for r, old := range p.rowsOf(residual) {
				sum := p.runs[s.batch+r].want
				for i := range sum {
					sum[i] = old[i] + rows[r][i]
				}
				rows[r] = rounded(s.residualElem, sum)
			}
		}
		for r, row := range rows {
			normalise(p.runs[r].want, row, gain)
		}
	}
	return p
}

// drawGain draws weights of a norm: around 1, where trained ones lie.
func (p *problem) drawGain(m matrix, seed uint64) {
	s := streamOf(seed, "gain")
	for i := range m.cols {
		p.set(m.region, i, 1+0.25*s.normal(i))
	}
}

func normArguments(a []uint64, x, residual, weight, out matrix) rmsnormArgs {
	args := rmsnormArgs{Rows: int32(x.rows), Hidden: int32(x.cols), Eps: normEps, XDType: int32(x.elem), WeightDType: int32(weight.elem),
		OutDType: int32(out.elem), X: a[x.region], XRowStride: int64(x.stride), Weight: a[weight.region]}
	if out.region >= 0 {
		args.Out, args.OutRowStride = a[out.region], int64(out.stride)
	}
	if residual.region >= 0 {
		args.Residual, args.ResidualRowStride, args.ResidualDType = a[residual.region], int64(residual.stride), int32(residual.elem)
	}
	args.StructSize = sizeOf(args)
	return args
}

// normalise is x / sqrt(mean(x^2) + eps) * gain.
func normalise(out, x, gain []float64) {
	square := 0.0
	for _, v := range x {
		square += v * v
	}
	scale := 1 / math.Sqrt(square/float64(len(x))+float64(float32(normEps)))
	for i, v := range x {
		out[i] = v * scale * gain[i]
	}
}

// rounded are the values as the element type stores them.
func rounded(elem native.DType, values []float64) []float64 {
	out, word := make([]float64, len(values)), make([]byte, 4)
	for i, v := range values {
		out[i] = put(elem, word, 0, v)
	}
	return out
}
