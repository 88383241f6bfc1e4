//go:build unix

package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"lathe/bench"
)

// endless answers every request with frames without end and notes how much of each it has written.
type endless struct {
	*scriptedServer
	mu    sync.Mutex
	wrote map[string][]writeAt // by the request's id
}

// writeAt is how many bytes of a body had been written at a time.
type writeAt struct {
	bytes int
	at    time.Time
}

func startEndless(t *testing.T, every time.Duration) *endless {
	e := &endless{wrote: map[string][]writeAt{}}
	e.scriptedServer = startServed(t, servedScript{before: func(w http.ResponseWriter, r *http.Request, n int64, _ map[string]any) bool {
		id := r.Header.Get("X-Request-Id")
		w.Header().Set("Content-Type", "text/event-stream")
		for sent := 0; r.Context().Err() == nil; time.Sleep(every) {
			k, err := io.WriteString(w, "data: {\"choices\":[{\"index\":0,\"text\":\" a\"}]}\n\n")
			if err != nil || http.NewResponseController(w).Flush() != nil {
				break
			}
			sent += k
			e.mu.Lock()
			e.wrote[id] = append(e.wrote[id], writeAt{sent, time.Now()})
			e.mu.Unlock()
		}
		return true
	}})
	return e
}

// writtenBefore is how many bytes of each body had been written by a time.
func (e *endless) writtenBefore(at time.Time) map[string]int {
	e.mu.Lock()
	defer e.mu.Unlock()
	n := map[string]int{}
	for id, all := range e.wrote {
		for _, w := range all {
			if w.at.Before(at) {
				n[id] = w.bytes
			}
		}
	}
	return n
}

// until waits until n bodies have begun.
func (e *endless) until(t *testing.T, n int, p *process) {
	t.Helper()
	for deadline := time.Now().Add(time.Minute); len(e.writtenBefore(time.Now())) < n; time.Sleep(5 * time.Millisecond) {
		if time.Now().After(deadline) {
			_ = p.Process.Kill()
			t.Fatalf("%d answers have not begun after a minute: %s", n, p.stderr.String())
		}
	}
}

// streams is how many requests the child has open.
const streams = 8

func (e *endless) client(t *testing.T, dir, variable string) *process {
	return start(t, dir, variable, "bench", "serve", "--base-url", e.url, "--model", "preset:tiny", "--num-prompts", fmt.Sprint(streams), "--random-input-len", "8", "--random-output-len", "100000",
		"--raw", "c.jsonl", "--save-result", "--result-filename", "r.json")
}

// captured reads a capture: the bytes of each body, by the order of the requests.
func captured(t *testing.T, path string) (bodies map[string]int, end *bench.End, warnings []string) {
	t.Helper()
	r, err := bench.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	bodies = map[string]int{}
	count := func(id string, reads []bench.Read) {
		for _, x := range reads {
			bodies[id] += len(x.B64)
		}
	}
	for {
		rec, err := r.Next()
		if errors.Is(err, io.EOF) {
			return bodies, end, r.Warnings()
		}
		if err != nil {
			t.Fatal(err)
		}
		switch rec := rec.(type) {
		case *bench.Reads:
			count(rec.ID, rec.Reads)
		case *bench.Request:
			count(rec.ID, rec.Reads)
		case *bench.End:
			end = rec
		}
	}
}

// has compares a capture with what had been written.
func has(t *testing.T, bodies, wrote map[string]int) {
	t.Helper()
	if len(wrote) != streams {
		t.Fatalf("%d answers had begun", len(wrote))
	}
	for id, n := range wrote {
		own := "r" + id[strings.LastIndexByte(id, '-')+1:]
		if bodies[own] < n {
			t.Errorf("%s: %d bytes in the capture, %d were written", own, bodies[own], n)
		}
	}
}

// TestP131_ServeInterrupted: everything that had come is in the capture, and the report and the result
// say that they are not whole.
func TestP131_ServeInterrupted(t *testing.T) {
	for s, want := range map[syscall.Signal]int{syscall.SIGINT: exitInterrupted, syscall.SIGTERM: exitTerminated} {
		e, dir := startEndless(t, 5*time.Millisecond), t.TempDir()
		p := e.client(t, dir, "1")
		e.until(t, streams, p)
		time.Sleep(200 * time.Millisecond)
		wrote := e.writtenBefore(time.Now())
		if err := p.Process.Signal(s); err != nil {
			t.Fatal(err)
		}
		if code := p.wait(); code != want {
			t.Fatalf("%s: exit %d, want %d: %s", s, code, want, p.stderr.String())
		}
		bodies, end, _ := captured(t, filepath.Join(dir, "c.jsonl"))
		has(t, bodies, wrote)
		if end == nil || end.Reason != bench.EndInterrupted || end.DurationNS <= 0 {
			t.Errorf("%s: end %+v", s, end)
		}
		if out := p.stdout.String(); !strings.HasPrefix(out, "incomplete: the run was interrupted\n") || !strings.HasSuffix(out, "raw: c.jsonl\n") || !strings.Contains(out, "failed: 8 of 8: 8 cancelled\n") {
			t.Errorf("%s: stdout %s", s, out)
		}
		var result map[string]any
		data, err := os.ReadFile(filepath.Join(dir, "r.json"))
		if err != nil || json.Unmarshal(data, &result) != nil || result["complete"] != false {
			t.Errorf("%s: result file %v: %.200s", s, err, data)
		}
	}
}

