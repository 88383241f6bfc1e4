package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"path/filepath"
	"runtime"
	"slices"
	"time"

	"lathe/bench"
	"lathe/bench/kernel"
	"lathe/bench/report"
	"lathe/engine/native"
	"lathe/engine/operator"
)

// kernelBenchCommand is the command of its raw files.
const kernelBenchCommand = "kernel bench"

// cacheFactor is how many times the last-level cache a rotation exceeds.
const cacheFactor = 4

// unknownCache stands for the size of a last-level cache that the system does not tell.
const unknownCache = 64 << 20

// timedFile and timedOurs name the two kernels that take turns.
const (
	timedFile = "file"
	timedOurs = operator.Ours
)

// runKernelBench does the command: check, time, check again, report from the raw file.
func runKernelBench(ctx context.Context, app *application, o kernelBenchOptions) error {
	source, err := resolveModel(o.Model, "auto", true)
	if err != nil {
		return err
	}
	if limit := source.config.MaxPosition; o.ContextLen > limit {
		return usageError("--context-len names another", "--context-len: %d: the model has %d positions", o.ContextLen, limit)
	}
	if o.Threads == 0 {
		o.Threads = runtime.NumCPU()
	}
	shape := o.shape(source)
	if app.dryRun {
		return app.printKernelBench(o, shape)
	}
	limit := 20 * time.Second
	b, v, err := app.prepareKernel(ctx, operator.Options{Op: o.Op, File: o.File, Seed: uint64(o.Seed), Seeds: 1, Limit: limit, Timed: &shape,
		ISA: o.CPUISA, Threads: o.Threads})
	if err != nil {
		return err
	}
	if b == nil {
		_, err := app.term.out.Write([]byte(verdictText(v)))
		return errors.Join(err, verdict(exitInvalid))
	}
	return app.benchKernel(ctx, o, source, b, v)
}

// shape is the decode step that the operator is called as in.
func (o *kernelBenchOptions) shape(m modelSource) operator.Shape {
	return stepShape(m, o.BatchSize, o.ContextLen, o.PageSize, o.KVCacheDtype, o.CPUISA)
}

// stepShape is a decode step of a model on the CPU backend.
func stepShape(m modelSource, batch, context, page int, kv, isa string) operator.Shape {
	c := m.config
	s := operator.Shape{Hidden: c.Hidden, FFN: c.FFN, QHeads: c.QHeads, KVHeads: c.KVHeads, HeadDim: c.HeadDim, Vocab: c.Vocab,
		Batch: batch, Context: context, PageSize: page, KV: native.BF16, Products: native.F32}
	if kv == "f32" {
		s.KV = native.F32
	}
	runs, _ := backendPaths()
	if isa == "avx512bf16" || isa == "" && slices.Contains(runs, "avx512bf16") {
		s.Products = native.BF16
	}
	return s
}

// printKernelBench is --dry-run.
func (app *application) printKernelBench(o kernelBenchOptions, s operator.Shape) error {
	call, err := operator.Describe(o.Op, s)
	if err != nil {
		return usageError("", "%w", err)
	}
	for _, mode := range o.Cache {
		copies := 1
		if kernel.Rotates(mode) {
			if copies, err = o.footprint(mode, call.Bytes, call.Streamed).Copies(o.Copies); err != nil {
				return usageError("", "%w", err)
			}
		}
		fmt.Fprintf(app.term.out, "%s: %s: %s a call, %d copies; at least %d ms of it on %d threads; nothing is run\n", o.Op, mode,
			sized(float64(call.Bytes)), copies, o.MinTime, o.Threads)
	}
	return nil
}

// footprint is what decides the copies of a mode.
func (o *kernelBenchOptions) footprint(mode string, all, streamed uint64) kernel.Footprint {
	f := kernel.Footprint{LastLevel: unknownCache, Touched: all, Factor: cacheFactor}
	if mode == kernel.Stream {
		f.Touched = streamed
	}
	if llc := thisMachine().lastLevelCache(); llc != nil {
		f.LastLevel = *llc
	}
	return f
}

// benchKernel times what was prepared.
func (app *application) benchKernel(ctx context.Context, o kernelBenchOptions, m modelSource, b *operator.Bench, v operator.Verdict) error {
	copies, err := o.copies(b)
	if err != nil {
		b.Close()
		return err
	}
	run, err := app.kernelHeader(o, m, v)
	if err != nil {
		b.Close()
		return err
	}
	rec, err := app.startRecording(run, o.Raw, false)
	if err != nil {
		b.Close()
		return err
	}
	if err = recordCheck(rec, "operator_check_before", v); err == nil {
		err = app.timeModes(ctx, o, b, copies, rec, v.Seed)
	}
	again := operator.Verdict{Op: o.Op, File: o.File, OK: true}
	if err == nil {
		if again, err = b.Recheck(ctx, operator.Options{Op: o.Op, File: o.File}); err == nil {
			err = recordCheck(rec, "operator_check_after", again)
		}
	}
	printed := b.Close()
	err = rec.finish(ctx, err)
	if fault, ok := operator.AsFinding(err); ok {
		again.Findings, err = append(again.Findings, fault), nil
	}
	if err != nil {
		return err
	}
	again.End(printed)
	return app.reportKernel(rec.writer.Path(), again)
}

// recordCheck keeps a verdict in the raw file.
func recordCheck(rec *recording, name string, v operator.Verdict) error {
	if v.File == "" {
		return nil
	}
	detail, err := json.Marshal(v)
	if err != nil {
		return fmt.Errorf("record the check of a kernel: %w", err)
	}
	return rec.Write(bench.Check{Kind: bench.KindCheck, Name: name, OK: v.OK, Detail: detail})
}

