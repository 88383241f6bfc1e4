package main

import (
	"context"
	"errors"
	"fmt"
	"os"

	"lathe/bench"
	"lathe/bench/compare"
	"lathe/bench/step"
	"lathe/engine"
	"lathe/engine/native"
	"lathe/engine/operator"
)

// side is one variant of a comparison: a backend, and the model in it.
type side struct {
	options engineOptions
	model   *loadedModel // nil where it does not fit beside the other
	kernels kernels
}

// sides are both variants. The same backend holds one set of weights for both; two backends hold two,
// which are loaded afresh in every epoch, so that where their pages lie is no part of the variant.
type sides struct {
	source   modelSource
	a, b     *side
	shared   bool
	tooBig   string // why both do not fit at once; "" where they do
	refused  string // a kernel that failed its check, with the reason; "" where all passed
	warnings []string
}

// openSides checks the kernels of both variants and loads both. Weights that do not fit twice are no
// error: every point is skipped for them; neither is a kernel that fails: nothing is timed with it.
func (app *application) openSides(ctx context.Context, a, b engineOptions, source modelSource) (*sides, error) {
	for _, o := range []*engineOptions{&a, &b} {
		if err := app.resolveDevice(o); err != nil {
			return nil, err
		}
	}
	s := &sides{source: source, a: &side{options: a}, b: &side{options: b}, shared: sameBackend(a.Backend, b.Backend)}
	if err := app.sideKernels(ctx, s); err != nil {
		return nil, err
	}
	err := s.load()
	if err != nil {
		s.Close()
		return nil, err
	}
	s.warnings = append(s.warnings, s.a.model.warnings...)
	if s.b.model != nil && !s.shared {
		s.warnings = append(s.warnings, s.b.model.warnings...)
	}
	return s, nil
}

// sideKernels checks and opens the kernels of both sides, each file once.
func (app *application) sideKernels(ctx context.Context, s *sides) error {
	known := map[kernelFlag]operator.Verdict{}
	for i, one := range []*side{s.a, s.b} {
		name := [...]string{compare.VariantA, compare.VariantB}[i]
		var err error
		if one.kernels, err = app.openKernels(ctx, one.options, s.source, known); err != nil {
			return err
		}
		if one.kernels.refused != "" {
			s.refused = "variant " + name + ": " + one.kernels.refused
		}
	}
	if s.refused != "" {
		s.a.kernels.overrides, s.b.kernels.overrides = nil, nil
	}
	return nil
}

// load loads the weights, once or twice, and puts the kernels in.
func (s *sides) load() (err error) {
	if s.a.model, err = loadPlain(s.a.options, s.source); err != nil {
		return err
	}
	if err = s.a.model.replace(s.a.kernels); err != nil {
		return err
	}
	if s.shared {
		s.b.model = s.a.model.with(s.b.options)
		s.b.model.kernels = s.b.kernels
		return s.b.model.tryEngine()
	}
	return s.loadSecond()
}

// sameBackend says whether two names are one backend, so that one set of weights serves both.
func sameBackend(a, b string) bool {
	if a == b {
		return true
	}
	if isBuiltin(a) || isBuiltin(b) {
		return false
	}
	pathA, errA := pluginPath(a)
	pathB, errB := pluginPath(b)
	if errA != nil || errB != nil {
		return false
	}
	x, errA := os.Stat(pathA)
	y, errB := os.Stat(pathB)
	return errA == nil && errB == nil && os.SameFile(x, y)
}

func isBuiltin(name string) bool { return name == "cpu" || name == "reference" }

// with is the same weights with other engine options.
func (l *loadedModel) with(o engineOptions) *loadedModel {
	other := *l
	other.options = o
	return &other
}

// loadSecond loads B beside A.
func (s *sides) loadSecond() error {
	backend, err := openBackend(s.b.options.Backend)
	if err != nil {
		return err
	}
	need := float64(s.a.model.model.WeightBytes()) + float64(s.source.config.WeightBytes(2))
	if err := fitsMemory(need, s.a.model.fraction()); err != nil {
		s.tooBig = "memory: two variants: weights twice: " + err.Error()
		return nil
	}
	s.b.model, err = loadInto(backend, s.b.options, s.source)
	if errors.Is(err, native.ErrMemory) {
		s.tooBig = "memory: two variants: " + err.Error()
		return nil
	}
	if err != nil {
		return err
	}
	return s.b.model.replace(s.b.kernels)
}

