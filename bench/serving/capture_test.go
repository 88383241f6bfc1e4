package serving

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math"
	"testing"
	"unicode/utf8"

	"lathe/bench"
)

// wire is a scripted response; times are milliseconds after the send.
type wire struct {
	q bench.Request
}

func wireOf(endpoint string, requested int) *wire {
	ok := 200
	return &wire{bench.Request{
		Kind: bench.KindRequest, ID: "r0", Endpoint: endpoint, PromptLen: 5, RequestedOutputLen: requested, Status: &ok, Reason: "OK",
	}}
}

func stamp(ms float64) int64 { return int64(math.Round(ms * 1e6)) }

// at adds one read.
func (w *wire) at(ms float64, text string) *wire {
	w.q.Reads = append(w.q.Reads, bench.Read{TNS: w.q.SentNS + stamp(ms), B64: []byte(text)})
	return w
}

func sse(data string) string { return "data: " + data + "\n\n" }

// json adds one event.
func (w *wire) json(ms float64, data string) *wire { return w.at(ms, sse(data)) }

func quoted(s string) string {
	b, _ := json.Marshal(s)
	return string(b)
}

// token adds an event of a completions stream with text.
func (w *wire) token(ms float64, text string) *wire {
	return w.json(ms, `{"choices":[{"index":0,"text":`+quoted(text)+`}]}`)
}

// delta adds an event of a chat stream.
func (w *wire) delta(ms float64, delta string) *wire {
	return w.json(ms, `{"choices":[{"index":0,"delta":`+delta+`}]}`)
}

func (w *wire) usage(ms float64, prompt, completion int) *wire {
	return w.json(ms, fmt.Sprintf(`{"choices":[],"usage":{"prompt_tokens":%d,"completion_tokens":%d}}`, prompt, completion))
}

func (w *wire) done(ms float64) *wire { return w.json(ms, "[DONE]") }

func (w *wire) end(ms float64, kind string) *wire {
	w.q.End = &bench.RequestEnd{Kind: kind, TNS: w.q.SentNS + stamp(ms)}
	return w
}

// eof ends the body 0.1 ms after its last read, where no end was set.
func (w *wire) request(i int) *bench.Request {
	q := w.q
	q.ID = fmt.Sprintf("r%d", i)
	if q.End == nil {
		last := q.SentNS
		if n := len(q.Reads); n > 0 {
			last = q.Reads[n-1].TNS
		}
		q.End = &bench.RequestEnd{Kind: "eof", TNS: last + 100_000}
	}
	return &q
}

// captureOf is the bytes of a capture of a second with these requests.
func captureOf(t testing.TB, wires ...*wire) []byte {
	t.Helper()
	var b bytes.Buffer
	put := func(r any) {
		line, err := json.Marshal(r)
		if err != nil {
			t.Fatal(err)
		}
		b.Write(append(line, '\n'))
	}
	put(&bench.Run{Kind: bench.KindRun, Schema: bench.Schema, Command: "bench serve", Argv: []string{}, Options: json.RawMessage("{}"), Warnings: []string{}})
	for i, w := range wires {
		put(w.request(i))
	}
	put(&bench.End{Kind: bench.KindEnd, DurationNS: 1e9, Reason: bench.EndCompleted})
	return b.Bytes()
}

func august() Options {
	return Options{Version: August, Count: utf8.RuneCountInString, Percentiles: []float64{50, 99}}
}

func reading(t testing.TB, name string, opt Options, wires ...*wire) *Result {
	t.Helper()
	sem, err := ParseSemantics(name)
	if err != nil {
		t.Fatal(err)
	}
	_, results, err := Read(bench.NewReader(bytes.NewReader(captureOf(t, wires...)), "capture"), []Semantics{sem}, opt)
	if err != nil {
		t.Fatal(err)
	}
	return results[0]
}

// exact is the exact reading of one request.
func exact(t testing.TB, w *wire) ExactRequest {
	t.Helper()
	return reading(t, "exact", august(), w).Exact[0]
}

// client is a harness's reading of one request; times in its seconds.
func client(t testing.TB, name string, w *wire) Outcome {
	t.Helper()
	return reading(t, name, august(), w).Requests[0]
}

func msOf(ns *int64) float64 {
	if ns == nil {
		return -1
	}
	return float64(*ns) / 1e6
}

func msList(ns []int64) []float64 {
	out := []float64{}
	for _, x := range ns {
		out = append(out, float64(x)/1e6)
	}
	return out
}

func near(a, b float64) bool { return math.Abs(a-b) <= 1e-9*max(1, math.Abs(a), math.Abs(b)) }

func nearAll(a, b []float64) bool {
	if len(a) != len(b) {
		return false
	}
	for i := range a {
		if !near(a[i], b[i]) {
			return false
		}
	}
	return true
}

func wantMS(t *testing.T, what string, got, want float64) {
	t.Helper()
	if !near(got, want) {
		t.Errorf("%s: %v ms, want %v", what, got, want)
	}
}

func tpotMS(q ExactRequest) float64 {
	if q.TPOTNS == nil {
		return -1
	}
	return *q.TPOTNS / 1e6
}
