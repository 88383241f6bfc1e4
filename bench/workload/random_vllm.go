package workload

import (
	"fmt"
	"math"
	"strconv"

	"lathe/bench/pyrand"
)

// VLLMRandom is vLLM's random dataset. Its ratio r spreads a length L over
// floor(L(1-r)) .. ceil(L(1+r)), so 0 fixes it; SGLang's 0 means 1 .. L.
type VLLMRandom struct {
	N           int
	InputLen    int     // prompt tokens, what the tokenizer adds around a sequence included
	OutputLen   int     // at least 1 is drawn
	PrefixLen   int     // random tokens in front of every prompt, added to the input length
	InputRatio  float64 // of [0, 1)
	OutputRatio float64
	Seed        uint64
	IDPrefix    string // request i is called IDPrefix + i
}

// Sample draws from a generator of its own, seeded with Seed: all input
// lengths, all output lengths, all offsets, the prefix, then what the fitting of
// each prompt needs. Token j of request i is the (offset+i+j)-th id that is not
// special. The streams are left as they are.
func (o VLLMRandom) Sample(_ *pyrand.Streams, t Tokenizer) (Set, error) {
	special, err := SpecialCount(t)
	if err != nil {
		return Set{}, fmt.Errorf("random dataset: %w", err)
	}
	if err := o.check(special); err != nil {
		return Set{}, fmt.Errorf("random dataset: %w", err)
	}
	g := pyrand.NewGenerator(o.Seed)
	inputs, outputs, offsets, err := o.draw(g, special, t.VocabSize())
	if err != nil {
		return Set{}, fmt.Errorf("random dataset: %w: %w", ErrLengths, err)
	}
	allowed, err := allowedIDs(t)
	if err != nil {
		return Set{}, fmt.Errorf("random dataset: %w", err)
	}
	prefix, err := o.prefix(g, t, allowed)
	if err != nil {
		return Set{}, fmt.Errorf("random dataset: %w", err)
	}
	set, off := Set{IgnoreEOS: true}, 0
	for i := range o.N {
		ids := append([]int32{}, prefix...)
		for j := range inputs[i] {
			ids = append(ids, allowed[(offsets[i]+int64(i)+j)%int64(len(allowed))])
		}
		want := o.PrefixLen + int(inputs[i])
		text, fitted, err := fitLength(t, ids, want, g.Integers)
		if err != nil {
			return Set{}, fmt.Errorf("random dataset: request %d: %w", i, err)
		}
		off += len(fitted) - want
		set.Requests = append(set.Requests, Request{
			ID: o.IDPrefix + strconv.Itoa(i), Prompt: text, PromptLen: len(fitted), OutputLen: int(outputs[i]),
		})
	}
	set.Warnings = mismatchWarning(off)
	return set, set.checkNonEmpty("random")
}

// check refuses ratios outside [0, 1) and lengths that could come out empty.
func (o VLLMRandom) check(special int) error {
	for _, r := range []float64{o.InputRatio, o.OutputRatio} {
		if !(r >= 0 && r < 1) {
			return fmt.Errorf("range ratio %v: it lies in [0, 1): %w", r, ErrLengths)
		}
	}
	if o.PrefixLen < 0 || o.OutputLen < 0 || o.N < 0 {
		return fmt.Errorf("%d requests of prefix %d and output %d: none may be negative: %w", o.N, o.PrefixLen, o.OutputLen, ErrLengths)
	}
	length := max(0, o.InputLen-special)
	shortest := o.PrefixLen + int(math.Floor(float64(length)*(1-o.InputRatio)))
	if shortest >= 1 {
		return nil
	}
	if length == 0 && special > 0 {
		return fmt.Errorf("input length %d leaves no token of its own: %d − %d special = %d: %w", o.InputLen, o.InputLen, special, o.InputLen-special, ErrLengths)
	}
	return fmt.Errorf("input length %d with ratio %v and prefix %d can come out as %d tokens: %w", o.InputLen, o.InputRatio, o.PrefixLen, shortest, ErrLengths)
}

func (o VLLMRandom) draw(g *pyrand.Generator, special, vocab int) (inputs, outputs, offsets []int64, err error) {
	between := func(length int, ratio float64, least int64) ([]int64, error) {
		l := float64(length)
		low, high := int64(math.Floor(l*(1-ratio))), int64(math.Ceil(l*(1+ratio)))
		return g.Integers(max(low, least), max(high, least)+1, o.N)
	}
	if inputs, err = between(max(0, o.InputLen-special), o.InputRatio, 0); err != nil {
		return nil, nil, nil, err
	}
	if outputs, err = between(o.OutputLen, o.OutputRatio, 1); err != nil {
		return nil, nil, nil, err
	}
	offsets, err = g.Integers(0, int64(vocab), o.N)
	return inputs, outputs, offsets, err
}

// prefix draws the shared prefix, which a tokenizer may give another length.
func (o VLLMRandom) prefix(g *pyrand.Generator, t Tokenizer, allowed []int32) ([]int32, error) {
	if o.PrefixLen == 0 {
		return nil, nil
	}
	picks, err := g.Integers(0, int64(len(allowed)), o.PrefixLen)
	if err != nil {
		return nil, err
	}
	ids := make([]int32, len(picks))
	for i, p := range picks {
		ids[i] = allowed[p]
	}
	_, ids, err = fitLength(t, ids, o.PrefixLen, g.Integers)
	return ids, err
}
