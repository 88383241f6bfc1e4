package operator

import (
	"fmt"
	"math"

	"lathe/engine/native"
)

// attnSpec is a case of attn_decode. A row of the batch is a sequence.
type attnSpec struct {
	label          string
	paging         paging
	qHeads         int
	qPerSeq        int
	lengths        []int // of the sequences, newest rows included; 0: padded
	qElem, outElem native.DType
	lse            bool
	lift           float64 // of every score, by a part that all keys share: an exponential of it overflows
}

func (s attnSpec) name() string {
	g := s.paging
	return fmt.Sprintf("%s: %d sequences of %v, %d query rows, heads %d/%d of %d, page %d, q %s kv %s out %s", s.label,
		len(s.lengths), s.lengths, s.qPerSeq, s.qHeads, g.kvHeads, g.headDim, g.pageSize, s.qElem, g.elem, s.outElem)
}

func (s attnSpec) rows() int { return len(s.lengths) }

func (s attnSpec) only(row int) spec {
	s.lengths = s.lengths[row : row+1]
	return s
}

// attnBuffers are the regions of a call and where things lie in them.
type attnBuffers struct {
	q, out, lse, table, lengths int
	k, v                        cache
	seq, row, head              int // strides of q
	outSeq, outRow, outHead     int
	tables                      tables
}

func (s attnSpec) build(seed uint64, ids []uint64) *problem {
	p := &problem{op: "attn_decode", loose: max(1, s.lift/10)}
	g, b := s.paging, attnBuffers{lse: -1}
	longest := 0
	for _, n := range s.lengths {
		longest = max(longest, n)
	}
	b.head, b.row, b.seq = g.headDim, s.qHeads*g.headDim, s.qPerSeq*s.qHeads*g.headDim
	b.outHead, b.outRow, b.outSeq = b.head, b.row, b.seq
	if g.odd {
		b.head, b.outHead = g.headDim+3, g.headDim+1
		b.row, b.outRow = s.qHeads*b.head+5, s.qHeads*b.outHead+2
		b.seq, b.outSeq = s.qPerSeq*b.row+7, s.qPerSeq*b.outRow+3
	}
	n := len(s.lengths)
	span := func(seq, row, head int) int { return (n-1)*seq + (s.qPerSeq-1)*row + (s.qHeads-1)*head + g.headDim }
	b.tables = placePages(streamOf(seed, "pages"), s.lengths, g.pageSize, g.odd)
	b.q = p.add("q", s.qElem, span(b.seq, b.row, b.head))
	b.k = g.addCache(p, "k_pages", b.tables.pool, 0)
	b.v = g.addCache(p, "v_pages", b.tables.pool, 1)
	b.table = b.tables.addTable(p)
	b.lengths = addInts(p, "seq_len", s.lengths)
	b.out = p.add("out", s.outElem, span(b.outSeq, b.outRow, b.outHead))
	if s.lse {
		b.lse = p.add("lse", native.F32, n*s.qPerSeq*s.qHeads)
	}
	for i := range s.lengths {
		s.fillSequence(p, b, i, seed, ids[i])
	}
	p.args = func(a []uint64) any { return s.arguments(b, longest, a) }
	p.solve = func(p *problem) { s.solve(p, b) }
	return p
}

// fillSequence draws one sequence's inputs and lists its outputs.
func (s attnSpec) fillSequence(p *problem, b attnBuffers, i int, seed, id uint64) {
	g, length := s.paging, s.lengths[i]
	if length == 0 {
		return
	}
	qMean, qStd, kMean := 0.0, 1.0, 0.0
	if s.lift > 0 {
		qMean, qStd, kMean = 1, 0.1, s.lift/math.Sqrt(float64(g.headDim))
	}
	p.regions[b.k.region].read += length * g.kvHeads * g.headDim
	p.regions[b.v.region].read += length * g.kvHeads * g.headDim
	q, k, v := streamOf(seed, "q", id), streamOf(seed, "k", id), streamOf(seed, "v", id)
	for t := range length {
		for h := range g.kvHeads {
			first := (t*g.kvHeads + h) * g.headDim
			p.drawAround(b.k.region, b.k.at(b.tables.of[i], t, h), g.headDim, k, first, kMean, 1)
			p.draw(b.v.region, b.v.at(b.tables.of[i], t, h), g.headDim, v, first, 1)
		}
	}
	for r := range s.qPerSeq {
		for h := range s.qHeads {
			p.drawAround(b.q, i*b.seq+r*b.row+h*b.head, g.headDim, q, (r*s.qHeads+h)*g.headDim, qMean, qStd)
			p.expect(b.out, i*b.outSeq+r*b.outRow+h*b.outHead, g.headDim, i, true, valuesRun,
				fmt.Sprintf("head %d of row %d of sequence %d", h, r, i))
		}
		if s.lse {
			p.expect(b.lse, (i*s.qPerSeq+r)*s.qHeads, s.qHeads, i, true, logsRun, fmt.Sprintf("lse of row %d of sequence %d", r, i))
		}
	}
	if i == len(s.lengths)-1 {
		last := b.tables.of[i]
		p.sites = append(p.sites, site{b.q, i*b.seq + g.headDim/2, fmt.Sprintf("q of sequence %d", i)},
			site{b.k.region, b.k.at(last, length-1, g.kvHeads-1) + 1, fmt.Sprintf("the newest key of sequence %d", i)},
			site{b.k.region, b.k.at(last, 0, 0), fmt.Sprintf("the first key of sequence %d", i)},
			site{b.v.region, b.v.at(last, length/2, 0) + g.headDim - 1, fmt.Sprintf("value %d of sequence %d", length/2, i)})
	}
}

