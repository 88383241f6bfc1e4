package workload

import (
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"testing"
)

func TestTimedTrace(t *testing.T) {
	rows, err := ReadTrace(strings.NewReader(`{"timestamp":500,"input_length":10,"output_length":3,"hash_ids":[7,8,9]}
{"timestamp":1500.5,"input_length":7,"output_length":4,"hash_ids":[7,-1]}
{"timestamp":0,"input_length":9,"output_length":1,"hash_ids":[7]}
`), DefaultTraceLabels())
	if err != nil {
		t.Fatal(err)
	}
	d := VLLMTimedTrace{N: 3, Rows: rows, ChunkTokens: 4, SecondsPerTic: 0.001}
	tok := spelled{vocab: 1000, special: []int32{0}}
	set := sample(t, d, 5, tok)
	a, b, c := set.Requests[0], set.Requests[1], set.Requests[2]
	if a.PromptLen != 10 || b.PromptLen != 7 || c.PromptLen != 4 || a.OutputLen != 3 || *b.TimestampS != 1.5005 {
		t.Errorf("rows %+v", set.Requests)
	}
	if !slices.Equal(a.IDs[:4], b.IDs[:4]) || !slices.Equal(a.IDs[:4], c.IDs) || slices.Equal(a.IDs[4:7], b.IDs[4:7]) {
		t.Errorf("equal hashes share their tokens and others do not: %v %v %v", a.IDs, b.IDs, c.IDs)
	}
	if slices.Contains(a.IDs, 0) {
		t.Errorf("a special id is drawn: %v", a.IDs)
	}
	d.N = 5
	if set := sample(t, d, 5, tok); len(set.Requests) != 3 || len(set.Warnings) != 1 {
		t.Errorf("a trace of 3 rows for 5 requests: %d, %v", len(set.Requests), set.Warnings)
	}
	d.Rows = []TraceRow{{InputTokens: 5}}
	if _, err := d.Sample(streams(t, 0), tok); !errors.Is(err, ErrRow) {
		t.Errorf("a row without hashes has no prompt: %v", err)
	}
	for _, bad := range []string{`{"timestamp":1,"input_length":2}`, `{"timestamp":null,"input_length":2,"output_length":1}`,
		`{"timestamp":1,"input_length":0,"output_length":1}`, `{"timestamp":1,"input_length":2.5,"output_length":1}`, `[]`} {
		if _, err := ReadTrace(strings.NewReader(bad), DefaultTraceLabels()); err == nil {
			t.Errorf("%s is accepted", bad)
		}
	}
}

func TestDryRun(t *testing.T) {
	set := Set{Requests: []Request{{Prompt: "abc", PromptLen: 1, OutputLen: 2}}}
	got, err := json.Marshal(set.DryRun())
	want := `[{"prompt_len":1,"output_len":2,"prompt_sha256":"ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad","prompt_head":"abc"}]`
	if err != nil || string(got) != want {
		t.Errorf("%s %v", got, err)
	}
}
