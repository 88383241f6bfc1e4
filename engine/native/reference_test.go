//go:build cgo

package native_test

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"lathe/engine/native"
)

// TestReferenceAgainstFloat64 compares every logit and every stage of the residual
// stream with the independent float64 pass, over the shapes of the family.
func TestReferenceAgainstFloat64(t *testing.T) {
	cases := map[string]func(d *native.ModelDesc){
		"untied":         func(d *native.ModelDesc) {},
		"tied":           func(d *native.ModelDesc) { d.Tied = true },
		"mha":            func(d *native.ModelDesc) { d.KVHeads = d.QHeads },
		"one kv head":    func(d *native.ModelDesc) { d.KVHeads = 1 },
		"biases":         func(d *native.ModelDesc) { d.AttentionBias, d.MLPBias = true, true },
		"rope scale":     func(d *native.ModelDesc) { d.RopeScale = 0.75 },
		"one layer":      func(d *native.ModelDesc) { d.Layers = 1 },
		"large eps":      func(d *native.ModelDesc) { d.RMSEps = 0.5 },
		"ffn of 1":       func(d *native.ModelDesc) { d.FFN = 1 },
		"hidden over 16": func(d *native.ModelDesc) { d.Hidden = 67 },
	}
	for name, edit := range cases {
		t.Run(name, func(t *testing.T) {
			d := smallDesc()
			edit(&d)
			m := newTiny(d, 3)
			tokens := prompt(33, d.Vocab)
			wantLogits, wantStages := forward64(m, tokens)
			o := options(16, 2)
			s := open(t, m.open(t, reference(t)), o)
			b := batch(o, chunk{1, 0, tokens})
			b.Flags = native.KeepResidual
			logits, chosen := step(t, s, d.Vocab, b)
			for i := range tokens {
				row := logits[i*d.Vocab : (i+1)*d.Vocab]
				compare(t, fmt.Sprintf("logits of position %d", i), row, wantLogits[i])
				if best := argmax(row); chosen[i] != int32(best) {
					t.Errorf("position %d: chose %d, the largest logit is %d", i, chosen[i], best)
				}
			}
			stage := make([]float32, len(tokens)*d.Hidden)
			for k := range d.Layers + 2 {
				if err := s.Residual(k, stage); err != nil {
					t.Fatal(err)
				}
				for i := range tokens {
					compare(t, fmt.Sprintf("stage %d of position %d", k, i), stage[i*d.Hidden:(i+1)*d.Hidden], wantStages[k][i])
				}
			}
		})
	}
}

// compare asks for a relative L2 difference of at most 2e-5, class A's bound.
func compare(t *testing.T, what string, got []float32, want []float64) {
	t.Helper()
	diff, size := 0.0, 0.0
	for i := range want {
		diff += (float64(got[i]) - want[i]) * (float64(got[i]) - want[i])
		size += want[i] * want[i]
	}
	if r := math.Sqrt(diff / size); !(r <= 2e-5) {
		t.Errorf("%s: relative L2 difference %g", what, r)
	}
}

func argmax(v []float32) int {
	best := 0
	for i := range v {
		if v[i] > v[best] {
			best = i
		}
	}
	return best
}

// TestReferenceBits: a row's bits depend on nothing but the row and what came
// before it in its sequence.
func TestReferenceBits(t *testing.T) {
	m := newTiny(smallDesc(), 5)
	model := m.open(t, reference(t))
	vocab, tokens, other := m.desc.Vocab, prompt(70, m.desc.Vocab), prompt(90, m.desc.Vocab)[20:]
	for _, kv := range []native.DType{native.F32, native.BF16} {
		base := options(16, 1)
		base.KV = kv
		want, _ := step(t, open(t, model, base), vocab, batch(base, chunk{0, 0, tokens}))
		check := func(name string, got []float32) {
			t.Helper()
			if !slices.Equal(bits(got), bits(want)) {
				t.Errorf("kv %s, %s: bits differ", kv, name)
			}
		}
		for _, page := range []int{1, 2, 16, 64, 256} {
			for threads := 1; threads <= 4; threads++ {
				o := base
				o.PageSize, o.Pages, o.Threads = page, 1024/page, threads
				got, _ := step(t, open(t, model, o), vocab, batch(o, chunk{2, 0, tokens}))
				check(fmt.Sprintf("page %d, %d threads", page, threads), got)
			}
		}
		got, _ := step(t, open(t, model, base), vocab, batch(base, chunk{3, 0, other}, chunk{1, 0, tokens}, chunk{0, 0, other[:7]}))
		check("in a batch", got[len(other)*vocab:(len(other)+len(tokens))*vocab])
		for _, cut := range [][]int{{1, 69}, {64, 6}, {16, 16, 16, 22}, {33, 37}, slices.Repeat([]int{1}, 70)} {
			s, at := open(t, model, base), 0
			var all []float32
			for _, n := range cut {
				part, _ := step(t, s, vocab, batch(base, chunk{0, at, tokens[at : at+n]}))
				all, at = append(all, part...), at+n
			}
			check(fmt.Sprintf("cut %v", cut[:2]), all)
		}
	}
}

