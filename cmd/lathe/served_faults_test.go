package main

import (
	"encoding/json"
	"fmt"
	"io"
	"math"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"
)

// small is a run of few and short requests of our own client, with exact lengths and no warm-up.
func small(raw string, n int, more ...string) []string {
	return append([]string{"--harness", "exact", "--model", "preset:tiny", "--num-warmups", "0", "--num-prompts", strconv.Itoa(n), "--input-len", "20", "--output-len", "5",
		"--raw", raw}, more...)
}

// serveExit runs bench serve against a server and wants an exit code.
func serveExit(t *testing.T, s *scriptedServer, code int, args ...string) (stdout, stderr string) {
	t.Helper()
	got, stdout, stderr := latheWith(t, nil, append([]string{"bench", "serve", "--base-url", s.url}, args...)...)
	if got != code {
		t.Fatalf("exit %d, want %d\nstdout %s\nstderr %s", got, code, stdout, stderr)
	}
	return stdout, stderr
}

// reported is the JSON report of a capture, which a strict parser reads.
func reported(t *testing.T, raw string, more ...string) servedJSON {
	t.Helper()
	code, stdout, stderr := latheWith(t, nil, append([]string{"report", raw, "--format", "json"}, more...)...)
	var out servedJSON
	if err := json.Unmarshal([]byte(stdout), &out); code != 0 || err != nil || strings.Contains(stdout, "NaN") {
		t.Fatalf("report: exit %d, %v: %s%.500s", code, err, stderr, stdout)
	}
	return out
}

// servedJSON is the part of the JSON report that tests look at.
type servedJSON struct {
	Exact struct {
		Requests []map[string]any
		Metrics  map[string]any
	}
	Client map[string]any
}

// classesOf counts the requests by their class, "ok" those that succeeded.
func (s servedJSON) classesOf() map[string]int {
	n := map[string]int{}
	for _, r := range s.Exact.Requests {
		class := "ok"
		if r["success"] != true {
			class, _ = r["error_class"].(string)
		}
		n[class]++
	}
	return n
}

// hangUp ends a request's connection without a word.
func hangUp(t *testing.T, w http.ResponseWriter, reset bool, first string) {
	conn, _, err := w.(http.Hijacker).Hijack()
	if err != nil {
		t.Error(err)
		return
	}
	io.WriteString(conn, first)
	if reset {
		conn.(*net.TCPConn).SetLinger(0)
	}
	conn.Close()
}

// serverFaults are what a server may do to a request, one after the other.
func serverFaults(t *testing.T) []func(w http.ResponseWriter, r *http.Request) {
	head := "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n"
	frame := "data: {\"choices\":[{\"index\":0,\"text\":\" a\"}]}\n\n"
	chunk := func(s string) string { return fmt.Sprintf("%x\r\n%s\r\n", len(s), s) }
	return []func(w http.ResponseWriter, r *http.Request){
		func(w http.ResponseWriter, _ *http.Request) { hangUp(t, w, false, "") },
		func(w http.ResponseWriter, _ *http.Request) { hangUp(t, w, true, head+chunk(frame)) },
		func(w http.ResponseWriter, _ *http.Request) { hangUp(t, w, false, head+chunk(frame)+"ff\r\ndata:") },
		func(w http.ResponseWriter, _ *http.Request) { hangUp(t, w, false, "garbage\r\n\r\n") },
		func(w http.ResponseWriter, _ *http.Request) {
			http.Error(w, `{"error":{"message":"no room"}}`, http.StatusServiceUnavailable)
		},
		func(w http.ResponseWriter, r *http.Request) { // stalls in mid-frame
			w.Header().Set("Content-Type", "text/event-stream")
			io.WriteString(w, frame+"data: {\"cho")
			w.(http.Flusher).Flush()
			<-r.Context().Done()
		},
		func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "text/html")
			io.WriteString(w, "<html>")
		},
		func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "text/event-stream")
			io.WriteString(w, frame+"data: {\"error\":{\"message\":\"broken\",\"code\":500}}\n\n")
		},
		func(w http.ResponseWriter, _ *http.Request) {
			hangUp(t, w, false, "HTTP/1.1 200 OK\r\nX: "+strings.Repeat("y", 1<<20)+"\r\n")
		},
	}
}

