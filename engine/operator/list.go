package operator

import "strings"

// Info describes a replaceable operator for whoever writes one.
type Info struct {
	Name   string   `json:"name"`   // as --kernel takes it
	Symbol string   `json:"symbol"` // the function that a library exports
	Args   string   `json:"args"`   // its argument struct
	Slots  []string `json:"slots"`  // places of a step that it fills
	Fuses  []string `json:"fuses"`  // operators that it stands for; empty: one of the parts
	Does   string   `json:"does"`
	Shapes string   `json:"shapes"`
	DTypes []string `json:"dtypes"` // that it is checked with: activations, weights or pages, outputs
}

// List describes every replaceable operator: the parts, then the fused ones of the default path.
func List() []Info {
	list := []Info{
		{Name: "attn_decode", Does: "attention of a sequence's newest rows over its paged context",
			Shapes: "q, out [batch, q_per_seq, q_heads, head_dim]; K, V by page, slot and head strides; block_table [batch, stride]; seq_len [batch]"},
		{Name: "rmsnorm", Does: "x / sqrt(mean(x^2) + eps) * weight, of x or of x added to the residual",
			Shapes: "x, residual, out [rows, hidden]; weight [hidden]"},
		{Name: "gemm", Does: "a matrix product in any of the five roles", Slots: []string{"gemm.qkv", "gemm.o", "gemm.gate_up", "gemm.down", "gemm.head"},
			Shapes: "a [m, k]; w [n, k]; bias [n]; out [m, n]"},
		{Name: "gemm.qkv", Does: "the product for queries, keys and values", Shapes: "n = (q_heads + 2*kv_heads) * head_dim, k = hidden"},
		{Name: "gemm.o", Does: "the product behind attention", Shapes: "n = hidden, k = q_heads * head_dim"},
		{Name: "gemm.gate_up", Does: "the product for gate and up", Shapes: "n = 2 * ffn, k = hidden"},
		{Name: "gemm.down", Does: "the product behind silu_mul", Shapes: "n = hidden, k = ffn"},
		{Name: "gemm.head", Does: "the logits", Shapes: "n = vocab, k = hidden"},
		{Name: "rope_append", Does: "rotates q and k by their positions, writes k and v into the pages",
			Shapes: "q [rows, q_heads, head_dim]; k, v [rows, kv_heads, head_dim]; cos_sin [max_position, head_dim]"},
		{Name: "silu_mul", Does: "silu(gate) * up", Shapes: "in [rows, 2*ffn]; out [rows, ffn]"},
		{Name: "norm_qkv_rope_append", Does: "from the residual stream to rotated q and appended k and v", Fuses: []string{"rmsnorm", "gemm.qkv", "rope_append"},
			Shapes: "as its parts; q to rope.q"},
		{Name: "o_add", Does: "gemm.o into the residual stream", Fuses: []string{"gemm.o"}, Shapes: "as gemm.o, accumulate 1"},
		{Name: "norm_gate_up_silu", Does: "from the residual stream to the activations of down", Fuses: []string{"rmsnorm", "gemm.gate_up", "silu_mul"},
			Shapes: "as its parts; out to silu.out"},
		{Name: "down_add", Does: "gemm.down into the residual stream", Fuses: []string{"gemm.down"}, Shapes: "as gemm.down, accumulate 1"},
		{Name: "norm_head_argmax", Does: "from the residual stream to logits and the greedy token", Fuses: []string{"rmsnorm", "gemm.head"},
			Shapes: "as its parts; token, value [rows]; head.out NULL where nobody wants logits"},
	}
	for i := range list {
		o := &list[i]
		o.Symbol = "lathe_op_" + symbolOf(o.Name)
		o.Args = "lathe_" + symbolOf(o.Name) + "_args"
		if o.Slots == nil {
			o.Slots = []string{o.Name}
		}
		for _, e := range elemChoices(o.Name) {
			if len(o.Fuses) > 1 {
				e = e.fused()
			}
			o.DTypes = append(o.DTypes, e.String())
		}
	}
	return list
}

// symbolOf is an operator's name without its role.
func symbolOf(op string) string {
	name, _, _ := strings.Cut(op, ".")
	return name
}

// Names are the operators that --kernel takes.
func Names() []string {
	var names []string
	for _, o := range List() {
		names = append(names, o.Name)
	}
	return names
}
