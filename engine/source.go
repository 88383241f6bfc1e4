package engine

import (
	"lathe/engine/llama"
	"lathe/engine/safetensors"
)

// Source is a model before it is loaded: its shape, and its weights as a
// checkpoint or as a seed.
type Source struct {
	Name       string // as the user gave it
	Config     llama.Config
	Seed       uint64                  // of the seeded weights; meaningless with a checkpoint
	Checkpoint *safetensors.Checkpoint // nil: seeded weights
	Warnings   []string
}

// OpenDir opens a Hugging Face directory: config.json and the weights beside it,
// each tensor checked against the config before anything is allocated.
func OpenDir(dir string, o safetensors.Options) (*Source, error) {
	cfg, err := llama.ReadConfig(dir)
	if err != nil {
		return nil, err
	}
	ckpt, err := safetensors.OpenWith(dir, o)
	if err != nil {
		return nil, err
	}
	warnings, err := cfg.Check(checkpoint{ckpt})
	if err != nil {
		ckpt.Close()
		return nil, err
	}
	return &Source{Name: dir, Config: cfg, Checkpoint: ckpt, Warnings: append(ckpt.Warnings, warnings...)}, nil
}

// OpenShape opens the shape of a directory alone, with seeded weights: what
// --load-format dummy asks for.
func OpenShape(dir string, seed uint64) (*Source, error) {
	cfg, err := llama.ReadConfig(dir)
	if err != nil {
		return nil, err
	}
	return &Source{Name: dir, Config: cfg, Seed: seed}, nil
}

// OpenPreset opens a shape that needs no files, with seeded weights.
func OpenPreset(name string, seed uint64) (*Source, error) {
	cfg, err := llama.Preset(name)
	if err != nil {
		return nil, err
	}
	return &Source{Name: "preset:" + name, Config: cfg, Seed: seed}, nil
}

// Seeded says whether the weights are random numbers.
func (s *Source) Seeded() bool { return s.Checkpoint == nil }

// Close unmaps the checkpoint. A loaded Model does not need it any more.
func (s *Source) Close() {
	if s.Checkpoint != nil {
		s.Checkpoint.Close()
	}
}

// checkpoint shows safetensors to llama's check, which knows no file format.
type checkpoint struct{ *safetensors.Checkpoint }

func (c checkpoint) Where() string { return c.Path }

func (c checkpoint) Info(name string) (llama.TensorInfo, bool) {
	t, ok := c.Tensor(name)
	return llama.TensorInfo{DType: t.DType, Shape: t.Shape, File: t.File}, ok
}
