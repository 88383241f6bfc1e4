package main

import (
	"context"
	"fmt"

	"lathe/bench"
	"lathe/bench/report"
	"lathe/bench/step"
)

// runLatency does the command: whole generations of one batch, then vLLM's lines and file.
func runLatency(ctx context.Context, app *application, o latencyOptions) error {
	source, err := resolveModel(o.Engine.Model, o.Engine.LoadFormat, app.dryRun)
	if err != nil {
		return err
	}
	plan := o.plan(source)
	if err := plan.Validate(); err != nil {
		return usageError("", "%w", err)
	}
	if app.dryRun {
		return app.printPlan(o.Engine, source, []step.Point{plan.Point()}, plan.Work)
	}
	out, err := openResult("--output-json", o.OutputJSON)
	if err != nil {
		return err
	}
	defer out.discard()
	l, err := app.loadModel(ctx, o.Engine, source)
	if err != nil {
		return err
	}
	defer l.Close()
	run, err := app.header("bench latency", o, plan.Workload(), l)
	if err != nil {
		return err
	}
	rec, err := app.startRecording(run, o.Raw, false)
	if err != nil {
		return err
	}
	if err := l.recordKernels(rec); err != nil {
		return rec.finish(ctx, err)
	}
	for _, w := range l.warnings {
		app.term.warn("%s", w)
	}
	watch := app.watch(l, rec.clock)
	defer watch.close()
	rig := step.Rig{Fits: l.fits, Open: l.opener(), Recorder: rec, Clock: rec.clock}
	rig.Annotate = watch.annotate
	all := plan.Warmup + plan.Iterations
	rig.Events.Iteration = func(it bench.Iteration) {
		n := it.Iteration + 1
		if !it.Warmup {
			n += plan.Warmup
		}
		app.term.showProgress(n, all, "iterations")
	}
	tally, err := step.Latency(ctx, rig, plan)
	app.term.clearProgress()
	err = rec.finish(ctx, err)
	if shown := app.showLatency(rec, out); err == nil {
		err = shown
	}
	if err == nil {
		err = judgeTally("bench latency", tally, 1)
	}
	return err
}

// plan is what the flags ask the loop for.
func (o *latencyOptions) plan(m modelSource) step.LatencyPlan {
	p := step.DefaultLatencyPlan()
	p.Batch, p.InputLen, p.OutputLen = o.BatchSize, o.InputLen, o.OutputLen
	p.Warmup, p.Iterations, p.Seed = o.NumItersWarmup, o.NumIters, uint64(o.Engine.Seed)
	p.NoSplit = o.NoSplit
	p.Model, p.Vocab, p.MaxPositions = m.identity, m.config.Vocab, m.config.MaxPosition
	return p
}

// showLatency prints vLLM's lines from the raw file, writes --output-json, and names the raw file.
func (app *application) showLatency(rec *recording, out *resultFile) error {
	f, err := bench.ReadFile(rec.writer.Path())
	if err != nil {
		return err
	}
	result, err := report.Latency(f)
	if err == nil {
		for _, line := range result.Lines() {
			fmt.Fprintln(app.term.out, line)
		}
		if out != nil && result.AvgLatency != nil {
			if err := out.commit(result.Write); err != nil {
				return err
			}
		}
	}
	return app.showRaw(rec.writer.Path())
}
