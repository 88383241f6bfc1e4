package native

import "fmt"

// Op numbers the operators as operator.h does; it indexes StepInfo.OpNS.
type Op int32

// The operators of a step: the parts of the unfused path, then the fused ones of
// the default path. OpEmbed and OpAttnPrefill cannot be replaced.
const (
	OpEmbed Op = iota
	OpRMSNorm
	OpGemmQKV
	OpRopeAppend
	OpAttnDecode
	OpGemmO
	OpGemmGateUp
	OpSiluMul
	OpGemmDown
	OpGemmHead
	OpNormQKVRopeAppend
	OpOAdd
	OpNormGateUpSilu
	OpDownAdd
	OpNormHeadArgmax
	OpAttnPrefill
	Ops // how many there are
)

// String is the operator's name with its role: "gemm.down".
func (o Op) String() string {
	names := [Ops]string{"embed", "rmsnorm", "gemm.qkv", "rope_append", "attn_decode", "gemm.o", "gemm.gate_up", "silu_mul",
		"gemm.down", "gemm.head", "norm_qkv_rope_append", "o_add", "norm_gate_up_silu", "down_add", "norm_head_argmax",
		"attn_prefill"}
	if o < 0 || o >= Ops {
		return fmt.Sprintf("operator %d", int32(o))
	}
	return names[o]
}

// Fused says whether the operator is one of the default path's fused ones.
func (o Op) Fused() bool { return o >= OpNormQKVRopeAppend && o <= OpNormHeadArgmax }

// ReplaceableOps are the names that an override may have, in the order in which they
// are listed to users; "gemm" stands for all five roles of it.
func ReplaceableOps() []string {
	names := []string{"attn_decode", "rmsnorm", "gemm", "gemm.qkv", "gemm.o", "gemm.gate_up", "gemm.down", "gemm.head",
		"rope_append", "silu_mul"}
	for o := OpNormQKVRopeAppend; o <= OpNormHeadArgmax; o++ {
		names = append(names, o.String())
	}
	return names
}

// ReplacedBy lists the operators that an override of that name replaces, ascending:
// one, five for "gemm", none for a name that does not exist.
func ReplacedBy(name string) []Op {
	if name == "gemm" {
		return []Op{OpGemmQKV, OpGemmO, OpGemmGateUp, OpGemmDown, OpGemmHead}
	}
	for o := OpRMSNorm; o < OpAttnPrefill; o++ {
		if o.String() == name {
			return []Op{o}
		}
	}
	return nil
}
