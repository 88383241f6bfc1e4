package report

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"lathe/bench/serving"
)

// The seed's speculative stream, frames of 3 and 4 tokens every 7.5 ms, in all
// readings beside each other.
func TestEagleSideBySide(t *testing.T) {
	c := loadCorpus(t)
	var got bytes.Buffer
	for _, of := range []struct {
		scenario string
		names    []string
	}{
		{"eagle-chat-1", []string{"vllm:openai-chat", "sglang:sglang-oai-chat", "sglang:vllm-chat", "exact"}},
		{"eagle-generate-1", []string{"sglang:sglang", "exact"}},
		{"zero-duration-chat-2", []string{"vllm:openai-chat", "sglang:vllm-chat", "exact"}},
		{"error-mid-chat-1", []string{"vllm:openai-chat", "exact"}},
	} {
		for i := range c.scenarios {
			if s := &c.scenarios[i]; s.Name == of.scenario {
				got.WriteString("# " + s.Name + "\n")
				opt := s.options(serving.August)
				if err := ServingTable(&got, read(t, bytes.NewReader(lines(t, s.records(t))), of.names, opt)); err != nil {
					t.Fatal(err)
				}
			}
		}
	}
	if strings.Count(got.String(), "# ") != 4 {
		t.Fatal("a scenario is missing")
	}
	path := filepath.Join("testdata", "serving-tables.txt")
	want, err := os.ReadFile(path)
	if err != nil {
		t.Log(err)
	}
	if !bytes.Equal(got.Bytes(), want) {
		t.Errorf("%s\nrecorded in %s:\n%s", got.String(), path, want)
	}
}
