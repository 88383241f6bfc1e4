package compare

import (
	"context"
	"math/rand/v2"
	"runtime/debug"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"lathe/bench"
)

// timed is the order of calls of one timed step.
func timed(variant, what string) string {
	return variant + " wait|now|" + variant + " " + what + "|" + variant + " wait|now|"
}

func times(n int, s string) string { return strings.Repeat(s, n) }

func expand(parts ...string) []string {
	return strings.Split(strings.TrimSuffix(strings.Join(parts, ""), "|"), "|")
}

// The whole order of calls of a run of two epochs of one decode point, with
// engines that rewind and with engines that do not.
func TestOrderOfCallsOfARun(t *testing.T) {
	for _, rewind := range []bool{true, false} {
		m := &machine{cost: func(*engine) int64 { return 1000 }}
		r := &tape{m: m}
		p := shortPlan(decodeAt(0, 2, 16))
		p.Looks, p.Blocks = []int{2}, 3
		rig := rigOf(m, r, rewind)
		rig.Annotate = func([]bench.Step) { m.say("annotate") }
		rig.Epoch = func(_ context.Context, e int) error { m.say("epoch %d", e); return nil }
		rig.Device = func() DeviceState { m.say("device"); return DeviceState{} }
		rig.Check = func(_ context.Context, when Moment, _ int, _ Visit, _ Pair) ([]Finding, error) {
			m.say("check %s", when)
			return []Finding{{Name: "numbers", OK: true}}, nil
		}
		rig.Events = Events{
			Block: func(_ Visit, s []bench.Step) { m.say("told %d", len(s)) },
			Look:  func(Result) { m.say("look") },
			Done:  func(bench.Point) { m.say("done") },
		}
		if err := Run(context.Background(), rig, p); err != nil {
			t.Fatal(err)
		}
		want := "write Check|"
		for e := range 2 {
			want += wantEpoch(p, e, rewind)
		}
		want += "look|write Point|done|"
		if diff := cmp.Diff(expand(want), m.log); diff != "" {
			t.Fatalf("rewind %t: order of calls (-want +got):\n%s", rewind, diff)
		}
	}
}

// wantEpoch spells out one epoch: settling in the order of opening, then the
// blocks in the order of their coins, written after each block only.
func wantEpoch(p Plan, e int, rewind bool) string {
	v := p.Epoch(e).Points[0]
	begin := func(variant string) string { return variant + " begin 2x16+6|" + timed(variant, "prefill") }
	again := begin
	steps, settling := 4*6, 2*3
	if rewind {
		again = func(variant string) string { return variant + " rewind|" }
		steps, settling = 4*5, 1+2*2
	}
	number := func(n int) string { return strings.TrimSpace(string(rune('0'+n/10))) + string(rune('0'+n%10)) }
	written := func(n int) string {
		s := strings.TrimPrefix(number(n), "0")
		return "annotate|write " + s + " steps|told " + s + "|"
	}
	order := []string{VariantA, VariantB}
	if v.BFirst {
		slices.Reverse(order)
	}
	out := "epoch " + string(rune('0'+e)) + "|device|write Check|open 0 of epoch " + string(rune('0'+e)) + "|check before|write Check|"
	for _, variant := range order {
		out += begin(variant) + times(2, timed(variant, "decode")) + again(variant) + times(2, timed(variant, "decode")) + written(settling)
	}
	for _, o := range v.Orders {
		for _, variant := range o {
			out += again(variant) + times(5, timed(variant, "decode"))
		}
		out += written(steps)
	}
	return out + "check after|write Check|close|device|write Check|"
}

// In any run: a wait stands right before every timed step's first clock read,
// its submission and one wait stand between the reads, nothing else ever; the
// collector is off inside.
func TestNothingElseBetweenClockReads(t *testing.T) {
	before := debug.SetGCPercent(73)
	defer debug.SetGCPercent(before)
	rng := rand.New(rand.NewPCG(3, 4))
	seen := map[int]int{}
	for range 8 {
		m := &machine{cost: func(*engine) int64 {
			percent := debug.SetGCPercent(-1)
			debug.SetGCPercent(percent)
			seen[percent]++
			return 1000 + rng.Int64N(100)
		}}
		p := shortPlan(decodeAt(1, 1+rng.IntN(3), 8), Point{ID: 0, Batch: 1, ContextLen: 8, Phase: bench.Prefill})
		p.Looks, p.Blocks, p.Seed = []int{2, 3}, 3+rng.IntN(3), rng.Uint64()
		r := &tape{m: m}
		if err := Run(context.Background(), rigOf(m, r, rng.IntN(2) == 0), p); err != nil {
			t.Fatal(err)
		}
		steps := 0
		for i := 0; i < len(m.log); i++ {
			if m.log[i] != "now" {
				continue
			}
			variant := m.log[i-1][:1]
			between := m.log[i+1]
			if m.log[i-1] != variant+" wait" || between != variant+" prefill" && between != variant+" decode" ||
				m.log[i+2] != variant+" wait" || m.log[i+3] != "now" {
				t.Fatalf("around a clock read: %q", m.log[i-1:i+4])
			}
			steps++
			i += 3
		}
		if steps != len(r.file.Steps) || steps == 0 {
			t.Fatalf("%d timed steps, %d records", steps, len(r.file.Steps))
		}
	}
	if len(seen) != 1 || seen[-1] == 0 || debug.SetGCPercent(73) != 73 {
		t.Errorf("GC percent inside steps %v, want only -1, and 73 afterwards", seen)
	}
}

// Both variants walk the same contexts and are given the same rows; no epoch and
// no point sees the rows of another.
func TestSameWorkOnBothSides(t *testing.T) {
	m := &machine{cost: func(*engine) int64 { return 1000 }}
	p := shortPlan(decodeAt(0, 1, 16), Point{ID: 1, Batch: 2, ContextLen: 9, Phase: bench.Prefill})
	p.Looks = []int{2}
	f := measure(t, m, p)
	type visited struct{ epoch, point int }
	rows := map[string]map[visited]map[string]int{}
	for _, b := range m.begun {
		at := visited{b.epoch, b.point}
		if rows[b.first] == nil {
			rows[b.first] = map[visited]map[string]int{}
		}
		if rows[b.first][at] == nil {
			rows[b.first][at] = map[string]int{}
		}
		rows[b.first][at][b.variant]++
	}
	for row, by := range rows {
		if len(by) != 1 {
			t.Errorf("row %s was given in %d visits", row, len(by))
		}
		for at, n := range by {
			if at.point == 1 && n[VariantA] != n[VariantB] || n[VariantA] == 0 || n[VariantB] == 0 {
				t.Errorf("visit %v: row given %v times", at, n)
			}
		}
	}
	contexts := map[string][]int{}
	for _, s := range f.Steps {
		if s.Phase == bench.Decode && s.ContextLen != 16+s.Index {
			t.Fatalf("step %+v", s)
		}
		if s.Phase == bench.Decode && !s.Warmup {
			contexts[*s.Variant] = append(contexts[*s.Variant], s.ContextLen)
		}
	}
	if len(contexts[VariantA]) == 0 || !slices.Equal(contexts[VariantA], contexts[VariantB]) {
		t.Errorf("contexts of A %v, of B %v", contexts[VariantA], contexts[VariantB])
	}
}
