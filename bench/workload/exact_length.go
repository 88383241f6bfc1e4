package workload

import (
	"fmt"
)

// fitRounds is how often a prompt is padded or cut before it is taken as it is.
const fitRounds = 10

// fitLength decodes ids, encodes the text again without special tokens, and
// pads with random ids or cuts until the count is target, at most fitRounds
// times: a tokenizer need not give back the ids whose text it is given. The text
// is of the ids before the last encoding. draw gives n ids of the vocabulary.
func fitLength(t Tokenizer, ids []int32, target int, draw func(low, high int64, n int) ([]int64, error)) (text string, fitted []int32, err error) {
	for round := 0; ; round++ {
		text = t.Decode(ids)
		if ids, err = t.Encode(text, false); err != nil {
			return "", nil, fmt.Errorf("fit a prompt to %d tokens: %w", target, err)
		}
		if round == fitRounds || len(ids) == target {
			return text, ids, nil
		}
		if len(ids) > target {
			ids = ids[:target]
			continue
		}
		extra, err := draw(0, int64(t.VocabSize()), target-len(ids))
		if err != nil {
			return "", nil, fmt.Errorf("fit a prompt to %d tokens: %w", target, err)
		}
		ids = append(ids[:len(ids):len(ids)], narrow(extra)...)
	}
}

func narrow(ids []int64) []int32 {
	out := make([]int32, len(ids))
	for i, id := range ids {
		out[i] = int32(id)
	}
	return out
}

// mismatchWarning tells how far the counts are off over a whole set.
func mismatchWarning(total int) []string {
	if total == 0 {
		return nil
	}
	word := "more"
	if total < 0 {
		word, total = "fewer", -total
	}
	return []string{fmt.Sprintf("the prompts hold %d tokens %s than asked: the tokenizer does not give back the ids whose text it is given", total, word)}
}
