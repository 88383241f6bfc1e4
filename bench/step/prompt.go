package step

import (
	"fmt"
	"math/bits"
	"math/rand/v2"
)

// RandomIDs is how many token ids random prompts are drawn from, 0 .. 9999, as
// in SGLang's one_batch and vLLM's bench latency; a smaller vocabulary is used
// whole. With a vocabulary of 128,256 that is its first thirteenth, so the rows
// of the embedding table are read from a small part of it.
const RandomIDs = 10000

// RandomPrompts draws batch rows of inputLen ids, uniform in 0 .. min(RandomIDs,
// vocab)-1. Row r depends on the seed and r alone and a longer row begins with
// the shorter one, so points of different batch and length see the same tokens
// whatever their order. Both harnesses leave their generators unseeded; ours is
// PCG, 64 bits a draw, scaled by the high half of a 128-bit product.
func RandomPrompts(seed uint64, batch, inputLen, vocab int) [][]int32 {
	ids := uint64(min(RandomIDs, vocab))
	prompts := make([][]int32, batch)
	for r := range prompts {
		source := rand.NewPCG(seed, uint64(r))
		row := make([]int32, inputLen)
		for i := range row {
			high, _ := bits.Mul64(source.Uint64(), ids)
			row[i] = int32(high)
		}
		prompts[r] = row
	}
	return prompts
}

// FitBatch makes a batch of the prompts of a file as SGLang does: too many are
// cut, too few are filled up with the last one. Rows are shared, not copied.
func FitBatch(prompts [][]int32, batch int) ([][]int32, error) {
	if len(prompts) == 0 {
		return nil, fmt.Errorf("fit prompts to batch %d: no prompt given", batch)
	}
	fitted := make([][]int32, batch)
	for i := range fitted {
		fitted[i] = prompts[min(i, len(prompts)-1)]
	}
	return fitted, nil
}

// checkPrompts returns the longest row and a warning where the rows are not all
// of the point's input length.
func checkPrompts(prompts [][]int32, p Point, vocab, maxPositions int) (longest int, warning string, err error) {
	if len(prompts) != p.Batch {
		return 0, "", fmt.Errorf("prompts: %d rows for batch %d", len(prompts), p.Batch)
	}
	shortest := 0
	for r, row := range prompts {
		if len(row) == 0 {
			return 0, "", fmt.Errorf("prompts: row %d is empty", r)
		}
		for i, id := range row {
			if id < 0 || (vocab > 0 && int(id) >= vocab) {
				return 0, "", fmt.Errorf("prompts: row %d token %d: id %d is not in the vocabulary of %d", r, i, id, vocab)
			}
		}
		longest = max(longest, len(row))
		if shortest == 0 || len(row) < shortest {
			shortest = len(row)
		}
	}
	if maxPositions > 0 && longest+p.OutputLen > maxPositions {
		return 0, "", fmt.Errorf("prompts: longest row %d + output %d is over the model's %d positions", longest, p.OutputLen, maxPositions)
	}
	if shortest != p.InputLen || longest != p.InputLen {
		warning = fmt.Sprintf("prompts have %d to %d tokens, input_len says %d; context_len counts the longest row", shortest, longest, p.InputLen)
	}
	return longest, warning, nil
}
