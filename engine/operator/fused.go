package operator

import (
	"fmt"
	"math"

	"lathe/engine/native"
)

// qkvSpec is a case of norm_qkv_rope_append.
type qkvSpec struct {
	rope    ropeSpec
	hidden  int
	x, w    native.DType
	gain    native.DType // of the norm's weight and the bias
	between native.DType // of what enters the product
	bias    bool
}

func (s qkvSpec) name() string {
	return fmt.Sprintf("%s, hidden %d, x %s w %s, product of %s", s.rope.name(), s.hidden, s.x, s.w, s.between)
}

func (s qkvSpec) rows() int { return s.rope.rows() }

func (s qkvSpec) only(row int) spec {
	s.rope = s.rope.only(row).(ropeSpec)
	return s
}

func (s qkvSpec) build(seed uint64, ids []uint64) *problem {
	p := &problem{op: "norm_qkv_rope_append", loose: 1, rounds: roundings(s.between, 1)}
	g, n := s.rope.paging, len(s.rope.places)
	b := s.rope.addRope(p, seed)
	qCols, kvCols := s.rope.qHeads*g.headDim, g.kvHeads*g.headDim
	x := p.addMatrix("x", s.x, n, s.hidden, gapOf(g.odd, 3))
	gain := p.addMatrix("norm weight", s.gain, 1, s.hidden, 0)
	w := p.addMatrix("w", s.w, qCols+2*kvCols, s.hidden, gapOf(g.odd, 1))
	p.stream(w.region)
	bias := matrix{region: -1}
	if s.bias {
		bias = p.addMatrix("bias", s.gain, 1, w.rows, 0)
		p.drawWeights(bias, seed, "bias", 0.5)
	}
	b.q = p.addMatrix("q", s.rope.qkv, n, qCols, gapOf(g.odd, 5))
	b.k, b.v = matrix{region: -1}, matrix{region: -1}
	p.drawRows(x, seed, "x", ids, 1)
	p.drawGain(gain, seed)
	p.drawWeights(w, seed, "w", 1/math.Sqrt(float64(s.hidden)))
	s.rope.expectRope(p, b, true)
	p.sites = []site{{x.region, x.at(n-1, 0), "x of the last row"}, {w.region, w.at(w.rows-1, 1), "the last row of w"}}
	between := matrix{region: -1, rows: n, elem: s.between}
	p.args = func(a []uint64) any {
		args := normQKVRopeAppendArgs{Norm: normArguments(a, x, matrix{region: -1}, gain, between),
			QKV: gemmArguments(a, roleQKV, false, between, w, bias, between), Rope: s.rope.arguments(b, a)}
		args.StructSize = sizeOf(args)
		return args
	}
	p.solve = func(p *problem) {
		qkv := p.product(p.normed(x, gain), w, p.biasOf(bias))
		q, k, v := make([][]float64, n), make([][]float64, n), make([][]float64, n)
		for r, row := range qkv {
			q[r], k[r], v[r] = row[:qCols], row[qCols:qCols+kvCols], row[qCols+kvCols:]
		}
		s.rope.solveRope(p, b, 0, q, k, v)
	}
	return p
}

// normed is the norm of every row, not rounded: what a fused operator only passes on has no type.
func (p *problem) normed(x, gain matrix) [][]float64 {
	rows, weight := p.rowsOf(x), p.wide(gain.region)
	out := make([][]float64, len(rows))
	for r, row := range rows {
		out[r] = make([]float64, len(row))
		normalise(out[r], row, weight)
	}
	return out
}

// roundings is n where what enters a product is bf16.
func roundings(between native.DType, n int) int {
	if between == native.BF16 {
		return n
	}
	return 0
}

// gateUpSpec is a case of norm_gate_up_silu.
type gateUpSpec struct {
	label              string
	batch, hidden, ffn int
	x, w, out          native.DType
	gain, between      native.DType
	bias, odd          bool
}

func (s gateUpSpec) name() string {
	return fmt.Sprintf("%s: %d rows, hidden %d, ffn %d, x %s w %s out %s, product of %s", s.label, s.batch, s.hidden, s.ffn, s.x, s.w, s.out, s.between)
}

func (s gateUpSpec) rows() int         { return s.batch }
func (s gateUpSpec) only(row int) spec { s.batch = 1; return s }

