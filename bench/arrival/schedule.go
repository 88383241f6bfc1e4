package arrival

import (
	"encoding/json"
	"errors"
	"math"
	"time"
)

// What a law cannot be drawn for. vLLM's Python stops with AssertionError at the
// first three and with ZeroDivisionError at the last.
var (
	ErrRate         = errors.New("the request rate must be above 0")
	ErrBurstiness   = errors.New("the burstiness must be above 0")
	ErrCount        = errors.New("the number of requests must be above 0")
	ErrRampFromZero = errors.New("an exponential ramp cannot start at 0 requests/s")
)

// Schedule is when each request is due.
type Schedule struct {
	// Seconds is the planned send offset of request i from the start, as the
	// law's own float arithmetic gives it.
	Seconds []float64
	// Rates is the rate in requests/s at which the gap before request i was
	// drawn: +Inf where there is no gap, 0 where a trace gave the offset.
	Rates []float64
	// Gaps is nil in an absolute schedule. In a relative one it is the sleep in
	// seconds after request i was handed over, the surplus one after the last
	// request included; it is empty at an infinite rate.
	Gaps []float64
	// EndSeconds is when a client without overhead has slept its last sleep.
	EndSeconds float64
}

// Relative says whether each gap is slept from the moment when the request
// before it was handed over.
func (s Schedule) Relative() bool { return s.Gaps != nil }

// Offsets is Seconds rounded to nanoseconds; an offset beyond 292 years is cut
// to that.
func (s Schedule) Offsets() []time.Duration { return durations(s.Seconds) }

// Sleeps is Gaps rounded to nanoseconds.
func (s Schedule) Sleeps() []time.Duration { return durations(s.Gaps) }

func durations(seconds []float64) []time.Duration {
	out := make([]time.Duration, len(seconds))
	for i, v := range seconds {
		ns := math.Round(v * 1e9)
		if ns >= math.MaxInt64 {
			out[i] = math.MaxInt64
			continue
		}
		out[i] = time.Duration(ns)
	}
	return out
}

// absolute finishes a schedule whose offsets and rates are known.
func absolute(seconds, rates []float64) Schedule {
	s := Schedule{Seconds: seconds, Rates: rates}
	if n := len(seconds); n > 0 {
		s.EndSeconds = seconds[n-1]
	}
	return s
}

func repeated(v float64, n int) []float64 {
	out := make([]float64, n)
	for i := range out {
		out[i] = v
	}
	return out
}

// MarshalJSON is what a dry run prints: {"offsets_s":[...],"rates":[...]}, an
// infinite rate as the text "inf".
func (s Schedule) MarshalJSON() ([]byte, error) {
	out := struct {
		Offsets []float64 `json:"offsets_s"`
		Rates   []any     `json:"rates"`
	}{s.Seconds, make([]any, len(s.Rates))}
	for i, r := range s.Rates {
		out.Rates[i] = r
		if math.IsInf(r, 1) {
			out.Rates[i] = "inf"
		}
	}
	return json.Marshal(out)
}
