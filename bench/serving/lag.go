package serving

import (
	"math/bits"
	"slices"
)

// lags is a histogram of the client's own lag: user-space stamp less kernel
// stamp of a read. Its buckets are 1/64 of a power of two wide, so that it is
// small, whatever the number of reads.
type lags struct {
	buckets map[int64]int
	n       int
	max     int64
}

func (l *lags) add(ns int64) {
	if l.buckets == nil {
		l.buckets = map[int64]int{}
		l.max = ns
	}
	l.n++
	l.max = max(l.max, ns)
	if ns = max(ns, 0); ns >= 128 {
		shift := bits.Len64(uint64(ns)) - 7
		ns = (ns>>shift + 1) << shift
	}
	l.buckets[ns]++
}

// Lag is the client's own lag in nanoseconds: how much later user space had a
// read than the kernel. A percentile is at most 1.6 % too high.
type Lag struct {
	Reads        int
	P50NS, P99NS int64
	MaxNS        int64
}

// summary is nil where no read has a kernel stamp.
func (l *lags) summary() *Lag {
	if l.n == 0 {
		return nil
	}
	edges := make([]int64, 0, len(l.buckets))
	for b := range l.buckets {
		edges = append(edges, b)
	}
	slices.Sort(edges)
	at := func(p int) int64 {
		need, seen := (l.n*p+99)/100, 0
		for _, b := range edges {
			if seen += l.buckets[b]; seen >= need {
				return min(b, l.max)
			}
		}
		return l.max
	}
	return &Lag{Reads: l.n, P50NS: at(50), P99NS: at(99), MaxNS: l.max}
}
