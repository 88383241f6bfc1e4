package serving

import (
	"bytes"
	"unicode/utf8"

	"lathe/bench/frame"
)

// sglangFrames is the loop over the response of SGLang's request functions.
type sglangFrames struct {
	wire  Wire
	whole bool // chat without streaming: the body is one JSON text
	asked bool // frames with the usage alone are there because others ask for them
	sw    Switches
	doc   *frame.Doc // scratch, shared
	cut   frame.Lines

	stamps   []int64 // of the frames with text
	ends     []uint32
	counts   []Count // native: completion_tokens, a frame with text
	text     []byte
	body     []byte // where whole
	output   Count
	said     bool // the server said output, null included
	prompt   Count
	lastLine int64
	lines    int
	left     int          // frames that were left out as asked says
	cache    *cacheFrames // with --cache-report
	failure  failure
}

func newSGLang(wire Wire, opt Options, sw Switches, doc *frame.Doc) *sglangFrames {
	asked := opt.UsageAsked && !opt.MultiTurn && wire != Native
	s := &sglangFrames{wire: wire, whole: opt.DisableStream && wire == Chat, asked: asked, sw: sw, doc: doc}
	if opt.CacheReport {
		s.cache = &cacheFrames{tokens: counted(0)}
	}
	return s
}

func (s *sglangFrames) read(b []byte, t int64) {
	if s.failure.bad() {
		return
	}
	if s.whole {
		if s.body = append(s.body, b...); len(s.body) > frame.MaxMessage {
			s.failure = cutterFailure(frame.ErrTooLong)
		}
		return
	}
	err := s.cut.Add(b, func(line []byte) bool { return s.line(line, t) })
	if err != nil {
		s.failure = cutterFailure(err)
	}
}

func (s *sglangFrames) line(line []byte, t int64) bool {
	if !utf8.Valid(line) {
		s.failure = python(unicodeError)
		return false
	}
	line = bytes.TrimPrefix(line, []byte("data: "))
	if s.asked && s.unasked(line) {
		s.left++
		return true
	}
	s.lastLine = t
	s.lines++
	if string(line) == "[DONE]" {
		return true
	}
	if s.doc.Parse(line) != nil {
		s.failure = python(jsonDecodeError)
		return false
	}
	root := s.doc.Root()
	if !root.Is(frame.Object) {
		class := attributeError
		if s.wire == Completions && !s.sw.ObjectFirst && s.cache == nil {
			class = typeError
		}
		s.failure = python(class)
		return false
	}
	if s.failure = s.serverPrompt(root); s.failure.bad() {
		return false
	}
	switch s.wire {
	case Native:
		s.failure = s.native(root, t)
	case Chat:
		s.failure = s.chat(root, t)
	default:
		s.failure = s.completion(root, t)
	}
	return !s.failure.bad()
}

// unasked says whether a line is a frame with the usage alone.
func (s *sglangFrames) unasked(line []byte) bool {
	if s.doc.Parse(line) != nil {
		return false
	}
	choices, usage := s.doc.Root().Get("choices"), s.doc.Root().Get("usage")
	return choices.Is(frame.Array) && choices.Len() == 0 && usage.Is(frame.Object)
}

// serverPrompt takes the server's prompt length, since November 2026: of usage,
// and of meta_info only where there is no usage, whatever that says.
func (s *sglangFrames) serverPrompt(root frame.Value) failure {
	if !s.sw.ServerInputLen {
		return failure{}
	}
	for _, key := range [...]string{"usage", "meta_info"} {
		holder := root.Get(key)
		if !holder.Truthy() {
			continue
		}
		if !holder.Is(frame.Object) {
			return python(attributeError)
		}
		if p := holder.Get("prompt_tokens"); p.Truthy() {
			s.prompt = countOf(p)
		}
		break
	}
	return failure{}
}

// cached takes what a frame says for the cache report, where one is asked for.
func (s *sglangFrames) cached(root frame.Value) failure {
	switch {
	case s.cache == nil:
		return failure{}
	case s.wire == Native:
		return s.cache.meta(root)
	}
	return s.cache.extension(root)
}

func (s *sglangFrames) native(root frame.Value, t int64) failure {
	if f := s.cached(root); f.bad() {
		return f
	}
	text := root.Get("text")
	if !text.Truthy() {
		return failure{}
	}
	if !text.Is(frame.String) {
		return python(typeError)
	}
	meta := root.Get("meta_info")
	switch {
	case meta.Is(frame.Missing):
		return python(keyError)
	case !meta.Is(frame.Object):
		return python(typeError)
	}
	n := meta.Get("completion_tokens")
	if n.Is(frame.Missing) {
		return python(keyError)
	}
	s.text = text.AppendText(s.text[:0])
	s.stamps, s.counts = append(s.stamps, t), append(s.counts, countOf(n))
	return failure{}
}

func (s *sglangFrames) completion(root frame.Value, t int64) failure {
	if f := s.cached(root); f.bad() {
		return f
	}
	choices := root.Get("choices")
	switch {
	case choices.Is(frame.Missing), choices.Is(frame.Object):
		return python(keyError)
	case !choices.Is(frame.Array):
		return python(typeError)
	case choices.Len() == 0:
		return python(indexError)
	}
	first := choices.First()
	if !first.Is(frame.Object) {
		return python(typeError)
	}
	text := first.Get("text")
	if text.Is(frame.Missing) {
		return python(keyError)
	}
	if !text.Truthy() {
		return failure{}
	}
	if !text.Is(frame.String) {
		return python(typeError)
	}
	s.chunk(text.AppendText(s.text), t)
	return s.usage(root.Get("usage"))
}

// chunk takes a frame with text, which makes all text so far.
func (s *sglangFrames) chunk(all []byte, t int64) {
	s.text = all
	s.stamps, s.ends = append(s.stamps, t), append(s.ends, uint32(len(s.text)))
}

// usage takes completion_tokens where the key is there, null included.
func (s *sglangFrames) usage(u frame.Value) failure {
	if !u.Truthy() {
		return failure{}
	}
	if !u.Is(frame.Object) {
		return python(attributeError)
	}
	if n := u.Get("completion_tokens"); !n.Is(frame.Missing) {
		s.output, s.said = countOf(n), true
	}
	return failure{}
}

func (s *sglangFrames) chat(root frame.Value, t int64) failure {
	if f := s.usage(root.Get("usage")); f.bad() {
		return f
	}
	if f := s.cached(root); f.bad() {
		return f
	}
	choices := root.Get("choices")
	if !choices.Truthy() {
		return failure{}
	}
	first, f := firstChoice(choices)
	if f.bad() {
		return f
	}
	text, f := appendSaid(s.text, first.Get("delta"))
	if !f.bad() && len(text) > len(s.text) {
		s.chunk(text, t)
	}
	return f
}

// appendSaid appends reasoning and content of a delta or message; a missing or null
// one says nothing. After a failure the text is to be left out.
func appendSaid(text []byte, delta frame.Value) ([]byte, failure) {
	if !delta.Truthy() {
		return text, failure{}
	}
	if !delta.Is(frame.Object) {
		return text, python(attributeError)
	}
	reasoning := delta.Get("reasoning_content")
	if !reasoning.Truthy() {
		reasoning = delta.Get("reasoning")
	}
	for _, v := range [...]frame.Value{reasoning, delta.Get("content")} {
		if v.Truthy() && !v.Is(frame.String) {
			return text, python(typeError)
		}
		text = v.AppendText(text)
	}
	return text, failure{}
}
