package stat

import "math"

// Sum is numpy.sum of a contiguous float64 array: pairwise, in blocks of 128
// with eight accumulators, bit for bit.
func Sum(xs []float64) float64 { return 0 + pairwise(xs) }

// pairwise follows numpy's pairwise sum, whose order of additions is what makes
// its means reproducible.
func pairwise(xs []float64) float64 {
	n := len(xs)
	switch {
	case n < 8:
		var s float64
		for _, x := range xs {
			s += x
		}
		return s
	case n <= 128:
		var r [8]float64
		copy(r[:], xs)
		i := 8
		for ; i < n-n%8; i += 8 {
			for k := range r {
				r[k] += xs[i+k]
			}
		}
		s := ((r[0] + r[1]) + (r[2] + r[3])) + ((r[4] + r[5]) + (r[6] + r[7]))
		for ; i < n; i++ {
			s += xs[i]
		}
		return s
	}
	half := n / 2
	half -= half % 8
	return pairwise(xs[:half]) + pairwise(xs[half:])
}

// Mean is numpy.mean, bit for bit. The order of xs matters in the last bits.
func Mean(xs []float64) (float64, bool) {
	if len(xs) == 0 {
		return 0, false
	}
	return result(Sum(xs) / float64(len(xs)))
}

// Std is the standard deviation numpy.std(xs) of a whole population, bit for
// bit: divided by n.
func Std(xs []float64) (float64, bool) { return std(xs, 0) }

// SampleStd is numpy.std(xs, ddof=1), the estimate from a sample: divided by
// n-1, undefined for one value.
func SampleStd(xs []float64) (float64, bool) { return std(xs, 1) }

func std(xs []float64, ddof int) (float64, bool) {
	m, ok := Mean(xs)
	if !ok || len(xs) <= ddof {
		return 0, false
	}
	sq := make([]float64, len(xs))
	for i, x := range xs {
		d := x - m
		sq[i] = float64(d * d)
	}
	return result(math.Sqrt(Sum(sq) / float64(len(xs)-ddof)))
}
