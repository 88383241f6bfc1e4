package compare

import (
	"math"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"lathe/bench"
)

// altered gives a copy of a recording with its steps changed.
func altered(f *bench.File, change func(s *bench.Step)) *bench.File {
	c := *f
	c.Steps = slices.Clone(f.Steps)
	for i := range c.Steps {
		change(&c.Steps[i])
	}
	return &c
}

// judgementOf judges the only point of a recording.
func judgementOf(t *testing.T, f *bench.File) judgement {
	t.Helper()
	plan, ev, err := evidenceOf(f)
	if err != nil {
		t.Fatal(err)
	}
	return plan.judgePoint(plan.Points[0], ev[0])
}

func recordings(t *testing.T) map[string]*bench.File {
	t.Helper()
	p := shortPlan(decodeAt(0, 1, 64))
	p.Steps, p.Warmup = 16, 2
	out := map[string]*bench.File{}
	for name, effect := range map[string]float64{"equal": 0, "slower": 0.01, "faster": -0.02, "at the threshold": 0.005} {
		out[name] = measure(t, noisy(11, effect), p)
	}
	return out
}

// Swapping the variants mirrors the change, the interval and the verdict.
func TestSwapMirrors(t *testing.T) {
	mirror := map[Verdict]Verdict{Faster: Slower, Slower: Faster, NoDifference: NoDifference, Inconclusive: Inconclusive}
	a, b := VariantA, VariantB
	for name, f := range recordings(t) {
		one := judgementOf(t, f)
		two := judgementOf(t, altered(f, func(s *bench.Step) {
			if *s.Variant == a {
				s.Variant = &b
			} else {
				s.Variant = &a
			}
		}))
		if two.verdict != mirror[one.verdict] {
			t.Errorf("%s: %s, swapped %s", name, one.verdict, two.verdict)
		}
		x, y := one.est, two.est
		if x.mean != -y.mean || x.lo != -y.hi || x.hi != -y.lo || x.p != y.p || x.signFlip != y.signFlip ||
			x.detectable != y.detectable || x.threshold != y.threshold || math.Abs(x.shift+y.shift) > 1e-15 {
			t.Errorf("%s: %+v\nswapped %+v", name, x, y)
		}
	}
}

// Times in another unit change nothing.
func TestScalingChangesNothing(t *testing.T) {
	for name, f := range recordings(t) {
		one := judgementOf(t, f)
		for _, c := range []int64{3, 1000} {
			two := judgementOf(t, altered(f, func(s *bench.Step) { s.HostNS *= c; s.TNS *= c }))
			if one.verdict != two.verdict || math.Abs(one.est.mean-two.est.mean) > 1e-12 ||
				math.Abs(one.est.lo-two.est.lo) > 1e-12 || math.Abs(one.est.threshold-two.est.threshold) > 1e-12 {
				t.Errorf("%s times %d: %s %v, was %s %v", name, c, two.verdict, two.est, one.verdict, one.est)
			}
		}
	}
}

// A drift that both variants see, 1.5 % over the recording, moves the change by
// less than 0.02 %.
func TestDriftCancels(t *testing.T) {
	for name, f := range recordings(t) {
		one := judgementOf(t, f)
		first, last := f.Steps[0].TNS, f.Steps[len(f.Steps)-1].TNS
		for _, drift := range []float64{0.015, -0.015} {
			two := judgementOf(t, altered(f, func(s *bench.Step) {
				at := float64(s.TNS-first) / float64(last-first)
				s.HostNS = int64(float64(s.HostNS) * (1 + drift*at))
			}))
			if d := math.Abs(one.est.mean - two.est.mean); d >= 0.0002 || one.verdict != two.verdict {
				t.Errorf("%s, drift %+g: the change moves by %.5f, %s to %s", name, drift, d, one.verdict, two.verdict)
			}
		}
	}
}

// Each step written twice is no new evidence: nothing changes but the count.
func TestDuplicatedStepsChangeNothing(t *testing.T) {
	for name, f := range recordings(t) {
		one := judge(t, f)
		c := *f
		c.Steps = nil
		for _, s := range f.Steps {
			c.Steps = append(c.Steps, s, s)
		}
		two := judge(t, &c)
		if two.Steps != 2*one.Steps {
			t.Errorf("%s: %d steps, doubled %d", name, one.Steps, two.Steps)
		}
		for _, r := range []*Result{&one, &two} {
			r.Steps, r.Reasons = 0, nil
			r.Points[0].Steps, r.Points[0].Reasons, r.Points[0].Votes = 0, nil, nil
		}
		if diff := cmp.Diff(one, two); diff != "" {
			t.Errorf("%s (-once +twice):\n%s", name, diff)
		}
	}
}
