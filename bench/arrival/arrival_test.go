package arrival

import (
	"encoding/json"
	"errors"
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	"lathe/bench/pyrand"
)

// A5: at a fixed rate the last request of vLLM is due at exactly n/rate.
func TestVLLMNormalises(t *testing.T) {
	for _, b := range []float64{0.2, 1, 4, math.Inf(1)} {
		s, err := VLLM{N: 1000, Rate: 50, Burstiness: b}.Schedule(numpy(t, 7))
		if err != nil {
			t.Fatal(err)
		}
		if last := s.Seconds[999]; math.Abs(last-20) > 1e-9 {
			t.Errorf("burstiness %v: last offset %v, want 20", b, last)
		}
		if !slices.IsSorted(s.Seconds) {
			t.Errorf("burstiness %v: offsets are not in order", b)
		}
		gaps := gapsOf(s.Offsets())
		if cv := *variation(gaps); !math.IsInf(b, 1) && math.Abs(cv*cv*b-1) > 0.25 {
			t.Errorf("burstiness %v: squared variation of the gaps is %v, want about %v", b, cv*cv, 1/b)
		}
	}
}

func TestVLLMValidate(t *testing.T) {
	inf := math.Inf(1)
	for name, c := range map[string]struct {
		flags VLLM
		want  string
	}{
		"fixed":            {VLLM{N: 1, Rate: 2, Burstiness: 1}, ""},
		"linear":           {VLLM{N: 1, Rate: inf, Burstiness: 1, Ramp: LinearRamp, Start: 0, End: 4}, ""},
		"rate and ramp":    {VLLM{N: 1, Rate: 2, Burstiness: 1, Ramp: LinearRamp, Start: 1, End: 4}, "exclude each other"},
		"falling":          {VLLM{N: 1, Rate: inf, Burstiness: 1, Ramp: LinearRamp, Start: 5, End: 4}, "below the last"},
		"negative":         {VLLM{N: 1, Rate: inf, Burstiness: 1, Ramp: LinearRamp, Start: -1, End: 4}, "negative"},
		"exponential at 0": {VLLM{N: 1, Rate: inf, Burstiness: 1, Ramp: ExponentialRamp, End: 4}, "cannot start at 0"},
		"unknown":          {VLLM{N: 1, Rate: inf, Burstiness: 1, Ramp: "cubic"}, "linear or exponential"},
	} {
		err := c.flags.Validate()
		if c.want == "" && err != nil || c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)) {
			t.Errorf("%s: %v, want %q", name, err, c.want)
		}
	}
}

func TestRefusals(t *testing.T) {
	r := numpy(t, 0)
	for name, draw := range map[string]func() (Schedule, error){
		"vllm":     func() (Schedule, error) { return VLLM{Rate: 1, Burstiness: 1}.Schedule(r) },
		"sglang":   func() (Schedule, error) { return SGLang(r, 0, 1) },
		"constant": func() (Schedule, error) { return Constant(0, 1) },
		"poisson":  func() (Schedule, error) { return Poisson(r, -1, 1) },
		"replay":   func() (Schedule, error) { return SGLangTrace(nil, 1) },
	} {
		if _, err := draw(); !errors.Is(err, ErrCount) {
			t.Errorf("%s without requests: %v", name, err)
		}
	}
	for name, draw := range map[string]func() (Schedule, error){
		"vllm":     func() (Schedule, error) { return VLLM{N: 1, Rate: math.NaN(), Burstiness: 1}.Schedule(r) },
		"sglang":   func() (Schedule, error) { return SGLang(r, 1, 0) },
		"constant": func() (Schedule, error) { return Constant(1, -2) },
		"poisson":  func() (Schedule, error) { return Poisson(r, 1, 0) },
	} {
		if _, err := draw(); !errors.Is(err, ErrRate) {
			t.Errorf("%s at a bad rate: %v", name, err)
		}
	}
	if _, err := Replay([]float64{1, math.NaN()}, func(v float64) float64 { return v }); err == nil {
		t.Error("a trace with NaN")
	}
}

func TestConstantAndPoisson(t *testing.T) {
	s, err := Constant(4, 8)
	if err != nil || !slices.Equal(s.Offsets(), []time.Duration{0, 125e6, 250e6, 375e6}) {
		t.Errorf("constant: %v %v", s.Offsets(), err)
	}
	s, err = Poisson(numpy(t, 3), 20000, 1000)
	if err != nil {
		t.Fatal(err)
	}
	if rate := *rateOf(gapsOf(s.Offsets())); math.Abs(rate/1000-1) > 0.03 {
		t.Errorf("poisson: rate %v", rate)
	}
	if d, ok := KSExponential(gapsOf(s.Offsets())); !ok || d > 0.015 {
		t.Errorf("poisson: distance %v %v", d, ok)
	}
	s, err = Poisson(numpy(t, 3), 3, math.Inf(1))
	if err != nil || !slices.Equal(s.Seconds, []float64{0, 0, 0}) {
		t.Errorf("poisson at an infinite rate: %v %v", s.Seconds, err)
	}
	far, err := Constant(2, 1e-12)
	if err != nil || far.Offsets()[1] != math.MaxInt64 {
		t.Errorf("an offset of 31,000 years: %v %v", far.Offsets(), err)
	}
}

