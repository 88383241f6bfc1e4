package stat

import "slices"

// pairsFrom is how many points use all their pairs: half a million slopes.
const pairsFrom = 1024

// Slope is the Theil-Sen slope of y over x: the median of the slopes between
// pairs of points, which a third of wild points does not turn. Above 1,024
// points only the pairs half the data apart are taken (Theil's incomplete
// method), so that time and memory stay linear; x must then be ascending.
// False where no two x differ.
func Slope(x, y []float64) (float64, bool) {
	n := min(len(x), len(y))
	var s []float64
	add := func(i, j int) {
		if d := x[j] - x[i]; d != 0 {
			s = append(s, (y[j]-y[i])/d)
		}
	}
	if n <= pairsFrom {
		for i := range n {
			for j := i + 1; j < n; j++ {
				add(i, j)
			}
		}
	} else {
		for i := range n - n/2 {
			if j := i + n/2; j < n {
				add(i, j)
			}
		}
	}
	if slices.ContainsFunc(s, func(v float64) bool { return !finite(v) }) {
		return 0, false
	}
	slices.Sort(s)
	return Median(s)
}
