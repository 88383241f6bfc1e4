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

// tolerance bounds how far a numeric path may lie from the float32 reference, in units of the
// standard deviation of a reference row: RMS of a row's differences (each row, and the median row),
// and the gap of the two best logits up to which a token may differ. C and D are the bounds of
// engine/testdata/golden/README.md over 4, the smallest deviation of the logits that they were
// measured on; A is rounder and wider, for models whose logits deviate less.
type tolerance struct {
	Class     string  `json:"class"`
	EachRMS   float64 `json:"each_relative_rms"`
	MedianRMS float64 `json:"median_relative_rms"`
	Gap       float64 `json:"relative_gap"`
}

// toleranceOf is the class of a path and KV type.
func toleranceOf(backend, path, kv string) tolerance {
	switch {
	case backend == "reference" || (path == "portable" && kv == "f32"):
		return tolerance{"A", 2e-4, 5e-5, 5e-4}
	case path == "portable" || path == "avx2" || path == "avx512":
		return tolerance{"C", 0.075, 0.0075, 0.025}
	}
	return tolerance{"D", 0.15, 0.02, 0.05}
}

const correctnessPrompts = 3

// correctness is the outcome of one prompt; its JSON is the detail of a Check record.
type correctness struct {
	Prompt       int       `json:"prompt"`
	PromptLen    int       `json:"prompt_len"`
	CutLen       int       `json:"cut_len"`
	Steps        int       `json:"steps"`
	Largest      float64   `json:"largest_logit_difference"`
	EachRMS      float64   `json:"largest_relative_rms"`
	MedianRMS    float64   `json:"median_relative_rms"`
	TokensEqual  int       `json:"tokens_equal"`
	FirstWrong   *int      `json:"first_wrong_step"` // a token that differs beyond the gap
	NonFinite    *int      `json:"non_finite_step"`  // a logit that is no finite number
	Tolerance    tolerance `json:"tolerance"`
	ReferenceIDs []int32   `json:"reference_ids"`
}

func (c correctness) ok() bool {
	return c.NonFinite == nil && c.EachRMS <= c.Tolerance.EachRMS && c.MedianRMS <= c.Tolerance.MedianRMS && c.FirstWrong == nil
}

// correctnessTest generates with the reference backend and feeds the same tokens to the backend under
// test, which takes the prompt in chunks of --cut-len rows and every further token as a decode step.
// A difference beyond the path's class ends the command as invalid.
func (app *application) correctnessTest(ctx context.Context, o oneBatchOptions, l *loadedModel) error {
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
	length, outputs := min(o.InputLen[0], l.source.config.MaxPosition-o.OutputLen[0]), o.OutputLen[0]
	if length < 1 {
		return usageError("", "--correctness-test: output of %d tokens: the model has %d positions", outputs, l.source.config.MaxPosition)
	}
	run, err := app.header("bench one-batch", o, o.plan(l.source, nil).Workload(), l)
	if err != nil {
		return err
	}
	rec, err := app.startRecording(run, o.Raw, false)
	if err != nil {
		return err
	}
	failed := 0
	for i, prompt := range step.RandomPrompts(uint64(o.Engine.Seed), correctnessPrompts, length, l.source.config.Vocab) {
		if err = ctx.Err(); err != nil {
			break
		}
		var c correctness
		if c, err = compareWithReference(ref, l, prompt, outputs, o.CutLen); err != nil {
			break
		}
		c.Prompt = i
		if !c.ok() {
			failed++
		}
		if err = app.reportCorrectness(rec, c); err != nil {
			break
		}
	}
	if err = rec.finish(ctx, err); err != nil {
		return err
	}
	fmt.Fprintf(app.term.out, "raw: %s\n", rec.writer.Path())
	if failed > 0 {
		return &exitError{code: exitInvalid, err: fmt.Errorf("correctness test: backend %s differs from the reference beyond its class in %d of %d prompts",
			l.backend.Name(), failed, correctnessPrompts)}
	}
	return nil
}

func (app *application) reportCorrectness(rec *recording, c correctness) error {
	verdict := "ok"
	switch {
	case c.NonFinite != nil:
		verdict = fmt.Sprintf("NOT FINITE at step %d", *c.NonFinite)
	case !c.ok():
		verdict = "DIFFERS"
	}
	fmt.Fprintf(app.term.out, "prompt %d: %s: %d tokens in chunks of %d, %d steps: %d tokens equal, largest logit difference %.3g, relative row RMS median %.3g (allowed %.3g) largest %.3g (allowed %.3g), class %s\n",
		c.Prompt, verdict, c.PromptLen, c.CutLen, c.Steps, c.TokensEqual, c.Largest, c.MedianRMS, c.Tolerance.MedianRMS, c.EachRMS, c.Tolerance.EachRMS, c.Tolerance.Class)
	detail, err := json.Marshal(c)
	if err != nil {
		return fmt.Errorf("record the correctness test: %w", err)
	}
	return rec.Write(bench.Check{Kind: bench.KindCheck, Name: "correctness", OK: c.ok(), Detail: detail})
}

// compareWithReference runs one prompt on both and compares every step's logits.
func compareWithReference(ref, l *loadedModel, prompt []int32, outputs, cut int) (correctness, error) {
	want, err := ref.model.NewEngine(ref.engineOptions(1, len(prompt)+outputs))
	if err != nil {
		return correctness{}, err
	}
	defer want.Close()
	options := l.engineOptions(1, len(prompt)+outputs)
	options.ChunkRows = cut
	got, err := l.model.NewEngine(options)
	if err != nil {
		return correctness{}, err
	}
	defer got.Close()
	c := correctness{PromptLen: len(prompt), CutLen: cut, Steps: outputs,
		Tolerance: toleranceOf(l.backend.Name(), got.Path(), options.KV.String())}
	a, b := make([]float32, l.source.config.Vocab), make([]float32, l.source.config.Vocab)
	var rms []float64
	for i := range outputs {
		err := stepBoth(i, want, got, prompt, outputs)
		if errors.Is(err, native.ErrNonFinite) {
			c.NonFinite = &i
			break
		}
		if err != nil {
			return c, err
		}
		if err := want.Logits(0, a); err != nil {
			return c, err
		}
		if err := got.Logits(0, b); err != nil {
			return c, err
		}
		if slices.ContainsFunc(b, func(v float32) bool { return math.IsNaN(float64(v)) || math.IsInf(float64(v), 0) }) {
			c.NonFinite = &i
			break
		}
		rms = append(rms, c.compare(i, a, b, want.Tokens()[0] == got.Tokens()[0]))
		c.ReferenceIDs = append(c.ReferenceIDs, want.Tokens()[0])
		got.Force(want.Tokens())
	}
	if slices.Sort(rms); len(rms) > 0 {
		c.EachRMS, c.MedianRMS = rms[len(rms)-1], rms[(len(rms)-1)/2]
	}
	return c, nil
}

func stepBoth(i int, want, got *engine.Engine, prompt []int32, outputs int) error {
	for _, e := range []*engine.Engine{want, got} {
		if i == 0 {
			if err := e.Begin([][]int32{prompt}, outputs); err != nil {
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

// compare notes one row: a is the reference's, b the other's. It returns the RMS of the differences
// over the standard deviation of a.
func (c *correctness) compare(step int, a, b []float32, same bool) float64 {
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
