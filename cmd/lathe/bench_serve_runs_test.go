package main

import (
	"encoding/json"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"lathe/bench"
)

// TestServeRetries: retries are for who asks for them, and are in the latency.
func TestServeRetries(t *testing.T) {
	t.Chdir(t.TempDir())
	s := startServed(t, servedScript{before: func(w http.ResponseWriter, _ *http.Request, n int64, _ map[string]any) bool {
		if n%3 != 0 {
			w.WriteHeader(503)
		}
		return n%3 != 0
	}})
	serveExit(t, s, 1, small("one.jsonl", 1)...)
	s.n.Store(0)
	serveExit(t, s, 0, small("three.jsonl", 1, "--retries", "2", "--retry-wait", "100ms")...)
	r := reported(t, "three.jsonl")
	if e2el := r.Exact.Metrics["e2el_ms"].(map[string]any); r.classesOf()["ok"] != 1 || e2el["mean"].(float64) < 200 {
		t.Errorf("%v, E2EL %v", r.classesOf(), e2el)
	}
}

// TestServeDuration: nothing is sent after the time, what runs on is given its drain, and what is left
// is counted with its age.
func TestServeDuration(t *testing.T) {
	t.Chdir(t.TempDir())
	s := startServed(t, servedScript{before: func(_ http.ResponseWriter, r *http.Request, n int64, _ map[string]any) bool {
		if n <= 3 {
			<-r.Context().Done()
		}
		return n <= 3
	}})
	out, _ := serveExit(t, s, 0, small("d.jsonl", 10, "--duration", "400ms", "--drain", "200ms")...)
	if !strings.Contains(out, "failed: 3 of 10: 3 timeout\n") || strings.Count(out, ": timeout, ended after 6") < 1 {
		t.Errorf("stdout:\n%s", out)
	}
	// A rate that the time cuts off: the rest is unsent, not failed.
	s.n.Store(10)
	out, _ = serveExit(t, s, 0, small("cut.jsonl", 500, "--duration", "300ms", "--request-rate", "100", "--arrival", "constant")...)
	r := reported(t, "cut.jsonl")
	unsent, _ := r.Client["unsent"].(float64)
	if unsent < 400 || int(unsent)+len(r.Exact.Requests) < 500 || !strings.Contains(out, "of 500 requests were not sent\n") {
		t.Errorf("%v unsent, %d sent:\n%s", unsent, len(r.Exact.Requests), out)
	}
}

// TestServeClosedLoop: clients that answer and think; the plan names them.
func TestServeClosedLoop(t *testing.T) {
	t.Chdir(t.TempDir())
	s := startServed(t, servedScript{first: 5 * time.Millisecond})
	out, _ := serveExit(t, s, 0, small("l.jsonl", 12, "--arrival", "closed", "--max-concurrency", "3", "--think-time", "10ms")...)
	f, err := bench.ReadFile("l.jsonl")
	if err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(out, ", peak 3;") || !strings.Contains(f.Run.Workload.Arrival, "closed loop of 3 clients, think 10ms") {
		t.Errorf("%s\n%s", f.Run.Workload.Arrival, out)
	}
	if at := slices.IndexFunc(strings.Split(out, "\n"), func(l string) bool { return strings.HasPrefix(l, "schedule: ") }); at >= 0 {
		t.Errorf("a closed loop has a schedule: %s", out)
	}
}

// TestP048_SelfCheck: a server built in tells what the client costs: no frame is lost, the gap is the
// server's, and where it is not the report begins with that.
func TestP048_SelfCheck(t *testing.T) {
	t.Chdir(t.TempDir())
	code, out, stderr := latheWith(t, nil, "bench", "serve", "--harness", "exact", "--self-check", "--num-prompts", "8", "--output-len", "200", "--raw", "c.jsonl")
	if code != 0 || !strings.Contains(out, "\nself-check: 8 streams of a frame each 1ms: 1600 of 1600 frames, mean gap ") || !strings.Contains(out, "\nread lag: p50 ") {
		t.Fatalf("exit %d: %s%s", code, stderr, out)
	}
	r := reported(t, "c.jsonl")
	if c := r.Client["self_check"].(map[string]any); c["frames"] != 1600.0 || c["mean_gap_ms"].(float64) < 0.9 {
		t.Errorf("%v", c)
	}
	// The same capture with half the frames, as a client that lost them would have written it, and with
	// all stamps twice as far apart.
	for name, change := range map[string]func(read map[string]any, k int){
		"client-limited: self-check: ": func(read map[string]any, k int) {
			if k%2 == 1 {
				read["b64"] = ""
			}
		},
		"client-limited: self-check: the mean gap is ": func(read map[string]any, _ int) {
			for _, key := range []string{"t_ns", "kernel_ns"} {
				if v, ok := read[key].(json.Number); ok {
					ns, _ := v.Int64()
					read[key] = 2 * ns
				}
			}
		},
	} {
		eachLine(t, "c.jsonl", "bad.jsonl", func(line map[string]any) {
			reads, _ := line["reads"].([]any)
			for k, r := range reads {
				change(r.(map[string]any), k)
			}
			for _, key := range []string{"end"} { // behind its reads
				if e, ok := line[key].(map[string]any); ok {
					ns, _ := e["t_ns"].(json.Number).Int64()
					e["t_ns"] = 2 * ns
				}
			}
		})
		if code, out, stderr := latheWith(t, nil, "report", "bad.jsonl"); code != 0 || !strings.HasPrefix(out, name) {
			t.Errorf("%s: exit %d: %s%.400s", name, code, stderr, out)
		}
	}
	if code, _, stderr := latheWith(t, nil, "bench", "serve", "--harness", "exact", "--self-check", "--base-url", "http://127.0.0.1:1"); code != 2 || !strings.Contains(stderr, "--base-url does not go with it") {
		t.Errorf("exit %d: %s", code, stderr)
	}
}
