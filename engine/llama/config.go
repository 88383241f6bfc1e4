// Package llama knows the Llama family: its hyper-parameters as config.json
// spells them, its tensors by name, role and shape, its RoPE frequencies, the
// shapes of a few published models, and the bytes and FLOPs of a step.
//
// It refuses what it does not know by name: another architecture, another
// activation, a quantised checkpoint, an unknown rope_type. It never ignores a key
// that would change a number, and nothing is allocated before every size is
// checked. It reads config.json and generation_config.json only; weights and
// kernels are other packages' business, and it imports none of them.
package llama

import (
	"math"
	"slices"
)

// Upper bounds of what a config may ask for. They are far above every published
// model of the family and keep every product of sizes inside an int64.
const (
	MaxVocab      = 1 << 24
	MaxHidden     = 1 << 20
	MaxLayers     = 1 << 10
	MaxHeads      = 1 << 14
	MaxHeadDim    = 1 << 12
	MaxFFN        = 1 << 22
	MaxPositions  = 1 << 27
	MaxConfigSize = 16 << 20 // bytes of config.json
)

// Config is the shape of a model. Absent keys have the defaults of the
// transformers library's LlamaConfig, in brackets, where it makes sense to have
// any; the five sizes without brackets must be given.
type Config struct {
	Architecture string // "LlamaForCausalLM"
	Vocab        int    // vocab_size
	Hidden       int    // hidden_size
	Layers       int    // num_hidden_layers
	QHeads       int    // num_attention_heads
	KVHeads      int    // num_key_value_heads [num_attention_heads]
	HeadDim      int    // head_dim [hidden_size / num_attention_heads]
	FFN          int    // intermediate_size

	RMSEps        float64     // rms_norm_eps [1e-6]
	RopeTheta     float64     // rope_theta, there or in rope_parameters, at least 1 [10000]
	RopeScaling   RopeScaling // rope_scaling or rope_parameters [none]
	MaxPosition   int         // max_position_embeddings [2048]
	Tied          bool        // tie_word_embeddings [false]
	AttentionBias bool        // attention_bias [false]
	MLPBias       bool        // mlp_bias [false]

	BOS   []int  // bos_token_id [1]; empty for null
	EOS   []int  // eos_token_id, one or a list [2]; empty for null
	DType string // torch_dtype or dtype; "" unknown
}

// Rope types that the package computes.
const (
	RopeDefault = ""       // plain RoPE: "default", null or absent
	RopeLinear  = "linear" // every frequency divided by Factor
	RopeLlama3  = "llama3" // three bands by wavelength
)

// RopeScaling changes the RoPE frequencies. Only the fields of its type are set.
type RopeScaling struct {
	Type                string
	Factor              float64
	LowFreqFactor       float64
	HighFreqFactor      float64
	OriginalMaxPosition int
}

// InvFreq is the HeadDim/2 inverse frequencies of RoPE in radians a position,
// with every scaling applied: theta^(-2i/HeadDim), then by RopeScaling as
// modeling_rope_utils.py of the transformers library has it. It is computed in
// float64 and rounded once. The library takes every operation in float32, which
// lands within three units of the last place of these values.
func (c Config) InvFreq() []float32 {
	out := make([]float32, c.HeadDim/2)
	for i := range out {
		f := math.Pow(c.RopeTheta, -2*float64(i)/float64(c.HeadDim))
		switch c.RopeScaling.Type {
		case RopeLinear:
			f /= c.RopeScaling.Factor
		case RopeLlama3:
			f = c.RopeScaling.llama3(f)
		}
		out[i] = float32(f)
	}
	return out
}

// llama3 keeps frequencies with short wavelengths, divides those with long ones
// by Factor, and blends the two in between.
func (s RopeScaling) llama3(f float64) float64 {
	wavelengths := float64(s.OriginalMaxPosition) * f / (2 * math.Pi) // that fit the original context
	switch {
	case wavelengths > s.HighFreqFactor:
		return f
	case wavelengths < s.LowFreqFactor:
		return f / s.Factor
	}
	smooth := (wavelengths - s.LowFreqFactor) / (s.HighFreqFactor - s.LowFreqFactor)
	return (1-smooth)*f/s.Factor + smooth*f
}

// Stop reports whether a token ends a sequence.
func (c Config) Stop(token int) bool { return slices.Contains(c.EOS, token) }
