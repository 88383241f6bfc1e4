package main

import (
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"strings"
	"testing"
)

// cacheServer answers as SGLang's server does where it is asked for the cached tokens: 3 of the device
// and as many of the host as the request's number; with apart, in a frame without choices.
func cacheServer(t *testing.T, apart bool) *scriptedServer {
	return startServed(t, servedScript{before: func(w http.ResponseWriter, r *http.Request, n int64, body map[string]any) bool {
		w.Header().Set("Content-Type", "text/event-stream")
		details := fmt.Sprintf(`"cached_tokens_details":{"device":3,"host":%d}`, n)
		ext := ""
		if body["return_cached_tokens_details"] == true {
			ext = `,"sglext":{` + details + `}`
		}
		choice := map[string]string{"/v1/completions": `{"text":" a"}`, "/v1/chat/completions": `{"delta":{"content":" a"}}`}[r.URL.Path]
		switch {
		case r.URL.Path == "/generate":
			fmt.Fprintf(w, "data: {\"text\":\" a\",\"meta_info\":{\"completion_tokens\":1,\"prompt_tokens\":9,\"cached_tokens\":%d,%s}}\n\n", 3+n, details)
		case apart:
			fmt.Fprintf(w, "data: {\"choices\":[%s]}\n\ndata: {\"choices\":[]%s}\n\n", choice, ext)
		default:
			fmt.Fprintf(w, "data: {\"choices\":[%s]%s}\n\n", choice, ext)
		}
		fmt.Fprint(w, "data: [DONE]\n\n")
		return true
	}})
}

func cacheArgs(backend, raw string, more ...string) []string {
	return append([]string{"--harness", "sglang", "--backend", backend, "--model", "preset:tiny", "--dataset-name", "random-ids", "--random-input-len", "5", "--random-output-len", "1",
		"--random-range-ratio", "1", "--num-prompts", "2", "--max-concurrency", "1", "--warmup-requests", "0", "--cache-report", "--output-details", "--raw", raw, "--output-file", raw + "l"}, more...)
}

// TestCacheReport: SGLang's cache report comes from the capture, so that report prints it again, and from
// the server only where its own backends ask for it.
func TestCacheReport(t *testing.T) {
	t.Chdir(t.TempDir())
	for i, c := range []struct {
		backend, version string
		apart            bool
		cached           int
		prompt           int
	}{
		{"sglang", "2026-11", false, 9, 18}, {"sglang", "2026-08", false, 9, 10}, {"sglang-oai", "2026-11", false, 9, 10},
		{"sglang-oai-chat", "2026-11", true, 9, 10}, {"sglang-oai-chat", "2026-08", false, 9, 10}, {"vllm", "2026-11", false, 0, 10},
	} {
		s := cacheServer(t, c.apart)
		raw := fmt.Sprintf("c%d.json", i)
		out, stderr := serveOK(t, s, cacheArgs(c.backend, raw, "--harness-version", c.version)...)
		if want := fmt.Sprintf("Cache Hit Details-----------------\nTotal prompt tokens:                     %-10d\nTotal cached tokens:                     %-10d\n", c.prompt, c.cached); !strings.Contains(out, want) {
			t.Errorf("%s, %s: no %q in\n%s", c.backend, c.version, want, out)
		}
		ours := strings.HasPrefix(c.backend, "sglang")
		if got := strings.Contains(stderr, "warning: --cache-report: --backend vllm: only the servers of the sglang backends"); got == ours {
			t.Errorf("%s: stderr %s", c.backend, stderr)
		}
		asked := strings.Contains(s.seen()[0].raw, `"return_cached_tokens_details": true`)
		if asked != (ours && c.backend != "sglang") {
			t.Errorf("%s: body %s", c.backend, s.seen()[0].raw)
		}
		if code, again, stderr := latheWith(t, nil, "report", raw); code != 0 || !strings.HasPrefix(out, again) {
			t.Errorf("%s: report: exit %d: %s\n%s\nis not\n%s", c.backend, code, stderr, again, out)
		}
		var file struct {
			Report map[string]any `json:"cache_report"`
			Tokens []int          `json:"cached_tokens"`
		}
		data, err := os.ReadFile(raw + "l")
		if err != nil {
			t.Fatal(err)
		}
		data = []byte(strings.Replace(string(data), `"request_rate": Infinity`, `"request_rate": null`, 1))
		if err := json.Unmarshal(data, &file); err != nil || file.Report["total_cached_tokens"] != float64(c.cached) || len(file.Tokens) != 2 {
			t.Errorf("%s: %v: %s", c.backend, err, data)
		}
	}
}

// TestCacheReportOfSGLangServer: on completions SGLang's client fails on the frame in which SGLang's server
// says what it was asked for.
func TestCacheReportOfSGLangServer(t *testing.T) {
	t.Chdir(t.TempDir())
	_, stderr := serveExit(t, cacheServer(t, true), 1, cacheArgs("sglang-oai", "c.json")...)
	if !strings.Contains(stderr, "none of 2 requests succeeded as sglang:sglang-oai reads them") {
		t.Error(stderr)
	}
}

// TestCacheReportField: the field takes its place among those of --extra-request-body, and wins.
func TestCacheReportField(t *testing.T) {
	t.Chdir(t.TempDir())
	s := cacheServer(t, false)
	serveOK(t, s, cacheArgs("sglang-oai-chat", "c.json", "--extra-request-body", `{"return_cached_tokens_details": 5, "zz": 1}`)...)
	if got, want := s.seen()[0].raw, `"ignore_eos": true, "return_cached_tokens_details": true, "zz": 1}`; !strings.HasSuffix(got, want) {
		t.Errorf("body %s", got)
	}
	code, out, stderr := latheWith(t, nil, append([]string{"bench", "serve", "--dry-run"}, cacheArgs("sglang-oai", "d.json")...)...)
	if code != 0 || !strings.Contains(out, "\ncache report: each request asks for return_cached_tokens_details\n") {
		t.Errorf("exit %d: %s%s", code, stderr, out)
	}
	code, out, stderr = latheWith(t, nil, append([]string{"bench", "serve", "--dry-run"}, cacheArgs("sglang", "d.json")...)...)
	if code != 0 || strings.Contains(out, "cache report") {
		t.Errorf("exit %d: %s%s", code, stderr, out)
	}
}
