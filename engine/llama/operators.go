package llama

// OperatorCost is what one operator cannot avoid in one decode step, over all
// layers: FLOPs and bytes as StepFLOPs and StepBytes count them. What passes from
// one operator to the next stays in a cache and is not counted.
type OperatorCost struct {
	Name  string // as operator.h has it
	Calls int    // in a step
	FLOPs int64
	Bytes int64
}

// FusedOperators are the costs of a decode step on the default path. Their bytes
// are those of StepBytes, their FLOPs those of StepFLOPs.
func (c Config) FusedOperators(batch, context, kvBytes int) []OperatorCost {
	k := c.operatorParts(batch, context, kvBytes)
	return []OperatorCost{
		k.embed,
		fuse("norm_qkv_rope_append", k.normAttn, k.qkv, k.rope),
		k.attention,
		fuse("o_add", k.o),
		fuse("norm_gate_up_silu", k.normFFN, k.gateUp, k.silu),
		fuse("down_add", k.down),
		fuse("norm_head_argmax", k.normFinal, k.head),
	}
}

// UnfusedOperators are the same sums by the operators that a user can replace one
// at a time.
func (c Config) UnfusedOperators(batch, context, kvBytes int) []OperatorCost {
	k := c.operatorParts(batch, context, kvBytes)
	norm := fuse("rmsnorm", k.normAttn, k.normFFN, k.normFinal)
	norm.Calls = k.normAttn.Calls + k.normFFN.Calls + k.normFinal.Calls
	return []OperatorCost{k.embed, norm, k.qkv, k.rope, k.attention, k.o, k.gateUp, k.silu, k.down, k.head}
}

// operatorParts are the smallest pieces that either list is made of.
type operatorParts struct {
	embed, normAttn, qkv, rope, attention, o, normFFN, gateUp, silu, down, normFinal, head OperatorCost
}

func (c Config) operatorParts(batch, context, kvBytes int) operatorParts {
	step, flops := c.StepBytes(batch, context, kvBytes), c.StepFLOPs(batch, context)
	weights := func(name string, roles ...int32) OperatorCost {
		params := map[bool]int64{} // by whether they are multiplied with
		for _, p := range c.layerParts() {
			for _, role := range roles {
				if p.role == role {
					params[!TensorSpec{Role: role}.Vector()] += int64(p.rows) * int64(p.cols)
				}
			}
		}
		layers := int64(c.Layers)
		return OperatorCost{Name: name, Calls: c.Layers, FLOPs: 2 * params[true] * layers * int64(batch),
			Bytes: (params[true] + params[false]) * layers * weightElem}
	}
	_, head := c.MatrixParams()
	return operatorParts{
		embed:     OperatorCost{Name: "embed", Calls: 1, Bytes: step.Embedding},
		normAttn:  weights("rmsnorm", RoleNormAttn),
		qkv:       weights("gemm.qkv", RoleQ, RoleK, RoleV, RoleQBias, RoleKBias, RoleVBias),
		rope:      OperatorCost{Name: "rope_append", Calls: c.Layers, Bytes: step.KVWrite},
		attention: OperatorCost{Name: "attn_decode", Calls: c.Layers, FLOPs: flops.Attention, Bytes: step.KVRead},
		o:         weights("gemm.o", RoleO, RoleOBias),
		normFFN:   weights("rmsnorm", RoleNormFFN),
		gateUp:    weights("gemm.gate_up", RoleGate, RoleUp, RoleGateBias, RoleUpBias),
		silu:      OperatorCost{Name: "silu_mul", Calls: c.Layers},
		down:      weights("gemm.down", RoleDown, RoleDownBias),
		normFinal: OperatorCost{Name: "rmsnorm", Calls: 1, Bytes: int64(c.Hidden) * weightElem},
		head: OperatorCost{Name: "gemm.head", Calls: 1, FLOPs: 2 * head * int64(batch),
			Bytes: head*weightElem + step.Logits},
	}
}

// fuse adds costs up under one name; it is called as often as its first part.
func fuse(name string, parts ...OperatorCost) OperatorCost {
	sum := OperatorCost{Name: name, Calls: parts[0].Calls}
	for _, p := range parts {
		sum.FLOPs += p.FLOPs
		sum.Bytes += p.Bytes
	}
	return sum
}
