// cpu_builtin.h: our own operators behind the function types of operator.h, one set a
// numeric path. They are what OP=builtin puts into the slot of a user's function, and
// obey what operator.h asks of one: every thread does the share that its part names,
// none waits for another, weights are row-major, and a row's bits depend on that row
// alone. rmsnorm, rope_append, silu_mul and attn_decode give the bits of the fused
// path; products sum along k instead of along packed pairs, which is the path's class
// but other bits.
#ifndef LATHE_CPU_BUILTIN_H
#define LATHE_CPU_BUILTIN_H

#include <cstdint>

#include "cpu_kernels.h"
#include "operator.h"

namespace lathe {
namespace cpu {

// What a builtin returns for element types that it lacks; builtin_supports tells before.
const int kWrongTypes = 1;

// The function of an operator (LATHE_OP_*), of the type that operator.h gives it.
void *builtin_function(const Kernels &kernels, int32_t op);

// Can it run these types? f32 and bf16 everywhere; a weight no wider than its input.
bool builtin_supports(int32_t op, const void *args);

// Bytes of workspace that it needs for these counts on `parts` threads.
uint64_t builtin_workspace(int32_t op, const void *args, int32_t parts);

// ---- One function an operator, in cpu_builtin_*.cc.
int run_rmsnorm(const Kernels &, const lathe_ctx &, const lathe_rmsnorm_args &);
int run_silu_mul(const Kernels &, const lathe_ctx &, const lathe_silu_mul_args &);
int run_rope_append(const Kernels &, const lathe_ctx &, const lathe_rope_append_args &);
int run_attn_decode(const Kernels &, const lathe_ctx &, const lathe_attn_decode_args &);
int run_gemm(const Kernels &, const lathe_ctx &, const lathe_gemm_args &);
int run_norm_qkv_rope_append(const Kernels &, const lathe_ctx &, const lathe_norm_qkv_rope_append_args &);
int run_norm_gate_up_silu(const Kernels &, const lathe_ctx &, const lathe_norm_gate_up_silu_args &);
int run_norm_head_argmax(const Kernels &, const lathe_ctx &, const lathe_norm_head_argmax_args &);

// What each needs, in cpu_builtin.cc.
bool supports(const lathe_rmsnorm_args &);
bool supports(const lathe_silu_mul_args &);
bool supports(const lathe_rope_append_args &);
bool supports(const lathe_attn_decode_args &);
bool supports(const lathe_gemm_args &);
bool supports(const lathe_norm_qkv_rope_append_args &);
bool supports(const lathe_norm_gate_up_silu_args &);
bool supports(const lathe_norm_head_argmax_args &);

// A part's slice of the workspace behind `shared` bytes that belong to all.
inline float *part_scratch(const lathe_ctx &ctx, uint64_t shared = 0)
{
    const uint64_t each = (ctx.workspace_bytes - shared) / static_cast<uint64_t>(ctx.parts) / 64 * 64;
    return reinterpret_cast<float *>(static_cast<unsigned char *>(ctx.workspace) + shared +
                                     static_cast<uint64_t>(ctx.part) * each);
}

// Where K (or V) of a row goes: element offset of slot position%page_size of a head.
inline int64_t append_offset(const lathe_rope_append_args &a, int32_t row, int64_t page_stride, int64_t slot_stride,
                             int64_t head_offset)
{
    const int32_t position = a.position[row];
    const int64_t page = a.block_table[a.seq[row] * a.block_table_stride + position / a.page_size];
    return page * page_stride + position % a.page_size * slot_stride + head_offset;
}

// Bytes that norm_head_argmax shares among its parts: a ticket, and the best logit
// of each part and row.
uint64_t head_shared_bytes(int32_t rows, int32_t parts);

}  // namespace cpu
}  // namespace lathe

#endif  // LATHE_CPU_BUILTIN_H