// reload loads two sets of weights afresh, B's first if bFirst. One shared set stays: it is the same
// for both.
func (s *sides) reload(bFirst bool) error {
	if s.shared || s.tooBig != "" {
		return nil
	}
	order := []*side{s.a, s.b}
	if bFirst {
		order = []*side{s.b, s.a}
	}
	for _, one := range order {
		one.model.Close()
	}
	for _, one := range order {
		m, err := loadInto(one.model.backend, one.options, s.source)
		if err == nil {
			err = m.replace(one.kernels)
		}
		if err != nil {
			return fmt.Errorf("load the weights afresh: %w", err)
		}
		one.model = m
	}
	return nil
}

// Close frees the weights. Closing a model twice is harmless.
func (s *sides) Close() {
	for _, one := range []*side{s.a, s.b} {
		if one.model != nil {
			one.model.Close()
		}
	}
}

// fits skips a point that cannot be measured with both variants open.
func (s *sides) fits(p step.Point) error {
	if s.tooBig != "" {
		return &step.Skip{Reason: s.tooBig}
	}
	for _, one := range []*side{s.a, s.b} {
		if err := one.model.fits(p); err != nil {
			return err
		}
	}
	need := float64(s.a.model.model.WeightBytes()) + s.a.model.sessionBytes(p) + s.b.model.sessionBytes(p)
	if !s.shared {
		need += float64(s.b.model.model.WeightBytes())
	}
	if err := fitsMemory(need, s.a.model.fraction()); err != nil {
		return &step.Skip{Reason: "memory: two variants: " + err.Error()}
	}
	return nil
}

// open makes fresh sessions of both variants for a visit.
func (s *sides) open(plan compare.Plan) func(context.Context, int, compare.Visit) (compare.Pair, error) {
	return func(_ context.Context, _ int, v compare.Visit) (compare.Pair, error) {
		p := step.Point{ID: v.Point.ID, Batch: v.Point.Batch, InputLen: v.Point.ContextLen, OutputLen: plan.NewTokens(v.Point)}
		if s.refused != "" {
			return compare.Pair{}, errors.New(s.refused)
		}
		if err := s.fits(p); err != nil {
			return compare.Pair{}, err
		}
		resetPeakMemory()
		order := []*side{s.a, s.b}
		if v.BFirst {
			order = []*side{s.b, s.a}
		}
		var opened [2]*engine.Engine
		for i, one := range order {
			e, err := one.model.model.NewEngine(one.model.engineOptions(p.Batch, p.InputLen+p.OutputLen))
			if err != nil {
				if i > 0 {
					opened[0].Close()
				}
				if errors.Is(err, native.ErrMemory) {
					return compare.Pair{}, &step.Skip{Reason: "memory: two variants: " + err.Error()}
				}
				return compare.Pair{}, err
			}
			opened[i] = e
		}
		a, b := opened[0], opened[1]
		if v.BFirst {
			a, b = b, a
		}
		return compare.Pair{A: a, B: b, Memory: func() *bench.PointMemory { return s.memory(a, b) },
			Close: func() error { a.Close(); b.Close(); return nil }}, nil
	}
}

// memory is what both sessions hold.
func (s *sides) memory(a, b *engine.Engine) *bench.PointMemory {
	x, y := a.Memory(), b.Memory()
	m := &bench.PointMemory{WeightBytes: x.Weights, KVBytes: x.KV + y.KV, WorkspaceBytes: x.Workspace + y.Workspace, PeakBytes: peakMemory()}
	if !s.shared {
		m.WeightBytes += y.Weights
	}
	return m
}

// variant describes a side for the report.
func (s *side) variant() compare.Variant {
	v := compare.Variant{Backend: bench.Backend{Name: s.options.Backend}, Kernels: s.kernels.facts}
	if s.model != nil {
		v.Backend, _ = s.model.record()
		v.Backend.Device = nil // a device's own report holds free memory, which is no part of the variant
	}
	return v
}
