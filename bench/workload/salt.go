package workload

import (
	"fmt"
	"hash/maphash"
	"slices"

	"lathe/bench/pyrand"
)

// saltTokens is how many ids a salted prompt of ids begins with.
const saltTokens = 4

// Salt gives every prompt of a run a beginning of its own, so that a second run
// with the same seed does not read the server's prefix cache. The same salt
// gives the same prompts: it belongs into the record. Prompts of ids keep their
// length; texts begin with the salt in words and are measured again.
func Salt(set Set, salt uint64, t Tokenizer) (Set, error) {
	allowed, err := allowedIDs(t)
	if err != nil {
		return Set{}, fmt.Errorf("salt prompts: %w", err)
	}
	picks, err := pyrand.NewGenerator(salt).Integers(0, int64(len(allowed)), saltTokens)
	if err != nil {
		return Set{}, fmt.Errorf("salt prompts: %w", err)
	}
	words := fmt.Sprintf("%016x ", salt)
	salted := Set{Requests: slices.Clone(set.Requests), IgnoreEOS: set.IgnoreEOS, Warnings: set.Warnings}
	for i := range salted.Requests {
		r := &salted.Requests[i]
		switch {
		case r.IDs != nil:
			r.IDs = slices.Clone(r.IDs)
			for k := range min(saltTokens, len(r.IDs)) {
				r.IDs[k] = allowed[picks[k]]
			}
			continue
		case r.Turns != nil:
			r.Turns = slices.Clone(r.Turns)
			r.Turns[0] = words + r.Turns[0]
			r.PromptLen, err = countTokens(t, r.Turns[0])
		default:
			r.Prompt = words + r.Prompt
			r.PromptLen, err = countTokens(t, r.Prompt)
		}
		if err != nil {
			return Set{}, fmt.Errorf("salt request %d: %w", i, err)
		}
	}
	return salted, nil
}

// sharedStretch is the longest stretch of tokens that a warm-up prompt may have
// in common with a measured one: a page of a prefix cache.
const sharedStretch = 16

// WarmUp makes n prompts of the lengths of the first n requests that have no
// stretch of more than 16 tokens in common with any prompt of the set, so that
// no measured request finds its prompt in the server's cache.
func WarmUp(set Set, n int, seed uint64, t Tokenizer) (Set, error) {
	if len(set.Requests) == 0 || n < 0 {
		return Set{}, fmt.Errorf("warm-up: %d prompts for a set of %d: %w", n, len(set.Requests), ErrShort)
	}
	h := maphash.MakeSeed()
	measured := map[uint64]bool{}
	for i, r := range set.Requests {
		ids, err := tokensOf(t, r)
		if err != nil {
			return Set{}, fmt.Errorf("warm-up: request %d: %w", i, err)
		}
		addStretches(measured, h, ids)
	}
	warm := Set{IgnoreEOS: set.IgnoreEOS}
	g := pyrand.NewGenerator(seed)
	allowed, err := allowedIDs(t)
	if err != nil {
		return Set{}, fmt.Errorf("warm-up: %w", err)
	}
	for tries := 0; len(warm.Requests) < n; tries++ {
		if tries > 100*(n+1) {
			return Set{}, fmt.Errorf("warm-up: every prompt drawn repeats a measured one: the vocabulary is too small: %w", ErrLengths)
		}
		like := set.Requests[len(warm.Requests)%len(set.Requests)]
		r, ids, err := independent(t, g, allowed, max(like.PromptLen, 1), like.IDs != nil)
		if err != nil {
			return Set{}, fmt.Errorf("warm-up: %w", err)
		}
		if !hasStretch(measured, h, ids) {
			r.OutputLen = like.OutputLen
			warm.Requests = append(warm.Requests, r)
		}
	}
	return warm, nil
}

func tokensOf(t Tokenizer, r Request) ([]int32, error) {
	if r.IDs != nil {
		return r.IDs, nil
	}
	return t.Encode(r.Text(), false)
}

// stretches calls use with the hash of each stretch of one token more than may
// be shared, and of a shorter prompt as a whole.
func stretches(h maphash.Seed, ids []int32, use func(uint64) bool) {
	const length = sharedStretch + 1
	for i := 0; i == 0 || i+length <= len(ids); i++ {
		var b [4 * length]byte
		part := ids[i:min(i+length, len(ids))]
		for k, id := range part {
			b[4*k], b[4*k+1], b[4*k+2], b[4*k+3] = byte(id), byte(id>>8), byte(id>>16), byte(id>>24)
		}
		if !use(maphash.Bytes(h, b[:4*len(part)])) {
			return
		}
	}
}

func addStretches(set map[uint64]bool, h maphash.Seed, ids []int32) {
	stretches(h, ids, func(v uint64) bool { set[v] = true; return true })
}

func hasStretch(set map[uint64]bool, h maphash.Seed, ids []int32) (found bool) {
	stretches(h, ids, func(v uint64) bool { found = set[v]; return !found })
	return found
}
