package main

import (
	"bufio"
	"bytes"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"testing"
	"time"
)

func TestScript(t *testing.T) {
	steps := script()
	sum := 0
	for _, s := range steps {
		sum += s.tokens
	}
	if len(steps) != 21 || sum != tokens || steps[20].at != 200*time.Millisecond {
		t.Errorf("%d steps, %d tokens, the last at %v; want 21, %d, 200 ms", len(steps), sum, steps[20].at, tokens)
	}
	if each := float64(sum-1) / float64(len(steps)-1); each != accept {
		t.Errorf("%v tokens a step, want %v", each, accept)
	}
}

// TestCaptureIsTheScripts: the committed capture is what the program writes.
func TestCaptureIsTheScripts(t *testing.T) {
	kept, err := os.ReadFile("capture.jsonl")
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(kept, capture()) {
		t.Error("capture.jsonl is not what -capture writes: go run ./docs/examples/eagle -capture docs/examples/eagle/capture.jsonl")
	}
}

// TestServes asks each endpoint: the frames come in their order, with a frame of
// usage alone where it is asked for, and never earlier than the script says.
func TestServes(t *testing.T) {
	server := httptest.NewServer(handler())
	defer server.Close()
	for path, want := range map[string]int{"/v1/completions": 21 + 1 + 1, "/v1/chat/completions": 1 + 21 + 1 + 1, "/generate": 21 + 1 + 1} {
		start := time.Now()
		r, err := http.Post(server.URL+path, "application/json", strings.NewReader(`{"prompt":"x","stream_options":{"include_usage":true}}`))
		if err != nil {
			t.Fatal(err)
		}
		events, lines := 0, bufio.NewScanner(r.Body)
		done := false
		for lines.Scan() {
			if data, ok := strings.CutPrefix(lines.Text(), "data: "); ok {
				events++
				done = data == "[DONE]"
			}
		}
		r.Body.Close()
		if events != want || !done {
			t.Errorf("%s: %d events, [DONE] last: %v; want %d", path, events, done, want)
		}
		if took := time.Since(start); took < 200*time.Millisecond {
			t.Errorf("%s: all of it within %v", path, took)
		}
	}
	r, err := http.Post(server.URL+"/generate", "application/json", strings.NewReader("{"))
	if err != nil {
		t.Fatal(err)
	}
	r.Body.Close()
	if r.StatusCode != http.StatusBadRequest {
		t.Errorf("half a body: status %d", r.StatusCode)
	}
}
