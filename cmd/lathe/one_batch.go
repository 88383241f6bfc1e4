package main

import (
	"context"
	"fmt"
	"strings"

	"lathe/bench"
	"lathe/bench/metric"
	"lathe/bench/report"
	"lathe/bench/step"
)

// runOneBatch does the command: plan, load, measure point by point, report from the raw file.
func runOneBatch(ctx context.Context, app *application, o oneBatchOptions) error {
	source, err := resolveModel(o.Engine.Model, o.Engine.LoadFormat, app.dryRun)
	if err != nil {
		return err
	}
	file, err := readPromptFile(ctx, o.PromptFilename)
	if err != nil {
		return err
	}
	plan := o.plan(source, file)
	if err := plan.Validate(); err != nil {
		return usageError("", "%w", err)
	}
	if app.dryRun {
		return app.printPlan(o.Engine, source, plan.Points(), plan.Work)
	}
	read, err := o.encodePrompts(source, file)
	if err != nil {
		return err
	}
	l, err := app.loadModel(ctx, o.Engine, source)
	if err != nil {
		return err
	}
	defer l.Close()
	if o.CorrectnessTest {
		if len(o.untimed) > 0 {
			app.term.warn("--correctness-test: without effect, as nothing is timed: %s", strings.Join(o.untimed, ", "))
		}
		return app.correctnessTest(ctx, o, l, plan, read)
	}
	rows, err := openRows(o.ResultFilename, o.RunName)
	if err != nil {
		return err
	}
	defer rows.Close()
	return app.sweep(ctx, o, l, plan, fitted(read), rows)
}

// plan is what the flags ask the loop for, with the prompts of a file or, nil, random ones.
func (o *oneBatchOptions) plan(m modelSource, file *promptFile) step.Plan {
	p := step.DefaultPlan()
	p.BatchSizes, p.InputLens, p.OutputLens = o.BatchSize, o.InputLen, o.OutputLen
	p.PrefillReps, p.Seed = o.PrefillReps, uint64(o.Engine.Seed)
	if o.StepsWarmup >= 0 {
		p.StepsWarmup = o.StepsWarmup
	} else {
		p.StepsWarmup = min(32, o.OutputLen[0])
	}
	p.NoSync = o.NoSync
	p.Model, p.Vocab, p.MaxPositions = m.identity, m.config.Vocab, m.config.MaxPosition
	if file != nil {
		p.Dataset = "file " + file.identity
	}
	if o.ShuffleCells >= 0 {
		seed := uint64(o.ShuffleCells)
		p.ShuffleCells = &seed
	}
	return p
}

// encodePrompts gives the prompts of a file as ids; nil without one: random ids.
func (o *oneBatchOptions) encodePrompts(m modelSource, file *promptFile) ([][]int32, error) {
	if file == nil {
		return nil, nil
	}
	tok, err := openTokenizer(o.Engine, m)
	if err != nil {
		return nil, err
	}
	defer tok.Close()
	return file.encode(tok)
}

// fitted fits the prompts of a file to a point; nil for random ones.
func fitted(read [][]int32) func(step.Point) ([][]int32, error) {
	if read == nil {
		return nil
	}
	return func(p step.Point) ([][]int32, error) {
		fitted, err := step.FitBatch(read, p.Batch)
		for i, ids := range fitted {
			fitted[i] = ids[:min(len(ids), p.InputLen)]
		}
		return fitted, err
	}
}

// sweep measures the points and says what was found.
func (app *application) sweep(ctx context.Context, o oneBatchOptions, l *loadedModel, plan step.Plan,
	prompts func(step.Point) ([][]int32, error), rows *rowFile) error {
	run, err := app.header("bench one-batch", o, plan.Workload(), l)
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
		if err := rows.catchUp(rec.before); err != nil {
			return rec.finish(ctx, err)
		}
	}
	for _, w := range l.warnings {
		app.term.warn("%s", w)
	}
	total, done := len(points), 0
	watch := app.watch(l, rec.clock)
	defer watch.close()
	rig := step.Rig{Fits: l.fits, Open: l.opener(), Recorder: rec, Clock: rec.clock, Prompts: prompts}
	rig.Annotate = watch.annotate
	rig.Events.Start = func(p step.Point) { app.term.showProgress(done, total, p.String()) }
	var late error // the first result row that could not be written
	rig.Events.Done = func(p bench.Point) {
		done++
		app.term.clearProgress()
		late = app.pointDone(o, rec.take(p.Point), rows, late)
	}
	tally, err := step.OneBatch(ctx, rig, plan, points)
	if err == nil {
		err = late
	}
	err = rec.finish(ctx, err)
	if shown := app.showRaw(rec.writer.Path()); err == nil {
		err = shown
	}
	if err == nil {
		err = judgeTally("bench one-batch", tally, total)
	}
	return err
}

// nothingLeft says that a raw file is of this run, whole and complete, so that resuming it must not
// touch it.
func nothingLeft(path string, run bench.Run, plan step.Plan) bool {
	f, err := bench.ReadFile(path)
	if err != nil || !f.Complete() || len(f.Warnings) > 0 || bench.Resumable(f.Run, run, resumeExcept()...) != nil {
		return false
	}
	return len(step.Remaining(f.Points, plan)) == 0
}

// pointDone prints SGLang's lines of a point and appends its result row. Figures come from the
// records just written.
func (app *application) pointDone(o oneBatchOptions, f *bench.File, rows *rowFile, late error) error {
	for _, p := range metric.Points(f) {
		fmt.Fprintf(app.term.out, "Benchmark. batch size: %d, input len: %d, output len: %d\n", p.Batch, p.InputLen, p.OutputLen)
		for _, line := range report.OneBatchLines(p, o.LogDecodeStep) {
			fmt.Fprintln(app.term.out, line)
		}
	}
	if err := rows.append(f); err != nil && late == nil {
		return err
	}
	return late
}

// showRaw prints the report of the raw file as `lathe report` would, and its path last.
func (app *application) showRaw(path string) error {
	f, err := bench.ReadFile(path)
	if err != nil {
		return err
	}
	fmt.Fprintln(app.term.out)
	if err := report.Text(app.term.out, f); err != nil {
		return err
	}
	fmt.Fprintf(app.term.out, "raw: %s\n", path)
	return nil
}

// judgeTally turns a sweep's points into the command's end: a failed point is an error, a skipped
// one is not, unless nothing was measured at all.
func judgeTally(command string, t step.Tally, total int) error {
	switch {
	case t.Failed > 0:
		return usageError("the rows and the report give the reasons", "%s: %d of %d points failed", command, t.Failed, total)
	case t.OK == 0 && total > 0:
		return usageError("the rows and the report give the reasons", "%s: every point was skipped", command)
	}
	return nil
}
