package operator

import (
	"fmt"
	"math"

	"lathe/engine/native"
)

// siluSpec is a case of silu_mul.
type siluSpec struct {
	label      string
	batch, ffn int
	in, out    native.DType
	odd        bool
	scale      float64 // of the gate, 0 for 1: large ones let e^-x overflow
}

func (s siluSpec) name() string {
	return fmt.Sprintf("%s: %d rows of %d, in %s out %s", s.label, s.batch, s.ffn, s.in, s.out)
}

func (s siluSpec) rows() int         { return s.batch }
func (s siluSpec) only(row int) spec { s.batch = 1; return s }

func (s siluSpec) build(seed uint64, ids []uint64) *problem {
	p := &problem{op: "silu_mul", loose: max(1, s.scale/16)}
	scale := s.scale
	if scale == 0 {
		scale = 1
	}
	in := p.addMatrix("in", s.in, s.batch, 2*s.ffn, gapOf(s.odd, 3))
	out := p.addMatrix("out", s.out, s.batch, s.ffn, gapOf(s.odd, 1))
	for r, id := range ids[:s.batch] {
		p.draw(in.region, in.at(r, 0), s.ffn, streamOf(seed, "gate", id), 0, scale)
		p.draw(in.region, in.at(r, s.ffn), s.ffn, streamOf(seed, "up", id), 0, 1)
	}
	p.expectRows(out, true, "out")
	p.sites = []site{{in.region, in.at(s.batch-1, s.ffn/2), "gate of the last row"}, {in.region, in.at(s.batch-1, 2*s.ffn-1), "up of the last row"}}
	p.args = func(a []uint64) any { return siluArguments(a, in, out, s.ffn) }
	p.solve = func(p *problem) {
		for r, row := range p.rowsOf(in) {
			gated(p.runs[r].want, row[:s.ffn], row[s.ffn:])
		}
	}
	return p
}

func siluArguments(a []uint64, in, out matrix, ffn int) siluMulArgs {
	args := siluMulArgs{Rows: int32(out.rows), FFN: int32(ffn), InDType: int32(in.elem), OutDType: int32(out.elem),
		Out: a[out.region], OutRowStride: int64(out.stride)}
	if in.region >= 0 {
		args.In, args.InRowStride = a[in.region], int64(in.stride)
	}
	args.StructSize = sizeOf(args)
	return args
}

// gated is silu(gate) * up.
func gated(out, gate, up []float64) {
	for i, x := range gate {
		out[i] = x / (1 + math.Exp(-x)) * up[i]
	}
}
