package compare

import (
	"math"
	"strings"
	"testing"

	"lathe/bench"
)

// recordedRun makes a finished one-batch recording: points of batch 1 and input
// lengths 64, 128, ..., of so many repetitions of 24 decode steps and a prefill.
func recordedRun(seed uint64, effect float64, points, repetitions int) *bench.File {
	s := newSession(world{white: 0.004, spikes: 0.01}, seed, effect, shortPlan())
	s.total = 1e9
	f := &bench.File{End: &bench.End{Reason: bench.EndCompleted}}
	f.Run.Workload = bench.Workload{Kind: "one-batch", Model: "preset:tiny", Seed: 1}
	f.Run.Host = bench.Host{OS: "linux", Arch: "amd64", CPU: "Test CPU", Cores: 2}
	for p := range points {
		input := 64 * (p + 1)
		for it := range repetitions {
			for i := range 25 {
				ns, _ := s.stepNS(true)
				st := bench.Step{Point: p, Iteration: it, Index: i, Phase: bench.Decode, Batch: 1, ContextLen: input + i, HostNS: int64(ns) + int64(i)*2000, Graph: "none"}
				if i == 0 {
					st.Phase, st.HostNS = bench.Prefill, 10*int64(ns)
				}
				f.Steps = append(f.Steps, st)
			}
		}
		f.Points = append(f.Points, bench.Point{Point: p, Status: bench.StatusOK, Batch: 1, InputLen: input, OutputLen: 25})
	}
	return f
}

func judgeTwo(t *testing.T, a, b *bench.File, o RecordingOptions) Result {
	t.Helper()
	r, err := Recordings(a, b, o)
	if err != nil {
		t.Fatal(err)
	}
	if len(r.Warnings) == 0 || r.Warnings[0] != Separate {
		t.Errorf("the warning is missing: %q", r.Warnings)
	}
	return r
}

func TestTwoRecordings(t *testing.T) {
	for name, c := range map[string]struct {
		effect      float64
		repetitions int
		want        Verdict
	}{
		"equal, one pass":        {0, 1, NoDifference},
		"equal, eight passes":    {0, 8, NoDifference},
		"1 %, below what counts": {0.01, 8, NoDifference},
		"5 % slower, one pass":   {0.05, 1, Slower},
		"5 % slower":             {0.05, 8, Slower},
		"30 % faster":            {-0.3, 8, Faster},
	} {
		r := judgeTwo(t, recordedRun(1, 0, 2, c.repetitions), recordedRun(2, c.effect, 2, c.repetitions), RecordingOptions{})
		if r.Verdict != c.want || r.ChangePercent == nil || math.Abs(*r.ChangePercent-100*c.effect) > 0.5 || !r.Complete {
			t.Errorf("%s: %s %v %q", name, r.Verdict, r.ChangePercent, r.Reasons)
		}
		if text := strings.Join(r.Reasons, " "); !strings.Contains(text, "drift, clocks and placement") || !strings.Contains(text, "1 run a side") {
			t.Errorf("%s: %s", name, text)
		}
	}
}

// Decode steps are compared at equal contexts only: a file that goes further is
// not slower for it.
func TestRecordingsCompareEqualContexts(t *testing.T) {
	a, b := recordedRun(1, 0, 1, 1), recordedRun(2, 0, 1, 1)
	last := b.Steps[len(b.Steps)-1]
	for i := 1; i <= 400; i++ {
		s := last
		s.Index, s.ContextLen, s.HostNS = last.Index+i, last.ContextLen+i, last.HostNS*3
		b.Steps = append(b.Steps, s)
	}
	if r := judgeTwo(t, a, b, RecordingOptions{}); r.Verdict != NoDifference {
		t.Errorf("%s %q", r.Verdict, r.Reasons)
	}
}

