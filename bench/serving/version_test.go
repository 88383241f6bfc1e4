package serving

import (
	"bytes"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"

	"lathe/bench"
)

// Each version's row differs from the one before it, and an unknown one is
// refused.
func TestSwitchTable(t *testing.T) {
	if got := Versions(); !slices.Equal(got, []Version{August, November}) || got[len(got)-1] != Latest {
		t.Errorf("versions %v, latest %v", got, Latest)
	}
	a, _ := SwitchesOf(August)
	n, _ := SwitchesOf(November)
	va, vn := reflect.ValueOf(a), reflect.ValueOf(n)
	for i := range va.NumField() {
		if va.Field(i).Bool() == vn.Field(i).Bool() {
			t.Errorf("switch %s does not tell the releases apart", va.Type().Field(i).Name)
		}
	}
	if _, ok := SwitchesOf("2026-10"); ok {
		t.Error("an unknown version has rules")
	}
	if _, err := NewReading(Semantics{Harness: Exact}, Options{Version: "2026-10"}); err == nil {
		t.Error("an unknown version is read")
	}
	if _, err := NewReading(Semantics{Harness: Exact}, Options{Version: Latest, Percentiles: []float64{101}}); err == nil {
		t.Error("percentile 101 is taken")
	}
}

func TestParseSemantics(t *testing.T) {
	for _, name := range SemanticsNames() {
		if s, err := ParseSemantics(name); err != nil || s.String() != name {
			t.Errorf("%s: %v, %v", name, s, err)
		}
	}
	for _, name := range []string{"", "vllm", "vllm:", "sglang:openai", "exact:x", "vllm:openai "} {
		if s, err := ParseSemantics(name); err == nil {
			t.Errorf("%q is taken for %v", name, s)
		}
	}
	want := map[string]string{"completions": "[vllm:openai sglang:sglang-oai exact]", "chat": "[vllm:openai-chat sglang:sglang-oai-chat exact]",
		"generate": "[sglang:sglang exact]", "responses": "[vllm:openai-responses exact]", "embeddings": "[exact]"}
	for endpoint, names := range want {
		if got := fmt.Sprint(Fitting(endpoint)); got != names {
			t.Errorf("%s: %s, want %s", endpoint, got, names)
		}
	}
}

func november() Options {
	o := august()
	o.Version = November
	return o
}

// vLLM 0.33 on /v1/responses: delta events are tokens, a terminal event has the
// counts.
func TestResponses(t *testing.T) {
	event := func(kind, rest string) string {
		return "event: " + kind + "\ndata: {\"type\":\"" + kind + "\"" + rest + "}\n\n"
	}
	build := func(last string) *wire {
		return wireOf("responses", 9).at(5, event("response.created", "")).at(20, event("response.reasoning_text.delta", `,"delta":"hm"`)).
			at(30, event("response.output_text.delta", `,"delta":"a"`)).at(40, event("response.output_text.delta", `,"delta":"b"`)).at(50, last)
	}
	done := event("response.completed", `,"response":{"usage":{"output_tokens":7,"input_tokens":11}}`)
	o := reading(t, "vllm:openai-responses", november(), build(done)).Requests[0]
	if !o.Success || o.Text != "ab" || o.Output.N != 7 || o.Prompt.N != 11 || !nearAll(itlMS(o), []float64{10, 10}) {
		t.Errorf("%+v", o)
	}
	wantMS(t, "TTFT", o.TTFT*1000, 20)
	wantMS(t, "E2EL", o.Latency*1000, 40)
	// Exactly: the same tokens, of which the reasoning is the first and no visible text.
	q := reading(t, "exact", november(), build(done)).Exact[0]
	if !q.Success || q.Text != "ab" || q.Output != (Count{7, true}) || q.Prompt != (Count{11, true}) || q.Frames != 3 || q.FinishReason != "completed" {
		t.Errorf("exact: %+v", q)
	}
	wantMS(t, "exact TTFT", float64(*q.TTFTNS)/1e6, 20)
	wantMS(t, "exact first content", float64(*q.FirstContentNS)/1e6, 30)
	for last, class := range map[string]string{": end\n\n": "truncated_stream", event("response.failed", `,"response":{"error":{"message":"no"}}`): "server_error", "data: {\"type\":\"error\",\"message\":\"x\"}\n\n": "server_error"} {
		if q := reading(t, "exact", november(), build(last)).Exact[0]; q.Success || q.ErrorClass != class {
			t.Errorf("exact, %s: %q", last, q.ErrorClass)
		}
	}
	cached := strings.Replace(done, `"input_tokens":11`, `"input_tokens":11,"input_tokens_details":{"cached_tokens":4}`, 1)
	if q := reading(t, "exact", november(), build(cached)).Exact[0]; q.Cached != (Count{4, true}) {
		t.Errorf("cached: %+v", q.Cached)
	}
	for name, last := range map[string]string{"no terminal event": ": end\n\n", "failed": event("response.failed", `,"response":{"error":{"message":"no"}}`), "error": event("error", `,"message":"x"`)} {
		if o := reading(t, "vllm:openai-responses", november(), build(last)).Requests[0]; o.Success {
			t.Errorf("%s: %+v", name, o)
		}
	}
	if o := reading(t, "vllm:openai-responses", november(), wireOf("responses", 9).at(5, done)).Requests[0]; o.Success {
		t.Errorf("no token: %+v", o)
	}
	if _, err := NewReading(Semantics{VLLM, "openai-responses", Responses}, august()); err == nil {
		t.Error("August has no responses backend")
	}
}

