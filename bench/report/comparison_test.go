package report

import (
	"bytes"
	"context"
	"encoding/json"
	"math/rand/v2"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"lathe/bench"
	"lathe/bench/compare"
	"lathe/bench/step"
)

// scripted is an engine on a clock of its own: a step takes a time that follows from its context and a
// seeded noise.
type scripted struct {
	now           *int64
	noise         *rand.Rand
	ratio         float64
	rows, context int
}

func (s *scripted) Begin(prompts [][]int32, _ int) error {
	s.rows, s.context = len(prompts), len(prompts[0])
	return nil
}

func (s *scripted) take(ns float64) error {
	*s.now += int64(ns * s.ratio * (1 + 0.002*s.noise.NormFloat64()))
	return nil
}

func (s *scripted) Prefill() error { return s.take(1e4 * float64(s.rows*s.context)) }

func (s *scripted) Decode() error {
	s.context++
	return s.take(1e6 + 1e3*float64(s.rows*s.context))
}
func (s *scripted) Wait() error     { return nil }
func (s *scripted) DeviceNS() int64 { return -1 }
func (s *scripted) Graph() string   { return "none" }
func (s *scripted) Cached() int     { return 0 }
func (s *scripted) Tokens() []int32 { return make([]int32, s.rows) }

type scriptedClock struct{ now *int64 }

func (c scriptedClock) Now() int64 { return *c.now }

// recordScripted writes the recording that the golden reports are of: B takes 3 % longer at the first
// point, as long at the second, and the third does not fit.
func recordScripted(t *testing.T, path string) {
	t.Helper()
	if err := os.Remove(path); err != nil && !os.IsNotExist(err) {
		t.Fatal(err)
	}
	var now int64
	noise := rand.New(rand.NewPCG(7, 7))
	p := compare.DefaultPlan()
	p.Looks, p.Alpha, p.Blocks, p.Warmup, p.Steps, p.SettleSteps, p.PrefillReps = []int{5, 6}, 0.0294, 3, 1, 4, 2, 3
	p.Model, p.Vocab, p.Seed = "preset:tiny", 256, 11
	floor := 0.001
	p.Points = []compare.Point{{ID: 0, Batch: 1, ContextLen: 16, Phase: bench.Decode}, {ID: 1, Batch: 2, ContextLen: 16, Phase: bench.Prefill, AAFloor: &floor},
		{ID: 2, Batch: 4096, ContextLen: 16, Phase: bench.Decode}}
	p.A, _ = json.Marshal(compare.Variant{Backend: bench.Backend{Name: "cpu", ISA: "portable", Threads: 2, KVDType: "bf16"}})
	p.B, _ = json.Marshal(compare.Variant{Backend: bench.Backend{Name: "cpu", Path: "build/new.so", SHA256: strings.Repeat("ab", 32), ISA: "portable", Threads: 2, KVDType: "bf16"}})
	w := p.Workload()
	sum, _ := w.SHA256()
	out, err := bench.OpenWriter(path, bench.New)
	if err != nil {
		t.Fatal(err)
	}
	run := bench.Run{Kind: bench.KindRun, Schema: bench.Schema, Command: "compare", StartedAt: "2026-11-01T00:00:00Z", Workload: w, WorkloadSHA256: sum,
		Host: bench.Host{OS: "linux", Arch: "amd64", CPU: "CPU", Cores: 2}, Build: bench.Build{Version: "0.1.0", Go: "go1.26"},
		Model: &bench.Model{ID: "preset:tiny", Source: "seeded", Parameters: 106848, DType: "bfloat16"}, Backend: bench.Backend{Name: "cpu"},
		Options: json.RawMessage(`{"raw":"lathe-runs/ab.jsonl"}`), Warnings: []string{"2 threads on 1 usable processors: they wait for each other"}}
	rig := compare.Rig{Recorder: out, Clock: scriptedClock{&now}, Open: func(_ context.Context, _ int, v compare.Visit) (compare.Pair, error) {
		if v.Point.ID == 2 {
			return compare.Pair{}, &step.Skip{Reason: "memory: two variants: 30 GB needed, 20 GB allowed"}
		}
		ratio := map[int]float64{0: 1.03, 1: 1}[v.Point.ID]
		return compare.Pair{A: &scripted{now: &now, noise: noise, ratio: 1}, B: &scripted{now: &now, noise: noise, ratio: ratio}}, nil
	}}
	if err := out.Write(run); err != nil {
		t.Fatal(err)
	}
	if err := compare.Run(context.Background(), rig, p); err != nil {
		t.Fatal(err)
	}
	if err := out.Write(bench.End{Kind: bench.KindEnd, DurationNS: now, Reason: bench.EndCompleted}); err != nil {
		t.Fatal(err)
	}
	if err := out.Close(); err != nil {
		t.Fatal(err)
	}
}

