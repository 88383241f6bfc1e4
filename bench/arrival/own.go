package arrival

import (
	"fmt"
	"math"
	"slices"

	"lathe/bench/pyrand"
)

// Constant sends request i at i/rate, the first one at once.
func Constant(n int, rate float64) (Schedule, error) {
	if err := countAndRate(n, rate); err != nil {
		return Schedule{}, err
	}
	offsets := make([]float64, n)
	for i := range offsets {
		offsets[i] = float64(i) / rate
	}
	return absolute(offsets, repeated(rate, n)), nil
}

// Poisson sends along a Poisson process: exponential gaps, absolute offsets that
// are not normalised, so that the number of requests in a span varies as it does
// in life. Over n requests the drawn rate strays from the asked one by 1/sqrt(n).
func Poisson(r *pyrand.Legacy, n int, rate float64) (Schedule, error) {
	if err := countAndRate(n, rate); err != nil {
		return Schedule{}, err
	}
	offsets := make([]float64, n)
	if !math.IsInf(rate, 1) {
		sum := 0.0
		for i := range offsets {
			sum += r.Exponential(1 / rate)
			offsets[i] = sum
		}
	}
	return absolute(offsets, repeated(rate, n)), nil
}

func countAndRate(n int, rate float64) error {
	switch {
	case n <= 0:
		return fmt.Errorf("schedule %d requests: %w", n, ErrCount)
	case !(rate > 0):
		return fmt.Errorf("schedule at %v requests/s: %w", rate, ErrRate)
	}
	return nil
}

// Replay sends along a trace: the stamps sorted, rebased to the first one, and
// turned into seconds from it by seconds.
func Replay(stamps []float64, seconds func(sinceFirst float64) float64) (Schedule, error) {
	if len(stamps) == 0 {
		return Schedule{}, fmt.Errorf("replay a trace of 0 stamps: %w", ErrCount)
	}
	for i, v := range stamps {
		if math.IsNaN(v) || math.IsInf(v, 0) {
			return Schedule{}, fmt.Errorf("replay a trace: stamp %d is %v", i, v)
		}
	}
	offsets := slices.Sorted(slices.Values(stamps))
	first := offsets[0]
	for i, v := range offsets {
		offsets[i] = seconds(v - first)
	}
	return absolute(offsets, make([]float64, len(offsets))), nil
}

// ThinkLaw is how long a client of a closed loop pauses between an answer and
// its next request.
type ThinkLaw string

// A constant pause, or an exponential one of the same mean.
const (
	ConstantThink    ThinkLaw = "constant"
	ExponentialThink ThinkLaw = "exponential"
)

// ClosedLoop is a fixed set of clients that each wait for an answer, think, and
// send again. Which client sends request i is decided by who is free, so there
// are no offsets to plan, only pauses.
type ClosedLoop struct {
	Clients int
	// ThinkSeconds[i] is slept by the client that takes request i, before it
	// sends it and after its answer before; 0 for the first of each client.
	ThinkSeconds []float64
}

// NewClosedLoop draws the pauses of n requests over a number of clients.
func NewClosedLoop(r *pyrand.Legacy, clients, n int, law ThinkLaw, meanSeconds float64) (ClosedLoop, error) {
	switch {
	case n <= 0:
		return ClosedLoop{}, fmt.Errorf("closed loop of %d requests: %w", n, ErrCount)
	case clients <= 0:
		return ClosedLoop{}, fmt.Errorf("closed loop of %d clients: at least one is needed", clients)
	case !(meanSeconds >= 0) || math.IsInf(meanSeconds, 1):
		return ClosedLoop{}, fmt.Errorf("closed loop: think time %v s: a finite time, 0 or more", meanSeconds)
	case law != ConstantThink && law != ExponentialThink:
		return ClosedLoop{}, fmt.Errorf("closed loop: think law %q: constant or exponential", law)
	}
	c := ClosedLoop{Clients: clients, ThinkSeconds: make([]float64, n)}
	for i := range c.ThinkSeconds {
		switch {
		case i < clients:
		case law == ConstantThink:
			c.ThinkSeconds[i] = meanSeconds
		default:
			c.ThinkSeconds[i] = r.Exponential(meanSeconds)
		}
	}
	return c, nil
}

// Sends is when the requests of a closed loop go out in seconds from the start,
// if request i is answered serviceSeconds(i) after it was sent: what a dry run
// can say about it. Requests are taken in order by whoever is free first.
func (c ClosedLoop) Sends(serviceSeconds func(i int) float64) []float64 {
	free := make([]float64, c.Clients)
	sends := make([]float64, len(c.ThinkSeconds))
	for i, think := range c.ThinkSeconds {
		next := 0
		for k, at := range free {
			if at < free[next] {
				next = k
			}
		}
		sends[i] = free[next] + think
		free[next] = sends[i] + serviceSeconds(i)
	}
	return sends
}
