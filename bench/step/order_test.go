package step_test

import (
	"context"
	"math/rand/v2"
	"runtime/debug"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"lathe/bench"
	"lathe/bench/step"
)

// Abbreviations of the order tests: a timed step with its own reads behind it.
const (
	timedPrefill = "wait|now|prefill|wait|now|graph|device|"
	timedDecode  = "wait|now|decode|wait|now|graph|device|"
)

func expand(lines ...string) []string {
	return strings.Split(strings.TrimSuffix(strings.Join(lines, ""), "|"), "|")
}

func TestOrderOfCallsOfASweep(t *testing.T) {
	m := &machine{}
	plan := smallPlan([]int{1, 2}, []int{3}, []int{3})
	plan.Overhead = 2
	r := newTape(t, m)
	rig := rigOf(m, r)
	open := rig.Open
	rig.Open = func(ctx context.Context, p step.Point) (step.Opened, error) {
		o, err := open(ctx, p)
		o.Memory = func() *bench.PointMemory { m.say("memory"); return nil }
		return o, err
	}
	rig.Annotate = func([]bench.Step) { m.say("annotate") }
	rig.Events = step.Events{
		Start: func(p step.Point) { m.say("start %d", p.ID) },
		Pass:  func(_ step.Point, s []bench.Step) { m.say("told %d", len(s)) },
		Done:  func(p bench.Point) { m.say("done %d", p.Point) },
	}
	tally, err := step.OneBatch(context.Background(), rig, plan, plan.Points())
	if err != nil || tally != (step.Tally{OK: 2}) {
		t.Fatalf("OneBatch = %+v, %v", tally, err)
	}
	point := func(id, batch string) string {
		begin := "begin " + batch + "x3+3|"
		return "start " + id + "|open " + id + "|" +
			begin + timedPrefill + timedDecode + "cached|annotate|write 2 steps|told 2|" + // warm-up
			"wait|now|wait|now|wait|now|wait|now|" + // two empty steps
			begin + timedPrefill + "cached|annotate|write 1 steps|told 1|" +
			begin + timedPrefill + timedDecode + timedDecode + "cached|annotate|write 3 steps|told 3|" +
			"write bench.Check|memory|close|write bench.Point|done " + id + "|"
	}
	if diff := cmp.Diff(expand(point("0", "1"), point("1", "2")), m.log); diff != "" {
		t.Errorf("order of calls (-want +got):\n%s", diff)
	}
}

func TestOrderOfCallsWithoutSync(t *testing.T) {
	m := &machine{}
	plan := smallPlan([]int{1}, []int{3}, []int{3})
	plan.NoSync, plan.Overhead = true, 5
	sweep(t, m, plan)
	const begin, drain = "begin 1x3+3|", "wait|now|cached|"
	want := expand("open 0|",
		begin, "now|prefill|now|now|decode|now|", drain, "write 2 steps|write bench.Iteration|",
		begin, "now|prefill|now|", drain, "write 1 steps|write bench.Iteration|",
		begin, "now|prefill|now|now|decode|now|now|decode|now|", drain, "write 3 steps|write bench.Iteration|",
		"close|write bench.Point|")
	if diff := cmp.Diff(want, m.log); diff != "" {
		t.Errorf("order of calls (-want +got):\n%s", diff)
	}
}

// In any sweep: a wait stands right before every timed step's first clock read,
// its submission and one wait stand between the reads, nothing else ever.
func TestNothingElseBetweenClockReads(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	pick := func(from, n int) int { return from + rng.IntN(n) }
	for range 25 {
		m := &machine{}
		plan := step.Plan{
			BatchSizes: []int{pick(1, 3), pick(4, 3)}, InputLens: []int{pick(1, 4)}, OutputLens: []int{pick(1, 4), pick(5, 2)},
			PrefillReps: pick(1, 6), Iterations: pick(1, 3), PrefillWarmup: pick(0, 3), StepsWarmup: pick(0, 9), Overhead: pick(0, 3), Vocab: 10,
		}
		h := sweep(t, m, plan)
		timed := 0
		for i := 0; i < len(m.log); i++ {
			if m.log[i] != "now" {
				continue
			}
			if m.log[i-1] != "wait" {
				t.Fatalf("%+v: clock read after %q", plan, m.log[i-1])
			}
			switch between := m.log[i+1]; {
			case between == "wait" && m.log[i+2] == "now": // an empty step
				i += 2
			case (between == "prefill" || between == "decode") && m.log[i+2] == "wait" && m.log[i+3] == "now":
				timed++
				i += 3
			default:
				t.Fatalf("%+v: after a clock read: %q", plan, m.log[i+1:i+4])
			}
		}
		if timed != len(h.steps) {
			t.Fatalf("%+v: %d timed steps, %d records", plan, timed, len(h.steps))
		}
	}
}

