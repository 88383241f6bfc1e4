package workload

import (
	"compress/gzip"
	"encoding/json"
	"fmt"
	"os"
	"strings"
	"testing"
)

// datasetCase is a case of datasets.json.gz: what the released harnesses drew.
type datasetCase struct {
	Dataset     string
	Seed        uint64
	StreamSeed  *uint64 `json:"stream_seed"`
	N           int
	InputLen    int `json:"input_len"`
	OutputLen   int `json:"output_len"`
	PrefixLen   int `json:"prefix_len"`
	SuffixLen   int `json:"suffix_len"`
	ContextLen  int `json:"context_len"`
	Suffix      string
	Template    bool
	Around      int
	Vocab       int
	Tokenizer   string
	NoShuffle   bool `json:"no_shuffle"`
	Oversample  bool
	Groups      int
	PerGroup    int `json:"per_group"`
	SystemLen   int `json:"system_len"`
	QuestionLen int `json:"question_len"`
	Ratio       float64
	Turns       int
	Ordered     bool
	Fast        bool
	SendIDs     bool `json:"send_ids"`
	Alpha       float64
	File        string
	Rows        []goldenRow
	NextUniform float64 `json:"next_uniform"`
	NextPython  float64 `json:"next_python"`
}

func (c datasetCase) tokenizer() spelled {
	vocab := c.Vocab
	if vocab == 0 {
		vocab = 1000
	}
	return spelled{vocab: vocab, around: c.Around, kind: c.Tokenizer}
}

func (c datasetCase) template() ChatTemplate {
	if !c.Template {
		return nil
	}
	return func(user string) (string, error) { return "<s>[user] " + user + " [assistant] ", nil }
}

func (c datasetCase) shortage() Shortage {
	if c.Oversample {
		return Repeat
	}
	return Truncate
}

// dataset is the case's dataset with its file read.
func (c datasetCase) dataset() (Dataset, error) {
	file := strings.NewReader(c.File)
	switch c.Dataset {
	case "vllm-sharegpt":
		rows, err := ReadConversations(file)
		return VLLMShareGPT{N: c.N, Conversations: rows, OutputLen: c.OutputLen, Seed: c.Seed, NoShuffle: c.NoShuffle,
			Shortage: c.shortage(), IDPrefix: "bench-x-"}, err
	case "sglang-sharegpt":
		rows, err := ReadConversations(file)
		return SGLangShareGPT{N: c.N, Conversations: rows, OutputLen: c.OutputLen, ContextLen: c.ContextLen, PromptSuffix: c.Suffix,
			Template: c.template(), BOS: "<s>"}, err
	case "sglang-custom":
		rows, skipped, err := ReadCustomConversations(file)
		if skipped != 7 {
			err = fmt.Errorf("%d lines skipped, want 7: %v", skipped, err)
		}
		return SGLangShareGPT{N: c.N, Conversations: rows}, err
	case "vllm-custom":
		rows, err := ReadCustom(file)
		return VLLMCustom{N: c.N, Rows: rows, OutputLen: c.OutputLen, Template: c.template(), Seed: c.Seed, Shortage: c.shortage(), IDPrefix: "c"}, err
	case "vllm-burstgpt":
		rows, err := ReadBurstGPT(file)
		return VLLMBurstGPT{N: c.N, Rows: rows, Seed: c.Seed, IDPrefix: "b"}, err
	case "vllm-sonnet":
		lines, err := ReadLines(file)
		c.Template = true
		return VLLMSonnet{N: c.N, Lines: lines, InputLen: c.InputLen, OutputLen: c.OutputLen, PrefixLen: c.PrefixLen, Template: c.template(),
			Version: August2026, IDPrefix: "s"}, err
	case "vllm-prefix-repetition":
		return VLLMPrefixRepetition{N: c.N, PrefixLen: c.PrefixLen, SuffixLen: c.SuffixLen, Prefixes: c.Groups, OutputLen: c.OutputLen,
			Seed: c.Seed, NoShuffle: c.NoShuffle}, nil
	case "sglang-shared-prefix":
		return SGLangSharedPrefix{Groups: c.Groups, PerGroup: c.PerGroup, SystemLen: c.SystemLen, QuestLen: c.QuestionLen, OutputLen: c.OutputLen,
			Ratio: c.Ratio, Turns: c.Turns, Ordered: c.Ordered, Fast: c.Fast, SendIDs: c.SendIDs, ZipfAlpha: c.Alpha, Seed: c.Seed, Version: November2026}, nil
	}
	return nil, fmt.Errorf("dataset %q", c.Dataset)
}

func TestDatasetsEqualHarnesses(t *testing.T) {
	f, err := os.Open("testdata/datasets.json.gz")
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	z, err := gzip.NewReader(f)
	if err != nil {
		t.Fatal(err)
	}
	var file struct{ Cases []datasetCase }
	if err := json.NewDecoder(z).Decode(&file); err != nil {
		t.Fatal(err)
	}
	if len(file.Cases) != 29 {
		t.Fatalf("%d cases, want 29", len(file.Cases))
	}
	rows := 0
	for i, c := range file.Cases {
		t.Run(fmt.Sprintf("%d-%s", i, c.Dataset), func(t *testing.T) { c.check(t) })
		rows += len(c.Rows)
	}
	t.Logf("%d cases, %d rows", len(file.Cases), rows)
}

func (c datasetCase) check(t *testing.T) {
	d, err := c.dataset()
	if err != nil {
		t.Fatal(err)
	}
	seed := c.Seed
	if c.StreamSeed != nil {
		seed = *c.StreamSeed
	}
	s := streams(t, seed)
	set, err := d.Sample(s, c.tokenizer())
	if err != nil {
		t.Fatal(err)
	}
	if len(set.Requests) != len(c.Rows) {
		t.Fatalf("%d requests, want %d", len(set.Requests), len(c.Rows))
	}
	for k, want := range c.Rows {
		want.check(t, k, set.Requests[k])
		if t.Failed() {
			return
		}
	}
	if got := s.NumPy.Float64(); got != c.NextUniform {
		t.Errorf("numpy's stream goes on with %v, want %v", got, c.NextUniform)
	}
	if got := s.Python.Float64(); got != c.NextPython {
		t.Errorf("Python's stream goes on with %v, want %v", got, c.NextPython)
	}
}
