/* unfused.c: each operator of the unfused path as its definition in operator.h
 * reads, in float64, one row or one value at a time. FAULT is 0 for right results;
 * 1: every value is off by half; 2: part 0 of a call fails with 7; 3: _supports says no;
 * 4: _workspace asks for 4097 bytes and each call checks them. */
#include <math.h>

#include "element.h"

#ifndef FAULT
#define FAULT 0
#endif

LATHE_OP_EXPORT const uint32_t lathe_op_abi;
const uint32_t lathe_op_abi = LATHE_OP_ABI;

/* What a call starts with: 0, or the code to return. */
static int begin(const lathe_ctx *ctx, uint32_t struct_size, size_t want)
{
    if (ctx->abi != LATHE_OP_ABI || ctx->struct_size != sizeof *ctx || struct_size != want) return 101;
    if (ctx->part < 0 || ctx->part >= ctx->parts || ctx->stream != 0 || ctx->device != -1) return 102;
    if ((ctx->flags & LATHE_CTX_DETERMINISTIC) == 0) return 103;
    if (FAULT == 2 && ctx->part == 0) return 7;
    if (FAULT == 4) {
        unsigned char *w = (unsigned char *)ctx->workspace;
        if (ctx->workspace_bytes != 4097 || ((uintptr_t)w & 255) != 0) return 104;
        /* each part owns a byte that it found zeroed once and counts in */
        if (ctx->part < 4096 && ++w[1 + ctx->part] == 0) return 105;
    } else if (ctx->workspace != 0 || ctx->workspace_bytes != 0) {
        return 106;
    }
    return 0;
}

static double off(double x) { return FAULT == 1 ? x + 0.5 * fabs(x) + 0.01 : x; }

#if FAULT == 3
#define SUPPORTS(name) \
    LATHE_OP_EXPORT int lathe_op_##name##_supports(const lathe_##name##_args *a) { return a == 0; }
#elif FAULT == 4
#define SUPPORTS(name) \
    LATHE_OP_EXPORT uint64_t lathe_op_##name##_workspace(const lathe_##name##_args *a) { return a ? 4097 : 0; }
#else
#define SUPPORTS(name)
#endif

SUPPORTS(rmsnorm)
LATHE_OP_EXPORT int lathe_op_rmsnorm(const lathe_ctx *ctx, const lathe_rmsnorm_args *a)
{
    int rc = begin(ctx, a->struct_size, sizeof *a);
    for (int32_t r = ctx->part; rc == 0 && r < a->rows; r += ctx->parts) {
        const int64_t x = r * a->x_row_stride, res = r * a->residual_row_stride, out = r * a->out_row_stride;
        double sum = 0;
        for (int32_t i = 0; i < a->hidden; i++) {
            double v = get(a->x_dtype, a->x, x + i);
            if (a->residual) {
                v += get(a->residual_dtype, a->residual, res + i);
                put(a->residual_dtype, a->residual, res + i, (float)v);
                v = get(a->residual_dtype, a->residual, res + i);
            }
            sum += v * v;
        }
        for (int32_t i = 0; i < a->hidden; i++) {
            const double v = a->residual ? get(a->residual_dtype, a->residual, res + i) : get(a->x_dtype, a->x, x + i);
            put(a->out_dtype, a->out, out + i,
                (float)off(v / sqrt(sum / a->hidden + a->eps) * get(a->weight_dtype, a->weight, i)));
        }
    }
    return rc;
}

SUPPORTS(gemm)
LATHE_OP_EXPORT int lathe_op_gemm(const lathe_ctx *ctx, const lathe_gemm_args *a)
{
    int rc = begin(ctx, a->struct_size, sizeof *a);
    for (int32_t n = ctx->part; rc == 0 && n < a->n; n += ctx->parts)
        for (int32_t m = 0; m < a->m; m++) {
            const int64_t to = m * a->out_row_stride + n;
            double sum = a->bias ? get(a->bias_dtype, a->bias, n) : 0;
            for (int32_t k = 0; k < a->k; k++)
                sum += (double)get(a->a_dtype, a->a, m * a->a_row_stride + k) * get(a->w_dtype, a->w, n * a->w_row_stride + k);
            if (a->accumulate) sum += get(a->out_dtype, a->out, to);
            put(a->out_dtype, a->out, to, (float)off(sum));
        }
    return rc;
}

SUPPORTS(silu_mul)
LATHE_OP_EXPORT int lathe_op_silu_mul(const lathe_ctx *ctx, const lathe_silu_mul_args *a)
{
    int rc = begin(ctx, a->struct_size, sizeof *a);
    for (int64_t i = ctx->part; rc == 0 && i < (int64_t)a->rows * a->ffn; i += ctx->parts) {
        const int64_t r = i / a->ffn, j = i % a->ffn, in = r * a->in_row_stride;
        const double gate = get(a->in_dtype, a->in, in + j), up = get(a->in_dtype, a->in, in + a->ffn + j);
        put(a->out_dtype, a->out, r * a->out_row_stride + j, (float)off(gate / (1 + exp(-gate)) * up));
    }
    return rc;
}

