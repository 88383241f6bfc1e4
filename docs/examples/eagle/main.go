// Command eagle is a server that answers as an engine with speculative decoding
// does, by a script: 71 tokens, the first after 50 ms, then a frame every 7.5 ms
// with 3 and 4 tokens in turn, 3.5 on average.
//
//	go run ./docs/examples/eagle                      # http://127.0.0.1:8000
//	go run ./docs/examples/eagle -capture capture.jsonl
//
// It speaks OpenAI's completions and chat and SGLang's generate, tells its count
// of tokens with every frame, and answers GET /server_info with an acceptance
// length of 3.5. With -capture it serves nothing and writes the raw file that a
// client without any lag would make of one answer: its stamps are the script's.
//
// It owns the script, and refuses to be a model: no request changes the answer.
package main

import (
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"log"
	"net/http"
	"os"
	"runtime"
	"strings"
	"time"
)

// The script.
const (
	tokens     = 71
	firstToken = 50 * time.Millisecond
	period     = 7500 * time.Microsecond
	usageTail  = 200 * time.Microsecond // from the last token to a frame of usage alone
	doneTail   = 300 * time.Microsecond // and to [DONE]
	accept     = 3.5
)

// step is what the engine gives at one time.
type step struct {
	at     time.Duration // since the request came
	tokens int
}

// script is the first token and then 3 and 4 in turn until all are out.
func script() []step {
	steps := []step{{firstToken, 1}}
	for left, n := tokens-1, 3; left > 0; left, n = left-n, 7-n {
		steps = append(steps, step{steps[len(steps)-1].at + period, min(n, left)})
	}
	return steps
}

// words are n words from the i-th on, a token each.
func words(i, n int) string {
	var b strings.Builder
	for k := range n {
		fmt.Fprintf(&b, " w%d", i+k+1)
	}
	return b.String()
}

// usage is the server's count so far.
type usage struct {
	PromptTokens     int `json:"prompt_tokens"`
	CompletionTokens int `json:"completion_tokens"`
}

// asked is what of a request matters.
type asked struct {
	StreamOptions struct {
		IncludeUsage bool `json:"include_usage"`
	} `json:"stream_options"`
}

const promptTokens = 8

// frame is one frame of an answer, in the shape of the endpoint.
func frame(endpoint string, text, all string, count int) any {
	u := usage{promptTokens, count}
	switch endpoint {
	case "generate":
		return map[string]any{"text": all, "meta_info": u}
	case "chat":
		return map[string]any{"choices": []any{map[string]any{"index": 0, "delta": map[string]any{"content": text}}}, "usage": u}
	}
	return map[string]any{"choices": []any{map[string]any{"index": 0, "text": text}}, "usage": u}
}

// sse is one server-sent event.
func sse(v any) []byte {
	data, err := json.Marshal(v)
	if err != nil {
		panic(err) // only maps, strings and numbers come here
	}
	return fmt.Appendf(nil, "data: %s\n\n", data)
}

// write is one write of an answer, and when it is due.
type write struct {
	at   time.Duration
	data []byte
}

// answer is the whole answer of an endpoint.
func answer(endpoint string, q asked) []write {
	var all []write
	count := 0
	text := ""
	for _, s := range script() {
		w := words(count, s.tokens)
		count, text = count+s.tokens, text+w
		data := sse(frame(endpoint, w, text, count))
		if endpoint == "chat" && len(all) == 0 { // the role comes with the first token
			data = append(sse(map[string]any{"choices": []any{map[string]any{"index": 0, "delta": map[string]any{"role": "assistant", "content": ""}}}}), data...)
		}
		all = append(all, write{s.at, data})
	}
	last := all[len(all)-1].at
	if q.StreamOptions.IncludeUsage {
		all = append(all, write{last + usageTail, sse(map[string]any{"choices": []any{}, "usage": usage{promptTokens, count}})})
	}
	return append(all, write{last + doneTail, []byte("data: [DONE]\n\n")})
}

// maxBody is how much of a request's body is read.
const maxBody = 1 << 20

func serve(endpoint string) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		start := time.Now()
		var q asked
		body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, maxBody))
		if err == nil {
			err = json.Unmarshal(body, &q)
		}
		if err != nil {
			http.Error(w, fmt.Sprintf(`{"error":{"message":%q}}`, err.Error()), http.StatusBadRequest)
			return
		}
		w.Header().Set("Content-Type", "text/event-stream")
		flusher, _ := w.(http.Flusher)
		for _, x := range answer(endpoint, q) {
			wait(start.Add(x.at))
			if _, err := w.Write(x.data); err != nil {
				return // the client is gone
			}
			flusher.Flush()
		}
	}
}

// wait sleeps until shortly before due and spins the rest, as timers of a few
// milliseconds are coarse.
func wait(due time.Time) {
	const spin = 1500 * time.Microsecond
	if d := time.Until(due) - spin; d > 0 {
		time.Sleep(d)
	}
	for time.Now().Before(due) {
		runtime.Gosched()
	}
}

func handler() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("POST /v1/completions", serve("completions"))
	mux.HandleFunc("POST /v1/chat/completions", serve("chat"))
	mux.HandleFunc("POST /generate", serve("generate"))
	mux.HandleFunc("GET /v1/models", func(w http.ResponseWriter, _ *http.Request) {
		fmt.Fprintln(w, `{"object":"list","data":[{"id":"eagle","object":"model","root":"eagle"}]}`)
	})
	mux.HandleFunc("GET /server_info", func(w http.ResponseWriter, _ *http.Request) {
		fmt.Fprintf(w, "{\"internal_states\":[{\"avg_spec_accept_length\":%v}]}\n", accept)
	})
	return mux
}

func main() {
	addr := flag.String("addr", "127.0.0.1:8000", "address to listen on")
	file := flag.String("capture", "", "write the raw file of one answer by the script, and serve nothing")
	flag.Parse()
	if *file != "" {
		if err := os.WriteFile(*file, capture(), 0o666); err != nil {
			log.Fatal(err)
		}
		return
	}
	log.Printf("a scripted answer of %d tokens at http://%s (completions, chat, generate)", tokens, *addr)
	server := &http.Server{Addr: *addr, Handler: handler(), ReadHeaderTimeout: 10 * time.Second}
	if err := server.ListenAndServe(); !errors.Is(err, http.ErrServerClosed) {
		log.Fatal(err)
	}
}