// A reading of frames that the backend never gets says so.
func TestMisfit(t *testing.T) {
	w := wireOf("chat", 1).delta(1, `{"content":"a"}`).done(2)
	if r := reading(t, "vllm:openai", august(), w); len(r.Warnings) != 1 || !strings.Contains(r.Warnings[0], "1 of 1 requests") {
		t.Errorf("%q", r.Warnings)
	}
	if r := reading(t, "vllm:openai-chat", august(), w); len(r.Warnings) != 0 {
		t.Errorf("%q", r.Warnings)
	}
}

// What the server says of itself, and the time in the client's queue, are read
// since November.
func TestServerMetricsAndQueue(t *testing.T) {
	w := wireOf("completions", 2).token(10, "a").token(20, "b").
		json(21, `{"choices":[],"usage":{"completion_tokens":2},"metrics":{"queue_time_ms":2.5,"time_to_first_token_ms":"x"}}`).done(22)
	w.q.ScheduledNS, w.q.SentNS = stamp(1), stamp(4)
	for i := range w.q.Reads {
		w.q.Reads[i].TNS += stamp(4)
	}
	r := reading(t, "vllm:openai", november(), w)
	o := r.Requests[0]
	if o.ServerQueue == nil || *o.ServerQueue != 0.0025 || o.ServerTTFT != nil {
		t.Errorf("%+v", o)
	}
	wantMS(t, "queue", r.VLLM.QueueTime.Mean, 3)
	wantMS(t, "E2EL with queue", r.VLLM.E2ELWithQueue.Mean, 23)
	if a := reading(t, "vllm:openai", august(), w); a.Requests[0].ServerQueue != nil || a.VLLM.QueueTime.Mean != 0 {
		t.Errorf("August: %+v", a.VLLM)
	}
}

// Requests come in the order of dispatch: by number, else by schedule, whatever
// the order in which they ended.
func TestDispatchOrder(t *testing.T) {
	for _, tt := range []struct {
		ids   []string
		sched []int64
		want  string
	}{
		{[]string{"r10", "r9", "r2"}, []int64{0, 0, 0}, "[r2 r9 r10]"},
		{[]string{"b", "a", "c"}, []int64{30, 20, 20}, "[a c b]"},
		{[]string{"r1", "x0"}, []int64{5, 4}, "[x0 r1]"},
	} {
		g, err := NewReading(Semantics{VLLM, "openai", Completions}, august())
		if err != nil {
			t.Fatal(err)
		}
		for i, id := range tt.ids {
			g.Request(&bench.Request{ID: id, ScheduledNS: tt.sched[i]})
		}
		var got []string
		for _, o := range g.Result(1e9).Requests {
			got = append(got, o.ID)
		}
		if fmt.Sprint(got) != tt.want {
			t.Errorf("%v: %v, want %s", tt.ids, got, tt.want)
		}
	}
}

