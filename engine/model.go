package engine

import (
	"fmt"
	"sync/atomic"

	"lathe/engine/llama"
	"lathe/engine/native"
	"lathe/engine/safetensors"
)

// Model is one set of weights in a backend. Engines share it.
type Model struct {
	Config   llama.Config
	Warnings []string // doubts about the numbers, such as weights rounded on load
	backend  *native.Backend
	native   *native.Model
	weights  uint64

	positions atomic.Int64 // most that an engine was opened for; see WorkspaceBound
}

// Load gives every tensor of the source to the backend. The source may be closed
// afterwards. What does not fit is an error that matches native.ErrMemory.
func Load(b *native.Backend, s *Source) (*Model, error) {
	op := fmt.Sprintf("load %s into backend %s", s.Name, b.Name())
	m, err := b.NewModel(describe(s.Config))
	if err != nil {
		return nil, native.Under(op, err)
	}
	out := &Model{Config: s.Config, backend: b, native: m, Warnings: append([]string(nil), s.Warnings...)}
	if err := out.fill(b, s); err != nil {
		m.Close()
		return nil, native.Under(op, err)
	}
	return out, nil
}

func describe(c llama.Config) native.ModelDesc {
	return native.ModelDesc{Vocab: c.Vocab, Hidden: c.Hidden, Layers: c.Layers, QHeads: c.QHeads, KVHeads: c.KVHeads,
		HeadDim: c.HeadDim, FFN: c.FFN, Tied: c.Tied, AttentionBias: c.AttentionBias, MLPBias: c.MLPBias,
		MaxPosition: c.MaxPosition, RMSEps: float32(c.RMSEps), RopeScale: 1, InvFreq: c.InvFreq()}
}

// fill leaves the native errors as they are: they name their tensor.
func (m *Model) fill(b *native.Backend, s *Source) error {
	rounded := 0
	for spec := range s.Config.Tensors() {
		if s.Seeded() {
			if err := m.native.SeedTensor(native.Role(spec.Role), spec.Layer, spec.Rows, spec.Cols, s.Seed, spec.Std); err != nil {
				return err
			}
			continue
		}
		t, ok := s.Checkpoint.Tensor(spec.Name)
		if !ok { // checked on opening; a checkpoint does not change while it is mapped
			return fmt.Errorf("tensor %s: not in %s", spec.Name, s.Checkpoint.Path)
		}
		dt, err := dtype(t)
		if err != nil {
			return err
		}
		if dt != native.BF16 {
			rounded++
		}
		if err := m.native.SetTensor(native.Role(spec.Role), spec.Layer, dt, spec.Rows, spec.Cols, t.Data); err != nil {
			return err
		}
	}
	if err := m.native.Ready(); err != nil {
		return err
	}
	if rounded > 0 && b.Name() != "reference" {
		m.Warnings = append(m.Warnings, fmt.Sprintf("%d tensors are not bfloat16; backend %s rounds them to bfloat16", rounded, b.Name()))
	}
	var err error
	m.weights, err = m.native.WeightBytes()
	return err
}

func dtype(t safetensors.Tensor) (native.DType, error) {
	switch t.DType {
	case "BF16":
		return native.BF16, nil
	case "F16":
		return native.F16, nil
	case "F32":
		return native.F32, nil
	}
	return 0, fmt.Errorf("tensor %s of %s: dtype %s is not supported: BF16, F16 and F32 are", t.Name, t.File, t.DType)
}

// WeightBytes is what the weights take in the backend, packing included.
func (m *Model) WeightBytes() uint64 { return m.weights }

// Close frees the weights once the last Engine is closed.
func (m *Model) Close() { m.native.Close() }
