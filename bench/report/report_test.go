package report

import (
	"bytes"
	"encoding/csv"
	"encoding/json"
	"flag"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"

	"lathe/bench"
	"lathe/bench/metric"
)

var (
	update   = flag.Bool("update", false, "write the golden files")
	reportOf = flag.String("report-of", "", "raw file to report on, in a child process")
)

func load(t *testing.T, name string) *bench.File {
	t.Helper()
	f, err := bench.ReadFile(filepath.Join("testdata", name))
	if err != nil {
		t.Fatal(err)
	}
	return f
}

func golden(t *testing.T, name string, got []byte) {
	t.Helper()
	path := filepath.Join("testdata", name)
	if *update {
		if err := os.WriteFile(path, got, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), string(got)); diff != "" {
		t.Errorf("%s (-want +got):\n%s", name, diff)
	}
}

func render(t *testing.T, f *bench.File, format string) []byte {
	t.Helper()
	var b bytes.Buffer
	if err := Write(&b, f, format); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

func TestGolden(t *testing.T) {
	extension := map[string]string{"text": "txt", "json": "json", "csv": "csv", "markdown": "md", "html": "html"}
	for _, name := range []string{"sweep", "cut", "latency"} {
		f := load(t, name+".jsonl")
		for _, format := range Formats() {
			golden(t, name+"."+extension[format], render(t, f, format))
		}
	}
	if err := Write(&bytes.Buffer{}, load(t, "cut.jsonl"), "pdf"); err == nil {
		t.Error("an unknown format was written")
	}
}

func TestGoldenOneBatch(t *testing.T) {
	f := load(t, "sweep.jsonl")
	var rows bytes.Buffer
	if err := WriteOneBatchRows(&rows, OneBatchRows(f, "roofline")); err != nil {
		t.Fatal(err)
	}
	golden(t, "sweep.rows.jsonl", rows.Bytes())
	var lines []string
	for _, p := range metric.Points(f) {
		lines = append(lines, OneBatchLines(p, 10)...)
	}
	golden(t, "sweep.console", []byte(strings.Join(lines, "\n")+"\n"))
}

func TestGoldenLatency(t *testing.T) {
	r, err := Latency(load(t, "latency.jsonl"))
	if err != nil {
		t.Fatal(err)
	}
	var b bytes.Buffer
	if err := r.Write(&b); err != nil {
		t.Fatal(err)
	}
	golden(t, "latency.result.json", b.Bytes())
	golden(t, "latency.console", []byte(strings.Join(r.Lines(), "\n")+"\n"))
}

// The reports of a copy, made by a process in another place, time zone and
// locale, are the same bytes.
func TestReportDependsOnTheFileAlone(t *testing.T) {
	if *reportOf != "" {
		f, err := bench.ReadFile(*reportOf)
		if err != nil {
			t.Fatal(err)
		}
		for _, format := range Formats() {
			if err := os.WriteFile(format+".out", render(t, f, format), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		return
	}
	dir := t.TempDir()
	data, err := os.ReadFile("testdata/sweep.jsonl")
	if err != nil {
		t.Fatal(err)
	}
	copied := filepath.Join(dir, "somebody else's.jsonl")
	if err := os.WriteFile(copied, data, 0o600); err != nil {
		t.Fatal(err)
	}
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(exe, "-test.run=^TestReportDependsOnTheFileAlone$", "-report-of", copied)
	cmd.Dir = dir
	cmd.Env = []string{"TZ=Asia/Kolkata", "LC_ALL=de_DE.UTF-8", "COLUMNS=40", "NO_COLOR="}
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	f := load(t, "sweep.jsonl")
	for _, format := range Formats() {
		got, err := os.ReadFile(filepath.Join(dir, format+".out"))
		if err != nil {
			t.Fatal(err)
		}
		if !bytes.Equal(got, render(t, f, format)) {
			t.Errorf("%s differs there", format)
		}
	}
}

// SGLang's keys come first and in SGLang's order; every point has a row.
func TestOneBatchRowKeys(t *testing.T) {
	want := strings.Fields(`run_name batch_size input_len output_len prefill_latency prefill_throughput
		median_decode_latency median_decode_throughput total_latency overall_throughput`)
	f := load(t, "sweep.jsonl")
	rows := OneBatchRows(f, "x")
	if len(rows) != len(f.Points) {
		t.Errorf("%d rows of %d points", len(rows), len(f.Points))
	}
	for _, r := range rows {
		if got := keys(t, r); !slices.Equal(got[:len(want)], want) {
			t.Errorf("keys %v", got)
		}
		if r.Status != bench.StatusOK && (r.PrefillLatency != nil || r.Reason == nil) {
			t.Errorf("%s row: %+v", r.Status, r)
		}
	}
	if r, err := Latency(load(t, "latency.jsonl")); err != nil {
		t.Error(err)
	} else if got := keys(t, r); !slices.Equal(got[:4], []string{"model_id", "avg_latency", "latencies", "percentiles"}) {
		t.Errorf("keys %v", got)
	}
}

// keys are the top keys of v's JSON in their order.
func keys(t *testing.T, v any) (names []string) {
	t.Helper()
	data, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	d := json.NewDecoder(bytes.NewReader(data))
	if _, err := d.Token(); err != nil {
		t.Fatal(err)
	}
	for d.More() {
		key, err := d.Token()
		if err != nil {
			t.Fatal(err)
		}
		names = append(names, key.(string))
		var value json.RawMessage
		if err := d.Decode(&value); err != nil {
			t.Fatal(err)
		}
	}
	return names
}

func TestEveryPointAndReasonInEveryForm(t *testing.T) {
	f := load(t, "sweep.jsonl")
	for _, format := range Formats() {
		text := strings.Join(strings.Fields(string(render(t, f, format))), " ")
		for _, reason := range []string{"non-finite logits in row 0", "KV cache of 17408 tokens", "KV cache of 24576 tokens"} {
			if !strings.Contains(text, reason) {
				t.Errorf("%s: %q is missing", format, reason)
			}
		}
	}
	records, err := csv.NewReader(bytes.NewReader(render(t, f, "csv"))).ReadAll()
	if err != nil || len(records) != 1+len(f.Points) {
		t.Errorf("csv: %d records, %v", len(records), err)
	}
}

// A GPU's table has a column more: what is left out is named.
func TestTextLeavesColumnsOutByName(t *testing.T) {
	f := load(t, "sweep.jsonl")
	for i := range f.Steps {
		f.Steps[i].DeviceNS = &f.Steps[i].HostNS
	}
	for i := range f.Points {
		f.Points[i].Batch *= 1000
	}
	text := string(render(t, f, "text"))
	if !strings.Contains(text, "device ms") || !strings.Contains(text, "Left out for width: total ms") {
		t.Error(text)
	}
	for line := range strings.Lines(text) {
		if n := utf8.RuneCountInString(strings.TrimSuffix(line, "\n")); n > textWidth {
			t.Errorf("%d columns: %s", n, line)
		}
	}
}

func TestTextFitsAHundredColumns(t *testing.T) {
	for _, name := range []string{"sweep", "cut", "latency"} {
		for line := range strings.Lines(string(render(t, load(t, name+".jsonl"), "text"))) {
			if n := utf8.RuneCountInString(strings.TrimSuffix(line, "\n")); n > textWidth {
				t.Errorf("%s: %d columns: %s", name, n, line)
			}
		}
	}
}
