/* attn_decode, better: what attn_naive.c computes, with the memory in mind. Each key and
 * value is read and widened once for all query heads that share it, the sums of a dot
 * product run in 16 lanes, and the maximum is found on the way instead of in a pass of
 * its own. Bytes a call: the keys and values of the context, once.
 *
 *     cc -O3 -shared -fPIC -fvisibility=hidden -Wl,-z,defs -I include -o attn_better.so docs/examples/attn_better.c -lm
 *     lathe kernel check attn_decode ./attn_better.so */
#include <math.h>
#include <string.h>

#include "lathe/operator.h"

LATHE_OP_EXPORT const uint32_t lathe_op_abi = LATHE_OP_ABI;

enum { kLanes = 16, kMaxDim = 256, kMaxGroup = 16 };

LATHE_OP_EXPORT int lathe_op_attn_decode_supports(const lathe_attn_decode_args *a)
{
    return a->head_dim <= kMaxDim && a->head_dim % kLanes == 0 && a->q_heads / a->kv_heads <= kMaxGroup &&
           a->q_dtype != LATHE_OP_F16 && a->kv_dtype != LATHE_OP_F16 && a->out_dtype != LATHE_OP_F16;
}

/* n elements from i on as float32. */
static void widen(float *out, const void *base, int dtype, int64_t i, int n)
{
    if (dtype == LATHE_OP_F32) {
        memcpy(out, (const float *)base + i, (size_t)n * sizeof(float));
        return;
    }
    const uint16_t *in = (const uint16_t *)base + i;
    for (int d = 0; d < n; d++) {
        const uint32_t bits = (uint32_t)in[d] << 16;
        memcpy(out + d, &bits, sizeof bits);
    }
}

static void narrow(void *base, int dtype, int64_t i, const float *in, int n)
{
    for (int d = 0; d < n; d++) {
        uint32_t bits;
        memcpy(&bits, in + d, sizeof bits);
        if (dtype == LATHE_OP_F32)
            ((float *)base)[i + d] = in[d];
        else if (in[d] != in[d])
            ((uint16_t *)base)[i + d] = 0x7FC0; /* a NaN stays one */
        else
            ((uint16_t *)base)[i + d] = (uint16_t)((bits + 0x7FFFu + ((bits >> 16) & 1u)) >> 16);
    }
}

static float dot(const float *x, const float *y, int n)
{
    float lane[kLanes] = {0}, sum = 0;
    for (int d = 0; d < n; d += kLanes)
        for (int j = 0; j < kLanes; j++) lane[j] += x[d + j] * y[d + j];
    for (int j = 0; j < kLanes; j++) sum += lane[j];
    return sum;
}

/* The query heads of one row that share key/value head g. */
static void one_group(const lathe_attn_decode_args *a, int b, int row, int g)
{
    const int dim = a->head_dim, group = a->q_heads / a->kv_heads, keys = a->seq_len[b] - a->q_per_seq + row + 1;
    float q[kMaxGroup][kMaxDim], values[kMaxGroup][kMaxDim], highest[kMaxGroup], sum[kMaxGroup], k[kMaxDim], v[kMaxDim];
    for (int h = 0; h < group; h++) {
        widen(q[h], a->q, a->q_dtype, b * a->q_seq_stride + row * a->q_row_stride + (g * group + h) * a->q_head_stride, dim);
        memset(values[h], 0, sizeof values[h]);
        highest[h] = -INFINITY;
        sum[h] = 0;
    }
    for (int t = 0; t < keys; t++) {
        const int64_t page = a->block_table[b * a->block_table_stride + t / a->page_size], slot = t % a->page_size;
        widen(k, a->k_pages, a->kv_dtype, page * a->k_page_stride + slot * a->k_slot_stride + g * a->k_head_stride, dim);
        widen(v, a->v_pages, a->kv_dtype, page * a->v_page_stride + slot * a->v_slot_stride + g * a->v_head_stride, dim);
        for (int h = 0; h < group; h++) {
            const float score = dot(q[h], k, dim) * a->sm_scale;
            if (score > highest[h]) { /* what was summed so far was of a lower maximum */
                const float shrink = expf(highest[h] - score);
                for (int d = 0; d < dim; d++) values[h][d] *= shrink;
                sum[h] *= shrink;
                highest[h] = score;
            }
            const float weight = expf(score - highest[h]);
            sum[h] += weight;
            for (int d = 0; d < dim; d++) values[h][d] += weight * v[d];
        }
    }
    for (int h = 0; h < group; h++) {
        for (int d = 0; d < dim; d++) values[h][d] /= sum[h];
        narrow(a->out, a->out_dtype, b * a->out_seq_stride + row * a->out_row_stride + (g * group + h) * a->out_head_stride,
               values[h], dim);
        if (a->lse != 0)
            a->lse[((int64_t)b * a->q_per_seq + row) * a->q_heads + g * group + h] = (highest[h] + logf(sum[h])) * 1.44269504f;
    }
}

LATHE_OP_EXPORT int lathe_op_attn_decode(const lathe_ctx *ctx, const lathe_attn_decode_args *a)
{
    for (int unit = ctx->part; unit < a->batch * a->q_per_seq * a->kv_heads; unit += ctx->parts) {
        const int g = unit % a->kv_heads, row = unit / a->kv_heads % a->q_per_seq, b = unit / a->kv_heads / a->q_per_seq;
        if (a->seq_len[b] > 0) one_group(a, b, row, g);
    }
    return 0;
}
