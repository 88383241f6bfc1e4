package serving

import (
	"bytes"

	"lathe/bench"
	"lathe/bench/frame"
)

// responsesFrames is vLLM's request function for /v1/responses, known since
// November 2026: the same cutter, events with their type inside the JSON.
type responsesFrames struct {
	vllmFrames
	joined   []byte
	terminal bool
}

func newResponses(sw Switches, doc *frame.Doc) *responsesFrames {
	return &responsesFrames{vllmFrames: *newVLLM(Responses, sw, doc)}
}

func (v *responsesFrames) read(b []byte, t int64) {
	if v.failure.bad() {
		return
	}
	err := v.cut.Add(b, v.doc, func(m frame.Message) bool {
		v.failure = v.event(m.Text, t)
		return !v.failure.bad()
	})
	if err != nil {
		v.failure = cutterFailure(err)
	}
}

// event joins the data lines of a message; other lines say nothing.
func (v *responsesFrames) event(text []byte, t int64) failure {
	v.joined = v.joined[:0]
	lines := 0
	for line := range bytes.SplitSeq(text, []byte("\n")) {
		data, ok := bytes.CutPrefix(line, []byte("data:"))
		if !ok {
			continue
		}
		if lines++; lines > 1 {
			v.joined = append(v.joined, '\n')
		}
		v.joined = append(v.joined, bytes.TrimPrefix(data, []byte(" "))...)
	}
	if lines == 0 || string(v.joined) == "[DONE]" {
		return failure{}
	}
	if v.doc.Parse(v.joined) != nil {
		return python(jsonDecodeError)
	}
	root := v.doc.Root()
	if !root.Is(frame.Object) {
		return python(attributeError)
	}
	v.metrics(root.Get("metrics"))
	switch kind := root.Get("type").Text(); kind {
	case "response.output_text.delta":
		v.token(t)
		return v.append(root.Get("delta"))
	case "response.reasoning_text.delta":
		v.token(t)
	case "response.completed", "response.incomplete":
		v.terminal = true
		u := root.Get("response").Get("usage")
		if n := u.Get("output_tokens"); !n.Is(frame.Missing) && !n.Is(frame.Null) {
			v.output = countOf(n)
		}
		if n := u.Get("input_tokens"); !n.Is(frame.Missing) && !n.Is(frame.Null) {
			v.prompt = countOf(n)
		}
	default:
		if kind == "error" || kind == "response.failed" || root.Get("error").Truthy() {
			return failure{"server_error", printableText(root.Raw())}
		}
	}
	return failure{}
}

func (v *responsesFrames) close(r *bench.Request, head []byte) Outcome {
	if !v.failure.bad() && v.tokens > 0 && !v.terminal && !ending(r).bad() {
		v.failure = failure{noChunk, "the stream ended without response.completed or response.incomplete"}
	}
	return v.vllmFrames.close(r, head)
}
