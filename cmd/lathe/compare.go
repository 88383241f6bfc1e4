package main

import (
	"context"
	"encoding/json"
	"fmt"

	"lathe/bench"
	"lathe/bench/compare"
	"lathe/bench/report"
	"lathe/bench/step"
)

// runCompare does the command: plan, load both, interleave, judge from the raw file.
func runCompare(ctx context.Context, app *application, o compareOptions) error {
	source, err := resolveModel(o.Engine.Model, o.Engine.LoadFormat, app.dryRun)
	if err != nil {
		return err
	}
	plan, err := o.plan(source)
	if err != nil {
		return err
	}
	plan.Delta, plan.ForceDelta, plan.Strict = ratioOf(o.Delta), o.ForceDelta, o.Strict
	if err := plan.Validate(); err != nil {
		return usageError("", "%w", err)
	}
	a, b := o.side(compare.VariantA), o.side(compare.VariantB)
	if app.dryRun {
		return app.printComparison(a, b, source, plan)
	}
	s, err := app.openSides(ctx, a, b, source)
	if err != nil {
		return err
	}
	defer s.Close()
	m := measurement{app: app, command: "compare", sides: s, plan: plan, secret: !o.seeded, whole: true}
	if len(o.BKernels) > 0 && len(o.AKernels) == 0 {
		fused := o.side(compare.VariantA)
		fused.Kernels = o.Engine.Kernels
		m.fused = &fused
	}
	f, err := m.run(ctx, o.Raw, func(raw string) any { o.Raw = raw; return o })
	if f == nil {
		return err
	}
	result, shown := app.showComparison(f, o.Format)
	switch {
	case err != nil:
		return err
	case shown != nil:
		return shown
	}
	return verdict(result.Verdict.ExitCode())
}

// measurement is one interleaved comparison on its way into a raw file.
type measurement struct {
	app     *application
	command string
	sides   *sides
	plan    compare.Plan
	secret  bool // prompts are mixed with numbers that are drawn for each epoch
	bare    bool // no stored calibration is asked: this run makes one
	whole   bool // operators are timed too
	// fused is A's engine without our operators in unfused slots; nil: it is not asked how far it is.
	fused *engineOptions

	rec     *recording
	watch   *deviceWatch // nil on a processor
	secrets []uint64     // of the epochs so far
}

// run measures into the raw file at path, "" for a name of its own, and reads that file back. options
// gives the header's options once the path is known. The file is nil where nothing was recorded;
// otherwise it is there whatever the error.
func (m *measurement) run(ctx context.Context, path string, options func(raw string) any) (*bench.File, error) {
	if path == "" {
		path = defaultRawPath(m.command, utcNow())
	}
	if err := m.describe(); err != nil {
		return nil, err
	}
	if why := m.sides.withoutReference(); why != "" {
		m.sides.warnings = append(m.sides.warnings, why)
	}
	header, err := m.app.header(m.command, options(path), m.plan.Workload(), m.sides.a.model)
	if err != nil {
		return nil, err
	}
	header.Warnings = append([]string{}, m.sides.warnings...)
	if m.rec, err = m.app.startRecording(header, path, false); err != nil {
		return nil, err
	}
	for _, w := range m.sides.warnings {
		m.app.term.warn("%s", w)
	}
	m.watch = m.app.watch(m.sides.a.model, m.rec.clock)
	defer m.watch.close()
	check := &sideCheck{sides: m.sides, plan: m.plan}
	rig := m.rig(check)
	if err = m.recordKernels(); err == nil {
		err = compare.Run(ctx, rig, m.plan)
	}
	if err == nil {
		err = check.after(m.rec)
	}
	if err == nil && m.whole {
		err = m.behind(ctx, rig)
	}
	if recorded := m.recordSecrets(); err == nil {
		err = recorded
	}
	m.app.term.clearProgress()
	err = m.rec.finish(ctx, err)
	f, unread := bench.ReadFile(path)
	if err == nil {
		err = unread
	}
	return f, err
}