// TestServeFaults: each request gets what became of it, the others are untouched, and the run ends.
func TestServeFaults(t *testing.T) {
	t.Chdir(t.TempDir())
	faults := serverFaults(t)
	const good = 4
	s := startServed(t, servedScript{before: func(w http.ResponseWriter, r *http.Request, n int64, _ map[string]any) bool {
		if n > int64(len(faults)) {
			return false
		}
		faults[n-1](w, r)
		return true
	}})
	args := small("f.jsonl", len(faults)+good, "--timeout", "400ms", "--max-concurrency", "1")
	out, _ := serveExit(t, s, 0, args...)
	r := reported(t, "f.jsonl")
	got := r.classesOf()
	if got["ok"] != good {
		t.Errorf("%d succeeded, want %d: %v\n%s", got["ok"], good, got, out)
	}
	if len(r.Exact.Requests) != len(faults)+good {
		t.Errorf("%d requests", len(r.Exact.Requests))
	}
	for i, want := range []string{"no_response|reset", "reset", "cut", "bad_response", "http_status", "timeout", "not_event_stream", "server_error", "head_too_large"} {
		if class, _ := r.Exact.Requests[i]["error_class"].(string); !regexp.MustCompile("^(" + want + ")$").MatchString(class) {
			t.Errorf("fault %d is a %q, want %s", i, class, want)
		}
	}
	if !strings.Contains(out, fmt.Sprintf("failed: %d of %d: ", len(faults), len(faults)+good)) {
		t.Errorf("no block of failures:\n%s", out)
	}
	s.n.Store(0)
	args[slices.Index(args, "f.jsonl")] = "strict.jsonl"
	if _, stderr := serveExit(t, s, 1, append(args, "--strict")...); !strings.Contains(stderr, "error: bench serve: 9 of 13 requests failed\nhint: without --strict ") {
		t.Errorf("strict: %s", stderr)
	}
}

// TestP122_NothingSucceeded: a server that is down gives no rate, no percentiles and another exit code.
func TestP122_NothingSucceeded(t *testing.T) {
	t.Chdir(t.TempDir())
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	dead := "http://" + l.Addr().String()
	l.Close()
	const n = 60
	for _, harness := range []string{
		"--harness exact --input-len 20 --output-len 5 --num-warmups 0 --ready-check-timeout-sec 0",
		"--harness vllm --random-input-len 20 --random-output-len 5",
		"--harness sglang --dataset-name random-ids --random-input-len 20 --random-output-len 5 --warmup-requests 0 --ready-check-timeout-sec 0",
	} {
		raw := "dead" + strings.Fields(harness)[1] + ".jsonl"
		args := append([]string{"bench", "serve", "--base-url", dead, "--model", "preset:tiny", "--num-prompts", strconv.Itoa(n), "--raw", raw}, strings.Fields(harness)...)
		code, stdout, stderr := latheWith(t, nil, args...)
		if code != 1 || !strings.Contains(stderr, "error: bench serve: none of 60 requests succeeded") {
			t.Errorf("%s: exit %d: %s", harness, code, stderr)
		}
		// vLLM's own column has the zeros that its client prints; exactly there is nothing.
		if !regexp.MustCompile(`(?m)^failed: 60 of 60: 60 refused$`).MatchString(stdout) || regexp.MustCompile(`(?m)^(mean|median|p99) .* \d+$`).MatchString(stdout) || strings.Contains(stdout, "NaN") {
			t.Errorf("%s: %s", harness, stdout)
		}
		r := reported(t, raw)
		m := r.Exact.Metrics
		if m["request_throughput"] != 0.0 || m["completed"] != 0.0 || m["ttft_ms"] != nil || m["e2el_ms"] != nil || r.Client["planned"] != float64(n) || len(r.Exact.Requests) != n {
			t.Errorf("%s: metrics %v of %d requests", harness, m, len(r.Exact.Requests))
		}
	}
}

