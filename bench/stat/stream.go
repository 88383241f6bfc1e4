package stat

import (
	"math"
	"slices"
)

// Stream is samples that are too many to be copied and sorted: they are run
// through again and again, always in the same order.
type Stream interface {
	Len() int
	Rewind()
	Next() float64 // called Len times between two Rewinds
}

// Parts is a Stream over slices behind each other.
type Parts struct {
	parts [][]float64
	n     int
	part  int
	at    int
}

// NewParts makes a Stream of parts, which it keeps.
func NewParts(parts ...[]float64) *Parts {
	p := &Parts{parts: parts}
	for _, xs := range parts {
		p.n += len(xs)
	}
	return p
}

// Len counts the samples of all parts.
func (p *Parts) Len() int { return p.n }

// Rewind goes back to the first sample.
func (p *Parts) Rewind() { p.part, p.at = 0, 0 }

// Next is the next sample.
func (p *Parts) Next() float64 {
	for p.at == len(p.parts[p.part]) {
		p.part, p.at = p.part+1, 0
	}
	p.at++
	return p.parts[p.part][p.at-1]
}

// Description is numpy's figures of a Stream, bit for bit.
type Description struct {
	N                           int
	Mean, Std, Median, Min, Max float64   // Std of the population
	Percentiles                 []float64 // in the order asked for
}

// sortUpTo is how many samples are copied and sorted; more are counted.
const sortUpTo = 1 << 16

// Describe runs through s; percentiles are in [0, 100]. False where there are
// no samples, or one is not finite. Its memory does not grow with s.
func Describe(s Stream, percentiles ...float64) (Description, bool) {
	return describe(s, percentiles, sortUpTo)
}

func describe(s Stream, percentiles []float64, limit int) (Description, bool) {
	n := s.Len()
	if n == 0 {
		return Description{}, false
	}
	d := Description{N: n}
	s.Rewind()
	d.Mean = (0 + streamSum(s.Next, n)) / float64(n)
	s.Rewind()
	square := func() float64 {
		x := s.Next() - d.Mean
		return float64(x * x)
	}
	d.Std = math.Sqrt((0 + streamSum(square, n)) / float64(n))
	ranks := []int{0, (n - 1) / 2, n / 2, n - 1}
	for _, p := range percentiles {
		i, _ := place(n, p/100)
		ranks = append(ranks, i, min(i+1, n-1))
	}
	xs := order(s, ranks, limit)
	d.Min, d.Median, d.Max = xs[0], xs[1], xs[3]
	if n%2 == 0 {
		d.Median = (xs[1] + xs[2]) / 2
	}
	for k, p := range percentiles {
		i, t := place(n, p/100)
		a, b := xs[4+2*k], xs[5+2*k]
		if i >= n-1 {
			d.Percentiles = append(d.Percentiles, a)
			continue
		}
		d.Percentiles = append(d.Percentiles, lerp(a, b, t))
	}
	ok := finite(d.Mean) && finite(d.Std) && finite(d.Min) && finite(d.Max) && finite(d.Median)
	return d, ok && !slices.ContainsFunc(d.Percentiles, func(x float64) bool { return !finite(x) })
}

// place is the rank below a quantile of n samples and the part of the way to
// the next one, as in Quantile.
func place(n int, q float64) (int, float64) {
	at := float64(n-1) * q
	return min(max(int(math.Floor(at)), 0), n-1), at - math.Floor(at)
}

// streamSum is pairwise on samples that come one by one.
func streamSum(next func() float64, n int) float64 {
	switch {
	case n < 8:
		var s float64
		for range n {
			s += next()
		}
		return s
	case n <= 128:
		var r [8]float64
		for k := range r {
			r[k] = next()
		}
		for i := 8; i < n-n%8; i += 8 {
			for k := range r {
				r[k] += next()
			}
		}
		s := ((r[0] + r[1]) + (r[2] + r[3])) + ((r[4] + r[5]) + (r[6] + r[7]))
		for range n % 8 {
			s += next()
		}
		return s
	}
	half := n / 2
	half -= half % 8
	first := streamSum(next, half)
	return first + streamSum(next, n-half)
}

// order is the samples at the given ranks of the sorted series.
func order(s Stream, ranks []int, limit int) []float64 {
	n := s.Len()
	out := make([]float64, len(ranks))
	s.Rewind()
	if n <= limit {
		xs := make([]float64, n)
		for i := range xs {
			xs[i] = s.Next()
		}
		slices.Sort(xs)
		for i, r := range ranks {
			out[i] = xs[r]
		}
		return out
	}
	picks := make([]pick, len(ranks))
	for i, r := range ranks {
		picks[i].left = r
	}
	for shift := 64 - digitBits; shift >= 0; shift -= digitBits {
		narrow(s, picks, uint(shift))
	}
	for i, p := range picks {
		out[i] = unkey(p.prefix)
	}
	return out
}

// digitBits is how much of a sample one run through the series settles.
const digitBits = 8

// pick is a rank on its way: the high bits of its sample, and how many samples
// with these bits stand before it.
type pick struct {
	prefix uint64
	left   int
}

// narrow settles the next digit of each pick: samples are counted by it among
// those that share the digits settled before.
func narrow(s Stream, picks []pick, shift uint) {
	counts := map[uint64]*[1 << digitBits]int{}
	mask := ^uint64(0) << (shift + digitBits)
	for _, p := range picks {
		if counts[p.prefix] == nil {
			counts[p.prefix] = new([1 << digitBits]int)
		}
	}
	s.Rewind()
	last, table := uint64(1), (*[1 << digitBits]int)(nil) // no prefix is 1: its low bits are 0
	for range s.Len() {
		k := key(s.Next())
		if k&mask != last {
			last = k & mask
			table = counts[last]
		}
		if table != nil {
			table[k>>shift&(1<<digitBits-1)]++
		}
	}
	for i := range picks {
		p := &picks[i]
		digit := 0
		for table := counts[p.prefix]; p.left >= table[digit]; digit++ {
			p.left -= table[digit]
		}
		p.prefix |= uint64(digit) << shift
	}
}

// key orders floats as integers.
func key(x float64) uint64 {
	b := math.Float64bits(x)
	if b>>63 != 0 {
		return ^b
	}
	return b | 1<<63
}

func unkey(k uint64) float64 {
	if k>>63 != 0 {
		return math.Float64frombits(k &^ (1 << 63))
	}
	return math.Float64frombits(^k)
}
