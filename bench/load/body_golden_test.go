package load

import (
	"bytes"
	"encoding/json"
	"maps"
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"
)

type bodyCase struct {
	Harness   string            `json:"harness"`
	Backend   string            `json:"backend"`
	Env       map[string]string `json:"env"`
	Prompt    any               `json:"prompt"`
	OutputLen int               `json:"output_len"`
	Args      struct {
		DisableIgnoreEOS    bool     `json:"disable_ignore_eos"`
		Temperature         float64  `json:"temperature"`
		TopP                *float64 `json:"top_p"`
		DisableStream       bool     `json:"disable_stream"`
		ReturnLogProb       bool     `json:"return_logprob"`
		TopLogProbs         int      `json:"top_logprobs_num"`
		Header              []string `json:"header"`
		TokenIDsLogProb     []int    `json:"token_ids_logprob"`
		LogProbStartLen     *int     `json:"logprob_start_len"`
		ReturnRoutedExperts bool     `json:"return_routed_experts"`
	} `json:"args"`
	Options struct {
		RequestID    string            `json:"request_id"`
		ExtraHeaders map[string]string `json:"extra_headers"`
		LogProbs     *int              `json:"logprobs"`
		IgnoreEOS    bool              `json:"ignore_eos"`
		ExtraBody    json.RawMessage   `json:"extra_body"`
		ModelName    string            `json:"model_name"`
		MultiModal   json.RawMessage   `json:"multi_modal_content"`
		ChatMessages json.RawMessage   `json:"chat_messages"`
		ExtraRequest json.RawMessage   `json:"extra_request_body"`
		ImageData    []string          `json:"image_data"`
		LoRA         string            `json:"lora_name"`
		RoutingKey   string            `json:"routing_key"`
	} `json:"options"`
	Headers map[string]string `json:"headers"`
	Body    string            `json:"body"`
}

func (c bodyCase) row(t *testing.T) Row {
	t.Helper()
	r := Row{OutputLen: c.OutputLen, RequestID: c.Options.RequestID, Parts: c.Options.MultiModal, Messages: c.Options.ChatMessages, Images: c.Options.ImageData}
	if text, ok := c.Prompt.(string); ok {
		r.Text = text
		return r
	}
	messages, err := json.Marshal(c.Prompt)
	if err != nil {
		t.Fatal(err)
	}
	// The golden prompt has its keys as Python wrote them: role before content.
	r.Messages = bytes.ReplaceAll(messages, []byte(`{"content":"q","role":"user"}`), []byte(`{"role":"user","content":"q"}`))
	return r
}

func (c bodyCase) call(t *testing.T) Call {
	t.Helper()
	var call Call
	var err error
	if c.Harness == "vllm" {
		v := VLLM{Backend: c.Backend, Model: "org/model-a", LogProbs: c.Options.LogProbs, IgnoreEOS: c.Options.IgnoreEOS, Extra: c.Options.ExtraBody, BearerToken: c.Env["OPENAI_API_KEY"]}
		if c.Options.ModelName != "" {
			v.Model = c.Options.ModelName
		}
		for k, x := range c.Options.ExtraHeaders {
			v.Headers = append(v.Headers, Header{k, x})
		}
		call, err = v.Call(c.row(t))
	} else {
		s := NewSGLang(c.Backend, "org/model-a")
		s.Temperature, s.DisableIgnoreEOS, s.DisableStream, s.ReturnLogProb = c.Args.Temperature, c.Args.DisableIgnoreEOS, c.Args.DisableStream, c.Args.ReturnLogProb
		s.TopLogProbs, s.TokenIDsLogProb, s.ReturnRoutedExperts, s.Extra = c.Args.TopLogProbs, c.Args.TokenIDsLogProb, c.Args.ReturnRoutedExperts, c.Options.ExtraRequest
		s.LoRA, s.RoutingKey, s.BearerToken, s.RawAuth = c.Options.LoRA, c.Options.RoutingKey, c.Env["OPENAI_API_KEY"], c.Env["API_KEY"]
		if c.Args.TopP != nil {
			s.TopP = *c.Args.TopP
		}
		if c.Args.LogProbStartLen != nil {
			s.LogProbStartLen = *c.Args.LogProbStartLen
		}
		s.Headers = SGLangHeaders(c.Args.Header)
		call, err = s.Call(c.row(t))
	}
	if err != nil {
		t.Fatal(err)
	}
	return call
}

func TestRequestBodiesGolden(t *testing.T) {
	data, err := os.ReadFile("testdata/request-bodies.json")
	if err != nil {
		t.Fatal(err)
	}
	var file struct{ Cases []bodyCase }
	if err := json.Unmarshal(data, &file); err != nil {
		t.Fatal(err)
	}
	if len(file.Cases) != 25 {
		t.Fatalf("%d cases, want 25", len(file.Cases))
	}
	for i, c := range file.Cases {
		call := c.call(t)
		if string(call.Body) != c.Body {
			t.Errorf("case %d %s %s: body\n got %s\nwant %s", i, c.Harness, c.Backend, call.Body, c.Body)
		}
		got := map[string]string{}
		for _, h := range call.Headers {
			got[h.Name] = h.Value
		}
		if !maps.Equal(got, c.Headers) {
			t.Errorf("case %d %s %s: headers: %s", i, c.Harness, c.Backend, cmp.Diff(c.Headers, got))
		}
	}
}

