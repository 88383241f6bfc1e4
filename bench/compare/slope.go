package compare

import "lathe/bench/stat"

// slopeMost is how many steps use all their pairs here; more are left to
// stat.Slope.
const slopeMost = 128

// slopeOf is stat.Slope, the Theil-Sen slope, without sorting: a run has a
// hundred slots and more, and only the middle of the pairs' slopes is wanted.
func slopeOf(x, y []float64) (float64, bool) {
	n := len(x)
	if n > slopeMost {
		return stat.Slope(x, y)
	}
	slopes := make([]float64, 0, n*(n-1)/2)
	for i := range n {
		for j := i + 1; j < n; j++ {
			if d := x[j] - x[i]; d != 0 {
				slopes = append(slopes, (y[j]-y[i])/d)
			}
		}
	}
	if len(slopes) == 0 {
		return 0, false
	}
	k := len(slopes) / 2
	upper := selectNth(slopes, k)
	if len(slopes)%2 == 1 {
		return upper, true
	}
	lower := slopes[0] // all before k are at most the one at k
	for _, s := range slopes[1:k] {
		lower = max(lower, s)
	}
	return (lower + upper) / 2, true
}

// selectNth is the element that would stand at k if xs were sorted, and puts
// nothing greater before it (Hoare's selection). xs has no NaN.
func selectNth(xs []float64, k int) float64 {
	lo, hi := 0, len(xs)-1
	for lo < hi {
		pivot := xs[lo+(hi-lo)/2]
		i, j := lo, hi
		for i <= j {
			for xs[i] < pivot {
				i++
			}
			for xs[j] > pivot {
				j--
			}
			if i <= j {
				xs[i], xs[j] = xs[j], xs[i]
				i++
				j--
			}
		}
		switch {
		case k <= j:
			hi = j
		case k >= i:
			lo = i
		default:
			return xs[k]
		}
	}
	return xs[k]
}
