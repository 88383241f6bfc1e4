package arrival

import (
	"fmt"
	"math"
	"slices"
	"time"
)

// Realised is a schedule that was carried out, against what was planned. A
// figure that the sample is too small for is nil.
type Realised struct {
	N           int      `json:"n"`
	PlannedRate *float64 `json:"planned_rate"` // requests/s of the schedule as drawn: (n-1) over first to last
	Rate        *float64 `json:"rate"`         // the same of the sends
	Lag         Lag      `json:"lag"`
	// DriftNS is the lag of the last request: in a relative schedule what the
	// client's own time between the sleeps has added up to.
	DriftNS int64 `json:"drift_ns"`
	// GapCV is the coefficient of variation of the gaps between sends (1 for
	// exponential ones); KS their Kolmogorov-Smirnov distance to an exponential
	// law of their own mean, and PlannedKS that of the schedule as drawn, which a
	// finite sample does not bring to 0.
	GapCV     *float64 `json:"gap_cv"`
	KS        *float64 `json:"gap_ks"`
	PlannedKS *float64 `json:"planned_gap_ks"`
}

// Lag is how late requests were sent, in nanoseconds; quantiles are linear, as
// numpy's. A negative one was sent early.
type Lag struct {
	P50NS  int64 `json:"p50_ns"`
	P90NS  int64 `json:"p90_ns"`
	P99NS  int64 `json:"p99_ns"`
	P999NS int64 `json:"p999_ns"`
	MaxNS  int64 `json:"max_ns"`
}

// Realise compares the planned offsets with when the requests were sent, both in
// nanoseconds from the same start and in the order of the requests.
func Realise(planned, sent []time.Duration) (Realised, error) {
	if len(planned) != len(sent) || len(sent) == 0 {
		return Realised{}, fmt.Errorf("realised schedule: %d planned and %d sent requests", len(planned), len(sent))
	}
	lags := make([]float64, len(sent))
	for i, at := range sent {
		lags[i] = float64(at - planned[i])
	}
	r := Realised{N: len(sent), DriftNS: int64(lags[len(lags)-1])}
	slices.Sort(lags)
	q := func(p float64) int64 { return int64(math.Round(quantile(lags, p))) }
	r.Lag = Lag{P50NS: q(0.5), P90NS: q(0.9), P99NS: q(0.99), P999NS: q(0.999), MaxNS: q(1)}

	plannedGaps, gaps := gapsOf(planned), gapsOf(sent)
	r.PlannedRate, r.Rate = rateOf(plannedGaps), rateOf(gaps)
	r.GapCV = variation(gaps)
	r.KS, r.PlannedKS = distance(gaps), distance(plannedGaps)
	return r, nil
}

// Limits are the bounds beyond which a realised schedule is doubted.
type Limits struct {
	RateOff float64       // relative distance of the realised rate to the planned one
	LagP99  time.Duration // of absolute schedules
	KSAbove float64       // distance to an exponential law above that of the plan
}

// DefaultLimits are 1 %, 1 ms and 0.06.
func DefaultLimits() Limits {
	return Limits{RateOff: 0.01, LagP99: time.Millisecond, KSAbove: 0.06}
}

// Warnings names what keeps the sends from being the schedule. exponential says
// that the law drawn from is one whose gaps should still be exponential.
func (r Realised) Warnings(l Limits, exponential bool) []string {
	var out []string
	if r.Rate != nil && r.PlannedRate != nil {
		if off := *r.Rate / *r.PlannedRate - 1; math.Abs(off) > l.RateOff {
			out = append(out, fmt.Sprintf("client-limited: realised %.6g requests/s where %.6g were scheduled (%+.1f %%), drift %v",
				*r.Rate, *r.PlannedRate, 100*off, time.Duration(r.DriftNS)))
		}
	}
	if p99 := time.Duration(r.Lag.P99NS); p99 > l.LagP99 {
		out = append(out, fmt.Sprintf("send lag p99 %v is above %v (n=%d)", p99, l.LagP99, r.N))
	}
	if exponential && r.KS != nil && r.PlannedKS != nil && *r.KS > *r.PlannedKS+l.KSAbove {
		out = append(out, fmt.Sprintf("arrivals clump: distance of the gaps to an exponential law %.3f, of the schedule %.3f", *r.KS, *r.PlannedKS))
	}
	return out
}

// KSExponential is the Kolmogorov-Smirnov distance of the gaps to an exponential
// law of their own mean; ok is false for fewer than two gaps or a mean of 0.
func KSExponential(gaps []float64) (d float64, ok bool) {
	sorted := slices.Sorted(slices.Values(gaps))
	mean := meanOf(sorted)
	if len(sorted) < 2 || !(mean > 0) {
		return 0, false
	}
	n := float64(len(sorted))
	for i, x := range sorted {
		f := -math.Expm1(-x / mean)
		d = max(d, math.Abs(float64(i+1)/n-f), math.Abs(float64(i)/n-f))
	}
	return d, true
}

// gapsOf is the seconds between consecutive sends in the order of time.
func gapsOf(at []time.Duration) []float64 {
	sorted := slices.Sorted(slices.Values(at))
	gaps := make([]float64, max(len(sorted)-1, 0))
	for i := range gaps {
		gaps[i] = (sorted[i+1] - sorted[i]).Seconds()
	}
	return gaps
}

func rateOf(gaps []float64) *float64 {
	mean := meanOf(gaps)
	if !(mean > 0) {
		return nil
	}
	rate := 1 / mean
	return &rate
}

func distance(gaps []float64) *float64 {
	d, ok := KSExponential(gaps)
	if !ok {
		return nil
	}
	return &d
}

func variation(gaps []float64) *float64 {
	mean := meanOf(gaps)
	if len(gaps) < 2 || !(mean > 0) {
		return nil
	}
	sum := 0.0
	for _, g := range gaps {
		sum += (g - mean) * (g - mean)
	}
	cv := math.Sqrt(sum/float64(len(gaps))) / mean
	return &cv
}

func meanOf(x []float64) float64 {
	sum := 0.0
	for _, v := range x {
		sum += v
	}
	return sum / float64(len(x))
}

// quantile interpolates linearly in sorted, which is not empty.
func quantile(sorted []float64, p float64) float64 {
	at := p * float64(len(sorted)-1)
	low := int(at)
	high := min(low+1, len(sorted)-1)
	return sorted[low] + (at-float64(low))*(sorted[high]-sorted[low])
}
