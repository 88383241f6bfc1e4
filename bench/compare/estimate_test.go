package compare

import (
	"fmt"
	"math"
	"math/rand/v2"
	"reflect"
	"testing"

	"lathe/bench/stat"
)

// Student's t over six epochs, by hand: mean 3.5, s 1.8708, se 0.76376;
// t(0.975, 5) = 2.5706 and t(0.95, 5) = 2.0150 of the printed tables.
func TestEstimateOfKnownNumbers(t *testing.T) {
	e, ok := newEstimate([]float64{1, 2, 3, 4, 5, 6}, 0.05, 1)
	if !ok {
		t.Fatal("no estimate")
	}
	for name, c := range map[string][2]float64{
		"mean": {e.mean, 3.5}, "sd": {e.sd, 1.870829}, "se": {e.se, 0.763763},
		"lo": {e.lo, 3.5 - 2.570582*0.763763}, "hi": {e.hi, 3.5 + 2.570582*0.763763},
		"one-sided lo": {e.tostLo, 3.5 - 2.015048*0.763763},
		"p":            {e.p, 0.005934}, // scipy.stats.ttest_1samp
		"sign flip":    {e.signFlip, 2.0 / 64},
		"shift":        {e.shift, 3.5},
		"detectable":   {e.detectable, (2.570582 + 0.919544) * 0.763763},
	} {
		if math.Abs(c[0]-c[1]) > 2e-5 {
			t.Errorf("%s = %.6f, want %.6f", name, c[0], c[1])
		}
	}
	if _, ok := newEstimate([]float64{1}, 0.05, 1); ok {
		t.Error("an estimate of one epoch")
	}
	same, _ := newEstimate([]float64{0, 0, 0}, 0.05, 0.005)
	if same.p != 1 || decide(same, false) != NoDifference {
		t.Errorf("equal epochs: %+v", same)
	}
}

// The sign-flip test against a plain enumeration.
func TestSignFlipAgainstEnumeration(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 1))
	for range 200 {
		xs := make([]float64, 2+rng.IntN(8))
		for i := range xs {
			xs[i] = float64(rng.IntN(7) - 3) // with ties and zeros
		}
		var observed float64
		for _, x := range xs {
			observed += x
		}
		count := 0
		for mask := range 1 << len(xs) {
			var sum float64
			for i, x := range xs {
				if mask>>i&1 == 1 {
					x = -x
				}
				sum += x
			}
			if math.Abs(sum) >= math.Abs(observed) {
				count++
			}
		}
		want := float64(count) / float64(int(1)<<len(xs))
		if got := signFlip(xs); got != want {
			t.Fatalf("signFlip(%v) = %v, want %v", xs, got, want)
		}
	}
	if signFlip(make([]float64, signFlipMost+1)) != -1 {
		t.Error("too many epochs were enumerated")
	}
}

func TestDecide(t *testing.T) {
	at := func(lo, mean, hi float64) estimate {
		// The one-sided interval is narrower than the two-sided one.
		return estimate{lo: lo, mean: mean, hi: hi, tostLo: mean - 0.85*(mean-lo), tostHi: mean + 0.85*(hi-mean), threshold: 0.5}
	}
	for name, c := range map[string]struct {
		e            estimate
		want, strict Verdict
	}{
		"faster":                           {at(-1.2, -1, -0.8), Faster, Faster},
		"slower":                           {at(0.8, 1, 1.2), Slower, Slower},
		"slower, interval over threshold":  {at(0.3, 1, 1.7), Slower, undecided},
		"at the threshold":                 {at(0.4, 0.5, 0.6), Slower, undecided},
		"significant, below the threshold": {at(0.1, 0.2, 0.3), NoDifference, NoDifference},
		"no difference":                    {at(-0.3, 0, 0.3), NoDifference, NoDifference},
		"zero inside, beyond threshold":    {at(-0.1, 0.6, 1.3), undecided, undecided},
		"wide":                             {at(-2, 0, 2), undecided, undecided},
		"below, reaches the threshold":     {at(0.1, 0.4, 0.7), undecided, undecided},
	} {
		if got := decide(c.e, false); got != c.want {
			t.Errorf("%s: %q, want %q", name, got, c.want)
		}
		if got := decide(c.e, true); got != c.strict {
			t.Errorf("%s, strict: %q, want %q", name, got, c.strict)
		}
	}
	for v, want := range map[Verdict]int{Faster: 0, NoDifference: 0, Slower: 1, Inconclusive: 3, Invalid: 4} {
		if v.ExitCode() != want {
			t.Errorf("exit code of %s: %d, want %d", v, v.ExitCode(), want)
		}
	}
}

// Holm and Benjamini-Hochberg on the example of Benjamini and Hochberg (1995),
// section 3.2: Bonferroni-like procedures reject three, theirs four.
func TestMultiplePoints(t *testing.T) {
	ps := []float64{0.0001, 0.0004, 0.0019, 0.0095, 0.0201, 0.0278, 0.0298, 0.0344, 0.0459, 0.3240, 0.4262, 0.5719, 0.6528, 0.7590, 1}
	count := func(bs []bool) (n int) {
		for _, b := range bs {
			if b {
				n++
			}
		}
		return n
	}
	if n := count(holm(ps, 0.05)); n != 3 {
		t.Errorf("Holm rejects %d, want 3", n)
	}
	if n := count(benjaminiHochberg(ps, 0.05)); n != 4 {
		t.Errorf("Benjamini-Hochberg finds %d, want 4", n)
	}
	if got := holm([]float64{0.04, 0.01}, 0.05); !reflect.DeepEqual(got, []bool{true, true}) {
		t.Errorf("holm = %v", got)
	}
	if overall(0.0221, 0.0221) > 0.05+1e-12 || overall(0.01, 0.05) != 0.01 || overall(0.9, 0.0221) != 1 {
		t.Error("overall")
	}
}

