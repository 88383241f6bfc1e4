package step

import (
	"fmt"

	"lathe/bench"
)

// Timer times single steps into records that it took memory for beforehand. It
// allocates nothing per step. Several engines may be timed by one Timer in turn
// (variants of an interleaved comparison).
type Timer struct {
	clock  bench.Clock
	sync   bool
	steps  []bench.Step
	device []int64 // storage behind Step.DeviceNS, one a record
}

// NewTimer takes memory for capacity steps between two Resets. A timer made
// with noSync calls no Wait at all: its times are launch times, device time and
// graph mode are unknown (null, ""), and the caller drains and says so.
func NewTimer(clock bench.Clock, capacity int, noSync bool) *Timer {
	return &Timer{
		clock:  clock,
		sync:   !noSync,
		steps:  make([]bench.Step, 0, capacity),
		device: make([]int64, capacity),
	}
}

// Reset forgets the records; slices that Steps gave are written over.
func (t *Timer) Reset() { t.steps = t.steps[:0] }

// Steps are the records since Reset, in the order of the steps. They and what
// they point to are valid until Reset.
func (t *Timer) Steps() []bench.Step { return t.steps }

// Prefill times e.Prefill. at gives the labels of the record (point, iteration,
// index, variant, epoch, block, slot, batch, context length, warm-up); kind,
// phase, times and graph are filled in. A step that fails leaves no record.
func (t *Timer) Prefill(e Engine, at *bench.Step) error { return t.time(e, bench.Prefill, at) }

// Decode times e.Decode like Prefill.
func (t *Timer) Decode(e Engine, at *bench.Step) error { return t.time(e, bench.Decode, at) }

func (t *Timer) time(e Engine, phase bench.Phase, at *bench.Step) error {
	n := len(t.steps)
	if n == cap(t.steps) {
		return fmt.Errorf("time %s step %d: the timer holds %d records", phase, at.Index, n)
	}
	if t.sync {
		if err := e.Wait(); err != nil {
			return fmt.Errorf("drain before %s step %d: %w", phase, at.Index, err)
		}
	}
	var submitted, waited error
	t0 := t.clock.Now()
	if phase == bench.Prefill {
		submitted = e.Prefill()
	} else {
		submitted = e.Decode()
	}
	if submitted == nil && t.sync {
		waited = e.Wait()
	}
	t1 := t.clock.Now()
	if submitted != nil {
		return fmt.Errorf("submit %s step %d: %w", phase, at.Index, submitted)
	}
	if waited != nil {
		return fmt.Errorf("wait for %s step %d: %w", phase, at.Index, waited)
	}
	t.steps = t.steps[:n+1]
	s := &t.steps[n]
	*s = *at
	s.Kind, s.Phase = bench.KindStep, phase
	s.TNS, s.HostNS = t0, t1-t0
	s.DeviceNS, s.Graph = nil, ""
	if t.sync {
		s.Graph = bench.Graph(e.Graph())
		if ns := e.DeviceNS(); ns >= 0 {
			t.device[n] = ns
			s.DeviceNS = &t.device[n]
		}
	}
	return nil
}

// end is the second clock read of the last record.
func (t *Timer) end() int64 {
	s := &t.steps[len(t.steps)-1]
	return s.TNS + s.HostNS
}
