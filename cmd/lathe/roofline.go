package main

import (
	"context"
	"fmt"
	"runtime/debug"
	"slices"

	"lathe/bench"
	"lathe/bench/roofline"
	"lathe/bench/step"
)

// runRoofline does the command: plan, load, find the roofs, measure point by point, report from the
// raw file.
func runRoofline(ctx context.Context, app *application, o rooflineOptions) error {
	source, err := resolveModel(o.Engine.Model, o.Engine.LoadFormat, app.dryRun)
	if err != nil {
		return err
	}
	plan := o.plan(source)
	if err := plan.Validate(); err != nil {
		return usageError("", "%w", err)
	}
	if app.dryRun {
		return app.printPlan(o.Engine, source, plan.Points(), plan.Work)
	}
	l, err := app.loadModel(ctx, o.Engine, source)
	if err != nil {
		return err
	}
	defer l.Close()
	roofs, err := app.roofsFor(ctx, o, l)
	if err != nil {
		return err
	}
	return app.sweepRoofline(ctx, o, l, plan, roofs)
}

// plan is what the flags ask the loop for: one pass of Steps decode steps behind a prompt of each
// context.
func (o *rooflineOptions) plan(m modelSource) step.Plan {
	p := step.DefaultPlan()
	p.BatchSizes, p.InputLens, p.OutputLens = o.BatchSize, o.ContextLen, []int{o.Steps + 1}
	p.PrefillReps, p.Seed = o.PrefillReps, uint64(o.Engine.Seed)
	p.StepsWarmup = min(8, o.Steps)
	p.Model, p.Vocab, p.MaxPositions = m.identity, m.config.Vocab, m.config.MaxPosition
	if o.ShuffleCells >= 0 {
		seed := uint64(o.ShuffleCells)
		p.ShuffleCells = &seed
	}
	return p
}

// roofsFor are the ceilings that the sweep is compared with: the datasheet of a GPU, this
// processor's measured ones, and those that the user gives.
func (app *application) roofsFor(ctx context.Context, o rooflineOptions, l *loadedModel) ([]roofline.Roofs, error) {
	var roofs []roofline.Roofs
	if name := l.backend.Name(); name == "cpu" || name == "reference" {
		m, err := app.processorRoofs(ctx, l)
		if err != nil {
			return nil, err
		}
		roofs = append(roofs, m.Roofs)
	} else if quoted, ok := app.quotedRoofs(l.options.Device); ok {
		roofs = append(roofs, quoted)
	}
	if o.PeakGBs > 0 {
		roofs = append(roofs, roofline.Roofs{Kind: roofline.Given, Device: "as given", Compute: o.PeakTFLOPS * 1e12,
			Bandwidth: o.PeakGBs * 1e9, Source: "--peak-gbs and --peak-tflops"})
	}
	if len(roofs) == 0 {
		return nil, usageError("--peak-gbs and --peak-tflops give them", "roofline: the ceilings of this device are not in the table")
	}
	return roofs, nil
}

// processorRoofs are the measured ceilings of this processor, measured now where no run before did.
func (app *application) processorRoofs(ctx context.Context, l *loadedModel) (measuredRoofs, error) {
	path := l.probe.path
	if l.backend.Name() == "reference" {
		path = "portable" // plain float32 arithmetic, as the reference does it
	}
	key := roofKeyOf(l.probe.threads, path)
	if m, ok := app.storedRoofs(key); ok {
		return m, nil
	}
	app.term.say("measuring this machine's ceilings (once; lathe calibrate --bandwidth --compute measures them again)")
	m, err := measureRoofs(ctx, key)
	debug.FreeOSMemory() // what was read is no part of a point's peak memory
	if err != nil {
		return m, err
	}
	if _, err := app.storeRoofs(m); err != nil {
		app.term.warn("%s", err)
	}
	return m, nil
}

// quotedRoofs is the datasheet of the GPU with that index of CUDA; "" is the first.
func (app *application) quotedRoofs(device string) (roofline.Roofs, bool) {
	gpus := app.hostFacts().GPUs
	at := slices.IndexFunc(gpus, func(g bench.GPU) bool { return device == "" || fmt.Sprint(g.Index) == device })
	if at < 0 {
		return roofline.Roofs{}, false
	}
	return roofline.Quoted(gpus[at].Name)
}

// sweepRoofline measures the points and says what was found.
func (app *application) sweepRoofline(ctx context.Context, o rooflineOptions, l *loadedModel, plan step.Plan, roofs []roofline.Roofs) error {
	workload := plan.Workload()
	workload.Kind = "roofline"
	run, err := app.header("roofline", o, workload, l)
	if err != nil {
		return err
	}
	if o.Resume && nothingLeft(o.Raw, run, plan) {
		app.term.say("resume: every point is in %s", o.Raw)
		return app.showRaw(o.Raw)
	}
	rec, err := app.startRecording(run, o.Raw, o.Resume)
	if err != nil {
		return err
	}
	if err := l.recordKernels(rec); err != nil {
		return rec.finish(ctx, err)
	}
	points := plan.Points()
	if rec.before != nil {
		points = step.Remaining(rec.before.Points, plan)
		app.term.say("resume: %d of %d points are in %s", len(plan.Points())-len(points), len(plan.Points()), rec.writer.Path())
	}
	for _, w := range l.warnings {
		app.term.warn("%s", w)
	}
	total, done := len(points), 0
	watch := app.watch(l, rec.clock)
	defer watch.close()
	rig := step.Rig{Fits: l.fits, Open: l.openerWithWork(rec, o.Steps), Recorder: rec, Clock: rec.clock}
	rig.Annotate = watch.annotate
	rig.Events.Start = func(p step.Point) { app.term.showProgress(done, total, p.String()) }
	rig.Events.Done = func(p bench.Point) {
		done++
		app.term.clearProgress()
		rec.take(p.Point)
	}
	check, err := roofline.RecordRoofs(roofs)
	if err == nil {
		err = rec.Write(check)
	}
	var tally step.Tally
	if err == nil {
		tally, err = step.OneBatch(ctx, rig, plan, points)
	}
	err = rec.finish(ctx, err)
	if shown := app.showRaw(rec.writer.Path()); err == nil {
		err = shown
	}
	if err == nil {
		err = judgeTally("roofline", tally, total)
	}
	if err == nil {
		err = judgeLies(rec.writer.Path())
	}
	return err
}

// openerWithWork leaves a record of a point's work once its engine is open.
func (l *loadedModel) openerWithWork(rec step.Recorder, steps int) step.Opener {
	open := l.opener()
	return func(ctx context.Context, p step.Point) (step.Opened, error) {
		opened, err := open(ctx, p)
		if err != nil {
			return opened, err
		}
		work := roofline.PointWorkOf(l.source.config, p.Batch, p.InputLen, steps, l.engineOptions(1, 1).KV.Bytes())
		check, err := roofline.RecordWork(p.ID, work)
		if err == nil {
			err = rec.Write(check)
		}
		if err != nil {
			_ = opened.Close()
			return step.Opened{}, err
		}
		return opened, nil
	}
}

// judgeLies makes a file that proves its own measurement wrong invalid.
func judgeLies(path string) error {
	f, err := bench.ReadFile(path)
	if err != nil {
		return err
	}
	sheet, ok, err := roofline.Read(f)
	if err != nil || !ok || !sheet.Impossible() {
		return err
	}
	return &exitError{code: exitInvalid, err: fmt.Errorf("roofline: a time is below the datasheet's floor: the measurement is wrong, or work was not done")}
}
