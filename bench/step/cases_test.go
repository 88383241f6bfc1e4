package step_test

import (
	"context"
	"math"
	"slices"
	"strings"
	"testing"

	"lathe/bench"
	"lathe/bench/step"
)

const millisecond = int64(1_000_000)

// P143: the first three calls of an engine cost 500 ms more.
func slowStart() *machine {
	m := &machine{}
	m.cost = func(*engine) int64 {
		if m.started <= 3 {
			return 520 * millisecond
		}
		return 20 * millisecond
	}
	return m
}

func TestP143_WarmUpInOneBatch(t *testing.T) {
	for _, c := range []struct {
		name           string
		prefill, steps int
		warning        bool
	}{
		{"warmed by default", step.DefaultPlan().PrefillWarmup, step.DefaultPlan().StepsWarmup, false},
		{"three calls", 1, 2, false},
		{"three prefills", 3, 0, false},
		{"none", 0, 0, true},
	} {
		t.Run(c.name, func(t *testing.T) {
			plan := step.Plan{
				BatchSizes: []int{1}, InputLens: []int{8}, OutputLens: []int{9}, PrefillReps: 5, Iterations: 1,
				PrefillWarmup: c.prefill, StepsWarmup: c.steps, Vocab: 10,
			}
			h := sweep(t, slowStart(), plan)
			slow := 0
			for _, ns := range h.hostNS(func(s bench.Step) bool { return !s.Warmup }) {
				if ns != 20*millisecond {
					slow++
				}
			}
			if (slow > 0) != c.warning {
				t.Fatalf("%d slow measured steps", slow)
			}
			notes := h.notes(t, 0)
			if warned := strings.Contains(notes, "prefill: first call 500 ms slower than median: not warmed up"); warned != c.warning || !c.warning && notes != "" {
				t.Errorf("notes %q", notes)
			}
			if warm := h.hostNS(func(s bench.Step) bool { return s.Warmup && s.Phase == bench.Decode }); len(warm) != c.steps {
				t.Errorf("%d warm-up decode steps recorded, want %d", len(warm), c.steps)
			}
		})
	}
}

// Every point is warmed up, not the first alone: each engine starts slow.
func TestP143_EveryPointIsWarmed(t *testing.T) {
	m := &machine{}
	first := map[*engine]int{}
	m.cost = func(e *engine) int64 {
		first[e]++
		if first[e] <= 3 {
			return 520 * millisecond
		}
		return 20 * millisecond
	}
	plan := smallPlan([]int{1, 8, 32}, []int{8}, []int{2, 9})
	plan.StepsWarmup = 2
	h := sweep(t, m, plan)
	for _, s := range h.steps {
		if !s.Warmup && s.HostNS != 20*millisecond {
			t.Fatalf("cold measured step %+v", s)
		}
	}
	if len(h.points) != 6 {
		t.Fatalf("%d points", len(h.points))
	}
}

// A first decode step that captures a graph or the like is named too.
func TestP143_SlowFirstDecodeStep(t *testing.T) {
	m := &machine{}
	first := true
	m.cost = func(e *engine) int64 {
		if e.phase == bench.Decode && first {
			first = false
			return 520 * millisecond
		}
		return 20 * millisecond
	}
	plan := smallPlan([]int{1}, []int{4}, []int{9})
	plan.StepsWarmup, plan.Iterations = 0, 2
	h := sweep(t, m, plan)
	if notes := h.notes(t, 0); !strings.Contains(notes, "decode step: first call 500 ms slower than median: not warmed up") || strings.Contains(notes, "prefill") {
		t.Errorf("notes %q", notes)
	}
}

func TestP143_WarmUpInLatency(t *testing.T) {
	for _, c := range []struct {
		warmup  int
		warning string
	}{{3, ""}, {0, "iteration: first call 1500 ms slower than median: not warmed up"}} {
		m := slowStart()
		r := newTape(t, m)
		plan := step.LatencyPlan{Batch: 1, InputLen: 4, OutputLen: 8, Warmup: c.warmup, Iterations: 30, Vocab: 10}
		if _, err := step.Latency(context.Background(), rigOf(m, r), plan); err != nil {
			t.Fatal(err)
		}
		h := r.read(t)
		if c.warning == "" {
			for _, it := range h.iterations {
				if !it.Warmup && it.HostNS != 8*20*millisecond {
					t.Errorf("iteration %+v is not steady", it)
				}
			}
		}
		if got := h.notes(t, 0); !strings.Contains(got, c.warning) || (c.warning == "") != (got == "") {
			t.Errorf("warm-up %d: notes %q, want %q", c.warmup, got, c.warning)
		}
	}
}