func (s attnSpec) arguments(b attnBuffers, longest int, a []uint64) attnDecodeArgs {
	g := s.paging
	args := attnDecodeArgs{Batch: int32(len(s.lengths)), QPerSeq: int32(s.qPerSeq), QHeads: int32(s.qHeads),
		KVHeads: int32(g.kvHeads), HeadDim: int32(g.headDim), PageSize: int32(g.pageSize), MaxSeqLen: int32(longest),
		Scale: s.scale(), QDType: int32(s.qElem), KVDType: int32(g.elem), OutDType: int32(s.outElem),
		Q: a[b.q], QSeqStride: int64(b.seq), QRowStride: int64(b.row), QHeadStride: int64(b.head),
		KPages: a[b.k.region], KPageStride: int64(b.k.page), KSlotStride: int64(b.k.slot), KHeadStride: int64(b.k.head),
		VPages: a[b.v.region], VPageStride: int64(b.v.page), VSlotStride: int64(b.v.slot), VHeadStride: int64(b.v.head),
		BlockTable: a[b.table], BlockTableStride: int64(b.tables.stride), SeqLen: a[b.lengths],
		Out: a[b.out], OutSeqStride: int64(b.outSeq), OutRowStride: int64(b.outRow), OutHeadStride: int64(b.outHead)}
	if b.lse >= 0 {
		args.LSE = a[b.lse]
	}
	args.StructSize = sizeOf(args)
	return args
}

func (s attnSpec) scale() float32 { return float32(1 / math.Sqrt(float64(s.paging.headDim))) }

func (s attnSpec) solve(p *problem, b attnBuffers) {
	q, k, v := p.wide(b.q), p.wide(b.k.region), p.wide(b.v.region)
	at := 0
	for i, length := range s.lengths {
		if length == 0 {
			continue
		}
		for r := range s.qPerSeq {
			keys := length - s.qPerSeq + r + 1
			logs := make([]float64, s.qHeads)
			for h := range s.qHeads {
				row := q[i*b.seq+r*b.row+h*b.head:][:s.paging.headDim]
				logs[h] = attend(p.runs[at].want, row, k, v, b, b.tables.of[i], h/(s.qHeads/s.paging.kvHeads), keys, float64(s.scale()))
				at++
			}
			if s.lse {
				copy(p.runs[at].want, logs)
				at++
			}
		}
	}
}

// attend is one head's attention over keys 0 .. keys-1, softmax and sums in float64. It returns the
// base-2 logarithm of the sum of the exponentials. A NaN in a score reaches every output of the head.
func attend(out, q, k, v []float64, b attnBuffers, pages []int, head, keys int, scale float64) float64 {
	scores := make([]float64, keys)
	highest := math.Inf(-1)
	for t := range keys {
		dot := 0.0
		for d, x := range k[b.k.at(pages, t, head):][:len(q)] {
			dot += q[d] * x
		}
		scores[t] = dot * scale
		highest = math.Max(highest, scores[t]) // NaN if either is
	}
	sum := 0.0
	for t := range scores {
		scores[t] = math.Exp(scores[t] - highest)
		sum += scores[t]
	}
	clear(out)
	for t, w := range scores {
		for d, x := range v[b.v.at(pages, t, head):][:len(q)] {
			out[d] += w / sum * x
		}
	}
	return (highest + math.Log(sum)) / math.Ln2
}
