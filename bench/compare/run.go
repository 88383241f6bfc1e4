package compare

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"runtime"
	"runtime/debug"

	"lathe/bench"
	"lathe/bench/step"
)

// Pair is both variants, open for one point in one epoch.
type Pair struct {
	A, B step.Engine
	// Memory is asked once a point; nil or a nil result: unknown.
	Memory func() *bench.PointMemory
	// Close ends both sessions, whatever happened; nil: nothing to do.
	Close func() error
	// Warnings go into the point's line, each once.
	Warnings []string
}

// of gives a variant's engine.
func (p Pair) of(variant string) step.Engine {
	if variant == VariantB {
		return p.B
	}
	return p.A
}

// Rewinder is an engine that goes back to the state right behind its last
// Prefill, token chosen by it included, on the same pages: the next Decode is
// the first one again. Other engines are prefilled before each slot.
type Rewinder interface{ Rewind() error }

// Rig is what Run works with. Open, Recorder and Clock must be set.
type Rig struct {
	// Open opens fresh sessions of both variants. A *step.Skip error skips the
	// point, any other fails it; the other points go on.
	Open     func(ctx context.Context, e int, v Visit) (Pair, error)
	Recorder step.Recorder
	Clock    bench.Clock
	// Epoch comes before an epoch's first point, to load afresh what sessions
	// share; nil: nothing to do. An error ends the run.
	Epoch func(ctx context.Context, e int) error
	// Prompts gives the rows of a point by a seed; nil: step.RandomPrompts.
	Prompts func(p Point, seed uint64) ([][]int32, error)
	// Check checks the outputs of both variants; nil: they are not checked here.
	Check func(ctx context.Context, when Moment, e int, v Visit, pair Pair) ([]Finding, error)
	// Device reads what must not change; nil: nothing to read.
	Device func() DeviceState
	// Annotate completes the records of a block before they are written.
	Annotate func([]bench.Step)
	Events   Events
}

// Events are told what happened, outside timed regions; nil ones are not called.
type Events struct {
	// Block comes after each block, and after the settling of an epoch (block
	// -1), once its records are on disk. The slice is reused.
	Block func(Visit, []bench.Step)
	// Look comes after each look.
	Look func(Result)
	// Done comes after a point's line is on disk.
	Done func(bench.Point)
}

// Run interleaves two variants by a plan and records every step, until a look
// answers all points and the headline, or the looks are used up. A timed step is
// one of package step's: Wait, clock, Prefill or Decode, Wait, clock; the
// collector is off during a block, and records are written after it.
//
// Which blocks are replaced and when the run ends depends on the records alone,
// by the rules of [Judge]; Judge gives the answer, from the file.
//
// The error is a plan that does not validate, a Recorder that failed, Epoch's,
// or the context's, wrapped. An interrupted run keeps its steps on disk and has
// no point lines; at most the running step is finished.
func Run(ctx context.Context, rig Rig, plan Plan) error {
	if err := plan.Validate(); err != nil {
		return err
	}
	r := &runner{rig: rig, plan: plan, points: map[int]*running{}}
	if err := r.record(CheckPlan, true, nil, plan); err != nil {
		return err
	}
	most := 0
	for _, pt := range plan.Points {
		r.points[pt.ID] = &running{}
		most = max(most, plan.records(pt))
		if reason := plan.over(pt); reason != "" {
			r.points[pt.ID].fail(&step.Skip{Reason: reason})
		}
	}
	r.timer = step.NewTimer(rig.Clock, most, false)
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	for e := range plan.Looks[len(plan.Looks)-1] {
		if err := r.epoch(ctx, e); err != nil {
			return err
		}
		if r.decided(e + 1) {
			break
		}
	}
	return r.close()
}

// runner is a run going on.
type runner struct {
	rig     Rig
	plan    Plan
	timer   *step.Timer
	points  map[int]*running
	devices []DeviceState
}

// running is what is known of one point.
type running struct {
	slots    []slot
	findings []Finding
	closed   error // why it is not measured any more
	line     bench.Point
	cached   *int
	memory   *bench.PointMemory
	warnings []string
}

func (p *running) fail(err error) { p.closed = err }

// warn keeps a warning once.
func (p *running) warn(texts ...string) {
	for _, text := range texts {
		known := false
		for _, w := range p.warnings {
			known = known || w == text
		}
		if !known {
			p.warnings = append(p.warnings, text)
		}
	}
}

// fatal is an error that ends the run, where an engine's only closes its point.
type fatal struct{ error }

// Unwrap gives the error itself.
func (f fatal) Unwrap() error { return f.error }

func interrupted(ctx context.Context, p Point, e int) error {
	return fatal{fmt.Errorf("stopped at %s, epoch %d: %w", p, e, bench.Stopped(ctx))}
}

// record writes a Check; point is nil where it is of the run.
func (r *runner) record(name string, ok bool, point *int, detail any) error {
	data, err := json.Marshal(detail)
	if err == nil {
		err = r.rig.Recorder.Write(bench.Check{Kind: bench.KindCheck, Name: name, OK: ok, Point: point, Detail: data})
	}
	if err != nil {
		return fatal{fmt.Errorf("record %s: %w", name, err)}
	}
	return nil
}