// TestP123_FailedRequestsApart: what failed late moves no mean and stands in a block of its own with its
// time.
func TestP123_FailedRequestsApart(t *testing.T) {
	t.Chdir(t.TempDir())
	const late = 600 * time.Millisecond // the case's 5 s, shorter
	s := startServed(t, servedScript{first: 100 * time.Millisecond, before: func(w http.ResponseWriter, _ *http.Request, n int64, _ map[string]any) bool {
		if n != 4 {
			return false
		}
		time.Sleep(late)
		frame := "data: {\"choices\":[{\"index\":0,\"text\":\" a\"}]}\n\n"
		hangUp(t, w, true, fmt.Sprintf("HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n%x\r\n%s\r\n", len(frame), frame))
		return true
	}})
	out, _ := serveExit(t, s, 0, small("c.jsonl", 10)...)
	r := reported(t, "c.jsonl")
	ttft := r.Exact.Metrics["ttft_ms"].(map[string]any)
	if got := r.classesOf(); got["ok"] != 9 || got["reset"] != 1 {
		t.Fatalf("classes %v", got)
	}
	most := 0.0
	for _, q := range r.Exact.Requests {
		if v, ok := q["ttft"].(float64); ok && q["success"] == true {
			most = max(most, v*1000)
		}
	}
	if mean, ok := ttft["mean"].(float64); !ok || mean < 100 || mean > most || most >= float64(late.Milliseconds()) {
		t.Errorf("TTFT %v, most %v ms", ttft, most)
	}
	m := regexp.MustCompile(`(?m)^failed: 1 of 10: 1 reset\n  r\d: reset(?:, first token after ([0-9.]+) ms)?, ended after ([0-9.]+) ms$`).FindStringSubmatch(out)
	if m == nil {
		t.Fatalf("no failed block:\n%s", out)
	}
	if ended, _ := strconv.ParseFloat(m[2], 64); ended < float64(late.Milliseconds()) {
		t.Errorf("it ended after %s ms", m[2])
	}
}

// TestP126_LateIsNotDropped: every answer misses its objective; their latencies stay, and nothing is a
// NaN.
func TestP126_LateIsNotDropped(t *testing.T) {
	t.Chdir(t.TempDir())
	s := startServed(t, servedScript{first: 100 * time.Millisecond})
	out, _ := serveExit(t, s, 0, small("late.jsonl", 10, "--goodput", "e2el:50")...)
	if !strings.Contains(out, "objectives (e2el 50 ms): 0 of 10 met (0.0 %), late 10, failed 0; goodput 0 requests/s\n") {
		t.Errorf("stdout:\n%s", out)
	}
	r := reported(t, "late.jsonl")
	if e2el := r.Exact.Metrics["e2el_ms"].(map[string]any); e2el["mean"].(float64) < 100 || r.Exact.Metrics["request_goodput"] != 0.0 {
		t.Errorf("E2EL %v, goodput %v", e2el, r.Exact.Metrics["request_goodput"])
	}
	// Nothing at all: nulls.
	none := startServed(t, servedScript{before: func(w http.ResponseWriter, _ *http.Request, _ int64, _ map[string]any) bool {
		w.WriteHeader(500)
		return true
	}})
	serveExit(t, none, 1, small("none.jsonl", 3, "--goodput", "e2el:50")...)
	if r := reported(t, "none.jsonl"); r.Exact.Metrics["e2el_ms"] != nil {
		t.Errorf("E2EL of nothing: %v", r.Exact.Metrics["e2el_ms"])
	}
}

