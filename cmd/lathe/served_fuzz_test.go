package main

import (
	"bytes"
	"context"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// servedSeed is a capture of one answer, as bench serve writes it: the options of its header and the
// records behind it.
func servedSeed(f *testing.F, endpoint, body string, args ...string) (options, records []byte) {
	f.Helper()
	app := &application{term: newTerminal(nil, nil), env: func(string) string { return "" }, argv: args}
	cmd, o := benchServeCommand(app)
	if err := cmd.ParseFlags(args); err != nil {
		f.Fatal(err)
	}
	o.HarnessVersion = "2026-11"
	o.Used = servedUsed{ModelID: "m", ModelName: "m", Tokenizer: "name:chars", Endpoint: endpoint, BaseURL: "http://a:1"}
	options, err := json.Marshal(o)
	if err != nil {
		f.Fatal(err)
	}
	half := len(body) / 2
	text := fmt.Sprintf(`{"kind":"reads","id":"r0","reads":[{"t_ns":7,"kernel_ns":6,"b64":%q}]}
{"kind":"request","id":"r0","endpoint":%q,"prompt_len":3,"text_prompt_len":null,"vision_prompt_len":null,"requested_output_len":4,"scheduled_ns":0,"admitted_ns":1,"sent_ns":2,"connected_ns":3,"headers_ns":4,"status":200,"reason":"OK","reads":[{"t_ns":2000000000,"b64":%q}],"end":{"kind":"eof","t_ns":2000000009},"reused":false}
{"kind":"end","duration_ns":3000000000,"reason":"completed"}
`, base64.StdEncoding.EncodeToString([]byte(body[:half])), endpoint, base64.StdEncoding.EncodeToString([]byte(body[half:])))
	return options, []byte(text)
}

// FuzzServedReport: whatever stands in the header and in the records of a capture, no reading, no form
// of its report and no audit of it panics, and what is wrong is said in lines that begin with what they are.
func FuzzServedReport(f *testing.F) {
	const done = "data: [DONE]\n\n"
	completions := "data: {\"choices\":[{\"text\":\"a b\"}]}\n\ndata: {\"choices\":[{\"text\":\" c d\"}]}\n\ndata: {\"choices\":[],\"usage\":{\"prompt_tokens\":3,\"completion_tokens\":4}}\n\n" + done
	chat := "data: {\"choices\":[{\"delta\":{\"role\":\"assistant\",\"content\":\"\"}}]}\n\ndata: {\"choices\":[{\"delta\":{\"content\":\"a\"}}]}\n\ndata: {\"choices\":[{\"delta\":{\"content\":\"b\"}}]}\n\n" + done
	generate := "data: {\"text\":\"a\",\"meta_info\":{\"completion_tokens\":1}}\n\ndata: {\"text\":\"abc\",\"meta_info\":{\"completion_tokens\":3}}\n\n" + done
	for _, seed := range []struct {
		endpoint, body string
		args           []string
	}{
		{"completions", completions, []string{"--goodput", "ttft:100", "--metric-percentiles", "50,99.9"}},
		{"completions", completions, []string{"--harness", "sglang", "--backend", "sglang-oai"}},
		{"chat", chat, []string{"--harness", "vllm", "--backend", "openai-chat", "--max-concurrency", "2", "--request-rate", "4"}},
		{"generate", generate, []string{"--harness", "sglang", "--backend", "sglang"}},
		{"completions", completions, []string{"--harness", "exact"}},
	} {
		options, records := servedSeed(f, seed.endpoint, seed.body, seed.args...)
		f.Add(options, records)
		f.Add(options, bytes.Replace(records, []byte(`"status":200`), []byte(`"status":null`), 1))
		f.Add(options, bytes.ReplaceAll(records, []byte("2000000"), []byte("9000000000000")))
		f.Add(bytes.ReplaceAll(options, []byte(`0`), []byte(`-1`)), records[:len(records)/2])
		f.Add([]byte("{}"), append(append([]byte{}, records...), records...))
	}
	f.Fuzz(func(t *testing.T, options, records []byte) {
		if bytes.Contains(options, []byte("\n")) {
			return // the header is one line
		}
		path := filepath.Join(t.TempDir(), "c.jsonl")
		head := fmt.Sprintf(`{"kind":"run","schema":1,"command":"bench serve","argv":[],"started_at":"2026-01-01T00:00:00Z","workload":{"kind":"serve","model":"m","seed":0},"host":{"os":"linux","arch":"amd64"},"build":{"version":"0"},"backend":{"name":""},"options":%s,"warnings":[]}`, options)
		if err := os.WriteFile(path, append([]byte(head+"\n"), records...), 0o600); err != nil {
			t.Fatal(err)
		}
		for _, args := range [][]string{
			{"report", path, "--tokenizer", "name:chars"}, {"report", path, "--tokenizer", "none", "--format", "json"}, {"report", path, "--tokenizer", "none", "--format", "csv"},
			{"report", path, "--tokenizer", "name:words", "--format", "markdown"}, {"report", path, "--tokenizer", "none", "--format", "html"},
			{"report", path, "--semantics", "vllm:openai,sglang:sglang-oai-chat,sglang:sglang,exact", "--format", "json", "--tokenizer", "name:words"},
			{"audit", path}, {"audit", path, path, "--format", "json"},
		} {
			var stdout, stderr bytes.Buffer
			run(context.Background(), args, strings.NewReader(""), &stdout, &stderr, func(string) (string, bool) { return "", false })
			for line := range strings.Lines(stderr.String()) {
				if strings.HasPrefix(line, "error: internal:") || !strings.HasPrefix(line, "error: ") && !strings.HasPrefix(line, "warning: ") && !strings.HasPrefix(line, "hint: ") {
					t.Errorf("%q: %s", args[0], line)
				}
			}
		}
	})
}
