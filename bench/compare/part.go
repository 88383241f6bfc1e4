package compare

import (
	"math"
	"strings"

	"lathe/bench"
	"lathe/bench/step"
)

// PartFused names the part of a recording that compares the default of A's backend,
// which runs operators fused, with A, which runs our own operator in the unfused slot.
const PartFused = "fused"

// AsPart is a recorder for a further comparison in the same file: its records carry
// the part's name, so that they are no part of the main one. The numbers of its points
// must not be those of the main plan.
func AsPart(r step.Recorder, name string) step.Recorder { return partRecorder{r, name} }

type partRecorder struct {
	step.Recorder
	name string
}

// Write renames the records of Run.
func (p partRecorder) Write(records ...any) error {
	renamed := make([]any, len(records))
	for i, rec := range records {
		if c, ok := rec.(bench.Check); ok && (c.Name == CheckPlan || c.Name == CheckFind || c.Name == CheckDevice) {
			c.Name += "." + p.name
			rec = c
		}
		renamed[i] = rec
	}
	return p.Recorder.Write(renamed...)
}

// Part is a further comparison of a file, for Judge; false where it has none.
func Part(f *bench.File, name string) (*bench.File, bool) {
	part := *f
	part.Checks = nil
	for _, c := range f.Checks {
		if base, ok := strings.CutSuffix(c.Name, "."+name); ok {
			c.Name = base
			part.Checks = append(part.Checks, c)
		}
	}
	return &part, Interleaved(&part)
}

// Fused is how far the fused default is from both variants at one point. Positive
// changes: the variant needs more time than the default.
type Fused struct {
	A           *Against `json:"a"` // measured: our operator in the unfused slot
	B           *Against `json:"b"` // A's change and that of the main comparison, chained
	Epochs      int      `json:"epochs"`
	Blocks      int      `json:"blocks"`
	Steps       int      `json:"steps"`
	AMedianNS   *float64 `json:"a_median_ns"`
	FusedMedian *float64 `json:"fused_median_ns"`
}

// Against is a change with its interval.
type Against struct {
	ChangePercent   float64    `json:"change_percent"`
	IntervalPercent [2]float64 `json:"interval_percent"`
}

// fusedOf judges the part of a file that has the fused default.
func fusedOf(f *bench.File, r *Result) error {
	part, ok := Part(f, PartFused)
	if !ok {
		return nil
	}
	fused, err := Judge(part)
	if err != nil {
		return err
	}
	for i := range r.Points {
		p := &r.Points[i]
		for _, q := range fused.Points {
			if q.Phase == p.Phase && q.Batch == p.Batch && q.ContextLen == p.ContextLen {
				p.Fused = chain(q, *p)
			}
		}
	}
	return nil
}

// chain puts the change of A against the default (q) and of B against A (p) together.
// Their errors are of separate epochs, so the widths add up as squares.
func chain(q, p PointResult) *Fused {
	f := &Fused{Epochs: q.Epochs, Blocks: q.Blocks, Steps: q.Steps, AMedianNS: q.BMedianNS, FusedMedian: q.AMedianNS}
	if q.ChangePercent == nil || q.IntervalPercent == nil || q.Verdict == Invalid {
		return f
	}
	f.A = &Against{*q.ChangePercent, *q.IntervalPercent}
	if p.ChangePercent == nil || p.IntervalPercent == nil || p.Verdict == Invalid {
		return f
	}
	x, y := math.Log1p(*q.ChangePercent/100), math.Log1p(*p.ChangePercent/100)
	wide := math.Hypot(halfWidth(q.IntervalPercent), halfWidth(p.IntervalPercent))
	if change, both := rounded(percent(x+y)), interval(x+y-wide, x+y+wide); change != nil && both != nil {
		f.B = &Against{*change, *both}
	}
	return f
}

// halfWidth is half of an interval's width, as a log ratio.
func halfWidth(i *[2]float64) float64 {
	return (math.Log1p(i[1]/100) - math.Log1p(i[0]/100)) / 2
}
