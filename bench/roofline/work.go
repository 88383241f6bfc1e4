package roofline

import "lathe/engine/llama"

// Work is what a step or an operator cannot avoid. Activations that pass from one
// operator to the next stay in a cache and are not counted; neither are softmax,
// RoPE, norms and SwiGLU (under 0.1 % of the FLOPs of any Llama).
type Work struct {
	LinearFLOPs    int64 `json:"linear_flops"`    // products with weights; a multiply-add is two
	AttentionFLOPs int64 `json:"attention_flops"` // QK^T and PV of all query heads
	WeightBytes    int64 `json:"weight_bytes"`    // weights, embedding rows, logits
	KVBytes        int64 `json:"kv_bytes"`        // KV cache read and written
}

// FLOPs is the sum.
func (w Work) FLOPs() int64 { return w.LinearFLOPs + w.AttentionFLOPs }

// Bytes is the sum.
func (w Work) Bytes() int64 { return w.WeightBytes + w.KVBytes }

// Decode is the work of one decode step of batch sequences with context tokens
// each in the cache, the new one included; kvBytes is the size of a cached element.
func Decode(c llama.Config, batch, context, kvBytes int) Work {
	return work(c.StepFLOPs(batch, context), c.StepBytes(batch, context, kvBytes))
}

// Prefill is the work of batch prompts of tokens tokens each, from an empty cache,
// with logits for the last position only.
func Prefill(c llama.Config, batch, tokens, kvBytes int) Work {
	return work(c.PrefillFLOPs(batch, tokens), c.PrefillBytes(batch, tokens, kvBytes))
}

func work(f llama.StepFLOPs, b llama.StepBytes) Work {
	return Work{LinearFLOPs: f.Linear, AttentionFLOPs: f.Attention,
		WeightBytes: b.Weights + b.Embedding + b.Logits, KVBytes: b.KVRead + b.KVWrite}
}
