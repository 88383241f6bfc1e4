package main

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// servedWay is a protocol of a harness.
type servedWay struct{ harness, backend, path, endpoint, more string }

func servedWays() []servedWay {
	return []servedWay{
		{"vllm", "openai", "/v1/completions", "completions", ""},
		{"vllm", "vllm", "/v1/completions", "completions", ""},
		{"vllm", "openai-chat", "/v1/chat/completions", "chat", "--endpoint /v1/chat/completions"},
		{"vllm", "openai-responses", "/v1/responses", "responses", "--endpoint /v1/responses"},
		{"sglang", "sglang", "/generate", "generate", ""},
		{"sglang", "sglang-native", "/generate", "generate", ""},
		{"sglang", "sglang-oai", "/v1/completions", "completions", ""},
		{"sglang", "vllm", "/v1/completions", "completions", ""},
		{"sglang", "lmdeploy", "/v1/completions", "completions", ""},
		{"sglang", "sglang-oai-chat", "/v1/chat/completions", "chat", ""},
		{"sglang", "vllm-chat", "/v1/chat/completions", "chat", ""},
		{"sglang", "lmdeploy-chat", "/v1/chat/completions", "chat", ""},
		{"sglang", "sglang", "/generate", "generate", "--disable-stream"},
		{"sglang", "sglang-oai", "/v1/completions", "completions", "--disable-stream"},
		{"sglang", "sglang", "/generate", "generate", "--tokenize-prompt"},
		{"exact", "openai", "/v1/completions", "completions", ""},
		{"exact", "openai-chat", "/v1/chat/completions", "chat", ""},
		{"exact", "openai-responses", "/v1/responses", "responses", ""},
		{"exact", "sglang", "/generate", "generate", ""},
		{"exact", "openai", "/v1/completions", "completions", "--tokenize-prompt"},
	}
}

// TestServeBackends speaks every protocol of every harness: the path, and what was read of the answers.
func TestServeBackends(t *testing.T) {
	t.Chdir(t.TempDir())
	s := startServed(t, servedScript{tokens: []int{2, 1}})
	for i, way := range servedWays() {
		if testing.Short() && way.harness == "sglang" && i%2 == 0 {
			continue // each waits a second, as SGLang's client does
		}
		t.Run(fmt.Sprintf("%s_%s_%s", way.harness, way.backend, strings.TrimLeft(way.more, "-")), func(t *testing.T) {
			way.serve(t, s, fmt.Sprintf("%d.jsonl", i))
		})
	}
}

// serve sends three requests of 7 tokens, in frames of 2 and 1.
func (c servedWay) serve(t *testing.T, s *scriptedServer, raw string) {
	const out = 7
	length := fmt.Sprintf("--random-input-len 16 --random-output-len %d", out)
	switch c.harness {
	case "sglang":
		length += " --dataset-name random-ids --random-range-ratio 1 --warmup-requests 0"
	case "exact":
		length = fmt.Sprintf("--input-len 16 --output-len %d --num-warmups 0", out)
	}
	before := len(s.seen())
	serveOK(t, s, append(strings.Fields("--model preset:tiny --num-prompts 3 --harness "+c.harness+" --backend "+c.backend+" "+length+" "+c.more), "--raw", raw)...)
	want := 3 * out
	if c.harness == "sglang" && c.endpoint != "generate" && !strings.Contains(c.more, "disable-stream") {
		want = 3 * 5 // SGLang's client asks these servers for no usage: frames are all there is
	}
	r := reported(t, raw)
	if got := r.classesOf(); got["ok"] != 3 || r.Exact.Metrics["total_output"] != float64(want) {
		t.Errorf("%v, %v tokens", got, r.Exact.Metrics["total_output"])
	}
	for _, q := range s.seen()[before:] {
		if q.path != c.path {
			t.Errorf("path %s", q.path)
		}
	}
	for _, q := range r.Exact.Requests {
		if q["endpoint"] != c.endpoint {
			t.Errorf("endpoint %v", q["endpoint"])
		}
	}
	if strings.Contains(c.more, "tokenize-prompt") {
		body := s.seen()[before].body
		ids, _ := body["input_ids"].([]any)
		if ids == nil {
			ids, _ = body["prompt"].([]any)
		}
		if len(ids) != 16 {
			t.Errorf("%d ids in %.200v", len(ids), body)
		}
	}
}