// TestP131_ServeInterruptedEarly: a signal while the client waits for a server, or warms it up, ends it
// at once with a capture that says so, or none.
func TestP131_ServeInterruptedEarly(t *testing.T) {
	hang := startServed(t, servedScript{before: func(_ http.ResponseWriter, r *http.Request, _ int64, _ map[string]any) bool {
		<-r.Context().Done()
		return true
	}})
	for name, args := range map[string][]string{
		"waiting for the server": {"--harness", "exact", "--base-url", "http://127.0.0.1:1", "--input-len", "8"},
		"first prompt":           {"--base-url", hang.url, "--ready-check-timeout-sec", "60", "--random-input-len", "8"},
		"warm-up":                {"--harness", "exact", "--base-url", hang.url, "--input-len", "8"},
	} {
		dir := t.TempDir()
		before := hang.n.Load()
		p := start(t, dir, "1", append([]string{"bench", "serve", "--model", "preset:tiny", "--num-prompts", "2", "--raw", "c.jsonl"}, args...)...)
		for deadline := time.Now().Add(time.Minute); name != "waiting for the server" && hang.n.Load() == before && time.Now().Before(deadline); {
			time.Sleep(5 * time.Millisecond)
		}
		time.Sleep(500 * time.Millisecond)
		_ = p.Process.Signal(syscall.SIGINT)
		if code := p.wait(); code != exitInterrupted {
			t.Errorf("%s: exit %d: %s", name, code, p.stderr.String())
		}
		if _, err := os.Stat(filepath.Join(dir, "c.jsonl")); err != nil {
			continue
		}
		if _, end, _ := captured(t, filepath.Join(dir, "c.jsonl")); end == nil || end.Reason != bench.EndInterrupted {
			t.Errorf("%s: end %+v", name, end)
		}
	}
}

// TestP131_ServeKilled kills the client outright: the capture holds what had come up to the last second,
// and report reads it, torn as it is.
func TestP131_ServeKilled(t *testing.T) {
	e, dir := startEndless(t, 5*time.Millisecond), t.TempDir()
	p := e.client(t, dir, "1")
	e.until(t, streams, p)
	time.Sleep(2500 * time.Millisecond)
	killed := time.Now()
	_ = p.Process.Kill()
	p.wait()
	raw := filepath.Join(dir, "c.jsonl")
	bodies, end, _ := captured(t, raw)
	if end != nil {
		t.Fatal("a killed process wrote an end")
	}
	has(t, bodies, e.writtenBefore(killed.Add(-1500*time.Millisecond))) // a second, and room for a busy machine
	tear(t, raw, `{"kind":"reads","id":"r0","rea`)
	code, stdout, stderr := latheWith(t, nil, "report", raw)
	if code != 0 || !strings.HasPrefix(stdout, "incomplete: the capture was cut: the process was killed\n") || !strings.Contains(stderr, "torn") {
		t.Errorf("report: exit %d: %s%s", code, stderr, stdout)
	}
	for _, format := range []string{"json", "csv", "markdown", "html"} {
		code, stdout, stderr := latheWith(t, nil, "report", raw, "--format", format)
		if code != 0 || strings.Contains(stdout, "NaN") || format == "json" && !json.Valid([]byte(stdout)) {
			t.Errorf("%s: exit %d: %s", format, code, stderr)
		}
	}
}

// TestServeDiskFull: a capture that cannot be written ends the run with one error.
func TestServeDiskFull(t *testing.T) {
	for _, limit := range []string{"700", "20000"} {
		e, dir := startEndless(t, time.Millisecond), t.TempDir()
		p := e.client(t, dir, limit)
		if code := p.wait(); code != exitUsage {
			t.Errorf("limit %s: exit %d: %s", limit, code, p.stderr.String())
		}
		if n := bytes.Count([]byte("\n"+p.stderr.String()), []byte("\nerror: ")); n != 1 {
			t.Errorf("limit %s: %d errors: %s", limit, n, p.stderr.String())
		}
	}
}
