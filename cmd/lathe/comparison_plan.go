package main

import (
	"fmt"
	"math"
	"text/tabwriter"

	"lathe/bench"
	"lathe/bench/compare"
	"lathe/bench/step"
)

// printComparison says what a comparison would measure: points, bytes of a step, memory with both
// variants open, and the time from the first look to the last.
func (app *application) printComparison(a, b engineOptions, m modelSource, plan compare.Plan) error {
	cfg, out := m.config, app.term.out
	weights := float64(cfg.WeightBytes(2))
	copies := "one set of weights, shared"
	if !sameBackend(a.Backend, b.Backend) {
		weights *= 2
		copies = "two sets of weights, loaded afresh in each epoch"
	}
	fmt.Fprintf(out, "model: %s (%s), %d parameters, weights %s: %s\n", m.name, m.identity, cfg.Params(), sized(weights), copies)
	for _, side := range []struct {
		name string
		o    engineOptions
	}{{"a", a}, {"b", b}} {
		fmt.Fprintf(out, "%s: %s", side.name, side.o.Backend)
		for _, k := range side.o.Kernels {
			fmt.Fprintf(out, ", %s", k)
		}
		fmt.Fprintln(out)
	}
	first, last := plan.Looks[0], plan.Looks[len(plan.Looks)-1]
	fmt.Fprintf(out, "looks after %v epochs of %d blocks A B B A; a decode slot is %d + %d steps, a prefill slot %d + %d prefills; nothing is measured\n",
		plan.Looks, plan.Blocks, plan.Warmup, plan.Steps, plan.PrefillWarmup, plan.PrefillReps)
	seconds, skipped, err := app.comparisonPoints(a, m, plan, weights)
	if err != nil {
		return err
	}
	for _, line := range skipped {
		fmt.Fprintln(out, line)
	}
	fmt.Fprintf(out, "estimate: %.1f s (%d epochs) to %.1f s (%d epochs) if every step reads its bytes at %.0f GB/s (assumed, not measured); prefill arithmetic and loading come on top\n",
		float64(first)*seconds, first, float64(last)*seconds, last, assumedBandwidth(a.Backend)/1e9)
	return nil
}

// comparisonPoints prints a row a point and sums the seconds of an epoch.
func (app *application) comparisonPoints(o engineOptions, m modelSource, plan compare.Plan, weights float64) (seconds float64, skipped []string, err error) {
	cfg, kv := m.config, 2
	if o.KVCacheDtype == "f32" || o.Backend == "reference" {
		kv = 4
	}
	if !isBuiltin(o.Backend) {
		o.MemFractionStatic = math.Inf(1) // a device's memory is not known here
	}
	w := tabwriter.NewWriter(app.term.out, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintln(w, "point\tphase\tbatch\tcontext\tMB a step\tmemory GB\tsteps an epoch\tepoch s\t")
	for _, pt := range plan.Points {
		p := step.Point{ID: pt.ID, Batch: pt.Batch, InputLen: pt.ContextLen, OutputLen: plan.NewTokens(pt)}
		session := o.pointBytes(cfg, p, kv)
		if why := o.refuse(cfg, p, weights+session, kv); why != "" {
			fmt.Fprintf(w, "%d\t%s\t%d\t%d\t-\t-\t-\t-\t\n", pt.ID, pt.Phase, pt.Batch, pt.ContextLen)
			skipped = append(skipped, fmt.Sprintf("point %d will be skipped: %s", pt.ID, why))
			continue
		}
		decode := float64(cfg.StepBytes(pt.Batch, pt.ContextLen+p.OutputLen/2, kv).Total())
		prefill := max(float64(cfg.PrefillBytes(pt.Batch, pt.ContextLen, kv).Total()), decode)
		bytes := decode
		if pt.Phase == bench.Prefill {
			bytes = prefill
		}
		one := (float64(plan.EpochSteps(pt))*bytes + 6*prefill) / assumedBandwidth(o.Backend) // settling and two checks of both sides
		seconds += one
		fmt.Fprintf(w, "%d\t%s\t%d\t%d\t%.1f\t%.2f\t%d\t%.2f\t\n", pt.ID, pt.Phase, pt.Batch, pt.ContextLen, bytes/1e6,
			(weights+2*session)/1e9, plan.EpochSteps(pt), one)
	}
	return seconds, skipped, w.Flush()
}
