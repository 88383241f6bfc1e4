package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

// servedScript is how the scripted server answers: frames of so many tokens at so many times.
type servedScript struct {
	first, every time.Duration
	tokens       []int // a frame, cycled; nil: 1
	reasoning    int   // first frames of a chat that carry reasoning
	cached       int   // cached_tokens of the usage, 0: not said
	acceptLength string
	metrics      []string // answers of GET /metrics, one after the other
	tokenize     func(prompt string) int
	// before is called for every generation request, with its number from 1; true says that it answered.
	before func(w http.ResponseWriter, r *http.Request, n int64, body map[string]any) bool
}

// scriptedServer is a server that speaks what the two harnesses ask for.
type scriptedServer struct {
	*http.Server
	url    string
	script servedScript
	n      atomic.Int64
	mu     sync.Mutex
	paths  []string // of every request
	bodies []seenRequest
}

// seenRequest is a generation request as it arrived.
type seenRequest struct {
	path   string
	header http.Header
	raw    string
	body   map[string]any
}

func startServed(t testing.TB, script servedScript) *scriptedServer {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	s := &scriptedServer{url: "http://" + l.Addr().String(), script: script}
	s.Server = &http.Server{Handler: s.routes()}
	go s.Serve(l)
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), time.Second)
		defer cancel()
		if s.Shutdown(ctx) != nil {
			s.Server.Close()
		}
	})
	return s
}

// port is what --port takes.
func (s *scriptedServer) port() string { return s.url[strings.LastIndexByte(s.url, ':')+1:] }

func (s *scriptedServer) routes() http.Handler {
	mux := http.NewServeMux()
	answer := func(path, body string) {
		mux.HandleFunc(path, func(w http.ResponseWriter, _ *http.Request) { io.WriteString(w, body) })
	}
	answer("GET /v1/models", `{"object":"list","data":[{"id":"served","root":"preset:tiny","object":"model"}]}`)
	answer("GET /model_info", `{"tokenizer_path":"/nowhere","model_path":"/nowhere"}`)
	answer("POST /flush_cache", "")
	answer("POST /start_profile", "")
	answer("POST /stop_profile", "")
	mux.HandleFunc("GET /server_info", func(w http.ResponseWriter, _ *http.Request) {
		accept := s.script.acceptLength
		if accept == "" {
			accept = "null"
		}
		io.WriteString(w, `{"internal_states": [{"avg_spec_accept_length": `+accept+`}], "version": "x"}`)
	})
	asked := 0
	mux.HandleFunc("GET /metrics", func(w http.ResponseWriter, _ *http.Request) {
		if len(s.script.metrics) == 0 {
			w.WriteHeader(404)
			return
		}
		io.WriteString(w, s.script.metrics[min(asked, len(s.script.metrics)-1)])
		asked++
	})
	mux.HandleFunc("POST /tokenize", func(w http.ResponseWriter, r *http.Request) {
		var in struct{ Prompt string }
		json.NewDecoder(r.Body).Decode(&in)
		n := len(in.Prompt)
		if s.script.tokenize != nil {
			n = s.script.tokenize(in.Prompt)
		}
		json.NewEncoder(w).Encode(map[string]any{"tokens": make([]int, n)})
	})
	mux.HandleFunc("POST /detokenize", func(w http.ResponseWriter, r *http.Request) {
		var in struct{ Tokens []int }
		json.NewDecoder(r.Body).Decode(&in)
		json.NewEncoder(w).Encode(map[string]any{"prompt": strings.Repeat("d", len(in.Tokens))})
	})
	for _, path := range []string{"/v1/completions", "/v1/chat/completions", "/generate", "/v1/responses"} {
		mux.HandleFunc("POST "+path, s.generate)
	}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		s.mu.Lock()
		s.paths = append(s.paths, r.Method+" "+r.URL.RequestURI())
		s.mu.Unlock()
		mux.ServeHTTP(w, r)
	})
}

func (s *scriptedServer) generate(w http.ResponseWriter, r *http.Request) {
	raw, err := io.ReadAll(r.Body)
	if err != nil {
		return
	}
	body := map[string]any{}
	if json.Unmarshal(raw, &body) != nil {
		http.Error(w, `{"error":{"message":"bad json"}}`, 400)
		return
	}
	s.mu.Lock()
	s.bodies = append(s.bodies, seenRequest{r.URL.Path, r.Header.Clone(), string(raw), body})
	s.mu.Unlock()
	n := s.n.Add(1)
	if s.script.before != nil && s.script.before(w, r, n, body) {
		return
	}
	if stream, ok := body["stream"].(bool); ok && !stream {
		s.whole(w, r.URL.Path, wantedTokens(body))
		return
	}
	s.stream(w, r, wantedTokens(body), body)
}