// The exact bounds that certify a false alarm rate of at most 5 %.
func TestCalibrationBounds(t *testing.T) {
	for _, c := range []struct {
		alarms, runs int
		certifies    bool
	}{{0, 60, true}, {0, 57, false}, {4, 200, true}, {5, 200, false}, {12, 400, true}, {13, 400, false}, {38, 1000, true}, {39, 1000, false}} {
		if got := upperRate(c.alarms, c.runs); (got <= 0.05) != c.certifies {
			t.Errorf("%d alarms of %d: at most %.4f", c.alarms, c.runs, got)
		}
	}
}

// Power's promise holds: at the number of epochs that it names a change is
// called slower in about 80 % of the runs (normal epochs, one look).
func TestPowerKeepsItsPromise(t *testing.T) {
	for _, c := range []struct{ spread, threshold, change float64 }{{0.5, 0.5, 1}, {0.3, 0.5, 0.8}, {1.5, 0.5, 2}} {
		t.Run(fmt.Sprint(c), func(t *testing.T) {
			r, err := Power(PowerOptions{SpreadPercent: c.spread, ThresholdPercent: c.threshold, ChangePercent: c.change, Alpha: 0.0221, Epoch: 1e9})
			if err != nil || r.Epochs == nil {
				t.Fatalf("%+v, %v", r, err)
			}
			if r.Duration.Seconds() != float64(*r.Epochs) {
				t.Errorf("%d epochs of a second take %v", *r.Epochs, r.Duration)
			}
			rng := rand.New(rand.NewPCG(9, 9))
			const runs = 3000
			found := 0
			for range runs {
				xs := make([]float64, *r.Epochs)
				for i := range xs {
					xs[i] = math.Log1p(c.change/100) + math.Log1p(c.spread/100)*rng.NormFloat64()
				}
				e, _ := newEstimate(xs, 0.0221, math.Log1p(c.threshold/100))
				if decide(e, false) == Slower {
					found++
				}
			}
			if share := float64(found) / runs; share < 0.76 || share > 0.95 {
				t.Errorf("%d epochs: found in %.3f of the runs", *r.Epochs, share)
			}
		})
	}
	if r, err := Power(PowerOptions{SpreadPercent: 0.1, ThresholdPercent: 0.5, ChangePercent: 0.5, Alpha: 0.0221}); err != nil || r.Epochs != nil || r.Reason == "" {
		t.Errorf("a change at the threshold: %+v, %v", r, err)
	}
	if _, err := Power(PowerOptions{ChangePercent: math.NaN()}); err == nil {
		t.Error("NaN accepted")
	}
}

// A drift within a block cancels in the contrast of like slots, and independent
// noise gives it the variance of a change.
func TestLikeContrast(t *testing.T) {
	if c := likeContrast([4]float64{1, 2, 3, 4}); math.Abs(c) > 1e-15 {
		t.Errorf("drift: %v", c)
	}
	rng := rand.New(rand.NewPCG(2, 3))
	var square float64
	const n = 20000
	for range n {
		c := likeContrast([4]float64{rng.NormFloat64(), rng.NormFloat64(), rng.NormFloat64(), rng.NormFloat64()})
		square += c * c
	}
	if v := square / n; math.Abs(v-1) > 0.05 {
		t.Errorf("variance %v, want 1", v)
	}
}

// The slope without sorting is the slope of package stat, bit for bit.
func TestSlopeIsTheSame(t *testing.T) {
	rng := rand.New(rand.NewPCG(4, 4))
	for range 300 {
		n := 1 + rng.IntN(40)
		x, y := make([]float64, n), make([]float64, n)
		for i := range x {
			x[i], y[i] = float64(rng.IntN(n)), float64(rng.IntN(1000)) // with ties
		}
		want, ok := stat.Slope(x, y)
		if got, ok2 := slopeOf(x, y); got != want || ok != ok2 {
			t.Fatalf("slopeOf(%v, %v) = %v, %t, want %v, %t", x, y, got, ok2, want, ok)
		}
	}
}

// Three looks at the nominal 0.0221, with no threshold: a little over 5 % of
// runs without a change are called changed, where three looks at 0.05 would
// call about twice as many.
func TestLooksHoldTheLevel(t *testing.T) {
	rng := rand.New(rand.NewPCG(8, 1))
	const runs = 20000
	var corrected, plain int
	for range runs {
		xs := make([]float64, 12)
		for i := range xs {
			xs[i] = rng.NormFloat64()
		}
		c, p := false, false
		for _, at := range DefaultPlan().Looks {
			mean, _ := stat.Mean(xs[:at])
			sd, _ := stat.SampleStd(xs[:at])
			pv := tTest(mean, sd/math.Sqrt(float64(at)), studentsT(float64(at-1)))
			c, p = c || pv <= DefaultPlan().Alpha, p || pv <= overallAlpha
		}
		if c {
			corrected++
		}
		if p {
			plain++
		}
	}
	share, uncorrected := 100*float64(corrected)/runs, 100*float64(plain)/runs
	t.Logf("called changed: %.2f %%, at 0.05 a look %.2f %%", share, uncorrected)
	if share > 5.8 || share < 4 || uncorrected < 8 {
		t.Errorf("called changed: %.2f %%, at 0.05 a look %.2f %%", share, uncorrected)
	}
}
