package arrival

import (
	"cmp"
	"fmt"
	"slices"
	"time"
)

// Occupancy is how many requests were in flight.
type Occupancy struct {
	Mean float64 `json:"mean"` // over the time from the first start to the last end
	// Steady is the mean between the first end and the last start, where neither
	// the filling nor the draining shows; nil where that span is empty. Little's
	// law says that it is rate times mean latency.
	Steady *float64 `json:"steady_mean"`
	Peak   int      `json:"peak"` // half open: an end at the moment of a start comes first
}

// InFlight counts requests by their starts and ends, in any order.
func InFlight(starts, ends []time.Duration) (Occupancy, error) {
	if len(starts) != len(ends) || len(starts) == 0 {
		return Occupancy{}, fmt.Errorf("requests in flight: %d starts and %d ends", len(starts), len(ends))
	}
	type event struct {
		at   time.Duration
		step int
	}
	events := make([]event, 0, 2*len(starts))
	for i, at := range starts {
		if ends[i] < at {
			return Occupancy{}, fmt.Errorf("requests in flight: request %d ends %v before it starts", i, at-ends[i])
		}
		events = append(events, event{at, 1}, event{ends[i], -1})
	}
	slices.SortFunc(events, func(a, b event) int { return cmp.Or(cmp.Compare(a.at, b.at), cmp.Compare(a.step, b.step)) })
	firstEnd, lastStart := slices.Min(ends), slices.Max(starts)
	var o Occupancy
	var area, steady float64
	count, last := 0, events[0].at
	for _, e := range events {
		area += float64(count) * (e.at - last).Seconds()
		if from, to := max(last, firstEnd), min(e.at, lastStart); to > from {
			steady += float64(count) * (to - from).Seconds()
		}
		count, last = count+e.step, e.at
		o.Peak = max(o.Peak, count)
	}
	if span := last - events[0].at; span > 0 {
		o.Mean = area / span.Seconds()
	}
	if lastStart > firstEnd {
		steady /= (lastStart - firstEnd).Seconds()
		o.Steady = &steady
	}
	return o, nil
}

// PeakInWindow is the largest number of events in any half-open window of the
// given width, wherever it starts. Unlike a count in fixed buckets it does not
// depend on where the run began. It is 0 for a width of 0 or less.
func PeakInWindow(events []time.Duration, width time.Duration) int {
	if width <= 0 {
		return 0
	}
	sorted := slices.Sorted(slices.Values(events))
	peak, first := 0, 0
	for i, at := range sorted {
		for at-sorted[first] >= width {
			first++
		}
		peak = max(peak, i-first+1)
	}
	return peak
}
