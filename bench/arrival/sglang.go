package arrival

import (
	"fmt"
	"math"

	"lathe/bench/pyrand"
)

// SGLang draws SGLang's arrivals: request 0 at once, then exponential gaps of
// the mean 1/rate, each slept after the request before it; after the last
// request one more gap is drawn and slept. The stream is the global one after
// the dataset was drawn from it. At rate +Inf nothing is drawn.
func SGLang(r *pyrand.Legacy, n int, rate float64) (Schedule, error) {
	switch {
	case n <= 0:
		return Schedule{}, fmt.Errorf("schedule %d requests: %w", n, ErrCount)
	case !(rate > 0):
		return Schedule{}, fmt.Errorf("schedule at %v requests/s: %w", rate, ErrRate)
	}
	s := Schedule{Seconds: make([]float64, n), Rates: repeated(rate, n), Gaps: []float64{}}
	if math.IsInf(rate, 1) {
		return s, nil
	}
	s.Gaps = make([]float64, n)
	for i := range s.Gaps {
		s.Seconds[i] = s.EndSeconds
		s.Gaps[i] = r.Exponential(1 / rate)
		s.EndSeconds += s.Gaps[i]
	}
	return s, nil
}

// SGLangTrace is the schedule of SGLang's mooncake dataset: stamps in
// milliseconds, sorted, rebased to the first one and stretched by slowdown.
func SGLangTrace(stampsMS []float64, slowdown float64) (Schedule, error) {
	return Replay(stampsMS, func(sinceFirst float64) float64 { return sinceFirst / 1000 * slowdown })
}
