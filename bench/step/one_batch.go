package step

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"runtime"

	"lathe/bench"
)

// LaunchOnly is the warning of a point that was measured with NoSync.
const LaunchOnly = "launch time only: no synchronisation at a step, host_ns ends when submit returns; a backend that computes inside it, as those of the CPU do, is timed whole"

// OneBatch measures the given points of a plan, plan.Points() or Remaining, one
// after another. Each point gets an engine of its own, is warmed up, and is
// measured in max(PrefillReps, Iterations) repetitions; then its line closes it.
//
// Every point yields a line: ok, skipped (the Opener's *Skip, or too long for
// the model) or failed (an engine's error, a cached prompt token). An engine's
// error fails its point and the sweep goes on. The returned error is a plan that
// does not validate, a Recorder that failed, or the context's, wrapped. A
// point that is interrupted keeps the steps it has on disk and gets no line, so
// that a resumed sweep measures it again; cancelling during the last step of the
// last point changes nothing.
//
// With NoSync each repetition also yields an Iteration record from the first
// clock read to the end of one Wait after the last step, which is what the
// launch times leave out.
func OneBatch(ctx context.Context, rig Rig, plan Plan, points []Point) (Tally, error) {
	var tally Tally
	if err := plan.Validate(); err != nil {
		return tally, err
	}
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	for _, point := range points {
		if ctx.Err() != nil {
			return tally, interrupted(ctx, point)
		}
		if rig.Events.Start != nil {
			rig.Events.Start(point)
		}
		line, err := rig.measure(ctx, point, subject{
			seed: plan.Seed, vocab: plan.Vocab, maxPositions: plan.MaxPositions,
			records: point.OutputLen, noSync: plan.NoSync,
		}, func(m *measurement) error { return m.oneBatch(ctx, plan) })
		if err != nil {
			return tally, err
		}
		if err := rig.close(line, &tally); err != nil {
			return tally, err
		}
	}
	return tally, nil
}

// close appends a point's line and counts it.
func (r Rig) close(line bench.Point, tally *Tally) error {
	if err := r.Recorder.Write(line); err != nil {
		return fmt.Errorf("record the line of point %d: %w", line.Point, err)
	}
	tally.add(line.Status)
	if r.Events.Done != nil {
		r.Events.Done(line)
	}
	return nil
}

// subject is what a loop tells of a point before it is opened.
type subject struct {
	seed                uint64
	vocab, maxPositions int
	records             int // most steps of one pass
	noSync              bool
}

// measure opens a point, runs body on it and makes its line: what every loop
// shares. An error ends the loop.
func (r Rig) measure(ctx context.Context, p Point, s subject, body func(*measurement) error) (line bench.Point, err error) {
	line = bench.Point{Kind: bench.KindPoint, Point: p.ID, Batch: p.Batch, InputLen: p.InputLen, OutputLen: p.OutputLen}
	if reason := p.over(s.maxPositions); reason != "" {
		return closed(line, &Skip{Reason: reason}), nil
	}
	if r.Fits != nil {
		if err := r.Fits(p); err != nil {
			return closed(line, err), nil
		}
	}
	m := &measurement{
		rig: r, point: p, noSync: s.noSync,
		cached: -1,
		timer:  NewTimer(r.Clock, s.records, s.noSync),
	}
	if err := m.rows(s); err != nil {
		return closed(line, err), nil
	}
	line.Prompt = &m.promptTokens
	opened, err := r.Open(ctx, p)
	if err != nil {
		if ctx.Err() != nil {
			return line, interrupted(ctx, p)
		}
		return closed(line, err), nil
	}
	m.engine = opened.Engine
	m.warnings = append(m.warnings, opened.Warnings...)
	err = body(m)
	if opened.Memory != nil {
		line.Memory = opened.Memory()
	}
	if opened.Close != nil {
		if failed := opened.Close(); failed != nil {
			m.warnings = append(m.warnings, "close the engine: "+failed.Error())
		}
	}
	if isFatal(err) {
		return line, err
	}
	if m.cached >= 0 {
		line.Cached = &m.cached
	}
	line.Warnings = m.warnings
	return closed(line, err), nil
}

// closed gives a line its status: skipped by a *Skip, failed by any other error.
func closed(line bench.Point, err error) bench.Point {
	line.Status = bench.StatusOK
	if err == nil {
		return line
	}
	line.Status = bench.StatusFailed
	var skip *Skip
	if errors.As(err, &skip) {
		line.Status = bench.StatusSkipped
	}
	reason := err.Error()
	line.Reason = &reason
	return line
}

// rows takes the point's prompts.
func (m *measurement) rows(s subject) error {
	if m.rig.Prompts == nil {
		m.prompts = RandomPrompts(s.seed, m.point.Batch, m.point.InputLen, s.vocab)
	} else {
		prompts, err := m.rig.Prompts(m.point)
		if err != nil {
			return fmt.Errorf("prompts: %w", err)
		}
		m.prompts = prompts
	}
	for _, row := range m.prompts {
		m.promptTokens += len(row)
	}
	longest, warning, err := checkPrompts(m.prompts, m.point, s.vocab, s.maxPositions)
	if err != nil {
		return err
	}
	m.longest = longest
	if warning != "" {
		m.warnings = append(m.warnings, warning)
	}
	return nil
}

// oneBatch is the body of a point of OneBatch.
func (m *measurement) oneBatch(ctx context.Context, plan Plan) error {
	if m.noSync {
		m.warnings = append(m.warnings, LaunchOnly)
	}
	if err := m.warmUp(ctx, plan.PrefillWarmup, plan.StepsWarmup); err != nil {
		return fmt.Errorf("warm-up: %w", err)
	}
	empty, err := m.emptyStep(plan.Overhead)
	if err != nil {
		return err
	}
	repetitions := max(plan.PrefillReps, plan.Iterations)
	for i := range repetitions {
		decodes := 0
		if i >= repetitions-plan.Iterations {
			decodes = m.point.OutputLen - 1
		}
		if err := m.pass(ctx, i, decodes, false); err != nil {
			return err
		}
	}
	return m.disclose(empty, plan.Overhead)
}

// emptyStep measures the harness itself on the warm engine; 0 where it is not
// asked for or a step has no synchronisation to be measured.
func (m *measurement) emptyStep(pairs int) (int64, error) {
	if pairs == 0 || m.noSync {
		return 0, nil
	}
	return EmptyStep(m.engine, m.rig.Clock, pairs)
}

// disclose records the empty step. What it means for the point, package metric
// says.
func (m *measurement) disclose(empty int64, pairs int) error {
	if pairs == 0 || m.noSync {
		return nil
	}
	detail, err := json.Marshal(bench.EmptyStep{Pairs: pairs, MedianNS: empty})
	if err != nil {
		return fatal{fmt.Errorf("record the empty step of %s: %w", m.point, err)}
	}
	point := m.point.ID // a recorder that keeps the check keeps no more of m
	check := bench.Check{Kind: bench.KindCheck, Name: bench.CheckEmptyStep, OK: true, Point: &point, Detail: detail}
	if err := m.rig.Recorder.Write(check); err != nil {
		return fatal{fmt.Errorf("record the empty step of %s: %w", m.point, err)}
	}
	return nil
}
