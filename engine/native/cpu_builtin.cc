// cpu_builtin.cc: which builtin serves which operator on which path, what types it
// takes and how much workspace it wants.
#include "cpu_builtin.h"

#include "cpu_attend.h"
#include "cpu_element.h"
#include "cpu_vec.h"

namespace lathe {
namespace cpu {

namespace {

// The C function of one path and one operator.
template <const Kernels *(*kPath)(), class Args, int (*kRun)(const Kernels &, const lathe_ctx &, const Args &)>
int entry(const lathe_ctx *ctx, const Args *args)
{
    return kRun(*kPath(), *ctx, *args);
}

template <const Kernels *(*kPath)()>
void *function_of(int32_t op)
{
    switch (op) {
    case LATHE_OP_RMSNORM:
        return reinterpret_cast<void *>(&entry<kPath, lathe_rmsnorm_args, run_rmsnorm>);
    case LATHE_OP_ROPE_APPEND:
        return reinterpret_cast<void *>(&entry<kPath, lathe_rope_append_args, run_rope_append>);
    case LATHE_OP_ATTN_DECODE:
        return reinterpret_cast<void *>(&entry<kPath, lathe_attn_decode_args, run_attn_decode>);
    case LATHE_OP_SILU_MUL:
        return reinterpret_cast<void *>(&entry<kPath, lathe_silu_mul_args, run_silu_mul>);
    case LATHE_OP_NORM_QKV_ROPE_APPEND:
        return reinterpret_cast<void *>(&entry<kPath, lathe_norm_qkv_rope_append_args, run_norm_qkv_rope_append>);
    case LATHE_OP_NORM_GATE_UP_SILU:
        return reinterpret_cast<void *>(&entry<kPath, lathe_norm_gate_up_silu_args, run_norm_gate_up_silu>);
    case LATHE_OP_NORM_HEAD_ARGMAX:
        return reinterpret_cast<void *>(&entry<kPath, lathe_norm_head_argmax_args, run_norm_head_argmax>);
    default: /* the gemm roles, o_add and down_add */
        return reinterpret_cast<void *>(&entry<kPath, lathe_gemm_args, run_gemm>);
    }
}

uint64_t u64(int64_t n) { return static_cast<uint64_t>(n); }

// A normalised panel of all rows, the norm's own three rows before it.
uint64_t norm_bytes(const lathe_rmsnorm_args &a)
{
    return 4 * u64(a.hidden) * (3 + u64(a.rows));
}

template <class Args>
const Args &as(const void *args)
{
    return *static_cast<const Args *>(args);
}

}  // namespace

void *builtin_function(const Kernels &kernels, int32_t op)
{
    return &kernels == portable_kernels() ? function_of<portable_kernels>(op) : function_of<avx512bf16_kernels>(op);
}

bool supports(const lathe_rmsnorm_args &a)
{
    return is_element(a.x_dtype) && is_element(a.weight_dtype) && is_element(a.out_dtype) &&
           (a.residual == nullptr || is_element(a.residual_dtype));
}

bool supports(const lathe_silu_mul_args &a) { return is_element(a.in_dtype) && is_element(a.out_dtype); }
bool supports(const lathe_rope_append_args &a) { return is_element(a.qkv_dtype) && is_element(a.kv_dtype); }

bool supports(const lathe_attn_decode_args &a)
{
    return is_element(a.q_dtype) && is_element(a.kv_dtype) && is_element(a.out_dtype);
}

bool supports(const lathe_gemm_args &a)
{
    return is_element(a.a_dtype) && is_element(a.w_dtype) && is_element(a.out_dtype) &&
           (a.bias == nullptr || is_element(a.bias_dtype)) && (a.w_dtype == LATHE_BF16 || a.a_dtype == LATHE_F32);
}

bool supports(const lathe_norm_qkv_rope_append_args &a)
{
    return supports(a.norm) && supports(a.qkv) && supports(a.rope) && a.norm.residual == nullptr;
}

bool supports(const lathe_norm_gate_up_silu_args &a)
{
    return supports(a.norm) && supports(a.gate_up) && supports(a.silu) && a.norm.residual == nullptr;
}

bool supports(const lathe_norm_head_argmax_args &a)
{
    return supports(a.norm) && supports(a.head) && a.norm.residual == nullptr;
}

bool builtin_supports(int32_t op, const void *args)
{
    switch (op) {
    case LATHE_OP_RMSNORM: return supports(as<lathe_rmsnorm_args>(args));
    case LATHE_OP_ROPE_APPEND: return supports(as<lathe_rope_append_args>(args));
    case LATHE_OP_ATTN_DECODE: return supports(as<lathe_attn_decode_args>(args));
    case LATHE_OP_SILU_MUL: return supports(as<lathe_silu_mul_args>(args));
    case LATHE_OP_NORM_QKV_ROPE_APPEND: return supports(as<lathe_norm_qkv_rope_append_args>(args));
    case LATHE_OP_NORM_GATE_UP_SILU: return supports(as<lathe_norm_gate_up_silu_args>(args));
    case LATHE_OP_NORM_HEAD_ARGMAX: return supports(as<lathe_norm_head_argmax_args>(args));
    default: return supports(as<lathe_gemm_args>(args));
    }
}

uint64_t head_shared_bytes(int32_t rows, int32_t parts)
{
    return 64 + (u64(rows) * u64(parts) * sizeof(Best) + 63) / 64 * 64;
}

uint64_t builtin_workspace(int32_t op, const void *args, int32_t parts)
{
    uint64_t shared = 0, each = 0;
    if (op == LATHE_OP_RMSNORM) {
        each = 12 * u64(as<lathe_rmsnorm_args>(args).hidden);
    } else if (op == LATHE_OP_ATTN_DECODE) {
        const lathe_attn_decode_args &a = as<lathe_attn_decode_args>(args);
        const int32_t group = a.q_heads / a.kv_heads;
        each = 4 * (AttendScratch::floats(group, a.head_dim) + u64(group) * u64(a.head_dim));
    } else if (op == LATHE_OP_NORM_QKV_ROPE_APPEND) {
        each = norm_bytes(as<lathe_norm_qkv_rope_append_args>(args).norm);
    } else if (op == LATHE_OP_NORM_GATE_UP_SILU) {
        each = norm_bytes(as<lathe_norm_gate_up_silu_args>(args).norm);
    } else if (op == LATHE_OP_NORM_HEAD_ARGMAX) {
        const lathe_norm_head_argmax_args &a = as<lathe_norm_head_argmax_args>(args);
        each = norm_bytes(a.norm);
        shared = head_shared_bytes(a.norm.rows, parts);
    }
    return shared + (each + 63) / 64 * 64 * u64(parts);
}

}  // namespace cpu
}  // namespace lathe
