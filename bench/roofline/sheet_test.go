package roofline

import (
	"encoding/json"
	"math"
	"testing"

	"lathe/bench"
)

// recorded is a file of one decode point of Llama-3-8B at batch 1, context 1,024 and
// two steps of ns each, with roofs of an H100.
func recorded(t *testing.T, ns int64, extra ...bench.Check) *bench.File {
	t.Helper()
	roofs, err := RecordRoofs([]Roofs{quoted(t, "NVIDIA H100 80GB HBM3")})
	if err != nil {
		t.Fatal(err)
	}
	work, err := RecordWork(0, PointWorkOf(llama3(t), 1, 1024, 3, 2))
	if err != nil {
		t.Fatal(err)
	}
	f := &bench.File{Checks: append([]bench.Check{roofs, work}, extra...)}
	f.Points = []bench.Point{{Kind: bench.KindPoint, Status: bench.StatusOK, Batch: 1, InputLen: 1024, OutputLen: 4},
		{Kind: bench.KindPoint, Point: 1, Status: bench.StatusSkipped, Reason: new(string), Batch: 512, InputLen: 8192, OutputLen: 4}}
	f.Steps = append(f.Steps, bench.Step{Phase: bench.Prefill, Batch: 1, ContextLen: 1024, HostNS: 20e6})
	for i := 1; i <= 3; i++ {
		f.Steps = append(f.Steps, bench.Step{Phase: bench.Decode, Index: i, Batch: 1, ContextLen: 1024 + i, HostNS: ns})
	}
	return f
}

func TestSheet(t *testing.T) {
	s, ok, err := Read(recorded(t, 9.04e6))
	if err != nil || !ok || len(s.Rows) != 3 {
		t.Fatalf("%d rows, %v, %v", len(s.Rows), ok, err)
	}
	prefill, decode, skipped := s.Rows[0], s.Rows[1], s.Rows[2]
	if prefill.Phase != bench.Prefill || len(prefill.Against) != 1 || math.Abs(prefill.Against[0].PercentOneRoof-100*14.73/20) > 0.1 {
		t.Errorf("prefill: %+v", prefill)
	}
	if decode.ContextLen != 1026 || math.Abs(decode.Against[0].PercentOneRoof-50) > 0.1 || decode.Against[0].Verdict != Possible ||
		math.Abs(*decode.ByteRate/1e12-1.675) > 0.005 {
		t.Errorf("decode: %+v", decode)
	}
	if skipped.Status != bench.StatusSkipped || skipped.Reason == nil || len(skipped.Against) != 0 || skipped.Time.N != 0 {
		t.Errorf("skipped: %+v", skipped)
	}
	if s.Impossible() {
		t.Error("twice the floor was called impossible")
	}
	if s, _, _ := Read(recorded(t, 4.4e6)); !s.Impossible() {
		t.Error("a step below the floor was not called impossible")
	}
}

// The shares of an instrumented pass are of its own steps, and an operator whose
// time is not there has none.
func TestSheetOfOperators(t *testing.T) {
	pass := OperatorPass{ContextLen: 1025, Operators: []string{"attn_decode", "down_add", "mystery"},
		NS: [][]int64{{1e6, 2e6, -1}, {1e6, 3e6, -1}}, StepNS: []int64{5e6, 5e6}}
	c, err := RecordOperators(0, pass)
	if err != nil {
		t.Fatal(err)
	}
	s, _, err := Read(recorded(t, 9e6, c))
	if err != nil {
		t.Fatal(err)
	}
	ops := s.Rows[1].Operators
	if len(ops) != 3 {
		t.Fatalf("%d operators", len(ops))
	}
	if ops[0].Share == nil || *ops[0].Share != 0.2 || ops[0].Calls != 32 || ops[0].Work.KVBytes != 131072*1026 || len(ops[0].Against) != 1 {
		t.Errorf("attention: %+v", ops[0])
	}
	if *ops[1].Share != 0.5 || *ops[1].Time.Median != 2.5e6 {
		t.Errorf("down: %+v", ops[1])
	}
	if ops[2].Share != nil || ops[2].Work != nil || ops[2].Time.N != 0 || len(ops[2].Against) != 0 {
		t.Errorf("unknown operator: %+v", ops[2])
	}
}

func TestSheetWithoutRoofs(t *testing.T) {
	if _, ok, err := Read(&bench.File{}); ok || err != nil {
		t.Errorf("a file without roofs: %v, %v", ok, err)
	}
	bad := &bench.File{Checks: []bench.Check{{Name: CheckRoofs, Detail: json.RawMessage(`{"a":1}`)}}}
	if _, ok, err := Read(bad); ok || err == nil {
		t.Errorf("roofs that are none: %v, %v", ok, err)
	}
}

// The peak is that of the datasheet's clock, the floor under load that of the mean
// clock of the measured steps; the clock of an idle or warming device is in neither.
func TestP161_PeakFromTheMaximumClock(t *testing.T) {
	f := recorded(t, 9.04e6)
	clock := func(mhz int) *int { return &mhz }
	f.Steps = append([]bench.Step{{Phase: bench.Prefill, Batch: 1, ContextLen: 1024, HostNS: 99e6, Warmup: true, SMClockMHz: clock(210)}}, f.Steps...)
	for i := range f.Steps {
		if !f.Steps[i].Warmup {
			f.Steps[i].SMClockMHz = clock(1755)
		}
	}
	s, _, err := Read(f)
	if err != nil {
		t.Fatal(err)
	}
	prefill := s.Rows[0]
	if prefill.ClockMHz == nil || *prefill.ClockMHz != 1755 {
		t.Fatalf("clock %v", prefill.ClockMHz)
	}
	a := prefill.Against[0]
	if a.Floor.Limit != LimitCompute || math.Abs(a.Floor.OneRoofNS/1e6-14.73) > 0.01 {
		t.Errorf("peak: %+v", a.Floor)
	}
	if a.AtClock == nil || math.Abs(a.AtClock.OneRoofNS/a.Floor.OneRoofNS-1830.0/1755) > 1e-9 {
		t.Errorf("at the observed clock: %+v", a.AtClock)
	}
	if decode := s.Rows[1].Against[0]; decode.AtClock == nil || decode.AtClock.OneRoofNS != decode.Floor.OneRoofNS {
		t.Errorf("a memory floor moved with the clock: %+v", decode)
	}
	if s.Impossible() {
		t.Error("called impossible")
	}
}
