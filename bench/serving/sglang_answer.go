package serving

import (
	"strings"
	"unicode/utf8"

	"lathe/bench"
	"lathe/bench/frame"
)

func (s *sglangFrames) close(r *bench.Request, head []byte) (o Outcome) {
	o = outcomeOf(r)
	o.Output = counted(0)
	if s.cache != nil {
		defer func() { o.Cache = s.cache.hit() }()
	}
	switch {
	case r.Status == nil:
		o.fail(python(disconnectedError))
		return o
	case *r.Status != 200:
		o.fail(failure{httpStatus, r.Reason + ": " + strings.ToValidUTF8(string(head), "\uFFFD")})
		return o
	}
	f := ending(r)
	if !s.failure.bad() && !f.bad() {
		if s.whole {
			s.failure = s.answer(&o, r)
		} else {
			s.cut.End(func(line []byte) bool { return s.line(line, r.End.TNS) })
		}
	}
	if s.failure.bad() {
		f = s.failure
	}
	if s.prompt.Valid {
		o.Prompt = s.prompt
	}
	if !s.whole {
		if g := s.clock(&o); g.bad() {
			f = g
		}
		if !f.bad() && s.lines == 0 {
			f = python(unboundError)
		}
		o.Latency = seconds(s.lastLine) - o.Start()
	}
	if f.bad() {
		o.Latency = 0
		o.fail(f)
		return o
	}
	o.Success, o.Text, o.Output = true, string(s.text), s.length(r)
	return o
}

// length is the output length that is reported: the requested one where the
// server said none in the place that is looked at.
func (s *sglangFrames) length(r *bench.Request) Count {
	switch {
	case s.wire == Native && len(s.counts) > 0:
		return s.counts[len(s.counts)-1]
	case s.wire != Native && s.said:
		return s.output
	}
	return counted(r.RequestedOutputLen)
}

// maxGrowth is how many samples one request may stand for; more is a server's
// mistake, which would fill the memory here as there.
const maxGrowth = 1 << 24

// clock turns the stamps into TTFT, ITL and chunks.
func (s *sglangFrames) clock(o *Outcome) failure {
	start := o.Start()
	o.raw = s.text
	var last float64
	var have Count
	for i, stamp := range s.stamps {
		t := seconds(stamp)
		switch {
		case o.TTFT == 0:
			o.TTFT = t - start
			if s.wire != Native {
				o.base = s.ends[i]
			}
		case s.wire != Native:
			o.ITL = append(o.ITL, t-last)
			o.ends = s.ends[i+1-len(o.ITL) : i+1]
		default:
			if !s.counts[i].Valid || !have.Valid {
				return python(typeError)
			}
			grown := s.counts[i].N - have.N
			if grown == 0 {
				continue
			}
			if grown > maxGrowth-int64(len(o.ITL)) {
				return failure{memoryError, "completion_tokens grew beyond what a list can hold"}
			}
			each := (t - last) / float64(grown)
			for range grown {
				o.ITL = append(o.ITL, each)
			}
		}
		last = t
		if s.wire == Native {
			have = s.counts[i]
		}
	}
	return failure{}
}

// answer reads the one JSON body of a chat without streaming.
func (s *sglangFrames) answer(o *Outcome, r *bench.Request) failure {
	if !utf8.Valid(s.body) {
		return python(unicodeError)
	}
	if s.doc.Parse(s.body) != nil {
		return python(jsonDecodeError)
	}
	root := s.doc.Root()
	if !root.Is(frame.Object) {
		return python(typeError)
	}
	if f := s.serverPrompt(root); f.bad() {
		return f
	}
	choices := root.Get("choices")
	switch {
	case choices.Is(frame.Missing):
		return python(keyError)
	case choices.Is(frame.Array) && choices.Len() == 0:
		return python(indexError)
	}
	first := choices.First()
	if !first.Is(frame.Object) {
		return python(typeError)
	}
	message := first.Get("message")
	if message.Is(frame.Missing) {
		return python(keyError)
	}
	text, f := appendSaid(s.text[:0], message)
	if f.bad() {
		return f
	}
	s.text, o.Text = text, string(text) // which a failure from here on does not take back
	o.Latency = seconds(r.End.TNS) - o.Start()
	o.TTFT = o.Latency
	u := root.Get("usage")
	if !u.Is(frame.Missing) && !u.Is(frame.Object) { // null is not taken for none here
		return python(attributeError)
	}
	if f := s.usage(u); f.bad() {
		return f
	}
	return s.cached(root)
}
