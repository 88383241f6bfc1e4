// cpu_builtin_rows.cc: the builtins that work on one row or head at a time: rmsnorm,
// silu_mul, rope_append, attn_decode. Each reads its inputs and writes its outputs
// once; the bound is memory bandwidth, and at small batches the call itself.
#include <algorithm>
#include <cmath>

#include "cpu_attend.h"
#include "cpu_builtin.h"
#include "cpu_element.h"
#include "cpu_pool.h"
#include "cpu_rope.h"

namespace lathe {
namespace cpu {

namespace {

// residual row += x, rounded to its type; returns the row as f32.
const float *add_residual(const Kernels &kernels, const lathe_rmsnorm_args &a, int64_t row, const float *x, float *wide)
{
    const int64_t at = row * a.residual_row_stride;
    if (a.residual_dtype == LATHE_F32) {
        float *residual = static_cast<float *>(a.residual) + at;
        add_to(residual, x, a.hidden);
        return residual;
    }
    uint16_t *residual = static_cast<uint16_t *>(a.residual) + at;
    widen_bf16(residual, a.hidden, wide);
    add_to(wide, x, a.hidden);
    kernels.narrow(wide, a.hidden, residual);
    widen_bf16(residual, a.hidden, wide);
    return wide;
}

const int32_t kColumns = 128;  // of a silu_mul item
const int32_t kPairs = 64;     // of a rotation at once

// Hands over every pair (i, i+half) of a head, rotated by its position if `turn`:
// put(low, high, i, n) gets pairs i .. i+n-1.
template <class Put>
void each_pairs(const lathe_rope_append_args &a, int32_t row, bool turn, const void *from, int64_t at, const Put &put)
{
    const int32_t half = a.head_dim / 2;
    const float *cosines = a.cos_sin + a.position[row] * a.cos_sin_row_stride;
    float low[kPairs], high[kPairs];
    for (int32_t i = 0; i < half; i += kPairs) {
        const int32_t n = std::min(kPairs, half - i);
        read_floats(a.qkv_dtype, from, at + i, n, low);
        read_floats(a.qkv_dtype, from, at + half + i, n, high);
        if (turn) rotate(low, high, cosines + i, cosines + half + i, n);
        put(low, high, i, n);
    }
}

}  // namespace

int run_rmsnorm(const Kernels &kernels, const lathe_ctx &ctx, const lathe_rmsnorm_args &a)
{
    if (!supports(a)) return kWrongTypes;
    const Range mine = share(a.rows, ctx.part, ctx.parts);
    if (mine.first == mine.last) return 0;
    float *wide = part_scratch(ctx), *gain = wide + a.hidden, *out = gain + a.hidden;
    const float *weight = floats(a.weight_dtype, a.weight, 0, a.hidden, gain);
    for (int64_t r = mine.first; r < mine.last; r++) {
        const float *x = floats(a.x_dtype, a.x, r * a.x_row_stride, a.hidden, wide);
        if (a.residual != nullptr) x = add_residual(kernels, a, r, x, out);
        const int64_t at = r * a.out_row_stride;
        if (a.out_dtype == LATHE_F32) {
            kernels.norm(x, weight, a.eps, a.hidden, static_cast<float *>(a.out) + at);
        } else {
            kernels.norm(x, weight, a.eps, a.hidden, out);
            put_floats(kernels, a.out_dtype, out, a.hidden, a.out, at);
        }
    }
    return 0;
}

int run_silu_mul(const Kernels &kernels, const lathe_ctx &ctx, const lathe_silu_mul_args &a)
{
    if (!supports(a)) return kWrongTypes;
    const int64_t pieces = (a.ffn + kColumns - 1) / kColumns;
    const Range mine = share(a.rows * pieces, ctx.part, ctx.parts);
    float gate[kColumns], wide[kColumns];
    for (int64_t i = mine.first; i < mine.last; i++) {
        const int64_t row = i / pieces, j = i % pieces * kColumns, in = row * a.in_row_stride + j;
        const int32_t n = static_cast<int32_t>(std::min<int64_t>(kColumns, a.ffn - j));
        std::copy_n(floats(a.in_dtype, a.in, in, n, wide), n, gate);
        kernels.silu_mul(gate, floats(a.in_dtype, a.in, in + a.ffn, n, wide), n);
        put_floats(kernels, a.out_dtype, gate, n, a.out, row * a.out_row_stride + j);
    }
    return 0;
}

int run_rope_append(const Kernels &kernels, const lathe_ctx &ctx, const lathe_rope_append_args &a)
{
    if (!supports(a)) return kWrongTypes;
    const int32_t heads = a.q_heads + 2 * a.kv_heads, half = a.head_dim / 2;
    const Range mine = share(static_cast<int64_t>(a.rows) * heads, ctx.part, ctx.parts);
    for (int64_t i = mine.first; i < mine.last; i++) {
        const int32_t row = static_cast<int32_t>(i / heads), h = static_cast<int32_t>(i % heads);
        const int32_t k = h - a.q_heads, v = k - a.kv_heads;
        if (a.position[row] < 0) continue;
        if (k < 0) {
            const int64_t at = row * a.q_row_stride + static_cast<int64_t>(h) * a.head_dim;
            each_pairs(a, row, true, a.q, at, [&](const float *low, const float *high, int32_t p, int32_t n) {
                put_floats(kernels, a.qkv_dtype, low, n, a.q, at + p);
                put_floats(kernels, a.qkv_dtype, high, n, a.q, at + half + p);
            });
            continue;
        }
        const bool value = v >= 0;
        void *pages = value ? a.v_pages : a.k_pages;
        const int64_t to = value ? append_offset(a, row, a.v_page_stride, a.v_slot_stride, v * a.v_head_stride)
                                 : append_offset(a, row, a.k_page_stride, a.k_slot_stride, k * a.k_head_stride);
        const int64_t from = (value ? row * a.v_row_stride + static_cast<int64_t>(v) * a.head_dim
                                    : row * a.k_row_stride + static_cast<int64_t>(k) * a.head_dim);
        each_pairs(a, row, !value, value ? a.v : a.k, from,
                   [&](const float *low, const float *high, int32_t p, int32_t n) {
                       put_kv(a.kv_dtype, low, n, pages, to + p);
                       put_kv(a.kv_dtype, high, n, pages, to + half + p);
                   });
    }
    return 0;
}

int run_attn_decode(const Kernels &kernels, const lathe_ctx &ctx, const lathe_attn_decode_args &a)
{
    if (!supports(a)) return kWrongTypes;
    const int32_t group = a.q_heads / a.kv_heads, dim = a.head_dim, n = group * dim;
    float *at = part_scratch(ctx);
    AttendScratch s;
    s.weights = at;
    s.max = s.weights + group * kKeys;
    s.sum = s.max + 2 * group;
    s.part = s.sum + 2 * group;
    s.out = s.part + n;
    float *gathered = s.out + n;
    const int64_t kv = element_bytes(a.kv_dtype), items = static_cast<int64_t>(a.batch) * a.q_per_seq * a.kv_heads;
    for (int64_t item = ctx.part; item < items; item += ctx.parts) {
        const int64_t b = item / a.kv_heads / a.q_per_seq, i = item / a.kv_heads % a.q_per_seq, g = item % a.kv_heads;
        if (a.seq_len[b] == 0) continue;
        const int64_t q_at = b * a.q_seq_stride + i * a.q_row_stride + g * group * a.q_head_stride;
        const float *q = static_cast<const float *>(a.q) + q_at;
        if (a.q_dtype != LATHE_F32 || a.q_head_stride != dim) {
            for (int32_t h = 0; h < group; h++)
                read_floats(a.q_dtype, a.q, q_at + h * a.q_head_stride, dim, gathered + h * dim);
            q = gathered;
        }
        const PagedHead keys = {static_cast<const unsigned char *>(a.k_pages) + g * a.k_head_stride * kv,
                                static_cast<const unsigned char *>(a.v_pages) + g * a.v_head_stride * kv,
                                a.k_page_stride * kv,
                                a.k_slot_stride * kv,
                                a.v_page_stride * kv,
                                a.v_slot_stride * kv,
                                a.block_table + b * a.block_table_stride,
                                a.page_size};
        const int32_t count = static_cast<int32_t>(a.seq_len[b] - a.q_per_seq + i + 1);
        attend_group(kernels, a.kv_dtype, q, group, dim, a.sm_scale, count, keys, s);
        const int64_t out = b * a.out_seq_stride + i * a.out_row_stride + g * group * a.out_head_stride;
        for (int32_t h = 0; h < group; h++) {
            put_floats(kernels, a.out_dtype, s.out + h * dim, dim, a.out, out + h * a.out_head_stride);
            if (a.lse != nullptr)
                a.lse[(b * a.q_per_seq + i) * a.q_heads + g * group + h] =
                    (s.max[h] + std::log(s.sum[h])) * 1.44269504088896341f;
        }
    }
    return 0;
}

}  // namespace cpu
}  // namespace lathe
