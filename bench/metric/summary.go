package metric

import (
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
