package report

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math"
	"strconv"
	"strings"
	"testing"
	"time"

	"lathe/bench/serving"
)

// printed is a report of the golden corpus: what a whole run printed and wrote.
type printed struct {
	Scenario   string
	Harness    string
	Backend    string
	Args       []string
	Metrics    []string        `json:"metrics_before_after"`
	ServerInfo json.RawMessage `json:"server_info"`
	Text       *string         `json:"report_text"`
	Files      map[string]string
	Error      *string
}

// args is a harness's command line: each flag with its values.
func (p *printed) args() map[string][]string {
	all, name := map[string][]string{}, ""
	for _, a := range p.Args {
		if flag, ok := strings.CutPrefix(a, "--"); ok {
			name = flag
			all[name] = []string{}
			continue
		}
		all[name] = append(all[name], a)
	}
	return all
}

type arguments map[string][]string

func (a arguments) text(name, otherwise string) string {
	if v := a[name]; len(v) > 0 {
		return v[0]
	}
	return otherwise
}

func (a arguments) number(t *testing.T, name string, otherwise float64) float64 {
	t.Helper()
	v := a[name]
	if len(v) == 0 {
		return otherwise
	}
	x, err := strconv.ParseFloat(v[0], 64)
	if err != nil {
		t.Fatal(err)
	}
	return x
}

func (a arguments) optional(t *testing.T, name string) *int {
	t.Helper()
	if a[name] == nil {
		return nil
	}
	n := int(a.number(t, name, 0))
	return &n
}

func (a arguments) has(name string) bool { return a[name] != nil }

func (a arguments) string(name string) *string {
	if v := a[name]; len(v) > 0 {
		return &v[0]
	}
	return nil
}

func goldenDate() time.Time { return time.Date(2026, 8, 17, 12, 34, 56, 0, time.UTC) }

func vllmRun(t *testing.T, p *printed, a arguments, durationNS int64) (VLLMRun, []float64) {
	t.Helper()
	model := "org/model-a"
	run := VLLMRun{
		Date: goldenDate(), Backend: p.Backend, Label: a.string("label"), ModelID: model, TokenizerID: &model,
		NumPrompts: int(a.number(t, "num-prompts", 1000)), Metadata: a["metadata"], RequestRate: a.number(t, "request-rate", math.Inf(1)),
		Burstiness: a.number(t, "burstiness", 1), MaxConcurrency: a.optional(t, "max-concurrency"), SaveDetailed: a.has("save-detailed"),
		PercentileMetrics: strings.Split(a.text("percentile-metrics", "ttft,tpot,itl"), ","),
		ResultDir:         a.text("result-dir", ""), ResultFilename: a.text("result-filename", ""),
	}
	if a.has("skip-tokenizer-init") {
		run.TokenizerID = nil
	}
	if len(p.Metrics) == 2 {
		run.Speculation = serving.SpeculationBetween(p.Metrics[0], p.Metrics[1])
		run.Diffusion = serving.DiffusionBetween(p.Metrics[0], p.Metrics[1], durationNS)
	}
	var percentiles []float64
	for _, s := range strings.Split(a.text("metric-percentiles", "99"), ",") {
		x, err := strconv.ParseFloat(s, 64)
		if err != nil {
			t.Fatal(err)
		}
		percentiles = append(percentiles, x)
	}
	return run, percentiles
}

func sglangRun(t *testing.T, p *printed, a arguments) SGLangRun {
	t.Helper()
	return SGLangRun{
		Date: goldenDate(), Tag: a.string("tag"), Backend: p.Backend, Dataset: a.text("dataset-name", "sharegpt"),
		NumPrompts: int(a.number(t, "num-prompts", 1000)), RequestRate: a.number(t, "request-rate", math.Inf(1)),
		MaxConcurrency: a.optional(t, "max-concurrency"), RandomInputLen: int(a.number(t, "random-input-len", 1024)),
		RandomOutputLen: int(a.number(t, "random-output-len", 1024)), RandomRangeRatio: a.number(t, "random-range-ratio", 0),
		ImageCount: 1, ImageResolution: "1080p", ServerInfo: p.ServerInfo, OutputDetails: a.has("output-details"), OutputFile: a.text("output-file", ""),
	}
}

