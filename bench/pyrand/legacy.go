package pyrand

import (
	"fmt"
	"math"
	"math/bits"
)

// Legacy is numpy.random.RandomState, the global stream of numpy.random too.
type Legacy struct {
	mt       mersenne
	spare    float64 // the second normal of a polar pair
	hasSpare bool
}

// NewLegacy is RandomState(seed). numpy refuses a seed above 2^32 - 1.
func NewLegacy(seed uint64) (*Legacy, error) {
	if seed > math.MaxUint32 {
		return nil, fmt.Errorf("seed numpy's global stream: %d: a seed lies between 0 and 2^32 - 1", seed)
	}
	l := &Legacy{}
	l.mt.seedKnuth(uint32(seed))
	return l, nil
}

// Uint32 is the next raw output.
func (l *Legacy) Uint32() uint32 { return l.mt.uint32() }

// Float64 is random_sample(): uniform in [0, 1).
func (l *Legacy) Float64() float64 { return l.mt.float64() }

// Exponential has the mean scale.
func (l *Legacy) Exponential(scale float64) float64 { return scale * l.standardExponential() }

func (l *Legacy) standardExponential() float64 { return -math.Log(1 - l.Float64()) }

// Normal is standard_normal(): Marsaglia's polar method, the second value of a
// pair returned first and the first one kept for the next call.
func (l *Legacy) Normal() float64 {
	if l.hasSpare {
		l.hasSpare = false
		return l.spare
	}
	for {
		x1 := 2*l.Float64() - 1
		x2 := 2*l.Float64() - 1
		r2 := float64(x1*x1) + float64(x2*x2)
		if r2 >= 1 || r2 == 0 {
			continue
		}
		f := math.Sqrt(-2 * math.Log(r2) / r2)
		l.spare, l.hasSpare = f*x1, true
		return f * x2
	}
}

// Gamma has the mean shape*scale and the variance shape*scale^2.
func (l *Legacy) Gamma(shape, scale float64) float64 { return scale * l.standardGamma(shape) }

func (l *Legacy) standardGamma(shape float64) float64 {
	switch {
	case shape == 1:
		return l.standardExponential()
	case shape == 0:
		return 0
	case shape < 1:
		return l.gammaBelowOne(shape)
	}
	// Marsaglia and Tsang, 2000. The products are rounded one by one (float64),
	// so that no processor fuses them with the additions.
	b := shape - 1.0/3
	c := 1 / math.Sqrt(9*b)
	for {
		x, v := 0.0, 0.0
		for v <= 0 {
			x = l.Normal()
			v = 1 + float64(c*x)
		}
		v = v * v * v
		u := l.Float64()
		if u < 1-float64(0.0331*(x*x)*(x*x)) {
			return b * v
		}
		if math.Log(u) < float64(0.5*x*x)+float64(b*(1-v+math.Log(v))) {
			return b * v
		}
	}
}

// gammaBelowOne is Ahrens and Dieter's rejection, 1974.
func (l *Legacy) gammaBelowOne(shape float64) float64 {
	for {
		u := l.Float64()
		v := l.standardExponential()
		if u <= 1-shape {
			if x := math.Pow(u, 1/shape); x <= v {
				return x
			}
			continue
		}
		y := -math.Log((1 - u) / shape)
		if x := math.Pow(1-shape+float64(shape*y), 1/shape); x <= v+y {
			return x
		}
	}
}

// Integers is randint(low, high, size=n): n integers of [low, high). Rejection
// masks a 32-bit output, or two (the first is the high half) where the range is
// wider; a range of one value takes nothing from the stream.
func (l *Legacy) Integers(low, high int64, n int) ([]int64, error) {
	if low >= high {
		return nil, fmt.Errorf("draw integers: range [%d, %d) is empty", low, high)
	}
	span := uint64(high-1) - uint64(low)
	out := make([]int64, n)
	for i := range out {
		out[i] = int64(uint64(low) + l.interval(span))
	}
	return out, nil
}

// interval is uniform in [0, top].
func (l *Legacy) interval(top uint64) uint64 {
	if top == 0 {
		return 0
	}
	mask := uint64(1)<<bits.Len64(top) - 1
	for {
		v := uint64(l.Uint32())
		if top > math.MaxUint32 {
			v = v<<32 | uint64(l.Uint32())
		}
		if v &= mask; v <= top {
			return v
		}
	}
}

// Shuffle is shuffle(x) for a sequence of n elements: it exchanges elements
// from the last one down.
func (l *Legacy) Shuffle(n int, swap func(i, j int)) {
	for i := n - 1; i > 0; i-- {
		swap(i, int(l.interval(uint64(i))))
	}
}

// Permutation is permutation(n), and the beginning of it is
// choice(n, size, replace=False).
func (l *Legacy) Permutation(n int) []int {
	p := make([]int, n)
	for i := range p {
		p[i] = i
	}
	l.Shuffle(n, func(i, j int) { p[i], p[j] = p[j], p[i] })
	return p
}

// Weighted is choice(len(p), p=p): an index drawn by the weights p, which sum to 1.
func (l *Legacy) Weighted(p []float64) int { return searchCumulative(p, l.Float64()) }
