package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"slices"

	"lathe/bench"
	"lathe/bench/step"
	"lathe/engine"
	"lathe/engine/native"
)

// toleranceOf is the class of a path and KV type. C and D are the bounds of
// engine/testdata/golden/README.md over 4, the smallest deviation of the logits that they were
// measured on; A is rounder and wider, for models whose logits deviate less.
func toleranceOf(backend, path, kv string) bench.Tolerance {
	switch {
	case backend == "reference" || (path == "portable" && kv == "f32"):
		return bench.Tolerance{Class: "A", EachRMS: 2e-4, MedianRMS: 5e-5, Gap: 5e-4}
	case path == "portable" || path == "avx2" || path == "avx512":
		return bench.Tolerance{Class: "C", EachRMS: 0.075, MedianRMS: 0.0075, Gap: 0.025}
	}
	return bench.Tolerance{Class: "D", EachRMS: 0.15, MedianRMS: 0.02, Gap: 0.05}
}

// correctnessPrompts is the least number of random prompts a point is tested with.
const correctnessPrompts = 3

// correctnessTest is one run of --correctness-test.
type correctnessTest struct {
	app    *application
	o      oneBatchOptions
	l, ref *loadedModel
	file   [][]int32 // prompts of --prompt-filename; nil: random ones
	rec    *recording

	prompts, wrong int
	tally          step.Tally
}

// correctnessTest generates with the reference backend and feeds the same tokens to the backend under
// test, at every point that the flags ask for. A difference beyond the path's class ends the command
// as invalid.
func (app *application) correctnessTest(ctx context.Context, o oneBatchOptions, l *loadedModel, plan step.Plan, file [][]int32) error {
	backend, err := openBackend("reference")
	if err != nil {
		return err
	}
	ref, err := loadInto(backend, engineOptions{Model: o.Engine.Model, LoadFormat: o.Engine.LoadFormat, IgnoreIndex: o.Engine.IgnoreIndex, Backend: "reference", Seed: o.Engine.Seed,
		MemFractionStatic: o.Engine.MemFractionStatic, PageSize: o.Engine.PageSize, Threads: o.Engine.Threads}, l.source)
	if err != nil {
		return err
	}
	defer ref.Close()
	workload := plan.Workload()
	workload.Kind = bench.KindCorrectness
	run, err := app.header("bench one-batch", o, workload, l)
	if err != nil {
		return err
	}
	rec, err := app.startRecording(run, o.Raw, false)
	if err != nil {
		return err
	}
	t := &correctnessTest{app: app, o: o, l: l, ref: ref, file: file, rec: rec}
	points := plan.Points()
	for _, p := range points {
		if err = t.point(ctx, p); err != nil {
			break
		}
	}
	if err = rec.finish(ctx, err); err != nil {
		return err
	}
	fmt.Fprintf(app.term.out, "raw: %s\n", rec.writer.Path())
	if t.wrong > 0 {
		return &exitError{code: exitInvalid, err: fmt.Errorf("correctness test: backend %s differs from the reference beyond its class in %d of %d prompts",
			l.backend.Name(), t.wrong, t.prompts)}
	}
	return judgeTally("correctness test", t.tally, len(points))
}

// point tests one point and writes its checks and its line. An error ends the run; what is wrong with
// this point alone is its status.
func (t *correctnessTest) point(ctx context.Context, p step.Point) error {
	fmt.Fprintf(t.app.term.out, "Correctness. batch size: %d, input len: %d, output len: %d\n", p.Batch, p.InputLen, p.OutputLen)
	before, wrong := t.prompts, t.wrong
	err := t.groups(ctx, p)
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	line := bench.Point{Kind: bench.KindPoint, Point: p.ID, Status: bench.StatusOK, Batch: p.Batch, InputLen: p.InputLen, OutputLen: p.OutputLen}
	var skip *step.Skip
	switch {
	case t.rec.writer.Err() != nil:
		return t.rec.writer.Err()
	case errors.As(err, &skip):
		line.Status, line.Reason = bench.StatusSkipped, &skip.Reason
		t.tally.Skipped++
	case err != nil:
		line.Status, line.Reason = bench.StatusFailed, ptrTo(err.Error())
		t.tally.Failed++
	case t.wrong > wrong:
		line.Status = bench.StatusFailed
		line.Reason = ptrTo(fmt.Sprintf("%d of %d prompts differ from the reference beyond the class of the path", t.wrong-wrong, t.prompts-before))
	default:
		t.tally.OK++
	}
	if err != nil {
		fmt.Fprintf(t.app.term.out, "%s: %s\n", line.Status, oneLine(*line.Reason))
	}
	return t.rec.Write(line)
}

