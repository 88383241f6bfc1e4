//go:build cgo

package native_test

import (
	"errors"
	"strings"
	"testing"

	"lathe/engine/native"
)

// nothing opens a session of a plug-in whose steps do nothing.
func nothing(t testing.TB) *native.Session {
	t.Helper()
	b := mustOpen(t, build(t, "nothing.so"))
	m, err := b.NewModel(smallDesc())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(m.Close)
	return open(t, m, options(16, 1))
}

func decodeBatch(o native.SessionOptions) *native.Batch {
	return batch(o, chunk{0, 5, []int32{-1}}, chunk{1, 7, []int32{-1}}, chunk{2, 9, []int32{-1}}, chunk{3, 11, []int32{-1}})
}

// TestStepAllocates nothing: neither the crossing nor the reference path's step.
func TestStepAllocates(t *testing.T) {
	o := options(16, 1)
	m := newTiny(smallDesc(), 5)
	real := open(t, m.open(t, reference(t)), o)
	for s := range 4 {
		step(t, real, m.desc.Vocab, batch(o, chunk{s, 0, prompt(12, m.desc.Vocab)}))
	}
	for name, s := range map[string]*native.Session{"plug-in": nothing(t), "reference": real} {
		b, tokens, info := decodeBatch(o), make([]int32, 4), &native.StepInfo{}
		if n := testing.AllocsPerRun(100, func() {
			if err := s.Submit(b); err != nil {
				t.Fatal(err)
			}
			if err := s.Wait(tokens, info); err != nil {
				t.Fatal(err)
			}
		}); n != 0 {
			t.Errorf("%s: %v allocations a step", name, n)
		}
	}
}

// TestStepInfo: what the backend says arrives unchanged.
func TestStepInfo(t *testing.T) {
	s, o := nothing(t), options(16, 1)
	var info native.StepInfo
	tokens := make([]int32, 4)
	if err := s.Submit(decodeBatch(o)); err != nil {
		t.Fatal(err)
	}
	if err := s.Wait(tokens, &info); err != nil {
		t.Fatal(err)
	}
	if info.DeviceNS != 7 || info.Graph != native.GraphCaptured || info.Graph.String() != "captured" || tokens[3] != 103 {
		t.Errorf("info %+v, tokens %v", info, tokens)
	}
	for i, ns := range info.OpNS {
		if ns != int64(i) {
			t.Errorf("operator %d took %d", i, ns)
		}
	}
}

// TestOverridesCross: every field of an override arrives.
func TestOverridesCross(t *testing.T) {
	b := mustOpen(t, build(t, "overrides.so"))
	m, err := b.NewModel(smallDesc())
	if err != nil {
		t.Fatal(err)
	}
	defer m.Close()
	o := options(16, 1)
	o.Overrides = []native.Override{{Kind: native.OverrideBuiltin, Op: "rmsnorm"},
		{Kind: native.OverrideImage, Op: "gemm.down", Function: 0x1234, Image: []byte("cubin"), LaunchJSON: `{"op":1}`}}
	_, err = m.NewSession(o)
	if !errors.Is(err, native.ErrUnsupported) ||
		!strings.Contains(err.Error(), `kind 2 op gemm.down function 0x1234 image 5 bytes launch {"op":1}`) {
		t.Error(err)
	}
}

func BenchmarkCrossing(b *testing.B) {
	s, o := nothing(b), options(16, 1)
	batch, tokens, info := decodeBatch(o), make([]int32, 4), &native.StepInfo{}
	b.Run("submit", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			if err := s.Submit(batch); err != nil {
				b.Fatal(err)
			}
		}
	})
	b.Run("wait", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			if err := s.Wait(tokens, info); err != nil {
				b.Fatal(err)
			}
		}
	})
}
