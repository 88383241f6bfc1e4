package serving

import (
	"fmt"
	"strings"

	"lathe/bench"
)

// ExactRequest is one request in the exact reading. Times are nanoseconds since
// the request was sent, nil where the capture does not tell; those of reads are
// the kernel's stamps where there are any.
type ExactRequest struct {
	ID       string
	Endpoint string
	Success  bool
	// ErrorClass is "" on success, else http_status, no_response, connection_cut,
	// timeout, cancelled, server_error, malformed_event, not_event_stream,
	// empty_stream or truncated_stream.
	ErrorClass, ErrorText string

	SentNS  int64 // on the run's clock
	QueueNS int64 // sent less scheduled

	ConnectedNS, HeadersNS, FirstByteNS, FirstEventNS *int64
	TTFTNS                                            *int64 // first frame with something generated
	FirstContentNS                                    *int64 // first with visible answer text
	LastNS                                            *int64 // last frame with something generated: the end of E2EL
	DoneNS, EndNS                                     *int64 // [DONE], end of the body

	Gaps        []int64 // between frames with something generated
	FrameTokens []int64 // tokens of each such frame; nil where the server did not say

	Output       Count
	OutputSource string // usage, per-frame, retokenized, frames; "" where nothing is counted
	Prompt       Count
	PromptSource string // usage, row
	Cached       Count  // prompt tokens from the server's prefix cache, where it says
	Ended        bool   // by the client's own run, not by the request
	Requested    int

	// TPOTNS is (last - first) / (tokens - tokens of the first frame); where the
	// latter is not known it is taken to be 1 and FirstFrameKnown is false.
	TPOTNS          *float64
	FirstFrameKnown bool

	Frames       int // with something generated
	EmptyFrames  int // with text that is there and empty, and no growth of a count
	Keepalives   int // comments
	Heartbeats   int // events without data
	Malformed    int
	MalformedAt  *int64 // byte offset of the first
	Unterminated int    // 1 where the body ended inside an event
	FinishReason string
	Text         string
	Warnings     []string

	tokensSpan int64 // tokens behind the first frame, of TPOTNS
}

func (x *exactFrames) close(r *bench.Request, head []byte, opt Options) ExactRequest {
	q := ExactRequest{ID: r.ID, Endpoint: r.Endpoint, SentNS: r.SentNS, QueueNS: r.SentNS - r.ScheduledNS, Requested: r.RequestedOutputLen}
	since := func(t *int64) *int64 {
		if t == nil {
			return nil
		}
		d := *t - r.SentNS
		return &d
	}
	if r.End != nil {
		if x.mode == eventBody {
			x.events.End(r.End.TNS, x.onEvent)
		}
		q.EndNS, q.Ended = since(&r.End.TNS), r.End.Kind == "cancelled"
	}
	q.ConnectedNS, q.HeadersNS = since(r.ConnectedNS), since(r.HeadersNS)
	q.FirstByteNS, q.Prompt, q.PromptSource = since(x.firstByte), counted(r.PromptLen), "row"
	if r.Status == nil || *r.Status != 200 {
		q.fail(x.refused(r, head))
		return q
	}
	q.FirstEventNS, q.DoneNS, q.FirstContentNS = since(x.firstEvent), since(x.done), since(x.firstContent)
	q.Keepalives, q.Heartbeats, q.Unterminated = x.events.Comments, x.events.Heartbeats, x.events.Unterminated
	q.Malformed, q.MalformedAt, q.FinishReason = x.malformed, x.malformedAt, x.finish
	q.EmptyFrames, q.Frames, q.Text = x.empty, len(x.stamps), string(x.text)
	if x.prompt.Valid {
		q.Prompt, q.PromptSource = x.prompt, "usage"
	}
	q.Cached = x.cached
	if f := x.verdict(r, head, opt); f.bad() {
		q.fail(f)
	} else {
		q.Success = true
	}
	if x.mode == bareBody && (x.objects < 2 || r.Endpoint != "generate") {
		q.Warnings = append(q.Warnings, "the body is one JSON text: nothing was streamed, so that there is no first token")
		q.Frames, x.stamps, x.cumulated, q.FirstContentNS = 0, nil, nil, nil
	}
	if n := len(x.stamps); n > 0 {
		q.TTFTNS, q.LastNS = since(&x.stamps[0]), since(&x.stamps[n-1])
	}
	q.count(x, opt)
	q.rates(x)
	q.doubts(x, opt)
	return q
}

