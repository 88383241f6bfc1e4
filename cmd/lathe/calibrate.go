package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"text/tabwriter"

	"lathe/bench"
	"lathe/bench/compare"
	"lathe/bench/roofline"
)

// calibrated is the result of calibrate.
type calibrated struct {
	Floors []aaFloor       `json:"aa"`
	Roofs  *roofline.Roofs `json:"roofs"`
	Files  []string        `json:"files"` // where it is kept
	Raw    []string        `json:"raw"`
}

// runCalibrate does the command.
func runCalibrate(ctx context.Context, app *application, o calibrateOptions) error {
	if len(o.From) > 0 {
		return app.calibrateFrom(ctx, o)
	}
	source, err := resolveModel(o.Engine.Model, o.Engine.LoadFormat, app.dryRun)
	if err != nil {
		return err
	}
	plan, err := o.plan(source)
	if err != nil {
		return err
	}
	if err := plan.Validate(); err != nil {
		return usageError("", "%w", err)
	}
	if app.dryRun {
		fmt.Fprintf(app.term.out, "calibrate: %d runs of the following\n", o.Runs)
		return app.printComparison(o.Engine, o.Engine, source, plan)
	}
	out := calibrated{Floors: []aaFloor{}, Files: []string{}, Raw: []string{}}
	if o.Bandwidth || o.Compute {
		if err := app.calibrateRoofs(ctx, o, source, &out); err != nil {
			return err
		}
	}
	if o.AA {
		files, err := app.equalRuns(ctx, o, source, plan)
		if err == nil {
			err = app.keepFloors(files, &out)
		}
		if err != nil {
			return err
		}
	}
	return app.printCalibrated(out, o.Format)
}

// calibrateRoofs measures the processor's ceilings and keeps them.
func (app *application) calibrateRoofs(ctx context.Context, o calibrateOptions, source modelSource, out *calibrated) error {
	l, err := app.loadModel(ctx, o.Engine, source)
	if err != nil {
		return err
	}
	defer l.Close()
	path := l.probe.path
	switch l.backend.Name() {
	case "cpu":
	case "reference":
		path = "portable"
	default:
		return usageError("roofline takes a GPU's from its datasheet", "calibrate --bandwidth: measures processors, not backend %s", l.backend.Name())
	}
	m, err := measureRoofs(ctx, roofKeyOf(l.probe.threads, path))
	if err != nil {
		return err
	}
	file, err := app.storeRoofs(m)
	if err != nil {
		return err
	}
	out.Roofs, out.Files = &m.Roofs, append(out.Files, file)
	return nil
}

// equalRuns compares a backend with itself, run after run.
func (app *application) equalRuns(ctx context.Context, o calibrateOptions, source modelSource, plan compare.Plan) ([]*bench.File, error) {
	a, b, cleanup, err := twice(o.Engine)
	if err != nil {
		return nil, err
	}
	defer cleanup()
	s, err := app.openSides(ctx, a, b, source)
	if err != nil {
		return nil, err
	}
	defer s.Close()
	var files []*bench.File
	for i := range o.Runs {
		one := plan
		if i > 0 && !o.seeded {
			if one.Seed, err = secretSeed(); err != nil {
				return nil, err
			}
		}
		one.Seed += uint64(i) // a given seed: another one for each run
		app.term.say("calibrate: run %d of %d", i+1, o.Runs)
		m := measurement{app: app, command: "calibrate", sides: s, plan: one, secret: !o.seeded, bare: true}
		f, err := m.run(ctx, numbered(o.Raw, i), func(raw string) any { o := o; o.Raw = raw; return o })
		if err != nil {
			return nil, err
		}
		files = append(files, f)
	}
	return files, nil
}

// numbered is the raw file of run i: run.jsonl, run-2.jsonl, ...
func numbered(raw string, i int) string {
	if raw == "" || i == 0 {
		return raw
	}
	dir, name := filepath.Split(raw)
	stem, ext, _ := strings.Cut(name, ".")
	if ext != "" {
		ext = "." + ext
	}
	return fmt.Sprintf("%s%s-%d%s", dir, stem, i+1, ext)
}

// twice is one backend as two variants: a plug-in under two names, so that it is open twice.
func twice(o engineOptions) (a, b engineOptions, cleanup func(), err error) {
	a, b = o, o
	if isBuiltin(o.Backend) {
		return a, b, func() {}, nil
	}
	path, err := pluginPath(o.Backend)
	if err != nil {
		return a, b, nil, usageError("cpu and reference are built in; a plug-in is given as --backend PATH", "%w", err)
	}
	dir, err := os.MkdirTemp("", "lathe-calibrate-")
	if err != nil {
		return a, b, nil, fmt.Errorf("copy the plug-in: %w", err)
	}
	cleanup = func() { os.RemoveAll(dir) }
	data, err := os.ReadFile(path)
	b.Backend = filepath.Join(dir, filepath.Base(path))
	if err == nil {
		err = os.WriteFile(b.Backend, data, 0o700)
	}
	if err != nil {
		cleanup()
		return a, b, nil, fmt.Errorf("copy the plug-in: %w", err)
	}
	return a, b, cleanup, nil
}

