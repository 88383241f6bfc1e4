// cpu_builtin_gemm.cc: the builtins around a product with row-major weights: gemm in
// all its roles, and the fused operators. A part takes whole units of 16 weight rows
// and meets every row of the batch with one before it reads the next, so each weight
// is read once a call. The fused ones normalise every row in each part, because no
// part may wait for another.
// Bytes: n * k weights; the bound is memory bandwidth up to some six rows.
#include <algorithm>
#include <atomic>
#include <cmath>

#include "cpu_builtin.h"
#include "cpu_element.h"
#include "cpu_pool.h"
#include "cpu_rope.h"

namespace lathe {
namespace cpu {

namespace {

const int32_t kUnit = 16;    // weight rows of one visit
const int32_t kMostColumns = 8;

// Rows of activations that meet weights.
struct Inputs {
    const void *a;
    int32_t dtype;
    int64_t stride;
    int32_t rows;
};

typedef void (*RowsFn)(const RowsArgs &);

RowsFn rows_for(const Kernels &k, int32_t w_dtype, int32_t a_dtype)
{
    if (w_dtype == LATHE_F32) return k.rows_f32;
    return a_dtype == LATHE_F32 ? k.rows_mixed : k.rows_bf16;
}

int32_t columns_of(const Kernels &k) { return std::min(kMostColumns, k.max_cols); }

// Weight rows first .. first+n-1 times input rows c .. c+cols-1: out[col][kUnit].
void meet(const Kernels &kernels, const lathe_gemm_args &g, const Inputs &in, int64_t first, int32_t n, int32_t c,
          int32_t cols, float (*out)[kUnit])
{
    rows_for(kernels, g.w_dtype, in.dtype)({element(g.w_dtype, g.w, first * g.w_row_stride), g.w_row_stride, n,
                                            element(in.dtype, in.a, c * in.stride), in.stride, cols, g.k, out[0],
                                            kUnit});
}

void add_bias(const lathe_gemm_args &g, int64_t first, int32_t n, float *values)
{
    if (g.bias == nullptr) return;
    float wide[kUnit];
    add_to(values, floats(g.bias_dtype, g.bias, first, n, wide), n);
}

// The normalised rows of x in this part's scratch, in the type that meets the weights.
Inputs normalise(const Kernels &kernels, const lathe_rmsnorm_args &a, int32_t dtype, float *scratch)
{
    float *wide = scratch, *gain = wide + a.hidden, *out = gain + a.hidden;
    void *panel = out + a.hidden;
    const float *weight = floats(a.weight_dtype, a.weight, 0, a.hidden, gain);
    for (int64_t r = 0; r < a.rows; r++) {
        kernels.norm(floats(a.x_dtype, a.x, r * a.x_row_stride, a.hidden, wide), weight, a.eps, a.hidden, out);
        put_floats(kernels, dtype, out, a.hidden, panel, r * a.hidden);
    }
    return {panel, dtype, a.hidden, a.rows};
}

}  // namespace

int run_gemm(const Kernels &kernels, const lathe_ctx &ctx, const lathe_gemm_args &a)
{
    if (!supports(a)) return kWrongTypes;
    const Inputs in = {a.a, a.a_dtype, a.a_row_stride, a.m};
    const Range mine = share((static_cast<int64_t>(a.n) + kUnit - 1) / kUnit, ctx.part, ctx.parts);
    float out[kMostColumns][kUnit], held[kUnit];
    for (int64_t u = mine.first; u < mine.last; u++) {
        const int64_t first = u * kUnit;
        const int32_t n = static_cast<int32_t>(std::min<int64_t>(kUnit, a.n - first));
        for (int32_t c = 0; c < a.m; c += columns_of(kernels)) {
            const int32_t cols = std::min(columns_of(kernels), a.m - c);
            meet(kernels, a, in, first, n, c, cols, out);
            for (int32_t i = 0; i < cols; i++) {
                const int64_t to = (c + i) * a.out_row_stride + first;
                add_bias(a, first, n, out[i]);
                if (a.accumulate) {
                    read_floats(a.out_dtype, a.out, to, n, held);
                    add_to(held, out[i], n);
                    put_floats(kernels, a.out_dtype, held, n, a.out, to);
                } else {
                    put_floats(kernels, a.out_dtype, out[i], n, a.out, to);
                }
            }
        }
    }
    return 0;
}

namespace {

// One unit of a head: pairs pair .. pair+n-1 of it.
struct HeadPiece {
    int32_t head, pair, n;
};

// Puts one row's pairs of a head where they go: q, or K or V in the cache.
void finish_head(const Kernels &kernels, const lathe_rope_append_args &a, const HeadPiece &at, int32_t row, float *low,
                 float *high)
{
    const int32_t half = a.head_dim / 2, k = at.head - a.q_heads, v = k - a.kv_heads;
    const float *cosines = a.cos_sin + a.position[row] * a.cos_sin_row_stride;
    if (v < 0) rotate(low, high, cosines + at.pair, cosines + half + at.pair, at.n);
    if (k < 0) {
        const int64_t to = row * a.q_row_stride + static_cast<int64_t>(at.head) * a.head_dim + at.pair;
        put_floats(kernels, a.qkv_dtype, low, at.n, a.q, to);
        put_floats(kernels, a.qkv_dtype, high, at.n, a.q, to + half);
        return;
    }
    void *pages = v < 0 ? a.k_pages : a.v_pages;
    const int64_t to = at.pair + (v < 0 ? append_offset(a, row, a.k_page_stride, a.k_slot_stride, k * a.k_head_stride)
                                        : append_offset(a, row, a.v_page_stride, a.v_slot_stride, v * a.v_head_stride));
    put_kv(a.kv_dtype, low, at.n, pages, to);
    put_kv(a.kv_dtype, high, at.n, pages, to + half);
}

}  // namespace

int run_norm_qkv_rope_append(const Kernels &kernels, const lathe_ctx &ctx, const lathe_norm_qkv_rope_append_args &a)
{
    if (!supports(a)) return kWrongTypes;
    const lathe_rope_append_args &rope = a.rope;
    const int32_t half = rope.head_dim / 2, pieces = (half + kUnit - 1) / kUnit;
    const Range mine = share(static_cast<int64_t>(rope.q_heads + 2 * rope.kv_heads) * pieces, ctx.part, ctx.parts);
    if (mine.first == mine.last) return 0;
    const Inputs in = normalise(kernels, a.norm, a.qkv.a_dtype, part_scratch(ctx));
    float low[kMostColumns][kUnit], high[kMostColumns][kUnit];
    for (int64_t u = mine.first; u < mine.last; u++) {
        HeadPiece at;
        at.head = static_cast<int32_t>(u / pieces);
        at.pair = static_cast<int32_t>(u % pieces) * kUnit;
        at.n = std::min(kUnit, half - at.pair);
        const int64_t first = static_cast<int64_t>(at.head) * rope.head_dim + at.pair;
        for (int32_t c = 0; c < in.rows; c += columns_of(kernels)) {
            const int32_t cols = std::min(columns_of(kernels), in.rows - c);
            meet(kernels, a.qkv, in, first, at.n, c, cols, low);
            meet(kernels, a.qkv, in, first + half, at.n, c, cols, high);
            for (int32_t i = 0; i < cols; i++) {
                if (rope.position[c + i] < 0) continue;
                add_bias(a.qkv, first, at.n, low[i]);
                add_bias(a.qkv, first + half, at.n, high[i]);
                finish_head(kernels, rope, at, c + i, low[i], high[i]);
            }
        }
    }
    return 0;
}

int run_norm_gate_up_silu(const Kernels &kernels, const lathe_ctx &ctx, const lathe_norm_gate_up_silu_args &a)
{
    if (!supports(a)) return kWrongTypes;
    const int64_t ffn = a.silu.ffn;
    const Range mine = share((ffn + kUnit - 1) / kUnit, ctx.part, ctx.parts);
    if (mine.first == mine.last) return 0;
    const Inputs in = normalise(kernels, a.norm, a.gate_up.a_dtype, part_scratch(ctx));
    float gate[kMostColumns][kUnit], up[kMostColumns][kUnit];
    for (int64_t u = mine.first; u < mine.last; u++) {
        const int64_t first = u * kUnit;
        const int32_t n = static_cast<int32_t>(std::min<int64_t>(kUnit, ffn - first));
        for (int32_t c = 0; c < in.rows; c += columns_of(kernels)) {
            const int32_t cols = std::min(columns_of(kernels), in.rows - c);
            meet(kernels, a.gate_up, in, first, n, c, cols, gate);
            meet(kernels, a.gate_up, in, ffn + first, n, c, cols, up);
            for (int32_t i = 0; i < cols; i++) {
                add_bias(a.gate_up, first, n, gate[i]);
                add_bias(a.gate_up, ffn + first, n, up[i]);
                kernels.silu_mul(gate[i], up[i], n);
                put_floats(kernels, a.silu.out_dtype, gate[i], n, a.silu.out, (c + i) * a.silu.out_row_stride + first);
            }
        }
    }
    return 0;
}

namespace {

// The parts' best logits and the ticket that tells the last one to come.
struct HeadShared {
    std::atomic<int32_t> *ticket;
    Best *best;  // [parts][rows]
};

HeadShared head_shared(const lathe_ctx &ctx)
{
    static_assert(sizeof(std::atomic<int32_t>) == 4, "a zeroed ticket is one that nobody took");
    return {static_cast<std::atomic<int32_t> *>(ctx.workspace),
            reinterpret_cast<Best *>(static_cast<unsigned char *>(ctx.workspace) + 64)};
}

// The last part to come merges what all have found, in the order of their logits, and
// leaves the ticket as it was before the first.
void merge_best(const lathe_ctx &ctx, const lathe_norm_head_argmax_args &a)
{
    const HeadShared s = head_shared(ctx);
    if (s.ticket->fetch_add(1, std::memory_order_acq_rel) + 1 != ctx.parts) return;
    s.ticket->store(0, std::memory_order_relaxed);
    for (int32_t r = 0; r < a.norm.rows; r++) {
        Best best = {-INFINITY, -1, true};
        for (int32_t p = 0; p < ctx.parts; p++) {
            const Best &part = s.best[static_cast<int64_t>(p) * a.norm.rows + r];
            best.finite = best.finite && part.finite;
            if (part.value > best.value) best = {part.value, part.index, best.finite};
        }
        a.token[r] = best.index;
        a.value[r] = best.finite ? best.value : NAN;
    }
}

}  // namespace

int run_norm_head_argmax(const Kernels &kernels, const lathe_ctx &ctx, const lathe_norm_head_argmax_args &a)
{
    if (!supports(a)) return kWrongTypes;
    const lathe_gemm_args &head = a.head;
    Best *best = head_shared(ctx).best + static_cast<int64_t>(ctx.part) * a.norm.rows;
    for (int32_t r = 0; r < a.norm.rows; r++) best[r] = {-INFINITY, -1, true};
    const Range mine = share((static_cast<int64_t>(head.n) + kUnit - 1) / kUnit, ctx.part, ctx.parts);
    Inputs in = {nullptr, 0, 0, 0};
    if (mine.first < mine.last)
        in = normalise(kernels, a.norm, head.a_dtype, part_scratch(ctx, head_shared_bytes(a.norm.rows, ctx.parts)));
    float out[kMostColumns][kUnit];
    for (int64_t u = mine.first; u < mine.last; u++) {
        const int64_t first = u * kUnit;
        const int32_t n = static_cast<int32_t>(std::min<int64_t>(kUnit, head.n - first));
        for (int32_t c = 0; c < in.rows; c += columns_of(kernels)) {
            const int32_t cols = std::min(columns_of(kernels), in.rows - c);
            meet(kernels, head, in, first, n, c, cols, out);
            for (int32_t i = 0; i < cols; i++) {
                add_bias(head, first, n, out[i]);
                take_logits(out[i], n, static_cast<int32_t>(first), &best[c + i]);
                if (head.out != nullptr)
                    put_floats(kernels, head.out_dtype, out[i], n, head.out, (c + i) * head.out_row_stride + first);
            }
        }
    }
    merge_best(ctx, a);
    return 0;
}

}  // namespace cpu
}  // namespace lathe