// The copy under testdata is the golden file, where that is at hand.
func TestGoldenCopy(t *testing.T) {
	golden := filepath.Join("..", "..", "..", "shared", "golden", "serving", "request-bodies.json")
	want, err := os.ReadFile(golden)
	if err != nil {
		t.Skip("no golden folder beside the repository")
	}
	got, err := os.ReadFile("testdata/request-bodies.json")
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(got, want) {
		t.Error("testdata/request-bodies.json differs from the golden file")
	}
}

func TestPythonJSON(t *testing.T) {
	for _, c := range []struct{ in, want string }{
		{`{"a":0.0,"b":1e-05,"c":1e22,"d":123456789012345678901234567890,"e":-0,"f":-0.0,"g":1E2}`,
			`{"a": 0.0, "b": 1e-05, "c": 1e+22, "d": 123456789012345678901234567890, "e": 0, "f": -0.0, "g": 100.0}`},
		{`[0.0001,9999999999999998.0,1e16,0.1,1e999]`, `[0.0001, 9999999999999998.0, 1e+16, 0.1, Infinity]`},
		{`["\u007f\u00e9\ud83d\ude00\n\t\"\\/<&>"]`, `["\u007f\u00e9\ud83d\ude00\n\t\"\\/<&>"]`},
		{`{"k":1,"j":2,"k":{"z":[],"a":{}}}`, `{"k": {"z": [], "a": {}}, "j": 2}`},
	} {
		v, err := parseJSON([]byte(c.in))
		if err != nil {
			t.Fatalf("%s: %v", c.in, err)
		}
		got, err := appendPython(nil, v)
		if err != nil || string(got) != c.want {
			t.Errorf("%s:\n got %s %v\nwant %s", c.in, got, err, c.want)
		}
	}
	for _, bad := range []string{"", "{", "[1,]", `{"a":1} x`, `{"a" 1}`, "nul"} {
		if _, err := parseJSON([]byte(bad)); err == nil {
			t.Errorf("%q was read", bad)
		}
	}
}

// A row's own fields win over the run's, which win over sampling flags, and a
// field that the client sets itself keeps its place when it is overridden.
func TestExtraBodyOrder(t *testing.T) {
	run, err := MergeBody(json.RawMessage(`{"temperature":0.5,"top_k":3}`), json.RawMessage(`{"top_k":4,"max_tokens":7}`))
	if err != nil {
		t.Fatal(err)
	}
	v := VLLM{Backend: "openai", Model: "m", Extra: run}
	c, err := v.Call(Row{TokenIDs: []int{1, 2}, OutputLen: 3, Extra: json.RawMessage(`{"top_k":5,"model":"other"}`)})
	if err != nil {
		t.Fatal(err)
	}
	want := `{"model": "other", "prompt": [1, 2], "repetition_penalty": 1.0, "max_tokens": 7, "logprobs": null, "stream": true, "stream_options": {"include_usage": true}, "temperature": 0.5, "top_k": 5}`
	if string(c.Body) != want {
		t.Errorf("body\n got %s\nwant %s", c.Body, want)
	}
	if _, err := (VLLM{Backend: "openai", Extra: json.RawMessage(`[1]`)}).Call(Row{}); err == nil {
		t.Error("an extra body that is a list was taken")
	}
	if _, err := (VLLM{Backend: "openai-chat", Endpoint: "/v1/completions"}).Call(Row{}); err == nil {
		t.Error("a chat request to the completions endpoint was taken")
	}
}

// November's multi-turn runs ask for usage unless the extra body says no.
func TestSGLangAskUsage(t *testing.T) {
	s := NewSGLang("sglang-oai-chat", "m")
	s.AskUsage = true
	for extra, want := range map[string]string{
		``: `"ignore_eos": true, "stream_options": {"include_usage": true}}`,
		`{"stream_options":{"include_usage":false}}`: `"ignore_eos": true, "stream_options": {"include_usage": false}}`,
		`{"stream_options":{"x":1}}`:                 `"ignore_eos": true, "stream_options": {"x": 1, "include_usage": true}}`,
	} {
		s.Extra = json.RawMessage(extra)
		c, err := s.Call(Row{Text: "q", OutputLen: 1})
		if err != nil || !bytes.HasSuffix(c.Body, []byte(want)) {
			t.Errorf("%s: %s %v", extra, c.Body, err)
		}
	}
}

func TestHeaderFlags(t *testing.T) {
	if _, err := VLLMHeaders([]string{"X-A=1", "bad"}); err == nil {
		t.Error("a header without = was taken")
	}
	h, err := VLLMHeaders([]string{" X-A = 1 =2 "})
	if err != nil || len(h) != 1 || h[0] != (Header{"X-A", "1 =2"}) {
		t.Errorf("%v %v", h, err)
	}
	if h := SGLangHeaders([]string{"X-B=2=3", "bad"}); len(h) != 1 || h[0] != (Header{"X-B", "2=3"}) {
		t.Errorf("%v", h)
	}
}
