package load

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
)

// VLLM is what vLLM's client puts into every request of a run. August and
// November send the same bytes; openai-responses is November's.
type VLLM struct {
	Backend     string // openai, vllm, openai-chat, openai-responses
	Endpoint    string // path; "": the backend's own
	Model       string // the served name where there is one, else the model id
	LogProbs    *int
	IgnoreEOS   bool
	Extra       json.RawMessage // --extra-body over the sampling flags
	Headers     []Header        // --header, trimmed
	BearerToken string          // OPENAI_API_KEY
}

// Call is the request for a row.
func (v VLLM) Call(row Row) (Call, error) {
	var build func(Row) (object, error)
	c := Call{Stream: true}
	suffix := ""
	switch v.Backend {
	case "openai", "vllm":
		c.Endpoint, c.Path, suffix, build = "completions", "/v1/completions", "completions", v.completions
	case "openai-chat":
		c.Endpoint, c.Path, suffix, build = "chat", "/v1/chat/completions", "chat/completions", v.chat
	case "openai-responses":
		c.Endpoint, c.Path, suffix, build = "responses", "/v1/responses", "responses", v.responses
	default:
		return Call{}, fmt.Errorf("backend %q of vLLM's client: it is not supported", v.Backend)
	}
	if v.Endpoint != "" {
		c.Path = v.Endpoint
	}
	if !strings.HasSuffix(c.Path, suffix) && !strings.HasSuffix(c.Path, "profile") {
		return Call{}, fmt.Errorf("endpoint %s: the URL of backend %s must end with %s", c.Path, v.Backend, suffix)
	}
	body, err := build(row)
	if err != nil {
		return Call{}, err
	}
	if v.IgnoreEOS {
		body.set("ignore_eos", true)
	}
	extra, err := row.extra(v.Extra)
	if err != nil {
		return Call{}, err
	}
	body.update(extra)
	c.Headers = v.headers(row, c.Endpoint != "completions")
	c.Body, err = appendPython(nil, body)
	return c, err
}

func (v VLLM) headers(row Row, contentType bool) []Header {
	var h []Header
	if contentType {
		h = append(h, Header{"Content-Type", "application/json"})
	}
	if v.BearerToken != "" {
		h = append(h, Header{"Authorization", "Bearer " + v.BearerToken})
	}
	for _, x := range v.Headers {
		h = setHeader(h, x.Name, x.Value)
	}
	if row.RequestID != "" {
		h = setHeader(h, "x-request-id", row.RequestID)
	}
	return h
}

func (v VLLM) completions(row Row) (object, error) {
	var logProbs any
	if v.LogProbs != nil {
		logProbs = *v.LogProbs
	}
	return object{
		{"model", v.Model},
		{"prompt", row.prompt()},
		{"repetition_penalty", 1.0},
		{"max_tokens", row.OutputLen},
		{"logprobs", logProbs},
		{"stream", true},
		{"stream_options", object{{"include_usage", true}}},
	}, nil
}

func (v VLLM) chat(row Row) (object, error) {
	messages, err := row.messages()
	if err != nil {
		return nil, err
	}
	if messages == nil {
		content := []any{object{{"type", "text"}, {"text", row.prompt()}}}
		if len(row.Parts) > 0 {
			media, err := parseJSON(row.Parts)
			if err != nil {
				return nil, fmt.Errorf("media of a row: %w", err)
			}
			switch media := media.(type) {
			case []any:
				content = append(content, media...)
			case object:
				content = append(content, media)
			default:
				return nil, errors.New("media of a row: neither a content part nor a list")
			}
		}
		messages = []any{object{{"role", "user"}, {"content", content}}}
	}
	return object{
		{"model", v.Model},
		{"messages", messages},
		{"max_completion_tokens", row.OutputLen},
		{"stream", true},
		{"stream_options", object{{"include_usage", true}}},
	}, nil
}

func (v VLLM) responses(row Row) (object, error) {
	return object{
		{"model", v.Model},
		{"input", row.prompt()},
		{"max_output_tokens", row.OutputLen},
		{"stream", true},
		{"store", false},
	}, nil
}
