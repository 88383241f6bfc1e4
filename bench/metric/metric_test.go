package metric

import (
	"math"
	"strings"
	"testing"

	"lathe/bench"
)

const ms = int64(1e6)

// run builds a file of one point: prefill repetitions, the last of which goes
// on into the decode steps.
func run(batch, input int, prefill, decode []int64) *bench.File {
	f := &bench.File{}
	var t int64
	add := func(it, index int, phase bench.Phase, ns int64) {
		f.Steps = append(f.Steps, bench.Step{Kind: bench.KindStep, Iteration: it, Index: index, Phase: phase,
			Batch: batch, ContextLen: input + index, TNS: t, HostNS: ns, Graph: "none"})
		t += ns + 1000 // a gap behind every step
	}
	for i, ns := range prefill {
		add(i, 0, bench.Prefill, ns)
	}
	for i, ns := range decode {
		add(len(prefill)-1, i+1, bench.Decode, ns)
	}
	f.Points = []bench.Point{{Kind: bench.KindPoint, Status: bench.StatusOK, Batch: batch, InputLen: input, OutputLen: len(decode) + 1}}
	return f
}

func repeat(n int, ns int64) []int64 {
	s := make([]int64, n)
	for i := range s {
		s[i] = ns
	}
	return s
}

func only(t *testing.T, f *bench.File) Point {
	t.Helper()
	p := Points(f)
	if len(p) != 1 {
		t.Fatalf("%d points", len(p))
	}
	return p[0]
}

func is(t *testing.T, what string, got *float64, want float64) {
	t.Helper()
	if got == nil || math.Abs(*got-want) > 1e-9*math.Abs(want) {
		t.Errorf("%s: %v, want %v", what, show(got), want)
	}
}

func show(v *float64) any {
	if v == nil {
		return "undefined"
	}
	return *v
}

func TestP052_LatencyIsNeverDividedByTheBatch(t *testing.T) {
	p := only(t, run(32, 100, repeat(5, 1000*ms), repeat(10, 20*ms)))
	is(t, "prefill", p.Prefill.Median, 1e9)
	is(t, "decode step", p.Decode.Median, 20e6)
	is(t, "tokens a second of a sequence", p.RowRate, 50)
	is(t, "tokens a second of the batch", p.OutputRate, 1600)
	o := SGLangOneBatch(p)
	is(t, "prefill_latency", o.PrefillLatency, 1)
	is(t, "median_decode_latency", o.MedianDecodeLatency, 0.02)
	is(t, "median_decode_throughput", o.MedianDecodeThroughput, 1600)
	is(t, "total_latency", o.TotalLatency, 1.2)
	is(t, "overall_throughput", o.OverallThroughput, (100+11)*32/1.2)
}

// The first token comes from the prefill: n tokens are n-1 steps, and a step's
// time is not diluted by a token that it did not make.
func TestP053_StepsAreTokensLessOne(t *testing.T) {
	p := only(t, run(1, 8, repeat(1, 100*ms), []int64{50 * ms}))
	if p.OutputLen != 2 || p.Decode.N != 1 {
		t.Errorf("output %d, %d steps", p.OutputLen, p.Decode.N)
	}
	is(t, "time per token after the first", p.Decode.Median, 50e6)
}

func TestP069_ThreeRates(t *testing.T) {
	p := only(t, run(1, 30000, repeat(5, 5000*ms), repeat(499, 10*ms)))
	is(t, "input", p.InputRate, 6000)
	is(t, "output", p.OutputRate, 100)
	is(t, "total", p.TotalRate, 30500/(5+4.99))
}

func TestP141_RepetitionsByMedian(t *testing.T) {
	p := only(t, run(1, 8, []int64{100 * ms, 300 * ms, 110 * ms}, repeat(3, ms)))
	is(t, "prefill of 100, 300, 110", p.Prefill.Median, 110e6)
	if len(p.Repetitions) != 3 || p.Repetitions[1] != 300*ms {
		t.Errorf("repetitions %v are not kept", p.Repetitions)
	}
}

