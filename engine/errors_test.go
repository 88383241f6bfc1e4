package engine

import (
	"errors"
	"strings"
	"testing"

	"lathe/engine/llama"
	"lathe/engine/native"
)

// TestErrorsNameTheirOperation: a refusal of the backend stands under what the
// engine attempted, not under the call that it made for it, and keeps its kind.
func TestErrorsNameTheirOperation(t *testing.T) {
	big, err := llama.Preset("tiny")
	if err != nil {
		t.Fatal(err)
	}
	big.Vocab, big.Hidden = 1<<30, 1<<20
	for _, p := range everyPath() {
		m := p.seeded(t)
		want := func(err, kind error, text string) {
			t.Helper()
			if !errors.Is(err, kind) || !strings.HasPrefix(err.Error(), text) {
				t.Errorf("%s: %v, want kind %v and %q", p.name, err, kind, text)
			}
		}
		_, err := m.NewEngine(Options{Sequences: 1, Context: 4, Threads: -1})
		want(err, native.ErrInvalid, "open engine for 1 sequences of 4 tokens: threads is -1, ")
		_, err = m.NewEngine(Options{Sequences: 1 << 20, Context: 1024, ChunkRows: 1 << 20})
		want(err, native.ErrMemory, "open engine for 1048576 sequences of 1024 tokens: kv pool needs ")
		b, err := p.backend()
		if err != nil {
			t.Fatal(err)
		}
		_, err = Load(b, &Source{Name: "big", Config: big})
		want(err, native.ErrMemory, "load big into backend "+b.Name()+": ")
		if err != nil && strings.Count(err.Error(), ": ") != 1 {
			t.Errorf("%s: %v: names more than one operation", p.name, err)
		}
	}
}
