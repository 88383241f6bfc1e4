package llama

import (
	"iter"
	"math"
	"strconv"
	"strings"
)

// Role numbers of tensors, as the native boundary's header has them.
const (
	RoleEmbed     int32 = iota // [vocab, hidden]
	RoleNormAttn               // [hidden], per layer
	RoleQ                      // [q_heads*head_dim, hidden]
	RoleK                      // [kv_heads*head_dim, hidden]
	RoleV                      // [kv_heads*head_dim, hidden]
	RoleO                      // [hidden, q_heads*head_dim]
	RoleNormFFN                // [hidden]
	RoleGate                   // [ffn, hidden]
	RoleUp                     // [ffn, hidden]
	RoleDown                   // [hidden, ffn]
	RoleNormFinal              // [hidden]
	RoleHead                   // [vocab, hidden], absent when tied
	RoleQBias                  // [q_heads*head_dim]
	RoleKBias                  // [kv_heads*head_dim]
	RoleVBias                  // [kv_heads*head_dim]
	RoleOBias                  // [hidden]
	RoleGateBias               // [ffn]
	RoleUpBias                 // [ffn]
	RoleDownBias               // [hidden]
)

// TensorSpec is one tensor that a model must have.
type TensorSpec struct {
	Name  string
	Role  int32
	Layer int // -1 outside the layers
	Rows  int // 1 for a vector (a norm or a bias)
	Cols  int
	// Std is the standard deviation that seeded weights take; 0 fills with ones.
	Std float32
}

// Vector reports a norm or a bias, which files store with one dimension.
func (t TensorSpec) Vector() bool {
	switch t.Role {
	case RoleNormAttn, RoleNormFFN, RoleNormFinal:
		return true
	}
	return t.Role >= RoleQBias
}

// Shape is the tensor's shape in a file.
func (t TensorSpec) Shape() []int64 {
	if t.Vector() {
		return []int64{int64(t.Cols)}
	}
	return []int64{int64(t.Rows), int64(t.Cols)}
}

// Elements is rows times columns.
func (t TensorSpec) Elements() int64 { return int64(t.Rows) * int64(t.Cols) }

// part is a tensor of a layer without its prefix.
type part struct {
	name       string
	role       int32
	rows, cols int
	std        float32
}

// The standard deviations of seeded weights. A product with a unit-variance input
// keeps unit variance (1/sqrt(fan_in)); the two that write to the residual stream
// are divided by sqrt(2*layers) besides, so that the stream's variance grows by
// about one over the whole depth, whatever the depth is. Queries and keys of unit
// variance give attention scores of unit variance after 1/sqrt(head_dim).
const (
	stdEmbed = 0.02
	stdBias  = 0.02
	gainHead = 2 // logits of an untied head have this standard deviation
)

func fanIn(n int) float32 { return float32(1 / math.Sqrt(float64(n))) }

// Tensors yields every tensor of the model in the order in which files usually
// have them: embedding, layers, final norm, head.
func (c Config) Tensors() iter.Seq[TensorSpec] {
	return func(yield func(TensorSpec) bool) {
		if !yield(TensorSpec{"model.embed_tokens.weight", RoleEmbed, -1, c.Vocab, c.Hidden, stdEmbed}) {
			return
		}
		parts := c.layerParts()
		for layer := range c.Layers {
			prefix := layerPrefix + strconv.Itoa(layer) + "."
			for _, p := range parts {
				if !yield(TensorSpec{prefix + p.name, p.role, layer, p.rows, p.cols, p.std}) {
					return
				}
			}
		}
		if !yield(TensorSpec{"model.norm.weight", RoleNormFinal, -1, 1, c.Hidden, 0}) {
			return
		}
		if !c.Tied {
			yield(TensorSpec{headName, RoleHead, -1, c.Vocab, c.Hidden, gainHead * fanIn(c.Hidden)})
		}
	}
}

const (
	layerPrefix = "model.layers."
	headName    = "lm_head.weight"
)

// layerParts lists the tensors of one layer.
func (c Config) layerParts() []part {
	q, kv := c.QHeads*c.HeadDim, c.KVHeads*c.HeadDim
	in := fanIn(c.Hidden)
	depth := fanIn(2 * c.Layers)
	parts := []part{
		{"input_layernorm.weight", RoleNormAttn, 1, c.Hidden, 0},
		{"self_attn.q_proj.weight", RoleQ, q, c.Hidden, in},
		{"self_attn.k_proj.weight", RoleK, kv, c.Hidden, in},
		{"self_attn.v_proj.weight", RoleV, kv, c.Hidden, in},
		{"self_attn.o_proj.weight", RoleO, c.Hidden, q, fanIn(q) * depth},
		{"post_attention_layernorm.weight", RoleNormFFN, 1, c.Hidden, 0},
		{"mlp.gate_proj.weight", RoleGate, c.FFN, c.Hidden, in},
		{"mlp.up_proj.weight", RoleUp, c.FFN, c.Hidden, in},
		{"mlp.down_proj.weight", RoleDown, c.Hidden, c.FFN, fanIn(c.FFN) * depth},
	}
	if c.AttentionBias {
		parts = append(parts,
			part{"self_attn.q_proj.bias", RoleQBias, 1, q, stdBias},
			part{"self_attn.k_proj.bias", RoleKBias, 1, kv, stdBias},
			part{"self_attn.v_proj.bias", RoleVBias, 1, kv, stdBias},
			part{"self_attn.o_proj.bias", RoleOBias, 1, c.Hidden, stdBias})
	}
	if c.MLPBias {
		parts = append(parts,
			part{"mlp.gate_proj.bias", RoleGateBias, 1, c.FFN, stdBias},
			part{"mlp.up_proj.bias", RoleUpBias, 1, c.FFN, stdBias},
			part{"mlp.down_proj.bias", RoleDownBias, 1, c.Hidden, stdBias})
	}
	return parts
}

// layerOf reads the layer number of a tensor name.
func layerOf(name string) (layer int, ok bool) {
	rest, ok := strings.CutPrefix(name, layerPrefix)
	if !ok {
		return 0, false
	}
	digits, _, ok := strings.Cut(rest, ".")
	n, err := strconv.Atoi(digits)
	return n, ok && err == nil && n >= 0
}
