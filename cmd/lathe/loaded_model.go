package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"runtime"
	"slices"
	"strconv"
	"time"

	"lathe/bench"
	"lathe/bench/step"
	"lathe/engine"
	"lathe/engine/native"
	"lathe/engine/operator"
)

// loadedModel is a model in a backend, ready to open engines.
type loadedModel struct {
	options  engineOptions
	source   modelSource
	backend  *native.Backend
	model    *engine.Model
	loadTime time.Duration
	warnings []string
	probe    probe
	kernels  kernels // operators of the user's in the place of ours
}

// probe is what an engine of this model and machine turned out to use.
type probe struct {
	path    string // numeric path
	threads int
}

// loadModel opens the backend and gives it the weights, and the kernels of --kernel once they passed
// their checks.
func (app *application) loadModel(ctx context.Context, o engineOptions, m modelSource) (*loadedModel, error) {
	if err := app.resolveDevice(&o); err != nil {
		return nil, err
	}
	k, err := app.openKernels(ctx, o, m, map[kernelFlag]operator.Verdict{})
	if err != nil {
		return nil, err
	}
	if k.refused != "" {
		return nil, &exitError{code: exitInvalid, err: errors.New(k.refused), hint: "lathe kernel check OP FILE says more"}
	}
	l, err := loadPlain(o, m)
	if err != nil {
		return nil, err
	}
	if err := l.replace(k); err != nil {
		l.Close()
		return nil, err
	}
	return l, nil
}

// loadPlain opens the backend and gives it the weights.
func loadPlain(o engineOptions, m modelSource) (*loadedModel, error) {
	backend, err := openBackend(o.Backend)
	if err != nil {
		return nil, err
	}
	return loadInto(backend, o, m)
}

func loadInto(backend *native.Backend, o engineOptions, m modelSource) (*loadedModel, error) {
	start := time.Now()
	src, err := m.open(o)
	if err != nil {
		return nil, usageError("", "%w", err)
	}
	defer src.Close()
	if err := fitsMemory(float64(src.Config.WeightBytes(2)), o.MemFractionStatic); err != nil && backend.Path() == "" {
		return nil, usageError("a smaller model, or --mem-fraction-static", "load %s: weights: %w", m.name, err)
	}
	model, err := engine.Load(backend, src)
	if err != nil {
		return nil, usageError("", "%w", err)
	}
	l := &loadedModel{options: o, source: m, backend: backend, model: model, loadTime: time.Since(start), warnings: model.Warnings}
	if err := l.tryEngine(); err != nil {
		model.Close()
		return nil, err
	}
	return l, nil
}

// openBackend finds a backend by word or path.
func openBackend(name string) (*native.Backend, error) {
	switch name {
	case "cpu":
		b, err := native.CPU()
		return b, coded(err)
	case "reference":
		b, err := native.Reference()
		return b, coded(err)
	}
	path, err := pluginPath(name)
	if err != nil {
		return nil, usageError("cpu and reference are built in; a plug-in is given as --backend PATH", "%w", err)
	}
	b, err := native.Open(path)
	if err != nil {
		return nil, usageError("cpu and reference are built in", "%w", err)
	}
	return b, nil
}

func coded(err error) error {
	if err == nil {
		return nil
	}
	return usageError("", "%w", err)
}

// engineOptions sizes an engine for a batch.
func (l *loadedModel) engineOptions(batch, context int) engine.Options {
	o := l.options
	kv := native.BF16
	if o.KVCacheDtype == "f32" || l.backend.Name() == "reference" {
		kv = native.F32
	}
	device := -1
	if n, err := strconv.Atoi(o.Device); err == nil {
		device = n
	}
	chunk := o.ChunkedPrefillSize
	if chunk < 0 {
		chunk = batch * context
	}
	return engine.Options{Sequences: batch, Context: context, ChunkRows: chunk, PageSize: o.PageSize, KV: kv,
		Threads: o.Threads, ISA: o.CPUISA, Device: device, Graphs: !o.DisableCUDAGraph, GraphMaxRows: o.CUDAGraphMaxBS,
		Overrides: l.kernels.overrides}
}

