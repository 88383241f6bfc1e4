package main

import (
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// servedBodyCase is one of the golden request bodies.
type servedBodyCase struct {
	Harness, Backend string
	Env              map[string]string
	Prompt           any
	OutputLen        int `json:"output_len"`
	Args             struct {
		DisableIgnoreEOS    bool     `json:"disable_ignore_eos"`
		Temperature         *float64 `json:"temperature"`
		TopP                *float64 `json:"top_p"`
		DisableStream       bool     `json:"disable_stream"`
		ReturnLogProb       bool     `json:"return_logprob"`
		TopLogProbs         *int     `json:"top_logprobs_num"`
		Header              []string `json:"header"`
		TokenIDsLogProb     []int    `json:"token_ids_logprob"`
		LogProbStartLen     *int     `json:"logprob_start_len"`
		ReturnRoutedExperts bool     `json:"return_routed_experts"`
	}
	Options map[string]json.RawMessage
	Headers map[string]string
	Body    string
}

// flags are the command line of a case; ok is false for pictures and for prompts that are messages,
// which no dataset here makes.
func (c servedBodyCase) flags() (args []string, ok bool) {
	text, isText := c.Prompt.(string)
	for _, k := range []string{"multi_modal_content", "chat_messages", "image_data"} {
		isText = isText && c.Options[k] == nil
	}
	if !isText || text != "Hello, wörld" {
		return nil, false
	}
	args = []string{"--harness", c.Harness, "--backend", c.Backend, "--model", "org/model-a", "--tokenizer", "name:chars", "--num-prompts", "4", "--dataset-name", "custom"}
	if c.Harness == harnessVLLM {
		return append(args, c.vllmFlags()...), true
	}
	return append(args, c.sglangFlags()...), true
}

// option is an option of the case as a flag, nothing where it has none.
func (c servedBodyCase) option(flag, key string) []string {
	v := c.Options[key]
	if v == nil {
		return nil
	}
	var s string
	if json.Unmarshal(v, &s) != nil {
		s = string(v)
	}
	return []string{flag, s}
}

func (c servedBodyCase) vllmFlags() []string {
	args := []string{"--dataset-path", "vllm.jsonl", "--custom-output-len", strconv.Itoa(c.OutputLen), "--skip-chat-template", "--num-warmups", "1"}
	if strings.HasSuffix(c.Backend, "-chat") {
		args = append(args, "--endpoint", "/v1/chat/completions")
	}
	args = slices.Concat(args, c.option("--served-model-name", "model_name"), c.option("--logprobs", "logprobs"), c.option("--extra-body", "extra_body"))
	if string(c.Options["ignore_eos"]) == "true" {
		args = append(args, "--ignore-eos")
	}
	var headers map[string]string
	_ = json.Unmarshal(c.Options["extra_headers"], &headers)
	for k, v := range headers {
		args = append(args, "--header", k+"="+v)
	}
	var id string
	if json.Unmarshal(c.Options["request_id"], &id) == nil && id != "" {
		args = append(args, "--request-id-prefix", strings.TrimSuffix(id, "3"))
	}
	return args
}

func (c servedBodyCase) sglangFlags() []string {
	args := []string{"--dataset-path", "sglang.jsonl", "--sharegpt-output-len", strconv.Itoa(c.OutputLen)}
	args = slices.Concat(args, c.option("--extra-request-body", "extra_request_body"), c.option("--lora-name", "lora_name"))
	a := c.Args
	for flag, on := range map[string]bool{"--disable-ignore-eos": a.DisableIgnoreEOS, "--disable-stream": a.DisableStream, "--return-logprob": a.ReturnLogProb, "--return-routed-experts": a.ReturnRoutedExperts} {
		if on {
			args = append(args, flag)
		}
	}
	value := func(flag string, there bool, v any) {
		if there {
			args = append(args, flag, fmt.Sprint(v))
		}
	}
	value("--temperature", a.Temperature != nil, orElseReal(a.Temperature))
	value("--top-p", a.TopP != nil, orElseReal(a.TopP))
	value("--top-logprobs-num", a.TopLogProbs != nil, orElse(a.TopLogProbs, 0))
	value("--logprob-start-len", a.LogProbStartLen != nil, orElse(a.LogProbStartLen, 0))
	if len(a.Header) > 0 {
		args = append(append(args, "--header"), a.Header...)
	}
	for i, id := range a.TokenIDsLogProb {
		if i == 0 {
			args = append(args, "--token-ids-logprob")
		}
		args = append(args, strconv.Itoa(id))
	}
	return args
}

func orElseReal(x *float64) float64 {
	if x == nil {
		return 0
	}
	return *x
}

// TestServeRequestBodies sends the golden request bodies through the command line: the same bytes and
// the same header fields reach the server.
func TestServeRequestBodies(t *testing.T) {
	cases := goldenCases[servedBodyCase](t, "load", "request-bodies.json")
	t.Chdir(t.TempDir())
	write(t, "vllm.jsonl", lines(4, `{"prompt": "Hello, wörld"}`))
	write(t, "sglang.jsonl", lines(4, `{"conversations": [{"content": "Hello, wörld"}, {"content": "yes, hello"}]}`))
	sent := 0
	for i, c := range cases {
		args, ok := c.flags()
		if !ok || testing.Short() && c.Harness == harnessSGLang && i%3 != 0 { // SGLang's client waits a second before each
			continue
		}
		sent++
		t.Run(fmt.Sprintf("%d_%s_%s", i, c.Harness, c.Backend), func(t *testing.T) {
			s := startServed(t, servedScript{})
			code, _, stderr := latheWith(t, c.Env, append([]string{"bench", "serve", "--base-url", s.url}, args...)...)
			if code != 0 {
				t.Fatalf("exit %d: %s", code, stderr)
			}
			c.compare(t, s.seen())
		})
	}
	if sent < 17 && !testing.Short() {
		t.Errorf("%d cases were sent", sent)
	}
}

// compare looks for the case's request among those that arrived: a call without an id is a warm-up of
// vLLM's client.
func (c servedBodyCase) compare(t *testing.T, seen []seenRequest) {
	t.Helper()
	var id string
	_ = json.Unmarshal(c.Options["request_id"], &id)
	at := slices.IndexFunc(seen, func(q seenRequest) bool { return q.header.Get("X-Request-Id") == id })
	if at < 0 {
		t.Fatalf("no request with id %q among %d", id, len(seen))
	}
	q := seen[at]
	if q.raw != c.Body {
		t.Errorf("body\n got %s\nwant %s", q.raw, c.Body)
	}
	want := map[string]string{}
	for k, v := range c.Headers {
		want[http.CanonicalHeaderKey(k)] = v
	}
	delete(want, http.CanonicalHeaderKey("X-SMG-Routing-Key")) // only a generated shared prefix has one
	got := map[string]string{}
	for k := range q.header {
		got[k] = q.header.Get(k)
	}
	maps.DeleteFunc(got, func(k, _ string) bool { // what the HTTP library adds to every request
		_, asked := want[k]
		return !asked && slices.Contains([]string{"Accept", "Accept-Encoding", "User-Agent", "Content-Length", "Content-Type", "Connection"}, k)
	})
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("header fields: -want +got\n%s", diff)
	}
}
