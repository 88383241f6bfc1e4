//go:build cgo

package native_test

import (
	"encoding/binary"
	"math"
	"slices"
	"testing"

	"lathe/engine/native"
)

// tensor names one tensor of a test model with the values it must have.
type tensor struct {
	role       native.Role
	layer      int
	rows, cols int
	std        float32
	values     []float32
}

// tiny is a small model: its description and its weights as float32.
type tiny struct {
	desc    native.ModelDesc
	seed    uint64
	tensors []tensor
}

// smallDesc is a model with grouped heads and every size different, so that a
// swapped dimension shows.
func smallDesc() native.ModelDesc {
	d := native.ModelDesc{Vocab: 61, Hidden: 40, Layers: 3, QHeads: 6, KVHeads: 2, HeadDim: 10, FFN: 56,
		MaxPosition: 512, RMSEps: 1e-5, RopeScale: 1}
	for i := range d.HeadDim / 2 {
		d.InvFreq = append(d.InvFreq, float32(math.Pow(10000, -2*float64(i)/float64(d.HeadDim))))
	}
	return d
}

func newTiny(d native.ModelDesc, seed uint64) *tiny {
	m := &tiny{desc: d, seed: seed}
	add := func(role native.Role, layer, rows, cols int, std float32) {
		m.tensors = append(m.tensors, tensor{role, layer, rows, cols, std,
			seeded(seed, int32(role), int32(layer), rows*cols, std)})
	}
	q, kv := d.QHeads*d.HeadDim, d.KVHeads*d.HeadDim
	add(native.RoleEmbed, -1, d.Vocab, d.Hidden, 1)
	add(native.RoleNormFinal, -1, 1, d.Hidden, 0)
	if !d.Tied {
		add(native.RoleHead, -1, d.Vocab, d.Hidden, 0.3)
	}
	for l := range d.Layers {
		add(native.RoleNormAttn, l, 1, d.Hidden, 0)
		add(native.RoleNormFFN, l, 1, d.Hidden, 0.7)
		add(native.RoleQ, l, q, d.Hidden, 0.3)
		add(native.RoleK, l, kv, d.Hidden, 0.3)
		add(native.RoleV, l, kv, d.Hidden, 0.2)
		add(native.RoleO, l, d.Hidden, q, 0.2)
		add(native.RoleGate, l, d.FFN, d.Hidden, 0.2)
		add(native.RoleUp, l, d.FFN, d.Hidden, 0.2)
		add(native.RoleDown, l, d.Hidden, d.FFN, 0.2)
		if d.AttentionBias {
			add(native.RoleQBias, l, 1, q, 0.3)
			add(native.RoleKBias, l, 1, kv, 0.3)
			add(native.RoleVBias, l, 1, kv, 0.3)
			add(native.RoleOBias, l, 1, d.Hidden, 0.3)
		}
		if d.MLPBias {
			add(native.RoleGateBias, l, 1, d.FFN, 0.3)
			add(native.RoleUpBias, l, 1, d.FFN, 0.3)
			add(native.RoleDownBias, l, 1, d.Hidden, 0.3)
		}
	}
	return m
}

// get returns the values of a tensor, nil where the model has none.
func (m *tiny) get(role native.Role, layer int) []float32 {
	for _, t := range m.tensors {
		if t.role == role && t.layer == layer {
			return t.values
		}
	}
	return nil
}

// open gives the model to a backend by seed.
func (m *tiny) open(t testing.TB, b *native.Backend) *native.Model {
	t.Helper()
	model := m.create(t, b)
	for _, x := range m.tensors {
		if err := model.SeedTensor(x.role, x.layer, x.rows, x.cols, m.seed, x.std); err != nil {
			t.Fatal(err)
		}
	}
	if err := model.Ready(); err != nil {
		t.Fatal(err)
	}
	return model
}

