package main

import (
	"encoding/json"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// startProbed is a server whose probes take so long while it does nothing else, and fail where failed
// says so of the n-th, from 1. A request of the load waits until the fourth probe came.
func startProbed(t *testing.T, idle time.Duration, failed func(n int) bool) *scriptedServer {
	t.Helper()
	probes, four := 0, make(chan struct{})
	var s *scriptedServer
	s = startServed(t, servedScript{every: time.Millisecond, before: func(w http.ResponseWriter, r *http.Request, _ int64, body map[string]any) bool {
		if body["prompt"] != "Hi" {
			<-four
			return false
		}
		s.mu.Lock()
		probes++
		n := probes
		s.mu.Unlock()
		time.Sleep(idle)
		if n == 4 {
			close(four)
		}
		if failed(n) {
			http.Error(w, "busy", 503)
			return true
		}
		return false
	}})
	return s
}

// blockLabels are the labels and titles of a printed block, in their order.
func blockLabels(text string) string {
	var b strings.Builder
	in := false
	for line := range strings.Lines(text) {
		if strings.HasPrefix(line, "===") {
			in = !in
		}
		if in || strings.HasPrefix(line, "===") {
			label, _, _ := strings.Cut(line, ":")
			b.WriteString(strings.TrimRight(label, "\n") + "\n")
		}
	}
	return b.String()
}

const probeRun = "--model preset:tiny --tokenizer name:words --dataset-name random --random-input-len 8 --random-output-len 4 --num-prompts 3 --max-concurrency 2 --probe-request-rate 500 --percentile-metrics ttft,e2el --save-result --result-filename r.json --raw c.jsonl"

// TestServeProbes wants the labels of the block and the keys of the result file in the order in which
// vLLM 0.33.0's client has them with the same flags, and what the capture says.
func TestServeProbes(t *testing.T) {
	want := map[string]string{}
	for _, name := range []string{"labels", "keys"} {
		data, err := os.ReadFile(filepath.Join("testdata", "probes_vllm_"+name+".txt"))
		if err != nil {
			t.Fatal(err)
		}
		want[name] = string(data)
	}
	t.Chdir(t.TempDir())
	const idle = 5 * time.Millisecond
	s := startProbed(t, idle, func(n int) bool { return n == 2 })
	out, _ := serveOK(t, s, strings.Fields(probeRun)...)
	if got := blockLabels(out); got != want["labels"] {
		t.Errorf("labels:\n%s", got)
	}
	file, err := os.ReadFile("r.json")
	if err != nil {
		t.Fatal(err)
	}
	if got := strings.Join(keysOf(t, file), "\n") + "\n"; got != want["keys"] {
		t.Errorf("keys:\n%s", got)
	}
	var r struct {
		Completed int     `json:"completed"`
		Probes    int     `json:"probe_completed"`
		Failed    int     `json:"probe_failed"`
		Median    float64 `json:"probe_median_e2el_ms"`
		P99       float64 `json:"probe_p99_e2el_ms"`
		Max       float64 `json:"probe_max_e2el_ms"`
	}
	if err := json.Unmarshal(file, &r); err != nil {
		t.Fatal(err)
	}
	if r.Completed != 3 || r.Probes < 3 || r.Failed != 1 || r.Median < milliseconds(idle) || r.Median > r.P99 || r.P99 > r.Max {
		t.Errorf("%+v", r)
	}
	if !strings.Contains(out, "\nprobes: 1 of ") || !strings.Contains(out, "p1: http_status: status 503") {
		t.Errorf("no word of the failed probe in\n%s", out)
	}
	for _, q := range s.seen() {
		if q.body["prompt"] == "Hi" && (q.body["max_tokens"] != 1.0 || q.header.Get("x-request-id") != "") {
			t.Errorf("probe %s, id %q", q.raw, q.header.Get("x-request-id"))
		}
	}
	reportsSame(t, out)
	jsonHasProbes(t, r.Probes, r.Failed, r.Max)
}

// jsonHasProbes wants the figures of the result file in the JSON report of the capture.
func jsonHasProbes(t *testing.T, completed, failed int, most float64) {
	t.Helper()
	_, text, _ := latheWith(t, nil, "report", "c.jsonl", "--format", "json")
	var again struct {
		Client struct {
			Probes struct {
				Completed, Failed int
				Max               float64 `json:"max_e2el_ms"`
			}
		}
	}
	if err := json.Unmarshal([]byte(text), &again); err != nil {
		t.Fatal(err)
	}
	if p := again.Client.Probes; p.Completed != completed || p.Failed != failed || p.Max != most {
		t.Errorf("JSON report: %+v, result file %d, %d, %v", p, completed, failed, most)
	}
}

func milliseconds(d time.Duration) float64 { return float64(d) / 1e6 }

// reportsSame wants the report of the capture to be what the run printed.
func reportsSame(t *testing.T, out string) {
	t.Helper()
	code, again, stderr := latheWith(t, nil, "report", "c.jsonl")
	if want := strings.TrimSuffix(out, "raw: c.jsonl\n"); code != 0 || again != want {
		t.Errorf("exit %d %s: report\n%s\nthe run\n%s", code, stderr, again, want)
	}
}

// Where no probe succeeded vLLM's client says nothing of them; a line under the table does.
func TestServeProbesAllFailed(t *testing.T) {
	t.Chdir(t.TempDir())
	s := startProbed(t, 0, func(int) bool { return true })
	out, _ := serveOK(t, s, strings.Fields(probeRun)...)
	if strings.Contains(out, "Probe Requests") || !strings.Contains(out, "\nprobes: ") || !strings.Contains(out, " failed; p0: http_status: status 503") {
		t.Errorf("%s", out)
	}
	file, err := os.ReadFile("r.json")
	if err != nil || strings.Contains(string(file), "probe_") {
		t.Errorf("%v %s", err, file)
	}
	reportsSame(t, out)
}

// The probes of August share the pool; --dry-run says so, and audit knows it of the capture.
func TestServeProbesByVersion(t *testing.T) {
	t.Chdir(t.TempDir())
	s := startServed(t, servedScript{every: time.Millisecond})
	for version, want := range map[string]string{"2026-08": "over the connections of the requests, the last pause in the duration", "2026-11": "over a connection of their own, none in the duration"} {
		flags := append(strings.Fields(probeRun), "--harness-version", version, "--raw", version+".jsonl")
		code, out, stderr := latheWith(t, nil, append([]string{"bench", "serve", "--dry-run", "--base-url", s.url}, flags...)...)
		if line := "probes: \"Hi\" for one token, the next 0.002 s after the end of the one before, " + want + "\n"; code != 0 || !strings.Contains(out, line) {
			t.Errorf("exit %d %s%s", code, out, stderr)
		}
		serveOK(t, s, flags...)
	}
	code, out, stderr := latheWith(t, nil, "audit", "2026-08.jsonl", "2026-11.jsonl")
	for _, want := range []string{"\nG9   probes in the pool and in the duration\n     A  they share the pool of connections, and the duration waits for their loop\n     B  no probe is in the duration\n",
		"     A  until the loop of the probes has slept its last pause\n     B  until the last request has ended\n     moves duration lower in B\n"} {
		if !strings.Contains(out, want) {
			t.Errorf("exit %d, no %q in %s%s", code, want, out, stderr)
		}
	}
}