func TestScheduleJSON(t *testing.T) {
	s, err := SGLang(numpy(t, 0), 2, math.Inf(1))
	if err != nil {
		t.Fatal(err)
	}
	if got, err := json.Marshal(s); err != nil || string(got) != `{"offsets_s":[0,0],"rates":["inf","inf"]}` {
		t.Errorf("%s %v", got, err)
	}
}

func TestTraces(t *testing.T) {
	s, err := SGLangTrace([]float64{3000, 1000, 1500}, 2)
	if err != nil || !slices.Equal(s.Seconds, []float64{0, 1, 4}) {
		t.Errorf("mooncake: %v %v", s.Seconds, err)
	}
	if s := VLLMTrace([]float64{5, 1}); !slices.Equal(s.Seconds, []float64{5, 1}) || !slices.Equal(s.Rates, []float64{0, 0}) {
		t.Errorf("timed trace: %v", s)
	}
}

func TestClosedLoop(t *testing.T) {
	c, err := NewClosedLoop(numpy(t, 1), 2, 6, ConstantThink, 0.5)
	if err != nil {
		t.Fatal(err)
	}
	// Two clients, one second a request, half a second of thinking.
	if got := c.Sends(func(int) float64 { return 1 }); !slices.Equal(got, []float64{0, 0, 1.5, 1.5, 3, 3}) {
		t.Errorf("sends %v", got)
	}
	c, err = NewClosedLoop(numpy(t, 1), 10, 5000, ExponentialThink, 0.2)
	if err != nil {
		t.Fatal(err)
	}
	if mean := meanOf(c.ThinkSeconds[10:]); math.Abs(mean-0.2) > 0.01 {
		t.Errorf("mean think time %v", mean)
	}
	for _, bad := range []func() (ClosedLoop, error){
		func() (ClosedLoop, error) { return NewClosedLoop(numpy(t, 1), 0, 5, ConstantThink, 1) },
		func() (ClosedLoop, error) { return NewClosedLoop(numpy(t, 1), 1, 0, ConstantThink, 1) },
		func() (ClosedLoop, error) { return NewClosedLoop(numpy(t, 1), 1, 5, "often", 1) },
		func() (ClosedLoop, error) { return NewClosedLoop(numpy(t, 1), 1, 5, ConstantThink, math.Inf(1)) },
	} {
		if _, err := bad(); err == nil {
			t.Error("a closed loop that cannot be")
		}
	}
}

// dispatch sends a schedule with a client that needs overhead for each request:
// absolute offsets are waited for, relative gaps are slept behind the overhead.
func dispatch(s Schedule, overhead time.Duration) []time.Duration {
	var now time.Duration
	sent := make([]time.Duration, len(s.Seconds))
	offsets, sleeps := s.Offsets(), s.Sleeps()
	for i := range sent {
		if !s.Relative() {
			now = max(now, offsets[i])
		}
		sent[i] = now
		now += overhead
		if s.Relative() {
			now += sleeps[i]
		}
	}
	return sent
}

// P088: an absolute schedule keeps its rate whatever a send costs; SGLang's
// sleep-after-send drifts, and the drift is reported.
func TestP088_RateDoesNotLag(t *testing.T) {
	s, err := VLLM{N: 2000, Rate: 200, Burstiness: 1}.Schedule(numpy(t, 0))
	if err != nil {
		t.Fatal(err)
	}
	sent := dispatch(s, 100*time.Microsecond)
	r, err := Realise(s.Offsets(), sent)
	if err != nil {
		t.Fatal(err)
	}
	if last := sent[1999]; last < 9900*time.Millisecond || last > 10100*time.Millisecond {
		t.Errorf("last send at %v, want 10 s", last)
	}
	if off := *r.Rate/200 - 1; math.Abs(off) > 0.01 {
		t.Errorf("achieved rate %v", *r.Rate)
	}
	if p99 := time.Duration(r.Lag.P99NS); p99 >= 2*time.Millisecond {
		t.Errorf("send lag p99 %v", p99)
	}
	if w := r.Warnings(Limits{RateOff: 0.01, LagP99: 2 * time.Millisecond, KSAbove: 0.06}, true); len(w) != 0 {
		t.Errorf("warnings %v", w)
	}

	s, err = SGLang(numpy(t, 0), 2000, 200)
	if err != nil {
		t.Fatal(err)
	}
	r, err = Realise(s.Offsets(), dispatch(s, 500*time.Microsecond))
	if err != nil {
		t.Fatal(err)
	}
	if drift := time.Duration(r.DriftNS); drift < 999*time.Millisecond || drift > 1001*time.Millisecond {
		t.Errorf("drift %v, want 1999 overheads of 0.5 ms", drift)
	}
	if w := r.Warnings(DefaultLimits(), true); len(w) == 0 || !strings.Contains(w[0], "drift") {
		t.Errorf("warnings %v", w)
	}
}

