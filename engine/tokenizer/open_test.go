package tokenizer_test

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"lathe/engine/tokenizer"
)

func TestOpenRefusesDamagedFiles(t *testing.T) {
	sound, err := os.ReadFile("testdata/tiny/tokenizer.json")
	if err != nil {
		t.Fatal(err)
	}
	swap := func(old, with string) string {
		if !strings.Contains(string(sound), old) {
			t.Fatalf("the file has no %q", old)
		}
		return strings.Replace(string(sound), old, with, 1)
	}
	for _, c := range []struct{ name, text, class, mention string }{
		{"empty", "", "tokenizer", "not JSON"},
		{"cut", string(sound[:len(sound)/2]), "tokenizer", "ends early"},
		{"two values", string(sound) + "{}", "tokenizer", "not JSON"},
		{"a list", "[]", "tokenizer", "not a tokenizer"},
		{"no model", "{}", "tokenizer", "vocab"},
		{"no tokens", `{"model":{"type":"BPE","vocab":{},"merges":[]}}`, "tokenizer", "no tokens"},
		{"negative id", swap("\"\u00ab\": 171", "\"\u00ab\": -1"), "tokenizer", "range"},
		{"huge id", swap(`"id": 255`, `"id": 4294967295`), "tokenizer", "range"},
		{"huge vocab id", swap(`"<|eos|>": 255`, `"<|eos|>": 9007199254740993`), "tokenizer", "range"},
		{"fractional id", swap(`"id": 255`, `"id": 255.5`), "tokenizer", "added_tokens"},
		{"vocab of texts", swap(`"<|eos|>": 255`, `"<|eos|>": "255"`), "tokenizer", "vocab"},
		{"unknown decoder", `{"model":{"type":"BPE","vocab":{"a":0},"merges":[]},"decoder":{"type":"WordPiece"}}`, "unsupported", "WordPiece"},
		{"strip at the end", `{"model":{"type":"BPE","vocab":{"a":0},"merges":[]},"decoder":{"type":"Sequence","decoders":[{"type":"Fuse"}, {"type":"Strip","content":" ","start":0,"stop":1}]}}`, "unsupported", "Strip"},
	} {
		t.Run(c.name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "tokenizer.json")
			if err := os.WriteFile(path, []byte(c.text), 0o644); err != nil {
				t.Fatal(err)
			}
			checkClass(t, path, c.class, path, c.mention)
			checkClass(t, filepath.Dir(path), c.class, path, c.mention)
		})
	}
}

func checkClass(t *testing.T, path, class string, mention ...string) {
	t.Helper()
	_, err := tokenizer.Open(path)
	var e *tokenizer.Error
	if !errors.As(err, &e) || e.Class != class {
		t.Fatalf("%s: error %v, want class %s", path, err, class)
	}
	if text := err.Error(); !strings.HasPrefix(text, "tokenizer "+e.Path+": ") || strings.Count(text, e.Path) != 1 {
		t.Errorf("the error %q is not \"tokenizer PATH: why\" with the path once", text)
	}
	for _, m := range mention {
		if !strings.Contains(strings.ToLower(err.Error()), strings.ToLower(m)) {
			t.Errorf("%s: the error %q does not mention %q", path, err, m)
		}
	}
}

// TestGoldenMalformed: the shared cases. A larger tokenizer opens; CheckVocab refuses it (open_rust_test.go).
func TestGoldenMalformed(t *testing.T) {
	checkClass(t, "testdata/malformed/tokenizer-truncated", "tokenizer", "tokenizer.json")
	checkClass(t, filepath.Join(t.TempDir(), "tokenizer-absent"), "missing_file", "tokenizer-absent")
	empty := t.TempDir()
	checkClass(t, empty, "missing_file", filepath.Join(empty, "tokenizer.json"))
}
