package main

import (
	"os"
	"strings"
	"testing"
)

// TestServeSecrets: keys and passwords reach the server and stand nowhere else.
func TestServeSecrets(t *testing.T) {
	t.Chdir(t.TempDir())
	s := startServed(t, servedScript{})
	for _, harness := range []string{"--harness vllm --random-input-len 4 --random-output-len 1", "--harness sglang --dataset-name random-ids --random-input-len 4 --random-output-len 1 --warmup-requests 0",
		"--harness exact --input-len 4 --output-len 1"} {
		raw := "c-" + strings.Fields(harness)[1] + ".jsonl"
		before := len(s.seen())
		env := map[string]string{"OPENAI_API_KEY": "sesame-key", "http_proxy": "http://me:sesame-proxy@127.0.0.1:9"}
		code, stdout, stderr := latheWith(t, env, append([]string{"bench", "serve", "--base-url", s.url, "--model", "preset:tiny", "--num-prompts", "2", "--raw", raw, "--header", "X-Token=sesame-header", "--proxy", "env"},
			strings.Fields(harness)...)...)
		if code != 0 {
			t.Fatalf("%s: exit %d: %s", harness, code, stderr)
		}
		data, err := os.ReadFile(raw)
		if err != nil {
			t.Fatal(err)
		}
		for _, text := range []string{string(data), stdout, stderr} {
			if strings.Contains(text, "sesame") {
				t.Errorf("%s: a secret in %.300s", harness, text[strings.Index(text, "sesame")-100:])
			}
		}
		if q := s.seen()[before]; q.header.Get("Authorization") != "Bearer sesame-key" || q.header.Get("X-Token") != "sesame-header" {
			t.Errorf("%s: header %v", harness, q.header)
		}
		if !strings.Contains(stdout, "; proxy: none\n") || !strings.Contains(string(data), `"OPENAI_API_KEY"`) {
			t.Errorf("%s: loopback through a proxy, or the key is not noted:\n%s", harness, stdout)
		}
	}
}

// TestP112_ProxyOfARun: proxies of the environment are for who asks, never for this machine, and what
// fails behind one says so.
func TestP112_ProxyOfARun(t *testing.T) {
	t.Chdir(t.TempDir())
	env := map[string]string{"HTTP_PROXY": "http://127.0.0.1:9"}
	args := []string{"bench", "serve", "--harness", "exact", "--model", "preset:tiny", "--num-prompts", "1", "--input-len", "4", "--output-len", "1", "--base-url", "http://server.invalid:8000",
		"--ready-check-timeout-sec", "0", "--num-warmups", "0"}
	code, stdout, stderr := latheWith(t, env, append(args, "--proxy", "env")...)
	if code != 1 || !strings.Contains(stdout+stderr, "via proxy") || !strings.Contains(stdout, "127.0.0.1:9") {
		t.Errorf("exit %d: %s%s", code, stdout, stderr)
	}
	if code, stdout, stderr := latheWith(t, env, args...); code != 1 || !strings.Contains(stderr, "server.invalid") || strings.Contains(stdout+stderr, "127.0.0.1:9") {
		t.Errorf("without --proxy env: exit %d: %s%s", code, stdout, stderr)
	}
}