// The records of a sweep on a device whose costs are known: labels, times,
// medians.
func TestRecordsAndMedians(t *testing.T) {
	m := &machine{now: 50, launch: 7}
	m.cost = func(e *engine) int64 {
		if e.phase == bench.Prefill {
			return int64(1000 * e.point.Batch * e.longest)
		}
		return int64(10*e.point.Batch + e.context)
	}
	m.device = func(e *engine) int64 { return m.cost(e) }
	m.graph = func(e *engine) string {
		return map[bench.Phase]string{bench.Prefill: "eager", bench.Decode: "captured"}[e.phase]
	}
	plan := step.Plan{
		BatchSizes: []int{4, 1}, InputLens: []int{2, 5}, OutputLens: []int{6},
		PrefillReps: 5, Iterations: 2, PrefillWarmup: 1, StepsWarmup: 3, Vocab: 10,
	}
	h := sweep(t, m, plan)
	var want []bench.Step
	add := func(id, batch, input, iteration, decodes int, warmup bool) {
		for i := 0; i <= decodes; i++ {
			s := bench.Step{Kind: bench.KindStep, Point: id, Iteration: iteration, Index: i, Batch: batch, Warmup: warmup}
			s.Phase, s.ContextLen, s.Graph, s.HostNS = bench.Decode, input+i, "captured", int64(7+10*batch+input+i)
			if i == 0 {
				s.Phase, s.Graph, s.HostNS = bench.Prefill, "eager", int64(7+1000*batch*input)
			}
			device := s.HostNS - 7
			s.DeviceNS = &device
			want = append(want, s)
		}
	}
	for _, p := range plan.Points() {
		add(p.ID, p.Batch, p.InputLen, 0, 3, true)
		for i, decodes := range []int{0, 0, 0, 5, 5} {
			add(p.ID, p.Batch, p.InputLen, i, decodes, false)
		}
	}
	now := int64(50)
	for i := range want { // the clock stands still outside the steps
		want[i].TNS = now
		now += want[i].HostNS
	}
	if diff := cmp.Diff(want, h.steps); diff != "" {
		t.Fatalf("steps (-want +got):\n%s", diff)
	}
	for _, p := range h.points {
		of := func(phase bench.Phase) float64 {
			return median(h.hostNS(func(s bench.Step) bool { return s.Point == p.Point && measured(phase)(s) }))
		}
		prefill, decode := float64(7+1000*p.Batch*p.InputLen), float64(7+10*p.Batch+p.InputLen+3)
		if of(bench.Prefill) != prefill || of(bench.Decode) != decode {
			t.Errorf("point %d: medians %v, %v, want %v, %v", p.Point, of(bench.Prefill), of(bench.Decode), prefill, decode)
		}
		if p.Status != bench.StatusOK || p.Reason != nil || p.Cached == nil || *p.Cached != 0 || len(p.Warnings) != 0 {
			t.Errorf("line %+v", p)
		}
	}
}

// The collector is off inside every step and as before after the loop.
func TestCollectorOffDuringAPass(t *testing.T) {
	before := debug.SetGCPercent(73)
	defer debug.SetGCPercent(before)
	m := &machine{}
	seen := map[int]int{}
	m.cost = func(*engine) int64 {
		percent := debug.SetGCPercent(-1)
		debug.SetGCPercent(percent)
		seen[percent]++
		return 1
	}
	plan := smallPlan([]int{1}, []int{3}, []int{3})
	sweep(t, m, plan)
	m.failAt = m.calls + 5
	sweep(t, m, plan) // an engine's error restores it too
	after := debug.SetGCPercent(73)
	if len(seen) != 1 || seen[-1] == 0 || after != 73 {
		t.Errorf("GC percent inside steps %v (want only -1), after the loops %d (want 73)", seen, after)
	}
}
