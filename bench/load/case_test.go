package load

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"time"
)

// P094: what is running when the time is over is counted, with its age.
func TestP094_InFlightAtTheTimeLimit(t *testing.T) {
	onBoth(t, func(t *testing.T, portable bool) {
		for _, c := range []struct {
			drain time.Duration
			class Class
			kind  string
		}{{0, ClassDeadline, "cancelled"}, {200 * time.Millisecond, ClassTimeout, "timeout"}} {
			srv := serve(t, func(c net.Conn, r *http.Request, n int64) bool {
				if n <= 3 {
					io.Copy(io.Discard, c) // never answered
					return false
				}
				return tokens(2, time.Millisecond)(c, r, n)
			})
			loop := closedLoop(t, 10, 100_000, 0)
			res, got := run(t, clientOn(t, srv.url(), portable, nil), Plan{Count: 100_000, Loop: &loop, Duration: 300 * time.Millisecond, Drain: c.drain})
			if res.Classes[c.class] < 3 || res.Completed == 0 || res.Started != len(got.by) || res.Unsent+res.Started != 100_000 {
				t.Errorf("drain %v: completed %d, started %d, records %d, unsent %d, %v", c.drain, res.Completed, res.Started, len(got.by), res.Unsent, res.Classes)
			}
			old := 0
			for _, q := range got.by {
				if age := time.Duration(q.End.TNS - q.SentNS); q.ErrorClass == string(c.class) && q.End.Kind == c.kind && age >= 200*time.Millisecond {
					old++
				}
			}
			if old != 3 {
				t.Errorf("drain %v: %d requests were ended at about the run's age, want 3", c.drain, old)
			}
		}
	})
}

// P096: the server sees all the concurrency that was asked for.
func TestP096_AllConnectionsAsked(t *testing.T) {
	onBoth(t, func(t *testing.T, portable bool) {
		const n = 300
		all := make(chan bool)
		var here atomic.Int64
		srv := serve(t, func(c net.Conn, r *http.Request, k int64) bool {
			if here.Add(1) == n {
				close(all)
			}
			<-all // nobody is answered before all are here
			return tokens(1, 0)(c, r, k)
		})
		res, _ := run(t, clientOn(t, srv.url(), portable, nil), Plan{Count: n, Concurrency: n})
		if res.Completed != n || srv.peak.Load() != n {
			t.Errorf("completed %d, peak at the server %d", res.Completed, srv.peak.Load())
		}
	})
}

// The semaphore is not exceeded, and permits go on in order of arrival.
func TestConcurrencyIsKept(t *testing.T) {
	srv := serve(t, tokens(2, time.Millisecond))
	res, got := run(t, testClient(t, srv.url(), nil), Plan{Count: 200, Concurrency: 7})
	if res.Completed != 200 || srv.peak.Load() > 7 {
		t.Errorf("completed %d, peak %d", res.Completed, srv.peak.Load())
	}
	last := int64(-1)
	for i := range 200 {
		q := got.by[fmt.Sprintf("r%d", i)]
		if q.AdmittedNS < last {
			t.Errorf("r%d was admitted before the request in front of it", i)
		}
		last = q.AdmittedNS
	}
}

// P107: a pool of the size of the concurrency connects no more often than that.
func TestP107_IdlePoolAsLargeAsTheConcurrency(t *testing.T) {
	onBoth(t, func(t *testing.T, portable bool) {
		srv := serve(t, tokens(1, 0))
		c := clientOn(t, srv.url(), portable, func(o *Options) { o.Connections = VLLMConnections(50) })
		res, _ := run(t, c, Plan{Count: 2000, Concurrency: 50})
		if res.Completed != 2000 || srv.accepts.Load() > 50 || res.Connected.Opened != int(srv.accepts.Load()) || res.Connected.Reused != 2000-res.Connected.Opened {
			t.Errorf("completed %d, accepts %d, %+v", res.Completed, srv.accepts.Load(), res.Connected)
		}
	})
}

