package workload

import (
	"fmt"

	"lathe/bench/pyrand"
)

// VLLMPrefixRepetition is vLLM's prefix_repetition dataset: groups of prompts
// that share their beginning.
type VLLMPrefixRepetition struct {
	N         int // the set has Prefixes * floor(N/Prefixes) requests
	PrefixLen int // vLLM's default 256
	SuffixLen int // 256
	Prefixes  int // 10
	OutputLen int // 128
	Seed      uint64
	NoShuffle bool
}

// Sample seeds both streams anew. Each prefix, and behind it its suffixes, are
// random ids of the whole vocabulary fitted to their length; the joined text is
// not measured again. Rows carry no request id, and EOS ends them.
func (o VLLMPrefixRepetition) Sample(s *pyrand.Streams, t Tokenizer) (Set, error) {
	if o.Prefixes <= 0 || o.N < o.Prefixes {
		return Set{}, fmt.Errorf("prefix repetition dataset: %d requests of %d prefixes: each needs at least one: %w", o.N, o.Prefixes, ErrLengths)
	}
	if o.PrefixLen < 0 || o.SuffixLen < 0 || o.PrefixLen+o.SuffixLen == 0 {
		return Set{}, fmt.Errorf("prefix repetition dataset: prefix %d and suffix %d tokens: %w", o.PrefixLen, o.SuffixLen, ErrLengths)
	}
	if err := needTokenizer(t); err != nil {
		return Set{}, fmt.Errorf("prefix repetition dataset: %w", err)
	}
	fresh, err := pyrand.NewStreams(o.Seed)
	if err != nil {
		return Set{}, fmt.Errorf("prefix repetition dataset: %w", err)
	}
	*s = *fresh
	var set Set
	off := 0
	for range o.Prefixes {
		prefix, err := randomIDs(s.NumPy, t, o.PrefixLen)
		if err != nil {
			return Set{}, fmt.Errorf("prefix repetition dataset: %w", err)
		}
		off += len(prefix) - o.PrefixLen
		for range o.N / o.Prefixes {
			suffix, err := randomIDs(s.NumPy, t, o.SuffixLen)
			if err != nil {
				return Set{}, fmt.Errorf("prefix repetition dataset: %w", err)
			}
			off += len(suffix) - o.SuffixLen
			ids := append(append([]int32{}, prefix...), suffix...)
			set.Requests = append(set.Requests, Request{Prompt: t.Decode(ids), PromptLen: len(ids), OutputLen: o.OutputLen})
		}
	}
	if !o.NoShuffle {
		set.Requests = shuffled(s.Python, set.Requests)
	}
	set.Warnings = mismatchWarning(off)
	if n := len(set.Requests); n < o.N {
		set.Warnings = append(set.Warnings, fmt.Sprintf("prefix repetition dataset: %d requests are sent where %d were asked: %d prefixes share them evenly", n, o.N, o.Prefixes))
	}
	return set, set.checkNonEmpty("prefix repetition")
}

// randomIDs draws n ids of the vocabulary and fits them.
func randomIDs(r *pyrand.Legacy, t Tokenizer, n int) ([]int32, error) {
	ids, err := r.Integers(0, int64(t.VocabSize()), n)
	if err != nil {
		return nil, err
	}
	_, fitted, err := fitLength(t, narrow(ids), n, r.Integers)
	return fitted, err
}
