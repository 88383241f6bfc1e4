package serving

import (
	"bytes"
	"strings"

	"lathe/bench/frame"
)

// payload is what one frame says in the exact reading.
type payload struct {
	problem string // what the server says went wrong
	failed  bool

	choices   bool   // the frame has choices, or is a native one
	text      bool   // something generated: text, reasoning, a tool call, a refusal
	content   bool   // visible answer text
	empty     bool   // text that is there and empty, neither role nor finish frame
	finish    string // finish reason
	cumulated Count  // tokens generated so far
	own       Count  // tokens of this frame, by ids or logprobs
	prompt    Count
	cached    Count // prompt tokens that came from the server's prefix cache
	usage     bool  // a usage object was there
}

// readPayload reads a frame; say takes the generated text.
func readPayload(root frame.Value, say func(v frame.Value, native bool)) payload {
	var p payload
	if e := root.Get("error"); e.Truthy() {
		p.failed, p.problem = true, errorText(e)
		return p
	}
	if o := root.Get("object"); o.Says("error") {
		p.failed, p.problem = true, errorText(root)
		return p
	}
	if kind := root.Get("type"); kind.Is(frame.String) {
		if event, ok := strings.CutPrefix(kind.Text(), "response."); ok {
			p.response(event, root, say)
			return p
		}
		if kind.Text() == "error" {
			p.failed, p.problem = true, errorText(root)
			return p
		}
	}
	for choice := range root.Get("choices").All() {
		p.choice(choice, say)
	}
	if text := root.Get("text"); text.Is(frame.String) && !p.choices {
		p.choices = true
		p.text, p.content, p.empty = text.Truthy(), text.Truthy(), !text.Truthy()
		say(text, true)
	}
	p.counts(root)
	return p
}

func (p *payload) choice(c frame.Value, say func(frame.Value, bool)) {
	if !c.Is(frame.Object) {
		return
	}
	p.choices = true
	finish := c.Get("finish_reason")
	if finish.Truthy() {
		p.finish = finish.Text()
	}
	delta := c.Get("delta")
	text := c.Get("text")
	if delta.Is(frame.Object) {
		text = delta.Get("content")
		for _, key := range [...]string{"reasoning_content", "reasoning", "refusal", "tool_calls", "function_call"} {
			p.text = p.text || delta.Get(key).Truthy()
		}
	}
	if text.Is(frame.String) {
		full := text.Truthy()
		p.text, p.content = p.text || full, p.content || full
		p.empty = p.empty || !full && !finish.Truthy() && delta.Get("role").Is(frame.Missing)
		say(text, false)
	}
	own := c.Get("token_ids")
	if logprobs := c.Get("logprobs"); !own.Is(frame.Array) && logprobs.Is(frame.Object) {
		if own = logprobs.Get("content"); !own.Is(frame.Array) {
			own = logprobs.Get("tokens")
		}
	}
	if own.Is(frame.Array) {
		p.own = Count{p.own.N + int64(own.Len()), true}
	}
}

// response reads an event of the Responses API, whose type is "response." and event.
func (p *payload) response(event string, root frame.Value, say func(frame.Value, bool)) {
	switch event {
	case "output_text.delta", "reasoning_text.delta", "reasoning_summary_text.delta", "refusal.delta", "function_call_arguments.delta":
		delta := root.Get("delta")
		if !delta.Is(frame.String) {
			return
		}
		p.choices = true
		p.text, p.empty = delta.Truthy(), !delta.Truthy()
		if event == "output_text.delta" {
			p.content = p.text
			say(delta, false)
		}
	case "completed", "incomplete":
		p.finish = event
		p.usageOf(root.Get("response").Get("usage"), "output_tokens", "input_tokens", "input_tokens_details")
	case "failed":
		p.failed, p.problem = true, errorText(root.Get("response").Get("error"))
	}
}

// usageOf takes the server's counts out of a usage object.
func (p *payload) usageOf(u frame.Value, output, input, details string) {
	if n := countOf(u.Get(output)); n.Valid && n.N >= 0 {
		p.cumulated, p.usage = n, true
	}
	if n := countOf(u.Get(input)); n.Valid && n.N >= 0 {
		p.prompt = n
	}
	for _, v := range [...]frame.Value{u.Get("cached_tokens"), u.Get(details).Get("cached_tokens")} {
		if n := countOf(v); n.Valid && n.N >= 0 {
			p.cached = n
		}
	}
}

// counts takes the server's counts, of OpenAI's usage or SGLang's meta_info.
func (p *payload) counts(root frame.Value) {
	for _, key := range [...]string{"usage", "meta_info"} {
		u := root.Get(key)
		if !u.Is(frame.Object) {
			continue
		}
		p.usageOf(u, "completion_tokens", "prompt_tokens", "prompt_tokens_details")
		switch f := u.Get("finish_reason"); f.Kind() {
		case frame.String:
			p.finish = f.Text()
		case frame.Object:
			p.finish = f.Get("type").Text()
		}
	}
}

// errorText is the message and type of an error object, or what else it holds.
func errorText(e frame.Value) string {
	if e.Is(frame.String) {
		return printableText(e.Text())
	}
	var parts []string
	for _, key := range [...]string{"message", "type", "code"} {
		if v := e.Get(key); v.Truthy() {
			parts = append(parts, printableText(strings.Trim(v.Raw(), `"`)))
		}
	}
	if len(parts) == 0 {
		return printableText(clip(e.Raw(), maxErrorText))
	}
	return strings.Join(parts, ", ")
}

// maxErrorText is how much of a body an error quotes.
const maxErrorText = 200

func clip(s string, n int) string { return s[:min(len(s), n)] }

// printableText is s in valid UTF-8 without control characters.
func printableText(s string) string {
	return strings.Map(func(r rune) rune {
		if r < ' ' || r >= 0x7F && r < 0xA0 {
			return ' '
		}
		return r
	}, strings.ToValidUTF8(s, "\uFFFD"))
}

// embedded looks for an error object in the lines of a frame that is not JSON,
// as a proxy leaves one behind half an event.
func embedded(doc *frame.Doc, data []byte) string {
	for line := range bytes.SplitSeq(data, []byte("\n")) {
		if doc.Parse(line) == nil {
			if p := readPayload(doc.Root(), func(frame.Value, bool) {}); p.failed {
				return p.problem
			}
		}
	}
	return ""
}
