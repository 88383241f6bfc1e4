package load

import (
	"encoding/json"
	"fmt"
)

// SGLang is what SGLang's client puts into every request of a run. August and
// November send the same bytes.
type SGLang struct {
	Backend              string // sglang, sglang-native, sglang-oai, vllm, lmdeploy, and the last three with -chat
	Model                string
	Temperature, TopP    float64 // of the native backend alone; 1 leaves top_p out
	DisableIgnoreEOS     bool
	DisableStream        bool
	ReturnLogProb        bool
	TopLogProbs          int   // 0: none
	TokenIDsLogProb      []int // nil: none
	LogProbStartLen      int   // -1 is the client's default
	ReturnRoutedExperts  bool
	AskUsage             bool            // stream_options in a chat: November's multi-turn runs
	Extra                json.RawMessage // --extra-request-body
	Headers              []Header        // --header, split at the first "="
	BearerToken, RawAuth string          // OPENAI_API_KEY, else API_KEY without a scheme
	LoRA, RoutingKey     string          // of this request
}

// NewSGLang has the client's own defaults.
func NewSGLang(backend, model string) SGLang {
	return SGLang{Backend: backend, Model: model, TopP: 1, LogProbStartLen: -1}
}

// Call is the request for a row.
func (s SGLang) Call(row Row) (Call, error) {
	extra, err := row.extra(s.Extra)
	if err != nil {
		return Call{}, err
	}
	c := Call{Stream: !s.DisableStream, Headers: s.headers()}
	var body object
	switch s.Backend {
	case "sglang", "sglang-native":
		c.Endpoint, c.Path = "generate", "/generate"
		body = s.native(row, extra)
	case "sglang-oai", "vllm", "lmdeploy":
		c.Endpoint, c.Path = "completions", "/v1/completions"
		body = object{{"model", s.model()}, {"prompt", row.prompt()}, {"best_of", 1}, {"max_tokens", row.OutputLen}}
		s.finishOpenAI(&body, extra, row, true)
	case "sglang-oai-chat", "vllm-chat", "lmdeploy-chat":
		c.Endpoint, c.Path = "chat", "/v1/chat/completions"
		messages, err := s.messages(row)
		if err != nil {
			return Call{}, err
		}
		body = object{{"model", s.model()}, {"messages", messages}, {"max_completion_tokens", row.OutputLen}}
		s.finishOpenAI(&body, extra, row, false)
	default:
		return Call{}, fmt.Errorf("backend %q of SGLang's client: it is not supported", s.Backend)
	}
	c.Body, err = appendPython(nil, body)
	return c, err
}

func (s SGLang) model() string {
	if s.LoRA != "" {
		return s.LoRA
	}
	return s.Model
}

func (s SGLang) headers() []Header {
	var h []Header
	switch {
	case s.BearerToken != "":
		h = append(h, Header{"Authorization", "Bearer " + s.BearerToken})
	case s.RawAuth != "":
		h = append(h, Header{"Authorization", s.RawAuth})
	}
	for _, x := range s.Headers {
		h = setHeader(h, x.Name, x.Value)
	}
	if s.RoutingKey != "" {
		h = setHeader(h, "X-SMG-Routing-Key", s.RoutingKey)
	}
	return h
}

func (s SGLang) native(row Row, extra object) object {
	body := object{{"text", row.Text}}
	if row.TokenIDs != nil {
		body = object{{"input_ids", row.TokenIDs}}
	}
	sampling := object{{"temperature", s.Temperature}, {"max_new_tokens", row.OutputLen}, {"ignore_eos", !s.DisableIgnoreEOS}}
	if s.TopP < 1 {
		sampling.set("top_p", s.TopP)
	}
	var lora any
	if s.LoRA != "" {
		lora = s.LoRA
	}
	body = append(body, member{"sampling_params", sampling}, member{"stream", !s.DisableStream}, member{"lora_path", lora},
		member{"return_logprob", s.ReturnLogProb}, member{"return_routed_experts", s.ReturnRoutedExperts}, member{"logprob_start_len", s.LogProbStartLen})
	body.update(extra)
	if s.TopLogProbs > 0 {
		body.set("top_logprobs_num", s.TopLogProbs)
	}
	if s.TokenIDsLogProb != nil {
		body.set("token_ids_logprob", s.TokenIDsLogProb)
	}
	if images := row.images(); images != nil {
		body.set("image_data", images)
	}
	return body
}

// finishOpenAI appends what both OpenAI forms share: the run's sampling, the
// extra fields over it, the adapter, and (completions) the images.
func (s SGLang) finishOpenAI(body *object, extra object, row Row, completions bool) {
	body.set("stream", !s.DisableStream)
	if s.AskUsage && !completions && !s.DisableStream {
		extra = askUsage(extra)
	}
	if !extra.has("temperature") {
		body.set("temperature", 0.0)
	}
	if !extra.has("ignore_eos") {
		body.set("ignore_eos", !s.DisableIgnoreEOS)
	}
	if completions && s.ReturnLogProb && s.TopLogProbs > 0 {
		body.set("logprobs", s.TopLogProbs)
	}
	body.update(extra)
	if s.LoRA != "" {
		body.set("lora_path", s.LoRA)
	}
	if images := row.images(); completions && images != nil {
		body.set("image_data", images)
	}
}

// askUsage adds include_usage unless the extra body decided it.
func askUsage(extra object) object {
	options := object{}
	for _, m := range extra {
		if o, ok := m.value.(object); ok && m.key == "stream_options" {
			options = append(options, o...)
		}
	}
	if !options.has("include_usage") {
		options.set("include_usage", true)
	}
	extra.set("stream_options", options)
	return extra
}

func (s SGLang) messages(row Row) (any, error) {
	messages, err := row.messages()
	if err != nil || messages != nil {
		return messages, err
	}
	if len(row.Images) == 0 {
		return []any{object{{"role", "user"}, {"content", row.prompt()}}}, nil
	}
	var content []any
	for _, url := range row.Images {
		content = append(content, object{{"type", "image_url"}, {"image_url", object{{"url", url}}}})
	}
	content = append(content, object{{"type", "text"}, {"text", row.prompt()}})
	return []any{object{{"role", "user"}, {"content", content}}}, nil
}

// images is the row's images as a body's value, nil for none.
func (r Row) images() any {
	if len(r.Images) == 0 {
		return nil
	}
	list := make([]any, len(r.Images))
	for i, url := range r.Images {
		list[i] = url
	}
	return list
}
