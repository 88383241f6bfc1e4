package load

import (
	"bytes"
	"errors"
	"fmt"
	"strings"
	"time"

	"lathe/bench"
)

// exchange is one request on its way. Between start and finish it belongs to
// one thread of a transport.
type exchange struct {
	job   Job
	run   *running
	index int    // in the plan
	head  []byte // request head as it is sent

	scheduled, admitted, sent int64
	began                     int64 // of this attempt; sent is that of the first
	connected, headers        *int64
	last                      int64 // when something came or went last
	standing                  bool  // there is a connection
	remote                    string
	reused                    bool
	attempts                  []bench.Attempt

	resp  response
	body  int64 // bytes so far
	line  int64 // bytes since the last line feed
	carry [16]byte
	done  *int64 // when [DONE] came
	kept  []byte // the body, for Follow

	held place // of its reads in the capture buffer

	probe  *prober // whose it is; nil for a request of the plan
	reads  []bench.Read
	asked  int64 // when it came to wait for a connection of a pool with an end; 0: it did not
	pooled bool  // it holds such a connection
}

// ending is how an attempt ended.
type ending struct {
	t     int64
	kind  string
	class Class
	err   error
}

// begin is called right before the first byte is sent or the connection is
// opened.
func (x *exchange) begin(now int64) {
	if len(x.attempts) == 0 {
		if x.sent = now; x.asked > 0 {
			x.sent = x.asked
		}
	}
	x.began, x.last = now, now
	x.connected, x.headers, x.done, x.standing = nil, nil, nil, false
	x.body, x.line, x.kept = 0, 0, x.kept[:0]
	x.carry = [16]byte{15: '\n'}
	x.resp.reset()
}

// at is a pointer to t. Taking &t in place would move the argument of every
// call to the heap.
func at(t int64) *int64 { return &t }

// up is told that the connection stands: now, or, with a reused one, since
// before.
func (x *exchange) up(now int64, reused bool) {
	if x.last, x.reused, x.standing = now, reused, true; !reused {
		x.connected = at(now)
	}
}

// received takes what one read of the connection brought. again says that the
// bytes belong to the same socket read as those before. Once over is true the
// exchange is handed to finish.
func (x *exchange) received(now, kernel int64, p []byte, again bool) (e ending, over bool) {
	x.last = now
	had := x.resp.headDone()
	body, err := x.resp.feed(p)
	if !had && x.resp.headDone() {
		x.headers = at(now)
	}
	if len(body) > 0 {
		x.keep(now, kernel, body, again)
		if f := x.take(now, body); f != nil && err == nil {
			err = f
		}
	}
	switch {
	case err != nil:
		return failed(now, err), true
	case x.resp.state == whole, x.resp.status != 200 && x.body > refusalBody:
		return x.complete(now), true
	}
	return ending{}, false
}

// keep puts what one read brought of the body into the capture.
func (x *exchange) keep(now, kernel int64, body []byte, again bool) {
	switch n := len(x.reads); {
	case x.probe != nil && again && n > 0:
		x.reads[n-1].B64 = append(x.reads[n-1].B64, body...)
	case x.probe != nil:
		x.reads = append(x.reads, bench.Read{TNS: now, B64: bytes.Clone(body)})
	case x.run.rec != nil && !x.repeatable():
		x.run.rec.add(x, now, kernel, body, again)
	}
}

// refusalBody is how much is read of the body of an answer that is no success,
// in bytes: what it says stands at its beginning, and it may have no end.
const refusalBody = 1 << 20

// take notes what the body says about its own end and bounds it.
func (x *exchange) take(now int64, body []byte) error {
	limits := &x.run.c.opt.Limits
	x.body += int64(len(body))
	if i := bytes.LastIndexByte(body, '\n'); i >= 0 {
		x.line = int64(len(body) - i - 1)
	} else {
		x.line += int64(len(body))
	}
	if x.job.Follow != nil && x.resp.status == 200 {
		x.kept = append(x.kept, body...)
	}
	switch {
	case limits.LineSize > 0 && x.line > limits.LineSize:
		return fail(ClassLineSize, fmt.Errorf("a line of the body is above %d bytes", limits.LineSize))
	case limits.BodySize > 0 && x.body > limits.bodyOf(x.job.RequestedOutputLen):
		return fail(ClassBodySize, fmt.Errorf("the body is above %d bytes, and %d tokens were asked for", limits.bodyOf(x.job.RequestedOutputLen), x.job.RequestedOutputLen))
	}
	if x.done == nil && x.job.Stream && endsDone(&x.carry, body) {
		x.done = at(now)
	}
	return nil
}

