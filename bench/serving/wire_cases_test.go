package serving

import (
	"strings"
	"testing"

	"lathe/bench"
)

// P002: a character split over reads is no error; an invalid byte is one, with
// its place.
func TestP002_SplitCharacter(t *testing.T) {
	body := sse(`{"choices":[{"index":0,"text":"中文😀"}]}`)
	from := strings.Index(body, "中")
	for _, n := range []int{1, 4, 7, 9} {
		w := wireOf("completions", 1).at(1, body[:from+n]).at(6, body[from+n:]).usage(7, 5, 3).done(8)
		q := exact(t, w)
		if !q.Success || q.Text != "中文😀" || q.Malformed != 0 {
			t.Errorf("split after %d: %+v", n, q)
		}
		if o := client(t, "vllm:openai", w); !o.Success || o.Text != "中文😀" {
			t.Errorf("split after %d, vllm: %+v", n, o)
		}
	}
	bad := exact(t, wireOf("completions", 2).token(1, "a").json(2, "{\"choices\":[{\"text\":\"\xFF\"}]}").done(3))
	if bad.Success || bad.Malformed != 1 || bad.MalformedAt == nil || *bad.MalformedAt != int64(len(sse(`{"choices":[{"index":0,"text":"a"}]}`))) || bad.ErrorClass != "malformed_event" {
		t.Errorf("invalid byte: %+v", bad)
	}
}

// P003: LF, CRLF and CR, with and without the blank behind the colon.
func TestP003_LineEnds(t *testing.T) {
	var first ExactRequest
	for i, form := range []struct{ eol, colon string }{{"\n", "data: "}, {"\r\n", "data:"}, {"\r", "data: "}} {
		w := wireOf("completions", 5)
		put := func(ms float64, data string) { w.at(ms, form.colon+data+form.eol+form.eol) }
		for k, s := range []string{"a", "b", "c", "d", "e"} {
			put(10*float64(k+1), `{"choices":[{"index":0,"text":"`+s+`"}]}`)
		}
		put(51, `{"choices":[],"usage":{"prompt_tokens":7,"completion_tokens":5}}`)
		put(52, "[DONE]")
		q := exact(t, w)
		if !q.Success || q.Frames != 5 || q.Output.N != 5 || q.Prompt.N != 7 || q.Text != "abcde" {
			t.Errorf("%q: %+v", form, q)
		}
		if i == 0 {
			first = q
		}
		if msOf(q.TTFTNS) != msOf(first.TTFTNS) || !nearAll(msList(q.Gaps), msList(first.Gaps)) || msOf(q.LastNS) != msOf(first.LastNS) {
			t.Errorf("%q: other figures than with LF: %+v", form, q)
		}
	}
}

// P005: CR and LF of one line end in two reads; two data lines of one event.
func TestP005_SplitLineEnd(t *testing.T) {
	q := exact(t, wireOf("completions", 1).at(1, "data: {\"choices\":[{\"index\":0,\r").at(2, "\ndata: \"text\":\"q\"}]}\r\n\r").at(3, "\n").done(4))
	if !q.Success || q.Frames != 1 || q.Text != "q" || q.Malformed != 0 {
		t.Errorf("%+v", q)
	}
}

// P007: a line of 200 KiB.
func TestP007_LongLine(t *testing.T) {
	long := strings.Repeat("a", 200<<10)
	body := sse(`{"choices":[{"index":0,"text":"` + long + `"}]}`)
	w := wireOf("completions", 3).token(10, "x").at(20, body[:64<<10]).at(21, body[64<<10:128<<10]).at(22, body[128<<10:]).token(30, "y").usage(31, 1, 3).done(32)
	q := exact(t, w)
	if !q.Success || q.Frames != 3 || len(q.Text) != 200<<10+2 || !nearAll(msList(q.Gaps), []float64{12, 8}) {
		t.Errorf("success %v, %d frames, %d bytes, gaps %v", q.Success, q.Frames, len(q.Text), q.Gaps)
	}
	for _, name := range []string{"vllm:openai", "sglang:sglang-oai"} {
		if o := client(t, name, w); len(o.ITL) != 2 {
			t.Errorf("%s: %d samples", name, len(o.ITL))
		}
	}
}

