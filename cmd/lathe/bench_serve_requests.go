package main

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"lathe/bench"
	"lathe/bench/load"
	"lathe/bench/pyrand"
	"lathe/bench/serving"
	"lathe/bench/workload"
)

// servedCalls makes the HTTP requests of a drawn dataset, as the chosen harness would send them.
type servedCalls struct {
	o    *benchServeOptions
	set  workload.Set
	lora []string // of each request; nil: none
	vllm load.VLLM
	sgl  load.SGLang
	keys credentials
}

// calls prepares the requests of a run. The adapters are drawn before the first send, with what the
// dataset left of Python's generator.
func (o *benchServeOptions) calls(d drawn, keys credentials) (*servedCalls, error) {
	c := &servedCalls{o: o, set: d.set, keys: keys}
	var err error
	if c.lora, err = o.adapters(d.streams.Python, len(d.set.Requests)); err != nil {
		return nil, err
	}
	if o.native() {
		err = c.prepareSGLang()
	} else {
		err = c.prepareVLLM()
	}
	if err != nil {
		return nil, err
	}
	first, err := c.call(0)
	if err != nil {
		return nil, usageError(o.endpointHint(), "%w", err)
	}
	o.Used.Endpoint, o.Used.MultiTurn = first.Endpoint, o.multiTurn()
	return c, nil
}

// endpointHint is the path that the backend's requests are for, where --endpoint names another: vLLM's
// default is that of completions, whatever the backend.
func (o *benchServeOptions) endpointHint() string {
	path := map[string]string{"openai-chat": "/v1/chat/completions", "openai-responses": "/v1/responses"}[o.Server.Backend]
	if path == "" || o.Server.Endpoint == "" || strings.HasSuffix(o.Server.Endpoint, path) {
		return ""
	}
	return "--endpoint " + path
}

// native says whether requests are built as SGLang's client builds them.
func (o *benchServeOptions) native() bool {
	return o.Harness == harnessSGLang || o.Server.Backend == "sglang"
}

func (o *benchServeOptions) adapters(python *pyrand.Python, n int) ([]string, error) {
	all := o.Body.LoRA
	if len(all) == 0 {
		return nil, nil
	}
	out := make([]string, n)
	for i := range out {
		k := i % len(all)
		if a := o.Body.LoRAAssignment; a == "random" || a == "uniform" {
			var err error
			if k, err = python.Choice(len(all)); err != nil {
				return nil, fmt.Errorf("draw adapters: %w", err)
			}
		}
		out[i] = all[k]
	}
	return out, nil
}

func (c *servedCalls) prepareVLLM() error {
	o := c.o
	extra, err := o.sampling()
	if err != nil {
		return err
	}
	headers, err := load.VLLMHeaders(o.Server.Headers)
	if err != nil {
		return usageError("", "--header: %w", err)
	}
	random := o.Dataset.Name == "random" && o.Server.Backend != "openai-responses"
	o.Used.IgnoreEOS = o.Body.IgnoreEOS || o.Harness != harnessExact && (random || o.Dataset.Name == "timed_trace") || o.Harness == harnessExact && c.set.IgnoreEOS
	c.vllm = load.VLLM{Backend: o.Server.Backend, Endpoint: o.Server.Endpoint, Model: o.Used.ModelName, LogProbs: o.Body.LogProbs,
		IgnoreEOS: o.Used.IgnoreEOS, Extra: extra, Headers: headers, BearerToken: c.keys.openAI}
	return nil
}

func (c *servedCalls) prepareSGLang() error {
	o, b := c.o, c.o.Body
	s := load.NewSGLang(o.Server.Backend, o.Used.ModelName)
	if b.Temperature != nil {
		s.Temperature = *b.Temperature
	}
	if b.TopP != nil {
		s.TopP = *b.TopP
	}
	o.Used.IgnoreEOS = !b.DisableIgnoreEOS
	s.DisableIgnoreEOS, s.DisableStream, s.ReturnLogProb, s.TopLogProbs = b.DisableIgnoreEOS, b.DisableStream, b.ReturnLogProb, b.TopLogProbs
	s.ReturnRoutedExperts, s.BearerToken, s.RawAuth = b.ReturnRoutedExperts, c.keys.openAI, c.keys.raw
	if len(b.TokenIDsLogProb) > 0 {
		s.TokenIDsLogProb = b.TokenIDsLogProb
	}
	s.AskUsage = o.multiTurn() && o.switches().MultiTurnAsksUsage
	s.Extra = json.RawMessage(b.Extra)
	if o.asksCacheDetails() {
		extra, err := load.MergeBody(s.Extra, json.RawMessage(`{"`+cacheDetailsField+`": true}`))
		if err != nil {
			return usageError("", "--extra-request-body: %w", err)
		}
		s.Extra = extra
	}
	if o.Harness == harnessExact {
		headers, err := load.VLLMHeaders(o.Server.Headers)
		if err != nil {
			return usageError("", "--header: %w", err)
		}
		s.Headers = headers
	} else {
		s.LogProbStartLen = b.LogProbStartLen
		s.Headers = load.SGLangHeaders(o.Server.Headers)
	}
	c.sgl = s
	return nil
}

// cacheDetailsField is the body field that asks SGLang's server where cached tokens were.
const cacheDetailsField = "return_cached_tokens_details"

// asksCacheDetails says whether requests ask where their cached tokens were: what --cache-report does on
// SGLang's OpenAI backends. The native protocol always tells, and no other server is asked.
func (o *benchServeOptions) asksCacheDetails() bool {
	return o.Result.CacheReport && slices.Contains([]string{"sglang-oai", "sglang-oai-chat"}, o.Server.Backend)
}

