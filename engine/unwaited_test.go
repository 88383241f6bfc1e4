package engine

import (
	"slices"
	"testing"
)

// TestDecodeWithoutWait: a loop that never waits gets the tokens of one that always does, since each
// step takes the token of the one before it.
func TestDecodeWithoutWait(t *testing.T) {
	prompts := [][]int32{{1, 2, 3, 4, 5}, {6}, {7, 8, 9}}
	for _, p := range paths() {
		m := p.seeded(t)
		run := func(waiting bool) []int32 {
			e := p.engine(t, m, Options{Sequences: 3, Context: 16, ChunkRows: 4})
			if err := e.Begin(prompts, 6); err != nil {
				t.Fatal(err)
			}
			for i := range 6 {
				step := e.Decode
				if i == 0 {
					step = e.Prefill
				}
				if err := step(); err != nil {
					t.Fatalf("step %d: %v", i, err)
				}
				if waiting {
					if err := e.Wait(); err != nil {
						t.Fatal(err)
					}
				}
			}
			if err := e.Wait(); err != nil {
				t.Fatal(err)
			}
			if n := e.Cached(); n != 0 {
				t.Errorf("%d cached tokens", n)
			}
			return slices.Clone(e.Tokens())
		}
		if waited, not := run(true), run(false); !slices.Equal(waited, not) {
			t.Errorf("tokens %v with waits, %v without", waited, not)
		}
	}
}
