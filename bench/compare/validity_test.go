package compare

import (
	"context"
	"encoding/json"
	"math"
	"strings"
	"testing"

	"lathe/bench"
)

// tagged fills in clock and throttle reasons of a block's steps.
func tagged(tag func(s *bench.Step) (mhz int, reasons uint64)) func(*Rig) {
	return func(rig *Rig) {
		rig.Annotate = func(steps []bench.Step) {
			for i := range steps {
				mhz, reasons := tag(&steps[i])
				steps[i].SMClockMHz, steps[i].ThrottleReasons = &mhz, &reasons
			}
		}
	}
}

func voteOf(p PointResult, check string) Vote {
	for _, v := range p.Votes {
		if v.Check == check {
			return v
		}
	}
	return Vote{}
}

// P154: a machine that is throttled always ends within the bounded number of
// replacements, and gets its raw figures, marked, instead of an empty row.
func TestP154_AlwaysThrottled(t *testing.T) {
	p := shortPlan(decodeAt(0, 1, 64))
	f := measure(t, noisy(1, 0.05), p, tagged(func(*bench.Step) (int, uint64) { return 1200, 0x40 }))
	r := judge(t, f)
	pt := r.Points[0]
	if r.Verdict != Inconclusive || !pt.AllThrottled || pt.AMedianNS == nil || pt.ChangePercent == nil || math.Abs(*pt.ChangePercent-5) > 1 {
		t.Fatalf("%s, %+v", r.Verdict, pt)
	}
	if !strings.Contains(r.Reasons[0], "throttled in every block") {
		t.Errorf("reasons %q", r.Reasons)
	}
	blocks := map[[2]int]bool{}
	for _, s := range f.Steps {
		if s.Block >= 0 {
			blocks[[2]int{s.Epoch, s.Block}] = true
		}
	}
	if most := 12 * p.Blocks * (1 + p.ExtraBlocks); len(blocks) != most {
		t.Errorf("%d blocks, want %d", len(blocks), most)
	}
	if data, err := json.Marshal(r); err != nil || strings.Contains(string(data), "NaN") {
		t.Errorf("%v %s", err, data)
	}
}

// P153, item 10 of the wanted features: the clock drops in the middle of the run
// for a while. Blocks are replaced, never silently dropped, and the verdict
// stands on sound ones.
func TestP153_ThrottledForAWhile(t *testing.T) {
	p := shortPlan(decodeAt(0, 1, 64))
	n := 0
	f := measure(t, noisy(2, 0.05), p, tagged(func(s *bench.Step) (int, uint64) {
		if n++; n > 300 && n < 420 && !s.Warmup {
			return 1500, 0x20
		}
		return 1980, 0
	}))
	r := judge(t, f)
	if v := voteOf(r.Points[0], "blocks"); r.Verdict != Slower || v.Effect != Noted || !strings.Contains(v.Detail, "thermal or hardware slowdown") {
		t.Errorf("%s, %+v", r.Verdict, v)
	}
}

// Blocks whose clock moves are left out; where the clock follows the variant
// they are kept, and the label says that the kernel moves it.
func TestClocks(t *testing.T) {
	p := shortPlan(decodeAt(0, 1, 64))
	for name, c := range map[string]struct {
		tag     func(s *bench.Step) (int, uint64)
		want    Verdict
		coupled bool
		reason  string
	}{
		"steady":               {func(*bench.Step) (int, uint64) { return 1980, 0 }, Slower, false, "B is slower"},
		"power cap everywhere": {func(*bench.Step) (int, uint64) { return 1700, 0x4 }, Slower, false, "B is slower"},
		"power cap on B": {func(s *bench.Step) (int, uint64) {
			if *s.Variant == VariantB {
				return 1700, 0x4
			}
			return 1700, 0
		}, Inconclusive, false, "power cap on one side only"},
		"clock wanders within every block": {func(s *bench.Step) (int, uint64) { return 1900 + 40*s.Slot, 0 }, Inconclusive, false, "SM clock moved"},
		"clock follows the variant": {func(s *bench.Step) (int, uint64) {
			if *s.Variant == VariantB {
				return 1881, 0
			}
			return 1980, 0
		}, Slower, true, "power-coupled"},
	} {
		r := judge(t, measure(t, noisy(4, 0.06), p, tagged(c.tag)))
		text := strings.Join(r.Reasons, "\n")
		if r.Verdict != c.want || r.Points[0].PowerCoupled != c.coupled || !strings.Contains(text, c.reason) {
			t.Errorf("%s: %s, coupled %t:\n%s", name, r.Verdict, r.Points[0].PowerCoupled, text)
		}
		if c.coupled {
			// 6 % more time at a clock 5 % lower: about 0.7 % more cycles.
			if x := r.Points[0].ChangeCyclesPercent; x == nil || math.Abs(*x-0.7) > 0.3 {
				t.Errorf("change in cycles %v", x)
			}
		}
	}
}