// describe puts into the plan what the machine and the sides add: what the variants are, and what is
// known of the points' floors and noise.
func (m *measurement) describe() error {
	a, b := m.sides.a.variant(), m.sides.b.variant()
	var err error
	if m.plan.A, err = json.Marshal(a); err == nil {
		m.plan.B, err = json.Marshal(b)
	}
	if err != nil {
		return fmt.Errorf("describe the variants: %w", err)
	}
	m.app.withFloors(&m.plan, m.sides)
	if !m.bare {
		m.app.calibrated(&m.plan, m.app.hostFacts(), a, b, m.sides.shared)
	}
	return nil
}

// rig is what the loop works with.
func (m *measurement) rig(check *sideCheck) compare.Rig {
	rig := compare.Rig{Open: m.sides.open(m.plan), Recorder: m.rec, Clock: m.rec.clock, Epoch: m.epoch, Check: check.check}
	if m.secret {
		rig.Prompts = m.prompts
	}
	if m.watch != nil {
		rig.Annotate, rig.Device = m.watch.annotate, m.watch.deviceState
	}
	rig.Events.Block = m.progress
	return rig
}

// epoch loads two sets of weights afresh and draws the epoch's secret.
func (m *measurement) epoch(_ context.Context, e int) error {
	if m.secret {
		s, err := secretSeed()
		if err != nil {
			return err
		}
		m.secrets = append(m.secrets, s)
	}
	if e == 0 {
		return nil
	}
	return m.sides.reload(m.plan.Epoch(e).Points[0].BFirst)
}

// prompts mixes the plan's seed, which stands in the raw file from the start, with the epoch's secret,
// which stands there only behind the timing.
func (m *measurement) prompts(p compare.Point, seed uint64) ([][]int32, error) {
	return step.RandomPrompts(seed^m.secrets[len(m.secrets)-1], p.Batch, p.ContextLen, m.plan.Vocab), nil
}

// checkSecrets names the Check that holds what the prompts were mixed with.
const checkSecrets = "compare_secrets"

// recordSecrets writes the secrets of all epochs; with them anybody makes the prompts again.
func (m *measurement) recordSecrets() error {
	if !m.secret {
		return nil
	}
	detail, err := json.Marshal(map[string][]uint64{"epochs": m.secrets})
	if err != nil {
		return fmt.Errorf("record the secrets of the prompts: %w", err)
	}
	return m.rec.Write(bench.Check{Kind: bench.KindCheck, Name: checkSecrets, OK: true, Detail: detail})
}

// recordKernels writes what the checks of both sides' kernels found.
func (m *measurement) recordKernels() error {
	for i, one := range []*side{m.sides.a, m.sides.b} {
		checks, err := one.kernels.findings("variant " + [...]string{compare.VariantA, compare.VariantB}[i])
		if err != nil {
			return err
		}
		for _, c := range checks {
			if err := m.rec.Write(c); err != nil {
				return err
			}
		}
	}
	return nil
}

// progress says how far the run is, behind a block that is on disk.
func (m *measurement) progress(v compare.Visit, steps []bench.Step) {
	first, last := m.plan.Looks[0], m.plan.Looks[len(m.plan.Looks)-1]
	e := steps[0].Epoch
	total := first
	for _, look := range m.plan.Looks {
		if total = look; e < look {
			break
		}
	}
	label := fmt.Sprintf("epochs (%d to %d): %s", first, last, v.Point)
	if b := steps[0].Block; b >= 0 {
		label += fmt.Sprintf(", block %d", b+1)
	}
	m.app.term.showProgress(e, total, label)
}

// showComparison prints the report of a comparison as `lathe report` would, and the raw file's path
// behind it where people read it.
func (app *application) showComparison(f *bench.File, format string) (compare.Result, error) {
	result, err := compare.Judge(f)
	if err != nil {
		return result, err
	}
	if err := report.Write(app.term.out, f, format); err != nil {
		return result, err
	}
	if format == "text" {
		fmt.Fprintf(app.term.out, "raw: %s\n", report.RawPath(f))
	}
	return result, nil
}