// Unlike machines, models and workloads are invalid, each difference named; what
// may differ is a warning; subsets compare what they share.
func TestRecordingsMustBeAlike(t *testing.T) {
	gpu := bench.GPU{Name: "H100", Driver: "550", UUID: "GPU-1"}
	w350, w700 := 350, 700
	for want, change := range map[string]func(a, b *bench.File){
		"host.cpu":                  func(_, b *bench.File) { b.Run.Host.CPU = "Other CPU" },
		"host.cores":                func(_, b *bench.File) { b.Run.Host.Cores = 64 },
		"workload.model":            func(_, b *bench.File) { b.Run.Workload.Model = "preset:llama-3-8b" },
		"workload.seed":             func(_, b *bench.File) { b.Run.Workload.Seed = 2 },
		"workload.kind":             func(_, b *bench.File) { b.Run.Workload.Kind = "latency" },
		"backend.kv_cache_dtype":    func(a, b *bench.File) { a.Run.Backend.KVDType, b.Run.Backend.KVDType = "bf16", "f32" },
		"host.gpus: 0 in A, 1 in B": func(_, b *bench.File) { b.Run.Host.GPUs = []bench.GPU{gpu} },
		"host.gpus[0].power_limit_w": func(a, b *bench.File) {
			x, y := gpu, gpu
			x.PowerLimitW, y.PowerLimitW = &w350, &w700
			a.Run.Host.GPUs, b.Run.Host.GPUs = []bench.GPU{x}, []bench.GPU{y}
		},
		"synchronisation of every step": func(_, b *bench.File) {
			for i := range b.Steps {
				b.Steps[i].Graph = ""
			}
		},
		"no point in common": func(_, b *bench.File) { b.Points[0].InputLen, b.Points[1].InputLen = 7, 9 },
		"a check of B failed: correctness": func(_, b *bench.File) {
			b.Checks = []bench.Check{{Name: bench.CheckEmptyStep}, {Name: "correctness"}}
		},
	} {
		a, b := recordedRun(1, 0, 2, 1), recordedRun(2, 0, 2, 1)
		change(a, b)
		r := judgeTwo(t, a, b, RecordingOptions{})
		if r.Verdict != Invalid || !strings.Contains(strings.Join(r.Reasons, "\n"), want) {
			t.Errorf("want invalid for %s: %s %q", want, r.Verdict, r.Reasons)
		}
	}
	a, b := recordedRun(1, 0, 3, 1), recordedRun(2, 0, 2, 1)
	b.Run.Host.Hostname = "other"
	r := judgeTwo(t, a, b, RecordingOptions{})
	if text := strings.Join(r.Warnings, "\n"); r.Verdict != NoDifference || !strings.Contains(text, "4 points in common; left out: 2 only in A, 0 only in B") ||
		!strings.Contains(text, "host.hostname") {
		t.Errorf("subset: %s, warnings %q", r.Verdict, r.Warnings)
	}
	a.Checks = []bench.Check{{Name: CheckPlan}}
	if r, err := Recordings(a, b, RecordingOptions{}); err != nil || r.Verdict != Invalid || !strings.Contains(strings.Join(r.Reasons, "\n"), "one file holds an interleaved comparison") {
		t.Errorf("an interleaved comparison beside a recording: %s, %q, %v", r.Verdict, r.Reasons, err)
	}
}

func TestRecordingThresholds(t *testing.T) {
	a, b := recordedRun(1, 0, 1, 8), recordedRun(2, 0.012, 1, 8)
	small, large := 0.005, 0.1
	for name, c := range map[string]struct {
		o    RecordingOptions
		want Verdict
	}{
		"default":           {RecordingOptions{}, NoDifference},
		"asked to lower it": {RecordingOptions{Delta: &small}, NoDifference},
		"forced":            {RecordingOptions{Delta: &small, ForceDelta: true}, Slower},
		"raised":            {RecordingOptions{Delta: &large}, NoDifference},
	} {
		if r := judgeTwo(t, a, b, c.o); r.Verdict != c.want {
			t.Errorf("%s: %s %q", name, r.Verdict, r.Reasons)
		}
	}
	for i := range b.Steps {
		mhz := 1500
		b.Steps[i].SMClockMHz = &mhz
	}
	for i := range a.Steps {
		mhz := 1980
		a.Steps[i].SMClockMHz = &mhz
	}
	if r := judgeTwo(t, a, b, RecordingOptions{}); r.Verdict == Faster || r.Verdict == Slower || r.Points[0].Verdict != Inconclusive {
		t.Errorf("clocks differ: %s %q", r.Verdict, r.Reasons)
	}
}

// Calibrate reads floor, alarms and certificate off runs of equal variants.
func TestCalibrate(t *testing.T) {
	var runs []PointResult
	p := shortPlan(decodeAt(0, 1, 64))
	for seed := range uint64(6) {
		runs = append(runs, judge(t, measure(t, noisy(seed, 0), p)).Points[0])
	}
	c, err := Calibrate(runs)
	if err != nil {
		t.Fatal(err)
	}
	// A slot's median of 4 steps of 0.3 %: an epoch's change has about 0.1 %, six
	// epochs 0.04 %, so the 95th percentile is about 0.08 %.
	if c.Runs != 6 || c.Epochs < 36 || c.Alarms != 0 || c.FloorPercent < 0.03 || c.FloorPercent > 0.2 || math.Abs(c.FalseAlarmPercent-39.3) > 0.1 {
		t.Errorf("%+v", c)
	}
	if _, err := Calibrate(nil); err == nil {
		t.Error("no runs")
	}
	runs[1].Batch = 9
	if _, err := Calibrate(runs); err == nil {
		t.Error("runs of two points")
	}
}

func TestEpochTime(t *testing.T) {
	f := measure(t, &machine{cost: func(*engine) int64 { return 1000 }}, shortPlan(decodeAt(0, 1, 64)))
	d, ok := EpochTime(f)
	// Two prefills, 8 settling steps, 16 slots of 5 steps, a microsecond each.
	if !ok || d.Microseconds() != 2+8+80 {
		t.Errorf("%v, %t", d, ok)
	}
}
