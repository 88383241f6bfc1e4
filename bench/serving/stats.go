package serving

import (
	"math"
	"slices"

	"lathe/bench/stat"
)

// Quantile is one percentile of a Stats.
type Quantile struct{ P, Value float64 }

// Stats is what a harness says of one metric's samples, in milliseconds: numpy's
// figures of the samples in seconds, each times 1000; zeros of no samples.
type Stats struct {
	Mean, Median, Std, Max float64
	Percentiles            []Quantile
}

// statsOf reads xs in their order (the last bits of a mean depend on it).
func statsOf(xs stat.Stream, percentiles []float64) Stats {
	s := Stats{Percentiles: make([]Quantile, len(percentiles))}
	d, ok := stat.Describe(xs, percentiles...)
	for i, p := range percentiles {
		if s.Percentiles[i].P = p; ok {
			s.Percentiles[i].Value = d.Percentiles[i] * 1000
		}
	}
	if ok {
		s.Mean, s.Median, s.Std, s.Max = d.Mean*1000, d.Median*1000, d.Std*1000, d.Max*1000
	}
	return s
}

// one is a Stream of a list.
func one(xs []float64) stat.Stream { return stat.NewParts(xs) }

// At is the value of percentile p; ok is false where it was not asked for.
func (s Stats) At(p float64) (float64, bool) {
	for _, q := range s.Percentiles {
		if q.P == p {
			return q.Value, true
		}
	}
	return 0, false
}

// peaks is the two peak figures that both harnesses print. Tokens per second
// counts the stamps of frames in whole seconds from the first start; concurrent
// requests counts those that touch a whole second, both ends inclusive, which
// is why it can exceed the true concurrency.
func peaks(outcomes []Outcome) (tokensPerSecond float64, concurrent int) {
	first, end, any := math.Inf(1), math.Inf(-1), false
	for i := range outcomes {
		if o := &outcomes[i]; o.Success {
			any = true
			first, end = min(first, o.Start()), max(end, o.Start()+o.Latency)
		}
	}
	if !any {
		return 0, 0
	}
	buckets := int64(math.Ceil(end-first)) + 1
	tokens := tally{}
	var edges []edge
	for i := range outcomes {
		o := &outcomes[i]
		if !o.Success {
			continue
		}
		t := o.Start() + o.TTFT
		tokens.add(int64(t-first), buckets)
		for _, gap := range o.ITL {
			t += gap
			tokens.add(int64(t-first), buckets)
		}
		edges = append(edges, edge{int64(o.Start() - first), 1}, edge{int64(o.Start()+o.Latency-first) + 1, -1})
	}
	return float64(tokens.max()), sweep(edges)
}

// tally counts in buckets; runs of one bucket are added at once.
type tally struct {
	counts map[int64]int
	bucket int64
	run    int
}

func (t *tally) add(bucket, buckets int64) {
	if bucket < 0 || bucket >= buckets {
		return
	}
	if bucket != t.bucket {
		t.flush()
		t.bucket = bucket
	}
	t.run++
}

func (t *tally) flush() {
	if t.run == 0 {
		return
	}
	if t.counts == nil {
		t.counts = map[int64]int{}
	}
	t.counts[t.bucket] += t.run
	t.run = 0
}

func (t *tally) max() int {
	t.flush()
	most := 0
	for _, n := range t.counts {
		most = max(most, n)
	}
	return most
}

// edge is a change of a level at a time.
type edge struct {
	at   int64
	step int
}

// sweep is the highest level; of edges at one time the falls come first, so
// that intervals are half open.
func sweep(edges []edge) int {
	slices.SortFunc(edges, func(a, b edge) int {
		switch {
		case a.at < b.at:
			return -1
		case a.at > b.at:
			return 1
		}
		return a.step - b.step
	})
	level, most := 0, 0
	for _, e := range edges {
		level += e.step
		most = max(most, level)
	}
	return most
}

// pool is the gaps of the successful requests in their order.
func pool(outcomes []Outcome) stat.Stream {
	var parts [][]float64
	for i := range outcomes {
		if outcomes[i].Success {
			parts = append(parts, outcomes[i].ITL)
		}
	}
	return stat.NewParts(parts...)
}
