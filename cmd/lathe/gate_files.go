package main

import (
	"context"
	"fmt"
	"strings"

	"lathe/bench/gate"
	"lathe/bench/report"
	"lathe/engine/llama"
)

// gateRuns reads recordings as bounds see them.
func (app *application) gateRuns(ctx context.Context, paths []string) ([]gate.Run, error) {
	var runs []gate.Run
	for _, path := range paths {
		f, err := readRecording(ctx, path)
		if err != nil {
			return nil, usageError("", "gate: %w", err)
		}
		var floor func(gate.Key) (float64, bool)
		if name, ok := strings.CutPrefix(f.Run.Workload.Model, presetPrefix); ok {
			if c, err := llama.Preset(name); err == nil {
				floor = floorsOf(c)
			}
		}
		runs = append(runs, gate.Measure(f, path, floor))
	}
	return runs, nil
}

// gateCheck judges recordings that are there.
func (app *application) gateCheck(ctx context.Context, o gateCheckOptions) error {
	bounds, err := readBounds(o.Bounds)
	if err != nil {
		return err
	}
	runs, err := app.gateRuns(ctx, o.Raw)
	if err != nil {
		return err
	}
	r := gate.Check(bounds, runs, o.judging())
	if n := len(r.Unconfirmed()); n > 0 {
		app.term.warn("%d keys missed and were not measured again: lathe gate check RAW AGAIN1 AGAIN2 judges by the majority, gate run does it by itself", n)
	}
	return app.gateOutcome(r, o.gateOptions)
}

// gatePropose makes bounds of recordings.
func (app *application) gatePropose(ctx context.Context, o gateProposeOptions) error {
	p := gate.DefaultProposal()
	p.MinRuns, p.Date = o.MinRuns, utcNow()
	if o.Delta != nil {
		p.Delta = *o.Delta / 100
	}
	stored := app.storedFloors()
	p.Floor = func(k gate.Key) (float64, bool) { return gateFloor(stored, k) }
	runs, err := app.gateRuns(ctx, o.Raw)
	if err != nil {
		return err
	}
	proposed, left, err := gate.Propose(runs, p)
	if err != nil {
		return usageError("", "%w", err)
	}
	for _, text := range left {
		app.term.warn("left out: %s", text)
	}
	if len(proposed.Bounds) == 0 {
		return usageError("record the same points in further runs, or lower --min-runs", "gate propose: no key has enough recordings")
	}
	old := gate.Bounds{Schema: gate.Schema}
	if o.Bounds != "" {
		if old, err = readBounds(o.Bounds); err != nil {
			return err
		}
	}
	renewed, changes := gate.Renew(old, proposed)
	for _, text := range changes {
		app.term.say("%s", text)
	}
	if o.Out == "" {
		return renewed.Write(app.term.out)
	}
	if err := writeFile(o.Out, renewed.Write); err != nil {
		return usageError("--out names another place", "write bounds: %w", err)
	}
	fmt.Fprintf(app.term.out, "bounds: %s (%d keys)\n", o.Out, len(renewed.Bounds))
	return nil
}

// gateTrend tells how the keys moved.
func (app *application) gateTrend(ctx context.Context, o gateTrendOptions) error {
	runs, err := app.gateRuns(ctx, o.Raw)
	if err != nil {
		return err
	}
	for _, run := range runs {
		if run.Refused != "" {
			app.term.warn("%s is left out: %s", run.Name, run.Refused)
		}
	}
	trends := gate.Trends(runs)
	for _, t := range trends {
		if t.Warning != "" {
			app.term.warn("%s: %s", t.Key, t.Warning)
		}
	}
	return report.Trends(app.term.out, trends, o.Format)
}