// TestReferenceDecodeMixed: prefill chunk, decode row and verify block in one
// step, and the token fed back without the host.
func TestReferenceDecodeMixed(t *testing.T) {
	m := newTiny(smallDesc(), 5)
	model := m.open(t, reference(t))
	vocab, tokens, o := m.desc.Vocab, prompt(40, m.desc.Vocab), options(16, 2)
	want, _ := step(t, open(t, model, o), vocab, batch(o, chunk{0, 0, tokens}))

	s := open(t, model, o)
	step(t, s, vocab, batch(o, chunk{0, 0, tokens[:20]}, chunk{1, 0, tokens[:30]}))
	got, _ := step(t, s, vocab, batch(o, chunk{2, 0, tokens[:25]}, chunk{0, 20, tokens[20:21]}, chunk{1, 30, tokens[30:36]}))
	for name, at := range map[string][3]int{"prefill": {0, 0, 25}, "decode": {25, 20, 1}, "verify": {26, 30, 6}} {
		if !slices.Equal(bits(got[at[0]*vocab:(at[0]+at[2])*vocab]), bits(want[at[1]*vocab:(at[1]+at[2])*vocab])) {
			t.Errorf("%s rows differ from the prompt alone", name)
		}
	}

	told, fed := open(t, model, o), open(t, model, o)
	_, next := step(t, told, vocab, batch(o, chunk{0, 0, tokens}))
	step(t, fed, vocab, batch(o, chunk{0, 0, tokens}))
	last := next[len(next)-1]
	for i := range 10 {
		a, na := step(t, told, vocab, batch(o, chunk{0, 40 + i, []int32{last}}))
		b, _ := step(t, fed, vocab, batch(o, chunk{0, 40 + i, []int32{-1}}))
		if !slices.Equal(bits(a), bits(b)) {
			t.Fatalf("step %d: token -1 is not the token that the step before chose", i)
		}
		last = na[0]
	}
}

// TestReferenceKVBF16: bf16 pages change logits a little, and only through the
// cache: bounds of a tiny model's class C.
func TestReferenceKVBF16(t *testing.T) {
	m := newTiny(smallDesc(), 9)
	model, tokens := m.open(t, reference(t)), prompt(60, m.desc.Vocab)
	o := options(16, 1)
	f32, _ := step(t, open(t, model, o), m.desc.Vocab, batch(o, chunk{0, 0, tokens}))
	o.KV = native.BF16
	s := open(t, model, o)
	bf16, _ := step(t, s, m.desc.Vocab, batch(o, chunk{0, 0, tokens}))
	diff, size := 0.0, 0.0
	for i := range f32 {
		diff += math.Pow(float64(f32[i]-bf16[i]), 2)
		size += math.Pow(float64(f32[i]), 2)
	}
	if r := math.Sqrt(diff / size); r == 0 || r > 0.02 {
		t.Errorf("relative L2 difference of bf16 pages is %g", r)
	}
	mem, err := s.Memory()
	want := uint64(2 * m.desc.Layers * 16 * m.desc.KVHeads * m.desc.HeadDim * 2)
	if err != nil || mem.PageBytes != want || mem.KVBytes != want*uint64(o.Pages) || mem.Path != "reference" || mem.Threads != 1 {
		t.Errorf("memory %+v, %v; want pages of %d bytes", mem, err, want)
	}
}

// TestReferenceDTypes: the same values as bf16, f32 and f16 bytes or by seed give
// the same bits, and so Go's generator is the backend's.
func TestReferenceDTypes(t *testing.T) {
	d := smallDesc()
	d.AttentionBias, d.MLPBias = true, true
	m, o, tokens := newTiny(d, 21), options(16, 1), prompt(9, d.Vocab)
	run := func(model *native.Model) []uint32 {
		logits, _ := step(t, open(t, model, o), d.Vocab, batch(o, chunk{0, 0, tokens}))
		return bits(logits)
	}
	want := run(m.open(t, reference(t)))
	for _, dt := range []native.DType{native.F32, native.BF16} {
		if !slices.Equal(run(m.openData(t, reference(t), dt, nil)), want) {
			t.Errorf("%s data differs from the seed", dt)
		}
	}
	coarse := func(x tensor, v []float32) {
		for i := range v { // few enough bits to be exact in bf16 and f16
			v[i] = float32(math.Round(float64(v[i])*16) / 16)
		}
	}
	a := run(m.openData(t, reference(t), native.F16, coarse))
	if !slices.Equal(a, run(m.openData(t, reference(t), native.BF16, coarse))) {
		t.Error("f16 data differs from the same values in bf16")
	}
}

// TestReferenceNaN: a NaN in any weight that a step uses reaches the logits.
func TestReferenceNaN(t *testing.T) {
	m, o := newTiny(smallDesc(), 5), options(16, 2)
	for _, role := range []native.Role{native.RoleQ, native.RoleK, native.RoleV, native.RoleO, native.RoleGate,
		native.RoleUp, native.RoleDown, native.RoleNormAttn, native.RoleNormFFN, native.RoleNormFinal, native.RoleHead} {
		model := m.openData(t, reference(t), native.BF16, func(x tensor, v []float32) {
			if x.role == role && x.layer <= 0 {
				v[len(v)/2] = float32(math.NaN())
			}
		})
		s := open(t, model, o)
		if err := s.Submit(batch(o, chunk{0, 0, prompt(4, m.desc.Vocab)})); err != nil {
			t.Fatal(err)
		}
		err := s.Wait(make([]int32, 4), nil)
		if !errors.Is(err, native.ErrNonFinite) || !strings.Contains(err.Error(), "not finite") || !strings.Contains(err.Error(), "logit") {
			t.Errorf("NaN in role %d: %v", role, err)
		}
		if err := s.Wait(nil, nil); err != nil {
			t.Errorf("role %d: wait after the error: %v", role, err)
		}
	}
}