func (s gateUpSpec) build(seed uint64, ids []uint64) *problem {
	p := &problem{op: "norm_gate_up_silu", loose: 1, rounds: roundings(s.between, 2)} // of gate and of up
	x := p.addMatrix("x", s.x, s.batch, s.hidden, gapOf(s.odd, 3))
	gain := p.addMatrix("norm weight", s.gain, 1, s.hidden, 0)
	w := p.addMatrix("w", s.w, 2*s.ffn, s.hidden, gapOf(s.odd, 1))
	p.stream(w.region)
	bias := matrix{region: -1}
	if s.bias {
		bias = p.addMatrix("bias", s.gain, 1, w.rows, 0)
		p.drawWeights(bias, seed, "bias", 0.5)
	}
	out := p.addMatrix("out", s.out, s.batch, s.ffn, gapOf(s.odd, 5))
	p.drawRows(x, seed, "x", ids, 1)
	p.drawGain(gain, seed)
	p.drawWeights(w, seed, "w", 1/math.Sqrt(float64(s.hidden)))
	p.expectRows(out, true, "out")
	p.sites = []site{{x.region, x.at(s.batch-1, s.hidden/2), "x of the last row"}, {w.region, w.at(w.rows-1, 1), "the last row of w"}}
	between := matrix{region: -1, rows: s.batch, elem: s.between}
	p.args = func(a []uint64) any {
		args := normGateUpSiluArgs{Norm: normArguments(a, x, matrix{region: -1}, gain, between),
			GateUp: gemmArguments(a, roleGateUp, false, between, w, bias, between), Silu: siluArguments(a, between, out, s.ffn)}
		args.StructSize = sizeOf(args)
		return args
	}
	p.solve = func(p *problem) {
		for r, row := range p.product(p.normed(x, gain), w, p.biasOf(bias)) {
			gated(p.runs[r].want, row[:s.ffn], row[s.ffn:])
		}
	}
	return p
}

// headSpec is a case of norm_head_argmax.
type headSpec struct {
	label                string
	batch, hidden, vocab int
	x, w                 native.DType
	gain, between        native.DType
	logits, odd          bool // logits: somebody wants them
}

func (s headSpec) name() string {
	wanted := "no logits wanted"
	if s.logits {
		wanted = "logits wanted"
	}
	return fmt.Sprintf("%s: %d rows, hidden %d, vocab %d, x %s w %s, product of %s, %s", s.label, s.batch, s.hidden, s.vocab, s.x, s.w, s.between, wanted)
}

func (s headSpec) rows() int         { return s.batch }
func (s headSpec) only(row int) spec { s.batch = 1; return s }

func (s headSpec) build(seed uint64, ids []uint64) *problem {
	p := &problem{op: "norm_head_argmax", loose: 1, rounds: roundings(s.between, 1)}
	x := p.addMatrix("x", s.x, s.batch, s.hidden, gapOf(s.odd, 3))
	gain := p.addMatrix("norm weight", s.gain, 1, s.hidden, 0)
	w := p.addMatrix("w", s.w, s.vocab, s.hidden, gapOf(s.odd, 1))
	p.stream(w.region)
	logits := matrix{region: -1, elem: native.F32}
	if s.logits {
		logits = p.addMatrix("logits", native.F32, s.batch, s.vocab, gapOf(s.odd, 5))
	}
	token, value := p.add("token", i32, s.batch), p.add("value", native.F32, s.batch)
	p.drawRows(x, seed, "x", ids, 1)
	p.drawGain(gain, seed)
	p.drawWeights(w, seed, "w", 1/math.Sqrt(float64(s.hidden)))
	for r := range s.batch {
		p.expect(token, r, 1, r, true, tokenRun, fmt.Sprintf("token of row %d", r))
		p.expect(value, r, 1, r, true, logsRun, fmt.Sprintf("value of row %d", r))
	}
	if s.logits {
		p.expectRows(logits, true, "the logits")
	}
	p.sites = []site{{x.region, x.at(s.batch-1, 0), "x of the last row"}, {w.region, w.at(s.vocab-1, 1), "the last row of w"}}
	between := matrix{region: -1, rows: s.batch, elem: s.between}
	p.args = func(a []uint64) any {
		args := normHeadArgmaxArgs{Norm: normArguments(a, x, matrix{region: -1}, gain, between),
			Head: gemmArguments(a, roleHead, false, between, w, matrix{region: -1}, logits), Token: a[token], Value: a[value]}
		args.StructSize = sizeOf(args)
		return args
	}
	p.solve = func(p *problem) {
		for r, row := range p.product(p.normed(x, gain), w, nil) {
			best := largest(row)
			p.runs[2*r].choice = row
			p.runs[2*r].want[0], p.runs[2*r+1].want[0] = float64(best), row[best]
			if s.logits {
				copy(p.runs[2*s.batch+r].want, row)
			}
		}
	}
	return p
}

// largest is the lowest index of the largest value, or of the first NaN.
func largest(values []float64) int {
	best := 0
	for i, v := range values {
		if math.IsNaN(v) {
			return i
		}
		if v > values[best] {
			best = i
		}
	}
	return best
}
