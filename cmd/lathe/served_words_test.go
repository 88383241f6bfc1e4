package main

import (
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
)

// What ends a run without a success says why in words that hold: what the server said, what was sent,
// and in which reading nothing succeeded.
func TestServeSaysWhyNothingSucceeded(t *testing.T) {
	t.Chdir(t.TempDir())
	first := startServed(t, servedScript{before: func(w http.ResponseWriter, _ *http.Request, n int64, _ map[string]any) bool {
		if n == 1 {
			http.Error(w, "busy", 503)
		}
		return n == 1
	}})
	_, stderr := serveExit(t, first, 1, small("w.jsonl", 2, "--num-warmups", "1")...)
	if !strings.Contains(stderr, "1 http_status; asked once more, the server answered with status 200\n") || strings.Contains(stderr, "data:") {
		t.Errorf("a server that refused once: %s", stderr)
	}
	s := startServed(t, servedScript{})
	_, stderr = serveExit(t, s, 1, small("n.jsonl", 2, "--request-rate", "1e-9", "--duration", "100ms")...)
	if !strings.Contains(stderr, "error: bench serve: no request was sent\n") {
		t.Errorf("nothing sent: %s", stderr)
	}
	// SGLang's client fails on a usage frame that a server sends unasked.
	unasked := startServed(t, servedScript{before: func(w http.ResponseWriter, _ *http.Request, _ int64, _ map[string]any) bool {
		w.Header().Set("Content-Type", "text/event-stream")
		io.WriteString(w, "data: {\"choices\":[{\"text\":\"a\"}]}\n\ndata: {\"choices\":[],\"usage\":{\"completion_tokens\":1}}\n\ndata: [DONE]\n\n")
		return true
	}})
	_, stderr = serveExit(t, unasked, 1, "--harness", "sglang", "--backend", "vllm", "--model", "preset:tiny", "--dataset-name", "random-ids", "--num-prompts", "2",
		"--random-input-len", "9", "--random-output-len", "5", "--raw", "s.jsonl", "--output-file", "s.json", "--ready-check-timeout-sec", "0")
	if !strings.Contains(stderr, "none of 2 requests succeeded as sglang:vllm reads them; ") {
		t.Errorf("in one reading: %s", stderr)
	}
}

// A send that waited for a permit is not told as the client's own lateness.
func TestServeSendLagNamesPermits(t *testing.T) {
	t.Chdir(t.TempDir())
	s := startServed(t, servedScript{})
	out, _ := serveExit(t, s, 0, small("p.jsonl", 3, "--max-concurrency", "1")...)
	if !strings.Contains(out, " behind the schedule, the wait for one of 1 permits in it (n=3)\n") {
		t.Errorf("with permits: %s", out)
	}
	for raw, more := range map[string][]string{"q.jsonl": nil, "r.jsonl": {"--max-concurrency", "3"}} {
		if out, _ := serveExit(t, s, 0, small(raw, 3, more...)...); !strings.Contains(out, " behind the schedule (n=3)\n") {
			t.Errorf("%v: %s", more, out)
		}
	}
}

// A server that will not be there is told from one that is starting.
func TestServeReadyCheckWords(t *testing.T) {
	t.Chdir(t.TempDir())
	untrusted := httptest.NewUnstartedServer(http.NotFoundHandler())
	untrusted.Config.ErrorLog = log.New(io.Discard, "", 0)
	untrusted.StartTLS()
	defer untrusted.Close()
	for _, harness := range [][]string{{"--harness", "exact"}, {"--harness", "vllm", "--random-input-len", "9"}} {
		args := append([]string{"bench", "serve", "--model", "preset:tiny", "--num-prompts", "1", "--ready-check-timeout-sec", "60", "--base-url"}, untrusted.URL)
		code, _, stderr := latheWith(t, nil, append(args, harness...)...)
		if code != 1 || !strings.Contains(stderr, "its certificate does not hold") || !strings.Contains(stderr, "hint: --insecure ") {
			t.Errorf("%v: exit %d: %s", harness, code, stderr)
		}
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	url := "http://" + l.Addr().String()
	l.Close()
	code, _, stderr := latheWith(t, nil, "bench", "serve", "--harness", "exact", "--model", "preset:tiny", "--num-prompts", "1", "--base-url", url, "--ready-check-timeout-sec", "2")
	if code != 1 || strings.Count(stderr, "waiting up to 2 s for the server: GET /v1/models: ") != 1 {
		t.Errorf("refused: exit %d: %s", code, stderr)
	}
	code, _, stderr = latheWith(t, nil, "bench", "serve", "--model", "preset:tiny", "--num-prompts", "1", "--random-input-len", "9", "--base-url", "http://nosuch.invalid:9")
	if code != 1 || !strings.Contains(stderr, "resolve nosuch.invalid") {
		t.Errorf("no such host: exit %d: %s", code, stderr)
	}
}

// Prompts that no machine holds are refused before one is made, whichever way they are asked for.
func TestServeRefusesPromptsBeyondMemory(t *testing.T) {
	for _, args := range [][]string{
		{"--num-prompts", "1000000000"},
		{"--random-input-len", "2000000000"},
		{"--random-prefix-len", "2000000000", "--num-prompts", "900"},
		{"--dataset-name", "prefix_repetition", "--num-prompts", "1000000000"},
		{"--harness", "sglang", "--dataset-name", "random-ids", "--num-prompts", "1000000000"},
		{"--harness", "sglang", "--dataset-name", "random", "--num-prompts", "1000000000"},
		{"--harness", "sglang", "--dataset-name", "generated-shared-prefix", "--gsp-num-groups", "1000000", "--gsp-prompts-per-group", "100000"},
		{"--harness", "exact", "--num-prompts", "1000000000"},
		{"--harness", "exact", "--num-prompts", "2", "--input-len", "2000000000000"},
	} {
		if _, known := thisMachine().memoryLimit(); !known {
			t.Skip("this system does not say how much memory it has")
		}
		code, _, stderr := latheWith(t, nil, append([]string{"bench", "serve", "--model", "preset:tiny", "--dry-run"}, args...)...)
		if code != 2 || !strings.Contains(stderr, "error: --num-prompts: ") || !strings.Contains(stderr, " of memory are allowed here\n") {
			t.Errorf("%v: exit %d: %s", args, code, stderr)
		}
	}
}
