package serving

import (
	"bytes"
	"fmt"
	"unicode/utf8"

	"lathe/bench"
	"lathe/bench/frame"
)

// exactFrames is one open request in the exact reading.
type exactFrames struct {
	doc *frame.Doc // scratch, shared
	lag *lags

	onEvent func(frame.Event) bool // event, bound once
	onText  func(frame.Value, bool)

	events frame.Events
	bare   frame.Objects
	mode   bodyMode
	broken bool // the cutter gave up: what follows is not looked at

	stamps    []int64 // of the payload frames
	cumulated []int64 // tokens so far at each of them, as far as said
	own       int64   // tokens of the frames by ids
	ownFrames int
	empty     int
	counted   [2]int64 // first and last stamp of the frames that are counted
	text      []byte
	objects   int // bare values, or events with JSON

	firstByte, firstEvent, firstContent, done *int64
	usage, prompt, cached                     Count
	finish                                    string
	sawUsage, finalUsage                      bool
	bad                                       failure
	malformed                                 int
	malformedAt                               *int64
}

// bodyMode is what a body looks like by its first byte.
type bodyMode int

const (
	unknownBody bodyMode = iota
	eventBody
	bareBody
)

func newExact(doc *frame.Doc, lag *lags) *exactFrames {
	x := &exactFrames{doc: doc, lag: lag}
	x.onEvent, x.onText = x.event, x.say
	return x
}

// once sets a stamp that has none yet.
func once(to **int64, t int64) {
	if *to == nil {
		*to = &t
	}
}

// read takes one read; its stamp is the kernel's where there is one.
func (x *exactFrames) read(r *bench.Read) {
	t := r.TNS
	if r.KernelNS != nil {
		t = *r.KernelNS
		x.lag.add(r.TNS - t)
	}
	if x.firstByte == nil && len(r.B64) > 0 {
		once(&x.firstByte, t)
	}
	if x.broken {
		return
	}
	if x.mode == unknownBody {
		if start := bytes.TrimLeft(r.B64, " \t\r\n"); len(start) > 0 {
			if x.mode = eventBody; start[0] == '{' || start[0] == '[' {
				x.mode = bareBody
			}
		}
	}
	var err error
	if x.mode != eventBody {
		err = x.bare.Add(r.B64, t, x.onEvent)
	}
	if x.mode != bareBody { // white space, while it is not known, goes to both
		err = x.events.Add(r.B64, t, x.onEvent)
	}
	if err != nil {
		x.broken = true
		x.problem(failure{"malformed_event", err.Error()})
	}
}

// problem keeps the first failure.
func (x *exactFrames) problem(f failure) {
	if !x.bad.bad() {
		x.bad = f
	}
}

func (x *exactFrames) event(e frame.Event) bool {
	t := e.T
	if x.firstEvent == nil {
		once(&x.firstEvent, t)
	}
	data := bytes.TrimSpace(e.Data)
	if string(data) == "[DONE]" {
		once(&x.done, t)
		return true
	}
	if !utf8.Valid(data) || x.doc.Parse(data) != nil || !x.doc.Root().Is(frame.Object) {
		x.malformedEvent(e, data)
		return true
	}
	x.objects++
	p := readPayload(x.doc.Root(), x.onText)
	if p.failed || string(e.Type) == "error" {
		if p.problem == "" {
			p.problem = errorText(x.doc.Root())
		}
		x.problem(failure{"server_error", p.problem})
		return true
	}
	x.take(p, t)
	return true
}

func (x *exactFrames) malformedEvent(e frame.Event, data []byte) {
	x.malformed++
	if x.malformedAt == nil {
		at := e.Offset
		x.malformedAt = &at
	}
	text := fmt.Sprintf("event at byte %d is no JSON object", e.Offset)
	if inner := embedded(x.doc, data); inner != "" {
		text += ": " + inner
	}
	tail := string(data[max(0, len(data)-maxErrorText):])
	x.problem(failure{"malformed_event", text + ": it ends in " + printableText(tail)})
}

// say takes generated text: appended, but a native one that goes on from what
// stands there replaces it.
func (x *exactFrames) say(v frame.Value, native bool) {
	n := len(x.text)
	x.text = v.AppendText(x.text)
	if native && bytes.HasPrefix(x.text[n:], x.text[:n]) {
		x.text = append(x.text[:0], x.text[n:]...)
	}
}

// take counts a frame.
func (x *exactFrames) take(p payload, t int64) {
	grew := p.cumulated.Valid && p.cumulated.N > x.usage.N
	if p.cumulated.Valid {
		x.usage, x.sawUsage = p.cumulated, true
	}
	if p.prompt.Valid {
		x.prompt = p.prompt
	}
	if p.cached.Valid {
		x.cached = p.cached
	}
	if p.finish != "" {
		x.finish = p.finish
	}
	if !p.choices {
		x.finalUsage = x.finalUsage || p.usage
		return
	}
	token := p.text || grew
	if !token && !p.empty {
		return
	}
	if len(x.stamps)+x.empty == 0 {
		x.counted[0] = t
	}
	x.counted[1] = t
	if p.own.Valid {
		x.own += p.own.N
		x.ownFrames++
	}
	if !token {
		x.empty++
		return
	}
	if p.content && x.firstContent == nil {
		once(&x.firstContent, t)
	}
	x.stamps = append(x.stamps, t)
	if p.cumulated.Valid && len(x.cumulated) == len(x.stamps)-1 {
		x.cumulated = append(x.cumulated, p.cumulated.N)
	}
}
