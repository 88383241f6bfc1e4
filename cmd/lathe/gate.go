package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"

	"lathe/bench"
	"lathe/bench/gate"
	"lathe/bench/report"
	"lathe/bench/roofline"
	"lathe/bench/step"
	"lathe/engine/llama"
)

// runGate does gate run: measure, judge, measure again what missed, judge all.
func runGate(ctx context.Context, app *application, o gateRunOptions) error {
	bounds, err := readBounds(o.Bounds)
	if err != nil {
		return err
	}
	source, err := resolveModel(o.Engine.Model, o.Engine.LoadFormat, app.dryRun)
	if err != nil {
		return err
	}
	plan, points, err := o.plan(bounds, source)
	if err != nil {
		return err
	}
	if app.dryRun {
		return app.printPlan(o.Engine, source, points, plan.Work)
	}
	l, err := app.loadModel(ctx, o.Engine, source)
	if err != nil {
		return err
	}
	defer l.Close()
	var runs []gate.Run
	var r gate.Report
	for i := 0; ; i++ {
		f, err := app.gateMeasure(ctx, o, l, plan, points, numbered(o.Raw, i))
		if err != nil {
			return err
		}
		runs = append(runs, gate.Measure(f, report.RawPath(f), floorsOf(source.config)))
		r = gate.Check(bounds, runs, o.judging())
		missed := r.Unconfirmed()
		if len(missed) == 0 || i == o.Confirm {
			break
		}
		app.term.say("gate: %d keys missed their bound: measured again (%d of %d)", len(missed), i+1, o.Confirm)
		points = slices.DeleteFunc(slices.Clone(points), func(p step.Point) bool { return !slices.ContainsFunc(missed, isOf(p)) })
	}
	return app.gateOutcome(r, o.gateOptions)
}

// isOf says whether a key is of a point.
func isOf(p step.Point) func(gate.Key) bool {
	return func(k gate.Key) bool {
		return k.Batch == p.Batch && k.ContextLen == p.InputLen && (k.OutputLen == nil || *k.OutputLen == p.OutputLen)
	}
}

// plan is what is measured: the points that are given, or those of the bounds of this model.
func (o *gateRunOptions) plan(b gate.Bounds, m modelSource) (step.Plan, []step.Point, error) {
	p := step.DefaultPlan()
	p.PrefillReps, p.Seed = o.PrefillReps, uint64(o.Engine.Seed)
	p.Model, p.Vocab, p.MaxPositions = m.identity, m.config.Vocab, m.config.MaxPosition
	p.BatchSizes, p.InputLens, p.OutputLens = o.BatchSize, o.InputLen, o.OutputLen
	var wanted []gate.Key
	if len(o.BatchSize) == 0 {
		for _, x := range b.Bounds {
			if k := x.Key; k.Model == m.identity {
				wanted = append(wanted, k)
				p.BatchSizes, p.InputLens = withNumber(p.BatchSizes, k.Batch), withNumber(p.InputLens, k.ContextLen)
				if k.OutputLen != nil {
					p.OutputLens = withNumber(p.OutputLens, *k.OutputLen)
				}
			}
		}
		if len(wanted) == 0 {
			return p, nil, &exitError{code: exitInvalid, err: fmt.Errorf("gate run: %s has no bound of model %s", o.Bounds, m.identity),
				hint: "--batch-size, --input-len and --output-len say what to measure; lathe gate propose makes bounds of recordings"}
		}
	}
	if len(p.OutputLens) == 0 {
		p.OutputLens = []int{33}
	}
	p.StepsWarmup = min(32, p.OutputLens[0])
	if o.StepsWarmup >= 0 {
		p.StepsWarmup = o.StepsWarmup
	}
	if err := p.Validate(); err != nil {
		return p, nil, usageError("", "%w", err)
	}
	points := p.Points()
	if wanted != nil {
		points = slices.DeleteFunc(points, func(p step.Point) bool { return !slices.ContainsFunc(wanted, isOf(p)) })
	}
	return p, points, nil
}

// withNumber adds a number that is not there yet.
func withNumber(list []int, n int) []int {
	if slices.Contains(list, n) {
		return list
	}
	return append(list, n)
}