// P145: a device whose steps cost more the more KV entries lie on it.
func TestP145_OrderOfPointsDoesNotMatter(t *testing.T) {
	seed := uint64(3)
	orders := []struct {
		batch   []int
		shuffle *uint64
	}{{[]int{1, 8, 32}, nil}, {[]int{32, 8, 1}, nil}, {[]int{1, 8, 32}, &seed}}
	run := func(leaking bool) (medians []map[int]float64) {
		for _, order := range orders {
			m := &machine{leaking: leaking}
			m.cost = func(e *engine) int64 { return int64(1000*e.point.Batch + 100*m.leftKV) }
			plan := smallPlan(order.batch, []int{16}, []int{9})
			plan.ShuffleCells = order.shuffle
			h := sweep(t, m, plan)
			of := map[int]float64{}
			for _, p := range h.points {
				of[p.Batch] = median(h.hostNS(func(s bench.Step) bool { return s.Point == p.Point && measured(bench.Decode)(s) }))
			}
			medians = append(medians, of)
		}
		return medians
	}
	worst := func(medians []map[int]float64) (most float64) {
		for _, of := range medians[1:] {
			for batch, ns := range of {
				most = max(most, math.Abs(ns/medians[0][batch]-1))
			}
		}
		return most
	}
	if change := worst(run(false)); change > 0 {
		t.Errorf("the order of points moves a median by %.3g", change)
	}
	if change := worst(run(true)); change < 0.01 { // the stub shows what a leak does
		t.Errorf("a device that leaks between points shows only %.3g", change)
	}
}

// P156: each knob moves one thing.
func TestP156_KnobsAreSeparate(t *testing.T) {
	type shape struct{ warmPrefills, warmSteps, prefills, decodes int }
	of := func(change func(*step.Plan)) shape {
		m := &machine{}
		plan := step.Plan{
			BatchSizes: []int{2}, InputLens: []int{4}, OutputLens: []int{9},
			PrefillReps: 5, Iterations: 1, PrefillWarmup: 1, StepsWarmup: 4, Vocab: 10,
		}
		change(&plan)
		var s shape
		for _, r := range sweep(t, m, plan).steps {
			switch {
			case r.Warmup && r.Phase == bench.Prefill:
				s.warmPrefills++
			case r.Warmup:
				s.warmSteps++
			case r.Phase == bench.Prefill:
				s.prefills++
			default:
				s.decodes++
			}
		}
		return s
	}
	for _, c := range []struct {
		name   string
		change func(*step.Plan)
		want   shape
	}{
		{"as it is", func(*step.Plan) {}, shape{1, 4, 5, 8}},
		{"steps of warm-up", func(p *step.Plan) { p.StepsWarmup = 6 }, shape{1, 6, 5, 8}},
		{"more than a pass holds", func(p *step.Plan) { p.StepsWarmup = 20 }, shape{3, 20, 5, 8}},
		{"prefills of warm-up", func(p *step.Plan) { p.PrefillWarmup = 3 }, shape{3, 4, 5, 8}},
		{"prefill repetitions", func(p *step.Plan) { p.PrefillReps = 7 }, shape{1, 4, 7, 8}},
		{"iterations", func(p *step.Plan) { p.Iterations = 2 }, shape{1, 4, 5, 16}},
		{"iterations above the repetitions", func(p *step.Plan) { p.Iterations = 6 }, shape{1, 4, 6, 48}},
		{"one new token", func(p *step.Plan) { p.OutputLens = []int{1} }, shape{1, 0, 5, 0}},
		{"no warm-up", func(p *step.Plan) { p.PrefillWarmup, p.StepsWarmup = 0, 0 }, shape{0, 0, 5, 8}},
	} {
		if got := of(c.change); got != c.want {
			t.Errorf("%s: %+v, want %+v", c.name, got, c.want)
		}
	}
}

// P163: a device that works on after a submission returned.
func TestP163_StepTimeNeedsSynchronisation(t *testing.T) {
	const launch, work = 5_000, 2_000_000
	run := func(noSync bool) held {
		m := &machine{launch: launch, cost: func(*engine) int64 { return work }}
		plan := smallPlan([]int{1}, []int{4}, []int{33})
		plan.NoSync = noSync
		return sweep(t, m, plan)
	}
	h := run(false)
	decode := h.hostNS(measured(bench.Decode))
	total := int64(0)
	for _, ns := range decode {
		total += ns
	}
	mean := float64(total) / float64(len(decode))
	if med := median(decode); math.Abs(med/mean-1) > 0.03 || float64(slices.Max(decode)) > 1.5*med || med != launch+work {
		t.Errorf("synchronised: median %v, total/steps %v, max %d", med, mean, slices.Max(decode))
	}
	if len(h.points[0].Warnings) != 0 || len(h.iterations) != 0 {
		t.Errorf("synchronised: warnings %q, %d iterations", h.points[0].Warnings, len(h.iterations))
	}
	h = run(true)
	if med := median(h.hostNS(measured(bench.Decode))); med != launch {
		t.Errorf("not synchronised: median %v, want the launch's %d", med, launch)
	}
	if w := h.points[0].Warnings; len(w) == 0 || !strings.Contains(w[0], "launch time only") {
		t.Errorf("not synchronised: warnings %q", w)
	}
	whole := h.iterations[len(h.iterations)-1]
	if got := whole.HostNS; got < 33*work || got > 33*(work+launch) || whole.Warmup || whole.Iteration != 1 {
		t.Errorf("the iteration %+v does not hold the work of 33 steps", whole)
	}
}
