package workload

import (
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"strconv"

	"lathe/bench/pyrand"
)

// BurstRow is a row of a BurstGPT trace: tokens of a prompt and its answer.
type BurstRow struct{ InputLen, OutputLen int }

// ReadBurstGPT reads a BurstGPT trace: CSV with a header. Rows of the model
// GPT-4 with an answer are kept, as vLLM does; their third and fourth columns
// are the lengths.
func ReadBurstGPT(r io.Reader) ([]BurstRow, error) {
	c := csv.NewReader(r)
	header, err := c.Read()
	if err != nil {
		return nil, fmt.Errorf("read burstgpt trace: header: %w", unexpectedEnd(err))
	}
	model := -1
	for i, name := range header {
		if name == "Model" {
			model = i
		}
	}
	if model < 0 || len(header) < 4 || header[3] != "Response tokens" {
		return nil, fmt.Errorf("read burstgpt trace: the header is %q, without Model and, in fourth place, Response tokens: %w", header, ErrRow)
	}
	var rows []BurstRow
	for {
		fields, err := c.Read()
		if errors.Is(err, io.EOF) {
			return rows, nil
		}
		if err != nil {
			return nil, fmt.Errorf("read burstgpt trace: %w", err)
		}
		if fields[model] != "GPT-4" {
			continue
		}
		var lens [2]int
		for i := range lens {
			if lens[i], err = strconv.Atoi(fields[2+i]); err != nil || lens[i] < 0 || lens[i] > MaxTokens {
				line, _ := c.FieldPos(2 + i)
				return nil, fmt.Errorf("read burstgpt trace: line %d: %q is no count of tokens from 0 to %d: %w", line, fields[2+i], MaxTokens, ErrRow)
			}
		}
		if lens[1] > 0 {
			rows = append(rows, BurstRow{InputLen: lens[0], OutputLen: lens[1]})
		}
	}
}

// VLLMBurstGPT is vLLM's burstgpt dataset. The trace gives lengths only: the
// prompt of request i is the ids i, i+1, ... and its times are not used.
type VLLMBurstGPT struct {
	N        int
	Rows     []BurstRow
	Seed     uint64
	IDPrefix string
}

// Sample draws rows with a numpy stream of its own, without replacement while
// there are enough. PromptLen is the row's and not measured again.
func (o VLLMBurstGPT) Sample(_ *pyrand.Streams, t Tokenizer) (Set, error) {
	if err := needTokenizer(t); err != nil {
		return Set{}, fmt.Errorf("burstgpt dataset: %w", err)
	}
	if o.N < 0 || len(o.Rows) == 0 {
		return Set{}, fmt.Errorf("burstgpt dataset: %d requests from %d rows: %w", o.N, len(o.Rows), ErrShort)
	}
	r, err := pyrand.NewLegacy(o.Seed)
	if err != nil {
		return Set{}, fmt.Errorf("burstgpt dataset: %w", err)
	}
	var set Set
	picks := r.Permutation(len(o.Rows))
	if o.N > len(o.Rows) {
		if r, err = pyrand.NewLegacy(o.Seed); err != nil {
			return Set{}, fmt.Errorf("burstgpt dataset: %w", err)
		}
		drawn, err := r.Integers(0, int64(len(o.Rows)), o.N)
		if err != nil {
			return Set{}, fmt.Errorf("burstgpt dataset: %w", err)
		}
		picks = picks[:0]
		for _, k := range drawn {
			picks = append(picks, int(k))
		}
		set.Warnings = append(set.Warnings, fmt.Sprintf("burstgpt dataset: %d requests from %d rows: lengths repeat", o.N, len(o.Rows)))
	}
	for i, k := range picks[:o.N] {
		row := o.Rows[k]
		ids := make([]int32, max(row.InputLen, 0))
		for j := range ids {
			ids[j] = int32((i + j) % t.VocabSize())
		}
		set.Requests = append(set.Requests, Request{
			ID: o.IDPrefix + strconv.Itoa(i), Prompt: t.Decode(ids), PromptLen: row.InputLen, OutputLen: row.OutputLen,
		})
	}
	return set, set.checkNonEmpty("burstgpt")
}
