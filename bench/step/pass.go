package step

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"runtime/debug"

	"lathe/bench"
)

// measurement is one point being measured: its open engine, its rows, and the
// labels that its records share.
type measurement struct {
	rig     Rig
	engine  Engine
	timer   *Timer
	point   Point
	prompts [][]int32
	longest int // tokens of the longest row
	noSync  bool
	epoch   int

	// For the point's line, over measured passes.
	cached   int   // most cached tokens that a pass saw; -1 before the first
	prefills []int64
	decodes  []int64 // first decode step of each pass excluded: see warnings
	shortest int64 // of all steps; -1 before the first
	graphs   map[string]int
	warnings []string
}

// fatal is an error of the raw file or an interruption, which end the loop,
// where an engine's error only fails its point.
type fatal struct{ error }

// Unwrap gives the error itself.
func (f fatal) Unwrap() error { return f.error }

func isFatal(err error) bool {
	var f fatal
	return errors.As(err, &f)
}

// interrupted says where a cancelled context stopped a loop.
func interrupted(ctx context.Context, p Point) error {
	return fatal{fmt.Errorf("interrupted at %s: %w", p, context.Cause(ctx))}
}

// pass begins afresh and times one prefill and so many decode steps, the
// collector off, then writes what it recorded. A cancelled context ends it after
// the step that runs; an engine's error ends it at once; the finished steps are
// written in both cases.
func (m *measurement) pass(ctx context.Context, iteration, decodes int, warmup bool) error {
	m.timer.Reset()
	err := m.run(ctx, iteration, decodes, warmup)
	if wrote := m.write(); wrote != nil {
		return fatal{wrote}
	}
	return err
}

func (m *measurement) run(ctx context.Context, iteration, decodes int, warmup bool) (err error) {
	if ctx.Err() != nil {
		return interrupted(ctx, m.point)
	}
	defer collectorOff()()
	if err := m.engine.Begin(m.prompts, m.point.OutputLen); err != nil {
		return fmt.Errorf("begin: %w", err)
	}
	at := m.labels(iteration, warmup)
	if err := m.timer.Prefill(m.engine, &at); err != nil {
		return err
	}
	for i := 1; i <= decodes; i++ {
		if ctx.Err() != nil {
			err = interrupted(ctx, m.point)
			break
		}
		at.Index, at.ContextLen = i, m.longest+i
		if err := m.timer.Decode(m.engine, &at); err != nil {
			return err
		}
	}
	if m.noSync {
		if waited := m.engine.Wait(); waited != nil {
			return fmt.Errorf("drain after the pass: %w", waited)
		}
	}
	if n := m.engine.Cached(); n != 0 {
		m.cached = max(m.cached, n)
		return fmt.Errorf("prefix reuse: %d prompt tokens came from a cache, 0 must", n)
	}
	return err
}

// collectorOff collects now and keeps the collector off until the returned
// function is called.
func collectorOff() (restore func()) {
	runtime.GC()
	percent := debug.SetGCPercent(-1)
	return func() { debug.SetGCPercent(percent) }
}

// labels are those of a pass's first record, its prefill.
func (m *measurement) labels(iteration int, warmup bool) bench.Step {
	return bench.Step{
		Point: m.point.ID, Iteration: iteration, Epoch: m.epoch,
		Batch: m.point.Batch, ContextLen: m.longest, Warmup: warmup,
	}
}

// write completes and appends the records of a pass and tells who listens.
func (m *measurement) write() error {
	steps := m.timer.Steps()
	if len(steps) == 0 {
		return nil
	}
	if m.rig.Annotate != nil {
		m.rig.Annotate(steps)
	}
	for i := range steps {
		if err := m.rig.Recorder.Record(steps[i]); err != nil {
			return fmt.Errorf("record a step of %s: %w", m.point, err)
		}
		m.note(&steps[i])
	}
	if m.rig.Events.Pass != nil {
		m.rig.Events.Pass(m.point, steps)
	}
	return nil
}

// note keeps what the point's warnings are made of.
func (m *measurement) note(s *bench.Step) {
	if s.Warmup {
		return
	}
	if m.shortest < 0 || s.HostNS < m.shortest {
		m.shortest = s.HostNS
	}
	if s.Phase == bench.Prefill {
		m.prefills = append(m.prefills, s.HostNS)
		return
	}
	m.decodes = append(m.decodes, s.HostNS)
	m.graphs[s.Graph]++
}

// warmUp runs warm-up passes until both counts are reached; where a row has one
// new token there is no decode step to warm.
func (m *measurement) warmUp(ctx context.Context, prefills, decodes int) error {
	most := m.point.OutputLen - 1
	if most == 0 {
		decodes = 0
	}
	for i := 0; i < prefills || decodes > 0; i++ {
		n := min(decodes, most)
		if err := m.pass(ctx, i, n, true); err != nil {
			return err
		}
		decodes -= n
	}
	return nil
}
