package metric

import (
	"lathe/bench"
	"lathe/bench/stat"
)

// OneBatch are the figures of SGLang's one_batch under its own names, in its
// own unit (seconds) and computed in it, so that numpy gives the same bits from
// the same samples. Theirs is one prefill sample; ours is the median of
// several, everything else is as theirs.
type OneBatch struct {
	PrefillLatency         *float64
	PrefillThroughput      *float64 // prompt tokens of all rows a second
	MedianDecodeLatency    *float64
	MedianDecodeThroughput *float64 // new tokens of all rows a second
	TotalLatency           *float64 // prefill + the steps of Point.Pass
	OverallThroughput      *float64 // prompt and new tokens a second
}

// SGLangOneBatch computes the figures of a point.
func SGLangOneBatch(p Point) OneBatch {
	var o OneBatch
	batch := float64(p.Batch)
	o.PrefillLatency = defined(stat.Median(stat.Sorted(InSeconds(p.Repetitions))))
	o.MedianDecodeLatency = defined(stat.Median(stat.Sorted(InSeconds(p.DecodeTimes))))
	if p.TotalNS != nil {
		total := *o.PrefillLatency
		for _, s := range p.Pass {
			total += Seconds(float64(s.HostNS))
		}
		o.TotalLatency = &total
	}
	o.PrefillThroughput = per(p.promptTokens(), o.PrefillLatency)
	o.MedianDecodeThroughput = per(batch, o.MedianDecodeLatency)
	o.OverallThroughput = per(p.promptTokens()+float64(p.OutputLen)*batch, o.TotalLatency)
	return o
}

func per(tokens float64, seconds *float64) *float64 {
	if seconds == nil || *seconds <= 0 {
		return nil
	}
	r := tokens / *seconds
	return &r
}

// Latency are the figures of vLLM's bench latency, in seconds: numpy's mean and
// its linear percentiles whatever their number, as vLLM prints them. What of
// them reaches into its tail, Reaches says.
type Latency struct {
	Latencies   []float64
	Avg         *float64
	Percentiles []bench.Percentile // 10, 25, 50, 75, 90, 99
}

// VLLMLatency computes the figures of the iterations of a point.
func VLLMLatency(p Point) Latency {
	l := Latency{Latencies: InSeconds(p.IterationTimes)}
	l.Avg = defined(stat.Mean(l.Latencies))
	sorted := stat.Sorted(l.Latencies)
	for _, q := range percentiles() {
		l.Percentiles = append(l.Percentiles, bench.Percentile{P: q, Value: defined(stat.Percentile(sorted, q))})
	}
	return l
}

// InSeconds converts nanoseconds one by one; the result is never nil.
func InSeconds(ns []int64) []float64 {
	s := make([]float64, len(ns))
	for i, v := range ns {
		s[i] = Seconds(float64(v))
	}
	return s
}