// SGLang's policy: a connection a request, whose opening stands in the capture.
func TestFreshConnections(t *testing.T) {
	onBoth(t, func(t *testing.T, portable bool) {
		srv := serve(t, tokens(1, 0))
		c := clientOn(t, srv.url(), portable, func(o *Options) { o.Connections = SGLangConnections() })
		res, got := run(t, c, Plan{Count: 30, Concurrency: 3})
		if res.Completed != 30 || srv.accepts.Load() != 30 {
			t.Errorf("completed %d, accepts %d", res.Completed, srv.accepts.Load())
		}
		for _, q := range got.by {
			if q.ConnectedNS == nil || q.Reused == nil || *q.Reused {
				t.Errorf("%s: connected %v reused %v", q.ID, q.ConnectedNS, q.Reused)
			}
		}
	})
}

// Connections opened ahead leave no connect in any request.
func TestConnectionsAhead(t *testing.T) {
	onBoth(t, func(t *testing.T, portable bool) {
		srv := serve(t, tokens(1, 0))
		c := clientOn(t, srv.url(), portable, func(o *Options) { o.Connections = ExactConnections(8) })
		run(t, c, Plan{Count: 2}) // a warm-up leaves them
		res, got := run(t, c, Plan{Count: 40, Concurrency: 8})
		if res.Completed != 40 || srv.accepts.Load() != 8 {
			t.Errorf("completed %d, accepts %d", res.Completed, srv.accepts.Load())
		}
		for _, q := range got.by {
			if q.ConnectedNS != nil || q.Reused == nil || !*q.Reused {
				t.Errorf("%s: connected %v reused %v", q.ID, q.ConnectedNS, q.Reused)
			}
		}
	})
}

// P108: the last chunk is read after [DONE], so that the connection serves the
// next request; where it does not come in time the connection is given up.
// P025: a connection that stays open behind [DONE] does not hold the request.
func TestP108_P025_BehindDone(t *testing.T) {
	onBoth(t, func(t *testing.T, portable bool) {
		late := serve(t, func(c net.Conn, _ *http.Request, _ int64) bool {
			io.WriteString(c, streamHead+chunk(frame("a"))+chunk(doneFrame))
			time.Sleep(time.Millisecond)
			io.WriteString(c, lastChunk)
			return true
		})
		c := clientOn(t, late.url(), portable, func(o *Options) { o.Limits.Tail = 10 * time.Second })
		res, _ := run(t, c, Plan{Count: 100, Concurrency: 1})
		if res.Completed != 100 || late.accepts.Load() != 1 || res.Connected.Dropped != 0 {
			t.Errorf("completed %d, accepts %d, %+v", res.Completed, late.accepts.Load(), res.Connected)
		}
		never := serve(t, func(c net.Conn, _ *http.Request, _ int64) bool {
			io.WriteString(c, streamHead+chunk(frame("a"))+chunk(doneFrame))
			io.Copy(io.Discard, c)
			return false
		})
		c = clientOn(t, never.url(), portable, nil)
		res, got := run(t, c, Plan{Count: 3, Concurrency: 1})
		if res.Completed != 3 || never.accepts.Load() != 3 || res.Connected.Dropped != 3 {
			t.Errorf("completed %d, accepts %d, %+v %v", res.Completed, never.accepts.Load(), res.Connected, res.Classes)
		}
		for _, q := range got.by {
			if q.End.Kind != "eof" || body(q) != frame("a")+doneFrame {
				t.Errorf("%s: %+v %q", q.ID, q.End, body(q))
			}
		}
	})
}