func TestP143_FirstCallSlower(t *testing.T) {
	steady := repeat(20, 10*ms)
	if p := only(t, run(1, 8, repeat(5, ms), steady)); len(p.Notes) != 0 {
		t.Errorf("a steady run: %q", p.Notes)
	}
	cold := append(repeat(3, 510*ms), steady...)
	want := "decode step: first call 500 ms slower than median: not warmed up"
	if p := only(t, run(1, 8, repeat(5, ms), cold)); !strings.Contains(strings.Join(p.Notes, "\n"), want) {
		t.Errorf("notes %q, want %q", p.Notes, want)
	}
	cold[len(cold)-3] = 600 * ms // a hiccup later does not hide it
	if p := only(t, run(1, 8, repeat(5, ms), cold)); !strings.Contains(strings.Join(p.Notes, "\n"), want) {
		t.Errorf("notes %q, want %q", p.Notes, want)
	}
	f := run(1, 8, append(repeat(1, 90*ms), repeat(4, 10*ms)...), steady)
	if p := only(t, f); !strings.Contains(strings.Join(p.Notes, "\n"), "prefill: first call 80 ms slower than median: not warmed up") {
		t.Errorf("notes %q", p.Notes)
	}
	// It is the first pass that is cold, not the last.
	twice := run(1, 8, repeat(5, ms), cold)
	for i := range steady {
		s := twice.Steps[len(twice.Steps)-len(steady)+i]
		s.Iteration, s.Index, s.HostNS = 5, i+1, 10*ms
		twice.Steps = append(twice.Steps, s)
	}
	if p := only(t, twice); !strings.Contains(strings.Join(p.Decode.Warnings, "\n"), want) {
		t.Errorf("notes %q, want %q", p.Notes, want)
	}
}

func TestCold(t *testing.T) {
	for _, c := range []struct {
		ns   []float64
		want bool
	}{
		{nil, false},
		{[]float64{900, 10, 10}, false},
		{[]float64{900, 10, 10, 10}, true},
		{[]float64{900, 900, 900, 10, 10}, true},
		{[]float64{12, 10, 10, 10, 10}, false},
		{[]float64{13, 10, 10, 10, 10}, true},
		{[]float64{13, 10, 10, 13, 13}, false},             // as slow later: noise
		{[]float64{13, 10, 10, 10, 10, 10, 10, 900}, true}, // one hiccup later does not hide it
		{[]float64{10, 10, 10, 10, 900}, false},
	} {
		if got := cold("x", c.ns); (got != "") != c.want {
			t.Errorf("cold(%v) = %q", c.ns, got)
		}
	}
}

func TestShortStepsAgainstTheEmptyStep(t *testing.T) {
	point, other := 0, 1
	check := func(point *int, detail string) bench.Check {
		return bench.Check{Name: bench.CheckEmptyStep, OK: true, Point: point, Detail: []byte(detail)}
	}
	f := run(1, 8, repeat(5, 4*ms), repeat(6, ms))
	for detail, want := range map[string]string{
		`{"pairs":3,"median_ns":10000}`:   "",
		`{"pairs":3,"median_ns":10001}`:   "shortest step 1000000 ns is under 100 times the empty step (10001 ns): the harness is 1 % of it",
		`{"pairs":3,"median_ns":2000000}`: "shortest step 1000000 ns is under 100 times the empty step (2000000 ns): the harness is 1e+02 % of it",
		`{"median_ns":"?"}`:               "",
	} {
		f.Checks = []bench.Check{check(&other, `{"median_ns":900000}`), check(nil, `{"median_ns":900000}`), check(&point, detail)}
		if got := strings.Join(only(t, f).Notes, "\n"); got != want {
			t.Errorf("%s: notes %q, want %q", detail, got, want)
		}
	}
	// Without a split the iterations' mean step stands for the steps.
	f.Steps, f.Iterations = nil, []bench.Iteration{{HostNS: 15 * ms}, {HostNS: 14 * ms}}
	f.Checks = []bench.Check{check(&point, `{"median_ns":20001}`)}
	if got := strings.Join(only(t, f).Notes, ""); !strings.HasPrefix(got, "shortest step 2000000 ns is under 100 times") {
		t.Errorf("notes %q", got)
	}
	f.Points[0].Status = bench.StatusFailed
	if got := only(t, f).Notes; len(got) != 0 {
		t.Errorf("a failed point: %q", got)
	}
}

