package gate

import (
	"bytes"
	"encoding/xml"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"lathe/bench"
)

// recording is a finished one-batch file of one point on a CPU.
func recording(reason string) *bench.File {
	f := &bench.File{SHA256: "abc", End: &bench.End{Reason: bench.EndCompleted}}
	f.Run = bench.Run{StartedAt: "2026-11-30T00:00:00Z", Workload: bench.Workload{Model: "preset:tiny"},
		Model: &bench.Model{DType: "bf16"}, Host: bench.Host{CPU: "Test CPU"},
		Backend: bench.Backend{Name: "cpu", ISA: "avx2", Threads: 2, KVDType: "f32"}}
	for it := range 3 {
		for i := range 10 {
			s := bench.Step{Iteration: it, Index: i, Phase: bench.Decode, Batch: 2, ContextLen: 8 + i, HostNS: int64(1000 + 10*i), Graph: "none"}
			if i == 0 {
				s.Phase, s.HostNS = bench.Prefill, int64(50000+it)
			}
			f.Steps = append(f.Steps, s)
		}
	}
	line := bench.Point{Status: bench.StatusOK, Batch: 2, InputLen: 8, OutputLen: 10}
	if reason != "" {
		line.Status, line.Reason = bench.StatusSkipped, &reason
	}
	f.Points = []bench.Point{line}
	return f
}

func TestMeasure(t *testing.T) {
	run := Measure(recording(""), "raw.jsonl", func(k Key) (float64, bool) { return 5, k.Phase == bench.Decode })
	if len(run.Measurements) != 2 || run.Refused != "" || run.SHA256 != "abc" {
		t.Fatalf("%+v", run)
	}
	p, d := run.Measurements[0], run.Measurements[1]
	if p.ValueNS != 50001 || p.Key.Phase != bench.Prefill || p.FloorNS != nil || p.Key.OutputLen != nil {
		t.Errorf("prefill %+v", p)
	}
	if d.ValueNS != 1050 || d.N != 27 || d.Interval == nil || *d.FloorNS != 5 || *d.Key.OutputLen != 10 {
		t.Errorf("decode %+v", d)
	}
	if k := d.Key; k.Device != "Test CPU, 2 threads" || k.Runtime != "cpu avx2" || k.DType != "bf16 kv f32" || k.Batch != 2 || k.ContextLen != 8 || k.PowerLimitW != nil {
		t.Errorf("key %+v", k)
	}
	device := recording("")
	for i := range device.Steps {
		ns := device.Steps[i].HostNS / 2
		device.Steps[i].DeviceNS = &ns
	}
	watts, mhz, index := 700, 2619, []byte(`{"index":1}`)
	device.Run.Backend = bench.Backend{Name: "cuda", Device: index, BuildInfo: []byte(`{"cuda_runtime":"12.4"}`)}
	device.Run.Host.GPUs = []bench.GPU{{Index: 0, Name: "small"}, {Index: 1, Name: "H100", Driver: "550.54.15", PowerLimitW: &watts, MemClockMHz: &mhz}}
	m := Measure(device, "raw", nil).Measurements[1]
	if m.ValueNS != 525 || m.Key.Device != "H100" || m.Key.Driver != "550" || m.Key.Runtime != "12.4" || *m.Key.PowerLimitW != 700 || *m.Key.MemoryClockMHz != 2619 {
		t.Errorf("on a GPU %+v", m)
	}
	wrong := recording("")
	wrong.Checks = []bench.Check{{Name: bench.CheckEmptyStep}, {Name: "correctness"}}
	if r := Check(boundsOf(), []Run{Measure(wrong, "raw", nil)}, Options{}); r.Outcome != Invalid || !strings.Contains(r.Reasons[0], "check correctness failed") {
		t.Errorf("%+v", r)
	}
}

// A bound of the output length that was measured, or of none, fits; another is
// no bound of this key.
func TestOutputLength(t *testing.T) {
	run := Measure(recording(""), "raw", nil)
	run.Measurements = run.Measurements[1:]
	bound := Bound{Key: run.Measurements[0].Key, MedianNS: 1050, UpperNS: 1100, LowerNS: 1000, N: 10}
	nine := 9
	for name, c := range map[string]struct {
		length *int
		want   Outcome
	}{"same": {bound.Key.OutputLen, Pass}, "any": {nil, Pass}, "other": {&nine, Invalid}} {
		bound.Key.OutputLen = c.length
		if r := Check(boundsOf(bound), []Run{run}, Options{}); r.Outcome != c.want {
			t.Errorf("%s: %s %q", name, r.Outcome, r.Reasons)
		}
	}
}

func TestInvalidIsNoPass(t *testing.T) {
	b := boundsOf(limitOf(1, 10, 5))
	missing := Check(b, runsOf(2, 10), Options{})
	if c := missing.Cases[0]; missing.Outcome != Invalid || c.Reason != "no bound for this key" {
		t.Errorf("no bound: %s %q", missing.Outcome, c.Reason)
	}
	if len(missing.Warnings) != 1 || !strings.Contains(missing.Warnings[0], "batch 1 context 1024 captured has a bound and was not measured") {
		t.Errorf("warnings %q", missing.Warnings)
	}
	both := runsOf(1, 10)
	if r := Check(boundsOf(limitOf(1, 10, 5), limitOf(2, 10, 5)), both, Options{RequireAll: true}); r.Outcome != Invalid || r.Cases[1].Reason != "not measured" {
		t.Errorf("all required: %+v", r)
	}
	skipped := runsOf(1, 10)
	skipped[0].Measurements[0].Unmeasured = "skipped: memory"
	if r := Check(b, skipped, Options{}); r.Outcome != Invalid || !strings.Contains(r.Reasons[0], "not measured: skipped: memory") {
		t.Errorf("skipped: %+v", r)
	}
	floor := 10e6 / 0.97
	impossible := runsOf(1, 10)
	impossible[0].Measurements[0].FloorNS = &floor
	if r := Check(b, impossible, Options{}); r.Outcome != Invalid || !strings.Contains(r.Reasons[0], "impossible: 10 ms is under the floor") {
		t.Errorf("under the floor: %+v", r)
	}
	if r := Check(b, []Run{{}}, Options{}); r.Outcome != Invalid {
		t.Errorf("nothing measured: %+v", r)
	}
	mixed := runsOf(1, 20)
	mixed[0].Measurements = append(mixed[0].Measurements, Measurement{Key: keyOf(9), ValueNS: 1})
	if r := Check(b, mixed, Options{}); r.Outcome != Fail || len(r.Reasons) != 2 {
		t.Errorf("a regression beside a missing bound: %s %q", r.Outcome, r.Reasons)
	}
}