// Slots that begin slow, or times that rise though the context explains nothing.
func TestTrends(t *testing.T) {
	p := shortPlan(decodeAt(0, 1, 1024))
	p.Steps = 16
	for name, c := range map[string]struct {
		cost   func(e *engine, ns int64) int64
		growth *float64
		want   Verdict
	}{
		"flat":                         {func(_ *engine, ns int64) int64 { return ns }, nil, NoDifference},
		"warm-up too short":            {func(e *engine, ns int64) int64 { return ns + ns*int64(max(0, 30-e.decoded))/300 }, nil, Inconclusive},
		"grows with the context":       {func(e *engine, ns int64) int64 { return ns + ns*int64(e.decoded)/1100 }, nil, NoDifference},
		"grows, the roofline says not": {func(e *engine, ns int64) int64 { return ns + ns*int64(e.decoded)/1100 }, new(float64), Inconclusive},
	} {
		m := noisy(6, 0)
		inner := m.cost
		m.cost = func(e *engine) int64 { return c.cost(e, inner(e)) }
		q := p
		q.Points = []Point{p.Points[0]}
		q.Points[0].GrowthNS = c.growth
		r := judge(t, measure(t, m, q))
		if r.Verdict != c.want {
			t.Errorf("%s: %s %q %+v", name, r.Verdict, r.Reasons, voteOf(r.Points[0], "blocks"))
		}
	}
}

// Slots that switch between two levels block the verdict, unless the clock
// explains them, or whole blocks lie on one level and say the same.
func TestTwoModes(t *testing.T) {
	p := shortPlan(decodeAt(0, 1, 64))
	between := func(rounds int) bool { k := (rounds - 1) / 4 % 5; return k == 2 || k == 3 } // two of an epoch's four blocks
	for name, c := range map[string]struct {
		slow   func(rounds int) bool // settling has two rounds a variant, a slot is one
		by     float64               // change of B
		tag    func(*bench.Step) (int, uint64)
		want   Verdict
		effect Effect
		detail string
	}{
		"within blocks":   {func(rounds int) bool { return (rounds-1)%4 >= 2 }, 0, nil, Inconclusive, MadeInconclusive, "two levels"},
		"near the levels": {func(rounds int) bool { return (rounds-1)%4 >= 2 }, 0.03, nil, Inconclusive, MadeInconclusive, "two levels"},
		"far beyond":      {func(rounds int) bool { return (rounds-1)%4 >= 2 }, 0.5, nil, Slower, Noted, "would still be beyond the threshold"},
		"between blocks":  {between, 0, nil, NoDifference, Noted, "on one level say the same"},
		"explained": {between, 0, func(s *bench.Step) (int, uint64) {
			if s.HostNS > 7_650_000 {
				return 1800, 0
			}
			return 1980, 0
		}, NoDifference, Noted, "the SM clock explains it"},
	} {
		m := noisy(8, c.by)
		inner := m.cost
		rounds := 0
		m.cost = func(e *engine) int64 {
			ns := inner(e)
			if e.decoded == 1 {
				rounds++
			}
			if c.slow(rounds) {
				ns = ns * 104 / 100
			}
			return ns
		}
		var change []func(*Rig)
		if c.tag != nil {
			change = append(change, tagged(c.tag))
		}
		r := judge(t, measure(t, m, p, change...))
		v := voteOf(r.Points[0], "modes")
		if r.Verdict != c.want || v.Effect != c.effect || !strings.Contains(v.Detail, c.detail) {
			t.Errorf("%s: %s %q, %+v", name, r.Verdict, r.Reasons, v)
		}
	}
}