// tryEngine opens the smallest engine once, so that a path that this machine lacks is one clear
// error and the header can name path and threads.
func (l *loadedModel) tryEngine() error {
	e, err := l.model.NewEngine(l.engineOptions(1, 1))
	if err != nil {
		return usageError("", "%w", err)
	}
	defer e.Close()
	l.probe = probe{path: e.Path(), threads: e.Threads()}
	if usable := runtime.NumCPU(); l.probe.threads > usable && l.backend.Path() == "" {
		text := fmt.Sprintf("%d threads on %d usable processors: they wait for each other", l.probe.threads, usable)
		if !slices.Contains(l.warnings, text) {
			l.warnings = append(l.warnings, text)
		}
	}
	return nil
}

// Close frees the weights.
func (l *loadedModel) Close() { l.model.Close() }

// fits skips a point that cannot be measured here, before anything of it is made. What a plug-in may
// hold is its device's business.
func (l *loadedModel) fits(p step.Point) error {
	o := l.options
	o.MemFractionStatic = l.fraction()
	if why := o.refuse(l.source.config, p, float64(l.model.WeightBytes()), l.engineOptions(1, 1).KV.Bytes()); why != "" {
		return &step.Skip{Reason: why}
	}
	if err := fitsMemory(float64(l.model.WeightBytes())+l.sessionBytes(p), o.MemFractionStatic); err != nil {
		return &step.Skip{Reason: "memory: weights, KV and workspace: " + err.Error()}
	}
	return nil
}

// sessionBytes bounds what a point takes beside the weights: KV pages and workspace.
func (l *loadedModel) sessionBytes(p step.Point) float64 {
	options := l.engineOptions(p.Batch, p.InputLen+p.OutputLen)
	kv := float64(options.Pages()) * float64(options.PageSize) * float64(l.source.config.KVBytesPerToken(options.KV.Bytes()))
	return kv + float64(l.model.WorkspaceBound(options))
}

// fraction is the share of this machine's memory that the model may take: all of it where the
// weights lie on a device, whose business that is.
func (l *loadedModel) fraction() float64 {
	if l.backend.Path() != "" && l.backend.Name() != "cpu" {
		return math.Inf(1)
	}
	return l.options.MemFractionStatic
}

// opener makes engines for the points of a sweep; one that does not fit is skipped with the reason.
func (l *loadedModel) opener() step.Opener {
	return func(_ context.Context, p step.Point) (step.Opened, error) {
		o := l.engineOptions(p.Batch, p.InputLen+p.OutputLen)
		resetPeakMemory()
		e, err := l.model.NewEngine(o)
		if errors.Is(err, native.ErrMemory) {
			return step.Opened{}, &step.Skip{Reason: "memory: " + err.Error()}
		}
		if err != nil {
			return step.Opened{}, err
		}
		return step.Opened{Engine: e, Memory: func() *bench.PointMemory { return pointMemory(e) },
			Close: func() error { e.Close(); return nil }}, nil
	}
}

func pointMemory(e *engine.Engine) *bench.PointMemory {
	m := e.Memory()
	return &bench.PointMemory{WeightBytes: m.Weights, KVBytes: m.KV, WorkspaceBytes: m.Workspace, PeakBytes: peakMemory()}
}

// record is the backend's part of a run's header.
func (l *loadedModel) record() (bench.Backend, *bench.Model) {
	b := bench.Backend{Name: l.backend.Name(), Path: l.backend.Path(), SHA256: l.backend.SHA256(),
		ISA: l.probe.path, Threads: l.probe.threads, KVDType: l.engineOptions(1, 1).KV.String()}
	if info := l.backend.BuildInfo(); json.Valid([]byte(info)) {
		b.BuildInfo = json.RawMessage(info)
	}
	if device, err := l.backend.DeviceInfo(-1); err == nil {
		b.Device = device
	}
	origin := "seeded"
	if !l.source.seeded(l.options.LoadFormat) {
		origin = "safetensors"
	}
	return b, &bench.Model{ID: l.source.name, Source: origin, Parameters: l.source.config.Params(), DType: l.source.config.DType,
		WeightBytes: l.model.WeightBytes(), LoadNS: l.loadTime.Nanoseconds()}
}