func TestTotalAndWall(t *testing.T) {
	f := run(2, 8, []int64{7 * ms, 5 * ms, 6 * ms}, []int64{ms, 2 * ms, 3 * ms})
	p := only(t, f)
	is(t, "total: median prefill and the steps", p.TotalNS, 12e6)
	is(t, "wall: the last prefill, the steps and 3 gaps", p.WallNS, 12e6+3000)
	if p.PassOf != 2 || len(p.Pass) != 3 || p.Pass[0].Index != 1 {
		t.Errorf("pass of iteration %d: %v", p.PassOf, p.Pass)
	}
	f.Steps = f.Steps[:len(f.Steps)-1]
	if p := only(t, f); p.TotalNS != nil || p.WallNS != nil || p.TotalRate != nil {
		t.Errorf("a pass that lacks a step has a total: %v", *p.TotalNS)
	}
	// One new token a row: the prefill is the whole of it.
	p = only(t, run(1, 8, repeat(5, 4*ms), nil))
	is(t, "total without a decode step", p.TotalNS, 4e6)
	if p.Decode.Median != nil || p.OutputRate != nil || p.SlopeNS != nil {
		t.Error("decode figures without a decode step")
	}
}

func TestWarmupAndVariantsAreLeftOut(t *testing.T) {
	f := run(1, 8, repeat(5, 4*ms), repeat(6, ms))
	a := "a"
	first := f.Steps[0]
	first.Warmup = true
	f.Steps = append(f.Steps, first) // passes of warm-up are numbered apart
	for i := range 6 {
		warm, other := f.Steps[5+i], f.Steps[5+i]
		warm.Warmup, warm.HostNS, warm.Iteration = true, 99*ms, 0
		other.Variant, other.HostNS = &a, 77*ms
		f.Steps = append(f.Steps, warm, other)
	}
	p := only(t, f)
	if p.Decode.N != 6 || *p.Decode.Max != float64(ms) {
		t.Errorf("%d samples up to %v", p.Decode.N, *p.Decode.Max)
	}
	is(t, "total", p.TotalNS, 10e6)
	if p.PassOf != 4 {
		t.Errorf("total of iteration %d, want the last that was measured", p.PassOf)
	}
}

func TestTailsNeedSamples(t *testing.T) {
	for n, want := range map[int]int{3: 1, 4: 3, 9: 3, 10: 5, 99: 5, 100: 6} {
		xs := make([]float64, n)
		got := 0
		for _, p := range Summarise(bench.SemanticsStep, "x", "ns", xs).Percentiles {
			if p.Value != nil {
				got++
			}
		}
		if got != want {
			t.Errorf("n %d: %d percentiles, want %d", n, got, want)
		}
	}
}

func TestP128_NoSamplesNoNumbers(t *testing.T) {
	s := Summarise(bench.SemanticsStep, "x", "ns", nil)
	if s.N != 0 || s.Mean != nil || s.Std != nil || s.Min != nil || s.Max != nil || s.Median != nil || s.Interval != nil {
		t.Errorf("%+v", s)
	}
	one := Summarise(bench.SemanticsStep, "x", "ns", []float64{7})
	is(t, "median of one", one.Median, 7)
	if one.Interval != nil {
		t.Error("one sample has an interval")
	}
	// Steps that take no time on a coarse clock give no infinite rate.
	p := only(t, run(1, 8, repeat(5, 0), repeat(5, 0)))
	if p.InputRate != nil || p.OutputRate != nil || p.RowRate != nil || p.TotalRate != nil {
		t.Error("a rate over zero time")
	}
	if o := SGLangOneBatch(p); o.PrefillThroughput != nil || o.OverallThroughput != nil {
		t.Error("a throughput over zero time")
	}
	if l := VLLMLatency(p); l.Avg != nil || l.Latencies == nil || len(l.Percentiles) != 6 {
		t.Errorf("%+v", l)
	}
}

