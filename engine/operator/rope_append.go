package operator

import (
	"fmt"
	"math"

	"lathe/engine/native"
)

// place is where a row stands: position of a sequence. Position -1 is a padded row.
type place struct{ seq, position int }

// ropeSpec is a case of rope_append.
type ropeSpec struct {
	label       string
	paging      paging
	qHeads      int
	places      []place // of the rows
	maxPosition int
	qkv         native.DType
}

func (s ropeSpec) name() string {
	g := s.paging
	return fmt.Sprintf("%s: %d rows, heads %d/%d of %d, page %d, qkv %s kv %s", s.label, len(s.places), s.qHeads, g.kvHeads, g.headDim,
		g.pageSize, s.qkv, g.elem)
}

func (s ropeSpec) rows() int { return len(s.places) }

func (s ropeSpec) only(row int) spec {
	s.places = s.places[row : row+1]
	return s
}

// ropeBuffers are the regions of the rotating and appending part of an operator.
type ropeBuffers struct {
	q, k, v              matrix // k and v without a region: they are never stored
	kPages, vPages       cache
	table, position, seq int
	cosSin               matrix
	tables               tables
}

// addRope adds what the part needs beside q, k and v.
func (s ropeSpec) addRope(p *problem, seed uint64) ropeBuffers {
	var b ropeBuffers
	sequences := 0
	for _, at := range s.places {
		sequences = max(sequences, at.seq+1)
	}
	lengths := make([]int, sequences)
	for _, at := range s.places {
		lengths[at.seq] = max(lengths[at.seq], at.position+1)
	}
	g := s.paging
	b.tables = placePages(streamOf(seed, "pages"), lengths, g.pageSize, g.odd)
	b.kPages, b.vPages = g.addCache(p, "k_pages", b.tables.pool, 0), g.addCache(p, "v_pages", b.tables.pool, 1)
	b.table = b.tables.addTable(p)
	var position, seq []int
	for _, at := range s.places {
		position, seq = append(position, at.position), append(seq, at.seq)
	}
	b.position, b.seq = addInts(p, "position", position), addInts(p, "seq", seq)
	b.cosSin = p.addMatrix("cos_sin", native.F32, s.maxPosition, g.headDim, gapOf(g.odd, 3))
	p.regions[b.cosSin.region].read = len(s.places) * g.headDim
	for pos := range s.maxPosition {
		for i := range g.headDim / 2 {
			angle := float64(pos) * math.Pow(10000, -2*float64(i)/float64(g.headDim))
			p.set(b.cosSin.region, b.cosSin.at(pos, i), math.Cos(angle))
			p.set(b.cosSin.region, b.cosSin.at(pos, i+g.headDim/2), math.Sin(angle))
		}
	}
	return b
}

// expectRope lists q, then the keys, then the values of each row that is not padded.
func (s ropeSpec) expectRope(p *problem, b ropeBuffers, freshQ bool) {
	g := s.paging
	for r, at := range s.places {
		if at.position < 0 {
			continue
		}
		for h := range s.qHeads {
			p.expect(b.q.region, b.q.at(r, h*g.headDim), g.headDim, r, freshQ, valuesRun, fmt.Sprintf("head %d of q of row %d", h, r))
		}
		for h := range g.kvHeads {
			p.expect(b.kPages.region, b.kPages.at(b.tables.of[at.seq], at.position, h), g.headDim, r, true, valuesRun,
				fmt.Sprintf("head %d of the key of row %d", h, r))
			p.expect(b.vPages.region, b.vPages.at(b.tables.of[at.seq], at.position, h), g.headDim, r, true, valuesRun,
				fmt.Sprintf("head %d of the value of row %d", h, r))
		}
	}
}

