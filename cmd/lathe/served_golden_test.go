package main

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/spf13/cobra"

	"lathe/bench"
	"lathe/bench/report"
	"lathe/bench/serving"
)

// goldenReport is what a release printed and wrote for a command line and a recording.
type goldenReport struct {
	Scenario, Harness, Backend string
	Args                       []string
	Metrics                    []string        `json:"metrics_before_after"`
	ServerInfo                 json.RawMessage `json:"server_info"`
	Text                       *string         `json:"report_text"`
	Files                      map[string]string
	Error                      *string
}

func (g goldenReport) file(t *testing.T) []byte {
	t.Helper()
	for _, text := range g.Files {
		return []byte(text)
	}
	t.Fatal("the golden report has no file")
	return nil
}

// goldenRecording is a recording of the golden corpus, as far as a capture is made of it.
type goldenRecording struct {
	Name      string
	Tokenizer *string
	DurationS json.Number `json:"duration_s"`
	Requests  []struct {
		ID              string
		Endpoint        string
		StartS          json.Number `json:"start_s"`
		Status          *int
		Reason          *string
		PromptLen       int  `json:"prompt_len"`
		TextPromptLen   *int `json:"text_prompt_len"`
		VisionPromptLen *int `json:"vision_prompt_len"`
		RequestedLen    int  `json:"requested_output_len"`
		Reads           []struct {
			TS  json.Number `json:"t_s"`
			B64 []byte
		}
		End struct {
			Kind string
			TS   json.Number `json:"t_s"`
		}
	}
}

// gunzipFile reads a compressed file of another package's test data.
func gunzipFile(t testing.TB, path string) []byte {
	t.Helper()
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	z, err := gzip.NewReader(bytes.NewReader(data))
	if err != nil {
		t.Fatal(err)
	}
	if data, err = io.ReadAll(z); err != nil {
		t.Fatal(err)
	}
	return data
}

// reportData is where bench/report keeps its copy of the golden files.
func reportData(t testing.TB, name string) string {
	t.Helper()
	path, err := filepath.Abs(filepath.Join("..", "..", "bench", "report", "testdata", name))
	if err != nil {
		t.Fatal(err)
	}
	return path
}

// goldenReports are the 32 reports of each version.
func goldenReports(t *testing.T) map[string][]goldenReport {
	t.Helper()
	files := goldenCorpus(t)
	var august, november struct{ Cases []goldenReport }
	for _, f := range []struct {
		data []byte
		into any
	}{{files["reports.json"], &august}, {gunzipFile(t, reportData(t, "serving-reports-2026-11.json.gz")), &november}} {
		if err := json.Unmarshal(f.data, f.into); err != nil {
			t.Fatal(err)
		}
	}
	if len(august.Cases) != 32 || len(november.Cases) != 32 {
		t.Fatalf("%d and %d reports, want 32 twice", len(august.Cases), len(november.Cases))
	}
	for i := range november.Cases { // the same servers answered
		november.Cases[i].Metrics, november.Cases[i].ServerInfo = august.Cases[i].Metrics, august.Cases[i].ServerInfo
	}
	return map[string][]goldenReport{string(serving.August): august.Cases, string(serving.November): november.Cases}
}

// goldenCorpus is the files of the golden corpus by name.
func goldenCorpus(t testing.TB) map[string][]byte {
	t.Helper()
	all := map[string][]byte{}
	files := tar.NewReader(bytes.NewReader(gunzipFile(t, reportData(t, "serving-2026-08.tar.gz"))))
	for {
		h, err := files.Next()
		if errors.Is(err, io.EOF) {
			return all
		}
		if err != nil {
			t.Fatal(err)
		}
		if all[h.Name], err = io.ReadAll(files); err != nil {
			t.Fatal(err)
		}
	}
}

// parseServed is what the flags of a command line of bench serve mean.
func parseServed(t *testing.T, args ...string) *benchServeOptions {
	t.Helper()
	app := &application{term: newTerminal(io.Discard, io.Discard), env: func(string) string { return "" }, argv: args}
	cmd, o := benchServeCommand(app)
	root := &cobra.Command{Use: "lathe"}
	root.AddCommand(group("bench", "", "", cmd))
	g, err := grammarOf(cmd)
	if err != nil {
		t.Fatal(err)
	}
	parsed, err := normaliseArgs(args, g)
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.ParseFlags(parsed.args()); err != nil {
		t.Fatal(err)
	}
	return o
}

// options are what the release's command line asks for, and what the run found out.
func (g goldenReport) options(t *testing.T, version string, s *goldenRecording) *benchServeOptions {
	t.Helper()
	args := []string{"--backend", g.Backend, "--model", "org/model-a", "--disable-tqdm"}
	if harness, _, _ := strings.Cut(g.Harness, "-"); harness == harnessSGLang {
		args = append([]string{"--harness", harness}, append(args, "--tokenizer", "t", "--ready-check-timeout-sec", "0", "--warmup-requests", "0")...)
	}
	if g.Backend == "openai-chat" {
		args = append(args, "--endpoint", "/v1/chat/completions")
	}
	o := parseServed(t, append(args, g.Args...)...)
	o.HarnessVersion = version
	o.Used = servedUsed{ModelID: "org/model-a", ModelName: "org/model-a", Tokenizer: "name:chars", Endpoint: s.Requests[0].Endpoint}
	if s.Tokenizer != nil {
		o.Used.Tokenizer = "name:" + *s.Tokenizer
	}
	if o.Server.SkipTokenizer {
		o.Used.Tokenizer = "none"
	}
	return o
}

