package llama

// The weights of a step are held in 2 bytes an element (BF16 or F16).
const weightElem = 2

// Params is the number of parameters; a tied head counts once.
func (c Config) Params() int64 {
	var n int64
	for spec := range c.layerless() {
		n += spec.Elements()
	}
	return n + int64(c.Layers)*c.layerParams(func(int32) bool { return true })
}

// layerless yields the tensors outside the layers.
func (c Config) layerless() func(yield func(TensorSpec) bool) {
	c.Layers = 0
	return c.Tensors()
}

// layerParams sums one layer over the roles that take accepts.
func (c Config) layerParams(take func(role int32) bool) int64 {
	var n int64
	for _, p := range c.layerParts() {
		if take(p.role) {
			n += int64(p.rows) * int64(p.cols)
		}
	}
	return n
}

// MatrixParams is the number of parameters that a token is multiplied with: every
// projection of every layer, and the head (which, tied, is the embedding).
func (c Config) MatrixParams() (layers, head int64) {
	layer := c.layerParams(func(role int32) bool { return !TensorSpec{Role: role}.Vector() })
	return int64(c.Layers) * layer, int64(c.Vocab) * int64(c.Hidden)
}

// WeightBytes is the size of all weights at elem bytes an element, unpacked.
func (c Config) WeightBytes(elem int) int64 { return c.Params() * int64(elem) }

// KVBytesPerToken is what one token takes in the KV cache over all layers, K and V,
// at kvElem bytes an element (2 for bf16, 4 for f32).
func (c Config) KVBytesPerToken(kvElem int) int64 {
	return 2 * int64(c.Layers) * int64(c.KVHeads) * int64(c.HeadDim) * int64(kvElem)
}

// StepBytes is the memory traffic that a step cannot avoid, in bytes.
type StepBytes struct {
	Weights   int64 // every weight once, but of an embedding that is not the head only the rows in Embedding
	KVRead    int64 // K and V of all earlier and present positions
	KVWrite   int64 // K and V of the new positions
	Embedding int64 // gathered rows
	Logits    int64 // written once, at 2 bytes each; a float32 path writes twice as much
}

// Total is the sum.
func (b StepBytes) Total() int64 { return b.Weights + b.KVRead + b.KVWrite + b.Embedding + b.Logits }

// StepFLOPs is the arithmetic of a step that depends on its size, in FLOPs (a
// multiply-add is two): softmax, RoPE, norms and SwiGLU are under 0.1 % and left out.
type StepFLOPs struct {
	Linear    int64 // matrix products with weights
	Attention int64 // QK^T and PV, over all query heads
}

// Total is the sum.
func (f StepFLOPs) Total() int64 { return f.Linear + f.Attention }

// readBytes is the weights that a step reads: all but an embedding table that is
// gathered by rows.
func (c Config) readBytes() int64 {
	n := c.Params()
	if !c.Tied {
		n -= int64(c.Vocab) * int64(c.Hidden)
	}
	return n * weightElem
}

// StepBytes counts one decode step of batch sequences that have context tokens
// each in the cache, the new one included; kvBytes is the size of a cached
// element. Activations between operators (they stay in a cache) and page tables
// (4 bytes a page) are left out, so the sum is a floor.
func (c Config) StepBytes(batch, context, kvBytes int) StepBytes {
	b, kv := int64(batch), c.KVBytesPerToken(kvBytes)
	return StepBytes{
		Weights:   c.readBytes(),
		KVRead:    kv * b * int64(context),
		KVWrite:   kv * b,
		Embedding: int64(c.Hidden) * weightElem * b,
		Logits:    int64(c.Vocab) * 2 * b,
	}
}

// StepFLOPs counts one decode step as StepBytes does.
func (c Config) StepFLOPs(batch, context int) StepFLOPs {
	layers, head := c.MatrixParams()
	return StepFLOPs{
		Linear:    2 * (layers + head) * int64(batch),
		Attention: 4 * int64(c.Layers) * int64(c.QHeads) * int64(c.HeadDim) * int64(context) * int64(batch),
	}
}

// PrefillBytes counts the prefill of batch prompts of tokens tokens each into an
// empty cache, with logits for the last position only. K and V are read from a
// cache by the next tile, so only their writing is a floor.
func (c Config) PrefillBytes(batch, tokens, kvBytes int) StepBytes {
	n := int64(batch) * int64(tokens)
	return StepBytes{
		Weights:   c.readBytes(),
		KVWrite:   c.KVBytesPerToken(kvBytes) * n,
		Embedding: int64(c.Hidden) * weightElem * n,
		Logits:    int64(c.Vocab) * 2 * int64(batch),
	}
}

// PrefillFLOPs counts the arithmetic of the same prefill. Attention is causal, so
// that position t attends to t+1 keys; a kernel that computes the other half too
// does work that nobody needs.
func (c Config) PrefillFLOPs(batch, tokens int) StepFLOPs {
	layers, head := c.MatrixParams()
	b, s := int64(batch), int64(tokens)
	return StepFLOPs{
		Linear:    2*layers*b*s + 2*head*b,
		Attention: 2 * int64(c.Layers) * int64(c.QHeads) * int64(c.HeadDim) * b * s * (s + 1),
	}
}