// What must not change, and checks that fail.
func TestSpoiledRuns(t *testing.T) {
	yes, no, low, high, two := true, false, 1593, 2619, 2
	states := func(list ...DeviceState) func(*Rig) {
		return func(rig *Rig) {
			n := 0
			rig.Device = func() DeviceState { n++; return list[min(n, len(list))-1] }
		}
	}
	finding := func(when Moment, epoch int) func(*Rig) {
		return func(rig *Rig) {
			rig.Check = func(_ context.Context, at Moment, e int, _ Visit, _ Pair) ([]Finding, error) {
				return []Finding{{Name: "numbers of variant b", OK: at != when || e != epoch, Reason: "relative error 0.4"}}, nil
			}
		}
	}
	for name, c := range map[string]struct {
		change func(*Rig)
		want   Verdict
		reason string
	}{
		"all well":        {states(DeviceState{MemoryClockMHz: &high, ECC: &yes}, DeviceState{MemoryClockMHz: &high}), NoDifference, "no difference"},
		"memory clock":    {states(DeviceState{MemoryClockMHz: &high}, DeviceState{MemoryClockMHz: &low}), Inconclusive, "from 2619 to 1593 MHz"},
		"ECC":             {states(DeviceState{ECC: &yes}, DeviceState{ECC: &no}), Invalid, "ECC was switched"},
		"MIG":             {states(DeviceState{MIG: &no}, DeviceState{MIG: &yes}), Invalid, "MIG was switched"},
		"other processes": {states(DeviceState{OtherProcesses: &two}), Inconclusive, "2 other processes"},
		"wrong before":    {finding(Before, 0), Invalid, "before the timing of epoch 0: relative error 0.4"},
		"wrong after":     {finding(After, 3), Invalid, "after the timing of epoch 3: relative error 0.4"},
		"never wrong":     {finding(After, 99), NoDifference, "no difference"},
	} {
		r := judge(t, measure(t, noisy(9, 0), shortPlan(decodeAt(0, 1, 64)), c.change))
		if r.Verdict != c.want || !strings.Contains(r.Reasons[0], c.reason) {
			t.Errorf("%s: %s %q", name, r.Verdict, r.Reasons)
		}
	}
}

// A kernel that is wrong before it is timed is not timed.
func TestWrongIsNotTimed(t *testing.T) {
	f := measure(t, noisy(9, 0), shortPlan(decodeAt(0, 1, 64)), func(rig *Rig) {
		rig.Check = func(context.Context, Moment, int, Visit, Pair) ([]Finding, error) {
			return nil, errInjected
		}
	})
	if len(f.Steps) > 0 {
		t.Errorf("%d steps were timed", len(f.Steps))
	}
	if r := judge(t, f); r.Verdict != Invalid || !strings.Contains(r.Reasons[0], "injected") {
		t.Errorf("%s %q", r.Verdict, r.Reasons)
	}
}

// A time under a binding floor is impossible; under a measured roof it is noted.
func TestFloor(t *testing.T) {
	for name, c := range map[string]struct {
		floor  Floor
		want   Verdict
		effect Effect
	}{
		"above":                  {Floor{NS: 5e6, Binding: true, Source: "datasheet"}, NoDifference, Passed},
		"impossible":             {Floor{NS: 8e6, Binding: true, Source: "datasheet"}, Invalid, MadeInvalid},
		"little over the roof":   {Floor{NS: 8e6, Source: "measured"}, NoDifference, Passed},
		"1.25 times of the roof": {Floor{NS: 9.5e6, Source: "measured"}, NoDifference, Noted},
	} {
		p := shortPlan(decodeAt(0, 1, 64))
		p.Points[0].Floor = &c.floor
		r := judge(t, measure(t, noisy(10, 0), p))
		if v := voteOf(r.Points[0], "floor"); r.Verdict != c.want || v.Effect != c.effect {
			t.Errorf("%s: %s, %+v", name, r.Verdict, v)
		}
	}
}

func TestGraphAndEagerAreTwoExperiments(t *testing.T) {
	m := noisy(12, 0)
	m.graph = func(e *engine) string {
		return map[string]string{VariantA: "captured", VariantB: "eager"}[e.variant]
	}
	r := judge(t, measure(t, m, shortPlan(decodeAt(0, 1, 64))))
	if r.Verdict != Invalid || !strings.Contains(r.Reasons[0], "A ran captured, B ran eager") {
		t.Errorf("%s %q", r.Verdict, r.Reasons)
	}
}