// TestServeConversations: turns of SGLang's generated shared prefixes carry the answers before them, and
// adapters and routing keys are named.
func TestServeConversations(t *testing.T) {
	t.Chdir(t.TempDir())
	s := startServed(t, servedScript{})
	serveOK(t, s, strings.Fields("--harness sglang --backend sglang-oai-chat --model m --tokenizer name:words --dataset-name generated-shared-prefix --gsp-num-groups 2 --gsp-prompts-per-group 1 "+
		"--gsp-system-prompt-len 5 --gsp-question-len 4 --gsp-output-len 3 --gsp-num-turns 3 --gsp-send-routing-key --warmup-requests 0 --lora-name a1 --raw c.jsonl")...)
	turns := map[int]int{}
	for _, q := range s.seen() {
		messages := q.body["messages"].([]any)
		turns[len(messages)]++
		for i, m := range messages {
			m := m.(map[string]any)
			want := "user"
			if i%2 == 1 {
				want = "assistant"
				if m["content"] != " a a a" {
					t.Errorf("answer %q", m["content"])
				}
			}
			if m["role"] != want {
				t.Errorf("message %d is of %v", i, m["role"])
			}
		}
		if q.body["model"] != "a1" || q.header.Get("X-Smg-Routing-Key") == "" {
			t.Errorf("model %v, key %q", q.body["model"], q.header.Get("X-Smg-Routing-Key"))
		}
	}
	if turns[1] != 2 || turns[3] != 2 || turns[5] != 2 {
		t.Errorf("turns %v", turns)
	}
	if r := reported(t, "c.jsonl"); len(r.Exact.Requests) != 6 || r.classesOf()["ok"] != 6 {
		t.Errorf("%v", r.classesOf())
	}
}

// TestServeAdapters: vLLM's client draws an adapter a request, or takes them in turn.
func TestServeAdapters(t *testing.T) {
	t.Chdir(t.TempDir())
	for _, way := range []string{"round-robin", "random"} {
		s := startServed(t, servedScript{})
		serveOK(t, s, "--model", "preset:tiny", "--num-prompts", "8", "--random-input-len", "4", "--random-output-len", "1", "--lora-modules", "a", "b", "--lora-assignment", way)
		models := map[string]int{}
		for _, q := range s.seen() {
			models[q.body["model"].(string)]++
		}
		if models["a"]+models["b"] != 8 || way == "round-robin" && models["a"] != 4 {
			t.Errorf("%s: %v", way, models)
		}
	}
}