// gateMeasure measures the points in fresh sessions into a raw file and reads it back.
func (app *application) gateMeasure(ctx context.Context, o gateRunOptions, l *loadedModel, plan step.Plan, points []step.Point, raw string) (*bench.File, error) {
	if raw == "" {
		raw = defaultRawPath("gate run", utcNow())
	}
	o.Raw = raw
	run, err := app.header("gate run", o, plan.Workload(), l)
	if err != nil {
		return nil, err
	}
	rec, err := app.startRecording(run, raw, false)
	if err != nil {
		return nil, err
	}
	if err := l.recordKernels(rec); err != nil {
		return nil, rec.finish(ctx, err)
	}
	for _, w := range l.warnings {
		app.term.warn("%s", w)
	}
	done := 0
	watch := app.watch(l, rec.clock)
	defer watch.close()
	rig := step.Rig{Fits: l.fits, Open: l.opener(), Recorder: rec, Clock: rec.clock}
	rig.Annotate = watch.annotate
	rig.Events.Start = func(p step.Point) { app.term.showProgress(done, len(points), p.String()) }
	rig.Events.Done = func(p bench.Point) {
		done++
		rec.take(p.Point)
	}
	_, err = step.OneBatch(ctx, rig, plan, points)
	app.term.clearProgress()
	if err = rec.finish(ctx, err); err != nil {
		return nil, err
	}
	app.term.say("raw: %s", raw)
	return bench.ReadFile(raw)
}

// floorsOf gives the least possible time of a key by the datasheet of its device.
func floorsOf(c llama.Config) func(gate.Key) (float64, bool) {
	return func(k gate.Key) (float64, bool) {
		r, ok := roofline.Quoted(k.Device)
		if !ok || r.CacheBytes == 0 {
			return 0, false
		}
		if r.Ceiling > r.Compute {
			r.Compute = r.Ceiling
		}
		kv := 2
		if strings.HasSuffix(k.DType, "kv f32") {
			kv = 4
		}
		w := roofline.Prefill(c, k.Batch, k.ContextLen, kv)
		if k.Phase == bench.Decode {
			w = roofline.Decode(c, k.Batch, k.ContextLen+1, kv) // the shortest of its steps
		}
		f, ok := r.Floor(w)
		if !ok || f.Limit == roofline.LimitMemory && float64(w.Bytes()) <= coldFactor*float64(r.CacheBytes) {
			return 0, false
		}
		return f.OneRoofNS, true
	}
}

// readBounds reads a bounds file.
func readBounds(path string) (gate.Bounds, error) {
	f, err := os.Open(path)
	if err != nil {
		return gate.Bounds{}, usageError("lathe gate propose RAW... --out FILE makes bounds", "read bounds: %w", err)
	}
	defer f.Close()
	b, err := gate.ReadBounds(f, path)
	if err != nil {
		return b, usageError("", "%w", err)
	}
	return b, nil
}

// gateOutcome prints a judgement, writes it for the CI server, and is the exit code.
func (app *application) gateOutcome(r gate.Report, o gateOptions) error {
	app.gateDoubts(&r)
	if err := report.Gate(app.term.out, r, o.Format); err != nil {
		return err
	}
	if o.JUnit != "" {
		if err := writeFile(o.JUnit, r.JUnit); err != nil {
			return usageError("--junit names another place", "write JUnit: %w", err)
		}
	}
	if path := app.env(envSummary); path != "" {
		if err := appendFile(path, r.Markdown()+"\n"); err != nil {
			app.term.warn("%s: %v", envSummary, err)
		}
	}
	return verdict(r.Outcome.ExitCode())
}

// gateDoubts says where a limit lies within the noise floor that is known of its key.
func (app *application) gateDoubts(r *gate.Report) {
	stored := app.storedFloors()
	for _, c := range r.Cases {
		if c.Bound == nil {
			continue
		}
		distance := c.Bound.UpperNS/c.Bound.MedianNS - 1
		if floor, ok := gateFloor(stored, c.Key); ok && distance < floor {
			r.Warnings = append(r.Warnings, fmt.Sprintf("%s: the limit of +%.2g %% lies within this machine's A/A floor of %.2g %%: expect false alarms",
				c.Key, 100*distance, 100*floor))
		}
	}
}

// writeFile writes a file whole.
func writeFile(path string, write func(io.Writer) error) error {
	f, err := os.Create(path)
	if err != nil {
		return err
	}
	err = write(f)
	if closed := f.Close(); err == nil {
		err = closed
	}
	return err
}

// appendFile adds text to a file.
func appendFile(path, text string) error {
	f, err := os.OpenFile(path, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o666)
	if err != nil {
		return err
	}
	_, err = f.WriteString(text)
	if closed := f.Close(); err == nil {
		err = closed
	}
	return err
}
