package step_test

import (
	"slices"
	"strings"
	"testing"

	"lathe/bench"
	"lathe/bench/step"
)

// idle is an engine without work: what is left is the harness.
type idle struct{ device int64 }

func (idle) Begin([][]int32, int) error { return nil }
func (idle) Prefill() error             { return nil }
func (idle) Decode() error              { return nil }
func (idle) Wait() error                { return nil }
func (e idle) DeviceNS() int64          { return e.device }
func (idle) Graph() string              { return "none" }
func (idle) Cached() int                { return 0 }
func (idle) Tokens() []int32            { return nil }

func TestStepAllocatesNothing(t *testing.T) {
	for _, noSync := range []bool{false, true} {
		const steps = 64
		timer := step.NewTimer(bench.StartClock(), steps, noSync)
		at := bench.Step{Batch: 1}
		var e step.Engine = &idle{device: 5}
		allocs := testing.AllocsPerRun(100, func() {
			timer.Reset()
			if err := timer.Prefill(e, &at); err != nil {
				t.Fatal(err)
			}
			for i := 1; i < steps; i++ {
				at.Index, at.ContextLen = i, i
				if err := timer.Decode(e, &at); err != nil {
					t.Fatal(err)
				}
			}
		})
		if allocs != 0 {
			t.Errorf("noSync %v: %v allocations in %d steps", noSync, allocs, steps)
		}
	}
}

func TestTimerRefusesMoreThanItHolds(t *testing.T) {
	timer := step.NewTimer(&machine{}, 1, false)
	at := bench.Step{Index: 4}
	if err := timer.Decode(idle{device: -1}, &at); err != nil {
		t.Fatal(err)
	}
	err := timer.Decode(idle{}, &at)
	if err == nil || err.Error() != "time decode step 4: the timer holds 1 records" || len(timer.Steps()) != 1 {
		t.Errorf("a step too many: %v, %d records", err, len(timer.Steps()))
	}
	if timer.Steps()[0].DeviceNS != nil {
		t.Error("an unknown device time is not null")
	}
	timer.Reset()
	if err := timer.Decode(idle{device: 9}, &at); err != nil || *timer.Steps()[0].DeviceNS != 9 {
		t.Errorf("after Reset: %v, %+v", err, timer.Steps())
	}
}

func TestEmptyStep(t *testing.T) {
	m := &machine{}
	costs := []int64{9, 1, 7, 5} // of the waits inside the pairs
	e := &engine{machine: m}
	m.onCall = func(call int) {
		if call%2 == 0 {
			m.now += costs[call/2-1]
		}
	}
	ns, err := step.EmptyStep(e, m, len(costs))
	if err != nil || ns != 5 {
		t.Errorf("EmptyStep = %d, %v, want the lower median 5", ns, err)
	}
	if want := slices.Repeat([]string{"wait", "now", "wait", "now"}, 4); !slices.Equal(m.log, want) {
		t.Errorf("calls %q", m.log)
	}
	if _, err := step.EmptyStep(e, m, 0); err == nil {
		t.Error("0 pairs accepted")
	}
	for failing := 1; failing <= 2; failing++ {
		if _, err := step.EmptyStep(&engine{machine: &machine{failAt: failing}}, m, 3); err == nil {
			t.Errorf("wait %d fails unnoticed", failing)
		}
	}
}

// The empty step is recorded as it is; that a step is short against it, the
// report says.
func TestShortStepsAreNamed(t *testing.T) {
	run := func(work int64) held {
		m := &machine{cost: func(*engine) int64 { return work }}
		m.onCall = func(int) {
			n := len(m.log)
			if n >= 2 && m.log[n-1] == "wait" && m.log[n-2] == "now" { // a wait of an empty step
				m.now += 10
			}
		}
		plan := smallPlan([]int{1}, []int{2}, []int{3, 4})
		plan.Overhead = 3
		return sweep(t, m, plan)
	}
	h := run(999)
	for point := range 2 {
		if notes := h.notes(t, point); notes != "shortest step 999 ns is under 100 times the empty step (10 ns): the harness is 1 % of it" {
			t.Errorf("999 ns: notes %q", notes)
		}
		if c := h.checks[point]; c.Name != bench.CheckEmptyStep || !c.OK || c.Point == nil || *c.Point != point || string(c.Detail) != `{"pairs":3,"median_ns":10}` {
			t.Errorf("check %+v %s", c, c.Detail)
		}
	}
	if notes := run(1000).notes(t, 1); notes != "" {
		t.Errorf("1000 ns: notes %q", notes)
	}
}

// A capture keeps records and sums nothing up: whatever its records tell, its
// line does not.
func TestAPointsLineSaysOnlyWhatItsRecordsDoNot(t *testing.T) {
	m := slowStart() // cold,
	m.cached = 0
	m.graph = func(e *engine) string { // of two modes,
		if e.phase == bench.Prefill || e.context > 3 {
			return "eager"
		}
		return "captured"
	}
	m.onCall = func(int) { // and short against the empty step
		if n := len(m.log); n >= 2 && m.log[n-1] == "wait" && m.log[n-2] == "now" {
			m.now += millisecond
		}
	}
	plan := smallPlan([]int{1}, []int{2}, []int{9})
	plan.PrefillReps, plan.PrefillWarmup, plan.StepsWarmup, plan.Overhead = 5, 0, 0, 3
	h := sweep(t, m, plan)
	if len(h.points[0].Warnings) != 0 {
		t.Errorf("the line says %q", h.points[0].Warnings)
	}
	notes := h.notes(t, 0)
	for _, want := range []string{
		"prefill: first call 500 ms slower than median: not warmed up",
		"decode steps ran in different ways: captured 1, eager 7",
		"shortest step 20000000 ns is under 100 times the empty step (1000000 ns): the harness is 5 % of it",
	} {
		if !strings.Contains(notes, want) {
			t.Errorf("notes %q, want %q", notes, want)
		}
	}
}

func TestCachedPromptTokensFailThePoint(t *testing.T) {
	m := &machine{cached: 12}
	p := sweep(t, m, smallPlan([]int{1}, []int{20}, []int{2})).points[0]
	if p.Status != bench.StatusFailed || *p.Cached != 12 || !strings.Contains(*p.Reason, "prefix reuse: 12 prompt tokens") {
		t.Errorf("line %+v", p)
	}
}

// What the harness adds to a step: an engine without work, the real clock.
func BenchmarkStepOverhead(b *testing.B) {
	const steps = 1024
	timer := step.NewTimer(bench.StartClock(), steps, false)
	at := bench.Step{Batch: 1}
	var e step.Engine = &idle{device: -1}
	timed := int64(0)
	b.ReportAllocs()
	n := 0
	for b.Loop() {
		if n%steps == 0 {
			timer.Reset()
		}
		n++
		at.Index = n
		if err := timer.Decode(e, &at); err != nil {
			b.Fatal(err)
		}
		timed += timer.Steps()[len(timer.Steps())-1].HostNS
	}
	b.ReportMetric(float64(timed)/float64(n), "recorded-ns/step")
}
