package pyrand

import (
	"errors"
	"fmt"
	"math"
	"math/bits"
)

// ErrEmpty is a choice from nothing (Python's IndexError).
var ErrEmpty = errors.New("choose from an empty sequence")

// Python is random.Random, the global stream of the module random too.
type Python struct{ mt mersenne }

// NewPython is random.Random(seed) for an integer seed.
func NewPython(seed uint64) *Python {
	key := []uint32{uint32(seed)}
	if seed > math.MaxUint32 {
		key = append(key, uint32(seed>>32))
	}
	p := &Python{}
	p.mt.seedArray(key)
	return p
}

// Float64 is random(): uniform in [0, 1).
func (p *Python) Float64() float64 { return p.mt.float64() }

// Bits is getrandbits(k) for k up to 64; the low word is drawn first.
func (p *Python) Bits(k int) uint64 {
	switch {
	case k <= 0:
		return 0
	case k <= 32:
		return uint64(p.mt.uint32() >> (32 - k))
	}
	low := uint64(p.mt.uint32())
	return uint64(p.mt.uint32()>>(64-k))<<32 | low
}

// Below is uniform in [0, n), n > 0: as many bits as n has, again until the
// value is below n.
func (p *Python) Below(n int) int {
	k := bits.Len64(uint64(n))
	for {
		if v := p.Bits(k); v < uint64(n) {
			return int(v)
		}
	}
}

// Integer is randint(low, high), both ends included.
func (p *Python) Integer(low, high int) (int, error) {
	if low > high {
		return 0, fmt.Errorf("draw an integer: range [%d, %d] is empty", low, high)
	}
	return low + p.Below(high-low+1), nil
}

// Choice is choice(range(n)).
func (p *Python) Choice(n int) (int, error) {
	if n <= 0 {
		return 0, ErrEmpty
	}
	return p.Below(n), nil
}

// Choices is choices(range(n), k=k): k indices with replacement.
func (p *Python) Choices(n, k int) ([]int, error) {
	if n <= 0 {
		return nil, ErrEmpty
	}
	out := make([]int, max(k, 0))
	for i := range out {
		out[i] = int(math.Floor(p.Float64() * float64(n)))
	}
	return out, nil
}

// Shuffle is shuffle(x) for a list of n elements.
func (p *Python) Shuffle(n int, swap func(i, j int)) {
	for i := n - 1; i > 0; i-- {
		swap(i, p.Below(i+1))
	}
}

// Sample is sample(range(n), k): k different indices. Small populations are
// drawn from a shrinking pool, large ones by rejecting what was seen.
func (p *Python) Sample(n, k int) ([]int, error) {
	if k < 0 || k > n {
		return nil, fmt.Errorf("draw a sample: %d of %d", k, n)
	}
	out := make([]int, k)
	setSize := 21.0
	if k > 5 {
		setSize += math.Pow(4, math.Ceil(math.Log(float64(3*k))/math.Log(4)))
	}
	if float64(n) <= setSize {
		pool := make([]int, n)
		for i := range pool {
			pool[i] = i
		}
		for i := range out {
			j := p.Below(n - i)
			out[i] = pool[j]
			pool[j] = pool[n-i-1]
		}
		return out, nil
	}
	seen := make(map[int]bool, k)
	for i := range out {
		j := p.Below(n)
		for seen[j] {
			j = p.Below(n)
		}
		seen[j] = true
		out[i] = j
	}
	return out, nil
}
