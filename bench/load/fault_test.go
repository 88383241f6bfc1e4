package load

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"math"
	"net"
	"net/http"
	"runtime"
	"strings"
	"testing"
	"time"

	"lathe/bench"
)

// onBoth runs a test over the reading thread of this system and over the
// portable goroutines.
func onBoth(t *testing.T, f func(t *testing.T, portable bool)) {
	t.Run("own thread", func(t *testing.T) { f(t, false) })
	t.Run("portable", func(t *testing.T) { f(t, true) })
}

func clientOn(t *testing.T, url string, portable bool, change func(o *Options)) *Client {
	t.Helper()
	c := testClient(t, url, change)
	if portable {
		c.via.close()
		c.via = newStreams(c)
	}
	return c
}

// pour writes b again and again until the other side has had enough.
func pour(c net.Conn, b string) bool {
	for {
		if _, err := io.WriteString(c, b); err != nil {
			return false
		}
	}
}

// reset closes a connection with RST.
func reset(c net.Conn) {
	c.(*net.TCPConn).SetLinger(0)
	c.Close()
}

// faults are what a server can do wrong once a connection stands. Whole answers
// say that it closes: the script hears no further request, and one that found the
// connection idle would wait for its answer.
func faults() map[string]struct {
	script script
	class  Class
	kind   string
	body   string // a prefix of what is in the capture
} {
	hang := make(chan bool)
	block := func(c net.Conn) bool { // until the client gives up
		go func() { <-hang }()
		io.Copy(io.Discard, c)
		return false
	}
	write := func(s string, then func(c net.Conn) bool) script {
		return func(c net.Conn, _ *http.Request, _ int64) bool {
			io.WriteString(c, s)
			return then(c)
		}
	}
	end := func(net.Conn) bool { return false }
	rst := func(c net.Conn) bool {
		time.Sleep(30 * time.Millisecond) // RST would overtake what is not read yet
		reset(c)
		return false
	}
	type fault = struct {
		script script
		class  Class
		kind   string
		body   string
	}
	return map[string]fault{
		"reset before a response":  {write("", rst), ClassReset, "cut", ""},
		"closed before a response": {write("", end), ClassNoResponse, "cut", ""},
		"closed in the head":       {write("HTTP/1.1 200 OK\r\nA: ", end), ClassNoResponse, "cut", ""},
		"reset mid-stream":         {write(streamHead+chunk(frame("a")), rst), ClassReset, "cut", frame("a")},
		"closed after N":           {write(streamHead+chunk(frame("a"))+chunk(frame("b")), end), ClassCut, "cut", frame("a") + frame("b")},
		"stall mid-frame":          {write(streamHead+"40\r\ndata: {\"cho", block), ClassStall, "timeout", "data: {\"cho"},
		"hang before a response":   {write("", block), ClassStall, "timeout", ""},
		"garbage":                  {write("\x00\x01\x02\x03\x04garbage", block), ClassBadResponse, "cut", ""},
		"garbage in the framing":   {write(streamHead+chunk(frame("a"))+"zz\r\n", block), ClassBadResponse, "cut", frame("a")},
		"endless headers":          {write("HTTP/1.1 200 OK\r\n", func(c net.Conn) bool { return pour(c, "A: "+strings.Repeat("b", 997)+"\r\n") }), ClassHeadSize, "cut", ""},
		"endless line": {write(streamHead, func(c net.Conn) bool {
			return pour(c, chunk(strings.Repeat("x", 64<<10)))
		}), ClassLineSize, "cut", "xxxx"},
		"endless body": {write(streamHead, func(c net.Conn) bool {
			return pour(c, chunk(strings.Repeat("y\n", 32<<10)))
		}), ClassBodySize, "cut", "y\ny\n"},
		"compressed":   {write("HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\nTransfer-Encoding: chunked\r\n\r\n", func(c net.Conn) bool { return pour(c, chunk("\x1f\x8b\x08"+strings.Repeat("\x00", 4096))) }), ClassCompressed, "cut", ""},
		"content type": {write("HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nConnection: close\r\nContent-Length: 6\r\n\r\n<html>", block), ClassContentType, "eof", "<html>"},
		"endless refusal": {write("HTTP/1.1 503 Service Unavailable\r\nTransfer-Encoding: chunked\r\n\r\n", func(c net.Conn) bool {
			return pour(c, chunk(strings.Repeat("z\n", 32<<10)))
		}), ClassStatus, "http_error", "z\nz\n"},
		"status 500": {write("HTTP/1.1 500 Internal Server Error\r\nConnection: close\r\nContent-Length: 4\r\n\r\noops", block), ClassStatus, "http_error", "oops"},
	}
}