// solveRope fills the runs of expectRope, which begin at run first, from the rows of q, k and v.
func (s ropeSpec) solveRope(p *problem, b ropeBuffers, first int, q, k, v [][]float64) {
	g, angles := s.paging, p.rowsOf(b.cosSin)
	for r, at := range s.places {
		if at.position < 0 {
			continue
		}
		for h := range s.qHeads {
			rotate(p.runs[first].want, q[r][h*g.headDim:], angles[at.position])
			first++
		}
		for h := range g.kvHeads {
			rotate(p.runs[first].want, k[r][h*g.headDim:], angles[at.position])
			copy(p.runs[first+1].want, v[r][h*g.headDim:])
			first += 2
		}
	}
}

func (s ropeSpec) build(seed uint64, ids []uint64) *problem {
	p := &problem{op: "rope_append", loose: 1}
	b, g, n := s.addRope(p, seed), s.paging, len(s.places)
	b.q = p.addMatrix("q", s.qkv, n, s.qHeads*g.headDim, gapOf(g.odd, 5))
	b.k = p.addMatrix("k", s.qkv, n, g.kvHeads*g.headDim, gapOf(g.odd, 1))
	b.v = p.addMatrix("v", s.qkv, n, g.kvHeads*g.headDim, gapOf(g.odd, 7))
	for r, at := range s.places {
		if at.position < 0 {
			continue
		}
		p.draw(b.q.region, b.q.at(r, 0), b.q.cols, streamOf(seed, "q", ids[r]), 0, 1)
		p.draw(b.k.region, b.k.at(r, 0), b.k.cols, streamOf(seed, "k", ids[r]), 0, 1)
		p.draw(b.v.region, b.v.at(r, 0), b.v.cols, streamOf(seed, "v", ids[r]), 0, 1)
	}
	s.expectRope(p, b, false)
	if r := n - 1; s.places[r].position >= 0 {
		p.sites = []site{{b.q.region, b.q.at(r, 1), "q of the last row"}, {b.k.region, b.k.at(r, g.headDim/2), "k of the last row"},
			{b.v.region, b.v.at(r, b.v.cols-1), "v of the last row"}}
	}
	p.args = func(a []uint64) any { return s.arguments(b, a) }
	p.solve = func(p *problem) { s.solveRope(p, b, 0, p.rowsOf(b.q), p.rowsOf(b.k), p.rowsOf(b.v)) }
	return p
}

func (s ropeSpec) arguments(b ropeBuffers, a []uint64) ropeAppendArgs {
	g := s.paging
	args := ropeAppendArgs{Rows: int32(len(s.places)), QHeads: int32(s.qHeads), KVHeads: int32(g.kvHeads), HeadDim: int32(g.headDim),
		PageSize: int32(g.pageSize), QKVDType: int32(s.qkv), KVDType: int32(g.elem), Q: a[b.q.region], QRowStride: int64(b.q.stride),
		Position: a[b.position], Seq: a[b.seq], CosSin: a[b.cosSin.region], CosSinRowStride: int64(b.cosSin.stride),
		KPages: a[b.kPages.region], KPageStride: int64(b.kPages.page), KSlotStride: int64(b.kPages.slot), KHeadStride: int64(b.kPages.head),
		VPages: a[b.vPages.region], VPageStride: int64(b.vPages.page), VSlotStride: int64(b.vPages.slot), VHeadStride: int64(b.vPages.head),
		BlockTable: a[b.table], BlockTableStride: int64(b.tables.stride)}
	if b.k.region >= 0 {
		args.K, args.KRowStride = a[b.k.region], int64(b.k.stride)
		args.V, args.VRowStride = a[b.v.region], int64(b.v.stride)
	}
	args.StructSize = sizeOf(args)
	return args
}

// rotate turns the pairs (i, i + half) by the angles of one position: cosines, then sines.
func rotate(out, x, angles []float64) {
	half := len(out) / 2
	for i := range half {
		c, s := angles[i], angles[i+half]
		out[i], out[i+half] = x[i]*c-x[i+half]*s, x[i+half]*c+x[i]*s
	}
}
