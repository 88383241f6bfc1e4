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

var faultPlan = step.Plan{
	BatchSizes: []int{2}, InputLens: []int{2}, OutputLens: []int{1, 3},
	PrefillReps: 2, Iterations: 1, PrefillWarmup: 1, StepsWarmup: 1, Overhead: 1, Vocab: 10,
}

// busy is a device whose steps take time, so that no two times are equal.
func busy() *machine {
	m := &machine{launch: 3}
	m.cost = func(e *engine) int64 { return int64(10 + m.started) }
	return m
}

// callsOf counts the engine calls of a loop that nothing disturbs.
func callsOf(t *testing.T, loop func(context.Context, step.Rig) error) int {
	t.Helper()
	m := busy()
	if err := loop(context.Background(), rigOf(m, newTape(t, m))); err != nil {
		t.Fatal(err)
	}
	return m.calls
}

func oneBatch(points []step.Point) func(context.Context, step.Rig) error {
	return func(ctx context.Context, rig step.Rig) error {
		_, err := step.OneBatch(ctx, rig, faultPlan, points)
		return err
	}
}

// P131: interrupted at any call, what is on disk is valid, finished points stay
// as they were, at most the running step is finished, and a resumed sweep
// measures exactly the rest.
func TestP131_InterruptAnywhere(t *testing.T) {
	loop := oneBatch(faultPlan.Points())
	whole := busy()
	full := sweep(t, whole, faultPlan)
	async := faultPlan
	async.NoSync = true
	unsynced := sweep(t, busy(), async)
	n, points := callsOf(t, loop), len(faultPlan.Points())
	for _, noSync := range []bool{false, true} {
		for k := 1; k <= n; k++ {
			m := busy()
			ctx, cancel := context.WithCancel(context.Background())
			m.onCall = func(call int) {
				if call == k {
					cancel()
				}
			}
			r := newTape(t, m)
			plan := faultPlan
			plan.NoSync = noSync
			tally, err := step.OneBatch(ctx, rigOf(m, r), plan, plan.Points())
			cancel()
			h := r.read(t)
			if err != nil && !errors.Is(err, context.Canceled) {
				t.Fatalf("call %d: %v", k, err)
			}
			if (err == nil) != (len(h.points) == points) || tally.OK != len(h.points) {
				t.Fatalf("call %d: %d lines, tally %+v, error %v", k, len(h.points), tally, err)
			}
			if !noSync && m.calls > k+6 { // an empty step and the rest of a timed one
				t.Fatalf("call %d: %d more engine calls", k, m.calls-k)
			}
			if m.log[len(m.log)-1] != "close" && !strings.HasPrefix(m.log[len(m.log)-1], "write bench.Point") {
				t.Fatalf("call %d: the engine is left open: %q", k, m.log[len(m.log)-1])
			}
			if !noSync {
				checkPrefix(t, k, h, full)
			} else if n := len(h.iterations); n > 0 && !cmp.Equal(h.iterations, unsynced.iterations[:n]) {
				t.Fatalf("call %d: iterations:\n%s", k, cmp.Diff(unsynced.iterations, h.iterations))
			}
			resume(t, k, plan, r, h)
		}
	}
}

// checkPrefix checks that an interrupted file is the undisturbed one, cut.
func checkPrefix(t *testing.T, k int, h, full held) {
	t.Helper()
	if n := len(h.steps); n > len(full.steps) || n > 0 && !cmp.Equal(h.steps, full.steps[:n]) {
		t.Fatalf("call %d: the steps are not the first ones of a whole sweep:\n%s", k, cmp.Diff(full.steps, h.steps))
	}
	if len(h.points) > 0 && !cmp.Equal(h.points, full.points[:len(h.points)]) {
		t.Fatalf("call %d: lines:\n%s", k, cmp.Diff(full.points, h.points))
	}
	for _, p := range h.points {
		same := func(s bench.Step) bool { return s.Point == p.Point }
		if !slices.Equal(h.hostNS(same), full.hostNS(same)) {
			t.Fatalf("call %d: point %d lost steps", k, p.Point)
		}
	}
}

// resume goes on with what is left and checks that every point has one line.
func resume(t *testing.T, k int, plan step.Plan, r *tape, before held) {
	t.Helper()
	left := step.Remaining(before.points, plan)
	if len(left)+len(before.points) != len(plan.Points()) {
		t.Fatalf("call %d: %d lines and %d left", k, len(before.points), len(left))
	}
	r.m = busy()
	if _, err := step.OneBatch(context.Background(), rigOf(r.m, r), plan, left); err != nil {
		t.Fatalf("call %d: resumed: %v", k, err)
	}
	var ids []int
	for _, p := range r.read(t).points {
		ids = append(ids, p.Point)
	}
	if !slices.Equal(ids, []int{0, 1}) {
		t.Fatalf("call %d: lines of points %v", k, ids)
	}
}

