package main

import (
	"encoding/json"
	"net/http"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"lathe/bench"
)

// TestServeRetries: retries are for who asks for them, and are in the latency.
func TestServeRetries(t *testing.T) {
	t.Chdir(t.TempDir())
	s := startServed(t, servedScript{before: func(w http.ResponseWriter, _ *http.Request, n int64, _ map[string]any) bool {
		if n%3 != 0 {
			w.WriteHeader(503)
		}
		return n%3 != 0
	}})
	serveExit(t, s, 1, small("one.jsonl", 1)...)
	s.n.Store(0)
	serveExit(t, s, 0, small("three.jsonl", 1, "--retries", "2", "--retry-wait", "100ms")...)
	r := reported(t, "three.jsonl")
	if e2el := r.Exact.Metrics["e2el_ms"].(map[string]any); r.classesOf()["ok"] != 1 || e2el["mean"].(float64) < 200 {
		t.Errorf("%v, E2EL %v", r.classesOf(), e2el)
	}
}

// TestServeDuration: nothing is sent after the time, what runs on is given its drain, and what is left
// is counted with its age.
func TestServeDuration(t *testing.T) {
	t.Chdir(t.TempDir())
	s := startServed(t, servedScript{before: func(_ http.ResponseWriter, r *http.Request, n int64, _ map[string]any) bool {
		if n <= 3 {
			<-r.Context().Done()
		}
		return n <= 3
	}})
	out, _ := serveExit(t, s, 0, small("d.jsonl", 10, "--duration", "400ms", "--drain", "200ms")...)
	if !strings.Contains(out, "failed: 3 of 10: 3 timeout\n") || strings.Count(out, ": timeout, ended after 6") < 1 {
		t.Errorf("stdout:\n%s", out)
	}
	// A rate that the time cuts off: the rest is unsent, not failed.
	s.n.Store(10)
	out, _ = serveExit(t, s, 0, small("cut.jsonl", 500, "--duration", "300ms", "--request-rate", "100", "--arrival", "constant")...)
	r := reported(t, "cut.jsonl")
	unsent, _ := r.Client["unsent"].(float64)
	if unsent < 400 || int(unsent)+len(r.Exact.Requests) < 500 || !strings.Contains(out, "of 500 requests were not sent\n") {
		t.Errorf("%v unsent, %d sent:\n%s", unsent, len(r.Exact.Requests), out)
	}
}

// TestServeClosedLoop: clients that answer and think; the plan names them.
func TestServeClosedLoop(t *testing.T) {
	t.Chdir(t.TempDir())
	s := startServed(t, servedScript{first: 5 * time.Millisecond})
	out, _ := serveExit(t, s, 0, small("l.jsonl", 12, "--arrival", "closed", "--max-concurrency", "3", "--think-time", "10ms")...)
	f, err := bench.ReadFile("l.jsonl")
	if err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(out, ", peak 3;") || !strings.Contains(f.Run.Workload.Arrival, "closed loop of 3 clients, think 10ms") {
		t.Errorf("%s\n%s", f.Run.Workload.Arrival, out)
	}
	if at := slices.IndexFunc(strings.Split(out, "\n"), func(l string) bool { return strings.HasPrefix(l, "schedule: ") }); at >= 0 {
		t.Errorf("a closed loop has a schedule: %s", out)
	}
}

// TestServeComparisonCommands runs the command lines by which the harnesses' clients are compared with
// each other: the same prompts of a file, all at once or at a rate, and a result with times of its own.
func TestServeComparisonCommands(t *testing.T) {
	t.Chdir(t.TempDir())
	write(t, "vllm.jsonl", lines(4, `{"prompt": "one two three"}`))
	write(t, "sglang.jsonl", lines(4, `{"conversations": [{"content": "one two three"}, {"content": "four five six"}]}`))
	s := startServed(t, servedScript{})
	for i, args := range []string{
		"--backend vllm --endpoint /v1/completions --model truth --dataset-name custom --dataset-path vllm.jsonl --custom-output-len 5 --skip-chat-template --num-prompts 4 --ready-check-timeout-sec 0 " +
			"--save-result --save-detailed --result-filename out.json --disable-tqdm",
		"--backend vllm --endpoint /v1/completions --model truth --dataset-name custom --dataset-path vllm.jsonl --custom-output-len 5 --skip-chat-template --num-prompts 4 --ready-check-timeout-sec 0 " +
			"--save-result --save-detailed --result-filename out.json --disable-tqdm --request-rate 400",
		"--harness sglang --backend sglang-oai --model truth --dataset-name custom --dataset-path sglang.jsonl --sharegpt-output-len 5 --num-prompts 4 --warmup-requests 0 --output-file out.json --output-details --disable-tqdm",
	} {
		if err := os.Remove("out.json"); i > 0 && err != nil {
			t.Fatal(err)
		}
		serveOK(t, s, strings.Fields(args)...)
		var result struct {
			TTFTs          []float64   `json:"ttfts"`
			ITLs           [][]float64 `json:"itls"`
			GeneratedTexts []string    `json:"generated_texts"`
			Errors         []string    `json:"errors"`
			StartTimes     []float64   `json:"start_times"`
		}
		data, err := os.ReadFile("out.json")
		if err != nil || json.Unmarshal([]byte(strings.ReplaceAll(string(data), "Infinity", "null")), &result) != nil {
			t.Fatalf("%v: %.300s", err, data)
		}
		if len(result.TTFTs) != 4 || len(result.ITLs) != 4 || len(result.Errors) != 4 || result.GeneratedTexts[0] != " a a a a a" || len(result.ITLs[0]) < 4 || strings.HasPrefix(args, "--backend") && len(result.StartTimes) != 4 {
			t.Errorf("%s: %+v", args, result)
		}
	}
}
