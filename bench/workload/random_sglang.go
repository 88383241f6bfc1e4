package workload

import (
	"fmt"
	"math"

	"lathe/bench/pyrand"
)

// SGLangRandom is SGLang's random dataset (prompts tiled from the conversations
// of ShareGPT) and, without conversations, its random-ids dataset. Its ratio r
// spreads a length L over max(1, trunc(L*r)) .. L, so 1 fixes it and 0, the
// default, has the mean L/2.
type SGLangRandom struct {
	N             int
	InputLen      int
	OutputLen     int
	Ratio         float64
	SendIDs       bool           // --tokenize-prompt: ids instead of text, lengths not lowered by the special tokens
	FromSharegpt  bool           // dataset "random"; false is "random-ids"
	Conversations []Conversation // the rows of the file, for FromSharegpt
}

// Sample draws from numpy's global stream all input lengths, all output lengths
// and, for random-ids, all offsets; for random it shuffles the conversations
// with Python's stream. PromptLen is the length drawn, which a tokenizer need
// not give back for the text.
func (o SGLangRandom) Sample(s *pyrand.Streams, t Tokenizer) (Set, error) {
	if err := needTokenizer(t); err != nil {
		return Set{}, fmt.Errorf("random dataset: %w", err)
	}
	inputs, err := sglangLengths(s.NumPy, o.InputLen, o.Ratio, o.N)
	if err != nil {
		return Set{}, fmt.Errorf("random dataset: input length: %w", err)
	}
	outputs, err := sglangLengths(s.NumPy, o.OutputLen, o.Ratio, o.N)
	if err != nil {
		return Set{}, fmt.Errorf("random dataset: output length: %w", err)
	}
	if !o.SendIDs {
		special, err := SpecialCount(t)
		if err != nil {
			return Set{}, fmt.Errorf("random dataset: %w", err)
		}
		for i := range inputs {
			inputs[i] = max(1, inputs[i]-special)
		}
	}
	set := Set{IgnoreEOS: true}
	var prompts [][]int32
	if o.FromSharegpt {
		prompts, err = o.tiled(s.Python, t, inputs)
	} else {
		prompts, err = o.consecutive(s.NumPy, t.VocabSize(), inputs)
	}
	if err != nil {
		return Set{}, fmt.Errorf("random dataset: %w", err)
	}
	for i, ids := range prompts {
		r := Request{PromptLen: inputs[i], OutputLen: outputs[i]}
		if o.SendIDs {
			r.IDs = ids
		} else {
			r.Prompt = t.Decode(ids)
		}
		set.Requests = append(set.Requests, r)
	}
	if n := len(prompts); n < o.N {
		set.Warnings = append(set.Warnings, fmt.Sprintf("random dataset: %d usable < %d asked: fewer requests are sent", n, o.N))
	}
	return set, set.checkNonEmpty("random")
}

// sglangLengths draws n lengths; a full length of 0 or less gives zeros and
// takes nothing from the stream.
func sglangLengths(r *pyrand.Legacy, full int, ratio float64, n int) ([]int, error) {
	out := make([]int, max(n, 0))
	if full <= 0 {
		return out, nil
	}
	low := math.Trunc(float64(full) * ratio)
	if !(math.Abs(low) <= math.MaxInt32) {
		return nil, fmt.Errorf("%d with range ratio %v: %w", full, ratio, ErrLengths)
	}
	drawn, err := r.Integers(max(int64(low), 1), int64(full)+1, len(out))
	if err != nil {
		return nil, fmt.Errorf("%d with range ratio %v: %w: %w", full, ratio, ErrLengths, err)
	}
	for i, v := range drawn {
		out[i] = int(v)
	}
	return out, nil
}

// consecutive is the ids offset+i+j modulo the vocabulary, special ids included.
func (o SGLangRandom) consecutive(r *pyrand.Legacy, vocab int, lengths []int) ([][]int32, error) {
	offsets, err := r.Integers(0, int64(vocab), len(lengths))
	if err != nil {
		return nil, err
	}
	prompts := make([][]int32, len(lengths))
	for i, n := range lengths {
		prompts[i] = make([]int32, n)
		for j := range prompts[i] {
			prompts[i][j] = int32((offsets[i] + int64(i) + int64(j)) % int64(vocab))
		}
	}
	return prompts, nil
}

// tiled repeats or cuts the first turns of the shuffled conversations. They are
// encoded with special tokens, so a BOS repeats in the middle of a prompt.
func (o SGLangRandom) tiled(r *pyrand.Python, t Tokenizer, lengths []int) ([][]int32, error) {
	var prompts [][]int32
	for _, c := range shuffled(r, o.Conversations) {
		if len(prompts) == len(lengths) {
			break
		}
		ids, err := t.Encode(c.First, true)
		if err != nil {
			return nil, fmt.Errorf("encode row %d: %w", c.Row, err)
		}
		if len(ids) == 0 {
			continue
		}
		tile := make([]int32, lengths[len(prompts)])
		for j := range tile {
			tile[j] = ids[j%len(ids)]
		}
		prompts = append(prompts, tile)
	}
	return prompts, nil
}
