package workload

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"testing"
)

type goldenRow struct {
	RequestID string `json:"request_id"`
	PromptLen int    `json:"prompt_len"`
	OutputLen int    `json:"output_len"`
	IsIDs     bool   `json:"prompt_is_ids"`
	Head      string `json:"prompt_head"`
	SHA256    string `json:"prompt_sha256"`
}

// check compares a drawn request with its golden row.
func (w goldenRow) check(t *testing.T, i int, r Request) {
	t.Helper()
	got := goldenRow{r.ID, r.PromptLen, r.OutputLen, r.IDs != nil, r.Head(), r.SHA256()}
	if got != w {
		t.Errorf("request %d: %+v, want %+v", i, got, w)
	}
}

// ratios is one number or one each for input and output.
type ratios struct{ Input, Output float64 }

func (r *ratios) UnmarshalJSON(data []byte) error {
	if err := json.Unmarshal(data, &r.Input); err == nil {
		r.Output = r.Input
		return nil
	}
	type plain ratios
	return json.Unmarshal(data, (*plain)(r))
}

type vllmCase struct {
	Seed             uint64
	N                int     `json:"num_requests"`
	InputLen         int     `json:"input_len"`
	OutputLen        int     `json:"output_len"`
	RangeRatio       ratios  `json:"range_ratio"`
	PrefixLen        int     `json:"prefix_len"`
	VocabSize        int     `json:"vocab_size"`
	SpecialIDs       []int32 `json:"special_ids"`
	Around           int     `json:"num_special_tokens_to_add"`
	Tokenizer, Error string
	Requests         []goldenRow
}

type sglangCase struct {
	Seed             uint64
	N                int     `json:"num_requests"`
	InputLen         int     `json:"random_input_len"`
	OutputLen        int     `json:"random_output_len"`
	RangeRatio       float64 `json:"random_range_ratio"`
	VocabSize        int     `json:"vocab_size"`
	Around           int     `json:"num_special_tokens_to_add"`
	Tokenizer, Error string
	Dataset          string
	TokenizePrompt   bool `json:"tokenize_prompt"`
	Sharegpt         json.RawMessage
	Rows             []goldenRow
	NextUniform      float64 `json:"next_uniform"`
}

func readGolden[T any](t *testing.T, name string, want int) []T {
	t.Helper()
	data, err := os.ReadFile(filepath.Join("testdata", name))
	if err != nil {
		t.Fatal(err)
	}
	var file struct{ Cases []T }
	if err := json.Unmarshal(data, &file); err != nil {
		t.Fatal(err)
	}
	if len(file.Cases) != want {
		t.Fatalf("%s: %d cases, want %d", name, len(file.Cases), want)
	}
	return file.Cases
}

// The functions are the same in both versions of the harnesses, so the golden
// data stand for both.
func TestVLLMRandomEqualsGolden(t *testing.T) {
	for i, c := range readGolden[vllmCase](t, "random-vllm.json", 11) {
		t.Run(fmt.Sprint(i), func(t *testing.T) {
			tok := spelled{vocab: c.VocabSize, special: c.SpecialIDs, around: c.Around, kind: c.Tokenizer}
			d := VLLMRandom{N: c.N, InputLen: c.InputLen, OutputLen: c.OutputLen, PrefixLen: c.PrefixLen,
				InputRatio: c.RangeRatio.Input, OutputRatio: c.RangeRatio.Output, Seed: c.Seed, IDPrefix: "bench-0-"}
			set, err := d.Sample(nil, tok)
			if c.Error != "" {
				if !errors.Is(err, ErrLengths) {
					t.Errorf("error %v, want one of lengths (%s)", err, c.Error)
				}
				return
			}
			if err != nil || len(set.Requests) != len(c.Requests) {
				t.Fatalf("%d requests, want %d: %v", len(set.Requests), len(c.Requests), err)
			}
			for k, want := range c.Requests {
				want.check(t, k, set.Requests[k])
			}
		})
	}
}

func TestSGLangRandomEqualsGolden(t *testing.T) {
	for i, c := range readGolden[sglangCase](t, "random-sglang.json", 8) {
		t.Run(fmt.Sprint(i), func(t *testing.T) {
			tok := spelled{vocab: c.VocabSize, around: c.Around, kind: c.Tokenizer}
			d := SGLangRandom{N: c.N, InputLen: c.InputLen, OutputLen: c.OutputLen, Ratio: c.RangeRatio,
				SendIDs: c.TokenizePrompt, FromSharegpt: c.Dataset == "random"}
			if d.FromSharegpt {
				rows, err := ReadConversations(bytes.NewReader(c.Sharegpt))
				if err != nil {
					t.Fatal(err)
				}
				d.Conversations = rows
			}
			s := streams(t, c.Seed)
			set, err := d.Sample(s, tok)
			if c.Error != "" {
				if !errors.Is(err, ErrLengths) {
					t.Errorf("error %v, want one of lengths (%s)", err, c.Error)
				}
				return
			}
			if err != nil || len(set.Requests) != len(c.Rows) {
				t.Fatalf("%d requests, want %d: %v", len(set.Requests), len(c.Rows), err)
			}
			for k, want := range c.Rows {
				want.check(t, k, set.Requests[k])
			}
			if got := s.NumPy.Float64(); got != c.NextUniform {
				t.Errorf("the stream goes on with %v, want %v", got, c.NextUniform)
			}
		})
	}
}

// TestGoldenCopies compares testdata with the shared golden folder where that
// lies beside the repository.
func TestGoldenCopies(t *testing.T) {
	shared := filepath.Join("..", "..", "..", "shared", "golden", "serving")
	if _, err := os.Stat(shared); err != nil {
		t.Skip("no shared golden folder beside the repository")
	}
	for _, name := range []string{"random-vllm.json", "random-sglang.json"} {
		want, err := os.ReadFile(filepath.Join(shared, name))
		if err != nil {
			t.Fatal(err)
		}
		if got, err := os.ReadFile(filepath.Join("testdata", name)); err != nil || !bytes.Equal(got, want) {
			t.Errorf("%s differs from its golden file (%v)", name, err)
		}
	}
}

var _ = []Dataset{VLLMRandom{}, SGLangRandom{}, VLLMShareGPT{}, SGLangShareGPT{}, VLLMSonnet{}, VLLMCustom{},
	VLLMPrefixRepetition{}, SGLangSharedPrefix{}, VLLMBurstGPT{}, VLLMTimedTrace{}, Fixed{}}