// P099: rate and concurrency are tied by Little's law.
func TestP099_LittlesLaw(t *testing.T) {
	s, err := Constant(60, 2)
	if err != nil {
		t.Fatal(err)
	}
	starts := s.Offsets()
	ends := make([]time.Duration, len(starts))
	for i, at := range starts {
		ends[i] = at + 3*time.Second
	}
	o, err := InFlight(starts, ends)
	if err != nil {
		t.Fatal(err)
	}
	if o.Steady == nil || math.Abs(*o.Steady-6) > 0.2 {
		t.Errorf("steady mean in flight %v, want 6", o.Steady)
	}
	if little := *rateOf(gapsOf(starts)) * 3; math.Abs(*o.Steady/little-1) > 0.05 {
		t.Errorf("rate times latency is %v, in flight %v", little, *o.Steady)
	}
	if o.Peak != 6 {
		t.Errorf("peak %d, want 6: an end frees its place for the start at the same moment", o.Peak)
	}
	if o.Mean < 5 || o.Mean > 6 {
		t.Errorf("mean over the whole run %v", o.Mean)
	}
	if _, err := InFlight([]time.Duration{5}, []time.Duration{4}); err == nil {
		t.Error("a request that ends before it starts")
	}
}

// P105: a burst across a whole second is one burst, wherever the run began.
func TestP105_BurstAcrossBuckets(t *testing.T) {
	for shift := range 10 {
		by := time.Duration(shift) * 100 * time.Millisecond
		if got := PeakInWindow([]time.Duration{1400*time.Millisecond + by, 600*time.Millisecond + by}, time.Second); got != 2 {
			t.Errorf("shifted by %v: peak %d, want 2", by, got)
		}
	}
	if got := PeakInWindow([]time.Duration{0, time.Second, 2 * time.Second}, time.Second); got != 1 {
		t.Errorf("a window of one second is half open: peak %d, want 1", got)
	}
	if PeakInWindow(nil, time.Second) != 0 || PeakInWindow([]time.Duration{1}, 0) != 0 {
		t.Error("no events or no width")
	}
}

func TestRealise(t *testing.T) {
	planned := []time.Duration{0, 100, 200, 300, 400}
	r, err := Realise(planned, []time.Duration{10, 110, 210, 310, 500})
	if err != nil {
		t.Fatal(err)
	}
	if want := (Lag{P50NS: 10, P90NS: 64, P99NS: 96, P999NS: 100, MaxNS: 100}); r.Lag != want || r.DriftNS != 100 || r.N != 5 {
		t.Errorf("lag %+v drift %d, want %+v", r.Lag, r.DriftNS, want)
	}
	one, err := Realise([]time.Duration{5}, []time.Duration{6})
	if err != nil || one.Rate != nil || one.KS != nil || one.GapCV != nil {
		t.Errorf("one request has no rate: %+v %v", one, err)
	}
	if _, err := Realise(planned, planned[1:]); err == nil {
		t.Error("lengths differ")
	}
	if len(one.Warnings(DefaultLimits(), true)) != 0 {
		t.Error("one request gives no warning")
	}
}

// Sends that a timer of whole milliseconds would give stand far from exponential
// gaps at 1000/s (Go's own timers: 0.28), those of the schedule do not.
func TestKSSeesClumps(t *testing.T) {
	s, err := Poisson(numpy(t, 5), 30000, 1000)
	if err != nil {
		t.Fatal(err)
	}
	clumped := s.Offsets()
	for i, at := range clumped {
		clumped[i] = (at + 999999) / 1000000 * 1000000
	}
	r, err := Realise(s.Offsets(), clumped)
	if err != nil {
		t.Fatal(err)
	}
	if *r.PlannedKS > 0.02 || *r.KS < 0.2 {
		t.Errorf("distance of the schedule %v, of clumped sends %v", *r.PlannedKS, *r.KS)
	}
	if w := r.Warnings(DefaultLimits(), true); len(w) != 1 || !strings.Contains(w[0], "clump") {
		t.Errorf("warnings %v", w)
	}
	if w := r.Warnings(DefaultLimits(), false); len(w) != 0 {
		t.Errorf("a law that is not exponential: warnings %v", w)
	}
}

// The arrivals start from what the dataset left of the stream.
func TestStreamsShareTheirState(t *testing.T) {
	s, err := pyrand.NewStreams(42)
	if err != nil {
		t.Fatal(err)
	}
	fresh, _ := SGLang(s.NumPy, 1, 6)
	if math.Abs(fresh.Gaps[0]-0.07821134832947652) > 1e-15 {
		t.Errorf("first gap %v", fresh.Gaps[0])
	}
	second, _ := SGLang(s.NumPy, 1, 6)
	if math.Abs(second.Gaps[0]-0.5016869051529201) > 1e-15 {
		t.Errorf("second gap %v", second.Gaps[0])
	}
}