// TestServeSpeculation: vLLM's block has the counters of GET /metrics, SGLang's the acceptance length of
// GET /server_info, and report finds both in the capture.
func TestServeSpeculation(t *testing.T) {
	t.Chdir(t.TempDir())
	counters := func(drafts, tokens, accepted int) string {
		return fmt.Sprintf("# TYPE x counter\nvllm:spec_decode_num_drafts_total{engine=\"0\"} %d\nvllm:spec_decode_num_draft_tokens_total{engine=\"0\"} %d\n"+
			"vllm:spec_decode_num_accepted_tokens_total{engine=\"0\"} %d\nvllm:spec_decode_num_accepted_tokens_per_pos_total{engine=\"0\",position=\"0\"} %d\nother 5\n", drafts, tokens, accepted, accepted)
	}
	s := startServed(t, servedScript{metrics: []string{counters(10, 30, 20), counters(110, 330, 220)}, acceptLength: "3.5"})
	out, _ := serveOK(t, s, "--model", "preset:tiny", "--num-prompts", "2", "--random-input-len", "4", "--random-output-len", "2", "--raw", "v.jsonl")
	for _, want := range []string{"---------------Speculative Decoding---------------\n", "Acceptance rate (%):                     66.67     \n", "Acceptance length:                       3.00      \n", "Drafts:                                  100       \n"} {
		if !strings.Contains(out, want) {
			t.Errorf("no %q in\n%s", want, out)
		}
	}
	if data, _ := os.ReadFile("v.jsonl"); strings.Contains(string(data), "other 5") {
		t.Error("all of /metrics is in the capture")
	}
	out, _ = serveOK(t, s, "--harness", "sglang", "--model", "preset:tiny", "--dataset-name", "random-ids", "--num-prompts", "2", "--random-input-len", "4", "--random-output-len", "2", "--raw", "s.jsonl")
	if !strings.Contains(out, "Accept length:                           3.50      \n") {
		t.Errorf("no acceptance length in\n%s", out)
	}
	for _, raw := range []string{"v.jsonl", "s.jsonl"} {
		if _, again, _ := latheWith(t, nil, "report", raw); !strings.Contains(again, map[string]string{"v.jsonl": "Acceptance rate", "s.jsonl": "Accept length"}[raw]) {
			t.Errorf("%s: report has lost it:\n%s", raw, again)
		}
	}
}

// chatModel writes a tokenizer with a chat template.
func chatModel(t *testing.T) string {
	t.Helper()
	if err := os.MkdirAll("chat", 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.Rename(spelledTokenizer(t, 100, nil, 0), filepath.Join("chat", "tokenizer.json")); err != nil {
		t.Fatal(err)
	}
	config, err := json.Marshal(map[string]any{"bos_token": "1", "chat_template": "{% for m in messages %}<{{ m.role }}>{{ m.content }}{% endfor %}{% if add_generation_prompt %}<assistant>{% endif %}{{ extra }}"})
	if err != nil {
		t.Fatal(err)
	}
	write(t, filepath.Join("chat", "tokenizer_config.json"), string(config))
	return "chat"
}

// TestServeTemplates: custom prompts and sonnet are rendered with the model's chat template.
func TestServeTemplates(t *testing.T) {
	t.Chdir(t.TempDir())
	model := chatModel(t)
	write(t, "p.jsonl", lines(2, `{"prompt": "1 2 3"}`))
	write(t, "sonnet.txt", strings.Repeat("4 5 6 7 8 9\n10 11\n12 13 14\n", 40))
	s := startServed(t, servedScript{})
	serveOK(t, s, "--model", "served", "--tokenizer", model, "--dataset-name", "custom", "--dataset-path", "p.jsonl", "--num-prompts", "2", "--chat-template-kwargs", `{"extra": "!"}`)
	serveOK(t, s, "--model", "served", "--tokenizer", model, "--dataset-name", "custom", "--dataset-path", "p.jsonl", "--num-prompts", "2", "--skip-chat-template")
	serveOK(t, s, "--model", "served", "--tokenizer", model, "--dataset-name", "sonnet", "--dataset-path", "sonnet.txt", "--num-prompts", "2", "--harness-version", "2026-08", "--sonnet-input-len", "40", "--sonnet-prefix-len", "20")
	var prompts []string
	for _, q := range s.seen() {
		prompts = append(prompts, q.body["prompt"].(string))
	}
	if len(prompts) != 6 || prompts[0] != "<user>1 2 3<assistant>!" || prompts[2] != "1 2 3" || !strings.HasPrefix(prompts[4], "<user>") || !strings.Contains(prompts[4], "4 5 6 7 8 9") {
		t.Errorf("prompts %.300q", prompts)
	}
	code, _, stderr := latheWith(t, nil, "bench", "serve", "--model", "m", "--tokenizer", model, "--dataset-name", "sonnet", "--dataset-path", "sonnet.txt", "--dry-run")
	if code != 2 || !strings.Contains(stderr, "no longer has it") {
		t.Errorf("sonnet in November: exit %d: %s", code, stderr)
	}
}