// groups runs a point's prompts, batch size at a time: all those of the file, or at least
// correctnessPrompts random ones. The last batch is filled up with its last prompt.
func (t *correctnessTest) groups(ctx context.Context, p step.Point) error {
	want, got, err := t.engines(p)
	if err != nil {
		return err
	}
	defer want.Close()
	defer got.Close()
	of := bench.Correctness{Steps: p.OutputLen, Tolerance: t.l.class()}
	if p.Batch == 1 {
		of.CutLen = &t.o.CutLen
	}
	prompts := t.file
	if prompts == nil {
		prompts = step.RandomPrompts(uint64(t.o.Engine.Seed), max(correctnessPrompts, p.Batch), p.InputLen, t.l.source.config.Vocab)
	}
	for first := 0; first < len(prompts); first += p.Batch {
		rows, err := step.FitBatch(prompts[first:], p.Batch)
		if err != nil {
			return err
		}
		for i, ids := range rows {
			rows[i] = ids[:min(len(ids), p.InputLen)]
		}
		checks, err := compareBatch(ctx, want, got, t.l.source.config.Vocab, of, rows)
		if err != nil {
			return err
		}
		for i, c := range checks[:min(p.Batch, len(prompts)-first)] {
			c.Prompt = first + i
			if err := t.report(p, c); err != nil {
				return err
			}
		}
	}
	return nil
}

// engines opens both for a point. A single prompt is taken in chunks of --cut-len rows; a batch
// whole, because of a prefill in chunks only the logits of the last one can be read.
func (t *correctnessTest) engines(p step.Point) (want, got *engine.Engine, err error) {
	open := func(l loadedModel, cut int) (*engine.Engine, error) {
		l.options.ChunkedPrefillSize = -1
		if cut > 0 {
			l.options.ChunkedPrefillSize = cut
		}
		if err := l.fits(p); err != nil {
			return nil, err
		}
		e, err := l.model.NewEngine(l.engineOptions(p.Batch, p.InputLen+p.OutputLen))
		if errors.Is(err, native.ErrMemory) {
			err = &step.Skip{Reason: "memory: " + err.Error()}
		}
		return e, err
	}
	if want, err = open(*t.ref, 0); err != nil {
		return nil, nil, err
	}
	cut := 0
	if p.Batch == 1 {
		cut = t.o.CutLen
	}
	if got, err = open(*t.l, cut); err != nil {
		want.Close()
	}
	return want, got, err
}

// compareWithReference runs one prompt on both, the backend under test in chunks of cut rows.
func compareWithReference(ref, l *loadedModel, prompt []int32, outputs, cut int) (bench.Correctness, error) {
	want, err := ref.model.NewEngine(ref.engineOptions(1, len(prompt)+outputs))
	if err != nil {
		return bench.Correctness{}, err
	}
	defer want.Close()
	options := l.engineOptions(1, len(prompt)+outputs)
	options.ChunkRows = cut
	got, err := l.model.NewEngine(options)
	if err != nil {
		return bench.Correctness{}, err
	}
	defer got.Close()
	checks, err := compareBatch(context.Background(), want, got, l.source.config.Vocab, bench.Correctness{CutLen: &cut, Steps: outputs, Tolerance: l.class()}, [][]int32{prompt})
	if err != nil {
		return bench.Correctness{}, err
	}
	return checks[0], nil
}

// compareBatch runs a batch on both and compares every row's logits at every step; what all rows have
// in common comes from of.
func compareBatch(ctx context.Context, want, got *engine.Engine, vocab int, of bench.Correctness, prompts [][]int32) ([]bench.Correctness, error) {
	rows := make([]rowCheck, len(prompts))
	for r, ids := range prompts {
		rows[r].c = of
		rows[r].c.PromptLen = len(ids)
	}
	a, b := make([]float32, vocab), make([]float32, vocab)
	for i := range of.Steps {
		if ctx.Err() != nil {
			return nil, context.Cause(ctx)
		}
		err := stepBoth(i, want, got, prompts, of.Steps)
		if errors.Is(err, native.ErrNonFinite) {
			for r := range rows {
				rows[r].c.NonFinite = &i // of which row is not told
			}
			break
		}
		if err != nil {
			return nil, err
		}
		for r := range rows {
			if err := errors.Join(want.Logits(r, a), got.Logits(r, b)); err != nil {
				return nil, err
			}
			rows[r].add(i, a, b, want.Tokens()[r], got.Tokens()[r])
		}
		got.Force(want.Tokens())
	}
	checks := make([]bench.Correctness, len(rows))
	for r := range rows {
		checks[r] = rows[r].done()
	}
	return checks, nil
}