// Each fault gets its class, what came is in the capture, and requests beside it
// are untouched.
func TestFaults(t *testing.T) {
	onBoth(t, func(t *testing.T, portable bool) {
		all := faults()
		srv := serve(t, func(c net.Conn, r *http.Request, n int64) bool {
			if f, ok := all[r.Header.Get("X-Fault")]; ok {
				return f.script(c, r, n)
			}
			return tokens(3, time.Millisecond)(c, r, n)
		})
		c := clientOn(t, srv.url(), portable, func(o *Options) {
			o.Limits.Idle, o.Limits.LineSize, o.Limits.BodySize = 4*time.Second, 1<<20, 3<<20
		})
		var names []string
		for name := range all {
			names = append(names, name)
		}
		good := frame(" t0") + frame(" t1") + frame(" t2") + doneFrame
		res, got := run(t, c, Plan{Count: 2 * len(names), Job: func(i int) (Job, error) {
			j, err := jobs(i)
			if i%2 == 0 {
				j.ID = names[i/2]
				j.Headers = []Header{{"X-Fault", names[i/2]}}
			}
			return j, err
		}})
		if res.Completed != len(names) || res.Failed() != len(names) {
			t.Errorf("completed %d, failed %d, classes %v", res.Completed, res.Failed(), res.Classes)
		}
		for id, q := range got.by {
			f, bad := all[id]
			switch {
			case !bad && (q.ErrorClass != "" || body(q) != good):
				t.Errorf("%s: %s %q body %q", id, q.ErrorClass, q.Error, body(q))
			case bad && (q.ErrorClass != string(f.class) || q.End.Kind != f.kind || q.Error == ""):
				t.Errorf("%s: class %s kind %s (%s), want %s %s", id, q.ErrorClass, q.End.Kind, q.Error, f.class, f.kind)
			case bad && (!strings.HasPrefix(body(q), f.body) || f.body == "" && body(q) != ""):
				t.Errorf("%s: body %.60q, want %q", id, body(q), f.body)
			}
			ordered(t, q)
		}
		if len(got.by) != 2*len(names) {
			t.Errorf("%d records, want %d", len(got.by), 2*len(names))
		}
	})
}

func TestRefused(t *testing.T) {
	onBoth(t, func(t *testing.T, portable bool) {
		l, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		l.Close()
		c := clientOn(t, "http://"+l.Addr().String(), portable, func(o *Options) { o.Connections.Ahead = 3 })
		res, got := run(t, c, Plan{Count: 60})
		if res.Classes[ClassRefused] != 60 || res.Completed != 0 || len(got.by) != 60 {
			t.Errorf("%+v", res)
		}
		for _, q := range got.by {
			if q.Status != nil || q.ConnectedNS != nil || q.HeadersNS != nil || q.End.Kind != "cut" {
				t.Errorf("%+v", q)
			}
		}
	})
}

