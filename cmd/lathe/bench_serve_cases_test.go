package main

import (
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"slices"
	"strings"
	"testing"
	"time"
)

// TestP086_SaltedRuns: a server with a prefix cache gives the same command the same figures again; with
// the same prompts the second run says that it measured the cache.
func TestP086_SaltedRuns(t *testing.T) {
	t.Chdir(t.TempDir())
	seen := map[string]bool{}
	var s *scriptedServer
	s = startServed(t, servedScript{before: func(w http.ResponseWriter, r *http.Request, _ int64, body map[string]any) bool {
		prompt := fmt.Sprint(body["prompt"])
		s.mu.Lock()
		known := seen[prompt]
		seen[prompt] = true
		s.mu.Unlock()
		cached := 0
		if known {
			cached = 16
		} else {
			time.Sleep(60 * time.Millisecond) // the case's 500 ms, shorter
		}
		w.Header().Set("Content-Type", "text/event-stream")
		fmt.Fprintf(w, "data: {\"choices\":[{\"index\":0,\"text\":\" a\",\"finish_reason\":\"length\"}]}\n\n"+
			"data: {\"choices\":[],\"usage\":{\"prompt_tokens\":16,\"completion_tokens\":1,\"prompt_tokens_details\":{\"cached_tokens\":%d}}}\n\ndata: [DONE]\n\n", cached)
		return true
	}})
	args := []string{"--harness", "exact", "--model", "preset:tiny", "--num-prompts", "4", "--input-len", "16", "--output-len", "1"}
	for run := range 2 {
		raw := fmt.Sprintf("salted%d.jsonl", run)
		out, _ := serveOK(t, s, append(args, "--raw", raw)...)
		r := reported(t, raw)
		if strings.Contains(out, "their prefill was not measured") || r.Client["cache_contaminated"] != false {
			t.Errorf("run %d: %s", run, out)
		}
		if ttft := r.Exact.Metrics["ttft_ms"].(map[string]any); ttft["min"].(float64) < 60 {
			t.Errorf("run %d: TTFT %v", run, ttft)
		}
	}
	for run, want := range []bool{false, true} {
		raw := fmt.Sprintf("plain%d.jsonl", run)
		out, _ := serveOK(t, s, append(args, "--no-salt", "--raw", raw)...)
		if got := strings.Contains(out, "prefix cache: 100.0 % of the prompt tokens: their prefill was not measured"); got != want || reported(t, raw).Client["cache_contaminated"] != want {
			t.Errorf("run %d without a salt: %s", run, out)
		}
	}
	// The salt of a capture repeats its prompts.
	var header struct {
		Options benchServeOptions
	}
	data, err := os.ReadFile("salted0.jsonl")
	if err != nil || json.Unmarshal(data[:strings.IndexByte(string(data), '\n')], &header) != nil || header.Options.Used.SaltSeed == 0 {
		t.Fatalf("no salt in the header: %v", err)
	}
	if out, _ := serveOK(t, s, append(args, "--salt-seed", fmt.Sprint(header.Options.Used.SaltSeed), "--raw", "again.jsonl")...); !strings.Contains(out, "prefix cache: 100.0 %") {
		t.Errorf("the salt was not repeated: %s", out)
	}
}

// TestP048_SelfCheck: a server built in tells what the client costs: no frame is lost, the gap is the
// server's, and where it is not the report begins with that.
func TestP048_SelfCheck(t *testing.T) {
	t.Chdir(t.TempDir())
	code, out, stderr := latheWith(t, nil, "bench", "serve", "--harness", "exact", "--self-check", "--num-prompts", "8", "--output-len", "200", "--raw", "c.jsonl")
	if code != 0 || !strings.Contains(out, "\nself-check: 8 streams of a frame each 1ms: 1600 of 1600 frames, mean gap ") || !strings.Contains(out, "\nread lag: p50 ") {
		t.Fatalf("exit %d: %s%s", code, stderr, out)
	}
	r := reported(t, "c.jsonl")
	if c := r.Client["self_check"].(map[string]any); c["frames"] != 1600.0 || c["mean_gap_ms"].(float64) <= 0 {
		t.Errorf("%v", c)
	}
	// The same capture with half the frames, as a client that lost them would have written it, and with
	// all stamps twice as far apart.
	for name, change := range map[string]func(read map[string]any, k int){
		"client-limited: self-check: ": func(read map[string]any, k int) {
			if k%2 == 1 {
				read["b64"] = ""
			}
		},
		"client-limited: self-check: the mean gap is ": func(read map[string]any, _ int) {
			for _, key := range []string{"t_ns", "kernel_ns"} {
				if v, ok := read[key].(json.Number); ok {
					ns, _ := v.Int64()
					read[key] = 2 * ns
				}
			}
		},
	} {
		eachLine(t, "c.jsonl", "bad.jsonl", func(line map[string]any) {
			reads, _ := line["reads"].([]any)
			for k, r := range reads {
				change(r.(map[string]any), k)
			}
			for _, key := range []string{"end"} { // behind its reads
				if e, ok := line[key].(map[string]any); ok {
					ns, _ := e["t_ns"].(json.Number).Int64()
					e["t_ns"] = 2 * ns
				}
			}
		})
		if code, out, stderr := latheWith(t, nil, "report", "bad.jsonl"); code != 0 || !strings.HasPrefix(out, name) {
			t.Errorf("%s: exit %d: %s%.400s", name, code, stderr, out)
		}
	}
	if code, _, stderr := latheWith(t, nil, "bench", "serve", "--harness", "exact", "--self-check", "--base-url", "http://127.0.0.1:1"); code != 2 || !strings.Contains(stderr, "--base-url does not go with it") {
		t.Errorf("exit %d: %s", code, stderr)
	}
}

