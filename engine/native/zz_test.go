//go:build cgo

package native_test

import (
	"math"
	"testing"
	"time"

	"lathe/engine/native"
)

func TestZZ(t *testing.T) {
	d := native.ModelDesc{Vocab: 49152, Hidden: 576, Layers: 30, QHeads: 9, KVHeads: 3, HeadDim: 64, FFN: 1536, Tied: true, MaxPosition: 8192, RMSEps: 1e-5, RopeScale: 1}
	for i := range 32 {
		d.InvFreq = append(d.InvFreq, float32(math.Pow(100000, -2*float64(i)/64)))
	}
	t0 := time.Now()
	b := reference(t)
	m, err := b.NewModel(d)
	if err != nil {
		t.Fatal(err)
	}
	seed := func(r native.Role, l, rows, cols int, std float32) {
		if err := m.SeedTensor(r, l, rows, cols, 1, std); err != nil {
			t.Fatal(err)
		}
	}
	seed(native.RoleEmbed, -1, d.Vocab, d.Hidden, 0.02)
	seed(native.RoleNormFinal, -1, 1, d.Hidden, 0)
	for l := range d.Layers {
		seed(native.RoleNormAttn, l, 1, 576, 0)
		seed(native.RoleNormFFN, l, 1, 576, 0)
		seed(native.RoleQ, l, 576, 576, .02)
		seed(native.RoleK, l, 192, 576, .02)
		seed(native.RoleV, l, 192, 576, .02)
		seed(native.RoleO, l, 576, 576, .02)
		seed(native.RoleGate, l, 1536, 576, .02)
		seed(native.RoleUp, l, 1536, 576, .02)
		seed(native.RoleDown, l, 576, 1536, .02)
	}
	if err := m.Ready(); err != nil {
		t.Fatal(err)
	}
	t.Log("load", time.Since(t0))
	for _, th := range []int{1, 2} {
		o := options(16, th)
		o.Pages = 64
		s := open(t, m, o)
		p := batch(o, chunk{0, 0, prompt(128, d.Vocab)})
		p.Want = p.Want[127:]
		t0 = time.Now()
		s.Submit(p)
		s.Wait(make([]int32, 1), nil)
		t.Log("prefill 128", th, time.Since(t0))
		for i := range 4 {
			t0 = time.Now()
			s.Submit(batch(o, chunk{0, 128 + i, []int32{-1}}))
			s.Wait(make([]int32, 1), nil)
			t.Log("decode", time.Since(t0))
		}
	}
}
