package workload

import (
	"fmt"

	"lathe/bench/pyrand"
)

// Fixed is our own synthetic dataset: every prompt has exactly InputLen tokens,
// or there is no set.
type Fixed struct {
	N         int
	InputLen  int // tokens of the prompt itself; nothing is taken off for special tokens
	OutputLen int
	Seed      uint64
	SendIDs   bool // as ids, which no tokenizer can change
}

// Sample draws ids that are not special, independent of each other, from a
// generator of its own; the streams are left as they are. Independent ids do not
// repeat a stretch of another prompt, as the consecutive ones of both harnesses
// do. A text that the tokenizer gives another count is an error.
func (o Fixed) Sample(_ *pyrand.Streams, t Tokenizer) (Set, error) {
	if o.N <= 0 || o.InputLen <= 0 || o.OutputLen < 0 {
		return Set{}, fmt.Errorf("fixed dataset: %d requests of %d and %d tokens: %w", o.N, o.InputLen, o.OutputLen, ErrLengths)
	}
	allowed, err := allowedIDs(t)
	if err != nil {
		return Set{}, fmt.Errorf("fixed dataset: %w", err)
	}
	g := pyrand.NewGenerator(o.Seed)
	set := Set{IgnoreEOS: true}
	for i := range o.N {
		r, _, err := independent(t, g, allowed, o.InputLen, o.SendIDs)
		if err != nil {
			return Set{}, fmt.Errorf("fixed dataset: request %d: %w", i, err)
		}
		if r.PromptLen != o.InputLen {
			return Set{}, fmt.Errorf("fixed dataset: request %d: the text has %d tokens after %d corrections where %d were asked (send ids instead): %w",
				i, r.PromptLen, fitRounds, o.InputLen, ErrLengths)
		}
		r.OutputLen = o.OutputLen
		set.Requests = append(set.Requests, r)
	}
	return set, set.checkNonEmpty("fixed")
}

// independent draws a prompt of n allowed ids, each on its own, and fits its
// text to the length; ids are what the prompt encodes to.
func independent(t Tokenizer, g *pyrand.Generator, allowed []int32, n int, sendIDs bool) (r Request, ids []int32, err error) {
	draw := func(_, _ int64, n int) ([]int64, error) {
		picks, err := g.Integers(0, int64(len(allowed)), n)
		for i, k := range picks {
			picks[i] = int64(allowed[k])
		}
		return picks, err
	}
	drawn, err := draw(0, 0, n)
	if err != nil {
		return Request{}, nil, err
	}
	ids = narrow(drawn)
	if sendIDs {
		r.IDs = ids
	} else if r.Prompt, ids, err = fitLength(t, ids, n, draw); err != nil {
		return Request{}, nil, err
	}
	r.PromptLen = len(ids)
	return r, ids, nil
}
