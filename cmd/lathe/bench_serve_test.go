package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// keysOf lists the keys of a JSON object in their order.
func keysOf(t *testing.T, text []byte) []string {
	t.Helper()
	d := json.NewDecoder(strings.NewReader(string(text)))
	var keys []string
	depth, wantKey := 0, false
	for {
		tok, err := d.Token()
		if err != nil {
			return keys
		}
		switch tok := tok.(type) {
		case json.Delim:
			if tok == '{' || tok == '[' {
				depth++
			} else {
				depth--
			}
			wantKey = depth == 1
		case string:
			if depth == 1 && wantKey {
				keys, wantKey = append(keys, tok), false
				continue
			}
			wantKey = depth == 1
		default:
			wantKey = depth == 1
		}
	}
}

// kindsOf is the JSON type of each member.
func kindsOf(t *testing.T, text []byte) map[string]string {
	t.Helper()
	var m map[string]any
	if err := json.Unmarshal(text, &m); err != nil {
		t.Fatalf("%v in %.300s", err, text)
	}
	kinds := map[string]string{}
	for k, v := range m {
		kinds[k] = fmt.Sprintf("%T", v)
	}
	return kinds
}

// TestServePublishedVLLM runs the command line of vLLM's client that is published, its first words
// changed and its numbers smaller.
func TestServePublishedVLLM(t *testing.T) {
	t.Chdir(t.TempDir())
	s := startServed(t, servedScript{first: 2 * time.Millisecond, every: time.Millisecond})
	out, stderr := serveOK(t, s, strings.Fields(`--backend vllm --model meta-llama/Meta-Llama-3-8B-Instruct
		--dataset-name random --random-input-len 1024 --random-output-len 25
		--random-range-ratio 0.0
		--num-prompts 10 --request-rate 60.0 --burstiness 1.0
		--num-warmups 5
		--percentile-metrics ttft,tpot,itl,e2el --metric-percentiles 50,90,99
		--goodput ttft:900 e2el:14100
		--ignore-eos
		--save-result --result-filename run-vllm.json`)...)
	for _, want := range []string{
		"============ Serving Benchmark Result ============\nSuccessful requests:                     10        \nFailed requests:                         0         \n" +
			"Request rate configured (RPS):           60.00     \n",
		"Total input tokens:                      90        \nTotal generated tokens:                  250       \n",
		"Request goodput (req/s): ", "P50 TTFT (ms): ", "----------------End-to-end Latency----------------\n", "P99 E2EL (ms): ",
		"vllm:vllm  sglang:sglang-oai ", "schedule: ", "send lag: ", "read lag: ", "output length: requested 25, produced mean 25 (100.0 %)", "\nraw: lathe-runs/",
	} {
		if !strings.Contains(out, want) {
			t.Errorf("stdout lacks %q", want)
		}
	}
	if !strings.Contains(stderr, "byte tokenizer of preset:llama-3-8b") || !strings.Contains(stderr, "result: run-vllm.json") {
		t.Errorf("stderr %s", stderr)
	}
	all := s.seen()
	if len(all) != 15 {
		t.Fatalf("%d requests, want 5 warm-ups and 10", len(all))
	}
	for i, b := range all {
		id := b.header.Get("X-Request-Id")
		if warm := i < 5; b.path != "/v1/completions" || b.body["ignore_eos"] != true || b.body["max_tokens"] != 25.0 || (id == "") != warm {
			t.Errorf("request %d (id %q): %.200s", i, id, b.raw)
		}
		if prompt := b.body["prompt"].(string); len(prompt) != 1024 {
			t.Errorf("request %d: %d bytes of prompt", i, len(prompt))
		}
		if _, there := b.body["temperature"]; there {
			t.Errorf("request %d has a temperature", i)
		}
	}
	if !strings.HasPrefix(all[5].header.Get("X-Request-Id"), "bench-") {
		t.Errorf("request id %q", all[5].header.Get("X-Request-Id"))
	}
	if _, err := os.Stat("run-vllm.json"); err != nil {
		t.Error(err)
	}
}