// P009: comments are keep-alives, never tokens.
func TestP009_Comments(t *testing.T) {
	w := wireOf("completions", 2).at(0, ":\n\n").at(100, ":\n\n").at(200, ":\n\n").token(300, "a").at(310, ": ping - 2030-01-01\n\n").token(320, "b").usage(321, 1, 2).done(322)
	q := exact(t, w)
	if !q.Success || msOf(q.TTFTNS) != 300 || !nearAll(msList(q.Gaps), []float64{20}) || q.Output.N != 2 || q.Keepalives != 4 || q.Malformed != 0 {
		t.Errorf("%+v", q)
	}
	opt := august()
	opt.Version = November // its client keeps the tokens; August's loses them
	if o := reading(t, "vllm:openai", opt, w).Requests[0]; !o.Success || len(o.ITL) != 1 {
		t.Errorf("vllm 0.33: %+v", o)
	}
}

// P012: events with empty data are heartbeats.
func TestP012_EmptyData(t *testing.T) {
	q := exact(t, wireOf("completions", 1).at(50, "data:\n\n").at(100, "data: \n\n").token(200, "a").done(201))
	if !q.Success || msOf(q.TTFTNS) != 200 || q.Heartbeats != 2 || q.Malformed != 0 || q.Frames != 1 {
		t.Errorf("%+v", q)
	}
}

// P014: bare JSON objects, several a read and cut anywhere, on the native
// endpoint; on an event-stream one they are a clear failure.
func TestP014_BareObjects(t *testing.T) {
	w := wireOf("generate", 3).at(10, `{"text":"a"}{"text":"ab"}`).at(20, `{"text":"ab`).at(30, `c"}`)
	q := exact(t, w)
	if !q.Success || q.Frames != 3 || q.Text != "abc" || !nearAll(msList(q.Gaps), []float64{0, 20}) {
		t.Errorf("%+v", q)
	}
	w.q.Endpoint = "completions"
	if q := exact(t, w); q.Success || q.ErrorClass != "not_event_stream" || !strings.Contains(q.ErrorText, "expected an event stream") {
		t.Errorf("%+v", q)
	}
}

// P015: an error event glued to half an event.
func TestP015_GluedError(t *testing.T) {
	q := exact(t, wireOf("completions", 5).at(10, "data: {\"choices\":[{\"index\":0,\"te\ndata: {\"error\":{\"message\":\"upstream read failed\"}}\n\n").end(11, "cut"))
	if q.Success || q.Frames != 0 || q.Malformed != 1 {
		t.Errorf("%+v", q)
	}
	w := wireOf("completions", 5).at(10, "data: {\"choices\":[{\"index\":0,\"te\ndata: {\"error\":{\"message\":\"upstream read failed\"}}\n\n")
	q = exact(t, w)
	if q.ErrorClass != "malformed_event" || !strings.Contains(q.ErrorText, "at byte 0") || !strings.Contains(q.ErrorText, "upstream read failed") || !strings.Contains(q.ErrorText, `"te`) {
		t.Errorf("%+v", q)
	}
	long := strings.Repeat("z", 5000)
	if q = exact(t, wireOf("completions", 5).json(1, long)); len(q.ErrorText) > 300 {
		t.Errorf("an error of %d bytes", len(q.ErrorText))
	}
}

// P017: byte order mark, [DONE] without a line end, an event that the end cuts
// off.
func TestP017_Edges(t *testing.T) {
	w := wireOf("completions", 2).at(5, "\xEF\xBB\xBF"+sse(`{"choices":[{"text":"a"}]}`)).token(10, "b").at(11, "data: [DONE]")
	if q := exact(t, w); !q.Success || q.Frames != 2 || q.Unterminated != 0 {
		t.Errorf("%+v", q)
	}
	w = wireOf("completions", 2).token(10, "a").usage(11, 1, 1).at(12, `data: {"choices":[{"text":"b"}]}`)
	if q := exact(t, w); q.Unterminated != 1 || q.Frames != 1 || q.Text != "a" {
		t.Errorf("%+v", q)
	}
}

// P019: a first frame with empty choices is no token for anybody.
func TestP019_EmptyChoices(t *testing.T) {
	w := wireOf("completions", 2).json(50, `{"choices":[],"prompt_filter_results":[]}`).token(400, "a").token(420, "b").usage(421, 1, 2).done(422)
	q := exact(t, w)
	if !q.Success || msOf(q.TTFTNS) != 400 || !nearAll(msList(q.Gaps), []float64{20}) {
		t.Errorf("%+v", q)
	}
	o := client(t, "vllm:openai", w)
	wantMS(t, "vllm TTFT", o.TTFT*1000, 400)
	chat := wireOf("chat", 2).json(50, `{"choices":[]}`).delta(400, `{"content":"a"}`).delta(420, `{"content":"b"}`).usage(421, 1, 2).done(422)
	wantMS(t, "sglang TTFT", client(t, "sglang:sglang-oai-chat", chat).TTFT*1000, 400)
}