// render makes the block, the file's name and the file of a case.
func (p *printed) render(t *testing.T, s *scenario, v serving.Version) (text, name string, file []byte, err error) {
	t.Helper()
	a := arguments(p.args())
	opt := serving.Options{Version: v, Count: counter(s.Tokenizer)}
	if s.Tokenizer == nil {
		chars := "chars"
		opt.Count = counter(&chars)
	}
	opt.Goodput = a["goodput"]
	var vrun VLLMRun
	vllm := strings.HasPrefix(p.Harness, "vllm")
	if vllm {
		vrun, opt.Percentiles = vllmRun(t, p, a, ns(t, s.DurationS))
		if a.has("skip-tokenizer-init") {
			opt.Count = nil
		}
	} else {
		_, opt.AcceptLength = serving.AcceptLength(p.ServerInfo, p.Backend)
	}
	harness, _, _ := strings.Cut(p.Harness, "-")
	r := read(t, bytes.NewReader(lines(t, s.records(t))), []string{harness + ":" + p.Backend}, opt)[0]
	if vllm {
		if text, err = VLLMBlock(vrun, r); err == nil {
			file, err = VLLMResult(vrun, r)
		}
		return text, VLLMResultName(vrun), file, err
	}
	srun := sglangRun(t, p, a)
	if text, err = SGLangBlock(srun, r); err == nil {
		file, err = SGLangResult(srun, r)
	}
	return text, SGLangResultName(srun), file, err
}

// firstDifference shows where two texts part.
func firstDifference(got, want string) string {
	n := 0
	for n < len(got) && n < len(want) && got[n] == want[n] {
		n++
	}
	from := max(0, n-60)
	return fmt.Sprintf("at byte %d: got %q, want %q", n, got[from:min(len(got), n+60)], want[from:min(len(want), n+60)])
}

func TestReportsByteForByte(t *testing.T) {
	c := loadCorpus(t)
	byName := map[string]*scenario{}
	for i := range c.scenarios {
		byName[c.scenarios[i].Name] = &c.scenarios[i]
	}
	var august, november struct{ Cases []printed }
	if err := json.Unmarshal(c.files["reports.json"], &august); err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(gunzip(t, "serving-reports-2026-11.json.gz"), &november); err != nil {
		t.Fatal(err)
	}
	if len(august.Cases) != 32 || len(november.Cases) != 32 {
		t.Fatalf("%d and %d cases, want 32 twice", len(august.Cases), len(november.Cases))
	}
	for i := range november.Cases { // the same servers answered
		november.Cases[i].Metrics, november.Cases[i].ServerInfo = august.Cases[i].Metrics, august.Cases[i].ServerInfo
	}
	for v, cases := range map[serving.Version][]printed{serving.August: august.Cases, serving.November: november.Cases} {
		for i := range cases {
			p := &cases[i]
			t.Run(fmt.Sprintf("%s/%d-%s-%s", v, i, p.Scenario, p.Backend), func(t *testing.T) {
				text, name, file, err := p.render(t, byName[p.Scenario], v)
				if p.Error != nil {
					if err == nil || !strings.Contains(err.Error(), *p.Error) {
						t.Fatalf("error %v, want %s", err, *p.Error)
					}
					return
				}
				if err != nil {
					t.Fatal(err)
				}
				if text != *p.Text {
					t.Error("block: " + firstDifference(text, *p.Text))
				}
				want, ok := p.Files[name]
				if !ok || len(p.Files) != 1 {
					t.Fatalf("file %q is not among %d files", name, len(p.Files))
				}
				if string(file) != want {
					t.Error("file: " + firstDifference(string(file), want))
				}
			})
		}
	}
}
