package step_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"lathe/bench"
	"lathe/bench/step"
)

var latencyPlan = step.LatencyPlan{Batch: 2, InputLen: 4, OutputLen: 3, Warmup: 1, Iterations: 2, Overhead: 1, Vocab: 10}

func TestOrderOfCallsOfLatency(t *testing.T) {
	const split = "wait|now|begin 2x4+3|" + timedPrefill + timedDecode + timedDecode + "cached|write 3 steps|write bench.Iteration|"
	const whole = "wait|now|begin 2x4+3|prefill|wait|decode|wait|decode|wait|now|cached|write bench.Iteration|"
	for _, c := range []struct {
		noSplit bool
		each    string
	}{{false, split}, {true, whole}} {
		m := &machine{}
		plan := latencyPlan
		plan.NoSplit = c.noSplit
		tally, err := step.Latency(context.Background(), rigOf(m, newTape(t, m)), plan)
		if err != nil || tally != (step.Tally{OK: 1}) {
			t.Fatalf("Latency = %+v, %v", tally, err)
		}
		want := expand("open 0|", c.each, "wait|now|wait|now|", c.each, c.each, "write bench.Check|close|write bench.Point|")
		if diff := cmp.Diff(want, m.log); diff != "" {
			t.Errorf("noSplit %v: order of calls (-want +got):\n%s", c.noSplit, diff)
		}
	}
}

// The iteration's time is the steps' and what Begin takes; both modes see the
// same on a device whose clock reads are free.
func TestLatencyTimes(t *testing.T) {
	for _, noSplit := range []bool{false, true} {
		m := &machine{launch: 2}
		m.cost = func(e *engine) int64 { return int64(100 * e.context) }
		m.onCall = func(int) {
			if strings.HasPrefix(m.log[len(m.log)-1], "begin") {
				m.now += 11
			}
		}
		plan := latencyPlan
		plan.NoSplit, plan.Overhead = noSplit, 0
		r := newTape(t, m)
		var told []bench.Iteration
		rig := rigOf(m, r)
		rig.Events.Iteration = func(it bench.Iteration) { told = append(told, it) }
		if _, err := step.Latency(context.Background(), rig, plan); err != nil {
			t.Fatal(err)
		}
		h := r.read(t)
		const each = 11 + 3*2 + 100*(4+5+6)
		want := []bench.Iteration{
			{Kind: bench.KindIteration, Iteration: 0, TNS: 0, HostNS: each, Warmup: true},
			{Kind: bench.KindIteration, Iteration: 0, TNS: each, HostNS: each},
			{Kind: bench.KindIteration, Iteration: 1, TNS: 2 * each, HostNS: each},
		}
		if diff := cmp.Diff(want, h.iterations); diff != "" {
			t.Errorf("iterations (-want +got):\n%s", diff)
		}
		if !cmp.Equal(want, told) {
			t.Errorf("told %+v", told)
		}
		var contexts, times []int64
		for _, s := range h.steps {
			contexts, times = append(contexts, int64(s.ContextLen)), append(times, s.HostNS)
		}
		wantContexts, wantTimes := slices.Repeat([]int64{4, 5, 6}, 3), slices.Repeat([]int64{402, 502, 602}, 3)
		if noSplit {
			wantContexts, wantTimes = nil, nil
		}
		if !slices.Equal(contexts, wantContexts) || !slices.Equal(times, wantTimes) {
			t.Errorf("noSplit %v: contexts %v, times %v", noSplit, contexts, times)
		}
	}
}

func TestLatencyInterruptedOrFailedAnywhere(t *testing.T) {
	for _, noSplit := range []bool{false, true} {
		plan := latencyPlan
		plan.NoSplit = noSplit
		loop := func(ctx context.Context, rig step.Rig) error {
			_, err := step.Latency(ctx, rig, plan)
			return err
		}
		n := callsOf(t, loop)
		for k := 1; k <= n; k++ {
			m := busy()
			ctx, cancel := context.WithCancel(context.Background())
			m.onCall = func(call int) {
				if call == k {
					cancel()
				}
			}
			r := newTape(t, m)
			err := loop(ctx, rigOf(m, r))
			h := r.read(t)
			cancel()
			if (err == nil) != (len(h.points) == 1) || err != nil && !errors.Is(err, context.Canceled) {
				t.Fatalf("cancelled at call %d: %v, %d lines", k, err, len(h.points))
			}
			if whole := len(h.steps) / plan.OutputLen; !noSplit && len(h.iterations) != whole {
				t.Fatalf("cancelled at call %d: %d steps, %d iterations", k, len(h.steps), len(h.iterations))
			}

			m = busy()
			m.failAt = k
			r = newTape(t, m)
			if err := loop(context.Background(), rigOf(m, r)); err != nil {
				t.Fatalf("failed at call %d: %v", k, err)
			}
			p := r.read(t).points
			if len(p) != 1 || p[0].Status != bench.StatusFailed || !strings.HasSuffix(*p[0].Reason, ": injected") {
				t.Fatalf("failed at call %d: %+v", k, p)
			}
		}
	}
}

func TestLatencyPlan(t *testing.T) {
	good := step.DefaultLatencyPlan()
	good.Vocab = 50
	if err := good.Validate(); err != nil {
		t.Fatal(err)
	}
	for want, change := range map[string]func(*step.LatencyPlan){
		"batch size 0: want 1 to 1048576":                         func(p *step.LatencyPlan) { p.Batch = 0 },
		"input length 0: want 1 to 134217728":                     func(p *step.LatencyPlan) { p.InputLen = 0 },
		"output length 0: want 1 to 134217728":                    func(p *step.LatencyPlan) { p.OutputLen = 0 },
		"iterations 0: want 1 to 16777216":                        func(p *step.LatencyPlan) { p.Iterations = 0 },
		"warm-up iterations -1: want 0 to 16777216":               func(p *step.LatencyPlan) { p.Warmup = -1 },
		"input 32 + output 128 is over the model's 159 positions": func(p *step.LatencyPlan) { p.MaxPositions = 159 },
	} {
		plan := good
		change(&plan)
		if err := plan.Validate(); err == nil || !strings.HasSuffix(err.Error(), want) {
			t.Errorf("%v, want %q", err, want)
		}
	}
	if w := good.Workload(); w.Dataset != "random ids 0..49" || w.Kind != "latency" {
		t.Errorf("workload %+v", w)
	}
}
