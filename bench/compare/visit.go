package compare

import (
	"context"
	"fmt"

	"lathe/bench"
	"lathe/bench/stat"
	"lathe/bench/step"
)

// settled is how much faster than the round before a warm-up round may be.
const settled = 0.002

// visiting is one point in one epoch.
type visiting struct {
	*runner
	pair  Pair
	visit Visit
	epoch int
	point *running
	rows  [][]int32       // of a decode point, the same for all slots
	ready map[string]bool // variants that are prefilled with rows
}

// labels are those of a slot's records.
func (s *visiting) labels(variant string, block, slot int) bench.Step {
	pt := s.visit.Point
	name := variant
	return bench.Step{
		Point: pt.ID, Variant: &name, Epoch: s.epoch, Block: block, Slot: slot,
		Batch: pt.Batch, ContextLen: pt.ContextLen,
	}
}

// prompts draws the rows of one repetition.
func (s *visiting) prompts(block, repetition int) ([][]int32, error) {
	pt, seed := s.visit.Point, s.visit.promptSeed(block, repetition)
	if s.rig.Prompts == nil {
		return step.RandomPrompts(seed, pt.Batch, pt.ContextLen, s.plan.Vocab), nil
	}
	rows, err := s.rig.Prompts(pt, seed)
	if err != nil {
		return nil, fmt.Errorf("prompts: %w", err)
	}
	if len(rows) != pt.Batch {
		return nil, fmt.Errorf("prompts: %d rows for batch %d", len(rows), pt.Batch)
	}
	for i, row := range rows {
		if len(row) != pt.ContextLen {
			return nil, fmt.Errorf("prompts: row %d has %d tokens, want %d", i, len(row), pt.ContextLen)
		}
	}
	return rows, nil
}

// stretch runs body with the collector off and writes what it recorded, whatever
// happened.
func (s *visiting) stretch(body func() error) error {
	s.timer.Reset()
	restore := collectorOff()
	err := body()
	restore()
	steps := s.timer.Steps()
	if len(steps) == 0 {
		return err
	}
	if s.rig.Annotate != nil {
		s.rig.Annotate(steps)
	}
	if wrote := s.rig.Recorder.WriteSteps(steps); wrote != nil {
		return fatal{fmt.Errorf("record the steps of %s: %w", s.visit.Point, wrote)}
	}
	if s.rig.Events.Block != nil {
		s.rig.Events.Block(s.visit, steps)
	}
	return err
}

// settle warms up both variants, the one that was opened first before the other.
func (s *visiting) settle(ctx context.Context) error {
	rows, err := s.prompts(0, 0)
	if err != nil {
		return err
	}
	s.rows, s.ready = rows, map[string]bool{}
	variants := [2]string{VariantA, VariantB}
	if s.visit.BFirst {
		variants = [2]string{VariantB, VariantA}
	}
	for slot, variant := range variants {
		at := s.labels(variant, -1, slot)
		at.Warmup = true
		if err := s.stretch(func() error { return s.rounds(ctx, variant, at) }); err != nil {
			return fmt.Errorf("settle variant %s: %w", variant, err)
		}
	}
	return nil
}

// rounds warms up one variant until it stops getting faster.
func (s *visiting) rounds(ctx context.Context, variant string, at bench.Step) error {
	before := 0.0
	for i := range s.plan.SettleRounds {
		from := len(s.timer.Steps())
		at.Iteration = i
		if err := s.round(ctx, variant, &at); err != nil {
			return err
		}
		var ns []float64
		for _, st := range s.timer.Steps()[from:] {
			if st.Phase == s.visit.Point.Phase {
				ns = append(ns, float64(st.HostNS))
			}
		}
		now, _ := stat.Median(stat.Sorted(ns))
		if i > 0 && now >= before*(1-settled) {
			return nil
		}
		before = now
	}
	return nil
}

func (s *visiting) round(ctx context.Context, variant string, at *bench.Step) error {
	if s.visit.Point.Phase == bench.Prefill {
		return s.prefill(ctx, variant, s.rows, at)
	}
	if err := s.start(ctx, variant, at); err != nil {
		return err
	}
	return s.decodes(ctx, variant, 1, s.plan.SettleSteps, at)
}

