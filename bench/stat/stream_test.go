package stat

import (
	"math"
	"runtime"
	"testing"
)

func sameBits(a, b float64) bool { return math.Float64bits(a) == math.Float64bits(b) }

// A stream in any parts, sorted or counted, has the figures of the slice, which
// are numpy's.
func TestDescribeIsNumpy(t *testing.T) {
	v := golden(t)
	percentiles := append([]float64{0, 100, 99.9, 12.5}, v.Percentile...)
	for _, r := range v.Rows {
		xs := samples(r.Kind, r.N)
		sorted := Sorted(xs)
		mean, meanOK := Mean(xs)
		std, stdOK := Std(xs)
		median, _ := Median(sorted)
		for _, limit := range []int{0, 1 << 30} {
			third := len(xs) / 3
			d, ok := describe(NewParts(nil, xs[:third], nil, xs[third:], nil), percentiles, limit)
			if !ok || !meanOK || !stdOK {
				t.Fatalf("%d %s: not defined", r.N, r.Kind)
			}
			if d.N != r.N || !sameBits(d.Mean, mean) || !sameBits(d.Std, std) || !sameBits(d.Median, median) || !sameBits(d.Min, sorted[0]) || !sameBits(d.Max, sorted[len(sorted)-1]) {
				t.Errorf("%d %s, limit %d: %+v, want mean %v, std %v, median %v", r.N, r.Kind, limit, d, mean, std, median)
			}
			for i, p := range percentiles {
				if want, ok := Percentile(sorted, p); !ok || !sameBits(d.Percentiles[i], want) {
					t.Errorf("%d %s, limit %d: p%v is %v, want %v", r.N, r.Kind, limit, p, d.Percentiles[i], want)
				}
			}
		}
	}
}

func TestDescribeUndefined(t *testing.T) {
	for _, xs := range [][]float64{nil, {math.NaN()}, {1, math.Inf(1)}, {math.Inf(-1), 2, 3}} {
		if d, ok := Describe(NewParts(xs), 50); ok {
			t.Errorf("%v: %+v", xs, d)
		}
	}
	if d, ok := Describe(NewParts([]float64{7}), 0, 50, 100); !ok || d.Median != 7 || d.Percentiles[2] != 7 || d.Std != 0 {
		t.Errorf("%+v %v", d, ok)
	}
}

// What is described is not copied.
func TestDescribeMemory(t *testing.T) {
	p := NewParts(samples("wide", 2_000_000))
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	Describe(p, 50, 90, 99)
	runtime.ReadMemStats(&after)
	const tables = 8 * 10 * 8 << digitBits // a run through the series, one a rank
	if n := after.TotalAlloc - before.TotalAlloc; n > tables+1<<20 {
		t.Errorf("%d bytes for %d samples, want at most %d whatever their number", n, p.Len(), tables)
	}
}