// TestP127_GoodputDenominator: failed is not met, what the end of the run cut is left out, and the unit
// of an objective is echoed.
func TestP127_GoodputDenominator(t *testing.T) {
	t.Chdir(t.TempDir())
	s := startServed(t, servedScript{before: func(w http.ResponseWriter, r *http.Request, n int64, _ map[string]any) bool {
		switch n {
		case 3, 4: // miss TTFT
			time.Sleep(300 * time.Millisecond)
		case 5:
			w.WriteHeader(500)
			return true
		case 6: // never ends
			<-r.Context().Done()
			return true
		}
		return false
	}})
	out, _ := serveExit(t, s, 0, small("g.jsonl", 10, "--goodput", "ttft:200", "e2el:1000", "--duration", "1s")...)
	m := regexp.MustCompile(`objectives \(ttft 200 ms, e2el 1000 ms\): 6 of 9 met \(66\.7 %\), late 2, failed 1, 1 ended by the run itself are left out; goodput ([0-9.]+) requests/s`).FindStringSubmatch(out)
	if m == nil {
		t.Fatalf("stdout:\n%s", out)
	}
	metrics := reported(t, "g.jsonl").Exact.Metrics
	rate, _ := strconv.ParseFloat(m[1], 64)
	if want := 6.0 / 8 * metrics["request_throughput"].(float64); math.Abs(rate-want) > 0.001*want { // 8 succeeded
		t.Errorf("goodput %v, want %v", rate, want)
	}
	// TPOT cannot be measured of one token: that objective does not apply.
	one := small("one.jsonl", 2, "--goodput", "tpot:1000")
	one[slices.Index(one, "--output-len")+1] = "1"
	s.n.Store(100)
	if out, _ := serveExit(t, s, 0, one...); !strings.Contains(out, "objectives (tpot 1000 ms): 2 of 2 met") && !strings.Contains(out, "objectives (tpot 1000 ms): 0 of 0 met") {
		t.Errorf("an objective that cannot be measured:\n%s", out)
	}
}

// TestP071_TwoNames: what the server calls the model and where the tokenizer lies are two things, and
// the message tells which was wrong.
func TestP071_TwoNames(t *testing.T) {
	t.Chdir(t.TempDir())
	s := startServed(t, servedScript{before: func(w http.ResponseWriter, _ *http.Request, _ int64, body map[string]any) bool {
		if body["model"] == "served" {
			return false
		}
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(404)
		fmt.Fprintf(w, `{"error":{"message":"The model %v does not exist.","code":404}}`, body["model"])
		return true
	}})
	if err := os.MkdirAll("tok", 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.Rename(spelledTokenizer(t, 300, nil, 0), filepath.Join("tok", "tokenizer.json")); err != nil {
		t.Fatal(err)
	}
	for _, harness := range [][]string{
		{"--harness", "exact", "--input-len", "20", "--output-len", "3"},
		{"--harness", "vllm", "--random-input-len", "20", "--random-output-len", "3"},
		{"--harness", "sglang", "--backend", "sglang-oai", "--dataset-name", "random-ids", "--random-input-len", "20", "--random-output-len", "3"},
	} {
		serveExit(t, s, 0, append(harness, "--model", "served", "--tokenizer", "./tok", "--num-prompts", "2")...)
		// The path as the model's name, and nothing that says the served one.
		_, stderr := serveExit(t, s, 1, append(harness, "--model", "./tok", "--num-prompts", "2")...)
		if !strings.Contains(stderr, "404") || !strings.Contains(stderr, "The model ./tok does not exist.") {
			t.Errorf("%v: no word of the 404: %s", harness, stderr)
		}
		if !strings.Contains(stderr, "hint: the server has served; --") {
			t.Errorf("%v: hint: %s", harness, stderr)
		}
		serveExit(t, s, 0, append(harness, "--model", "./tok", "--served-model-name", "served", "--num-prompts", "2")...)
		// A tokenizer that is not there is another error, before anything is sent.
		before := len(s.asked())
		_, stderr = serveExit(t, s, 2, append(harness, "--model", "served", "--tokenizer", "./nowhere", "--num-prompts", "2")...)
		if !strings.Contains(stderr, "error: open tokenizer: ") || len(s.seen()) > before {
			t.Errorf("%v: %s", harness, stderr)
		}
	}
}
