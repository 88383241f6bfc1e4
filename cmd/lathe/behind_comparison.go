package main

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"

	"lathe/bench"
	"lathe/bench/compare"
	"lathe/engine"
)

// fusedLooks and fusedBlocks size the comparison of the fused default with our own operator in the
// unfused slot: the fewest epochs and blocks that have an answer.
const (
	fusedLooks  = 5
	fusedBlocks = 3
	fusedSteps  = 16 // of a slot, at most
)

// behind is what a comparison measures once its verdict's samples are there: operators in a pass of
// their own, and how far the fused default is from A.
func (m *measurement) behind(ctx context.Context, rig compare.Rig) error {
	if m.sides.refused != "" || m.sides.tooBig != "" {
		return nil
	}
	plan := m.plan
	if plan.Points = m.sound(); len(plan.Points) == 0 {
		return nil
	}
	m.app.term.showProgress(1, 1, "operators")
	err := compare.Operators(ctx, rig, plan, engine.OperatorNames())
	if err == nil && m.fused != nil {
		err = m.compareFused(ctx)
	}
	if err != nil && ctx.Err() == nil && m.rec.writer.Err() == nil { // the verdict's samples are there
		m.app.term.warn("behind the comparison: %s", err)
		return nil
	}
	return err
}

// sound are the plan's points that were measured to their end: what went wrong in a step goes wrong
// in an instrumented one too.
func (m *measurement) sound() []compare.Point {
	var points []compare.Point
	for _, pt := range m.plan.Points {
		if slices.ContainsFunc(m.rec.file.Points, func(line bench.Point) bool { return line.Point == pt.ID && line.Status == bench.StatusOK }) {
			points = append(points, pt)
		}
	}
	return points
}

// compareFused interleaves the fused default with A. Its records are a part of the same file, its
// points have numbers behind those of the plan.
func (m *measurement) compareFused(ctx context.Context) error {
	fused := &side{options: *m.fused, model: m.sides.a.model.with(*m.fused)}
	fused.kernels = m.sides.a.kernels.only(m.fused.Kernels)
	fused.model.kernels = fused.kernels
	plan := m.plan
	plan.Looks, plan.Blocks, plan.Steps = []int{fusedLooks}, fusedBlocks, min(plan.Steps, fusedSteps)
	plan.Alpha, _ = nominalAlpha(1)
	plan.Delta, plan.ForceDelta, plan.Strict = nil, false, false
	plan.Seed++
	plan.Points = nil
	for _, pt := range m.sound() {
		pt.ID += len(m.plan.Points)
		pt.AAFloor = nil
		plan.Points = append(plan.Points, pt)
	}
	var err error
	if plan.A, err = json.Marshal(fused.variant()); err != nil {
		return fmt.Errorf("describe the fused default: %w", err)
	}
	plan.B = m.plan.A
	other := &measurement{app: m.app, sides: &sides{source: m.sides.source, a: fused, b: m.sides.a, shared: true}, plan: plan,
		secret: m.secret, rec: m.rec, watch: m.watch}
	rig := other.rig(&sideCheck{sides: other.sides, plan: plan, checked: true})
	rig.Recorder = compare.AsPart(m.rec, compare.PartFused)
	return compare.Run(ctx, rig, plan)
}
