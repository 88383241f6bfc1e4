package load

import (
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"lathe/bench"
)

// P101: five runs of one client are five captures of their own: what the first
// left behind (connections) shows as reuse and nothing else, and the stall of
// one is in its own times alone.
func TestP101_RunsAreTheirOwn(t *testing.T) {
	var current atomic.Int64
	stall := []time.Duration{0, 0, 0, 150 * time.Millisecond, 300 * time.Millisecond}
	srv := serve(t, func(c net.Conn, r *http.Request, n int64) bool {
		time.Sleep(stall[current.Load()])
		return tokens(2, 0)(c, r, n)
	})
	c := testClient(t, srv.url(), nil)
	for i := range stall {
		current.Store(int64(i))
		res, got := run(t, c, Plan{Count: 4, Concurrency: 4})
		if res.Completed != 4 || res.Started != 4 || len(got.by) != 4 {
			t.Fatalf("run %d: %+v", i, res)
		}
		for _, q := range got.by {
			first := time.Duration(q.Reads[0].TNS - q.SentNS)
			if first < stall[i] {
				t.Errorf("run %d: first read %v after the send, the server stalled %v", i, first, stall[i])
			}
			if q.ScheduledNS < res.StartNS {
				t.Errorf("run %d: %+v", i, q)
			}
		}
		// How many connections a quick run opens is up to the answers' speed, but the
		// pool outlives the runs.
		if n := res.Connected.Opened; n > 4 {
			t.Errorf("run %d: %d connections opened for 4 at a time", i, n)
		}
	}
}

// P102: bodies of 400 KB go out whole beside streams that are being read.
func TestP102_LargeBodies(t *testing.T) {
	onBoth(t, func(t *testing.T, portable bool) {
		prompt := strings.Repeat("word ", 80<<10)
		srv := serve(t, func(c net.Conn, r *http.Request, n int64) bool {
			b, _ := io.ReadAll(r.Body)
			if len(b) < len(prompt) || int64(len(b)) != r.ContentLength {
				return false
			}
			return tokens(16, time.Millisecond)(c, r, n)
		})
		v := VLLM{Backend: "openai", Model: "m"}
		res, got := run(t, clientOn(t, srv.url(), portable, nil), Plan{Count: 128, Concurrency: 64, Job: func(i int) (Job, error) {
			call, err := v.Call(Row{Text: prompt, OutputLen: 16})
			return Job{ID: fmt.Sprint("r", i), Call: call}, err
		}})
		if res.Completed != 128 {
			t.Errorf("%v", res.Classes)
		}
		for _, q := range got.by {
			if strings.Count(body(q), "data: ") != 17 {
				t.Errorf("%s: %d frames", q.ID, strings.Count(body(q), "data: "))
			}
		}
	})
}

// P110: a server that stops accepting for a while only delays: its backlog holds
// the connections, and nothing fails.
func TestP110_LateAccept(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	srv := &server{Listener: l, conns: map[net.Conn]bool{}}
	t.Cleanup(srv.stop)
	time.AfterFunc(150*time.Millisecond, func() { go srv.accept(tokens(3, time.Millisecond)) })
	res, _ := run(t, testClient(t, "http://"+l.Addr().String(), nil), Plan{Count: 200})
	if res.Completed != 200 {
		t.Errorf("%+v", res)
	}
}

// Thousands of streams in one process.
func TestThousandStreams(t *testing.T) {
	const n = 1500
	if _, warnings := Prepare(0, n); len(warnings) > 0 {
		t.Log(warnings)
	}
	var here atomic.Int64
	all := make(chan bool)
	srv := serve(t, func(c net.Conn, r *http.Request, k int64) bool {
		if here.Add(1) == n {
			close(all)
		}
		<-all
		return tokens(3, 0)(c, r, k)
	})
	res, got := run(t, testClient(t, srv.url(), func(o *Options) { o.Loops = 2 }), Plan{Count: n})
	if res.Completed != n || len(got.by) != n || res.Connected.Opened != n {
		t.Errorf("%+v", res)
	}
	for _, q := range got.by {
		if strings.Count(body(q), "data: ") != 4 {
			t.Errorf("%s: %q", q.ID, body(q))
		}
	}
}