// openData gives the model to a backend as bytes of dtype; edit may change the
// values of a tensor first.
func (m *tiny) openData(t testing.TB, b *native.Backend, dt native.DType, edit func(x tensor, v []float32)) *native.Model {
	t.Helper()
	model := m.create(t, b)
	for _, x := range m.tensors {
		v := slices.Clone(x.values)
		if edit != nil {
			edit(x, v)
		}
		if err := model.SetTensor(x.role, x.layer, dt, x.rows, x.cols, encode(dt, v)); err != nil {
			t.Fatal(err)
		}
	}
	if err := model.Ready(); err != nil {
		t.Fatal(err)
	}
	return model
}

func (m *tiny) create(t testing.TB, b *native.Backend) *native.Model {
	t.Helper()
	model, err := b.NewModel(m.desc)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(model.Close)
	return model
}

// encode writes float32 values as dtype; for F16 the values must be exact.
func encode(dt native.DType, v []float32) []byte {
	var out []byte
	for _, f := range v {
		u := math.Float32bits(f)
		switch dt {
		case native.F32:
			out = binary.LittleEndian.AppendUint32(out, u)
		case native.BF16:
			out = binary.LittleEndian.AppendUint16(out, uint16(u>>16))
		case native.F16:
			out = binary.LittleEndian.AppendUint16(out, halfBits(f))
		}
	}
	return out
}

// halfBits is the binary16 of a float32 that is exactly a normal one.
func halfBits(f float32) uint16 {
	u := math.Float32bits(f)
	if f == 0 {
		return uint16(u >> 16)
	}
	exp := int(u>>23&0xFF) - 127 + 15
	if exp < 1 || exp > 30 || u&0x1FFF != 0 {
		panic("not exactly a normal half")
	}
	return uint16(u>>16&0x8000) | uint16(exp)<<10 | uint16(u>>13&0x3FF)
}

func reference(t testing.TB) *native.Backend {
	t.Helper()
	b, err := native.Reference()
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// options fit every batch of these tests.
func options(pageSize, threads int) native.SessionOptions {
	return native.SessionOptions{Threads: threads, PageSize: pageSize, Pages: 1024 / pageSize, MaxRows: 256,
		MaxSequences: 4, MaxLogits: 256, KV: native.F32, Device: -1}
}

func open(t testing.TB, m *native.Model, o native.SessionOptions) *native.Session {
	t.Helper()
	s, err := m.NewSession(o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.Close)
	return s
}

// chunk is rows of one sequence, from position first on.
type chunk struct {
	seq, first int
	tokens     []int32
}

// batch lays chunks out as one step in which every row wants logits. Sequence s
// owns pages s, s+4, s+8, ... so that no sequence's pages are adjacent.
func batch(o native.SessionOptions, chunks ...chunk) *native.Batch {
	stride := o.Pages / 4
	b := &native.Batch{PageStride: stride, NumSequences: 4, PageTable: make([]int32, 4*stride)}
	for i := range b.PageTable {
		b.PageTable[i] = int32(i%stride*4 + i/stride)
	}
	for _, c := range chunks {
		for i, tok := range c.tokens {
			b.Want = append(b.Want, int32(len(b.Tokens)))
			b.Tokens = append(b.Tokens, tok)
			b.Sequences = append(b.Sequences, int32(c.seq))
			b.Positions = append(b.Positions, int32(c.first+i))
		}
	}
	return b
}

// step runs one batch and returns the logits and the tokens of its rows.
func step(t testing.TB, s *native.Session, vocab int, b *native.Batch) ([]float32, []int32) {
	t.Helper()
	if err := s.Submit(b); err != nil {
		t.Fatal(err)
	}
	tokens := make([]int32, len(b.Want))
	if err := s.Wait(tokens, nil); err != nil {
		t.Fatal(err)
	}
	logits := make([]float32, len(b.Want)*vocab)
	if err := s.Logits(0, len(b.Want), logits); err != nil {
		t.Fatal(err)
	}
	return logits, tokens
}

// prompt is n tokens, the same on every run.
func prompt(n, vocab int) []int32 {
	out := make([]int32, n)
	for i := range out {
		out[i] = int32(splitmix64(uint64(i)+77) % uint64(vocab))
	}
	return out
}

func bits(v []float32) []uint32 {
	out := make([]uint32, len(v))
	for i, f := range v {
		out[i] = math.Float32bits(f)
	}
	return out
}
