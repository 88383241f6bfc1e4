package tokenizer_test

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"
)

// TestGoldenCopies: the data in testdata is the shared golden data, byte for byte, where that is at hand.
func TestGoldenCopies(t *testing.T) {
	shared := sharedGolden(t)
	for ours, theirs := range map[string]string{
		"encode.json":                "tokenizer/encode.json",
		"stream.json":                "tokenizer/stream.json",
		"chat-smollm2.json":          "tokenizer/chat-smollm2.json",
		"tiny/tokenizer.json":        "engine/tiny/tokenizer.json",
		"tiny/tokenizer_config.json": "engine/tiny/tokenizer_config.json",
		"malformed/tokenizer-truncated/tokenizer.json": "engine/malformed/tokenizer-truncated/tokenizer.json",
		"malformed/tokenizer-larger/tokenizer.json":    "engine/malformed/tokenizer-larger/tokenizer.json",
	} {
		a, err := os.ReadFile(filepath.Join("testdata", ours))
		if err != nil {
			t.Fatal(err)
		}
		b, err := os.ReadFile(filepath.Join(shared, theirs))
		if err != nil {
			t.Fatal(err)
		}
		if !bytes.Equal(a, b) {
			t.Errorf("testdata/%s differs from %s", ours, theirs)
		}
	}
}

// sharedGolden finds the shared data beside the repository.
func sharedGolden(t testing.TB) string {
	t.Helper()
	root, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	for {
		if _, err := os.Stat(filepath.Join(root, "go.mod")); err == nil {
			break
		}
		up := filepath.Dir(root)
		if up == root {
			t.Fatal("no go.mod above the test")
		}
		root = up
	}
	shared := filepath.Join(root, "..", "shared", "golden")
	if _, err := os.Stat(shared); err != nil {
		t.Skipf("no shared golden data: %v", err)
	}
	return shared
}
