package metric

import (
	"fmt"

	"lathe/bench"
	"lathe/bench/stat"
)

// Percentiles are those of a Summary.
func percentiles() []float64 { return []float64{10, 25, 50, 75, 90, 99} }

// level is the confidence of a median's interval.
const level = 0.95

// tailSamples is what a percentile needs beyond it on average, in percent of a
// sample: n*min(p, 100-p) must reach it.
const tailSamples = 100

// Reaches says whether n samples reach into the tail of percentile p.
func Reaches(n int, p float64) bool { return float64(n)*min(p, 100-p) >= tailSamples }

// Summarise computes what is said of samples of one metric, in their order.
func Summarise(semantics bench.Semantics, metric, unit string, xs []float64) bench.Summary {
	s := bench.Summary{
		Semantics: semantics, Metric: metric, Unit: unit, N: len(xs),
		Percentiles: []bench.Percentile{}, Warnings: []string{},
	}
	sorted := stat.Sorted(xs)
	s.Mean = defined(stat.Mean(xs))
	s.Std = defined(stat.Std(xs))
	s.Median = defined(stat.Median(sorted))
	if s.Median != nil {
		s.Min, s.Max = &sorted[0], &sorted[len(sorted)-1]
	}
	for _, p := range percentiles() {
		entry := bench.Percentile{P: p}
		if Reaches(len(xs), p) {
			entry.Value = defined(stat.Percentile(sorted, p))
		}
		s.Percentiles = append(s.Percentiles, entry)
	}
	if iv, ok := stat.MedianInterval(sorted, level); ok {
		s.Interval = &bench.Interval{Lo: iv.Lo, Hi: iv.Hi, Level: iv.Level, Coverage: iv.Coverage}
	}
	return s
}

// Percentile is the value of p in s, nil where it has none.
func Percentile(s bench.Summary, p float64) *float64 {
	for _, entry := range s.Percentiles {
		if entry.P == p {
			return entry.Value
		}
	}
	return nil
}

func defined(x float64, ok bool) *float64 {
	if !ok {
		return nil
	}
	return &x
}

// farOut is how many medians the slowest sample of a calm series stays below.
const farOut = 3

// outlier says that the slowest of a series stands far out; "" where it does
// not.
func outlier(what string, s bench.Summary) string {
	if s.N < 4 || s.Median == nil || *s.Median <= 0 || *s.Max <= farOut**s.Median {
		return ""
	}
	return fmt.Sprintf("slowest %s takes %.1f times the median", what, *s.Max / *s.Median)
}

// coldSlack is how much slower than the steady ones a first call may be.
const coldSlack = 0.25

// cold says that the first of equal calls was slower than the steady ones, as
// happens without enough warm-up; "" where it was not. Steady is the later half
// of the calls, so that a few slow ones at the start cannot hide each other. The
// first must be above all but a tenth of that half too, at least one, so that one
// hiccup there does not hide it. ns in the order of the calls.
func cold(what string, ns []float64) string {
	if len(ns) < 4 {
		return ""
	}
	later := stat.Sorted(ns[(len(ns)+1)/2:])
	median, ok := stat.Median(later)
	if !ok || ns[0] <= later[(len(later)-1)*9/10] || ns[0]-median <= coldSlack*median {
		return ""
	}
	return fmt.Sprintf("first %s %.4g ms slower than median: not warmed up", what, (ns[0]-median)/1e6)
}
