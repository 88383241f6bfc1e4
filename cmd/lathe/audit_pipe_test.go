//go:build unix

package main

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

// TestAuditOfPipes: what a shell's <(…) gives can be read only once, and says the same as the file.
func TestAuditOfPipes(t *testing.T) {
	folder := filepath.Join("..", "..", "bench", "audit", "testdata")
	options := `{"kind":"run","schema":1,"command":"bench serve","options":{}}
{"kind":"request","id":"r0","endpoint":"completions","prompt_len":3,"requested_output_len":1,"scheduled_ns":0,"sent_ns":0,"status":200,"reads":[{"t_ns":9,"b64":"ZGF0YTogeyJjaG9pY2VzIjpbeyJpbmRleCI6MCwidGV4dCI6ImEifV19Cgo="},{"t_ns":11,"b64":"ZGF0YTogW0RPTkVdCgo="}],"end":{"kind":"eof","t_ns":20}}
{"kind":"end","duration_ns":30,"reason":"completed"}
`
	dir := t.TempDir()
	capture := filepath.Join(dir, "capture.jsonl")
	if err := os.WriteFile(capture, []byte(options), 0o600); err != nil {
		t.Fatal(err)
	}
	audit := func(paths ...string) (string, int) {
		var out, errs bytes.Buffer
		code := run(context.Background(), append([]string{"audit"}, paths...), strings.NewReader(""), &out, &errs, func(string) (string, bool) { return "", false })
		return out.String() + errs.String(), code
	}
	for _, files := range [][]string{{filepath.Join(folder, "vllm-python.json")}, {capture}, {capture, filepath.Join(folder, "sglang-python.jsonl")}} {
		var pipes []string
		for i, path := range files {
			pipe := filepath.Join(dir, string(rune('a'+i))+"-"+filepath.Base(path))
			pipes = append(pipes, pipe)
			if err := syscall.Mkfifo(pipe, 0o600); err != nil {
				t.Fatal(err)
			}
			text, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			go func() { _ = os.WriteFile(pipe, text, 0o600) }()
		}
		got, code := audit(pipes...)
		want, wantCode := audit(files...)
		for i := range pipes {
			got = strings.ReplaceAll(got, filepath.Base(pipes[i]), filepath.Base(files[i]))
			if err := os.Remove(pipes[i]); err != nil {
				t.Fatal(err)
			}
		}
		plain := func(s string) string { return strings.Join(strings.Fields(s), " ") }
		if plain(got) != plain(want) || code != wantCode || want == "" {
			t.Errorf("exit %d, %s\nwant %d, %s", code, got, wantCode, want)
		}
	}
}
