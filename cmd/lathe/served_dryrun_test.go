package main

import (
	"encoding/json"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// goldenCases reads the cases of a golden file of one of the packages of the client.
func goldenCases[T any](t *testing.T, pkg, name string) []T {
	t.Helper()
	data, err := os.ReadFile(filepath.Join("..", "..", "bench", pkg, "testdata", name))
	if err != nil {
		t.Fatal(err)
	}
	var file struct{ Cases []T }
	if err := json.Unmarshal(data, &file); err != nil || len(file.Cases) == 0 {
		t.Fatalf("%s: %d cases: %v", name, len(file.Cases), err)
	}
	return file.Cases
}

// plannedRun is what --dry-run --format json prints.
type plannedRun struct {
	Arrivals struct {
		Offsets []float64   `json:"offsets_s"`
		Rates   []unbounded `json:"rates"`
	}
	Requests []plannedRow
}

type plannedRow struct {
	PromptLen    int    `json:"prompt_len"`
	OutputLen    int    `json:"output_len"`
	PromptSHA256 string `json:"prompt_sha256"`
	PromptHead   string `json:"prompt_head"`
}

// planned runs bench serve --dry-run --format json and wants exit code 0.
func planned(t *testing.T, args ...string) plannedRun {
	t.Helper()
	code, stdout, stderr := latheWith(t, nil, append([]string{"bench", "serve", "--dry-run", "--format", "json"}, args...)...)
	if code != 0 {
		t.Fatalf("%q: exit %d: %s", args, code, stderr)
	}
	var p plannedRun
	d := json.NewDecoder(strings.NewReader(stdout))
	d.DisallowUnknownFields()
	if err := d.Decode(&p); err != nil {
		t.Fatalf("%v in %.300s", err, stdout)
	}
	return p
}

// refusedPlan wants a refusal of the command line.
func refusedPlan(t *testing.T, args ...string) {
	t.Helper()
	code, stdout, stderr := latheWith(t, nil, append([]string{"bench", "serve", "--dry-run", "--format", "json"}, args...)...)
	if code != 2 || stdout != "" || !strings.HasPrefix(stderr, "error: ") {
		t.Errorf("%q: exit %d: %s%.200s", args, code, stderr, stdout)
	}
}

// near allows what the golden data allow of a number that passed through log and pow.
func near(t *testing.T, what string, got, want []float64) {
	t.Helper()
	if len(got) != len(want) {
		t.Fatalf("%s: %d values, want %d", what, len(got), len(want))
	}
	for i, w := range want {
		if got[i] != w && math.Abs(got[i]-w) > 1e-12*math.Abs(w) {
			t.Fatalf("%s: value %d is %v, want %v", what, i, got[i], w)
		}
	}
}

func rateText(x unbounded) string {
	text, _ := x.MarshalJSON()
	return strings.Trim(string(text), `"`)
}

func lines(n int, line string) string { return strings.Repeat(line+"\n", n) }

func write(t *testing.T, name, text string) {
	t.Helper()
	if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

// TestServeArrivalsVLLM plans every arrival schedule of the golden data through the command line.
func TestServeArrivalsVLLM(t *testing.T) {
	cases := goldenCases[struct {
		Seed       int
		N          int       `json:"num_requests"`
		Rate       unbounded `json:"request_rate"`
		Burstiness unbounded
		Ramp       *string     `json:"ramp_up_strategy"`
		Start      *int        `json:"ramp_up_start_rps"`
		End        *int        `json:"ramp_up_end_rps"`
		Timestamps []*float64  `json:"timestamps"`
		Offsets    []float64   `json:"offsets_s"`
		Rates      []unbounded `json:"request_rates"`
		Error      *string
	}](t, "arrival", "arrivals-vllm.json")
	t.Chdir(t.TempDir())
	for _, version := range versionNames() {
		for i, c := range cases {
			args := []string{"--model", "preset:tiny", "--harness-version", version, "--seed", strconv.Itoa(c.Seed), "--num-prompts", strconv.Itoa(c.N)}
			if c.Timestamps == nil {
				args = append(args, "--random-input-len", "4", "--random-output-len", "1", "--burstiness", rateText(c.Burstiness), "--request-rate", rateText(c.Rate))
			} else { // a row without a time has the time 0
				var rows strings.Builder
				for _, s := range c.Timestamps {
					at := 0.0
					if s != nil {
						at = *s
					}
					fmt.Fprintf(&rows, "{\"timestamp\": %v, \"input_length\": 16, \"output_length\": 1, \"hash_ids\": [1]}\n", at)
				}
				write(t, "trace.jsonl", rows.String())
				args = append(args, "--dataset-name", "timed_trace", "--dataset-path", "trace.jsonl")
			}
			if c.Ramp != nil {
				args = append(args, "--ramp-up-strategy", *c.Ramp, "--ramp-up-start-rps", strconv.Itoa(*c.Start), "--ramp-up-end-rps", strconv.Itoa(*c.End))
			}
			t.Run(fmt.Sprintf("%s/%d", version, i), func(t *testing.T) {
				if downward := c.Ramp != nil && *c.Start > *c.End; c.Error != nil || downward { // vLLM's command line refuses these too
					refusedPlan(t, args...)
					return
				}
				p := planned(t, args...)
				near(t, "offsets", p.Arrivals.Offsets, c.Offsets)
				if len(p.Requests) != c.N {
					t.Errorf("%d requests", len(p.Requests))
				}
				for k, want := range c.Rates {
					if got := p.Arrivals.Rates[k]; rateText(got) != rateText(want) && math.Abs(float64(got-want)) > 1e-12*float64(want) {
						t.Errorf("rate %d is %v, want %v", k, got, want)
					}
				}
			})
		}
	}
}

// TestServeArrivalsSGLang likewise; a prelude is what the dataset draws before.
func TestServeArrivalsSGLang(t *testing.T) {
	cases := goldenCases[struct {
		Seed    int
		N       int       `json:"num_requests"`
		Rate    unbounded `json:"request_rate"`
		Prelude *struct {
			Dataset    string
			InputLen   int     `json:"random_input_len"`
			OutputLen  int     `json:"random_output_len"`
			RangeRatio float64 `json:"random_range_ratio"`
			VocabSize  int     `json:"vocab_size"`
		}
		Sends []float64 `json:"sends_s"`
	}](t, "arrival", "arrivals-sglang.json")
	t.Chdir(t.TempDir())
	write(t, "c.jsonl", lines(100, `{"conversations": [{"content": "one two three four"}, {"content": "five six seven eight"}]}`))
	for _, version := range versionNames() {
		for i, c := range cases {
			args := []string{"--harness", "sglang", "--model", "m", "--harness-version", version, "--seed", strconv.Itoa(c.Seed), "--num-prompts", strconv.Itoa(c.N), "--request-rate", rateText(c.Rate)}
			if p := c.Prelude; p == nil {
				args = append(args, "--dataset-name", "custom", "--dataset-path", "c.jsonl", "--tokenizer", "name:words")
			} else {
				args = append(args, "--dataset-name", p.Dataset, "--random-input-len", strconv.Itoa(p.InputLen), "--random-output-len", strconv.Itoa(p.OutputLen),
					"--random-range-ratio", fmt.Sprint(p.RangeRatio), "--tokenizer", spelledTokenizer(t, max(p.VocabSize, 1000), nil, 0))
			}
			t.Run(fmt.Sprintf("%s/%d", version, i), func(t *testing.T) {
				near(t, "offsets", planned(t, args...).Arrivals.Offsets, c.Sends)
			})
		}
	}
}

// spelledTokenizer writes a tokenizer whose text is ids in decimal with blanks between them, as the
// golden data's; around is how many tokens it puts in front of a sequence.
func spelledTokenizer(t *testing.T, vocab int, special []int, around int) string {
	t.Helper()
	path := fmt.Sprintf("tok-%d-%v-%d.json", vocab, special, around)
	if _, err := os.Stat(path); err == nil {
		return path
	}
	words := make(map[string]int, vocab)
	for i := range vocab {
		words[strconv.Itoa(i)] = i
	}
	added := []any{}
	for _, id := range special { // no prompt has them, and their text may not be a part of another's
		content := fmt.Sprintf("<%d>", id)
		delete(words, strconv.Itoa(id))
		words[content] = id
		added = append(added, map[string]any{"id": id, "content": content, "special": true, "single_word": false, "lstrip": false, "rstrip": false, "normalized": false})
	}
	frame, single := "1", []any{}
	if slices.Contains(special, 1) {
		frame = "<1>"
	}
	for range around {
		single = append(single, map[string]any{"SpecialToken": map[string]any{"id": frame, "type_id": 0}})
	}
	single = append(single, map[string]any{"Sequence": map[string]any{"id": "A", "type_id": 0}})
	text, err := json.Marshal(map[string]any{"version": "1.0", "added_tokens": added, "normalizer": nil, "pre_tokenizer": map[string]any{"type": "WhitespaceSplit"}, "decoder": nil,
		"post_processor": map[string]any{"type": "TemplateProcessing", "single": single, "pair": single,
			"special_tokens": map[string]any{frame: map[string]any{"id": frame, "ids": []int{1}, "tokens": []string{frame}}}},
		"model": map[string]any{"type": "WordLevel", "vocab": words, "unk_token": "49"}})
	if err != nil {
		t.Fatal(err)
	}
	write(t, path, string(text))
	return path
}

// drawnCase is a random dataset of the golden data, of either harness.
type drawnCase struct {
	Seed      int
	N         int   `json:"num_requests"`
	Vocab     int   `json:"vocab_size"`
	Special   []int `json:"special_ids"`
	Around    int   `json:"num_special_tokens_to_add"`
	Tokenizer string
	Error     *string

	InputLen  int             `json:"input_len"` // vLLM's
	OutputLen int             `json:"output_len"`
	Ratio     json.RawMessage `json:"range_ratio"`
	PrefixLen int             `json:"prefix_len"`
	Requests  []plannedRow

	RandomInputLen  int     `json:"random_input_len"` // SGLang's
	RandomOutputLen int     `json:"random_output_len"`
	RandomRatio     float64 `json:"random_range_ratio"`
	Dataset         string
	IDs             bool `json:"tokenize_prompt"`
	ShareGPT        json.RawMessage
	Rows            []plannedRow
}

// flags are the command line of a case, and the rows that it has to draw.
func (c drawnCase) flags(t *testing.T, version string) (args []string, want []plannedRow) {
	args = []string{"--model", "m", "--harness-version", version, "--seed", strconv.Itoa(c.Seed), "--num-prompts", strconv.Itoa(c.N), "--tokenizer", spelledTokenizer(t, c.Vocab, c.Special, c.Around)}
	if c.Dataset == "" {
		return append(args, "--random-input-len", strconv.Itoa(c.InputLen), "--random-output-len", strconv.Itoa(c.OutputLen), "--random-range-ratio", string(c.Ratio),
			"--random-prefix-len", strconv.Itoa(c.PrefixLen)), c.Requests
	}
	args = append(args, "--harness", "sglang", "--dataset-name", c.Dataset, "--random-input-len", strconv.Itoa(c.RandomInputLen), "--random-output-len", strconv.Itoa(c.RandomOutputLen),
		"--random-range-ratio", fmt.Sprint(c.RandomRatio))
	if c.IDs {
		args = append(args, "--tokenize-prompt")
	}
	if c.ShareGPT != nil {
		write(t, "sharegpt.json", string(c.ShareGPT))
		args = append(args, "--dataset-path", "sharegpt.json")
	}
	return args, c.Rows
}

// TestServeDatasets draws every random dataset of the golden data whose tokenizer can be written as a
// file, through the command line.
func TestServeDatasets(t *testing.T) {
	cases := append(goldenCases[drawnCase](t, "workload", "random-vllm.json"), goldenCases[drawnCase](t, "workload", "random-sglang.json")...)
	t.Chdir(t.TempDir())
	checked := 0
	for _, version := range versionNames() {
		for _, c := range cases {
			if c.Tokenizer != "identity" || testing.Short() && c.Vocab > 40000 { // a large vocabulary takes a second to open
				continue
			}
			checked++
			args, want := c.flags(t, version)
			if c.Error != nil {
				refusedPlan(t, args...)
				continue
			}
			if diff := cmp.Diff(want, planned(t, args...).Requests); diff != "" {
				t.Errorf("%q: -want +got\n%s", args, diff)
			}
		}
	}
	if checked < 2*14 && !testing.Short() {
		t.Errorf("%d cases were checked", checked)
	}
}