// P020: usage on each content frame does not make it the last one.
func TestP020_UsageEverywhere(t *testing.T) {
	w := wireOf("completions", 4)
	for i, s := range []string{"a", "b", "c", "d"} {
		w.json(10*float64(i+1), `{"choices":[{"text":"`+s+`"}],"usage":{"completion_tokens":`+string(rune('1'+i))+`}}`)
	}
	q := exact(t, w.done(41))
	if !q.Success || q.Frames != 4 || q.Output.N != 4 || q.OutputSource != "usage" || q.Text != "abcd" || len(q.FrameTokens) != 4 {
		t.Errorf("%+v", q)
	}
}

// P023: a clean close without any terminal marker is a truncated stream.
func TestP023_Truncated(t *testing.T) {
	w := wireOf("completions", 50)
	for i := range 5 {
		w.token(10*float64(i+1), "x")
	}
	r := reading(t, "exact", august(), w)
	q := r.Exact[0]
	if q.Success || q.ErrorClass != "truncated_stream" || q.Frames != 5 || r.ExactM.Failed != 1 || r.ExactM.TTFT != nil {
		t.Errorf("%+v %+v", q, r.ExactM)
	}
	running := wireOf("completions", 50).json(10, `{"choices":[{"text":"a"}],"usage":{"completion_tokens":1}}`).json(20, `{"choices":[{"text":"b"}],"usage":{"completion_tokens":2}}`)
	if q := exact(t, running); q.ErrorClass != "truncated_stream" {
		t.Errorf("running usage is no end: %+v", q)
	}
}

// P025: time behind [DONE] belongs to nobody.
func TestP025_OpenBehindDone(t *testing.T) {
	w := wireOf("completions", 2).token(100, "a").token(110, "b")
	w.usage(111, 1, 2).done(112).end(30_000, "cancelled")
	q := exact(t, w)
	if !q.Success || msOf(q.LastNS) != 110 || msOf(q.DoneNS) != 112 {
		t.Errorf("%+v", q)
	}
	chat := wireOf("chat", 2).delta(100, `{"content":"a"}`).delta(110, `{"content":"b"}`).usage(111, 1, 2).done(112).end(112, "eof")
	opt := august()
	opt.Version = November
	wantMS(t, "vllm E2EL", reading(t, "vllm:openai-chat", opt, chat).Requests[0].Latency*1000, 110)
	wantMS(t, "sglang E2E", client(t, "sglang:sglang-oai-chat", chat).Latency*1000, 112)
}

// P026: an error object in a stream of 200.
func TestP026_ErrorInStream(t *testing.T) {
	w := wireOf("completions", 5).token(10, "a").token(20, "b").json(30, `{"error":{"message":"cuda oom","type":"server_error","code":500}}`).done(31)
	r := reading(t, "exact", august(), w)
	q := r.Exact[0]
	if q.Success || q.ErrorClass != "server_error" || !strings.Contains(q.ErrorText, "cuda oom") || !strings.Contains(q.ErrorText, "server_error") || q.Frames != 2 || r.ExactM.Completed != 0 {
		t.Errorf("%+v", q)
	}
	v := reading(t, "vllm:openai", august(), w)
	if !v.Requests[0].Success {
		t.Errorf("vllm ignores the object: %+v", v.Requests[0])
	}
	notes := Disagreements(r, v)
	if len(notes) != 1 || !strings.Contains(notes[0], "vllm:openai") || !strings.Contains(notes[0], "cuda oom") {
		t.Errorf("disagreements %q", notes)
	}
}

// P029: a JSON body where a stream was asked for.
func TestP029_JSONBody(t *testing.T) {
	q := exact(t, wireOf("completions", 5).at(10, `{"error":{"message":"model loading"}}`))
	if q.Success || q.ErrorClass != "not_event_stream" || !strings.Contains(q.ErrorText, "model loading") || !strings.Contains(q.ErrorText, "application/json") {
		t.Errorf("%+v", q)
	}
	q = exact(t, wireOf("completions", 5).at(10, `{"choices":[{"text":"whole answer","finish_reason":"stop"}],"usage":{"completion_tokens":5}}`))
	if q.Success || q.TTFTNS != nil || q.ErrorClass != "not_event_stream" {
		t.Errorf("%+v", q)
	}
	page := exact(t, wireOf("completions", 5).at(10, "<html>\n<body>moved</body>\n</html>"))
	if page.ErrorClass != "not_event_stream" || !strings.Contains(page.ErrorText, "HTML") {
		t.Errorf("%+v", page)
	}
}

