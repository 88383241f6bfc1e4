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

func TestShortStepsAreNamed(t *testing.T) {
	run := func(work int64) held {
		m := &machine{cost: func(*engine) int64 { return work }}
		m.onCall = func(int) {
			n := len(m.log)
			if n >= 2 && m.log[n-1] == "wait" && m.log[n-2] == "now" { // a wait of an empty step
				m.now += 10
			}
		}
		plan := smallPlan([]int{1}, []int{2}, []int{3})
		plan.Overhead = 3
		return sweep(t, m, plan)
	}
	h := run(999)
	if len(h.points[0].Warnings) != 1 || !strings.Contains(h.points[0].Warnings[0], "shortest step 999 ns is under 100 times the empty step (10 ns): the harness is 1 % of it") {
		t.Errorf("999 ns: warnings %q", h.points[0].Warnings)
	}
	if c := h.checks[0]; c.Name != step.EmptyStepCheck || c.OK || string(c.Detail) != `{"point":0,"pairs":3,"median_ns":10,"shortest_step_ns":999}` {
		t.Errorf("check %+v %s", c, c.Detail)
	}
	if h := run(1000); len(h.points[0].Warnings) != 0 || !h.checks[0].OK {
		t.Errorf("1000 ns: warnings %q", h.points[0].Warnings)
	}
}

func TestFirstCallWarning(t *testing.T) {
	for _, c := range []struct {
		ns   []int64
		want bool
	}{
		{nil, false},
		{[]int64{900, 10, 10}, false},
		{[]int64{900, 10, 10, 10}, true},
		{[]int64{900, 900, 900, 10, 10}, true},
		{[]int64{12, 10, 10, 10, 10}, false},
		{[]int64{13, 10, 10, 10, 10}, true},
		{[]int64{13, 10, 10, 13, 10}, false}, // as slow later: noise
		{[]int64{10, 10, 10, 10, 900}, false},
	} {
		if got := step.FirstCallWarning(c.ns); (got != "") != c.want {
			t.Errorf("FirstCallWarning(%v) = %q", c.ns, got)
		}
	}
}

func TestMixedGraphModesAreNamed(t *testing.T) {
	m := &machine{}
	m.graph = func(e *engine) string {
		if e.phase == bench.Prefill || e.context > 3 {
			return "eager"
		}
		return "captured"
	}
	h := sweep(t, m, smallPlan([]int{1}, []int{2}, []int{4}))
	if w := h.points[0].Warnings; len(w) != 1 || w[0] != "decode steps ran in different ways: 1 captured 2 eager" {
		t.Errorf("warnings %q", w)
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
