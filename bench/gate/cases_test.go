package gate

import (
	"math"
	"strings"
	"testing"

	"lathe/bench"
)

func keyOf(batch int) Key {
	return Key{Device: "Test GPU", Driver: "550", Runtime: "12.4", Model: "preset:llama-3-8b", DType: "bf16", Phase: bench.Decode, Batch: batch, ContextLen: 1024, Graph: "captured"}
}

// limitOf is a bound with limits that many percent from its median.
func limitOf(batch int, medianMS, percent float64) Bound {
	ns := medianMS * 1e6
	return Bound{Key: keyOf(batch), MedianNS: ns, UpperNS: ns * (1 + percent/100), LowerNS: ns * (1 - percent/100), N: 10}
}

func boundsOf(list ...Bound) Bounds { return Bounds{Schema: Schema, Bounds: list} }

// runsOf are runs of one key, a value each, in ms.
func runsOf(batch int, ms ...float64) []Run {
	var runs []Run
	for _, v := range ms {
		runs = append(runs, Run{Name: "raw.jsonl", Measurements: []Measurement{{Key: keyOf(batch), ValueNS: v * 1e6, N: 100}}})
	}
	return runs
}

// perToken makes a rate a time: bounds hold times only.
func perToken(rates ...float64) []float64 {
	ms := make([]float64, len(rates))
	for i, r := range rates {
		ms[i] = 1000 / r
	}
	return ms
}

func only(t *testing.T, r Report) Case {
	t.Helper()
	if len(r.Cases) != 1 {
		t.Fatalf("%d cases: %+v", len(r.Cases), r)
	}
	return r.Cases[0]
}

// P182: near a hard floor (98 tokens a second, a band of 2 %) a miss that stays
// within the band is inconclusive after two re-measurements, with an exit code of
// its own; a clear miss fails; what keeps the floor passes.
func TestP182_NearTheBound(t *testing.T) {
	floor := limitOf(1, perToken(100)[0], 0)
	floor.UpperNS = perToken(98)[0] * 1e6
	for _, c := range []struct {
		rates []float64
		want  Outcome
	}{
		{[]float64{97.2, 96.8, 97.5}, Inconclusive},
		{[]float64{90, 91, 89}, Fail},
		{[]float64{99, 100, 101}, Pass},
		{[]float64{97.2, 99, 100}, Pass},
		{[]float64{90, 91, 100}, Fail},
	} {
		r := Check(boundsOf(floor), runsOf(1, perToken(c.rates...)...), Options{Band: 0.02})
		if r.Outcome != c.want || only(t, r).Confirm {
			t.Errorf("%v: %s %q", c.rates, r.Outcome, r.Reasons)
		}
	}
	one := Check(boundsOf(floor), runsOf(1, perToken(90)...), Options{Band: 0.02})
	if keys := one.Unconfirmed(); len(keys) != 1 || !keys[0].equal(keyOf(1)) {
		t.Errorf("a first miss asks for no confirmation: %+v", one)
	}
	codes := map[int]bool{}
	for _, o := range []Outcome{Pass, Fail, Inconclusive, Invalid} {
		codes[o.ExitCode()] = true
	}
	if len(codes) != 4 || Inconclusive.ExitCode() != 3 || Invalid.ExitCode() != 4 {
		t.Errorf("exit codes %v", codes)
	}
}

// P184: an improvement passes and suggests a new golden; less is better.
func TestP184_ImprovementPasses(t *testing.T) {
	r := Check(boundsOf(limitOf(1, 10, 10)), runsOf(1, 4), Options{})
	c := only(t, r)
	if r.Outcome != Pass || len(c.Notes) != 1 || c.Notes[0] != "improved 60 %, update golden" || *c.ChangePercent != -60 {
		t.Errorf("%s %q %v", r.Outcome, c.Notes, *c.ChangePercent)
	}
	golden := boundsOf(limitOf(1, perToken(100)[0], 10))
	if r := Check(golden, runsOf(1, perToken(150)...), Options{}); r.Outcome != Pass {
		t.Errorf("150 for 100 tokens a second: %s %q", r.Outcome, r.Reasons)
	}
	if r := Check(golden, runsOf(1, perToken(85)...), Options{}); r.Outcome != Fail {
		t.Errorf("85 for 100 tokens a second: %s %q", r.Outcome, r.Reasons)
	}
}

// P186: everything twice as slow is the machine; one of eight twice as slow is
// not; a fingerprint of another machine is not comparable unless it is asked for.
func TestP186_EverythingTwiceAsSlow(t *testing.T) {
	var bounds []Bound
	for b := range 8 {
		bounds = append(bounds, limitOf(b+1, 10, 5))
	}
	of := func(slow func(b int) bool) []Run {
		run := Run{}
		for b := range 8 {
			ms := 10.0
			if slow(b) {
				ms = 20
			}
			run.Measurements = append(run.Measurements, Measurement{Key: keyOf(b + 1), ValueNS: ms * 1e6})
		}
		return []Run{run}
	}
	all := Check(boundsOf(bounds...), of(func(int) bool { return true }), Options{})
	if all.Outcome != Inconclusive || !strings.Contains(all.Reasons[0], "environment shift (median 2.00x), no verdict") || len(all.Unconfirmed()) > 0 {
		t.Errorf("all: %s %q", all.Outcome, all.Reasons)
	}
	one := Check(boundsOf(bounds...), of(func(b int) bool { return b == 3 }), Options{})
	if one.Outcome != Fail || len(one.Reasons) != 1 {
		t.Errorf("one: %s %q", one.Outcome, one.Reasons)
	}
	other := boundsOf(limitOf(1, 10, 5))
	other.Bounds[0].Key.Device, other.Bounds[0].Key.Driver = "Other GPU", "535"
	r := Check(other, runsOf(1, 10), Options{})
	if c := only(t, r); r.Outcome != Invalid || !strings.Contains(c.Reason, "not comparable: device is Test GPU here, Other GPU in the bounds; driver is 550 here, 535 in the bounds") {
		t.Errorf("%s %q", r.Outcome, c.Reason)
	}
	forced := Check(other, runsOf(1, 10), Options{OtherMachine: true})
	if c := only(t, forced); forced.Outcome != Pass || !strings.Contains(c.Notes[0], "another machine") {
		t.Errorf("forced: %s %q", forced.Outcome, c.Notes)
	}
}