// TestServePublishedSGLang likewise, of SGLang's client.
func TestServePublishedSGLang(t *testing.T) {
	t.Chdir(t.TempDir())
	s := startServed(t, servedScript{every: time.Millisecond, tokens: []int{3, 4}})
	out, _ := serveOK(t, s, strings.Fields(`--harness sglang --backend sglang
		--model meta-llama/Meta-Llama-3-8B-Instruct
		--dataset-name random --random-input-len 1024 --random-output-len 40
		--random-range-ratio 1.0
		--num-prompts 10 --request-rate 60.0
		--warmup-requests 5 --flush-cache
		--output-file run-sgl.jsonl --output-details`)...)
	for _, want := range []string{
		"============ Serving Benchmark Result ============\nBackend:                                 sglang    \nTraffic request rate:                    60.0      \n" +
			"Max request concurrency:                 not set   \nSuccessful requests:                     10        \n",
		"Total input tokens:                      10240     \n", "Total generated tokens:                  400       \n", "Max ITL (ms): ",
		"sglang:sglang ",
	} {
		if !strings.Contains(out, want) {
			t.Errorf("stdout lacks %q:\n%s", want, out)
		}
	}
	asked := s.asked()
	order := []string{"GET /v1/models", "POST /generate", "POST /flush_cache?timeout=60.0", "GET /server_info"}
	at := -1
	for _, path := range order {
		i := slices.Index(asked, path)
		if i <= at {
			t.Errorf("%s is call %d, after call %d: %q", path, i, at, asked)
		}
		at = i
	}
	for i, b := range s.seen() {
		sampling := b.body["sampling_params"].(map[string]any)
		want := 40.0
		if i < 5 {
			want = 32 // warm-ups are cut to it
		}
		if sampling["max_new_tokens"] != want || sampling["ignore_eos"] != true || sampling["temperature"] != 0.0 {
			t.Errorf("request %d: %v", i, sampling)
		}
	}
	if data, err := os.ReadFile("run-sgl.jsonl"); err != nil || strings.Count(string(data), "\n") != 1 {
		t.Errorf("result file: %v", err)
	}
}

// TestServeResultFilesHaveTheReleasesKeys compares the keys, their order and the types of the result
// files with what the releases write.
func TestServeResultFilesHaveTheReleasesKeys(t *testing.T) {
	goldens := goldenReports(t)
	for _, version := range versionNames() {
		for _, c := range []struct {
			golden int // case of the reports
			args   string
			name   string
		}{
			{0, "--save-result --result-filename r.json", "r.json"},
			{1, "--save-result --save-detailed --request-rate 600 --percentile-metrics ttft,tpot,itl,e2el --metric-percentiles 50,90,99.9 --backend vllm --result-filename r.json", "r.json"},
			{2, "--backend openai-chat --endpoint /v1/chat/completions --save-result --max-concurrency 4 --goodput ttft:100 e2el:200 --result-filename r.json", "r.json"},
			{3, "--append-result --request-rate 900 --burstiness 0.5 --percentile-metrics e2el --metric-percentiles 1,99 --metadata tp=2 note=x=y --result-dir out.d --result-filename r.json", "out.d/r.json"},
			{13, "--backend openai-chat --endpoint /v1/chat/completions --save-result --skip-tokenizer-init --dataset-name custom --dataset-path p.jsonl --result-filename r.json", "r.json"},
			{17, "--harness sglang --dataset-name random-ids --random-input-len 20 --random-output-len 4 --output-file r.json", "r.json"},
			{18, "--harness sglang --dataset-name random-ids --random-input-len 20 --random-output-len 4 --request-rate 600 --max-concurrency 4 --output-details --tag t1 --output-file r.json", "r.json"},
			{20, "--harness sglang --backend sglang-oai --dataset-name random-ids --random-input-len 20 --random-output-len 4 --output-file r.json --output-details", "r.json"},
			{29, "--harness sglang --backend sglang-oai-chat --dataset-name random-ids --random-input-len 20 --random-output-len 4 --output-file r.json --output-details", "r.json"},
		} {
			t.Run(fmt.Sprintf("%s/%d", version, c.golden), func(t *testing.T) {
				t.Chdir(t.TempDir())
				if err := os.WriteFile("p.jsonl", []byte(strings.Repeat("{\"prompt\": \"one two\"}\n", 6)), 0o600); err != nil {
					t.Fatal(err)
				}
				s := startServed(t, servedScript{acceptLength: "3.5"})
				args := append([]string{"--model", "preset:tiny", "--num-prompts", "6", "--harness-version", version}, strings.Fields(c.args)...)
				if !strings.Contains(c.args, "sglang") {
					args = append(args, "--random-input-len", "20", "--random-output-len", "4")
				}
				serveOK(t, s, args...)
				got, err := os.ReadFile(c.name)
				if err != nil {
					t.Fatal(err)
				}
				golden := goldens[version][c.golden].file(t)
				strict := func(text []byte) []byte { // SGLang writes a bare Infinity
					return bytes.ReplaceAll(text, []byte(`"request_rate": Infinity`), []byte(`"request_rate": "inf"`))
				}
				golden, got = strict(golden), strict(got)
				rename := func(keys []string) []string { // the golden names its metadata differently
					return slices.DeleteFunc(keys, func(k string) bool { return k == "note" || k == " note " })
				}
				if diff := cmp.Diff(rename(keysOf(t, golden)), rename(keysOf(t, got))); diff != "" {
					t.Errorf("keys (golden, ours):\n%s", diff)
				}
				want, kinds := kindsOf(t, golden), kindsOf(t, got)
				for k, kind := range want {
					if kinds[k] != kind && !slices.Contains([]string{"server_info", "accept_length", "label", "tag", "request_goodput", "note"}, k) {
						t.Errorf("%s is a %s, in the release a %s", k, kinds[k], kind)
					}
				}
			})
		}
	}
}

