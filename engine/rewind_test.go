package engine

import (
	"math"
	"slices"
	"strings"
	"testing"
)

// decodeBits runs n decode steps and returns what they chose and the bits of every
// sequence's logits.
func decodeBits(t *testing.T, e *Engine, n int) (tokens []int32, bits []uint32) {
	t.Helper()
	logits := make([]float32, e.model.Config.Vocab)
	for range n {
		if err := e.Decode(); err != nil {
			t.Fatal(err)
		}
		if err := e.Wait(); err != nil {
			t.Fatal(err)
		}
		tokens = append(tokens, e.Tokens()...)
		for s := range e.prompts {
			if err := e.Logits(s, logits); err != nil {
				t.Fatal(err)
			}
			for _, v := range logits {
				bits = append(bits, math.Float32bits(v))
			}
		}
	}
	return tokens, bits
}

// prefilled begins the prompts and waits for their prefill.
func prefilled(t *testing.T, e *Engine, prompts [][]int32, maxNew int) {
	t.Helper()
	if err := e.Begin(prompts, maxNew); err != nil {
		t.Fatal(err)
	}
	if err := e.Prefill(); err != nil {
		t.Fatal(err)
	}
	if err := e.Wait(); err != nil {
		t.Fatal(err)
	}
}

// TestRewindRepeats: after a Rewind the same tokens and logits come out, bit for
// bit, many times, for a batch of unlike lengths, however far the last round went
// and whatever was forced upon it.
func TestRewindRepeats(t *testing.T) {
	prompts := [][]int32{{1, 2, 3, 4, 5}, {6}, {7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17}}
	for _, p := range everyPath() {
		t.Run(p.name, func(t *testing.T) {
			e := p.engine(t, p.seeded(t), Options{Sequences: 3, Context: 64, PageSize: 4, ChunkRows: 7})
			for _, batch := range [][][]int32{prompts, prompts[:1], prompts[1:]} {
				prefilled(t, e, batch, 20)
				chosen := slices.Clone(e.Tokens())
				tokens, bits := decodeBits(t, e, 20)
				for round := range 12 {
					if err := e.Rewind(); err != nil {
						t.Fatal(err)
					}
					if !slices.Equal(e.Tokens(), chosen) {
						t.Fatalf("round %d: %v chosen behind the prefill, were %v", round, e.Tokens(), chosen)
					}
					if err := e.Logits(0, nil); err == nil {
						t.Error("the logits of an earlier step passed for the prefill's")
					}
					if round%3 == 1 {
						e.Force([]int32{20, 21, 22}[:len(batch)])
						decodeBits(t, e, 1+round)
						continue
					}
					n := 20 - round
					again, bitsAgain := decodeBits(t, e, n)
					if !slices.Equal(again, tokens[:n*len(batch)]) || !slices.Equal(bitsAgain, bits[:n*len(batch)*e.model.Config.Vocab]) {
						t.Fatalf("round %d of %d sequences: other tokens or logits", round, len(batch))
					}
				}
				if n := e.Cached(); n != 0 {
					t.Errorf("%d tokens cached", n)
				}
			}
		})
	}
}

// TestRewindAfterTrace: Trace leaves an engine as a Prefill does.
func TestRewindAfterTrace(t *testing.T) {
	e := paths()[0].engine(t, paths()[0].seeded(t), Options{Sequences: 1, Context: 32, ChunkRows: 4})
	if err := e.Trace([]int32{1, 2, 3, 4, 5, 6}, 5, func(int, []float32) error { return nil }); err != nil {
		t.Fatal(err)
	}
	_, bits := decodeBits(t, e, 5)
	if err := e.Rewind(); err != nil {
		t.Fatal(err)
	}
	if _, again := decodeBits(t, e, 5); !slices.Equal(again, bits) {
		t.Error("other logits after a Rewind")
	}
}

func TestRewindRefuses(t *testing.T) {
	e := paths()[0].engine(t, paths()[0].seeded(t), Options{Sequences: 1, Context: 32})
	refuses := func(when string) {
		t.Helper()
		if err := e.Rewind(); err == nil || !strings.Contains(err.Error(), "rewind: ") {
			t.Errorf("%s: %v", when, err)
		}
	}
	refuses("before Begin")
	prompts := [][]int32{{1, 2, 3}}
	if err := e.Begin(prompts, 8); err != nil {
		t.Fatal(err)
	}
	refuses("before Prefill")
	if err := e.Prefill(); err != nil {
		t.Fatal(err)
	}
	refuses("before Wait")
	if err := e.Wait(); err != nil {
		t.Fatal(err)
	}
	if err := e.Rewind(); err != nil {
		t.Error(err)
	}
	if err := e.Decode(); err != nil {
		t.Fatal(err)
	}
	refuses("while a step runs")
	if err := e.Begin(prompts, 8); err != nil {
		t.Fatal(err)
	}
	refuses("after a new Begin")
}

// TestRewindAllocatesNothing: it stands between measured slots.
func TestRewindAllocatesNothing(t *testing.T) {
	e := paths()[1].engine(t, paths()[1].seeded(t), Options{Sequences: 2, Context: 64, PageSize: 4})
	prefilled(t, e, [][]int32{{1, 2, 3}, {4}}, 32)
	if n := testing.AllocsPerRun(20, func() {
		if e.Rewind() != nil || e.Decode() != nil || e.Wait() != nil {
			t.Error("rewind or step failed")
		}
	}); n != 0 {
		t.Errorf("%g allocations", n)
	}
}
