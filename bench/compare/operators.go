package compare

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	"lathe/bench"
	"lathe/bench/stat"
	"lathe/bench/step"
)

// OperatorTimer is an engine whose steps can be instrumented.
type OperatorTimer interface {
	step.Engine
	// TimeOperators switches the instrumentation of further steps.
	TimeOperators(on bool)
	// OperatorNS writes what each operator of the last waited step took, in ns, in
	// the order of the names; -1 where it was not measured.
	OperatorNS(out []int64)
}

// OperatorTime is what one operator took in the instrumented pass of a point. It is
// no part of a verdict.
type OperatorTime struct {
	Op            string   `json:"op"`
	AMedianNS     *float64 `json:"a_median_ns"` // a step, all layers; null where the variant does not have it
	BMedianNS     *float64 `json:"b_median_ns"`
	ChangePercent *float64 `json:"change_percent"` // of the medians
	AShare        *float64 `json:"a_share"`        // of the instrumented steps' time
	BShare        *float64 `json:"b_share"`
	Steps         int      `json:"steps"` // of each variant
}

const (
	operatorBlocks = 2  // A B B A and B A A B
	operatorSteps  = 16 // of a slot
)

// Operators times the operators of both variants at the decode points of a plan, in
// steps of their own behind the comparison: instrumented steps take longer, so they
// decide nothing. names are the operators in the order of OperatorNS. Points whose
// engines cannot be instrumented, and those that do not fit, are left out.
func Operators(ctx context.Context, rig Rig, plan Plan, names []string) error {
	timer := step.NewTimer(rig.Clock, 1, false)
	for _, v := range plan.Epoch(plan.Looks[len(plan.Looks)-1]).Points { // a schedule that no epoch had
		if v.Point.Phase != bench.Decode || plan.over(v.Point) != "" {
			continue
		}
		if err := operatorsOf(ctx, rig, plan, v, timer, names); err != nil {
			return fmt.Errorf("time the operators of %s: %w", v.Point, err)
		}
	}
	return nil
}

func operatorsOf(ctx context.Context, rig Rig, plan Plan, v Visit, timer *step.Timer, names []string) (err error) {
	pair, err := rig.Open(ctx, plan.Looks[len(plan.Looks)-1], v)
	var skip *step.Skip
	if errors.As(err, &skip) {
		return nil
	}
	if err != nil {
		return err
	}
	if pair.Close != nil {
		defer func() { err = errors.Join(err, pair.Close()) }()
	}
	o := &operatorPass{timer: timer, plan: plan, visit: v, names: names, passes: map[string]*bench.OperatorPass{}}
	o.rows = step.RandomPrompts(v.promptSeed(0, 0), v.Point.Batch, v.Point.ContextLen, plan.Vocab)
	if rig.Prompts != nil {
		if o.rows, err = rig.Prompts(v.Point, v.promptSeed(0, 0)); err != nil {
			return err
		}
	}
	for _, order := range v.Orders[:min(operatorBlocks, len(v.Orders))] {
		for _, variant := range order {
			engine, ok := pair.of(variant).(OperatorTimer)
			if !ok {
				return nil
			}
			if err := o.slot(ctx, engine, variant); err != nil {
				return err
			}
		}
	}
	for _, variant := range []string{VariantA, VariantB} {
		if err := o.record(rig.Recorder, variant); err != nil {
			return err
		}
	}
	return nil
}

// operatorPass is the pass of one point.
type operatorPass struct {
	timer  *step.Timer
	plan   Plan
	visit  Visit
	names  []string
	rows   [][]int32
	passes map[string]*bench.OperatorPass
}

// slot prefills and times operatorSteps instrumented steps behind the plan's warm-up,
// which is instrumented as well.
func (o *operatorPass) slot(ctx context.Context, e OperatorTimer, variant string) error {
	pt := o.visit.Point
	pass := o.passes[variant]
	if err := o.ready(e, pass != nil); err != nil {
		return err
	}
	if pass == nil {
		name := variant
		pass = &bench.OperatorPass{Variant: &name, ContextLen: pt.ContextLen + o.plan.Warmup + 1, Operators: o.names, NS: [][]int64{}, StepNS: []int64{}}
		o.passes[variant] = pass
	}
	e.TimeOperators(true)
	defer e.TimeOperators(false)
	restore := collectorOff()
	defer restore()
	for i := range o.plan.Warmup + min(operatorSteps, o.plan.Steps) {
		if ctx.Err() != nil {
			return fmt.Errorf("interrupted: %w", ctx.Err())
		}
		o.timer.Reset()
		at := bench.Step{Point: pt.ID, Batch: pt.Batch, ContextLen: pt.ContextLen + 1 + i, Index: 1 + i}
		if err := o.timer.Decode(e, &at); err != nil {
			return err
		}
		if i < o.plan.Warmup {
			continue
		}
		ns := make([]int64, len(o.names))
		e.OperatorNS(ns)
		pass.NS, pass.StepNS = append(pass.NS, ns), append(pass.StepNS, o.timer.Steps()[0].HostNS)
	}
	return nil
}

