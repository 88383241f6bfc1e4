package report

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"lathe/bench"
	"lathe/bench/metric"
)

// A run without a point, and one without a sample, have reports that a strict
// parser reads, with null where nothing is defined.
func TestP128_UndefinedIsNull(t *testing.T) {
	zero := &bench.File{
		Points: []bench.Point{{Status: bench.StatusOK, Batch: 1, InputLen: 8, OutputLen: 4}},
		Steps: []bench.Step{
			{Phase: bench.Prefill, ContextLen: 8}, {Phase: bench.Decode, Index: 1, ContextLen: 9}},
	}
	for name, f := range map[string]*bench.File{
		"nothing":   {},
		"no sample": {Points: zero.Points},
		"no time":   zero,
	} {
		for _, format := range Formats() {
			var b bytes.Buffer
			if err := Write(&b, f, format); err != nil {
				t.Fatalf("%s as %s: %v", name, format, err)
			}
			for _, word := range []string{"NaN", "nan", "Inf", "inf"} {
				if strings.Contains(b.String(), word) {
					t.Errorf("%s as %s: %q in\n%s", name, format, word, b.String())
				}
			}
			if format == "json" && !json.Valid(b.Bytes()) {
				t.Errorf("%s: not JSON", name)
			}
		}
		for _, r := range OneBatchRows(f, "x") {
			data, err := json.Marshal(r)
			if err != nil || !bytes.Contains(data, []byte(`"overall_throughput":null`)) {
				t.Errorf("%s: row %s, %v", name, data, err)
			}
		}
	}
	if _, err := Latency(&bench.File{}); err == nil {
		t.Error("a latency result of nothing")
	}
	r, err := Latency(&bench.File{Points: zero.Points})
	if err != nil || r.AvgLatency != nil || len(r.Lines()) != 0 {
		t.Errorf("latency without an iteration: %+v, %v", r, err)
	}
}

func TestP131_IncompleteIsSaidFirst(t *testing.T) {
	cut := load(t, "cut.jsonl")
	stopped := load(t, "sweep.jsonl")
	stopped.End.Reason = bench.EndInterrupted
	failed := load(t, "sweep.jsonl")
	failed.End = &bench.End{Reason: bench.EndFailed, Error: "disk\nfull"}
	lacking := load(t, "sweep.jsonl")
	lacking.Points = lacking.Points[:7]
	for want, f := range map[string]*bench.File{
		"was cut; 1 of 8 points":          cut,
		"was interrupted; 8 of 8 points":  stopped,
		"failed (disk full); 8 of 8":      failed,
		"INCOMPLETE: 7 of 8 points finis": lacking,
	} {
		if lines := strings.Split(string(render(t, f, "text")), "\n"); !strings.Contains(lines[1], want) {
			t.Errorf("second line %q, want %q in it", lines[1], want)
		}
		if text := string(render(t, f, "json")); !strings.Contains(text, `"complete": false`) {
			t.Errorf("%s: the JSON report claims to be complete", want)
		}
	}
	if text := string(render(t, load(t, "sweep.jsonl"), "text")); strings.Contains(text, "INCOMPLETE") {
		t.Error("a whole run is called incomplete")
	}
}

// The empty step is about the harness: that a step is short against it is a note
// of its point, and no numeric check that failed, also in an old file.
func TestWhatIsANumericCheck(t *testing.T) {
	f := load(t, "sweep.jsonl")
	for i := range f.Checks {
		f.Checks[i].OK = false
	}
	f.Checks = append(f.Checks, bench.Check{Name: "kernel"}, bench.Check{Name: "correctness", OK: true})
	for _, format := range []string{"text", "json", "markdown"} {
		text := strings.Join(strings.Fields(string(render(t, f, format))), " ")
		if n := strings.Count(text, "numeric check"); n != 1 || !strings.Contains(text, "numeric check kernel failed") {
			t.Errorf("%s: %d numeric checks failed", format, n)
		}
		if strings.Count(text, "is under 100 times the empty step") != 1 {
			t.Errorf("%s: not one note on short steps", format)
		}
	}
}

// Every median has its n, and an interval from six samples on.
func TestEveryMedianHasItsN(t *testing.T) {
	f := load(t, "latency.jsonl")
	for i := range f.Steps {
		if s := &f.Steps[i]; s.Index > 1 {
			s.DeviceNS = &s.HostNS
		}
	}
	for n := 5; n <= 6; n++ {
		g := *f
		g.Steps = slices.DeleteFunc(slices.Clone(f.Steps), func(s bench.Step) bool { return !s.Warmup && s.Iteration >= n })
		g.Iterations = slices.DeleteFunc(slices.Clone(f.Iterations), func(i bench.Iteration) bool { return !i.Warmup && i.Iteration >= n })
		table := tabulate(metric.Points(&g))
		for title, want := range map[string]string{"calls": fmt.Sprint(n), "n": fmt.Sprint(n), "steps": fmt.Sprint(3 * n)} {
			at := slices.Index(table.titles, title)
			if at < 0 || table.rows[0][at] != want {
				t.Fatalf("n %d: column %q of %q %q, want %s", n, title, table.titles, table.rows, want)
			}
			median := table.rows[0][at-1]
			if has := strings.Contains(median, "±"); has != (title == "steps" || n == 6) {
				t.Errorf("%s samples: %q", want, median)
			}
		}
		if at := slices.Index(table.titles, "device ms"); !strings.HasSuffix(table.rows[0][at], fmt.Sprintf(" (n=%d)", 2*n)) {
			t.Errorf("device: %q", table.rows[0][at])
		}
	}
}

