package serving

import (
	"bytes"

	"lathe/bench"
	"lathe/bench/frame"
)

// vllmFrames is the loop over the response of vLLM's request functions for
// completions and chat.
type vllmFrames struct {
	wire Wire
	sw   Switches
	doc  *frame.Doc // scratch, shared
	cut  frame.Messages

	// stamps has an entry a frame that moves a clock: the stamp doubled, plus one
	// where the frame is a token.
	stamps  []int64
	tokens  int
	text    []byte
	output  Count
	prompt  Count // once said
	queue   *float64
	ttft    *float64
	failure failure
}

func newVLLM(wire Wire, sw Switches, doc *frame.Doc) *vllmFrames {
	return &vllmFrames{wire: wire, sw: sw, doc: doc, cut: frame.Messages{Trim: sw.SSETrim}, output: counted(0)}
}

func (v *vllmFrames) read(b []byte, t int64) {
	if v.failure.bad() {
		return
	}
	err := v.cut.Add(b, v.doc, func(m frame.Message) bool {
		v.failure = v.message(m, t)
		return !v.failure.bad()
	})
	if err != nil {
		v.failure = cutterFailure(err)
	}
}

func (v *vllmFrames) message(m frame.Message, t int64) failure {
	if m.Text[0] == ':' {
		return failure{}
	}
	if m.Doc == nil {
		text := bytes.TrimPrefix(m.Text, []byte("data: "))
		if string(text) == "[DONE]" {
			return failure{}
		}
		if v.doc.Parse(text) != nil {
			return python(jsonDecodeError)
		}
	}
	root := v.doc.Root()
	if !root.Is(frame.Object) {
		return python(attributeError)
	}
	if v.sw.ServerMetrics {
		v.metrics(root.Get("metrics"))
	}
	if v.wire == Chat {
		return v.chat(root, t)
	}
	return v.completion(root, t)
}

// metrics keeps what the server says of itself; the last object wins.
func (v *vllmFrames) metrics(m frame.Value) {
	if !m.Is(frame.Object) {
		return
	}
	number := func(key string) *float64 {
		x := m.Get(key)
		f, ok := x.Float()
		if !ok || x.Is(frame.True) || x.Is(frame.False) {
			return nil
		}
		f /= 1000
		return &f
	}
	v.queue, v.ttft = number("queue_time_ms"), number("time_to_first_token_ms")
}

func (v *vllmFrames) token(t int64) {
	v.stamps = append(v.stamps, t<<1|1)
	v.tokens++
}

func (v *vllmFrames) completion(root frame.Value, t int64) failure {
	choices := root.Get("choices")
	if !choices.Truthy() {
		return v.usage(root.Get("usage"))
	}
	first, f := firstChoice(choices)
	if f.bad() {
		return f
	}
	v.token(t)
	return v.append(first.Get("text"))
}

// firstChoice is choices[0], on which a member is asked for.
func firstChoice(choices frame.Value) (frame.Value, failure) {
	switch {
	case choices.Is(frame.Object):
		return frame.Value{}, python(keyError)
	case !choices.Is(frame.Array) && !choices.Is(frame.String):
		return frame.Value{}, python(typeError)
	}
	first := choices.First()
	if !first.Is(frame.Object) {
		return frame.Value{}, python(attributeError)
	}
	return first, failure{}
}

// append adds text that is not empty or null.
func (v *vllmFrames) append(text frame.Value) failure {
	if text.Truthy() && !text.Is(frame.String) {
		return python(typeError)
	}
	v.text = text.AppendText(v.text)
	return failure{}
}

func (v *vllmFrames) usage(u frame.Value) failure {
	if !u.Truthy() {
		return failure{}
	}
	if !u.Is(frame.Object) {
		return python(attributeError)
	}
	v.output = countOf(u.Get("completion_tokens"))
	if p := u.Get("prompt_tokens"); !p.Is(frame.Missing) && !p.Is(frame.Null) {
		v.prompt = countOf(p)
	}
	return failure{}
}

func (v *vllmFrames) chat(root frame.Value, t int64) failure {
	choices := root.Get("choices")
	delta := frame.Value{}
	token := choices.Truthy()
	if token {
		first, f := firstChoice(choices)
		if f.bad() {
			return f
		}
		delta = first.Get("delta")
		switch {
		case v.sw.ChatDelta && delta.Is(frame.Missing):
			return python(keyError)
		case v.sw.ChatDelta && !delta.Is(frame.Object):
			return python(attributeError)
		}
		token = !v.sw.ChatTokenFrame || generates(delta)
	}
	if token {
		v.token(t)
		return v.append(delta.Get("content"))
	}
	if v.sw.ChatEndsAtFrame {
		v.stamps = append(v.stamps, t<<1)
	}
	if v.sw.ChatUsageFrame || !choices.Truthy() {
		return v.usage(root.Get("usage"))
	}
	return failure{}
}

// generates says whether vLLM 0.33 takes a delta for a token.
func generates(delta frame.Value) bool {
	for _, key := range [...]string{"content", "reasoning", "tool_calls", "function_call"} {
		if delta.Get(key).Truthy() {
			return true
		}
	}
	content := delta.Get("content")
	return content.Is(frame.String) && !content.Truthy() && delta.Get("role").Is(frame.Missing)
}

// noChunkText is what vLLM writes when no token came.
const noChunkText = "Never received a valid chunk to calculate TTFT.This response will be marked as failed!"

func (v *vllmFrames) close(r *bench.Request, _ []byte) Outcome {
	o := outcomeOf(r)
	o.Output = counted(0)
	switch {
	case r.Status == nil:
		o.fail(python(disconnectedError))
		return o
	case *r.Status != 200:
		o.fail(failure{httpStatus, r.Reason})
		return o
	}
	o.Output, o.ServerQueue, o.ServerTTFT = v.output, v.queue, v.ttft
	if v.prompt.Valid {
		o.Prompt = v.prompt
	}
	last := v.clock(&o)
	f := v.failure
	if !f.bad() {
		f = ending(r)
	}
	if !f.bad() && v.tokens == 0 && !(v.wire == Chat && v.sw.ChatEmptyIsOK) {
		f = failure{noChunk, noChunkText}
	}
	if f.bad() {
		o.fail(f)
		return o
	}
	o.Success, o.Text, o.Latency = true, string(v.text), last-o.Start()
	return o
}

// clock turns the stamps into TTFT and ITL and returns the last one.
func (v *vllmFrames) clock(o *Outcome) float64 {
	start := o.Start()
	last, unset := start, true
	zeroIsUnset := v.wire == Chat && v.sw.ChatZeroIsUnset
	o.ITL = make([]float64, 0, max(0, v.tokens-1))
	for _, s := range v.stamps {
		t := seconds(s >> 1)
		switch {
		case s&1 == 0:
		case unset:
			o.TTFT = t - start
			unset = zeroIsUnset && o.TTFT == 0
		default:
			o.ITL = append(o.ITL, t-last)
		}
		last = t
	}
	return last
}