// The JUnit file parses, counts right, and puts each outcome where a CI server
// looks for it.
func TestJUnit(t *testing.T) {
	b := boundsOf(limitOf(1, 10, 5), limitOf(2, 10, 5), limitOf(3, 10, 5))
	run := Run{}
	for batch, ms := range map[int]float64{1: 10, 2: 20, 3: 10.51, 4: 10} {
		run.Measurements = append(run.Measurements, Measurement{Key: keyOf(batch), ValueNS: ms * 1e6})
	}
	slices.SortFunc(run.Measurements, func(x, y Measurement) int { return x.Key.Batch - y.Key.Batch })
	run.Measurements[2].Interval = &[2]float64{9.9e6, 11e6}
	r := Check(b, []Run{run}, Options{})
	var out bytes.Buffer
	if err := r.JUnit(&out); err != nil {
		t.Fatal(err)
	}
	var parsed junitSuites
	if err := xml.Unmarshal(out.Bytes(), &parsed); err != nil {
		t.Fatal(err)
	}
	cases := parsed.Suites[0].Cases
	if parsed.Tests != 4 || parsed.Failures != 1 || parsed.Skipped != 1 || parsed.Errors != 1 || len(cases) != 4 {
		t.Errorf("%s", out.String())
	}
	if cases[0].Failure != nil || cases[0].Error != nil || cases[0].Skipped != nil || cases[1].Failure == nil || cases[2].Skipped == nil || cases[3].Error == nil ||
		!strings.HasPrefix(cases[2].Skipped.Message, "inconclusive: ") || cases[1].Name != "decode batch 2 context 1024 captured" {
		t.Errorf("%s", out.String())
	}
	out.Reset()
	if err := (Report{Outcome: Invalid, Reasons: []string{"raw: refused <&>"}}).JUnit(&out); err != nil || !strings.Contains(out.String(), `errors="1"`) {
		t.Errorf("%v %s", err, out.String())
	}
	if err := r.JUnit(failingWriter{}); err == nil {
		t.Error("a failed write is silent")
	}
	text := r.Markdown()
	if rows := strings.Count(text, "\n| decode"); rows != 4 || !strings.Contains(text, "## Latency gate: fail") || !strings.Contains(text, "| 20 ms | 10 ms | 10.5 ms | +100 % |") {
		t.Errorf("markdown:\n%s", text)
	}
	if text := (Report{Outcome: Invalid, Reasons: []string{"a|b\nc"}}).Markdown(); !strings.Contains(text, `a\|b c`) {
		t.Errorf("%s", text)
	}
}

type failingWriter struct{}

func (failingWriter) Write([]byte) (int, error) { return 0, errRead }

// The exact distribution against an enumeration of all orders, and the normal
// one against the exact where both hold.
func TestMannKendall(t *testing.T) {
	var orders func(n int) [][]float64
	orders = func(n int) [][]float64 {
		if n == 0 {
			return [][]float64{{}}
		}
		var out [][]float64
		for _, o := range orders(n - 1) {
			for i := range n {
				out = append(out, slices.Insert(slices.Clone(o), i, float64(n)))
			}
		}
		return out
	}
	score := func(xs []float64) (s int) {
		for i := range xs {
			for j := i + 1; j < len(xs); j++ {
				if xs[j] > xs[i] {
					s++
				} else {
					s--
				}
			}
		}
		return s
	}
	for _, n := range []int{3, 5, 7} {
		all := orders(n)
		for _, xs := range all[:min(len(all), 200)] {
			count := 0
			for _, ys := range all {
				if math.Abs(float64(score(ys))) >= math.Abs(float64(score(xs))) {
					count++
				}
			}
			if got, want := mannKendall(xs), float64(count)/float64(len(all)); math.Abs(got-want) > 1e-12 {
				t.Fatalf("mannKendall(%v) = %v, want %v", xs, got, want)
			}
		}
	}
	rng := rand.New(rand.NewPCG(5, 6))
	warned := 0
	for range 1000 {
		var runs []Run
		for range 20 {
			runs = append(runs, runsOf(1, 10*math.Exp(0.01*rng.NormFloat64()))...)
		}
		if Trends(runs)[0].Warning != "" {
			warned++
		}
	}
	if warned > 20 {
		t.Errorf("%d warnings of 1000 without a trend", warned)
	}
}

func TestTrendOfNothing(t *testing.T) {
	if p := mannKendall([]float64{1, 1, 1, 1}); p != 1 {
		t.Errorf("all equal: %v", p)
	}
	if one := Trends(runsOf(1, 10)); len(one) != 1 || one[0].Warning != "" || one[0].P != 1 {
		t.Errorf("%+v", one)
	}
}
