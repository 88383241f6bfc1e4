package workload

import (
	"fmt"
	"slices"
)

// Tokenizer is what datasets ask of a tokenizer.
type Tokenizer interface {
	// Encode is the ids of text; special adds what the tokenizer puts around a
	// single sequence (BOS, EOS).
	Encode(text string, special bool) ([]int32, error)
	// Decode is the text of ids, special tokens spelled out.
	Decode(ids []int32) string
	// VocabSize counts the ids of the model's vocabulary, added tokens left out.
	VocabSize() int
	// Special is the ids of the special tokens, in any order.
	Special() []int32
	// Vocabulary is every id, added tokens included, ascending.
	Vocabulary() []int32
}

// needTokenizer refuses a dataset that cannot be drawn without one.
func needTokenizer(t Tokenizer) error {
	if t == nil {
		return ErrTokenizer
	}
	return nil
}

// SpecialCount is how many tokens the tokenizer puts around a single sequence.
// It is measured on the empty text, so that no tokenizer needs a method for it.
func SpecialCount(t Tokenizer) (int, error) {
	if err := needTokenizer(t); err != nil {
		return 0, err
	}
	with, err := t.Encode("", true)
	if err != nil {
		return 0, fmt.Errorf("count special tokens: %w", err)
	}
	without, err := t.Encode("", false)
	if err != nil {
		return 0, fmt.Errorf("count special tokens: %w", err)
	}
	return len(with) - len(without), nil
}

// allowedIDs is 0 .. VocabSize-1 without the special ids.
func allowedIDs(t Tokenizer) ([]int32, error) {
	if err := needTokenizer(t); err != nil {
		return nil, err
	}
	special := slices.Sorted(slices.Values(t.Special()))
	ids := make([]int32, 0, t.VocabSize())
	for id := range int32(t.VocabSize()) {
		if _, found := slices.BinarySearch(special, id); !found {
			ids = append(ids, id)
		}
	}
	if len(ids) == 0 {
		return nil, fmt.Errorf("vocabulary of %d ids: every id is a special token", t.VocabSize())
	}
	return ids, nil
}

// countTokens is the length of text with the special tokens around it, as both
// harnesses measure the rows of a file.
func countTokens(t Tokenizer, text string) (int, error) {
	if err := needTokenizer(t); err != nil {
		return 0, err
	}
	ids, err := t.Encode(text, true)
	if err != nil {
		return 0, fmt.Errorf("count tokens: %w", err)
	}
	return len(ids), nil
}

// ChatTemplate renders one user message with the model's chat template, the
// opening of the answer included.
type ChatTemplate func(user string) (string, error)
