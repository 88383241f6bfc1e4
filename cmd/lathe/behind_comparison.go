package main

import (
	"context"
	"encoding/json"
	"fmt"

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
	m.app.term.showProgress(1, 1, "operators")
	if err := compare.Operators(ctx, rig, m.plan, engine.OperatorNames()); err != nil {
		return err
	}
	if m.fused == nil {
		return nil
	}
	return m.compareFused(ctx)
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
	for _, pt := range m.plan.Points {
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