// capture writes the recording as a capture of a run with these options.
func (g goldenReport) capture(t *testing.T, path string, o *benchServeOptions, s *goldenRecording) {
	t.Helper()
	options, err := json.Marshal(o)
	if err != nil {
		t.Fatal(err)
	}
	all := []any{&bench.Run{Kind: bench.KindRun, Schema: bench.Schema, Command: serveCommand, StartedAt: "2026-08-17T12:34:56Z", Argv: []string{}, Options: options, Warnings: []string{}}}
	ns := func(x json.Number) int64 {
		f, err := x.Float64()
		if err != nil {
			t.Fatal(err)
		}
		return int64(math.Round(f * 1e9))
	}
	answer := func(path, body string) {
		all = append(all, &bench.Answer{Kind: bench.KindAnswer, Path: path, Status: 200, Body: body})
	}
	if len(g.Metrics) == 2 {
		answer("/metrics", g.Metrics[0])
	}
	for _, r := range s.Requests {
		q := &bench.Request{Kind: bench.KindRequest, ID: r.ID, Endpoint: r.Endpoint, PromptLen: r.PromptLen, TextPromptLen: r.TextPromptLen, VisionPromptLen: r.VisionPromptLen,
			RequestedOutputLen: r.RequestedLen, ScheduledNS: ns(r.StartS), AdmittedNS: ns(r.StartS), SentNS: ns(r.StartS), Status: r.Status,
			End: &bench.RequestEnd{Kind: r.End.Kind, TNS: ns(r.End.TS)}}
		if r.Reason != nil {
			q.Reason = *r.Reason
		}
		for _, x := range r.Reads {
			q.Reads = append(q.Reads, bench.Read{TNS: ns(x.TS), B64: x.B64})
		}
		all = append(all, q)
	}
	if len(g.Metrics) == 2 {
		answer("/metrics", g.Metrics[1])
	}
	if len(g.ServerInfo) > 0 && string(g.ServerInfo) != "null" {
		answer("/server_info", string(g.ServerInfo))
	}
	all = append(all, &bench.End{Kind: bench.KindEnd, DurationNS: ns(s.DurationS), Reason: bench.EndCompleted})
	w, err := bench.OpenWriter(path, bench.New)
	if err != nil {
		t.Fatal(err)
	}
	if err := w.Write(all...); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
}

// TestServedReportsAreTheReleases: from the releases' command lines and the recordings, report prints
// their blocks, and their result files come out byte for byte, in both versions.
func TestServedReportsAreTheReleases(t *testing.T) {
	corpus, goldens := goldenCorpus(t), goldenReports(t)
	dir := t.TempDir()
	for version, cases := range goldens {
		for i, g := range cases {
			t.Run(fmt.Sprintf("%s/%d-%s-%s", version, i, g.Scenario, g.Backend), func(t *testing.T) {
				var s goldenRecording
				if err := json.Unmarshal(corpus[g.Scenario+".json"], &s); err != nil {
					t.Fatal(err)
				}
				path := filepath.Join(dir, fmt.Sprintf("%s-%d.jsonl", version, i))
				o := g.options(t, version, &s)
				g.capture(t, path, o, &s)
				code, out, stderr := latheWith(t, nil, "report", path)
				if code != 0 {
					t.Fatalf("exit %d: %s", code, stderr)
				}
				if g.Error != nil {
					if !strings.Contains(out, "the harness ends in "+*g.Error+" instead of a result") || strings.Contains(out, "Serving Benchmark Result") {
						t.Errorf("no word of %s:\n%s", *g.Error, out)
					}
					return
				}
				if !strings.HasPrefix(out, *g.Text) {
					t.Errorf("block differs:\n%.2500s\nwant\n%s", out, *g.Text)
				}
				g.compareFile(t, path, o)
			})
		}
	}
}

func (g goldenReport) compareFile(t *testing.T, path string, o *benchServeOptions) {
	t.Helper()
	tok, err := openTokens(o.Used.Tokenizer)
	if err != nil {
		t.Fatal(err)
	}
	opt, err := o.readingOptions(tok.counter())
	if err != nil {
		t.Fatal(err)
	}
	r, err := bench.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	served, err := readServed(r, o, opt)
	if err != nil {
		t.Fatal(err)
	}
	date := time.Date(2026, 8, 17, 12, 34, 56, 0, time.UTC)
	name, file := "", []byte(nil)
	if o.Harness == harnessVLLM {
		run := served.vllmRun(date)
		name = report.VLLMResultName(run)
		file, err = report.VLLMResult(run, served.own())
	} else {
		run := served.sglangRun(date)
		name = report.SGLangResultName(run)
		file, err = report.SGLangResult(run, served.own())
	}
	if err != nil {
		t.Fatal(err)
	}
	if want, ok := g.Files[name]; !ok || string(file) != want {
		t.Errorf("file %q (there: %v):\n%s\nwant\n%s", name, ok, file, want)
	}
}