func stepBoth(i int, want, got *engine.Engine, prompts [][]int32, outputs int) error {
	for _, e := range []*engine.Engine{want, got} {
		if i == 0 {
			if err := e.Begin(prompts, outputs); err != nil {
				return err
			}
			if err := e.Prefill(); err != nil {
				return err
			}
		} else if err := e.Decode(); err != nil {
			return err
		}
		if err := e.Wait(); err != nil {
			return err
		}
	}
	return nil
}

// report prints and records one prompt's check.
func (t *correctnessTest) report(p step.Point, c bench.Correctness) error {
	t.prompts++
	verdict := "ok"
	switch {
	case c.NonFinite != nil:
		verdict = fmt.Sprintf("NOT FINITE at step %d", *c.NonFinite)
	case !c.OK():
		verdict = "DIFFERS"
	}
	if !c.OK() {
		t.wrong++
	}
	how := "whole"
	if c.CutLen != nil {
		how = fmt.Sprintf("in chunks of %d", *c.CutLen)
	}
	fmt.Fprintf(t.app.term.out, "prompt %d: %s: %d tokens %s, %d steps: %d tokens equal, largest logit difference %.3g, relative row RMS median %.3g (allowed %.3g) largest %.3g (allowed %.3g), class %s\n",
		c.Prompt, verdict, c.PromptLen, how, c.Steps, c.TokensEqual, c.Largest, c.MedianRMS, c.Tolerance.MedianRMS, c.EachRMS, c.Tolerance.EachRMS, c.Tolerance.Class)
	detail, err := json.Marshal(c)
	if err != nil {
		return fmt.Errorf("record the correctness test: %w", err)
	}
	return t.rec.Write(bench.Check{Kind: bench.KindCheck, Name: bench.CheckCorrectness, OK: c.OK(), Point: &p.ID, Detail: detail})
}

// rowCheck gathers what one row's steps show.
type rowCheck struct {
	c   bench.Correctness
	rms []float64 // of each step
}

// add notes one step: a is the reference's row of logits, b the other's, want and got what they chose.
func (r *rowCheck) add(step int, a, b []float32, want, got int32) {
	if r.c.NonFinite != nil {
		return
	}
	if slices.ContainsFunc(b, func(v float32) bool { return math.IsNaN(float64(v)) || math.IsInf(float64(v), 0) }) {
		r.c.NonFinite = &step
		return
	}
	r.rms = append(r.rms, compareLogits(&r.c, step, a, b, want == got))
	r.c.ReferenceIDs = append(r.c.ReferenceIDs, want)
}

func (r *rowCheck) done() bench.Correctness {
	if slices.Sort(r.rms); len(r.rms) > 0 {
		r.c.EachRMS, r.c.MedianRMS = r.rms[len(r.rms)-1], r.rms[(len(r.rms)-1)/2]
	}
	return r.c
}

// compareLogits notes one row: a is the reference's, b the other's. It returns the RMS of the differences
// over the standard deviation of a.
func compareLogits(c *bench.Correctness, step int, a, b []float32, same bool) float64 {
	var mean, variance, square float64
	for _, v := range a {
		mean += float64(v) / float64(len(a))
	}
	best, second := math.Inf(-1), math.Inf(-1)
	for i, v := range a {
		d := float64(b[i]) - float64(v)
		c.Largest = max(c.Largest, math.Abs(d))
		square += d * d
		variance += (float64(v) - mean) * (float64(v) - mean)
		if x := float64(v); x > best {
			best, second = x, best
		} else {
			second = max(second, x)
		}
	}
	if same {
		c.TokensEqual++
	} else if spread := math.Sqrt(variance / float64(len(a))); best-second > c.Tolerance.Gap*spread && c.FirstWrong == nil {
		c.FirstWrong = &step
	}
	if variance == 0 {
		return 0
	}
	return math.Sqrt(square / variance)
}
