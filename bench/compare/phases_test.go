package compare

import (
	"math"
	"strings"
	"testing"

	"lathe/bench"
)

// A prefill point is judged by its prefills, the same for both variants and new
// in each repetition.
func TestPrefillPoint(t *testing.T) {
	p := shortPlan(Point{ID: 0, Batch: 2, ContextLen: 32, Phase: bench.Prefill})
	p.PrefillReps = 5
	m := noisy(21, 0.03)
	f := measure(t, m, p)
	for _, s := range f.Steps {
		if s.Phase != bench.Prefill || s.ContextLen != 32 || s.Index != 0 {
			t.Fatalf("step %+v", s)
		}
	}
	r := judge(t, f)
	if r.Verdict != Slower || math.Abs(*r.ChangePercent-3) > 0.5 || r.Points[0].Phase != bench.Prefill || r.Steps != r.Blocks*4*5 {
		t.Errorf("%s %q", r.Verdict, r.Reasons)
	}
}

// The device's own clock decides where every step has one: the host's times say
// something else here. One step without it, and the host decides.
func TestDeviceClockDecides(t *testing.T) {
	m := noisy(22, 0)
	s := newSession(world{white: 0.003}, 23, -0.04, shortPlan())
	s.total = 1e9
	m.device = func(e *engine) int64 {
		ns, _ := s.stepNS(e.variant == VariantB)
		return int64(ns / 2)
	}
	f := measure(t, m, shortPlan(decodeAt(0, 1, 64)))
	r := judge(t, f)
	if pt := r.Points[0]; r.Verdict != Faster || pt.Clock != "device" || math.Abs(*pt.AMedianNS/3.75e6-1) > 0.01 {
		t.Errorf("%s by %s: %q", r.Verdict, r.Points[0].Clock, r.Reasons)
	}
	for i := range f.Steps {
		if !f.Steps[i].Warmup {
			f.Steps[i].DeviceNS = nil
			break
		}
	}
	if r := judge(t, f); r.Verdict != NoDifference || r.Points[0].Clock != "host" {
		t.Errorf("%s by %s: %q", r.Verdict, r.Points[0].Clock, r.Reasons)
	}
}

// What a step's figures say about a kernel that is a part of it.
func TestKernelShare(t *testing.T) {
	if x := KernelDetectable(0.5, 0.009); x == nil || math.Abs(*x-55.555555556) > 1e-9 {
		t.Errorf("0.5 %% of a step in which the kernel has 0.9 %%: %v", x)
	}
	if KernelDetectable(0.5, 0) != nil || KernelDetectable(0.5, math.NaN()) != nil {
		t.Error("no share, and yet a number")
	}
	if w := KernelWarning(0.5, 0.009); !strings.Contains(w, "has 0.9 % of this step") || !strings.Contains(w, "threshold of 0.5 %") {
		t.Errorf("%q", w)
	}
	if w := KernelWarning(0.5, 0.7); w != "" {
		t.Errorf("%q", w)
	}
}

// A dry run's count is what a calm run measures.
func TestEpochSteps(t *testing.T) {
	p := shortPlan(decodeAt(0, 1, 64), Point{ID: 1, Batch: 1, ContextLen: 32, Phase: bench.Prefill})
	p.Looks = []int{2}
	f := measure(t, &machine{cost: func(*engine) int64 { return 1000 }}, p)
	for _, pt := range p.Points {
		n := 0
		for _, s := range f.Steps {
			if s.Point == pt.ID && s.Phase == pt.Phase {
				n++
			}
		}
		if want := 2 * p.EpochSteps(pt); n != want {
			t.Errorf("%s: %d steps in two epochs, want %d", pt, n, want)
		}
	}
}