// However much a server sends, memory stays where it was: the capture's file
// takes it.
func TestMemoryIsBounded(t *testing.T) {
	srv := serve(t, func(c net.Conn, _ *http.Request, _ int64) bool {
		io.WriteString(c, streamHead)
		part := chunk(strings.Repeat("z", 64<<10))
		for range 1024 { // 64 MiB without a line feed
			if _, err := io.WriteString(c, part); err != nil {
				return false
			}
		}
		return false
	})
	c := testClient(t, srv.url(), nil)
	stop, peak := make(chan bool), make(chan uint64)
	go func() {
		var m runtime.MemStats
		high := uint64(0)
		for {
			select {
			case <-stop:
				peak <- high
				return
			case <-time.After(5 * time.Millisecond):
				runtime.ReadMemStats(&m)
				high = max(high, m.HeapAlloc)
			}
		}
	}()
	w, err := bench.OpenWriter(t.TempDir()+"/c.jsonl", bench.New)
	if err != nil {
		t.Fatal(err)
	}
	res, err := c.Run(context.Background(), Plan{Count: 2, Job: jobs, Schedule: atOnce(2), Capture: w})
	close(stop)
	if err != nil || res.Classes[ClassLineSize] != 2 {
		t.Errorf("%+v %v", res, err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	if got := <-peak; got > 100<<20 {
		t.Errorf("heap reached %d MiB", got>>20)
	}
}

// The bound of a body grows with the tokens asked for, to the limit set: an
// answer of any that a server sends in earnest stays below it.
func TestBodyBound(t *testing.T) {
	l := HarnessLimits()
	for _, c := range []struct {
		tokens int
		want   int64
	}{{-1, 64 << 20}, {0, 64 << 20}, {1, 64<<20 + 64<<10 + 16}, {1000, 64<<20 + 64000<<10 + 16e6}, {1 << 17, defaultBody}, {math.MaxInt, defaultBody}} {
		if got := l.bodyOf(c.tokens); got != c.want {
			t.Errorf("%d tokens: %d bytes, want %d", c.tokens, got, c.want)
		}
		// Frames of 4 KiB, and of the text so far with 8 bytes a token.
		if n := int64(c.tokens); n >= 0 && n < 1<<14 && (n*4096 > l.bodyOf(c.tokens) || n*n*8 > l.bodyOf(c.tokens)) {
			t.Errorf("%d tokens: an honest answer is above the bound", n)
		}
	}
	if small := (&Limits{BodySize: 5}).bodyOf(1000); small != 5 {
		t.Errorf("the limit set is not kept: %d", small)
	}
}

// A server that closes a connection which it had kept open fails the request that
// found it there, and the error says so.
func TestKeptOpenThenClosed(t *testing.T) {
	onBoth(t, func(t *testing.T, portable bool) {
		srv := serve(t, func(c net.Conn, r *http.Request, n int64) bool {
			return n == 1 && tokens(1, 0)(c, r, n)
		})
		c := clientOn(t, srv.url(), portable, func(o *Options) { o.Connections = VLLMConnections(1) })
		_, got := run(t, c, Plan{Count: 2, Concurrency: 1})
		if q := got.by["r0"]; q.ErrorClass != "" {
			t.Fatalf("%s %s", q.ErrorClass, q.Error)
		}
		q := got.by["r1"]
		if q.ErrorClass != string(ClassNoResponse) || !strings.Contains(q.Error, "had kept open") {
			t.Errorf("%s %s", q.ErrorClass, q.Error)
		}
	})
}

// A capture that cannot be written ends the run with the file's error.
func TestCaptureFails(t *testing.T) {
	srv := serve(t, tokens(1000, time.Millisecond))
	c := testClient(t, srv.url(), nil)
	w, err := bench.OpenWriter("/dev/full", bench.New)
	if err != nil {
		t.Skip(err)
	}
	res, err := c.Run(context.Background(), Plan{Count: 3, Job: jobs, Schedule: atOnce(3), Capture: w})
	if err == nil || res.Classes[ClassCancelled] != 3 {
		t.Errorf("%+v %v", res, err)
	}
}

// A request that cannot be formed ends the run with an error that names it.
func TestJobFails(t *testing.T) {
	srv := serve(t, tokens(1, 0))
	for _, bad := range []func(j *Job) error{
		func(*Job) error { return fmt.Errorf("no more rows") },
		func(j *Job) error { j.Path = "v1"; return nil },
		func(j *Job) error { j.Headers = []Header{{"A", "b\r\nC: d"}}; return nil },
		func(j *Job) error { j.Headers = []Header{{"Content-Length", "1"}}; return nil },
	} {
		_, _, err := runErr(t, context.Background(), testClient(t, srv.url(), nil), Plan{Count: 3, Job: func(i int) (Job, error) {
			j, err := jobs(i)
			if i == 1 {
				err = bad(&j)
			}
			return j, err
		}})
		if err == nil || !strings.Contains(err.Error(), "request 1") {
			t.Errorf("error %v", err)
		}
	}
}

// TLS to a port that speaks none, and a body that is no HTTP at all.
func TestNotTLS(t *testing.T) {
	srv := serve(t, tokens(1, 0))
	c := testClient(t, strings.Replace(srv.url(), "http:", "https:", 1), nil)
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			io.WriteString(c, "HTTP/1.1 400 Bad Request\r\n\r\n")
			c.Close()
		}
	}()
	c.target.addr = l.Addr().(*net.TCPAddr).AddrPort()
	_, got := run(t, c, Plan{Count: 1})
	if q := got.by["r0"]; q.ErrorClass != string(ClassTLS) || !bytes.Contains([]byte(q.Error), []byte("TLS")) {
		t.Errorf("%s %s", q.ErrorClass, q.Error)
	}
}