// An engine that fails at any call fails the point that runs, with the reason,
// and no other.
func TestEngineErrorAnywhere(t *testing.T) {
	n, points := callsOf(t, oneBatch(faultPlan.Points())), len(faultPlan.Points())
	for k := 1; k <= n; k++ {
		m := busy()
		m.failAt = k
		h := sweep(t, m, faultPlan)
		var failed []bench.Point
		for _, p := range h.points {
			if p.Status != bench.StatusOK {
				failed = append(failed, p)
			}
		}
		if len(h.points) != points || len(failed) != 1 {
			t.Fatalf("call %d: %d lines, %d failed", k, len(h.points), len(failed))
		}
		if p := failed[0]; p.Status != bench.StatusFailed || p.Reason == nil || !strings.HasSuffix(*p.Reason, ": injected") {
			t.Fatalf("call %d: line %+v", k, p)
		}
		opens := 0
		for i, entry := range m.log {
			if strings.HasPrefix(entry, "open") {
				opens++
				if i > 0 && !strings.HasPrefix(m.log[i-1], "write bench.Point") {
					t.Fatalf("call %d: opened after %q", k, m.log[i-1])
				}
			}
		}
		if opens != points || len(step.Remaining(h.points, faultPlan)) != 1 {
			t.Fatalf("call %d: %d opened, left %v", k, opens, step.Remaining(h.points, faultPlan))
		}
	}
}

// A raw file that cannot be written ends the sweep with its error.
func TestRecorderErrorAnywhere(t *testing.T) {
	m := busy()
	r := newTape(t, m)
	if err := oneBatch(faultPlan.Points())(context.Background(), rigOf(m, r)); err != nil {
		t.Fatal(err)
	}
	for k := 1; k <= r.writes; k++ {
		m := busy()
		broken := newTape(t, m)
		broken.failAt = k
		err := oneBatch(faultPlan.Points())(context.Background(), rigOf(m, broken))
		if !errors.Is(err, errInjected) || errors.Is(err, context.Canceled) || broken.writes != k {
			t.Fatalf("write %d of %d: %d writes, error %v", k, r.writes, broken.writes, err)
		}
		broken.read(t)
	}
}

func TestSkippedAndUnopenedPoints(t *testing.T) {
	m := busy()
	r := newTape(t, m)
	rig := rigOf(m, r)
	open := rig.Open
	rig.Open = func(ctx context.Context, p step.Point) (step.Opened, error) {
		switch p.ID {
		case 1:
			return step.Opened{}, &step.Skip{Reason: "memory: 20 GB of KV do not fit"}
		case 3:
			return step.Opened{}, errInjected
		}
		return open(ctx, p)
	}
	plan := smallPlan([]int{1, 2}, []int{2}, []int{1, 3, 9})
	plan.MaxPositions = 10
	tally, err := step.OneBatch(context.Background(), rig, plan, plan.Points())
	if err != nil || tally != (step.Tally{OK: 2, Skipped: 3, Failed: 1}) {
		t.Fatalf("OneBatch = %+v, %v", tally, err)
	}
	var got []string
	for _, p := range r.read(t).points {
		text := string(p.Status)
		if p.Reason != nil {
			text += ": " + *p.Reason
		}
		got = append(got, text)
	}
	over := "skipped: input 2 + output 9 is over the model's 10 positions"
	want := []string{"ok", "skipped: memory: 20 GB of KV do not fit", over, "failed: injected", "ok", over}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("lines (-want +got):\n%s", diff)
	}
}

// An engine that could not be opened because of the interruption is no failure.
func TestP131_InterruptedWhileOpening(t *testing.T) {
	m := busy()
	r := newTape(t, m)
	rig := rigOf(m, r)
	ctx, cancel := context.WithCancel(context.Background())
	rig.Open = func(ctx context.Context, _ step.Point) (step.Opened, error) {
		cancel()
		return step.Opened{}, ctx.Err()
	}
	tally, err := step.OneBatch(ctx, rig, faultPlan, faultPlan.Points())
	if !errors.Is(err, context.Canceled) || tally != (step.Tally{}) || len(r.read(t).points) != 0 {
		t.Errorf("OneBatch = %+v, %v, lines %v", tally, err, r.read(t).points)
	}
}
