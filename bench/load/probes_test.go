package load

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

// beside is a server that tells probes from the requests of the plan.
func beside(t *testing.T, requests, probes script) *server {
	return serve(t, func(c net.Conn, req *http.Request, n int64) bool {
		if req.URL.Path == "/probe" {
			return probes(c, req, n)
		}
		return requests(c, req, n)
	})
}

func probesOf(pause time.Duration, shared bool) *Probes {
	return &Probes{Call: Call{Endpoint: "completions", Path: "/probe", Stream: true, Body: []byte(`{"prompt": "Hi"}`)}, Pause: pause, Shared: shared, PromptLen: 1}
}

// oneByOne checks what holds of the probes of any run.
func oneByOne(t *testing.T, got captured, pause time.Duration) {
	t.Helper()
	for i, p := range got.probes {
		ordered(t, &p.Request)
		if p.ID != fmt.Sprint("p", i) || p.PromptLen != 1 || p.RequestedOutputLen != 1 || got.by[p.ID] != nil {
			t.Errorf("probe %d: %+v", i, p)
		}
		if i > 0 && p.SentNS < got.probes[i-1].End.TNS+int64(pause) {
			t.Errorf("probe %d was sent %v after the end of the one before", i, time.Duration(p.SentNS-got.probes[i-1].End.TNS))
		}
	}
}

// Probes have a connection of their own, outside the semaphore: requests that
// wait for the third probe do not hold them up. The one that is under way at the
// end is let finish and is not in the duration.
func TestProbesOwnConnection(t *testing.T) {
	onBoth(t, func(t *testing.T, portable bool) {
		const pause = 2 * time.Millisecond
		var probes, answered atomic.Int64
		three, four, all := make(chan struct{}), make(chan struct{}), make(chan struct{})
		quick := tokens(1, 0)
		srv := beside(t, func(c net.Conn, req *http.Request, n int64) bool {
			<-three
			if answered.Add(1) == 2 {
				<-four
				defer close(all)
			}
			return quick(c, req, n)
		}, func(c net.Conn, req *http.Request, n int64) bool {
			switch probes.Add(1) {
			case 3:
				close(three)
			case 4:
				close(four)
				<-all
				time.Sleep(200 * time.Millisecond)
			}
			return quick(c, req, n)
		})
		c := clientOn(t, srv.url(), portable, func(o *Options) { o.Connections = VLLMConnections(1) })
		res, got := run(t, c, Plan{Count: 2, Concurrency: 1, Probes: probesOf(pause, false)})
		if res.Completed != 2 || res.Started != 2 || len(got.by) != 2 || len(got.extra) != 0 {
			t.Errorf("%+v, %d closed", res, len(got.by))
		}
		if len(got.probes) != 4 || srv.accepts.Load() != 2 {
			t.Fatalf("%d probes, %d connections", len(got.probes), srv.accepts.Load())
		}
		oneByOne(t, got, pause)
		for _, p := range got.probes {
			if p.ErrorClass != "" || body(&p.Request) != frame(" t0")+doneFrame {
				t.Errorf("%s: %s %q", p.ID, p.ErrorClass, body(&p.Request))
			}
		}
		if last := got.probes[3].End.TNS; res.EndNS >= last {
			t.Errorf("the duration ends %v behind the last probe", time.Duration(res.EndNS-last))
		}
	})
}

// Probes in the pool of the run wait for its connection with the clock running,
// and the run for the pause behind the last of them.
func TestProbesShared(t *testing.T) {
	onBoth(t, func(t *testing.T, portable bool) {
		const pause = 20 * time.Millisecond
		quick := tokens(1, 5*time.Millisecond)
		srv := beside(t, quick, quick)
		c := clientOn(t, srv.url(), portable, func(o *Options) { o.Connections = VLLMConnections(1) })
		res, got := run(t, c, Plan{Count: 20, Concurrency: 1, Probes: probesOf(pause, true)})
		if res.Completed != 20 || srv.accepts.Load() != 1 || srv.peak.Load() != 1 {
			t.Errorf("%+v, %d connections, %d at a time", res, srv.accepts.Load(), srv.peak.Load())
		}
		if len(got.probes) < 2 {
			t.Fatalf("%d probes", len(got.probes))
		}
		oneByOne(t, got, pause)
		waited := false
		for _, p := range got.probes {
			for _, q := range got.by {
				waited = waited || p.SentNS > q.SentNS && p.SentNS < q.End.TNS && *p.HeadersNS > q.End.TNS
			}
		}
		if !waited {
			t.Error("no probe came while the connection was in use")
		}
		if last := got.probes[len(got.probes)-1].End.TNS; res.EndNS < last+int64(pause) {
			t.Errorf("the duration ends %v behind the last probe", time.Duration(res.EndNS-last))
		}
	})
}