// prefill begins afresh and times one prefill.
func (s *visiting) prefill(ctx context.Context, variant string, rows [][]int32, at *bench.Step) error {
	if ctx.Err() != nil {
		return interrupted(ctx, s.visit.Point, s.epoch)
	}
	engine := s.pair.of(variant)
	if err := engine.Begin(rows, s.plan.NewTokens(s.visit.Point)); err != nil {
		return fmt.Errorf("begin: %w", err)
	}
	at.Index, at.ContextLen = 0, s.visit.Point.ContextLen
	if err := s.timer.Prefill(engine, at); err != nil {
		return err
	}
	n := engine.Cached()
	if s.point.cached == nil || n > *s.point.cached {
		s.point.cached = &n
	}
	if n != 0 {
		return fmt.Errorf("prefix reuse: %d prompt tokens came from a cache, want 0", n)
	}
	return nil
}

// start puts a variant behind its prompts, ready for its first decode step.
func (s *visiting) start(ctx context.Context, variant string, at *bench.Step) error {
	if rewinder, ok := s.pair.of(variant).(Rewinder); ok && s.ready[variant] {
		if ctx.Err() != nil {
			return interrupted(ctx, s.visit.Point, s.epoch)
		}
		if err := rewinder.Rewind(); err != nil {
			return fmt.Errorf("rewind: %w", err)
		}
		return nil
	}
	warmup := at.Warmup
	at.Warmup = true // the prefill of a decode slot is no sample of it
	err := s.prefill(ctx, variant, s.rows, at)
	at.Warmup = warmup
	s.ready[variant] = err == nil
	return err
}

// decodes times the decode steps from..to of a variant.
func (s *visiting) decodes(ctx context.Context, variant string, from, to int, at *bench.Step) error {
	engine := s.pair.of(variant)
	for i := from; i <= to; i++ {
		if ctx.Err() != nil {
			return interrupted(ctx, s.visit.Point, s.epoch)
		}
		at.Index, at.ContextLen = i, s.visit.Point.ContextLen+i
		if err := s.timer.Decode(engine, at); err != nil {
			return err
		}
	}
	return nil
}

// block measures four slots and says whether they hold.
func (s *visiting) block(ctx context.Context, number int, order Order) (held bool, err error) {
	rows, err := s.blockRows(number)
	if err != nil {
		return false, err
	}
	err = s.stretch(func() error {
		for i, variant := range order {
			at := s.labels(variant, number, i)
			if err := s.slot(ctx, variant, rows, &at); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		return false, err
	}
	s.point.slots = append(s.point.slots, slots(s.timer.Steps(), s.visit.Point.ID)...)
	all := s.plan.blocks(s.visit.Point, s.point.slots, usesDevice(s.point.slots))
	if coupling(all) {
		keepCoupled(all)
	}
	return all[len(all)-1].fault == sound, nil
}

// blockRows are the prompts of a prefill block, one set a repetition; all four
// slots use the same.
func (s *visiting) blockRows(number int) ([][][]int32, error) {
	if s.visit.Point.Phase != bench.Prefill {
		return nil, nil
	}
	rows := make([][][]int32, s.plan.PrefillWarmup+s.plan.PrefillReps)
	for i := range rows {
		var err error
		if rows[i], err = s.prompts(1+number, i); err != nil {
			return nil, err
		}
	}
	return rows, nil
}

// slot runs one variant's warm-up and recorded steps.
func (s *visiting) slot(ctx context.Context, variant string, rows [][][]int32, at *bench.Step) error {
	if s.visit.Point.Phase == bench.Prefill {
		for i, set := range rows {
			at.Iteration, at.Warmup = i, i < s.plan.PrefillWarmup
			if err := s.prefill(ctx, variant, set, at); err != nil {
				return err
			}
		}
		return nil
	}
	if err := s.start(ctx, variant, at); err != nil {
		return err
	}
	at.Warmup = true
	if err := s.decodes(ctx, variant, 1, s.plan.Warmup, at); err != nil {
		return err
	}
	at.Warmup = false
	return s.decodes(ctx, variant, s.plan.Warmup+1, s.plan.Warmup+s.plan.Steps, at)
}
