package load

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"lathe/bench"
	"lathe/bench/arrival"
)

// server is a scripted HTTP server on a loopback port: it hands each request to
// the script with the raw connection.
type server struct {
	net.Listener
	accepts  atomic.Int64
	requests atomic.Int64
	active   atomic.Int64
	peak     atomic.Int64
	wg       sync.WaitGroup
	mu       sync.Mutex
	conns    map[net.Conn]bool
}

// script answers one request; false closes the connection.
type script func(c net.Conn, req *http.Request, n int64) bool

func serve(t *testing.T, s script) *server {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	srv := &server{Listener: l, conns: map[net.Conn]bool{}}
	go srv.accept(s)
	t.Cleanup(srv.stop)
	return srv
}

func (s *server) accept(script script) {
	for {
		c, err := s.Accept()
		if errors.Is(err, syscall.EMFILE) {
			time.Sleep(5 * time.Millisecond)
			continue
		}
		if err != nil {
			return
		}
		s.accepts.Add(1)
		s.mu.Lock()
		s.conns[c] = true
		s.mu.Unlock()
		s.wg.Add(1)
		go func() {
			defer s.wg.Done()
			defer c.Close()
			r := bufio.NewReader(c)
			for {
				req, err := http.ReadRequest(r)
				if err != nil {
					return
				}
				body, _ := io.ReadAll(req.Body)
				req.Body = io.NopCloser(strings.NewReader(string(body)))
				for a := s.active.Add(1); ; {
					p := s.peak.Load()
					if a <= p || s.peak.CompareAndSwap(p, a) {
						break
					}
				}
				more := script(c, req, s.requests.Add(1))
				s.active.Add(-1)
				if !more {
					return
				}
			}
		}()
	}
}

func (s *server) stop() {
	s.Close()
	s.mu.Lock()
	for c := range s.conns {
		c.Close()
	}
	s.mu.Unlock()
	s.wg.Wait()
}

func (s *server) url() string { return "http://" + s.Addr().String() }

// Pieces of answers.
const streamHead = "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n"

func chunk(s string) string { return fmt.Sprintf("%x\r\n%s\r\n", len(s), s) }

func frame(text string) string {
	return fmt.Sprintf("data: {\"choices\":[{\"index\":0,\"text\":%q}]}\n\n", text)
}

const (
	doneFrame = "data: [DONE]\n\n"
	lastChunk = "0\r\n\r\n"
)

// tokens answers with n frames, each in a write of its own, and [DONE].
func tokens(n int, every time.Duration) script {
	return func(c net.Conn, _ *http.Request, _ int64) bool {
		io.WriteString(c, streamHead)
		for i := range n {
			time.Sleep(every)
			if _, err := io.WriteString(c, chunk(frame(fmt.Sprintf(" t%d", i)))); err != nil {
				return false
			}
		}
		_, err := io.WriteString(c, chunk(doneFrame)+lastChunk)
		return err == nil
	}
}

// atOnce is n requests that are all due at once.
func atOnce(n int) arrival.Schedule {
	return arrival.Schedule{Seconds: make([]float64, n), Rates: make([]float64, n)}
}

// jobs are plain completions requests.
func jobs(i int) (Job, error) {
	return Job{ID: fmt.Sprintf("r%d", i), PromptLen: 3, RequestedOutputLen: 4,
		Call: Call{Endpoint: "completions", Path: "/v1/completions", Stream: true, Body: []byte(`{"prompt": "p"}`)}}, nil
}

// testClient is a client whose limits are short enough for a test that hangs to
// end by them.
func testClient(t *testing.T, url string, change func(o *Options)) *Client {
	t.Helper()
	o := Options{URL: url, Connections: VLLMConnections(0), Limits: ExactLimits()}
	o.Limits.Total = time.Minute
	if change != nil {
		change(&o)
	}
	c, err := NewClient(context.Background(), o, bench.StartClock())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.Close)
	return c
}

// captured is a capture read back: the closing records, each with all its reads.
type captured struct {
	ids   []string
	by    map[string]*bench.Request
	extra map[string][]bench.Read // reads without a closing record

	probes []*bench.Probe
}

// run carries out a plan and reads its capture.
func run(t *testing.T, c *Client, p Plan) (Result, captured) {
	t.Helper()
	res, got, err := runErr(t, context.Background(), c, p)
	if err != nil {
		t.Fatal(err)
	}
	return res, got
}

func runErr(t *testing.T, ctx context.Context, c *Client, p Plan) (Result, captured, error) {
	t.Helper()
	path := filepath.Join(t.TempDir(), "c.jsonl")
	w, err := bench.OpenWriter(path, bench.New)
	if err != nil {
		t.Fatal(err)
	}
	if err := w.Write(&bench.Run{Kind: bench.KindRun, Schema: bench.Schema, Command: "bench serve"}); err != nil {
		t.Fatal(err)
	}
	p.Capture = w
	if p.Job == nil {
		p.Job = jobs
	}
	if p.Loop == nil && p.Schedule.Seconds == nil {
		p.Schedule = atOnce(p.Count)
	}
	res, err := c.Run(ctx, p)
	if e := w.Close(); e != nil {
		t.Fatal(e)
	}
	return res, readCapture(t, path), err
}

func readCapture(t *testing.T, path string) captured {
	t.Helper()
	f, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	got := captured{by: map[string]*bench.Request{}, extra: map[string][]bench.Read{}}
	s := bufio.NewScanner(f)
	s.Buffer(nil, 64<<20)
	for s.Scan() {
		got.line(t, s.Bytes())
	}
	if err := s.Err(); err != nil {
		t.Fatal(err)
	}
	return got
}