// A probe that fails is kept as it failed, and the next one goes out.
func TestProbesFail(t *testing.T) {
	var once sync.Once
	third := make(chan struct{})
	var n atomic.Int64
	srv := beside(t, func(c net.Conn, req *http.Request, n int64) bool {
		<-third
		return tokens(1, 0)(c, req, n)
	}, func(c net.Conn, _ *http.Request, _ int64) bool {
		switch k := n.Add(1); {
		case k == 1:
			io.WriteString(c, "HTTP/1.1 503 Busy\r\nContent-Length: 4\r\n\r\nbusy")
			return true
		case k == 2:
			return false
		}
		io.WriteString(c, streamHead)
		once.Do(func() { close(third) })
		for pour := chunk(string(make([]byte, 64<<10))); ; { // an answer without an end
			if _, err := io.WriteString(c, pour); err != nil {
				return false
			}
		}
	})
	res, got := run(t, testClient(t, srv.url(), nil), Plan{Count: 1, Probes: probesOf(time.Millisecond, false)})
	if res.Completed != 1 || res.Failed() != 0 || len(got.probes) < 3 {
		t.Fatalf("%+v, %d probes", res, len(got.probes))
	}
	for i, want := range []Class{ClassStatus, ClassNoResponse, ClassBodySize} {
		if p := got.probes[i]; p.ErrorClass != string(want) {
			t.Errorf("probe %d: %s: %s, want %s", i, p.ErrorClass, p.Error, want)
		}
	}
}

// An interrupt ends the probe that is under way at once, while the requests have
// their grace; so it ends one that waits for a connection of the pool.
func TestProbesInterrupt(t *testing.T) {
	onBoth(t, func(t *testing.T, portable bool) {
		for _, queued := range []bool{false, true} {
			ctx, cancel := context.WithCancel(context.Background())
			sent, dropped := make(chan struct{}, 1), make(chan struct{})
			srv := beside(t, func(c net.Conn, req *http.Request, n int64) bool {
				if queued {
					time.AfterFunc(50*time.Millisecond, cancel)
					time.Sleep(100 * time.Millisecond)
				} else {
					<-dropped
				}
				return tokens(1, 0)(c, req, n)
			}, func(c net.Conn, req *http.Request, n int64) bool {
				if queued {
					return tokens(1, 0)(c, req, n)
				}
				sent <- struct{}{}
				io.Copy(io.Discard, c) // until the client is gone
				close(dropped)
				return false
			})
			if !queued {
				go func() {
					<-sent
					time.Sleep(20 * time.Millisecond)
					cancel()
				}()
			}
			c := clientOn(t, srv.url(), portable, func(o *Options) { o.Connections = VLLMConnections(1) })
			res, got, err := runErr(t, ctx, c, Plan{Count: 1, Concurrency: 1, Grace: 20 * time.Second, Probes: probesOf(time.Millisecond, queued)})
			if !errors.Is(err, context.Canceled) || !res.Interrupted || res.Completed != 1 || len(got.probes) < 1 {
				t.Fatalf("queued %v: %v %+v, %d probes", queued, err, res, len(got.probes))
			}
			last := got.probes[len(got.probes)-1]
			if last.ErrorClass != string(ClassCancelled) || last.End.TNS > got.by["r0"].End.TNS {
				t.Errorf("queued %v: last probe %s at %d, the request ended at %d", queued, last.ErrorClass, last.End.TNS, got.by["r0"].End.TNS)
			}
			cancel()
		}
	})
}

// A run that is over before the interrupt keeps what it has and ends at once.
func TestProbesInterruptBehindTheRun(t *testing.T) {
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	srv := beside(t, tokens(1, 0), func(c net.Conn, _ *http.Request, _ int64) bool {
		time.AfterFunc(100*time.Millisecond, cancel)
		io.Copy(io.Discard, c)
		return false
	})
	res, got, err := runErr(t, ctx, testClient(t, srv.url(), nil), Plan{Count: 1, Probes: probesOf(time.Hour, false)})
	if !errors.Is(err, context.Canceled) || !res.Interrupted || res.Completed != 1 || len(got.probes) != 1 || got.probes[0].ErrorClass != string(ClassCancelled) {
		t.Errorf("%v %+v %+v", err, res, got.probes)
	}
}