// ready puts an engine behind its prompts; again says that it was there before.
func (o *operatorPass) ready(e OperatorTimer, again bool) error {
	if r, ok := e.(Rewinder); ok && again {
		return r.Rewind()
	}
	if err := e.Begin(o.rows, o.plan.NewTokens(o.visit.Point)); err != nil {
		return err
	}
	if err := e.Prefill(); err != nil {
		return err
	}
	return e.Wait()
}

// record writes a variant's pass, without the operators that it does not have; nothing
// where none was measured.
func (o *operatorPass) record(r step.Recorder, variant string) error {
	pass := o.passes[variant]
	if pass == nil {
		return nil
	}
	var kept []int
	for i := range pass.Operators {
		if slices.ContainsFunc(pass.NS, func(ns []int64) bool { return ns[i] >= 0 }) {
			kept = append(kept, i)
		}
	}
	if len(kept) == 0 {
		return nil
	}
	short := bench.OperatorPass{Variant: pass.Variant, ContextLen: pass.ContextLen, StepNS: pass.StepNS}
	for _, i := range kept {
		short.Operators = append(short.Operators, pass.Operators[i])
	}
	for _, ns := range pass.NS {
		row := make([]int64, len(kept))
		for k, i := range kept {
			row[k] = ns[i]
		}
		short.NS = append(short.NS, row)
	}
	detail, err := json.Marshal(short)
	if err != nil {
		return fmt.Errorf("record %s: %w", bench.CheckOperators, err)
	}
	id := o.visit.Point.ID
	return r.Write(bench.Check{Kind: bench.KindCheck, Name: bench.CheckOperators, OK: true, Point: &id, Detail: detail})
}

// operatorTimes reads the instrumented pass of a point, in the order of a step.
func operatorTimes(f *bench.File, point int) ([]OperatorTime, error) {
	var passes [2]*bench.OperatorPass
	for _, c := range f.Checks {
		if c.Name != bench.CheckOperators || c.Point == nil || *c.Point != point {
			continue
		}
		p := &bench.OperatorPass{}
		if err := json.Unmarshal(c.Detail, p); err != nil {
			return nil, fmt.Errorf("judge a comparison: %s record: %w", c.Name, err)
		}
		switch {
		case p.Variant == nil:
		case *p.Variant == VariantB:
			passes[1] = p
		default:
			passes[0] = p
		}
	}
	if passes[0] == nil || passes[1] == nil {
		return nil, nil
	}
	var out []OperatorTime
	for side, p := range passes {
		for i, name := range p.Operators {
			at := slices.IndexFunc(out, func(t OperatorTime) bool { return t.Op == name })
			if at < 0 {
				at = len(out)
				out = append(out, OperatorTime{Op: name, Steps: min(len(passes[0].StepNS), len(passes[1].StepNS))})
			}
			out[at].take(side, p, i)
		}
	}
	return out, nil
}

// take fills in one side of an operator.
func (t *OperatorTime) take(side int, p *bench.OperatorPass, i int) {
	var ns []float64
	var sum, steps float64
	for k, row := range p.NS {
		if i < len(row) && row[i] >= 0 && k < len(p.StepNS) {
			ns = append(ns, float64(row[i]))
			sum, steps = sum+float64(row[i]), steps+float64(p.StepNS[k])
		}
	}
	m, ok := stat.Median(stat.Sorted(ns))
	if !ok || steps <= 0 {
		return
	}
	share := rounded(sum / steps)
	if side == 0 {
		t.AMedianNS, t.AShare = &m, share
		return
	}
	t.BMedianNS, t.BShare = &m, share
	if t.AMedianNS != nil && *t.AMedianNS > 0 {
		t.ChangePercent = rounded(100 * (m / *t.AMedianNS - 1))
	}
}

// kernelVote says what a point can show of the operators that B replaces: the share
// of the step that they have in A, and the smallest change of their own time that the
// step could have shown.
func (r *PointResult) kernelVote(b json.RawMessage) {
	var v Variant
	if json.Unmarshal(b, &v) != nil || len(v.Kernels) == 0 || r.DetectablePercent == nil || r.ThresholdPercent == nil {
		return
	}
	share, names := 0.0, ""
	for _, t := range r.Operators {
		replaced := slices.ContainsFunc(v.Kernels, func(k Kernel) bool { return k.replaces(t.Op) })
		if !replaced || t.AShare == nil {
			continue
		}
		if names != "" {
			names += ", "
		}
		names += t.Op
		share += *t.AShare
	}
	detectable := KernelDetectable(*r.DetectablePercent, min(1, share))
	if detectable == nil {
		return
	}
	text := fmt.Sprintf("%s has %s %% of A's step: a change of %s %% in its own time is the smallest that the step could have shown",
		names, trim(100*share), trim(*detectable))
	if KernelWarning(*r.ThresholdPercent, share) != "" {
		text += "; one of 5 % stays below the threshold here: choose a point where it has more, or read its own time"
	}
	r.Votes = append(r.Votes, Vote{"kernel", Noted, text})
}

// replaces says whether a kernel stands for an operator of a step; "gemm" stands for
// every product.
func (k Kernel) replaces(op string) bool {
	return k.Op == op || k.Op == "gemm" && len(op) > 5 && op[:5] == "gemm."
}