// endsDone says whether the stream so far ends with a [DONE] event. carry holds
// its last bytes before body and is moved on.
func endsDone(carry *[16]byte, body []byte) bool {
	var buf [len(carry) + 32]byte
	k := min(len(body), 32)
	window := append(append(buf[:0], carry[:]...), body[len(body)-k:]...)
	if k == 32 {
		window = window[len(carry):]
	}
	copy(carry[:], window[len(window)-len(carry):])
	window = bytes.TrimRight(window, "\r\n \t")
	if len(window) == 0 || window[len(window)-1] != ']' {
		return false
	}
	window, ok := bytes.CutSuffix(window, []byte("[DONE]"))
	if !ok {
		return false
	}
	window, ok = bytes.CutSuffix(bytes.TrimRight(window, " "), []byte("data:"))
	return ok && len(window) > 0 && (window[len(window)-1] == '\n' || window[len(window)-1] == '\r')
}

// complete is the ending of a whole answer.
func (x *exchange) complete(now int64) ending {
	switch {
	case x.resp.status != 200:
		return ending{now, endStatus, ClassStatus, fmt.Errorf("status %d %s", x.resp.status, x.resp.reason)}
	case x.job.Stream && !strings.HasPrefix(strings.ToLower(x.resp.contentType), "text/event-stream"):
		return ending{now, endEOF, ClassContentType, fmt.Errorf("expected text/event-stream, got %q", x.resp.contentType)}
	}
	return ending{t: now, kind: endEOF}
}

// closed is the ending where the other side closed the connection.
func (x *exchange) closed(now int64) ending {
	if err := x.resp.closed(); err != nil {
		if x.reused && x.resp.seen == 0 && x.headers == nil {
			err = fail(ClassNoResponse, errors.New("the server closed a connection that it had kept open, before a response"))
		}
		return failed(now, err)
	}
	return x.complete(now)
}

// failed is the ending of a *failure.
func failed(now int64, err error) ending {
	f := (*failure)(nil)
	if !errors.As(err, &f) {
		f = fail(ClassReset, err)
	}
	return ending{now, f.class.kind(), f.class, f.err}
}

// deadline is when the exchange has to be looked at again; ok is false where
// nothing limits it.
func (x *exchange) deadline() (t int64, ok bool) {
	l := &x.run.c.opt.Limits
	set := func(from int64, d time.Duration) {
		if d > 0 && (!ok || from+int64(d) < t) {
			t, ok = from+int64(d), true
		}
	}
	set(x.sent, l.Total)
	switch {
	case x.done != nil:
		set(*x.done, l.Tail)
	case !x.standing:
		set(x.began, l.Connect)
	default:
		set(x.last, l.Idle)
	}
	return t, ok
}

// expire is the ending at a deadline.
func (x *exchange) expire(now int64) ending {
	l := &x.run.c.opt.Limits
	switch {
	case x.done != nil:
		return x.complete(now)
	case l.Total > 0 && now-x.sent >= int64(l.Total):
		return failed(now, fail(ClassTimeout, fmt.Errorf("no end within %v", l.Total)))
	case !x.standing:
		return failed(now, fail(ClassConnect, fmt.Errorf("no connection within %v", l.Connect)))
	}
	return failed(now, fail(ClassStall, fmt.Errorf("nothing came for %v", l.Idle)))
}

// stalled says that it is silence that a deadline would end the exchange for. A
// client that was itself held up must look once more before it says so.
func (x *exchange) stalled(now int64) bool {
	total := x.run.c.opt.Limits.Total
	return x.done == nil && x.standing && (total <= 0 || now-x.sent < int64(total))
}

// repeatable says whether the answer that is coming will be thrown away for
// another attempt.
func (x *exchange) repeatable() bool {
	return len(x.attempts) < x.run.c.opt.Retry.Max && repeatStatus(x.resp.status)
}

func repeatStatus(status int) bool {
	switch status {
	case 429, 500, 502, 503, 504:
		return true
	}
	return false
}

func (x *exchange) repeats(e ending) bool {
	if len(x.attempts) >= x.run.c.opt.Retry.Max {
		return false
	}
	return e.class == ClassRefused || repeatStatus(x.resp.status) && e.class != ClassCancelled && e.class != ClassDeadline
}

// status is nil before a head came.
func (x *exchange) status() *int {
	if x.headers == nil || x.resp.status == 0 {
		return nil
	}
	s := x.resp.status
	return &s
}

// record is what the capture says of the exchange once it is over.
func (x *exchange) record(e ending) *bench.Request {
	r := &bench.Request{
		Kind: bench.KindRequest, ID: x.job.ID, Endpoint: x.job.Endpoint,
		PromptLen: x.job.PromptLen, TextPromptLen: x.job.TextPromptLen, VisionPromptLen: x.job.VisionPromptLen,
		RequestedOutputLen: x.job.RequestedOutputLen,
		ScheduledNS:        x.scheduled, AdmittedNS: x.admitted, SentNS: x.sent,
		ConnectedNS: x.connected, HeadersNS: x.headers, Status: x.status(), Reason: strings.ToValidUTF8(x.resp.reason, "\ufffd"),
		Reads: []bench.Read{}, End: &bench.RequestEnd{Kind: e.kind, TNS: e.t},
		ErrorClass: string(e.class), Remote: x.remote, Attempts: x.attempts,
	}
	if x.remote != "" {
		reused := x.reused
		r.Reused = &reused
	}
	if e.err != nil {
		r.Error = e.err.Error()
	}
	return r
}
