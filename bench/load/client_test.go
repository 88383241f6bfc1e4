package load

import (
	"io"
	"net"
	"net/http"
	"runtime"
	"strings"
	"testing"
	"time"
)

// Every frame that was written alone is one read with its bytes, in order, and
// the kernel's stamp lies between the send and ours.
func TestReadsAsTheyCame(t *testing.T) {
	srv := serve(t, tokens(5, 3*time.Millisecond))
	c := testClient(t, srv.url(), nil)
	res, got := run(t, c, Plan{Count: 20})
	if res.Started != 20 || res.Completed != 20 || res.Unsent != 0 || len(res.Classes) != 0 {
		t.Errorf("result %+v", res)
	}
	if len(got.by) != 20 || len(got.extra) != 0 {
		t.Fatalf("%d requests closed, %d left open", len(got.by), len(got.extra))
	}
	want := frame(" t0") + frame(" t1") + frame(" t2") + frame(" t3") + frame(" t4") + doneFrame
	for _, q := range got.by {
		ordered(t, q)
		if body(q) != want {
			t.Errorf("%s: body %q", q.ID, body(q))
		}
		if q.Status == nil || *q.Status != 200 || q.Reason != "OK" || q.End.Kind != "eof" || q.ErrorClass != "" {
			t.Errorf("%s: %+v %+v", q.ID, q, q.End)
		}
	}
	haveStamps(t, got)
	if res.CPUNS <= 0 && runtime.GOOS == "linux" {
		t.Errorf("%d ns of processor time", res.CPUNS)
	}
}

// One read that brings head, chunks and end is one Read; a chunk in three reads
// is three; a read with framing alone is none, and ends the body.
func TestReadBoundaries(t *testing.T) {
	parts := []string{
		streamHead + chunk("data: a\n\n") + chunk("data: b\n\n"),
		"c\r\ndata:", " cde", "fg\n", "\r\n", chunk(doneFrame), lastChunk,
	}
	want := []string{"data: a\n\ndata: b\n\n", "data:", " cde", "fg\n", doneFrame}
	x, rec := receiving()
	var e ending
	over := false
	for i, p := range parts {
		if over {
			t.Fatalf("over before part %d", i)
		}
		e, over = x.received(int64(10+i), int64(100+i), []byte(p), false)
	}
	if !over || e.kind != "eof" || e.class != "" || e.t != 16 || *x.headers != 10 || *x.done != 15 {
		t.Errorf("over %v, ending %+v, headers %d, done %d", over, e, *x.headers, *x.done)
	}
	var reads []string
	at := []int64{10, 11, 12, 13, 15}
	for i, m := range rec.cur.marks {
		reads = append(reads, string(rec.cur.data[m.from:m.to]))
		if m.t != at[i] || m.kernel != at[i]+90 {
			t.Errorf("read %d at %d, kernel %d", i, m.t, m.kernel)
		}
	}
	if strings.Join(reads, "|") != strings.Join(want, "|") {
		t.Errorf("reads %q, want %q", reads, want)
	}
}

// The request as it arrives: one request line, the harness's headers, the body
// whole.
func TestRequestOnTheWire(t *testing.T) {
	seen := make(chan *http.Request, 1)
	srv := serve(t, func(c net.Conn, r *http.Request, n int64) bool {
		seen <- r
		return tokens(1, 0)(c, r, n)
	})
	c := testClient(t, srv.url()+"/base/", nil)
	call, err := VLLM{Backend: "openai-chat", Model: "m", Headers: []Header{{"X-A", "1"}}, BearerToken: "k"}.Call(Row{Text: "hi", OutputLen: 2, RequestID: "bench-0"})
	if err != nil {
		t.Fatal(err)
	}
	run(t, c, Plan{Count: 1, Job: func(int) (Job, error) { return Job{ID: "a", Call: call}, nil }})
	r := <-seen
	b, _ := io.ReadAll(r.Body)
	if r.Method != "POST" || r.RequestURI != "/base/v1/chat/completions" || r.Host != srv.Addr().String() || string(b) != string(call.Body) {
		t.Errorf("%s %s host %s body %s", r.Method, r.RequestURI, r.Host, b)
	}
	for k, v := range map[string]string{"Content-Type": "application/json", "Authorization": "Bearer k", "X-A": "1", "X-Request-Id": "bench-0", "Accept-Encoding": "identity"} {
		if r.Header.Get(k) != v || len(r.Header.Values(k)) != 1 {
			t.Errorf("header %s: %q", k, r.Header.Values(k))
		}
	}
}