func TestFailedAndUnfinishedPoints(t *testing.T) {
	f := run(4, 8, repeat(5, ms), repeat(6, ms))
	reason := "memory: two variants"
	f.Points[0].Status, f.Points[0].Reason = bench.StatusFailed, &reason
	if p := only(t, f); p.Prefill.N != 0 || p.TotalNS != nil || *p.Reason != reason {
		t.Errorf("a failed point has figures: %+v", p.Prefill)
	}
	f = run(4, 8, repeat(5, ms), repeat(6, ms))
	f.Points = nil
	p := only(t, f)
	if p.Finished || p.Status == bench.StatusOK || p.Reason == nil || p.Batch != 4 || p.InputLen != 8 || p.TotalNS != nil {
		t.Errorf("unfinished: %+v", p.Point)
	}
	is(t, "what was measured of it", p.Decode.Median, 1e6)
	f.Run.Workload = bench.Workload{BatchSizes: []int{4, 5}, InputLens: []int{8}, OutputLens: []int{7, 9}}
	if p := only(t, f); p.OutputLen != 7 {
		t.Errorf("output %d of point 0, want 7", p.OutputLen)
	}
	f.Run.Workload.BatchSizes[0] = 3 // not the workload of these steps
	if p := only(t, f); p.Batch != 4 || p.OutputLen != 0 {
		t.Errorf("batch %d, output %d, want the steps' own", p.Batch, p.OutputLen)
	}
}

func TestSlopePerToken(t *testing.T) {
	var decode []int64
	for i := range int64(30) {
		decode = append(decode, 5*ms+40*i)
	}
	is(t, "slope", only(t, run(1, 8, repeat(5, ms), decode)).SlopeNS, 40)
}

func TestGraphsAndDevice(t *testing.T) {
	f := run(1, 8, repeat(5, ms), repeat(4, ms))
	for i := range f.Steps[5:] {
		s := &f.Steps[5+i]
		s.Graph = "captured"
		if i > 0 {
			ns := ms / 2
			s.DeviceNS = &ns
		}
	}
	f.Steps[8].Graph = "eager"
	p := only(t, f)
	if p.Graph != "captured 3, eager 1" || p.Device.N != 3 || p.Device.Failed != 1 {
		t.Errorf("graph %q, device %d of %d", p.Graph, p.Device.N, p.Device.Failed)
	}
	if want := "decode steps ran in different ways: captured 3, eager 1"; len(p.Notes) != 1 || p.Notes[0] != want {
		t.Errorf("notes %q, want %q", p.Notes, want)
	}
}

func TestVLLMLatency(t *testing.T) {
	f := &bench.File{Points: []bench.Point{{Status: bench.StatusOK, Batch: 8, InputLen: 32, OutputLen: 128}}}
	f.Iterations = []bench.Iteration{{HostNS: 9e9, Warmup: true}}
	for i := range int64(30) {
		f.Iterations = append(f.Iterations, bench.Iteration{Iteration: int(i), HostNS: 1e9 + i*1e7})
	}
	p := only(t, f)
	l := VLLMLatency(p)
	is(t, "avg", l.Avg, 1.145)
	is(t, "p99 of 30, as numpy interpolates it", l.Percentiles[5].Value, 1.2871)
	if Percentile(p.Iterations, 99) != nil {
		t.Error("our summary claims a p99 of 30 samples")
	}
	is(t, "median", p.Iterations.Median, 1.145e9)
}
