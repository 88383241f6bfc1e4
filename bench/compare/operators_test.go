package compare

import (
	"context"
	"math"
	"strings"
	"testing"

	"lathe/bench"
	"lathe/bench/step"
)

// stamping is an engine whose steps consist of three operators, the last of which only A has; B's
// attention takes a quarter longer.
type stamping struct {
	*engine
	on bool
}

func (s *stamping) TimeOperators(on bool) { s.on = on; s.say("%s instrumented %v", s.variant, on) }

func (s *stamping) OperatorNS(out []int64) {
	copy(out, []int64{100, 400, -1})
	if s.variant == VariantB {
		copy(out, []int64{100, 500, -1})
	} else {
		out[2] = 50
	}
	if !s.on {
		copy(out, []int64{-1, -1, -1})
	}
}

// stampingRig opens such engines.
func stampingRig(m *machine, r *tape) Rig {
	rig := rigOf(m, r, false)
	open := rig.Open
	rig.Open = func(ctx context.Context, e int, v Visit) (Pair, error) {
		p, err := open(ctx, e, v)
		p.A, p.B = &stamping{engine: p.A.(*engine)}, &stamping{engine: p.B.(*engine)}
		return p, err
	}
	return rig
}

// TestOperators: operators are timed behind the comparison, in steps of their own that no slot has,
// A and B interleaved; the judgement of the steps does not change by them.
func TestOperators(t *testing.T) {
	p := shortPlan(decodeAt(0, 1, 64), Point{ID: 1, Batch: 1, ContextLen: 4, Phase: bench.Prefill})
	p.B = []byte(`{"backend":{"name":"cpu"},"kernels":[{"op":"attn_decode","file":"mine.so"}]}`)
	m, r := &machine{cost: func(*engine) int64 { return 1000 }}, &tape{}
	rig := stampingRig(m, r)
	if err := Run(context.Background(), rig, p); err != nil {
		t.Fatal(err)
	}
	before := judge(t, &r.file)
	steps := len(r.file.Steps)
	m.log = nil
	if err := Operators(context.Background(), rig, p, []string{"embed", "attn_decode", "head"}); err != nil {
		t.Fatal(err)
	}
	if len(r.file.Steps) != steps {
		t.Error("instrumented steps were recorded as steps of the comparison")
	}
	after := judge(t, r.end())
	if after.Verdict != before.Verdict || len(after.Points[1].Operators) > 0 {
		t.Errorf("%s before, %s after; prefill has %v", before.Verdict, after.Verdict, after.Points[1].Operators)
	}
	ops := after.Points[0].Operators
	if len(ops) != 3 || ops[0].Op != "embed" || ops[1].Op != "attn_decode" || ops[2].Op != "head" {
		t.Fatalf("%+v", ops)
	}
	if o := ops[1]; *o.AMedianNS != 400 || *o.BMedianNS != 500 || *o.ChangePercent != 25 || o.Steps != 4*p.Steps || math.Abs(*o.AShare-0.4) > 0.01 {
		t.Errorf("attention %+v", o)
	}
	if o := ops[2]; o.BMedianNS != nil || o.ChangePercent != nil || *o.AMedianNS != 50 {
		t.Errorf("an operator that only A has: %+v", o)
	}
	v := voteOf(after.Points[0], "kernel")
	if v.Effect != Noted || !strings.Contains(v.Detail, "attn_decode has 40 % of A's step") {
		t.Errorf("what the step can show of the kernel: %+v", v)
	}
	var order []string
	for _, line := range m.log {
		if strings.HasSuffix(line, "instrumented true") {
			order = append(order, line[:1])
		}
	}
	if got := strings.Join(order, ""); got != "abbabaab" && got != "baababba" {
		t.Errorf("slots in the order %s", got)
	}
}

// TestOperatorsOfPlainEngines: engines that cannot be instrumented have no operators, and that is no
// error; neither is a point that does not fit.
func TestOperatorsOfPlainEngines(t *testing.T) {
	p := shortPlan(decodeAt(0, 1, 64))
	m, r := &machine{cost: func(*engine) int64 { return 1000 }}, &tape{}
	rig := rigOf(m, r, true)
	if err := Operators(context.Background(), rig, p, []string{"x"}); err != nil || len(r.file.Checks) > 0 {
		t.Errorf("%v, %d records", err, len(r.file.Checks))
	}
	rig.Open = func(context.Context, int, Visit) (Pair, error) { return Pair{}, &step.Skip{Reason: "memory"} }
	if err := Operators(context.Background(), rig, p, []string{"x"}); err != nil {
		t.Error(err)
	}
}

// TestFusedPart: a further comparison in the same file is told apart from the main one, and its change
// chained with the main one's gives the other variant.
func TestFusedPart(t *testing.T) {
	p := shortPlan(decodeAt(0, 1, 64))
	r := &tape{}
	if err := Run(context.Background(), rigOf(noisy(1, 0.10), r, true), p); err != nil {
		t.Fatal(err)
	}
	alone := judge(t, r.end())
	part := p
	part.Points = []Point{decodeAt(1, 1, 64)}
	part.Looks, part.Alpha = []int{5}, 0.05
	rig := rigOf(noisy(2, 0.05), r, true)
	rig.Recorder = AsPart(r, PartFused)
	if err := Run(context.Background(), rig, part); err != nil {
		t.Fatal(err)
	}
	got := judge(t, &r.file)
	f := got.Points[0].Fused
	if f == nil || f.A == nil || f.B == nil || f.Epochs != 5 {
		t.Fatalf("fused %+v", f)
	}
	got.Points[0].Fused = nil
	if got.Verdict != alone.Verdict || *got.ChangePercent != *alone.ChangePercent || got.Steps != alone.Steps || len(got.Points) != 1 {
		t.Errorf("the main comparison moved by its part: %+v", got)
	}
	if math.Abs(f.A.ChangePercent-5) > 0.5 || math.Abs(f.B.ChangePercent-15.5) > 1 {
		t.Errorf("A %.2f %%, B %.2f %% against the default, want 5 and 15.5", f.A.ChangePercent, f.B.ChangePercent)
	}
	main := alone.Points[0].IntervalPercent
	if f.B.IntervalPercent[1]-f.B.IntervalPercent[0] < main[1]-main[0] {
		t.Errorf("the chained interval %v is narrower than one of its links %v", f.B.IntervalPercent, *main)
	}
	if _, ok := Part(&r.file, "other"); ok {
		t.Error("a part that is not there was found")
	}
}