// sampling is vLLM's sampling flags with --extra-body over them.
func (o *benchServeOptions) sampling() (json.RawMessage, error) {
	b := o.Body
	var fields []string
	add := func(name string, value any, there bool) {
		if there {
			text, err := json.Marshal(value)
			if err == nil {
				fields = append(fields, fmt.Sprintf("%q:%s", name, text))
			}
		}
	}
	real := func(name string, v *float64) {
		if v != nil {
			text, _ := unbounded(*v).MarshalJSON()
			if !strings.ContainsAny(string(text), ".eE") {
				text = append(text, ".0"...) // Python's float
			}
			fields = append(fields, fmt.Sprintf("%q:%s", name, text))
		}
	}
	real("top_p", b.TopP)
	add("top_k", b.TopK, b.TopK != nil)
	real("min_p", b.MinP)
	real("temperature", b.Temperature)
	real("frequency_penalty", b.FrequencyPenalty)
	real("presence_penalty", b.PresencePenalty)
	real("repetition_penalty", b.RepetitionPenalty)
	extra, err := load.MergeBody(json.RawMessage("{"+strings.Join(fields, ",")+"}"), json.RawMessage(b.Extra))
	if err != nil {
		return nil, usageError("", "--extra-body: %w", err)
	}
	return extra, nil
}

// row is request i as a dataset row.
func (c *servedCalls) row(i int) load.Row {
	r := c.set.Requests[i]
	row := load.Row{Text: r.Prompt, OutputLen: r.OutputLen, RequestID: r.ID}
	if r.IDs != nil {
		row.TokenIDs = make([]int, len(r.IDs))
		for k, id := range r.IDs {
			row.TokenIDs[k] = int(id)
		}
	}
	return row
}

// call is the request of row i; of a conversation, its first turn.
func (c *servedCalls) call(i int) (load.Call, error) {
	row := c.row(i)
	if turns := c.set.Requests[i].Turns; turns != nil {
		row.Messages = conversation(turns[:1], nil)
	}
	return c.build(i, row)
}

func (c *servedCalls) build(i int, row load.Row) (load.Call, error) {
	if !c.o.native() {
		v := c.vllm
		if c.lora != nil {
			v.Model = c.lora[i]
		}
		return v.Call(row)
	}
	s := c.sgl
	if c.lora != nil {
		s.LoRA = c.lora[i]
	}
	s.RoutingKey = c.set.Requests[i].RoutingKey
	return s.Call(row)
}

// job is request i of the run. Ids number the requests in the order of the dataset, turns of a
// conversation one after the other.
func (c *servedCalls) job(i int) (load.Job, error) {
	call, err := c.call(i)
	if err != nil {
		return load.Job{}, err
	}
	r := c.set.Requests[i]
	j := load.Job{ID: fmt.Sprintf("r%d", i*max(len(r.Turns), 1)), Call: call, PromptLen: r.PromptLen, RequestedOutputLen: r.OutputLen}
	if len(r.Turns) > 1 {
		j.Follow = c.follow(i, 1, nil)
	}
	return j, nil
}

// follow is the turn of conversation i that comes after the answers so far.
func (c *servedCalls) follow(i, turn int, answers []string) func(body []byte) (load.Job, bool) {
	return func(body []byte) (load.Job, bool) {
		r := c.set.Requests[i]
		answers := append(answers[:len(answers):len(answers)], c.answer(body))
		row := c.row(i)
		row.Messages = conversation(r.Turns[:turn+1], answers)
		call, err := c.build(i, row)
		if err != nil {
			return load.Job{}, false
		}
		j := load.Job{ID: fmt.Sprintf("r%d", i*len(r.Turns)+turn), Call: call, PromptLen: r.PromptLen, RequestedOutputLen: r.OutputLen}
		if turn+1 < len(r.Turns) {
			j.Follow = c.follow(i, turn+1, answers)
		}
		return j, true
	}
}

// answer is the text that the harness takes out of an answer and sends back in the next turn.
func (c *servedCalls) answer(body []byte) string {
	sem, err := c.o.semantics()
	if err != nil {
		return ""
	}
	g, err := serving.NewReading(sem, serving.Options{Version: serving.Version(c.o.HarnessVersion), DisableStream: c.o.Body.DisableStream})
	if err != nil {
		return ""
	}
	ok := 200
	g.Request(&bench.Request{Kind: bench.KindRequest, ID: "r0", Endpoint: c.o.Used.Endpoint, Status: &ok,
		Reads: []bench.Read{{B64: body}}, End: &bench.RequestEnd{Kind: "eof"}})
	return g.Result(1).Requests[0].Text
}

// conversation is a chat of user turns and the answers between them.
func conversation(turns, answers []string) json.RawMessage {
	type message struct {
		Role    string `json:"role"`
		Content string `json:"content"`
	}
	var all []message
	for k, turn := range turns {
		all = append(all, message{"user", turn})
		if k < len(answers) {
			all = append(all, message{"assistant", answers[k]})
		}
	}
	text, err := json.Marshal(all)
	if err != nil {
		return nil // texts cannot fail
	}
	return text
}

// semantics is the reading that the run's own report is made of.
func (o *benchServeOptions) semantics() (serving.Semantics, error) {
	if o.Harness == harnessExact {
		return serving.ParseSemantics(harnessExact)
	}
	return serving.ParseSemantics(o.Harness + ":" + o.Server.Backend)
}