// TestComparisonReports: every form of a comparison's report, from the file alone.
func TestComparisonReports(t *testing.T) {
	if *update {
		recordScripted(t, filepath.Join("testdata", "compare.jsonl.zst"))
	}
	f := load(t, "compare.jsonl.zst")
	for format, name := range map[string]string{"text": "compare.txt", "json": "compare.json", "csv": "compare.csv", "markdown": "compare.md", "benchstat": "compare.bench", "html": "compare.html"} {
		golden(t, name, render(t, f, format))
	}
	for format, name := range map[string]string{"text": "compare.explain.txt", "json": "compare.explain.json"} {
		var b bytes.Buffer
		if err := Explain(&b, f, format); err != nil {
			t.Fatal(err)
		}
		golden(t, name, b.Bytes())
	}
}

// TestComparisonWithoutPlan: what is left of a recording whose plan is gone is called incomplete, in
// every form.
func TestComparisonWithoutPlan(t *testing.T) {
	f := load(t, "compare.jsonl.zst")
	f.Checks = nil
	for _, format := range []string{"text", "json", "markdown", "html"} {
		if out := render(t, f, format); !strings.Contains(strings.Join(strings.Fields(string(out)), " "), "plan of the comparison is not in the file") {
			t.Errorf("%s: %s", format, out)
		}
	}
}

// TestComparisonFormsAgree: the verdict and the change are the same in every form.
func TestComparisonFormsAgree(t *testing.T) {
	f := load(t, "compare.jsonl.zst")
	r, err := compare.Judge(f)
	if err != nil {
		t.Fatal(err)
	}
	for _, format := range []string{"text", "json", "csv", "markdown", "html"} {
		out := string(render(t, f, format))
		for _, p := range r.Points {
			if !strings.Contains(out, string(p.Verdict)) {
				t.Errorf("%s: no verdict %s", format, p.Verdict)
			}
		}
		for _, reason := range r.Reasons {
			if words := strings.Fields(reason); !strings.Contains(strings.NewReplacer(`\`, "", "\n", " ").Replace(out), words[0]) {
				t.Errorf("%s: no reason %q", format, reason)
			}
		}
	}
}

// TestComparisonIncomplete: a recording that was cut says so first, in every form that people read.
func TestComparisonIncomplete(t *testing.T) {
	f := load(t, "compare.jsonl.zst")
	f.End = nil
	for _, format := range []string{"text", "markdown"} {
		if out := render(t, f, format); !bytes.Contains(out[:200], []byte("INCOMPLETE")) {
			t.Errorf("%s does not say that the run was cut:\n%s", format, out)
		}
	}
}

// TestBenchstatLines: the export has one line an epoch and variant, in the form of Go's benchmarks
// (https://go.dev/design/14313-benchmark-format).
func TestBenchstatLines(t *testing.T) {
	line := regexp.MustCompile(`^Benchmark[A-Z][a-z]+/batch=\d+/context=\d+/variant=[ab] [1-9]\d* [0-9.]+ ns/op$`)
	key := regexp.MustCompile(`^[a-z][^\sA-Z]*: .+$`)
	n := 0
	for _, l := range strings.Split(strings.TrimSpace(string(render(t, load(t, "compare.jsonl.zst"), "benchstat"))), "\n") {
		switch {
		case line.MatchString(l):
			n++
		case !key.MatchString(l):
			t.Errorf("neither a key nor a benchmark: %q", l)
		}
	}
	if want := 2 * 2 * 6; n != want {
		t.Errorf("%d lines, want %d: two points, two variants, six epochs", n, want)
	}
}

// TestP128_ComparisonIsStrictJSON: what is undefined of a comparison is null, in a whole one, one that
// was cut, one of nothing, and of two recordings; no text holds a NaN or an infinity.
func TestP128_ComparisonIsStrictJSON(t *testing.T) {
	whole := load(t, "compare.jsonl.zst")
	cut := *whole
	cut.End, cut.Points, cut.Steps = nil, nil, whole.Steps[:40]
	none := cut
	none.Steps = nil
	for name, f := range map[string]*bench.File{"whole": whole, "cut": &cut, "nothing": &none} {
		for _, format := range ComparisonFormats() {
			out := render(t, f, format)
			if format == "json" {
				var r compare.Result
				d := json.NewDecoder(bytes.NewReader(out))
				if err := d.Decode(&r); err != nil || len(r.Points) != 3 {
					t.Errorf("%s: %d points, %v", name, len(r.Points), err)
				}
			}
			if format != "html" && regexp.MustCompile(`(?i)\b(nan|inf|infinity)\b`).Match(out) {
				t.Errorf("%s as %s holds a number that is none:\n%s", name, format, out)
			}
		}
	}
}
