package engine

import "testing"

// TestCachedCountsRows: what was submitted decides. Prefill and Trace submit every
// row of the prompts, in whatever chunks; a pass that leaves some out is found out.
func TestCachedCountsRows(t *testing.T) {
	m := paths()[0].seeded(t)
	prompts := [][]int32{{1, 2, 3, 4, 5}, {6}, {7, 8, 9}}
	for _, chunk := range []int{3, 4, 512} {
		e := paths()[0].engine(t, m, Options{Sequences: 3, Context: 16, ChunkRows: chunk})
		if _, err := generate(e, prompts, 4); err != nil {
			t.Fatal(err)
		}
		if n := e.Cached(); n != 0 {
			t.Errorf("chunks of %d rows: %d tokens cached after Prefill and three Decodes", chunk, n)
		}
		if err := e.Trace(prompts[0], 0, func(int, []float32) error { return nil }); err != nil {
			t.Fatal(err)
		}
		if n := e.Cached(); n != 0 {
			t.Errorf("chunks of %d rows: %d tokens cached after Trace", chunk, n)
		}
		for skip := range 5 {
			prefillFrom(t, e, prompts, skip)
			if n := e.Cached(); n != skip {
				t.Errorf("chunks of %d rows: %d tokens cached, %d rows were left out", chunk, n, skip)
			}
		}
	}
}

// prefillFrom is a Prefill that takes the first rows of the first prompt as known.
func prefillFrom(t *testing.T, e *Engine, prompts [][]int32, first int) {
	t.Helper()
	if err := e.Begin(prompts, 0); err != nil {
		t.Fatal(err)
	}
	if n := e.Cached(); n != 0 {
		t.Errorf("%d tokens cached after Begin", n)
	}
	e.clearRows()
	for s, prompt := range prompts {
		if err := e.extend(s, len(prompt)); err != nil {
			t.Fatal(err)
		}
		for i := range prompt {
			if s == 0 && i < first {
				continue
			}
			if len(e.batch.Tokens) == e.opts.ChunkRows {
				if err := e.flush(); err != nil {
					t.Fatal(err)
				}
			}
			e.row(s, prompt[i], i, i == len(prompt)-1)
		}
	}
	e.ready = true
	if err := e.submit(); err != nil {
		t.Fatal(err)
	}
	if err := e.Wait(); err != nil {
		t.Fatal(err)
	}
}