// epoch visits the points that are not closed.
func (r *runner) epoch(ctx context.Context, e int) error {
	schedule := r.plan.Epoch(e)
	if r.rig.Epoch != nil {
		if err := r.rig.Epoch(ctx, e); err != nil {
			return fmt.Errorf("begin epoch %d: %w", e, err)
		}
	}
	if err := r.device(e, Before); err != nil {
		return err
	}
	for _, v := range schedule.Points {
		p := r.points[v.Point.ID]
		if p.closed != nil {
			continue
		}
		if ctx.Err() != nil {
			return interrupted(ctx, v.Point, e)
		}
		if err := r.visit(ctx, e, v, p); err != nil {
			var end fatal
			if errors.As(err, &end) {
				return err
			}
			p.fail(err)
		}
	}
	return r.device(e, After)
}

func (r *runner) device(e int, when Moment) error {
	if r.rig.Device == nil {
		return nil
	}
	s := r.rig.Device()
	s.Epoch, s.When = e, when
	r.devices = append(r.devices, s)
	return r.record(CheckDevice, true, nil, s)
}

// visit opens a point for one epoch and measures its blocks.
func (r *runner) visit(ctx context.Context, e int, v Visit, p *running) (err error) {
	pair, err := r.rig.Open(ctx, e, v)
	if err != nil {
		if ctx.Err() != nil {
			return interrupted(ctx, v.Point, e)
		}
		return err
	}
	defer func() {
		if pair.Memory != nil && p.memory == nil {
			p.memory = pair.Memory()
		}
		if pair.Close == nil {
			return
		}
		if closed := pair.Close(); closed != nil {
			p.warn("close the sessions: " + closed.Error())
		}
	}()
	p.warn(pair.Warnings...)
	if err := r.check(ctx, Before, e, v, pair, p); err != nil {
		return err
	}
	s := &visiting{runner: r, pair: pair, visit: v, epoch: e, point: p}
	if err := s.settle(ctx); err != nil {
		return err
	}
	err = r.plan.each(v, func(number int, order Order) (bool, error) { return s.block(ctx, number, order) })
	if err != nil {
		return err
	}
	return r.check(ctx, After, e, v, pair, p)
}

// check runs the rig's checks and records what they found. One that failed
// closes the point: what is wrong is not timed.
func (r *runner) check(ctx context.Context, when Moment, e int, v Visit, pair Pair, p *running) error {
	if r.rig.Check == nil {
		return nil
	}
	found, err := r.rig.Check(ctx, when, e, v, pair)
	if ctx.Err() != nil {
		return interrupted(ctx, v.Point, e)
	}
	if err != nil {
		found = append(found, Finding{Name: "check", Reason: err.Error()})
	}
	for _, f := range found {
		f.Point, f.Epoch, f.When = v.Point.ID, e, when
		p.findings = append(p.findings, f)
		if err := r.record(CheckFind, f.OK, &f.Point, f); err != nil {
			return err
		}
	}
	for _, f := range found {
		if !f.OK {
			return fmt.Errorf("%s %s the timing of epoch %d: %s", f.Name, when, e, f.Reason)
		}
	}
	return nil
}

// decided judges at a look and says whether the run is over.
func (r *runner) decided(epochs int) bool {
	at := false
	for _, look := range r.plan.Looks {
		at = at || look == epochs
	}
	open := 0
	for _, p := range r.points {
		if p.closed == nil {
			open++
		}
	}
	if open == 0 {
		return true
	}
	if !at {
		return false
	}
	js := make([]judgement, len(r.plan.Points))
	for i, pt := range r.plan.Points {
		p := r.points[pt.ID]
		ev := evidence{slots: p.slots, findings: p.findings, devices: r.devices}
		if p.closed != nil {
			line := r.line(pt, p)
			ev.line = &line
		}
		js[i] = r.plan.judgePoint(pt, ev)
	}
	more := r.plan.open(js)
	if r.rig.Events.Look != nil {
		r.rig.Events.Look(r.plan.result(js))
	}
	return !more
}

// close writes the lines of all points.
func (r *runner) close() error {
	for _, pt := range r.plan.Points {
		line := r.line(pt, r.points[pt.ID])
		if err := r.rig.Recorder.Write(line); err != nil {
			return fmt.Errorf("record the line of point %d: %w", pt.ID, err)
		}
		if r.rig.Events.Done != nil {
			r.rig.Events.Done(line)
		}
	}
	return nil
}

func (r *runner) line(pt Point, p *running) bench.Point {
	line := bench.Point{
		Kind: bench.KindPoint, Point: pt.ID, Status: bench.StatusOK,
		Batch: pt.Batch, InputLen: pt.ContextLen, OutputLen: r.plan.NewTokens(pt),
		Cached: p.cached, Memory: p.memory, Warnings: p.warnings,
	}
	if p.closed == nil {
		return line
	}
	line.Status = bench.StatusFailed
	var skip *step.Skip
	if errors.As(p.closed, &skip) {
		line.Status = bench.StatusSkipped
	}
	reason := p.closed.Error()
	line.Reason = &reason
	return line
}

// collectorOff collects now and keeps the collector off until the returned
// function is called.
func collectorOff() (restore func()) {
	runtime.GC()
	percent := debug.SetGCPercent(-1)
	return func() { debug.SetGCPercent(percent) }
}
