package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"slices"

	"lathe/bench"
	"lathe/bench/compare"
	"lathe/bench/step"
	"lathe/engine/native"
)

// logitsEngine is what a numeric check needs beside the loop's engine.
type logitsEngine interface {
	step.Engine
	Logits(sequence int, out []float32) error
	Force(tokens []int32)
}

const (
	checkSteps      = 4   // decode steps of a numeric check
	referenceTokens = 24  // prompt of the check against the reference
	referenceMost   = 1e9 // parameters up to which the plain reference is fast enough to be asked
)

// sideCheck compares the outputs of both variants before and after each epoch's timing, each time
// with inputs that nobody has seen before, and once with the reference backend.
type sideCheck struct {
	sides   *sides
	plan    compare.Plan
	rows    [2][]float32      // one row of logits of each side
	before  []compare.Finding // what the check against the reference found, once
	checked bool
}

// outputsDetail is what one check saw; it stands in the raw file.
type outputsDetail struct {
	Seed        uint64          `json:"seed"` // of its prompts, drawn for this check
	Rows        int             `json:"rows"`
	PromptLen   int             `json:"prompt_len"`
	Steps       int             `json:"steps"`
	Largest     float64         `json:"largest_logit_difference"`
	EachRMS     float64         `json:"largest_relative_rms"`
	MedianRMS   float64         `json:"median_relative_rms"`
	TokensEqual int             `json:"tokens_equal"`
	Beyond      int             `json:"tokens_beyond_gap"` // rows whose tokens differ, further apart than the gap
	Tolerance   bench.Tolerance `json:"tolerance"`
}

// check is a compare.Rig's Check.
func (c *sideCheck) check(_ context.Context, when compare.Moment, _ int, v compare.Visit, pair compare.Pair) ([]compare.Finding, error) {
	var found []compare.Finding
	if !c.checked {
		c.checked = true
		var err error
		if c.before, err = c.reference(compare.Before); err != nil {
			return nil, err
		}
	}
	if when == compare.Before {
		found = append(found, c.before...)
	}
	a, okA := pair.A.(logitsEngine)
	b, okB := pair.B.(logitsEngine)
	if !okA || !okB {
		return found, nil
	}
	one, err := c.outputs(v.Point, a, b)
	if err != nil {
		return found, err
	}
	return append(found, one), nil
}

// outputs runs the point's own shape on both and compares the logits of every row.
func (c *sideCheck) outputs(pt compare.Point, a, b logitsEngine) (compare.Finding, error) {
	f := compare.Finding{Name: "outputs"}
	seed, err := secretSeed()
	if err != nil {
		return f, err
	}
	vocab := c.plan.Vocab
	for i := range c.rows {
		if c.rows[i] == nil {
			c.rows[i] = make([]float32, vocab)
		}
	}
	d := outputsDetail{Seed: seed, Rows: pt.Batch, PromptLen: pt.ContextLen, Tolerance: c.tolerance()}
	steps := min(checkSteps, c.plan.NewTokens(pt)-1)
	prompts := step.RandomPrompts(seed, pt.Batch, pt.ContextLen, vocab)
	var rms []float64
	for i := 0; i <= steps && f.Reason == ""; i++ {
		for n, e := range []logitsEngine{a, b} {
			err := oneStep(e, i, prompts, c.plan.NewTokens(pt))
			if errors.Is(err, native.ErrNonFinite) {
				f.Reason = fmt.Sprintf("variant %s: %v", [...]string{compare.VariantA, compare.VariantB}[n], err)
				break
			}
			if err != nil {
				return f, err
			}
		}
		if f.Reason != "" {
			break
		}
		d.Steps = i
		for row := range pt.Batch {
			rms = append(rms, c.row(&d, row, a, b)...)
		}
		b.Force(a.Tokens())
	}
	d.judge(&f, rms)
	f.Detail, err = json.Marshal(d)
	return f, err
}

// oneStep is the prefill, or the i-th decode step, and its Wait.
func oneStep(e step.Engine, i int, prompts [][]int32, tokens int) error {
	if i > 0 {
		if err := e.Decode(); err != nil {
			return err
		}
		return e.Wait()
	}
	if err := e.Begin(prompts, tokens); err != nil {
		return err
	}
	if err := e.Prefill(); err != nil {
		return err
	}
	return e.Wait()
}

// row compares one row of logits; nothing where the last submit did not hold it on both sides: a
// prefill in several chunks keeps the rows of the last one.
func (c *sideCheck) row(d *outputsDetail, row int, a, b logitsEngine) []float64 {
	if a.Logits(row, c.rows[0]) != nil || b.Logits(row, c.rows[1]) != nil {
		return nil
	}
	k := bench.Correctness{Tolerance: d.Tolerance}
	rms := compareLogits(&k, d.Steps, c.rows[0], c.rows[1], a.Tokens()[row] == b.Tokens()[row])
	d.Largest, d.TokensEqual = max(d.Largest, k.Largest), d.TokensEqual+k.TokensEqual
	if k.FirstWrong != nil {
		d.Beyond++
	}
	return []float64{rms}
}

// judge turns what was seen into the finding.
func (d *outputsDetail) judge(f *compare.Finding, rms []float64) {
	slices.Sort(rms)
	if n := len(rms); n > 0 {
		d.EachRMS, d.MedianRMS = rms[n-1], rms[(n-1)/2]
	}
	switch t := d.Tolerance; {
	case f.Reason != "":
	case len(rms) == 0:
		f.Reason = "no row of logits could be read on both sides"
	case math.IsNaN(d.EachRMS + d.Largest):
		f.Reason = "a logit is not finite"
	case d.EachRMS > t.EachRMS || d.MedianRMS > t.MedianRMS:
		f.Reason = fmt.Sprintf("A and B differ: relative RMS of a row of logits %.3g (allowed %.3g), of the median row %.3g (allowed %.3g)",
			d.EachRMS, t.EachRMS, d.MedianRMS, t.MedianRMS)
	case d.Beyond > 0:
		f.Reason = fmt.Sprintf("A and B choose different tokens in %d of %d rows, further apart than rounding explains", d.Beyond, len(rms))
	}
	f.OK = f.Reason == ""
}