// wantedTokens is how many tokens a body asks for, in whichever form.
func wantedTokens(body map[string]any) int {
	fields := []any{body["max_tokens"], body["max_completion_tokens"], body["max_output_tokens"]}
	if p, ok := body["sampling_params"].(map[string]any); ok {
		fields = append(fields, p["max_new_tokens"])
	}
	for _, f := range fields {
		if n, ok := f.(float64); ok {
			return int(n)
		}
	}
	return 16
}

func (s *scriptedServer) whole(w http.ResponseWriter, path string, n int) {
	text := strings.Repeat(" a", n)
	switch path {
	case "/generate":
		fmt.Fprintf(w, `{"text":%q,"meta_info":{"completion_tokens":%d,"prompt_tokens":9}}`, text, n)
	case "/v1/chat/completions":
		fmt.Fprintf(w, `{"choices":[{"message":{"content":%q},"finish_reason":"length"}],"usage":{"completion_tokens":%d,"prompt_tokens":9}}`, text, n)
	default:
		fmt.Fprintf(w, `{"choices":[{"text":%q,"finish_reason":"length"}],"usage":{"completion_tokens":%d,"prompt_tokens":9}}`, text, n)
	}
}

// stream sends the frames, each in a write of its own.
func (s *scriptedServer) stream(w http.ResponseWriter, r *http.Request, want int, body map[string]any) {
	w.Header().Set("Content-Type", "text/event-stream")
	flush := w.(http.Flusher)
	send := func(format string, args ...any) {
		fmt.Fprintf(w, "data: "+format+"\n\n", args...)
		flush.Flush()
	}
	pattern := s.script.tokens
	if pattern == nil {
		pattern = []int{1}
	}
	usage := map[string]any{"prompt_tokens": 9, "completion_tokens": want, "total_tokens": 9 + want}
	if s.script.cached > 0 {
		usage["prompt_tokens_details"] = map[string]int{"cached_tokens": s.script.cached}
	}
	count, _ := json.Marshal(usage)
	all := ""
	time.Sleep(s.script.first)
	for sent, k := 0, 0; sent < want; k++ {
		if k > 0 {
			time.Sleep(s.script.every)
		}
		if r.Context().Err() != nil {
			return
		}
		step := min(pattern[k%len(pattern)], want-sent)
		sent += step
		text := strings.Repeat(" a", step)
		all += text
		switch r.URL.Path {
		case "/v1/completions":
			send(`{"choices":[{"index":0,"text":%q}]}`, text)
		case "/v1/chat/completions":
			key := "content"
			if k < s.script.reasoning {
				key = "reasoning"
			}
			send(`{"choices":[{"index":0,"delta":{%q:%q}}]}`, key, text)
		case "/generate":
			send(`{"text":%q,"meta_info":{"completion_tokens":%d,"prompt_tokens":9,"cached_tokens":%d}}`, all, sent, s.script.cached)
		default:
			send(`{"type":"response.output_text.delta","delta":%q}`, text)
		}
	}
	options, _ := body["stream_options"].(map[string]any)
	switch {
	case r.URL.Path == "/v1/responses":
		send(`{"type":"response.completed","response":{"usage":{"input_tokens":9,"output_tokens":%d}}}`, want)
		return
	case options["include_usage"] == true:
		send(`{"choices":[],"usage":%s}`, count)
	}
	send("[DONE]")
}

// seen are the generation requests so far, warm-ups included.
func (s *scriptedServer) seen() []seenRequest {
	s.mu.Lock()
	defer s.mu.Unlock()
	return append([]seenRequest{}, s.bodies...)
}

// asked are the paths of all requests so far.
func (s *scriptedServer) asked() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return append([]string{}, s.paths...)
}

// latheWith runs the program in this process, in the current folder, with an environment.
func latheWith(t testing.TB, env map[string]string, args ...string) (code int, stdout, stderr string) {
	t.Helper()
	var out, errs bytes.Buffer
	code = run(context.Background(), args, strings.NewReader(""), &out, &errs, func(k string) (string, bool) { v, ok := env[k]; return v, ok })
	return code, out.String(), errs.String()
}

// serveOK runs bench serve against a server and wants exit code 0.
func serveOK(t testing.TB, s *scriptedServer, args ...string) (stdout, stderr string) {
	t.Helper()
	code, stdout, stderr := latheWith(t, nil, append([]string{"bench", "serve", "--base-url", s.url}, args...)...)
	if code != 0 {
		t.Fatalf("exit %d\nstdout %s\nstderr %s", code, stdout, stderr)
	}
	return stdout, stderr
}