// P031: almost empty answers fail one request, in every reading, without a
// panic.
func TestP031_EmptyAnswers(t *testing.T) {
	var wires []*wire
	for _, body := range []string{`{}`, `{"choices":[]}`, `{"choices":null}`, `{"choices":[null]}`, `{"choices":[{}]}`, `{"choices":[{"delta":null}]}`, `[]`} {
		wires = append(wires, wireOf("chat", 5).at(1, body), wireOf("chat", 5).json(1, body).done(2))
	}
	r := reading(t, "exact", august(), wires...)
	for i, q := range r.Exact {
		if q.Success || q.ErrorClass == "" || q.TTFTNS != nil {
			t.Errorf("%d %s: %+v", i, wires[i].q.Reads[0].B64, q)
		}
	}
	if r.ExactM.Failed != 14 || r.ExactM.TTFT != nil {
		t.Errorf("%+v", r.ExactM)
	}
	for _, name := range SemanticsNames() {
		for _, v := range Versions() {
			opt := august()
			if opt.Version = v; name == "vllm:openai-responses" {
				opt.Version = November
			}
			reading(t, name, opt, wires...)
			opt.DisableStream = true
			reading(t, name, opt, wires...)
		}
	}
}

// A request without an answer has its class in every reading.
func TestEndings(t *testing.T) {
	none := wireOf("chat", 5).end(10, "cut")
	none.q.Status = nil
	busy := wireOf("chat", 5).at(5, `{"error":"boom"}`).end(6, "http_error")
	code := 503
	busy.q.Status, busy.q.Reason = &code, "Service Unavailable"
	slow := wireOf("chat", 5).delta(5, `{"content":"a"}`).end(9000, "timeout")
	gone := wireOf("chat", 5).delta(5, `{"content":"a"}`).end(50, "cancelled")
	cut := wireOf("chat", 5).delta(5, `{"content":"a"}`).end(50, "cut")
	want := map[string][]string{
		"vllm:openai-chat":       {"ServerDisconnectedError", "http_status", "TimeoutError", "CancelledError", "ClientPayloadError"},
		"sglang:sglang-oai-chat": {"ServerDisconnectedError", "http_status", "TimeoutError", "CancelledError", "ClientPayloadError"},
		"exact":                  {"no_response", "http_status", "timeout", "cancelled", "connection_cut"},
	}
	for name, classes := range want {
		r := reading(t, name, august(), none, busy, slow, gone, cut)
		for i, class := range classes {
			got := ""
			if name == "exact" {
				got = r.Exact[i].ErrorClass
			} else {
				got = r.Requests[i].ErrorClass
			}
			if got != class {
				t.Errorf("%s request %d: %q, want %q", name, i, got, class)
			}
		}
	}
	// Where the client says why, exact takes its word; what stands in a refusal or an error frame is better.
	none.q.ErrorClass, none.q.Error = "refused", "connect: connection refused\x1b[31m"
	busy.q.ErrorClass, busy.q.Error = "http_status", "status 503"
	slow.q.ErrorClass, gone.q.ErrorClass, cut.q.ErrorClass = "stall", "deadline", "reset"
	r := reading(t, "exact", august(), none, busy, slow, gone, cut)
	for i, class := range []string{"refused", "http_status", "stall", "deadline", "reset"} {
		if got := r.Exact[i].ErrorClass; got != class {
			t.Errorf("request %d: %q, want %q", i, got, class)
		}
	}
	if got := r.Exact[0].ErrorText; got != "connect: connection refused [31m" {
		t.Errorf("text %q", got)
	}
	if got := r.Exact[1].ErrorText; got != `503 Service Unavailable: {"error":"boom"}` {
		t.Errorf("text %q", got)
	}
	open := bench.Request{Kind: bench.KindRequest, ID: "r0", Endpoint: "chat", Status: none.q.Status}
	if f := ending(&open); !f.bad() {
		t.Error("a request without an end is a success")
	}
}
