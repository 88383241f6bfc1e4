package engine

import (
	"encoding/json"
	"math"
	"math/bits"
	"runtime"
)

// WorkspaceBound is an upper bound, in bytes, of what NewEngine with these options
// takes beside the weights and the KV pages, which Memory calls Workspace, and of the
// row-major weights that overrides add to what Memory calls Weights: computed from
// shapes, before anything is allocated. math.MaxUint64 stands for what 64 bits cannot
// count. The copies that Residuals asks for, and what a user's operators ask for as
// their workspace, are not in it.
//
// With R = ChunkRows, L = Logits, T threads, P positions (those of the pages, no more
// than the model has), q = QHeads*HeadDim and kv = KVHeads*HeadDim, float32 values of
//
//	reference  activations R*(2*Hidden + 2*q + 2*kv + 2*FFN), cosines and sines R*HeadDim,
//	           logits L*(Hidden + Vocab), attention scores T*P, a row T*max(Hidden, q, FFN, 2*HeadDim)
//	cpu        activations R*(2*Hidden + 2*q + FFN), as float32, which bf16 paths halve in part;
//	           RoPE table P*HeadDim, of the longest engine of the model so far, which is shared;
//	           logits L*Vocab; attention partials T*QHeads/KVHeads*(64 + 4 + 2*HeadDim);
//	           matrix tiles T*8*max(256, HeadDim+16), rows T*3*Hidden; choices T*L*3
//
// and token ids R + L in both. Another backend's bound is the larger of the two,
// which is a guess.
func (m *Model) WorkspaceBound(o Options) uint64 {
	o = o.withDefaults()
	threads := o.Threads
	if threads == 0 {
		threads = m.cores()
	}
	s := stepSize{rows: count(o.ChunkRows), logits: count(o.Logits), threads: count(threads),
		positions: min(product(count(o.Pages()), count(o.PageSize)), count(m.Config.MaxPosition))}
	switch m.backend.Name() {
	case "reference":
		return s.reference(m)
	case "cpu":
		return sum(s.cpu(m), s.cpuOverrides(m, o.Overrides))
	}
	return max(s.reference(m), sum(s.cpu(m), s.cpuOverrides(m, o.Overrides)))
}

// noteSession remembers the positions of a session that was opened: the cpu backend
// keeps the RoPE table of the longest one, and shares it with later ones.
func (m *Model) noteSession(o Options) {
	positions := min(int64(o.Pages())*int64(o.PageSize), int64(m.Config.MaxPosition))
	for {
		most := m.positions.Load()
		if positions <= most || m.positions.CompareAndSwap(most, positions) {
			return
		}
	}
}

// cores is how many threads a backend takes that is not told how many.
func (m *Model) cores() int {
	var facts struct{ Cores int }
	if info, err := m.backend.DeviceInfo(-1); err == nil && json.Unmarshal(info, &facts) == nil && facts.Cores > 0 {
		return facts.Cores
	}
	return runtime.NumCPU()
}

// stepSize is what a workspace grows with.
type stepSize struct{ rows, logits, threads, positions uint64 }

func (s stepSize) reference(m *Model) uint64 {
	c := m.Config
	hidden, ffn, vocab, dim := count(c.Hidden), count(c.FFN), count(c.Vocab), count(c.HeadDim)
	q, kv := product(count(c.QHeads), dim), product(count(c.KVHeads), dim)
	return product(4, sum(
		product(s.rows, sum(hidden, hidden, q, q, kv, kv, ffn, ffn, dim, 1)),
		product(s.logits, sum(hidden, vocab, 1)),
		product(s.threads, sum(max(hidden, q, ffn, 2*dim), s.positions))))
}

func (s stepSize) cpu(m *Model) uint64 {
	const keys, columns, tiles = 64, 8, 16 // keys of a partial; most columns and most tiles of a call
	c := m.Config
	hidden, ffn, vocab, dim := count(c.Hidden)+1, count(c.FFN)+1, count(c.Vocab), count(c.HeadDim)
	q, group := product(count(c.QHeads), dim), count(c.QHeads)/max(1, count(c.KVHeads))
	positions := max(s.positions, uint64(m.positions.Load()))
	return product(4, sum(
		product(s.rows, sum(hidden, hidden, q, q, ffn, 1)),
		product(s.logits, sum(vocab, 1)),
		product(positions, dim),
		product(s.threads, sum(columns*16*max(tiles, dim/16+1), hidden, hidden, hidden,
			product(group, sum(keys+4, dim, dim)), product(3, s.logits)))))
}

// count is a size as it was given; a negative one has overflowed.
func count(n int) uint64 {
	if n < 0 {
		return math.MaxUint64
	}
	return uint64(n)
}

// product and sum stay at math.MaxUint64 once they reach it.
func product(a, b uint64) uint64 {
	if high, low := bits.Mul64(a, b); high == 0 {
		return low
	}
	return math.MaxUint64
}

func sum(terms ...uint64) uint64 {
	total := uint64(0)
	for _, n := range terms {
		if total += n; total < n {
			return math.MaxUint64
		}
	}
	return total
}