// tolerance is how far A and B may be apart: each within its class of the reference.
func (c *sideCheck) tolerance() bench.Tolerance {
	a, b := c.sides.a.model.class(), c.sides.b.model.class()
	return bench.Tolerance{Class: a.Class + "+" + b.Class, EachRMS: a.EachRMS + b.EachRMS, MedianRMS: a.MedianRMS + b.MedianRMS, Gap: a.Gap + b.Gap}
}

// class is the numeric class of the path that a model runs on.
func (l *loadedModel) class() bench.Tolerance {
	return toleranceOf(l.backend.Name(), l.probe.path, l.engineOptions(1, 1).KV.String())
}

// needsReference says whether a side is held against the reference too: all but this binary's own
// backends as they are, which its tests hold.
func (s *side) needsReference() bool {
	return s.model != nil && (!isBuiltin(s.options.Backend) || s.kernels.needsTesting())
}

// reference runs a short secret prompt on the reference backend and on each side that needs it.
func (c *sideCheck) reference(when compare.Moment) ([]compare.Finding, error) {
	var found []compare.Finding
	if c.sides.withoutReference() != "" {
		return nil, nil
	}
	var ref *loadedModel
	for i, one := range []*side{c.sides.a, c.sides.b} {
		if !one.needsReference() {
			continue
		}
		name := [...]string{compare.VariantA, compare.VariantB}[i]
		if ref == nil {
			var err error
			if ref, err = c.sides.loadReference(); err != nil {
				return nil, fmt.Errorf("load the reference: %w", err)
			}
			defer ref.Close()
		}
		f, err := c.againstReference(ref, one)
		if err != nil {
			return nil, fmt.Errorf("variant %s against the reference: %w", name, err)
		}
		if f.Point, f.When = -1, when; !f.OK {
			f.Reason = "variant " + name + f.Reason
		}
		found = append(found, f)
	}
	return found, nil
}

// againstReference compares one side with the reference on a secret prompt.
func (c *sideCheck) againstReference(ref *loadedModel, one *side) (compare.Finding, error) {
	f := compare.Finding{Name: "reference"}
	seed, err := secretSeed()
	if err != nil {
		return f, err
	}
	length := min(referenceTokens, c.sides.source.config.MaxPosition-checkSteps)
	prompt := step.RandomPrompts(seed, 1, length, c.plan.Vocab)[0]
	k, err := compareWithReference(ref, one.model, prompt, checkSteps, length)
	if err != nil {
		return f, err
	}
	switch f.OK = k.OK(); {
	case k.NonFinite != nil:
		f.Reason = fmt.Sprintf(" gives a logit that is not finite at step %d", *k.NonFinite)
	case !f.OK:
		f.Reason = fmt.Sprintf(" differs from the reference: relative RMS of a row of logits %.3g (allowed %.3g), of the median row %.3g (allowed %.3g)",
			k.EachRMS, k.Tolerance.EachRMS, k.MedianRMS, k.Tolerance.MedianRMS)
	}
	f.Detail, err = json.Marshal(struct {
		Seed uint64 `json:"seed"`
		bench.Correctness
	}{seed, k})
	return f, err
}

// loadReference loads the model into the reference backend.
func (s *sides) loadReference() (*loadedModel, error) {
	backend, err := openBackend("reference")
	if err != nil {
		return nil, err
	}
	o := s.a.options
	o.Backend, o.Kernels, o.CPUISA, o.Device = "reference", nil, "", ""
	return loadInto(backend, o, s.source)
}

// withoutReference is why no side is held against the reference although one should be; "" where
// none needs it, or it can.
func (s *sides) withoutReference() string {
	if !s.a.needsReference() && !s.b.needsReference() {
		return ""
	}
	if n := s.source.config.Params(); n > referenceMost {
		return fmt.Sprintf("outputs of A and B are compared with each other only: the reference is too slow for %.1fe9 parameters", float64(n)/1e9)
	}
	held := float64(s.a.model.model.WeightBytes())
	if s.b.model != nil && !s.shared {
		held += float64(s.b.model.model.WeightBytes())
	}
	if err := fitsMemory(held+float64(s.source.config.WeightBytes(4)), s.a.options.MemFractionStatic); err != nil {
		return "outputs of A and B are compared with each other only: the reference does not fit beside them: " + err.Error()
	}
	return ""
}

// after holds the sides against the reference once more, when everything was timed, and records it.
func (c *sideCheck) after(rec *recording) error {
	failed := slices.ContainsFunc(c.before, func(f compare.Finding) bool { return !f.OK })
	if !c.checked || failed {
		return nil // nothing was timed
	}
	found, err := c.reference(compare.After)
	if err != nil {
		found = append(found, compare.Finding{Name: "reference", Point: -1, When: compare.After, Reason: err.Error()})
	}
	for _, f := range found {
		data, err := json.Marshal(f)
		if err != nil {
			return fmt.Errorf("record the check after timing: %w", err)
		}
		if err := rec.Write(bench.Check{Kind: bench.KindCheck, Name: compare.CheckFind, OK: f.OK, Detail: data}); err != nil {
			return err
		}
	}
	return nil
}