// A server's absurd count ends one request, not the memory.
func TestAbsurdCount(t *testing.T) {
	w := wireOf("generate", 5).json(1, `{"text":"a","meta_info":{"completion_tokens":1}}`).json(2, `{"text":"ab","meta_info":{"completion_tokens":900000000000}}`).done(3)
	if o := client(t, "sglang:sglang", w); o.Success {
		t.Errorf("%+v", o.ErrorClass)
	}
	exact(t, w)
}

// SGLang's client gives up on a line above 20 MiB; what is longer than a frame
// may be ends one request in every reading.
func TestEndlessLine(t *testing.T) {
	g := make([]*Reading, 0, 3)
	for _, name := range []string{"vllm:openai", "sglang:sglang-oai", "exact"} {
		s, err := ParseSemantics(name)
		if err != nil {
			t.Fatal(err)
		}
		one, err := NewReading(s, august())
		if err != nil {
			t.Fatal(err)
		}
		g = append(g, one)
	}
	chunk := bytes.Repeat([]byte("x"), 1<<20)
	for i := range 66 {
		for _, one := range g {
			one.Reads(&bench.Reads{ID: "r0", Reads: []bench.Read{{TNS: int64(i), B64: chunk}}})
		}
	}
	w := wireOf("completions", 5).end(100, "eof")
	for _, one := range g {
		one.Request(w.request(0))
		r := one.Result(1e9)
		if r.Exact != nil && (r.Exact[0].Success || !strings.Contains(r.Exact[0].ErrorText, "expected an event stream")) || r.Exact == nil && r.Requests[0].Success {
			t.Errorf("%s: %+v", r.Semantics, r)
		}
	}
}

// A usage that says nothing of the prompt hides meta_info; a whole answer whose
// usage is null fails behind its text, as a frame's does not.
func TestSGLangUsageDecides(t *testing.T) {
	w := wireOf("generate", 1).json(5, `{"text":"a","meta_info":{"completion_tokens":1,"prompt_tokens":20}}`).json(6, `{"usage":{"completion_tokens":3},"meta_info":{"prompt_tokens":77}}`)
	if o := reading(t, "sglang:sglang", november(), w).Requests[0]; !o.Success || o.Prompt.N != 20 {
		t.Errorf("success %v, prompt of %d tokens, want 20", o.Success, o.Prompt.N)
	}
	for _, opt := range []Options{august(), november()} {
		opt.DisableStream = true
		w := wireOf("chat", 2).at(5, `{"choices":[{"message":{"content":"ab"}}],"usage":null}`)
		ok := wireOf("chat", 2).at(5, `{"choices":[{"message":{"content":"ab"}}]}`)
		r := reading(t, "sglang:sglang-oai-chat", opt, w, ok)
		if o := r.Requests[0]; o.Success || o.ErrorClass != attributeError || o.Text != "ab" || o.TTFT == 0 || o.Latency != 0 {
			t.Errorf("%s: %+v", opt.Version, o)
		}
		if o := r.Requests[1]; !o.Success || o.Output.N != 2 {
			t.Errorf("%s, without usage: %+v", opt.Version, o)
		}
		opt.DisableStream = false
		if o := reading(t, "sglang:sglang-oai-chat", opt, wireOf("chat", 1).json(5, `{"choices":[{"delta":{"content":"a"}}],"usage":null}`)).Requests[0]; !o.Success {
			t.Errorf("%s, streamed: %+v", opt.Version, o)
		}
	}
}