// reportKernel prints the report of the raw file, and decides the exit code: a kernel that was not sound
// after timing is invalid, a rotation that was not cold inconclusive.
func (app *application) reportKernel(path string, again operator.Verdict) error {
	f, err := bench.ReadFile(path)
	if err != nil {
		return err
	}
	if err := report.Write(app.term.out, f, "text"); err != nil {
		return err
	}
	if !again.OK {
		fmt.Fprintf(app.term.out, "\nINVALID after timing:\n%s", verdictText(again))
	}
	fmt.Fprintf(app.term.out, "raw: %s\n", path)
	s, err := kernel.Summarise(f)
	switch {
	case err != nil:
		return err
	case !again.OK:
		return verdict(exitInvalid)
	case !s.Proven():
		return verdict(exitInconclusive)
	}
	return nil
}

// kernelHeader is the header of the raw file.
func (app *application) kernelHeader(o kernelBenchOptions, m modelSource, v operator.Verdict) (bench.Run, error) {
	w := bench.Workload{Kind: "kernel", Model: m.identity, BatchSizes: []int{o.BatchSize}, InputLens: []int{o.ContextLen}, OutputLens: []int{1}, Seed: v.Seed}
	run, err := app.header(kernelBenchCommand, o, w, nil)
	if err != nil {
		return run, err
	}
	run.Model = &bench.Model{ID: m.name, Source: "seeded", Parameters: m.config.Params(), DType: m.config.DType}
	run.Backend = bench.Backend{Name: "cpu", ISA: o.CPUISA, Threads: o.Threads, KVDType: o.KVCacheDtype}
	if o.File != "" {
		run.Backend.Path, run.Backend.SHA256 = filepath.Base(o.File), v.SHA256
		run.Warnings = append(run.Warnings, v.Warnings...)
	}
	return run, nil
}

// operatorTimes gives a Bench the names of the loop.
type operatorTimes struct{ *operator.Bench }

func (t operatorTimes) Time(mode, variant string, copies []int, batch int) ([]int64, error) {
	return t.Bench.Time(variant == timedOurs, mode == kernel.Stream, copies, batch)
}

// timeModes plans and measures one mode after the other.
func (app *application) timeModes(ctx context.Context, o kernelBenchOptions, b *operator.Bench, copies int, rec *recording, seed uint64) (err error) {
	all, streamed := b.Call()
	if err := b.Copies(2 * copies); err != nil {
		return err
	}
	variants := []string{timedOurs}
	if o.File != "" {
		variants = []string{timedFile, timedOurs}
	}
	for _, mode := range o.Cache {
		m := kernel.Mode{Mode: mode, Variants: variants, Call: kernel.Call{Bytes: all, Touched: all}, Seed: seed}
		if mode == kernel.Stream {
			m.Call.Touched = streamed
		}
		if m.Schedule, err = o.schedule(b, mode, variants, copies); err != nil {
			return err
		}
		loop := kernel.Loop{Runner: operatorTimes{b}, Recorder: rec, Now: rec.clock.Now,
			Progress: func(done, total int) { app.term.showProgress(done, total, o.Op+" "+mode) }}
		err := loop.Run(ctx, m)
		app.term.clearProgress()
		if err != nil {
			return err
		}
	}
	return nil
}

// copies is how many one footprint of the rotations takes: the most that a mode needs.
func (o *kernelBenchOptions) copies(b *operator.Bench) (int, error) {
	all, streamed := b.Call()
	most := 1
	for _, mode := range o.Cache {
		if !kernel.Rotates(mode) {
			continue
		}
		if mode == kernel.Stream && streamed == 0 {
			return 0, usageError("--cache cold", "--cache stream: operator %s reads neither weights nor pages", o.Op)
		}
		n, err := o.footprint(mode, all, streamed).Copies(o.Copies)
		if err != nil {
			return 0, usageError("", "%w", err)
		}
		most = max(most, n)
	}
	if err := fitsMemory(float64(b.Bytes(2*most)), 0.9); err != nil {
		return 0, usageError("--cache warm needs one copy; a larger --batch-size or --context-len needs fewer", "%d copies for a cold cache, twice over: %w", most, err)
	}
	return most, nil
}

// schedule calls the slowest variant a few times and plans by that.
func (o *kernelBenchOptions) schedule(b *operator.Bench, mode string, variants []string, copies int) (kernel.Schedule, error) {
	const calls = 4
	var pilot kernel.Pilot
	var walk time.Duration // over the copies of both footprints, a call's share
	if kernel.Rotates(mode) {
		began := time.Now()
		if err := b.Walk(copies); err != nil {
			return kernel.Schedule{}, err
		}
		walk = 3 * time.Since(began) / (2 * kernel.LeastTurn)
	} else {
		copies = 1
	}
	for _, v := range variants {
		list := make([]int, calls)
		for i := range list {
			list[i] = i % copies
		}
		began := time.Now()
		ns, err := operatorTimes{b}.Time(mode, v, list, 1)
		whole := time.Since(began)
		if err != nil {
			return kernel.Schedule{}, err
		}
		slices.Sort(ns)
		call, sum := time.Duration(ns[calls/2]), time.Duration(0)
		for _, n := range ns {
			sum += time.Duration(n)
		}
		if call > pilot.Call {
			pilot = kernel.Pilot{Call: call, Around: max(0, whole-sum)/calls + walk}
		}
	}
	turns := len(variants)
	if kernel.Rotates(mode) {
		turns *= 2
	}
	budget := kernel.Budget{MinTime: time.Duration(o.MinTime) * time.Millisecond, MinSamples: 30, MaxTime: time.Duration(o.MaxTime) * time.Second}
	return budget.Plan(pilot, copies, o.BatchLaunches, turns), nil
}
