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
	rig          Rig
	engine       Engine
	timer        *Timer
	point        Point
	prompts      [][]int32
	longest      int // tokens of the longest row
	promptTokens int // of all rows
	noSync       bool

	// For the point's line: what its records do not tell.
	cached   int // most cached tokens that a pass saw; -1 before the first
	warnings []string

	whole bench.Iteration // of the pass, where it has one; Kind empty: none
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
	return fatal{fmt.Errorf("stopped at %s: %w", p, bench.Stopped(ctx))}
}

// pass begins afresh and times one prefill and so many decode steps, the
// collector off, then writes what it recorded. A cancelled context ends it after
// the step that runs; an engine's error ends it at once; the finished steps are
// written in both cases.
func (m *measurement) pass(ctx context.Context, iteration, decodes int, warmup bool) error {
	m.timer.Reset()
	m.whole = bench.Iteration{}
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
		if drained := m.drain(err == nil, &at); drained != nil {
			return drained
		}
	}
	if cached := m.checkCached(); cached != nil {
		return cached
	}
	return err
}

// drain waits for a pass that was not synchronised; the time of a whole one
// becomes an iteration record.
func (m *measurement) drain(whole bool, at *bench.Step) error {
	err := m.engine.Wait()
	end := m.rig.Clock.Now()
	if err != nil {
		return fmt.Errorf("drain after the pass: %w", err)
	}
	if whole {
		m.whole = bench.Iteration{
			Kind: bench.KindIteration, Point: at.Point, Iteration: at.Iteration, Warmup: at.Warmup,
			TNS: m.timer.Steps()[0].TNS, HostNS: end - m.timer.Steps()[0].TNS,
		}
	}
	return nil
}

// checkCached refuses a pass in which prompt tokens came from a cache.
func (m *measurement) checkCached() error {
	n := m.engine.Cached()
	m.cached = max(m.cached, n)
	if n != 0 {
		return fmt.Errorf("prefix reuse: %d prompt tokens came from a cache, want 0", n)
	}
	return nil
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
		Point: m.point.ID, Iteration: iteration,
		Batch: m.point.Batch, ContextLen: m.longest, Warmup: warmup,
	}
}

// write completes and appends the records of a pass and tells who listens.
func (m *measurement) write() error {
	if steps := m.timer.Steps(); len(steps) > 0 {
		if err := m.writeSteps(steps); err != nil {
			return err
		}
	}
	if m.whole.Kind == "" {
		return nil
	}
	if err := m.rig.Recorder.Write(m.whole); err != nil {
		return fmt.Errorf("record an iteration of %s: %w", m.point, err)
	}
	if m.rig.Events.Iteration != nil {
		m.rig.Events.Iteration(m.whole)
	}
	return nil
}

func (m *measurement) writeSteps(steps []bench.Step) error {
	if m.rig.Annotate != nil {
		m.rig.Annotate(steps)
	}
	if err := m.rig.Recorder.WriteSteps(steps); err != nil {
		return fmt.Errorf("record the steps of %s: %w", m.point, err)
	}
	if m.rig.Events.Pass != nil {
		m.rig.Events.Pass(m.point, steps)
	}
	return nil
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
