//go:build cgo

package native_test

import (
	"bytes"
	"slices"
	"testing"

	"lathe/engine/native"
)

// TestCallsInOrder: what comes too early, too late or with too little room is
// refused, and nothing is lost by it.
func TestCallsInOrder(t *testing.T) {
	tiny := newTiny(smallDesc(), 1)
	m := tiny.open(t, reference(t))
	o := options(16, 1)
	s := open(t, m, o)
	vocab, hidden := tiny.desc.Vocab, tiny.desc.Hidden
	row, stage := make([]float32, vocab), make([]float32, 2*hidden)
	refused(t, s.Logits(0, 1, row), native.ErrState, "logits")
	refused(t, s.Residual(0, stage), native.ErrState, "residual")

	b := batch(o, chunk{0, 0, []int32{3, 4}})
	b.Flags = native.KeepResidual
	if err := s.Submit(b); err != nil {
		t.Fatal(err)
	}
	refused(t, s.Submit(b), native.ErrState, "not waited for")
	refused(t, s.Logits(0, 1, row), native.ErrState, "wait first")
	refused(t, s.Residual(0, stage), native.ErrState, "no finished step")
	refused(t, s.CopyPages(native.PagesWithin, []int32{0}, []int32{1}, nil), native.ErrState, "wait first")
	refused(t, s.Wait(make([]int32, 1), nil), native.ErrInvalid, "room for 1 tokens", "chose 2")
	if err := s.Wait(make([]int32, 2), nil); err != nil {
		t.Fatalf("wait with room after one without: %v", err)
	}
	refused(t, s.Logits(0, 3, make([]float32, 3*vocab)), native.ErrInvalid, "0 to 2 of 2")
	refused(t, s.Logits(-1, 1, row), native.ErrInvalid, "-1")
	refused(t, s.Logits(0, 2, row), native.ErrInvalid, "room for 61")
	refused(t, s.Residual(-1, stage), native.ErrInvalid, "stage is -1")
	refused(t, s.Residual(5, stage), native.ErrInvalid, "stage is 5", "0 to 4")
	refused(t, s.Residual(0, stage[1:]), native.ErrInvalid, "room for 79")
	if err := s.Residual(4, stage); err != nil {
		t.Error(err)
	}
}

func TestClosedTwice(t *testing.T) {
	m := newTiny(smallDesc(), 1).open(t, reference(t))
	s := open(t, m, options(16, 1))
	m.Close() // the open session keeps the weights
	step(t, s, smallDesc().Vocab, batch(options(16, 1), chunk{0, 0, []int32{1}}))
	_, err := m.NewSession(options(16, 1))
	refused(t, err, native.ErrState, "model is closed")
	_, err = m.WeightBytes()
	refused(t, err, native.ErrState, "model is closed")
	s.Close()
	s.Close()
	m.Close()
	refused(t, s.Submit(&native.Batch{}), native.ErrState, "session is closed")
	refused(t, s.Wait(nil, nil), native.ErrState, "session is closed")
	refused(t, s.Logits(0, 0, nil), native.ErrState, "session is closed")
	refused(t, s.Residual(0, nil), native.ErrState, "session is closed")
	refused(t, s.CopyPages(native.PagesOut, nil, nil, nil), native.ErrState, "session is closed")
	_, err = s.Memory()
	refused(t, err, native.ErrState, "session is closed")
}

// TestCopyPages moves a sequence's pages out, overwrites them, brings them back
// elsewhere and copies them once more: the next row has the same bits each time.
func TestCopyPages(t *testing.T) {
	tiny := newTiny(smallDesc(), 5)
	m := tiny.open(t, reference(t))
	for _, kv := range []native.DType{native.F32, native.BF16} {
		o := options(16, 1)
		o.KV = kv
		s, tokens := open(t, m, o), prompt(30, tiny.desc.Vocab)
		mem, err := s.Memory()
		if err != nil {
			t.Fatal(err)
		}
		next := batch(o, chunk{0, 30, []int32{9}})
		step(t, s, tiny.desc.Vocab, batch(o, chunk{0, 0, tokens}))
		want, _ := step(t, s, tiny.desc.Vocab, next)

		own := slices.Clone(next.PageTable[:2])
		host := make([]byte, 2*mem.PageBytes)
		if err := s.CopyPages(native.PagesOut, own, nil, host); err != nil {
			t.Fatal(err)
		}
		step(t, s, tiny.desc.Vocab, batch(o, chunk{0, 0, prompt(60, tiny.desc.Vocab)[30:]}))
		if err := s.CopyPages(native.PagesIn, nil, []int32{62, 61}, host); err != nil {
			t.Fatal(err)
		}
		if err := s.CopyPages(native.PagesWithin, []int32{62, 61}, []int32{40, 61}, nil); err != nil {
			t.Fatal(err)
		}
		copy(next.PageTable, []int32{40, 61})
		got, _ := step(t, s, tiny.desc.Vocab, next)
		if !slices.Equal(bits(got), bits(want)) {
			t.Errorf("kv %s: the row after the copies differs", kv)
		}
		again := make([]byte, len(host))
		if err := s.CopyPages(native.PagesOut, []int32{62, 61}, nil, again); err != nil {
			t.Fatal(err)
		}
		half := int(mem.PageBytes)
		if !bytes.Equal(again[:half], host[:half]) {
			t.Errorf("kv %s: the page out again is not the page in", kv)
		}
	}
}

func TestCopyPagesRefused(t *testing.T) {
	s := open(t, newTiny(smallDesc(), 5).open(t, reference(t)), options(16, 1))
	mem, err := s.Memory()
	if err != nil {
		t.Fatal(err)
	}
	page := make([]byte, mem.PageBytes)
	one := []int32{1}
	refused(t, s.CopyPages(3, one, one, page), native.ErrInvalid, "direction 3")
	refused(t, s.CopyPages(native.PagesWithin, one, nil, nil), native.ErrInvalid, "1 pages to 0")
	refused(t, s.CopyPages(native.PagesWithin, one, []int32{64}, nil), native.ErrInvalid, "to[0] is 64", "0 to 63")
	refused(t, s.CopyPages(native.PagesOut, []int32{-1}, nil, page), native.ErrInvalid, "from[0] is -1")
	refused(t, s.CopyPages(native.PagesOut, one, nil, page[1:]), native.ErrInvalid, "bytes, 1 pages need")
	refused(t, s.CopyPages(native.PagesIn, nil, one, nil), native.ErrInvalid, "host is NULL")
	if err := s.CopyPages(native.PagesOut, nil, nil, nil); err != nil {
		t.Errorf("no pages: %v", err)
	}
}

func TestReferenceDescribesItself(t *testing.T) {
	b := reference(t)
	if b.Name() != "reference" || b.Path() != "" || b.SHA256() != "" {
		t.Errorf("%q %q %q", b.Name(), b.Path(), b.SHA256())
	}
	if _, err := b.DeviceInfo(-1); err != nil {
		t.Error(err)
	}
	_, err := b.DeviceInfo(1)
	refused(t, err, native.ErrInvalid, "device 1")
	tiny := newTiny(smallDesc(), 1)
	n := 0
	for _, x := range tiny.tensors {
		if x.rows == 1 {
			n += 4 * x.cols // norms are widened
		} else {
			n += 2 * x.rows * x.cols
		}
	}
	if got, err := tiny.open(t, b).WeightBytes(); err != nil || got != uint64(n) {
		t.Errorf("%d bytes of weights, want %d: %v", got, n, err)
	}
}