// repeatedServer answers the two requests of each run after the run's own delay: 20, 150 and 50 ms.
func repeatedServer(t *testing.T) *scriptedServer {
	slow := []time.Duration{20 * time.Millisecond, 150 * time.Millisecond, 50 * time.Millisecond}
	return startServed(t, servedScript{before: func(_ http.ResponseWriter, _ *http.Request, n int64, _ map[string]any) bool {
		time.Sleep(slow[(n-1)/2%3])
		return false
	}})
}

// runFigure is a figure of several runs in the JSON report.
type runFigure struct {
	Name           string
	Values         []float64
	Median, Spread float64
}

// TestP141_MedianOfRuns: --repeat keeps every run, gives the median of each figure and names its rule.
func TestP141_MedianOfRuns(t *testing.T) {
	t.Chdir(t.TempDir())
	s := repeatedServer(t)
	out, _ := serveExit(t, s, 0, small("run.jsonl", 2, "--repeat", "3", "--output-json", "o.json")...)
	for _, want := range []string{"run 1 of 3\n", "raw: run-3.jsonl\n", "exact: median of 3 runs, each counted the same\n", "\nunstable: ", "mean TTFT ms: max/min = "} {
		if !strings.Contains(out, want) {
			t.Errorf("no %q in\n%s", want, out)
		}
	}
	var each []float64
	raws := []string{"run.jsonl", "run-2.jsonl", "run-3.jsonl"}
	for _, raw := range raws {
		each = append(each, reported(t, raw).Exact.Metrics["ttft_ms"].(map[string]any)["mean"].(float64))
	}
	for _, name := range []string{"o.json", "o-2.json", "o-3.json"} {
		if _, err := os.Stat(name); err != nil {
			t.Error(err)
		}
	}
	var again struct {
		Summary struct {
			Rule     string
			Figures  []runFigure
			Unstable []string
		}
	}
	code, text, stderr := latheWith(t, nil, append(append([]string{"report"}, raws...), "--format", "json")...)
	if code != 0 || json.Unmarshal([]byte(text), &again) != nil || again.Summary.Rule != "median of 3 runs, each counted the same" || len(again.Summary.Unstable) == 0 {
		t.Fatalf("exit %d: %s%s", code, stderr, text)
	}
	at := slices.IndexFunc(again.Summary.Figures, func(f runFigure) bool { return f.Name == "mean TTFT ms" })
	middle := slices.Sorted(slices.Values(each))
	if f := again.Summary.Figures[at]; !slices.Equal(f.Values, each) || f.Median != middle[1] || f.Spread != middle[2]/middle[0] {
		t.Errorf("%+v of %v", f, each)
	}
	if code, text, _ := latheWith(t, nil, append([]string{"report"}, raws...)...); code != 0 || !strings.HasSuffix(out, text) {
		t.Errorf("report prints another table:\n%s", text)
	}
}

// TestP101_UnstableRuns: runs that lie apart are called so, --strict fails them, and a run in which
// nothing succeeded is no median.
func TestP101_UnstableRuns(t *testing.T) {
	t.Chdir(t.TempDir())
	s := repeatedServer(t)
	_, stderr := serveExit(t, s, 1, small("strict.jsonl", 2, "--repeat", "3", "--strict")...)
	if !strings.Contains(stderr, "error: bench serve: the runs are unstable: ") {
		t.Error(stderr)
	}
	s.n.Store(0)
	out, _ := serveExit(t, s, 0, small("loose.jsonl", 2, "--repeat", "3", "--repeat-limit", "1000000", "--format", "json")...)
	var whole struct {
		Runs    []servedJSON
		Summary map[string]any
	}
	if err := json.Unmarshal([]byte(out), &whole); err != nil || len(whole.Runs) != 3 || len(whole.Summary["unstable"].([]any)) != 0 {
		t.Errorf("%v: %.300s", err, out)
	}
	// Salted anew, so that no run takes another's prompts from a cache.
	prompts := map[string]bool{}
	for _, q := range s.seen() {
		prompts[fmt.Sprint(q.body["prompt"])] = true
	}
	if len(prompts) != len(s.seen()) {
		t.Errorf("%d prompts of %d came before", len(s.seen())-len(prompts), len(s.seen()))
	}
	broken := startServed(t, servedScript{before: func(w http.ResponseWriter, _ *http.Request, n int64, _ map[string]any) bool {
		if n > 2 {
			w.WriteHeader(500)
		}
		return n > 2
	}})
	out, _ = serveExit(t, broken, 1, small("broken.jsonl", 2, "--repeat", "3")...)
	if !strings.Contains(out, "run 2: no request succeeded; run 3: no request succeeded (limit 1.25)") {
		t.Errorf("stdout:\n%s", out)
	}
}