// P120: nothing is repeated in secret; where repeating is asked for all attempts
// are in the record, and its times span them.
func TestP120_Retries(t *testing.T) {
	onBoth(t, func(t *testing.T, portable bool) {
		busy := func() *server {
			return serve(t, func(c net.Conn, r *http.Request, n int64) bool {
				if n <= 2 {
					io.WriteString(c, "HTTP/1.1 503 Service Unavailable\r\nContent-Length: 4\r\n\r\nbusy")
					return true
				}
				return tokens(1, 0)(c, r, n)
			})
		}
		res, got := run(t, clientOn(t, busy().url(), portable, nil), Plan{Count: 1})
		if q := got.by["r0"]; res.Classes[ClassStatus] != 1 || len(q.Attempts) != 0 || *q.Status != 503 || body(q) != "busy" {
			t.Errorf("without retries: %+v", q)
		}
		res, got = run(t, clientOn(t, busy().url(), portable, func(o *Options) { o.Retry = Retry{Max: 2, Wait: 20 * time.Millisecond} }), Plan{Count: 1})
		q := got.by["r0"]
		if res.Completed != 1 || res.Started != 1 || len(q.Attempts) != 2 || *q.Status != 200 || body(q) != frame(" t0")+doneFrame {
			t.Fatalf("with retries: %+v", q)
		}
		for i, a := range q.Attempts {
			if a.Status == nil || *a.Status != 503 || a.ErrorClass != string(ClassStatus) || a.EndNS < a.SentNS {
				t.Errorf("attempt %d: %+v", i, a)
			}
		}
		if q.SentNS != q.Attempts[0].SentNS || q.End.TNS-q.SentNS < int64(40*time.Millisecond) {
			t.Errorf("sent %d, first attempt %d, end %d", q.SentNS, q.Attempts[0].SentNS, q.End.TNS)
		}
		res, got = run(t, clientOn(t, busy().url(), portable, func(o *Options) { o.Retry = Retry{Max: 1} }), Plan{Count: 1})
		if q := got.by["r0"]; res.Completed != 0 || len(q.Attempts) != 1 || body(q) != "busy" {
			t.Errorf("one retry: %+v %q", q, body(q))
		}
	})
}

// scripted is a wait without waiting.
type scripted struct{ at time.Time }

func (s *scripted) now() time.Time { return s.at }
func (s *scripted) sleep(_ context.Context, d time.Duration) error {
	s.at = s.at.Add(d)
	return nil
}

// P117: refused for 2 s, 503 for 2 s, 404 for 1 s, then ready; 401 ends at once.
func TestP117_ReadyCheck(t *testing.T) {
	clock := &scripted{at: time.Unix(0, 0)}
	answer := func(context.Context) (int, error) {
		switch gone := clock.at.Sub(time.Unix(0, 0)); {
		case gone < 2*time.Second:
			return 0, errors.New("connection refused")
		case gone < 4*time.Second:
			return 503, nil
		case gone < 5*time.Second:
			return 404, nil
		}
		return 200, nil
	}
	said := []string{}
	r := Readiness{Within: 10 * time.Second, Every: time.Second, Try: answer, Waiting: func(err error) { said = append(said, err.Error()) }}
	if err := waitReady(context.Background(), r, clock); err != nil || clock.at != time.Unix(5, 0) {
		t.Errorf("ready at %v: %v", clock.at, err)
	}
	if len(said) != 1 || said[0] != "connection refused" {
		t.Errorf("said %q, want the first try's error once", said)
	}
	clock.at, r.Within = time.Unix(0, 0), 3*time.Second
	if err := waitReady(context.Background(), r, clock); err == nil || !strings.Contains(err.Error(), "503") || !strings.Contains(err.Error(), "4 tries") {
		t.Errorf("given up at %v: %v", clock.at, err)
	}
	tries := 0
	r.Try = func(context.Context) (int, error) { tries++; return 401, nil }
	if err := waitReady(context.Background(), r, clock); !errors.Is(err, ErrUnauthorised) || tries != 1 {
		t.Errorf("%d tries: %v", tries, err)
	}
	tries = 0
	r.Try = func(context.Context) (int, error) {
		tries++
		return 0, fmt.Errorf("GET: %w", &tls.CertificateVerificationError{Err: errors.New("expired")})
	}
	if err := waitReady(context.Background(), r, clock); !errors.Is(err, ErrCertificate) || tries != 1 {
		t.Errorf("%d tries of a bad certificate: %v", tries, err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	r.Try = func(context.Context) (int, error) { cancel(); return 503, nil }
	if err := WaitReady(ctx, r); !errors.Is(err, context.Canceled) {
		t.Errorf("cancelled: %v", err)
	}
}