// TestServeDefaultNames: without a name for it, the result file has the one that the harness would give.
func TestServeDefaultNames(t *testing.T) {
	t.Chdir(t.TempDir())
	s := startServed(t, servedScript{})
	small := []string{"--model", "org/model-a", "--tokenizer", "name:chars", "--num-prompts", "2", "--random-input-len", "8", "--random-output-len", "2"}
	serveOK(t, s, append(small, "--save-result", "--request-rate", "500", "--max-concurrency", "4", "--label", "run one")...)
	serveOK(t, s, append(small, "--harness", "sglang", "--dataset-name", "random-ids")...)
	for _, pattern := range []string{"run one-500.0qps-concurrency4-model-a-????????-??????.json", "sglang_????_2_8_2.jsonl"} {
		if found, err := filepath.Glob(pattern); err != nil || len(found) != 1 {
			all, _ := os.ReadDir(".")
			t.Errorf("no %s among %v", pattern, all)
		}
	}
}

// TestServeReportIsTheSame: what the run printed is what report prints of its capture (P056), in every
// harness.
func TestServeReportIsTheSame(t *testing.T) {
	t.Chdir(t.TempDir())
	s := startServed(t, servedScript{tokens: []int{2, 3}, acceptLength: "2.5", every: time.Millisecond})
	for i, args := range []string{
		"--random-input-len 20 --random-output-len 12 --request-rate 400 --percentile-metrics ttft,tpot,itl,e2el --metric-percentiles 50,99",
		"--harness sglang --dataset-name random-ids --random-input-len 20 --random-output-len 12 --backend sglang-oai --goodput ttft:100",
		"--harness sglang --dataset-name random-ids --random-input-len 20 --random-output-len 12 --harness-version 2026-08",
		"--harness exact --input-len 20 --output-len 12 --max-concurrency 2",
	} {
		raw := fmt.Sprintf("c%d.jsonl.zst", i)
		out, _ := serveOK(t, s, append([]string{"--model", "preset:tiny", "--num-prompts", "6", "--raw", raw}, strings.Fields(args)...)...)
		code, again, stderr := latheWith(t, nil, "report", raw)
		if want := again + "raw: " + raw + "\n"; code != 0 || out != want {
			t.Errorf("%s: exit %d, report differs: %s\n%s", args, code, stderr, cmp.Diff(out, want))
		}
		for _, format := range []string{"json", "csv", "markdown", "html"} {
			if code, text, stderr := latheWith(t, nil, "report", raw, "--format", format); code != 0 || len(text) < 200 {
				t.Errorf("%s --format %s: exit %d: %s %s", args, format, code, text, stderr)
			} else if format == "json" && !json.Valid([]byte(text)) {
				t.Errorf("%s: no JSON", args)
			}
		}
	}
}
