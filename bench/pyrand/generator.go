package pyrand

import (
	"fmt"
	"math"
	"math/bits"
	"slices"
)

// Generator is numpy.random.default_rng(seed): PCG64 behind numpy's Generator.
type Generator struct {
	high, low       uint64 // state
	incHigh, incLow uint64
	half            uint32 // the high half of a word whose low half was used
	hasHalf         bool
}

// NewGenerator is default_rng(seed).
func NewGenerator(seed uint64) *Generator {
	words := []uint32{uint32(seed)}
	if seed > math.MaxUint32 {
		words = append(words, uint32(seed>>32))
	}
	s := seedWords(words)
	g := &Generator{incHigh: s[2]<<1 | s[3]>>63, incLow: s[3]<<1 | 1}
	g.step()
	var carry uint64
	g.low, carry = bits.Add64(g.low, s[1], 0)
	g.high, _ = bits.Add64(g.high, s[0], carry)
	g.step()
	return g
}

// seedWords is numpy's SeedSequence (O'Neill's seed_seq) with a pool of four
// words, read out as four 64-bit words.
func seedWords(entropy []uint32) [4]uint64 {
	const (
		poolSize     = 4
		multA, multB = 0x931e8875, 0x58f38ded
		mixL, mixR   = 0xca01f9dd, 0x4973f715
	)
	var pool [poolSize]uint32
	hash := uint32(0x43b0d7e5)
	hashMix := func(v uint32) uint32 {
		v ^= hash
		hash *= multA
		v *= hash
		return v ^ v>>16
	}
	mix := func(x, y uint32) uint32 {
		r := mixL*x - mixR*y
		return r ^ r>>16
	}
	for i := range pool {
		var word uint32
		if i < len(entropy) {
			word = entropy[i]
		}
		pool[i] = hashMix(word)
	}
	for src := range pool {
		for dst := range pool {
			if src != dst {
				pool[dst] = mix(pool[dst], hashMix(pool[src]))
			}
		}
	}
	var out [4]uint64
	hash = 0x8b51f9dd
	for i := range 2 * len(out) {
		v := pool[i%poolSize] ^ hash
		hash *= multB
		v *= hash
		v ^= v >> 16
		out[i/2] |= uint64(v) << (32 * (i % 2))
	}
	return out
}

// step advances the 128-bit congruential state.
func (g *Generator) step() {
	const multHigh, multLow = 0x2360ed051fc65da4, 0x4385df649fccf645
	high, low := bits.Mul64(g.low, multLow)
	high += g.low*multHigh + g.high*multLow
	var carry uint64
	g.low, carry = bits.Add64(low, g.incLow, 0)
	g.high, _ = bits.Add64(high, g.incHigh, carry)
}

// Uint64 is the next raw output.
func (g *Generator) Uint64() uint64 {
	g.step()
	return bits.RotateLeft64(g.high^g.low, -int(g.high>>58))
}

// uint32 hands out the low half of an output and keeps the high half for the
// next call, whatever is drawn in between.
func (g *Generator) uint32() uint32 {
	if g.hasHalf {
		g.hasHalf = false
		return g.half
	}
	v := g.Uint64()
	g.half, g.hasHalf = uint32(v>>32), true
	return uint32(v)
}

// Float64 is random(): uniform in [0, 1) with 53 bits.
func (g *Generator) Float64() float64 { return float64(g.Uint64()>>11) / (1 << 53) }

// Integers is integers(low, high, size=n): n integers of [low, high), by
// Lemire's multiplication on 32-bit halves, or on whole outputs where the range
// is wider. A range of one value takes nothing from the stream.
func (g *Generator) Integers(low, high int64, n int) ([]int64, error) {
	if low >= high {
		return nil, fmt.Errorf("draw integers: range [%d, %d) is empty", low, high)
	}
	span := uint64(high-1) - uint64(low)
	out := make([]int64, n)
	for i := range out {
		out[i] = int64(uint64(low) + g.interval(span))
	}
	return out, nil
}

// interval is uniform in [0, top].
func (g *Generator) interval(top uint64) uint64 {
	switch {
	case top == 0:
		return 0
	case top == math.MaxUint32:
		return uint64(g.uint32())
	case top == math.MaxUint64:
		return g.Uint64()
	case top < math.MaxUint32:
		size := uint32(top) + 1
		threshold := -size % size
		for {
			m := uint64(g.uint32()) * uint64(size)
			if uint32(m) >= threshold {
				return m >> 32
			}
		}
	}
	size := top + 1
	threshold := -size % size
	for {
		high, low := bits.Mul64(g.Uint64(), size)
		if low >= threshold {
			return high
		}
	}
}

// Weighted is choice(len(p), size=n, p=p): n indices drawn with replacement by
// the weights p, which sum to 1.
func (g *Generator) Weighted(p []float64, n int) []int {
	out := make([]int, n)
	for i := range out {
		out[i] = searchCumulative(p, g.Float64())
	}
	return out
}

// searchCumulative is the first index whose cumulated and normalised weight is
// above u, as numpy searches it (side "right").
func searchCumulative(p []float64, u float64) int {
	sums := make([]float64, len(p))
	total := 0.0
	for i, w := range p {
		total += w
		sums[i] = total
	}
	i, _ := slices.BinarySearchFunc(sums, u, func(sum, u float64) int {
		if sum/total > u {
			return 1
		}
		return -1
	})
	return i
}