static void append(const lathe_rope_append_args *a, int32_t r, int32_t h)
{
    const int32_t p = a->position[r], page = a->block_table[a->seq[r] * a->block_table_stride + p / a->page_size];
    const int64_t k = page * a->k_page_stride + p % a->page_size * a->k_slot_stride + h * a->k_head_stride;
    const int64_t v = page * a->v_page_stride + p % a->page_size * a->v_slot_stride + h * a->v_head_stride;
    const int64_t from_k = r * a->k_row_stride + h * a->head_dim, from_v = r * a->v_row_stride + h * a->head_dim;
    const float *cosines = a->cos_sin + p * a->cos_sin_row_stride;
    const int32_t half = a->head_dim / 2;
    for (int32_t i = 0; i < half; i++) {
        const double c = cosines[i], s = cosines[half + i];
        const double lo = get(a->qkv_dtype, a->k, from_k + i), hi = get(a->qkv_dtype, a->k, from_k + half + i);
        put(a->kv_dtype, a->k_pages, k + i, (float)off(lo * c - hi * s));
        put(a->kv_dtype, a->k_pages, k + half + i, (float)off(hi * c + lo * s));
    }
    for (int32_t i = 0; i < a->head_dim; i++)
        put(a->kv_dtype, a->v_pages, v + i, (float)off(get(a->qkv_dtype, a->v, from_v + i)));
}

SUPPORTS(rope_append)
LATHE_OP_EXPORT int lathe_op_rope_append(const lathe_ctx *ctx, const lathe_rope_append_args *a)
{
    int rc = begin(ctx, a->struct_size, sizeof *a);
    for (int32_t r = ctx->part; rc == 0 && r < a->rows; r += ctx->parts) {
        if (a->position[r] < 0) continue;
        const float *cosines = a->cos_sin + a->position[r] * a->cos_sin_row_stride;
        const int32_t half = a->head_dim / 2;
        for (int32_t h = 0; h < a->q_heads; h++)
            for (int32_t i = 0; i < half; i++) {
                const int64_t lo_at = r * a->q_row_stride + h * a->head_dim + i, hi_at = lo_at + half;
                const double lo = get(a->qkv_dtype, a->q, lo_at), hi = get(a->qkv_dtype, a->q, hi_at);
                put(a->qkv_dtype, a->q, lo_at, (float)off(lo * cosines[i] - hi * cosines[half + i]));
                put(a->qkv_dtype, a->q, hi_at, (float)off(hi * cosines[i] + lo * cosines[half + i]));
            }
        for (int32_t h = 0; h < a->kv_heads; h++) append(a, r, h);
    }
    return rc;
}

/* One head of one row: two passes over the keys for the softmax, one for the values. */
static void attend(const lathe_attn_decode_args *a, int32_t b, int32_t i, int32_t h)
{
    const int32_t keys = a->seq_len[b] - a->q_per_seq + i + 1, g = h / (a->q_heads / a->kv_heads);
    const int64_t q = b * a->q_seq_stride + i * a->q_row_stride + h * a->q_head_stride;
    const int64_t out = b * a->out_seq_stride + i * a->out_row_stride + h * a->out_head_stride;
    double largest = -INFINITY, sum = 0, values[512] = {0};
    for (int pass = 0; pass < 2; pass++)
        for (int32_t t = 0; t < keys; t++) {
            const int32_t page = a->block_table[b * a->block_table_stride + t / a->page_size], slot = t % a->page_size;
            const int64_t k = page * a->k_page_stride + slot * a->k_slot_stride + g * a->k_head_stride;
            const int64_t v = page * a->v_page_stride + slot * a->v_slot_stride + g * a->v_head_stride;
            double score = 0;
            for (int32_t d = 0; d < a->head_dim; d++)
                score += (double)get(a->q_dtype, a->q, q + d) * get(a->kv_dtype, a->k_pages, k + d);
            score *= a->sm_scale;
            if (pass == 0) {
                if (score > largest) largest = score;
                continue;
            }
            const double w = exp(score - largest);
            sum += w;
            for (int32_t d = 0; d < a->head_dim; d++) values[d] += w * get(a->kv_dtype, a->v_pages, v + d);
        }
    for (int32_t d = 0; d < a->head_dim; d++) put(a->out_dtype, a->out, out + d, (float)off(values[d] / sum));
    if (a->lse) a->lse[((int64_t)b * a->q_per_seq + i) * a->q_heads + h] = (float)((largest + log(sum)) / log(2.0));
}

SUPPORTS(attn_decode)
LATHE_OP_EXPORT int lathe_op_attn_decode(const lathe_ctx *ctx, const lathe_attn_decode_args *a)
{
    int rc = begin(ctx, a->struct_size, sizeof *a);
    if (rc == 0 && a->head_dim > 512) return 107;
    for (int32_t w = ctx->part; rc == 0 && w < a->batch * a->q_per_seq * a->q_heads; w += ctx->parts) {
        const int32_t b = w / (a->q_per_seq * a->q_heads);
        if (a->seq_len[b] > 0) attend(a, b, w / a->q_heads % a->q_per_seq, w % a->q_heads);
    }
    return rc;
}