// Thresholds: stored calibration, what was asked for, and the spread of like
// slots where neither is there.
func TestThresholds(t *testing.T) {
	of := func(change func(*Plan)) Result {
		p := shortPlan(decodeAt(0, 1, 64))
		change(&p)
		return judge(t, measure(t, noisy(13, 0.004), p))
	}
	floor, wide, narrow := 0.004, 0.02, 0.001
	for name, c := range map[string]struct {
		change func(*Plan)
		want   float64
		said   bool
	}{
		"calibrated":       {func(p *Plan) { p.Points[0].AAFloor = &floor }, 0.8, false},
		"raised":           {func(p *Plan) { p.Points[0].AAFloor = &floor; p.Delta = &wide }, 2, false},
		"not lowered":      {func(p *Plan) { p.Points[0].AAFloor = &floor; p.Delta = &narrow }, 0.8, false},
		"lowered by force": {func(p *Plan) { p.Points[0].AAFloor = &floor; p.Delta, p.ForceDelta = &narrow, true }, 0.1, false},
	} {
		r := of(c.change)
		if math.Abs(*r.ThresholdPercent-c.want) > 1e-9 {
			t.Errorf("%s: threshold %v, want %v", name, *r.ThresholdPercent, c.want)
		}
	}
	r := of(func(*Plan) {})
	if text := strings.Join(r.Reasons, " "); *r.ThresholdPercent < 0.5 || !strings.Contains(text, "no stored calibration") || r.Points[0].Calibrated {
		t.Errorf("threshold %v: %s", *r.ThresholdPercent, text)
	}
	loud := &machine{}
	noise := newSession(world{white: 0.03}, 1, 0, shortPlan())
	noise.total = 1e9
	loud.cost = func(*engine) int64 { ns, _ := noise.stepNS(false); return int64(ns) }
	if l := judge(t, measure(t, loud, shortPlan(decodeAt(0, 1, 64)))); *l.ThresholdPercent <= *r.ThresholdPercent {
		t.Errorf("ten times the noise: threshold %v, was %v", *l.ThresholdPercent, *r.ThresholdPercent)
	}
}

// "No difference" under a threshold that swallows everything is no answer,
// unless that threshold was asked for.
func TestTooNoisyIsInconclusive(t *testing.T) {
	p := shortPlan(decodeAt(0, 1, 64), decodeAt(1, 2, 64))
	for i := range p.Points {
		floor := 0.2
		p.Points[i].AAFloor = &floor
	}
	r := judge(t, measure(t, noisy(14, 0), p))
	if r.Verdict != Inconclusive || r.Points[0].Verdict != Inconclusive || !strings.Contains(r.Reasons[0], "too noisy: only a change of 40 % or more") {
		t.Errorf("%s %q", r.Verdict, r.Reasons)
	}
	wide := 0.5
	p.Delta = &wide
	if r := judge(t, measure(t, noisy(14, 0), p)); r.Verdict != NoDifference {
		t.Errorf("asked for: %s %q", r.Verdict, r.Reasons)
	}
}

// Blocks on one level that say more than the mean, as where the same time is added on
// both levels, say the same where both are well beyond the threshold on one side.
func TestModesOfAnAddedTime(t *testing.T) {
	level := func(log float64, b bool) slot { return slot{b: b, host: series{log: log}} }
	var all []block
	for epoch := range 6 {
		for _, c := range []struct{ first, second, change float64 }{{0, 0, 0.13}, {0, 0, 0.13}, {0.3, 0.3, 0.10}, {0, 0.3, 0.02}} {
			b := block{epoch: epoch, change: c.change}
			for i, log := range []float64{c.first, c.first, c.second, c.second} {
				isB := i == 1 || i == 2
				if isB {
					log += 0.095
				}
				b.slots[i] = level(log, isB)
			}
			all = append(all, b)
		}
	}
	for _, c := range []struct {
		mean float64
		want bool
	}{{0.095, true}, {-0.095, false}, {0.02, false}, {0.125, true}} {
		m := twoModes(all, false, estimate{mean: c.mean, lo: c.mean - 0.03, hi: c.mean + 0.03, threshold: 0.02})
		if m.found && m.harmless != c.want {
			t.Errorf("mean %g: harmless %v, want %v (%+v)", c.mean, m.harmless, c.want, m)
		}
		if c.mean == 0.095 && !m.found {
			t.Error("the two levels were not found")
		}
	}
}