func (q *ExactRequest) fail(f failure) { q.ErrorClass, q.ErrorText = f.class, f.text }

// refused is the failure of an answer that is not 200.
func (x *exactFrames) refused(r *bench.Request, head []byte) failure {
	if r.Status == nil {
		if f := x.ending(r); f.bad() && f.class != connectionCut {
			return f
		}
		return told(r, "no_response", "the connection ended before a response")
	}
	text := fmt.Sprintf("%d %s", *r.Status, r.Reason)
	if *r.Status >= 300 && *r.Status < 400 {
		text += ": redirects are not followed"
	}
	if body := strings.TrimSpace(printableText(clip(string(head), 4*maxErrorText))); body != "" {
		text += ": " + body
	}
	return failure{httpStatus, text}
}

// told is the failure as the client of the capture names it, which knows more of a connection than its
// reads show; class and text are for a capture that does not say.
func told(r *bench.Request, class, text string) failure {
	if r.ErrorClass == "" {
		return failure{class, text}
	}
	if r.Error != "" {
		text = printableText(clip(r.Error, 4*maxErrorText))
	}
	return failure{printableText(clip(r.ErrorClass, maxErrorText)), text}
}

// connectionCut is the class of a connection that broke inside the body, for reasons unknown.
const connectionCut = "connection_cut"

func (x *exactFrames) ending(r *bench.Request) failure {
	if r.End == nil {
		return failure{"cancelled", "the request was not closed"}
	}
	switch r.End.Kind {
	case "eof", "http_error":
		return failure{}
	case "timeout":
		return told(r, "timeout", "no end within the time limit")
	case "cancelled":
		return told(r, "cancelled", "cancelled by the client")
	}
	return told(r, connectionCut, "the connection broke inside the body")
}

// verdict says whether a 200 is a success.
func (x *exactFrames) verdict(r *bench.Request, head []byte, opt Options) failure {
	if x.bad.class == "server_error" && x.mode != bareBody {
		return x.bad
	}
	if f := x.ending(r); f.bad() && x.done == nil {
		return f
	}
	whole := x.mode == bareBody && !x.bare.Open()
	switch {
	case x.mode == bareBody && r.Endpoint == "generate" && whole && !x.bad.bad() && x.objects > 0,
		whole && opt.DisableStream && !x.bad.bad() && x.objects == 1:
		return failure{}
	case x.mode == bareBody, x.mode == eventBody && x.events.Fields == 0:
		text := "expected an event stream (text/event-stream), got " + lookOf(head)
		if x.bad.bad() {
			text += ": " + x.bad.text
		}
		return failure{"not_event_stream", text}
	case x.bad.bad():
		return x.bad
	case x.finish == "" && x.done == nil && !x.sawFinalUsage():
		if len(x.stamps) == 0 {
			return failure{"empty_stream", "the stream ended without anything generated"}
		}
		return failure{"truncated_stream", "the stream ended without [DONE], finish reason or final usage"}
	case len(x.stamps)+x.empty == 0 && x.finish == "" && !x.sawUsage:
		return failure{"empty_stream", "nothing was generated"}
	}
	return failure{}
}

// sawFinalUsage says whether usage came that is not the running one of the
// payload frames.
func (x *exactFrames) sawFinalUsage() bool {
	return x.finalUsage || x.sawUsage && len(x.cumulated) < max(1, len(x.stamps))
}

func lookOf(head []byte) string {
	switch s := strings.TrimSpace(string(head)); {
	case s == "":
		return "an empty body"
	case s[0] == '{' || s[0] == '[':
		return "a JSON body (application/json)"
	case s[0] == '<':
		return "an HTML or XML page"
	default:
		return fmt.Sprintf("%q", clip(s, 40))
	}
}
