package stat

import (
	"math"
	"slices"
)

// Sorted returns a sorted copy of xs.
func Sorted(xs []float64) []float64 {
	s := slices.Clone(xs)
	slices.Sort(s)
	return s
}

// Quantile is numpy.quantile(sorted, q) with its default method "linear": type 7
// of Hyndman and Fan, with numpy's own interpolation, bit for bit. q is in
// [0, 1]; sorted is ascending.
func Quantile(sorted []float64, q float64) (float64, bool) {
	n := len(sorted)
	if n == 0 || !(q >= 0 && q <= 1) || !finite(sorted[0]) || !finite(sorted[n-1]) {
		return 0, false
	}
	at := float64(n-1) * q
	i := int(math.Floor(at))
	if i >= n-1 {
		return sorted[n-1], true
	}
	return result(lerp(sorted[i], sorted[i+1], at-math.Floor(at)))
}

// lerp is numpy's _lerp: from the nearer end, so that it is monotonic in t.
func lerp(a, b, t float64) float64 {
	d := b - a
	if t >= 0.5 {
		return b - float64(d*(1-t))
	}
	return a + float64(d*t)
}

// Percentile is numpy.percentile(sorted, p), p in [0, 100].
func Percentile(sorted []float64, p float64) (float64, bool) {
	return Quantile(sorted, p/100)
}

// Median is numpy.median: the mean of the two middle samples where their number
// is even, which is not always the bits of Quantile(sorted, 0.5).
func Median(sorted []float64) (float64, bool) {
	n := len(sorted)
	if n == 0 || !finite(sorted[0]) || !finite(sorted[n-1]) {
		return 0, false
	}
	if n%2 == 1 {
		return sorted[n/2], true
	}
	return result((sorted[n/2-1] + sorted[n/2]) / 2)
}

// MAD is the median absolute deviation from the median, unscaled: multiply by
// 1.4826 to compare it with a standard deviation of normal samples.
func MAD(sorted []float64) (float64, bool) {
	m, ok := Median(sorted)
	if !ok {
		return 0, false
	}
	d := make([]float64, len(sorted))
	for i, x := range sorted {
		d[i] = math.Abs(x - m)
	}
	slices.Sort(d)
	return Median(d)
}

func finite(x float64) bool { return !math.IsNaN(x) && !math.IsInf(x, 0) }

func result(x float64) (float64, bool) {
	if !finite(x) {
		return 0, false
	}
	return x, true
}