// The rounds of a conversation follow each other under one permit.
func TestFollow(t *testing.T) {
	onBoth(t, func(t *testing.T, portable bool) {
		srv := serve(t, tokens(2, time.Millisecond))
		var round func(i, k int) Job
		round = func(i, k int) Job {
			j, _ := jobs(i)
			j.ID = fmt.Sprintf("c%d.%d", i, k)
			j.Follow = func(b []byte) (Job, bool) {
				if !strings.HasSuffix(string(b), doneFrame) || k == 2 {
					return Job{}, false
				}
				return round(i, k+1), true
			}
			return j
		}
		res, got := run(t, clientOn(t, srv.url(), portable, nil), Plan{Count: 6, Concurrency: 2, Job: func(i int) (Job, error) { return round(i, 0), nil }})
		if res.Completed != 18 || srv.peak.Load() > 2 || len(got.by) != 18 {
			t.Errorf("completed %d, peak %d, records %d", res.Completed, srv.peak.Load(), len(got.by))
		}
		for i := range 6 {
			for k := 1; k < 3; k++ {
				before, q := got.by[fmt.Sprintf("c%d.%d", i, k-1)], got.by[fmt.Sprintf("c%d.%d", i, k)]
				if q.SentNS < before.End.TNS {
					t.Errorf("%s was sent before %s had ended", q.ID, before.ID)
				}
			}
		}
	})
}

// Two plans on one client at once are refused; one after the other share the
// pool, as a warm-up does.
func TestPlansShareThePool(t *testing.T) {
	srv := serve(t, tokens(1, 0))
	c := testClient(t, srv.url(), nil)
	warm, err := c.Run(t.Context(), Plan{Count: 3, Job: jobs, Schedule: atOnce(3), Concurrency: 1})
	if err != nil || warm.Completed != 3 {
		t.Fatalf("%+v %v", warm, err)
	}
	res, _ := run(t, c, Plan{Count: 3, Concurrency: 1})
	if res.Completed != 3 || srv.accepts.Load() != 1 {
		t.Errorf("accepts %d", srv.accepts.Load())
	}
	for _, p := range []Plan{{}, {Count: 1}, {Count: 1, Job: jobs}, {Count: 2, Job: jobs, Schedule: atOnce(1)}, {Count: 1, Job: jobs, Schedule: atOnce(1), Concurrency: -1}} {
		if _, err := c.Run(t.Context(), p); err == nil {
			t.Errorf("%+v was taken", p)
		}
	}
}

// A compressed capture holds the same.
func TestCompressedCapture(t *testing.T) {
	srv := serve(t, tokens(3, time.Millisecond))
	path := t.TempDir() + "/c.jsonl.zst"
	w, err := bench.OpenWriter(path, bench.New)
	if err != nil {
		t.Fatal(err)
	}
	if err := w.Write(&bench.Run{Kind: bench.KindRun, Schema: bench.Schema}); err != nil {
		t.Fatal(err)
	}
	if _, err := testClient(t, srv.url(), nil).Run(t.Context(), Plan{Count: 5, Job: jobs, Schedule: atOnce(5), Capture: w}); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	r, err := bench.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	bytes, closed := 0, 0
	for {
		rec, err := r.Next()
		if err == io.EOF {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		switch rec := rec.(type) {
		case *bench.Reads:
			for _, read := range rec.Reads {
				bytes += len(read.B64)
			}
		case *bench.Request:
			closed++
		}
	}
	if want := 5 * len(frame(" t0")+frame(" t1")+frame(" t2")+doneFrame); bytes != want || closed != 5 {
		t.Errorf("%d bytes of %d, %d requests", bytes, want, closed)
	}
}
