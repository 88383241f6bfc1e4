package serving

import "math/bits"

// lags is a histogram of the client's own lag: user-space stamp less kernel
// stamp of a read. Its buckets are 1/64 of a power of two wide, so that it is
// small, whatever the number of reads.
type lags struct {
	buckets []int // by lagBucket
	n       int
	max     int64
}

// lagBucket is the bucket of a lag that is not negative. Below 128 ns each has its own.
func lagBucket(ns int64) int {
	shift := max(bits.Len64(uint64(ns))-7, 0)
	return shift*64 + int(ns>>shift)
}

// topOf is what the lags of a bucket are taken for.
func topOf(bucket int) int64 {
	if bucket < 128 {
		return int64(bucket)
	}
	shift := bucket/64 - 1
	return int64(bucket-shift*64+1) << shift
}

func (l *lags) add(ns int64) {
	if l.n == 0 {
		l.max = ns
	}
	l.n++
	l.max = max(l.max, ns)
	i := lagBucket(max(ns, 0))
	if i >= len(l.buckets) {
		l.buckets = append(l.buckets, make([]int, i+1-len(l.buckets))...)
	}
	l.buckets[i]++
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
	at := func(p int) int64 {
		need, seen := (l.n*p+99)/100, 0
		for i, n := range l.buckets {
			if seen += n; seen >= need {
				return min(topOf(i), l.max)
			}
		}
		return l.max
	}
	return &Lag{Reads: l.n, P50NS: at(50), P99NS: at(99), MaxNS: l.max}
}
