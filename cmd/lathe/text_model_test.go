package main

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestInvalidUTF8 finds the first byte that is not UTF-8.
func TestInvalidUTF8(t *testing.T) {
	for text, want := range map[string]int{"": -1, "déjà \ufffd": -1, "a\xff": 1, "dé\xc3": 3, "\xed\xa0\x80": 0, "a\xf0\x9f\x98": 1} {
		if got := invalidUTF8(text); got != want {
			t.Errorf("%q: %d, want %d", text, got, want)
		}
	}
}

// TestPromptsAreUTF8: a byte that is none would become another text in the tokenizer.
func TestPromptsAreUTF8(t *testing.T) {
	path := filepath.Join(t.TempDir(), "prompts.txt")
	if err := os.WriteFile(path, []byte("fine\n\xe9t\xe9\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		want string
		args []string
	}{
		{"error: read prompts: " + path + ": byte 5: not UTF-8\n", []string{"bench", "one-batch", "--model", "preset:tiny", "--dry-run", "--prompt-filename", path}},
		{"error: generate: prompt: byte 2: not UTF-8\n", []string{"generate", "ab\xff", "--model", "preset:tiny"}},
		{"error: generate: prompt: byte 0: not UTF-8\n", []string{"generate", "\x80", "--model", "preset:tiny", "--chat"}},
	} {
		var stdout, stderr bytes.Buffer
		code := run(t.Context(), c.args, strings.NewReader(""), &stdout, &stderr, func(string) (string, bool) { return "", false })
		if code != exitUsage || stderr.String() != c.want || stdout.Len() > 0 {
			t.Errorf("%q: exit %d, %q, %q", c.args, code, stderr.String(), stdout.String())
		}
	}
}
