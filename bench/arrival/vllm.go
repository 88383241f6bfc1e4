package arrival

import (
	"fmt"
	"math"

	"lathe/bench/pyrand"
)

// Strategy is how a ramp goes from its first rate to its last.
type Strategy string

// The two strategies of vLLM; the empty one is a fixed rate.
const (
	NoRamp          Strategy = ""
	LinearRamp      Strategy = "linear"
	ExponentialRamp Strategy = "exponential"
)

// VLLM are the flags of vLLM's bench serve that make a schedule.
type VLLM struct {
	N          int      // requests
	Rate       float64  // requests/s; +Inf sends everything at once; not looked at by a ramp
	Burstiness float64  // shape of the gamma law, 1 is Poisson; +Inf is a constant gap
	Ramp       Strategy // then Start and End are its rates in requests/s
	Start, End int
}

// Validate refuses what vLLM's command line refuses about these flags; falling
// ramps are accepted by the function below and refused here, as there.
func (v VLLM) Validate() error {
	switch v.Ramp {
	case NoRamp:
		return nil
	case LinearRamp, ExponentialRamp:
	default:
		return fmt.Errorf("ramp-up strategy: %q: linear or exponential", v.Ramp)
	}
	switch {
	case !math.IsInf(v.Rate, 1):
		return fmt.Errorf("ramp-up: request rate %v: a ramp and a request rate exclude each other", v.Rate)
	case v.Start < 0 || v.End < 0:
		return fmt.Errorf("ramp-up: from %d to %d requests/s: rates must not be negative", v.Start, v.End)
	case v.Start > v.End:
		return fmt.Errorf("ramp-up: from %d to %d requests/s: the first rate must be below the last", v.Start, v.End)
	case v.Ramp == ExponentialRamp && v.Start == 0:
		return fmt.Errorf("ramp-up: %w", ErrRampFromZero)
	}
	return nil
}

// Schedule draws vLLM's arrivals: gaps of a gamma law with shape b = burstiness
// and scale 1/(rate*b), hence the mean 1/rate and the squared coefficient of
// variation 1/b, summed to absolute offsets. At a fixed rate all offsets are
// then scaled so that the last one is exactly n/rate; a ramp is not scaled, and
// each of its gaps is drawn at its own rate.
func (v VLLM) Schedule(r *pyrand.Legacy) (Schedule, error) {
	if v.N <= 0 {
		return Schedule{}, fmt.Errorf("schedule %d requests: %w", v.N, ErrCount)
	}
	if !(v.Burstiness > 0) {
		return Schedule{}, fmt.Errorf("schedule with burstiness %v: %w", v.Burstiness, ErrBurstiness)
	}
	offsets, rates := make([]float64, v.N), make([]float64, v.N)
	sum := 0.0
	for i := range offsets {
		rate, err := v.rate(i)
		if err != nil {
			return Schedule{}, err
		}
		rates[i] = rate
		switch {
		case math.IsInf(rate, 1):
		case math.IsInf(v.Burstiness, 1):
			sum += 1 / rate
		default:
			sum += r.Gamma(v.Burstiness, 1/(rate*v.Burstiness))
		}
		offsets[i] = sum
	}
	if last := offsets[v.N-1]; v.Ramp == NoRamp && last != 0 {
		factor := float64(v.N) / v.Rate / last
		for i := range offsets {
			offsets[i] *= factor
		}
	}
	return absolute(offsets, rates), nil
}

// Rates is the rate at which the gap before each request is drawn.
func (v VLLM) Rates() ([]float64, error) {
	rates := make([]float64, v.N)
	for i := range rates {
		rate, err := v.rate(i)
		if err != nil {
			return nil, err
		}
		rates[i] = rate
	}
	return rates, nil
}

// rate is the rate of request i.
func (v VLLM) rate(i int) (float64, error) {
	rate := v.Rate
	progress := float64(i) / float64(max(v.N-1, 1))
	switch v.Ramp {
	case NoRamp:
	case LinearRamp:
		rate = float64(v.Start) + float64(float64(v.End-v.Start)*progress)
	case ExponentialRamp:
		if v.Start == 0 {
			return 0, fmt.Errorf("schedule: %w", ErrRampFromZero)
		}
		rate = float64(v.Start) * math.Pow(float64(v.End)/float64(v.Start), progress)
	default:
		return 0, fmt.Errorf("schedule: ramp-up strategy %q: linear or exponential", v.Ramp)
	}
	if !(rate > 0) {
		return 0, fmt.Errorf("schedule request %d at %v requests/s: %w", i, rate, ErrRate)
	}
	return rate, nil
}

// VLLMTrace is the schedule of rows that bring their own time: the stamps in
// seconds as they are, neither rebased nor sorted, a missing one being 0.
func VLLMTrace(stamps []float64) Schedule {
	return absolute(append([]float64{}, stamps...), make([]float64, len(stamps)))
}