// P187: size and significance both count; a bound changes by proposing it, never
// by judging.
func TestP187_SizeAndSignificance(t *testing.T) {
	b := boundsOf(limitOf(1, 10, 10))
	of := func(ms, lo, hi float64) []Run {
		runs := runsOf(1, ms)
		runs[0].Measurements[0].Interval = &[2]float64{lo * 1e6, hi * 1e6}
		return runs
	}
	noted := Check(b, of(10.56, 10.3, 10.8), Options{})
	if c := only(t, noted); noted.Outcome != Pass || c.Notes[0] != "slower by 5.6 %, within the limit" {
		t.Errorf("+5.6 %%: %s %q", noted.Outcome, c.Notes)
	}
	if r := Check(b, of(11.2, 9.1, 13.9), Options{}); r.Outcome != Inconclusive || len(r.Unconfirmed()) != 1 {
		t.Errorf("+12 %%, noise: %s %q", r.Outcome, r.Reasons)
	}
	if r := Check(b, of(11.2, 11.0, 11.4), Options{}); r.Outcome != Fail {
		t.Errorf("+12 %%, sure: %s %q", r.Outcome, r.Reasons)
	}
	if b.Bounds[0].MedianNS != 10e6 || b.Bounds[0].UpperNS != 10e6*(1+10.0/100) {
		t.Errorf("judging changed the bound: %+v", b)
	}
}

// P189: thirty results that rise by 0.5 % each pass a limit of 10 % until the
// twentieth; the trend warns by the tenth.
func TestP189_SlowDrift(t *testing.T) {
	b := boundsOf(limitOf(1, 10, 10))
	var runs []Run
	for i := range 30 {
		one := runsOf(1, 10*math.Pow(1.005, float64(i)))[0]
		one.StartedAt = "2026-11-" + string(rune('0'+(i+1)/10)) + string(rune('0'+(i+1)%10)) + "T00:00:00Z"
		runs = append(runs, one)
		passes := Check(b, []Run{one}, Options{}).Outcome == Pass
		if want := i < 20; passes != want {
			t.Errorf("result %d: passes %t, want %t", i+1, passes, want)
		}
		if i+1 == 10 {
			shuffled := append(append([]Run{}, runs[5:]...), runs[:5]...) // the order of the files is no order of time
			trend := Trends(shuffled)[0]
			if trend.Warning != "trend: +0.5 %/run, p<0.001 over 10 runs" {
				t.Errorf("warning %q, p %g", trend.Warning, trend.P)
			}
		}
	}
}

// P153: the benchmark itself makes the power cap bind from the middle on. The
// report says in how many samples and why; whoever asks for stable clocks gets no
// verdict from such a run.
func TestP153_ThrottledSamples(t *testing.T) {
	f := recording("")
	decodes := 0
	for i := range f.Steps {
		if f.Steps[i].Phase == bench.Decode {
			decodes++
		}
	}
	n := 0
	for i := range f.Steps {
		if f.Steps[i].Phase != bench.Decode {
			continue
		}
		mhz, reasons := 1980, uint64(0)
		if n++; n > decodes-decodes/3 {
			mhz, reasons = 1500, 0x4
		}
		f.Steps[i].SMClockMHz, f.Steps[i].ThrottleReasons = &mhz, &reasons
	}
	run := Measure(f, "raw.jsonl", nil)
	b, _, err := Propose([]Run{run}, ProposeOptions{Delta: 0.01, MinRuns: 1})
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		ask  bool
		want Outcome
	}{{false, Pass}, {true, Invalid}} {
		r := Check(b, []Run{run}, Options{RequireStableClocks: c.ask})
		for _, k := range r.Cases {
			want, text := c.want, k.Reason+strings.Join(k.Notes, "; ")
			if k.Key.Phase == bench.Prefill {
				want = Pass
			} else if !strings.Contains(text, "throttled in 33 % of samples (SwPowerCap)") {
				t.Errorf("asked for stable clocks %v: %s", c.ask, text)
			}
			if k.Outcome != want {
				t.Errorf("asked for stable clocks %v: %s is %s, want %s", c.ask, k.Key, k.Outcome, want)
			}
		}
	}
}

// A bound keeps twice the noise floor that is known of its key.
func TestProposeKeepsTheFloor(t *testing.T) {
	run := Measure(recording(""), "raw.jsonl", nil)
	b, _, err := Propose([]Run{run}, ProposeOptions{Delta: 0.01, MinRuns: 1, Floor: func(k Key) (float64, bool) { return 0.03, k.Phase == bench.Decode }})
	if err != nil {
		t.Fatal(err)
	}
	for _, x := range b.Bounds {
		want := 1.01
		if x.Key.Phase == bench.Decode {
			want = 1.06
		}
		if got := x.UpperNS / x.MedianNS; math.Abs(got-want) > 0.002 {
			t.Errorf("%s: limit at %.4f of the median, want %.2f", x.Key, got, want)
		}
	}
}
