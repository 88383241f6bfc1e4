package engine

import "lathe/engine/native"

// replaced is what a session's overrides replace.
type replaced [native.Ops]bool

func replacedBy(overrides []native.Override) (r replaced, any bool) {
	for _, o := range overrides {
		for _, op := range native.ReplacedBy(o.Op) {
			r[op], any = true, true
		}
	}
	return r, any
}

func (r *replaced) any(ops ...native.Op) bool {
	for _, op := range ops {
		if r[op] {
			return true
		}
	}
	return false
}

// one is n where any of the operators is replaced, else 0.
func (r *replaced) one(n uint64, ops ...native.Op) uint64 {
	if r.any(ops...) {
		return n
	}
	return 0
}

// cpuOverrides bounds what the cpu backend takes beside its fused path: row-major
// activations between unfused operators, our own operators' workspaces, and row-major
// copies of the weights of replaced products. What a user's _workspace asks for is not
// in it.
func (s stepSize) cpuOverrides(m *Model, overrides []native.Override) uint64 {
	r, any := replacedBy(overrides)
	if !any {
		return 0
	}
	c := m.Config
	hidden, ffn, vocab, dim := count(c.Hidden), count(c.FFN), count(c.Vocab), count(c.HeadDim)
	q, kv, group := product(count(c.QHeads), dim), product(count(c.KVHeads), dim), count(c.QHeads)/max(1, count(c.KVHeads))
	qkv := []native.Op{native.OpRMSNorm, native.OpGemmQKV, native.OpRopeAppend}
	gateUp := []native.Op{native.OpRMSNorm, native.OpGemmGateUp, native.OpSiluMul}
	head := []native.Op{native.OpRMSNorm, native.OpGemmHead}
	rows := sum(
		r.one(hidden, append(qkv, gateUp...)...), r.one(sum(q, kv, kv), qkv...), r.one(product(2, ffn), gateUp...),
		r.one(q, native.OpAttnDecode, native.OpGemmO, native.OpOAdd), r.one(5, native.OpAttnDecode),
		r.one(ffn, append(gateUp, native.OpNormGateUpSilu, native.OpGemmDown, native.OpDownAdd)...),
		r.one(hidden, native.OpGemmO, native.OpGemmDown))
	logits := sum(r.one(hidden, head...), r.one(hidden, append(head, native.OpNormHeadArgmax)...), 2)
	norm := product(hidden, sum(s.rows, 3))
	threads := sum(product(2, max(q, ffn)+1), r.one(product(3, hidden)+16, append(append(qkv, gateUp...), head...)...),
		r.one(product(group, sum(68, product(3, dim)))+16, native.OpAttnDecode),
		r.one(norm+16, native.OpNormQKVRopeAppend), r.one(norm+16, native.OpNormGateUpSilu),
		r.one(sum(product(hidden, sum(s.logits, 3)), product(3, s.logits), 48), native.OpNormHeadArgmax))
	weights := sum(product(count(c.Layers), sum(
		r.one(product(sum(q, kv, kv), hidden), native.OpGemmQKV, native.OpNormQKVRopeAppend),
		r.one(product(hidden, q), native.OpGemmO, native.OpOAdd),
		r.one(product(product(2, ffn), hidden), native.OpGemmGateUp, native.OpNormGateUpSilu),
		r.one(product(hidden, ffn), native.OpGemmDown, native.OpDownAdd))),
		r.one(product(vocab, hidden), native.OpGemmHead, native.OpNormHeadArgmax))
	return sum(product(4, sum(product(s.rows, rows), product(s.logits, logits), product(s.threads, threads))), product(2, weights))
}
