package stat

import (
	"math"
	"sort"

	"gonum.org/v1/gonum/stat/distuv"
)

// Interval is a confidence interval of a median between two of the samples.
type Interval struct {
	Lo       float64
	Hi       float64
	Level    float64 // asked for
	Coverage float64 // exact, at least Level; to six decimals
}

// MedianInterval is the narrowest symmetric pair of order statistics that holds
// the median with probability level or more, whatever the distribution: with
// x(k) and x(n+1-k), coverage = 1 - 2*P(Bin(n, 1/2) < k). False where n samples
// cannot reach the level: five are too few for 0.95.
//
// The samples must be independent. Steps of one process are not, so that the
// interval is about the median of this run, not of the next one.
func MedianInterval(sorted []float64, level float64) (Interval, bool) {
	n := len(sorted)
	if n == 0 || !(level > 0 && level < 1) || !finite(sorted[0]) || !finite(sorted[n-1]) {
		return Interval{}, false
	}
	b := distuv.Binomial{N: float64(n), P: 0.5}
	coverage := func(k int) float64 { return 1 - 2*b.CDF(float64(k-1)) }
	// The largest k that still covers: coverage falls with k.
	k := sort.Search(n/2, func(i int) bool { return coverage(i+1) < level })
	if k == 0 {
		return Interval{}, false
	}
	return Interval{
		Lo: sorted[k-1], Hi: sorted[n-k], Level: level,
		// The incomplete beta function below it is not the same in the last
		// bits on every machine. 0.4, because no coverage (a multiple of a
		// power of one half) lies where that rounding turns.
		Coverage: math.Floor(coverage(k)*1e6+0.4) / 1e6,
	}, true
}