// What the end of a run says reaches every form for people and programs.
func TestWarningsOfTheEnd(t *testing.T) {
	path := filepath.Join(t.TempDir(), "raw.jsonl")
	data := `{"kind":"run"}` + "\n" + `{"kind":"end","duration_ns":1,"reason":"completed","warnings":["the wall clock went back"]}` + "\n"
	if err := os.WriteFile(path, []byte(data), 0o600); err != nil {
		t.Fatal(err)
	}
	f, err := bench.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	for _, format := range []string{"text", "json", "markdown"} {
		if text := string(render(t, f, format)); strings.Count(text, "the wall clock went back") != 1 {
			t.Errorf("%s: %s", format, text)
		}
	}
}

// P052 again where people read it: neither a line nor a row divides by the batch.
func TestP052_ConsoleAndRow(t *testing.T) {
	f := &bench.File{Points: []bench.Point{{Status: bench.StatusOK, Batch: 32, InputLen: 100, OutputLen: 11}}}
	for i := range 11 {
		s := bench.Step{Index: i, Phase: bench.Decode, Batch: 32, ContextLen: 100 + i, HostNS: 20e6}
		if i == 0 {
			s.Phase, s.HostNS = bench.Prefill, 1e9
		}
		f.Steps = append(f.Steps, s)
	}
	want := []string{
		"Prefill. latency: 1.00000 s, throughput:   3200.00 token/s",
		"Decode 0. Batch size: 32, latency: 0.02000 s, throughput:   1600.00 token/s",
		"Decode 1. Batch size: 32, latency: 0.02000 s, throughput:   1600.00 token/s",
		"Decode 2. Batch size: 32, latency: 0.02000 s, throughput:   1600.00 token/s",
		"Decode 3. Batch size: 32, latency: 0.02000 s, throughput:   1600.00 token/s",
		"Decode 4. Batch size: 32, latency: 0.02000 s, throughput:   1600.00 token/s",
		"Decode.  median latency: 0.02000 s, median throughput:   1600.00 token/s",
		"Total. latency:  1.200 s, throughput:   2960.00 token/s",
	}
	if got := OneBatchLines(metric.Points(f)[0], 0); strings.Join(got, "\n") != strings.Join(want, "\n") {
		t.Errorf("console:\n%s", strings.Join(got, "\n"))
	}
}

func TestNumbers(t *testing.T) {
	for x, want := range map[float64]string{0: "0.0", 1: "1.0", 0.5: "0.5", 1e-4: "0.0001", 0.00001: "1e-05", 1e16: "1e+16",
		123456789012345: "123456789012345.0", -2.5e-7: "-2.5e-07", 1.0 / 3: "0.3333333333333333"} {
		if got := python(x); got != want {
			t.Errorf("python(%v) = %s, want %s", x, got, want)
		}
	}
	for x, want := range map[float64]string{0: "0", 12.344: "12.34", 9.9996: "10.00", 0.00012344: "0.0001234", 123456: "123456", 99999: "99999"} {
		if got := sig(x, 4); got != want {
			t.Errorf("sig(%v) = %s, want %s", x, got, want)
		}
	}
	for n, want := range map[uint64]string{0: "0 B", 1023: "1023 B", 1024: "1.00 KiB", 16060522496: "15.0 GiB", math.MaxUint64: "16777216 TiB"} {
		if got := bytesText(n); got != want {
			t.Errorf("bytesText(%d) = %s, want %s", n, got, want)
		}
	}
}

type full struct{}

func (full) Write([]byte) (int, error) { return 0, fmt.Errorf("disk: %w", io.ErrShortWrite) }

func TestWriteErrorsAreReturned(t *testing.T) {
	f := load(t, "latency.jsonl")
	for _, format := range Formats() {
		if err := Write(full{}, f, format); err == nil {
			t.Errorf("%s: no error", format)
		}
	}
	r, err := Latency(f)
	if err != nil || r.Write(full{}) == nil || WriteOneBatchRows(full{}, OneBatchRows(f, "x")) == nil {
		t.Error("a result that was not written was reported as written")
	}
}
