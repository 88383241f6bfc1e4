// operator_names.cc: see operator_names.h.
#include "operator_names.h"

#include <cstring>

#include "native_error.h"

namespace lathe {

namespace {

struct Facts {
    const char *name, *symbol;
    int32_t role;    // lathe_gemm_role, -1
    uint32_t parts;  // of a fused operator
    bool replaceable;
};

constexpr uint32_t bits(int32_t a, int32_t b = -1, int32_t c = -1)
{
    return operator_bit(a) | (b < 0 ? 0 : operator_bit(b)) | (c < 0 ? 0 : operator_bit(c));
}

const Facts kFacts[LATHE_OPS] = {
    {"embed", "embed", -1, 0, false},
    {"rmsnorm", "rmsnorm", -1, 0, true},
    {"gemm.qkv", "gemm", LATHE_GEMM_QKV, 0, true},
    {"rope_append", "rope_append", -1, 0, true},
    {"attn_decode", "attn_decode", -1, 0, true},
    {"gemm.o", "gemm", LATHE_GEMM_O, 0, true},
    {"gemm.gate_up", "gemm", LATHE_GEMM_GATE_UP, 0, true},
    {"silu_mul", "silu_mul", -1, 0, true},
    {"gemm.down", "gemm", LATHE_GEMM_DOWN, 0, true},
    {"gemm.head", "gemm", LATHE_GEMM_HEAD, 0, true},
    {"norm_qkv_rope_append", "norm_qkv_rope_append", -1,
     bits(LATHE_OP_RMSNORM, LATHE_OP_GEMM_QKV, LATHE_OP_ROPE_APPEND), true},
    {"o_add", "o_add", LATHE_GEMM_O, bits(LATHE_OP_GEMM_O), true},
    {"norm_gate_up_silu", "norm_gate_up_silu", -1, bits(LATHE_OP_RMSNORM, LATHE_OP_GEMM_GATE_UP, LATHE_OP_SILU_MUL),
     true},
    {"down_add", "down_add", LATHE_GEMM_DOWN, bits(LATHE_OP_GEMM_DOWN), true},
    {"norm_head_argmax", "norm_head_argmax", -1, bits(LATHE_OP_RMSNORM, LATHE_OP_GEMM_HEAD), true},
    {"attn_prefill", "attn_prefill", -1, 0, false},
};

bool exists(int32_t op) { return op >= 0 && op < LATHE_OPS; }

// The set of one override, or a Failure.
uint32_t check_one(const lathe_override &o)
{
    if (o.struct_size != sizeof(lathe_override))
        fail(LATHE_E_INVALID, "session: an override has %u bytes, this backend expects %zu", o.struct_size,
             sizeof(lathe_override));
    if (o.op == nullptr) fail(LATHE_E_INVALID, "session: an override names no operator");
    const uint32_t set = operator_set(o.op);
    if (set == 0)
        fail(LATHE_E_INVALID, "session: operator \"%.64s\" does not exist or cannot be replaced", o.op);
    if (o.kind < LATHE_OVERRIDE_BUILTIN || o.kind > LATHE_OVERRIDE_IMAGE)
        fail(LATHE_E_INVALID, "session: operator %s: override kind %d does not exist", o.op, o.kind);
    if (o.kind == LATHE_OVERRIDE_FUNCTION && o.function == nullptr)
        fail(LATHE_E_INVALID, "session: operator %s: the function is NULL", o.op);
    if (o.kind == LATHE_OVERRIDE_IMAGE && (o.image == nullptr || o.image_bytes == 0))
        fail(LATHE_E_INVALID, "session: operator %s: the image is empty", o.op);
    return set;
}

}  // namespace

uint32_t operator_set(const char *name)
{
    uint32_t set = 0;
    for (int32_t op = 0; op < LATHE_OPS; op++)
        if (kFacts[op].replaceable && (std::strcmp(name, kFacts[op].name) == 0 ||
                                       (std::strcmp(name, "gemm") == 0 && std::strcmp(kFacts[op].symbol, "gemm") == 0)))
            set |= operator_bit(op);
    return set;
}

const char *operator_name(int32_t op) { return exists(op) ? kFacts[op].name : "unknown"; }
const char *operator_symbol(int32_t op) { return exists(op) ? kFacts[op].symbol : "unknown"; }
int32_t operator_gemm_role(int32_t op) { return exists(op) ? kFacts[op].role : -1; }
uint32_t operator_parts(int32_t op) { return exists(op) ? kFacts[op].parts : 0; }

uint32_t check_overrides(const lathe_override *overrides, int32_t n)
{
    if (n < 0 || (n > 0 && overrides == nullptr))
        fail(LATHE_E_INVALID, "session: %d overrides at %s", n, overrides != nullptr ? "an array" : "NULL");
    uint32_t all = 0;
    for (int32_t i = 0; i < n; i++) {
        const uint32_t set = check_one(overrides[i]);
        for (int32_t op = 0; op < LATHE_OPS; op++)
            if ((set & all & operator_bit(op)) != 0)
                fail(LATHE_E_INVALID, "session: operator %s is replaced twice", operator_name(op));
        all |= set;
    }
    for (int32_t fused = 0; fused < LATHE_OPS; fused++)
        for (int32_t op = 0; op < LATHE_OPS; op++)
            if ((all & operator_bit(fused)) != 0 && (all & operator_parts(fused) & operator_bit(op)) != 0)
                fail(LATHE_E_INVALID, "session: operators %s and %s would both replace that part of the step",
                     operator_name(fused), operator_name(op));
    return all;
}

}  // namespace lathe
