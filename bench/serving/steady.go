package serving

import (
	"errors"
	"fmt"
	"math"
	"slices"
)

// ErrNoSuccess says that a steady state was asked of a run in which no request
// succeeded.
var ErrNoSuccess = errors.New("no request succeeded")

// Steady is SGLang's steady-state report: the longest window in which enough
// requests were open. Times are seconds.
type Steady struct {
	ConcurrencyRatio       float64
	WindowStart, WindowEnd float64
	Duration               float64
	Threshold              int
	Completed              int    // ends inside, both ends of the window included
	TotalInput             *int64 // rows of the requests that start inside; nil in a multi-turn run
	InputThroughput        *float64
	TotalOutput            float64 // each request's length times the part of its stamps inside
	TotalOutputRetokenized *float64
	OutputThroughput       float64
	OutputThroughputRetok  *float64
	AverageConcurrency     float64
	PeakConcurrency        int
	PeakOutputThroughput   float64 // in windows of a second, a stamp on a boundary in the earlier one
}

// SteadyState is the steady state of a harness's reading for a concurrency
// ratio in (0, 1]; of any harness, though only SGLang ships it.
func SteadyState(r *Result, ratio float64, multiTurn bool) (*Steady, error) {
	if !(ratio > 0 && ratio <= 1) {
		return nil, fmt.Errorf("steady state: concurrency ratio %v: not in (0, 1]", ratio)
	}
	var ok []int
	for i := range r.Requests {
		if o := &r.Requests[i]; o.Success && o.Latency > 0 {
			ok = append(ok, i)
		}
	}
	if len(ok) == 0 {
		return nil, fmt.Errorf("steady state: %w", ErrNoSuccess)
	}
	s := &Steady{ConcurrencyRatio: ratio}
	s.window(r, ok)
	s.count(r, ok, multiTurn)
	return s, nil
}

// level is a change of the concurrency at a time.
type level struct {
	at   float64
	step int
}

func (s *Steady) window(r *Result, ok []int) {
	var edges []level
	for _, i := range ok {
		o := &r.Requests[i]
		edges = append(edges, level{o.Start(), 1}, level{o.Start() + o.Latency, -1})
	}
	slices.SortFunc(edges, func(a, b level) int {
		switch {
		case a.at < b.at:
			return -1
		case a.at > b.at:
			return 1
		}
		return 0
	})
	merged := edges[:0]
	for _, e := range edges {
		if n := len(merged); n > 0 && merged[n-1].at == e.at {
			merged[n-1].step += e.step
			continue
		}
		merged = append(merged, e)
	}
	open := 0
	for _, e := range merged {
		open += e.step
		s.PeakConcurrency = max(s.PeakConcurrency, open)
	}
	s.Threshold = max(1, int(math.Ceil(float64(s.PeakConcurrency)*s.ConcurrencyRatio)))
	open = 0
	from, inside := 0.0, false
	for _, e := range merged {
		open += e.step
		switch enough := open >= s.Threshold; {
		case enough && !inside:
			from, inside = e.at, true
		case !enough && inside:
			inside = false
			if e.at-from > s.WindowEnd-s.WindowStart {
				s.WindowStart, s.WindowEnd = from, e.at
			}
		}
	}
	s.Duration = s.WindowEnd - s.WindowStart
}

func (s *Steady) count(r *Result, ok []int, multiTurn bool) {
	input, retok, known := int64(0), 0.0, true
	overlap := 0.0
	buckets := map[int]float64{}
	last := max(0, int(math.Ceil(s.Duration))-1)
	for _, i := range ok {
		o := &r.Requests[i]
		start, end := o.Start(), o.Start()+o.Latency
		if start >= s.WindowStart && start < s.WindowEnd {
			input += int64(o.RowPrompt)
		}
		if end >= s.WindowStart && end <= s.WindowEnd {
			s.Completed++
		}
		overlap += max(0, min(end, s.WindowEnd)-max(start, s.WindowStart))
		tokens := float64(o.Output.N)
		if i < len(r.OutputLens) {
			tokens = float64(r.OutputLens[i].N)
		}
		stamps := float64(len(o.ITL) + 1)
		inside, t := 0, start+o.TTFT
		for k := 0; ; k++ {
			if t >= s.WindowStart && t <= s.WindowEnd {
				inside++
				buckets[min(last, max(0, int(math.Ceil(t-s.WindowStart))-1))] += tokens / stamps
			}
			if k == len(o.ITL) {
				break
			}
			t += o.ITL[k]
		}
		part := float64(inside) / stamps
		s.TotalOutput += tokens * part
		known = known && o.counts >= 0
		retok += float64(o.counts) * part
	}
	s.OutputThroughput = s.TotalOutput / s.Duration
	s.AverageConcurrency = overlap / s.Duration
	for _, n := range buckets {
		s.PeakOutputThroughput = max(s.PeakOutputThroughput, n)
	}
	if known {
		rate := retok / s.Duration
		s.TotalOutputRetokenized, s.OutputThroughputRetok = &retok, &rate
	}
	if !multiTurn {
		rate := float64(input) / s.Duration
		s.TotalInput, s.InputThroughput = &input, &rate
	}
}
