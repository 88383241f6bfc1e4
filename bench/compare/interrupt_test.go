package compare

import (
	"context"
	"errors"
	"strings"
	"testing"

	"lathe/bench"
	"lathe/bench/step"
)

func faultPlan() Plan {
	p := shortPlan(decodeAt(0, 1, 8), Point{ID: 1, Batch: 1, ContextLen: 4, Phase: bench.Prefill})
	p.Looks, p.Blocks, p.Steps, p.PrefillReps, p.ExtraBlocks = []int{2}, 3, 2, 1, 0
	return p
}

// P131: interrupted at any call, at most the running step is finished, what is
// recorded is whole blocks and a last part, no point is closed, and the file can
// be judged.
func TestP131_InterruptAnywhere(t *testing.T) {
	calls := func() int {
		m := &machine{cost: func(*engine) int64 { return 1000 }}
		measure(t, m, faultPlan())
		return m.calls
	}()
	for k := 1; k <= calls; k += 7 {
		m := &machine{cost: func(*engine) int64 { return 1000 }}
		ctx, cancel := context.WithCancel(context.Background())
		m.onCall = func(call int) {
			if call == k {
				cancel()
			}
		}
		r := &tape{}
		err := Run(ctx, rigOf(m, r, true), faultPlan())
		cancel()
		if err == nil && m.calls == calls {
			continue // during the last step of the last block: nothing was left to do
		}
		if !errors.Is(err, context.Canceled) || !strings.Contains(err.Error(), "stopped at ") {
			t.Fatalf("cancelled at call %d: %v", k, err)
		}
		// Drain, submission and wait of the running step.
		if m.calls > k+3 {
			t.Fatalf("cancelled at call %d, %d were made", k, m.calls)
		}
		if len(r.file.Points) > 0 {
			t.Fatalf("cancelled at call %d: %d points closed", k, len(r.file.Points))
		}
		got := judge(t, &r.file)
		if got.Verdict != Inconclusive || got.Complete || len(got.Points) != 2 {
			t.Fatalf("cancelled at call %d: %+v", k, got)
		}
	}
}

// An engine that fails at any call closes its point as failed; the other point
// goes on and is judged; the whole is invalid.
func TestEngineFailsAnywhere(t *testing.T) {
	whole := &machine{cost: func(*engine) int64 { return 1000 }}
	measure(t, whole, faultPlan())
	for k := 1; k <= whole.calls; k += 11 {
		m := &machine{cost: func(*engine) int64 { return 1000 }, failAt: k}
		f := measure(t, m, faultPlan())
		failed := 0
		for _, p := range f.Points {
			if p.Status == bench.StatusFailed {
				failed++
				if p.Reason == nil || !strings.Contains(*p.Reason, "injected") {
					t.Fatalf("failed at call %d: reason %v", k, p.Reason)
				}
			}
		}
		r := judge(t, f)
		if failed != 1 || len(f.Points) != 2 || r.Verdict != Invalid || !strings.Contains(r.Reasons[0], "injected") {
			t.Fatalf("failed at call %d: %d points failed, %s %q", k, failed, r.Verdict, r.Reasons)
		}
	}
}

// A recorder that fails at any write ends the run at once, with its error.
func TestRecorderFailsAnywhere(t *testing.T) {
	r := &tape{}
	m := &machine{cost: func(*engine) int64 { return 1000 }}
	if err := Run(context.Background(), rigOf(m, r, true), faultPlan()); err != nil {
		t.Fatal(err)
	}
	for k := 1; k <= r.writes; k++ {
		broken := &tape{failAt: k}
		m := &machine{cost: func(*engine) int64 { return 1000 }}
		err := Run(context.Background(), rigOf(m, broken, true), faultPlan())
		if !errors.Is(err, errInjected) || broken.writes != k {
			t.Fatalf("write %d failed: %v after %d writes", k, err, broken.writes)
		}
	}
}

// A point that does not fit is skipped with its reason, before or after opening;
// the others are judged.
func TestSkippedPoints(t *testing.T) {
	p := shortPlan(decodeAt(0, 1, 8), decodeAt(1, 1, 5000), decodeAt(2, 64, 8))
	p.MaxPositions = 4096
	f := measure(t, noisy(1, 0), p, func(rig *Rig) {
		open := rig.Open
		rig.Open = func(ctx context.Context, e int, v Visit) (Pair, error) {
			if v.Point.Batch == 64 {
				return Pair{}, &step.Skip{Reason: "memory: two variants"}
			}
			return open(ctx, e, v)
		}
	})
	for i, want := range []string{"", "over the model's 4096 positions", "memory: two variants"} {
		pt := f.Points[i]
		if want == "" && pt.Status != bench.StatusOK ||
			want != "" && (pt.Status != bench.StatusSkipped || !strings.Contains(*pt.Reason, want)) {
			t.Errorf("point %d: %+v", i, pt)
		}
	}
	r := judge(t, f)
	if r.Verdict != NoDifference || r.Points[0].Verdict != NoDifference || r.Points[1].Verdict != Inconclusive {
		t.Errorf("%s, points %s %s", r.Verdict, r.Points[0].Verdict, r.Points[1].Verdict)
	}
	if text := strings.Join(r.Reasons, "\n"); !strings.Contains(text, "memory: two variants") || !strings.Contains(text, "mean of 1 points") {
		t.Errorf("reasons:\n%s", text)
	}
}

func TestCachedPromptTokensFailThePoint(t *testing.T) {
	m := noisy(1, 0)
	m.cached = 3
	r := judge(t, measure(t, m, shortPlan(decodeAt(0, 1, 8))))
	if r.Verdict != Invalid || !strings.Contains(r.Reasons[0], "3 prompt tokens came from a cache") {
		t.Errorf("%s %q", r.Verdict, r.Reasons)
	}
}