// calibrateFrom makes calibrations of finished recordings.
func (app *application) calibrateFrom(ctx context.Context, o calibrateOptions) error {
	var files []*bench.File
	for _, path := range o.From {
		f, err := readRecording(ctx, path)
		if err != nil {
			return usageError("", "calibrate: %w", err)
		}
		files = append(files, f)
	}
	out := calibrated{Floors: []aaFloor{}, Files: []string{}, Raw: []string{}}
	if err := app.keepFloors(files, &out); err != nil {
		return err
	}
	return app.printCalibrated(out, o.Format)
}

// keepFloors judges recordings of equal variants and keeps a calibration a point.
func (app *application) keepFloors(files []*bench.File, out *calibrated) error {
	runs := map[aaKey][]compare.PointResult{}
	var order []aaKey
	from := map[aaKey][]string{}
	for _, f := range files {
		plan, err := compare.PlanOf(f)
		if err != nil {
			return usageError("", "calibrate: %w", err)
		}
		a, shared, err := equalVariants(plan)
		if err != nil {
			return err
		}
		r, err := compare.Judge(f)
		if err != nil {
			return usageError("", "calibrate: %w", err)
		}
		if !r.Complete {
			return usageError("", "calibrate: the recording is incomplete")
		}
		for i, p := range r.Points {
			k := aaKeyOf(f.Run.Host, a, shared, plan, plan.Points[i])
			if runs[k] == nil {
				order = append(order, k)
			}
			runs[k], from[k] = append(runs[k], p), append(from[k], f.SHA256)
		}
	}
	for _, k := range order {
		c, err := compare.Calibrate(runs[k])
		if err != nil {
			return &exitError{code: exitInvalid, err: err, hint: "lathe explain says what each check of a run said"}
		}
		kept := aaFloor{Key: k, Calibration: c, Date: utcNow(), MadeFrom: from[k]}
		file, err := app.storeFloor(kept)
		if err != nil {
			return err
		}
		out.Floors, out.Files = append(out.Floors, kept), append(out.Files, file)
	}
	return nil
}

// equalVariants refuses a comparison of different things.
func equalVariants(plan compare.Plan) (a compare.Variant, shared bool, err error) {
	var b compare.Variant
	if json.Unmarshal(plan.A, &a) != nil || json.Unmarshal(plan.B, &b) != nil {
		return a, false, usageError("", "calibrate: the recording does not say what its variants are")
	}
	shared = a.Backend.Path == b.Backend.Path
	x, y := a, b
	x.Backend.Path, y.Backend.Path = "", ""
	dataX, errX := json.Marshal(x)
	dataY, errY := json.Marshal(y)
	if errX != nil || errY != nil || !bytes.Equal(dataX, dataY) {
		return a, false, usageError("lathe calibrate --aa measures a backend against itself", "calibrate: the recording compares two different variants")
	}
	return a, shared, nil
}

// printCalibrated says what was found and where it is kept.
func (app *application) printCalibrated(out calibrated, format string) error {
	if format == "json" {
		e := json.NewEncoder(app.term.out)
		e.SetEscapeHTML(false)
		e.SetIndent("", "  ")
		return e.Encode(out)
	}
	if out.Roofs != nil {
		fmt.Fprintf(app.term.out, "bandwidth %.1f GB/s, compute %.1f GFLOP/s (%s)\n", out.Roofs.Bandwidth/1e9, out.Roofs.Compute/1e9, out.Roofs.Source)
	}
	if len(out.Floors) > 0 {
		w := tabwriter.NewWriter(app.term.out, 0, 0, 2, ' ', tabwriter.AlignRight)
		fmt.Fprintln(w, "phase\tbatch\tcontext\tA/A floor %\tthreshold %\truns\tepochs\talarms\tfalse alarms at most %\t")
		for _, f := range out.Floors {
			c := f.Calibration
			fmt.Fprintf(w, "%s\t%d\t%d\t%.3g\t%.3g\t%d\t%d\t%d\t%.3g\t\n", c.Phase, c.Batch, c.ContextLen, c.FloorPercent,
				max(0.5, 2*c.FloorPercent), c.Runs, c.Epochs, c.Alarms, c.FalseAlarmPercent)
		}
		if err := w.Flush(); err != nil {
			return err
		}
		fmt.Fprintln(app.term.out, "A/A floor: 95th percentile of the change between equal variants; below 20 runs estimated from the spread of all epochs.\n"+
			"threshold: what compare asks of a change here. false alarms: exact one-sided 95 % bound of their rate.")
	}
	for _, file := range out.Files {
		fmt.Fprintf(app.term.out, "kept: %s\n", file)
	}
	return nil
}
