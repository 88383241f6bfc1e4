package main

import (
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
	"strconv"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"

	"lathe/bench"
	"lathe/bench/compare"
	"lathe/bench/step"
)

// scripted is an engine and a clock in one: a step takes a time that follows from its context and a
// seeded noise, and nothing is computed. Recordings of it are the same bytes on any machine.
type scripted struct {
	now   int64
	noise *rand.Rand
	sigma float64
}

func (s *scripted) Now() int64 { return s.now }

// variant is one side's engine on the common clock.
type variant struct {
	*scripted
	ratio         float64
	rows, context int
}

func (v *variant) Begin(prompts [][]int32, _ int) error {
	v.rows, v.context = len(prompts), len(prompts[0])
	return nil
}

func (v *variant) take(ns float64) error {
	v.now += int64(ns * v.ratio * (1 + v.sigma*v.noise.NormFloat64()))
	return nil
}

func (v *variant) Prefill() error { return v.take(1e4 * float64(v.rows*v.context)) }

func (v *variant) Decode() error {
	v.context++
	return v.take(1e6 + 1e3*float64(v.rows*v.context))
}

func (v *variant) Wait() error     { return nil }
func (v *variant) DeviceNS() int64 { return -1 }
func (v *variant) Graph() string   { return "none" }
func (v *variant) Cached() int     { return 0 }
func (v *variant) Tokens() []int32 { return make([]int32, v.rows) }

// recordedRun is the header of scripted recordings.
func recordedRun(command string, w bench.Workload, cpu, raw string) bench.Run {
	sum, _ := w.SHA256()
	options, _ := json.Marshal(map[string]string{"raw": raw})
	return bench.Run{Kind: bench.KindRun, Schema: bench.Schema, Command: command, Argv: []string{"lathe"}, StartedAt: "2026-11-01T00:00:00Z",
		Workload: w, WorkloadSHA256: sum, Host: bench.Host{OS: "linux", Arch: "amd64", CPU: cpu, Cores: 2}, Build: bench.Build{Version: "0", Go: "go1.26"},
		Backend: bench.Backend{Name: "cpu", ISA: "portable", Threads: 2, KVDType: "bf16"},
		Model:   &bench.Model{ID: "preset:tiny", Source: "seeded", Parameters: 1, DType: "bfloat16"}, Options: options, Warnings: []string{}}
}

// recordedOptions are the words of the script command `recorded`.
type recordedOptions struct {
	ratio, sigma float64
	seed         uint64
	cpu, model   string
	b            string // numeric path of B
	batches      []int
	inputs       []int
}

func recordedWords(words []string) (o recordedOptions, err error) {
	o = recordedOptions{ratio: 1, sigma: 0.002, seed: 1, cpu: "cpu", model: "preset:tiny", batches: []int{1}, inputs: []int{16}}
	for _, w := range words {
		key, value, _ := strings.Cut(w, "=")
		switch key {
		case "ratio":
			o.ratio, err = strconv.ParseFloat(value, 64)
		case "sigma":
			o.sigma, err = strconv.ParseFloat(value, 64)
		case "seed":
			o.seed, err = strconv.ParseUint(value, 10, 64)
		case "cpu":
			o.cpu = value
		case "b":
			o.b = value
		case "model":
			o.model = value
		case "batches":
			o.batches, err = numbers(value)
		case "inputs":
			o.inputs, err = numbers(value)
		default:
			err = fmt.Errorf("unknown word %q", w)
		}
		if err != nil {
			return o, err
		}
	}
	return o, nil
}

func numbers(list string) (out []int, err error) {
	for _, s := range strings.Split(list, ",") {
		n, err := strconv.Atoi(s)
		if err != nil {
			return nil, err
		}
		out = append(out, n)
	}
	return out, nil
}

// recorded KIND FILE [KEY=VALUE…] writes a scripted recording: KIND compare (B takes ratio times as
// long as A) or one-batch (everything takes ratio times as long).
func recorded(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 2 {
		ts.Fatalf("usage: recorded compare|one-batch FILE [KEY=VALUE…]")
	}
	o, err := recordedWords(args[2:])
	ts.Check(err)
	path := ts.MkAbs(args[1])
	switch args[0] {
	case "compare":
		ts.Check(recordComparison(path, args[1], o))
	case "one-batch":
		ts.Check(recordOneBatch(path, args[1], o))
	default:
		ts.Fatalf("recorded: unknown kind %q", args[0])
	}
}

// tape writes a raw file through the writer that the commands use.
func tape(path string, run bench.Run, clock *scripted, measure func(step.Recorder) error) error {
	w, err := bench.OpenWriter(path, bench.New)
	if err != nil {
		return err
	}
	if err := w.Write(run); err != nil {
		return err
	}
	if err := measure(w); err != nil {
		return err
	}
	if err := w.Write(bench.End{Kind: bench.KindEnd, DurationNS: clock.now, Reason: bench.EndCompleted}); err != nil {
		return err
	}
	return w.Close()
}

func recordComparison(path, name string, o recordedOptions) error {
	s := &scripted{noise: rand.New(rand.NewPCG(o.seed, 0)), sigma: o.sigma}
	p := compare.DefaultPlan()
	p.Model, p.Vocab, p.Seed = o.model, 256, o.seed
	p.A, p.B = json.RawMessage(`{"backend":{"name":"cpu"}}`), json.RawMessage(`{"backend":{"name":"cpu","path":"new.so","isa":"`+o.b+`"}}`)
	for _, batch := range o.batches {
		for _, input := range o.inputs {
			p.Points = append(p.Points, compare.Point{ID: len(p.Points), Batch: batch, ContextLen: input, Phase: bench.Decode})
		}
	}
	return tape(path, recordedRun("compare", p.Workload(), o.cpu, name), s, func(r step.Recorder) error {
		rig := compare.Rig{Recorder: r, Clock: s, Open: func(context.Context, int, compare.Visit) (compare.Pair, error) {
			return compare.Pair{A: &variant{scripted: s, ratio: 1}, B: &variant{scripted: s, ratio: o.ratio}}, nil
		}}
		return compare.Run(context.Background(), rig, p)
	})
}

func recordOneBatch(path, name string, o recordedOptions) error {
	s := &scripted{noise: rand.New(rand.NewPCG(o.seed, 1)), sigma: o.sigma}
	p := step.DefaultPlan()
	p.BatchSizes, p.InputLens, p.OutputLens, p.Model, p.Vocab = o.batches, o.inputs, []int{33}, o.model, 256
	return tape(path, recordedRun("bench one-batch", p.Workload(), o.cpu, name), s, func(r step.Recorder) error {
		rig := step.Rig{Recorder: r, Clock: s, Open: func(context.Context, step.Point) (step.Opened, error) {
			return step.Opened{Engine: &variant{scripted: s, ratio: o.ratio}}, nil
		}}
		_, err := step.OneBatch(context.Background(), rig, p, p.Points())
		return err
	})
}

// TestRecordedIsTheSameEverywhere: what scripts judge does not depend on the machine.
func TestRecordedIsTheSameEverywhere(t *testing.T) {
	dir := t.TempDir()
	var files [2]string
	for i := range files {
		path := fmt.Sprintf("%s/%d.jsonl", dir, i)
		if err := recordComparison(path, "x.jsonl", recordedOptions{ratio: 1.02, sigma: 0.002, seed: 3, cpu: "cpu", model: "m", batches: []int{1}, inputs: []int{8}}); err != nil {
			t.Fatal(err)
		}
		data, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		files[i] = string(data)
	}
	if files[0] != files[1] {
		t.Error("two recordings of one script differ")
	}
}
