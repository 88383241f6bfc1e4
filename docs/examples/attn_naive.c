/* attn_decode, naive: one query head after the other, each reading every key twice and
 * every value once, a number at a time. Right, and slow: the start of the worked example
 * in README.md. attn_better.c is the same computation with the memory in mind.
 *
 *     cc -O3 -shared -fPIC -fvisibility=hidden -Wl,-z,defs -I include -o attn_naive.so docs/examples/attn_naive.c -lm
 *     lathe kernel check attn_decode ./attn_naive.so */
#include <math.h>
#include <string.h>

#include "lathe/operator.h"

LATHE_OP_EXPORT const uint32_t lathe_op_abi = LATHE_OP_ABI;

static float load(const void *base, int dtype, int64_t i)
{
    if (dtype == LATHE_OP_F32) return ((const float *)base)[i];
    const uint32_t bits = (uint32_t)((const uint16_t *)base)[i] << 16; /* bf16 */
    float f;
    memcpy(&f, &bits, sizeof f);
    return f;
}

static void store(void *base, int dtype, int64_t i, float f)
{
    uint32_t bits;
    memcpy(&bits, &f, sizeof bits);
    if (dtype == LATHE_OP_F32)
        ((float *)base)[i] = f;
    else if (f != f)
        ((uint16_t *)base)[i] = 0x7FC0; /* a NaN stays one */
    else
        ((uint16_t *)base)[i] = (uint16_t)((bits + 0x7FFFu + ((bits >> 16) & 1u)) >> 16);
}

/* Where the key (or value) of position t of sequence b lies, for key/value head g. */
static int64_t place(const lathe_attn_decode_args *a, int b, int t, int g, int64_t page, int64_t slot, int64_t head)
{
    return a->block_table[b * a->block_table_stride + t / a->page_size] * page + t % a->page_size * slot + g * head;
}

static float score(const lathe_attn_decode_args *a, int b, int row, int h, int t)
{
    const int64_t q = b * a->q_seq_stride + row * a->q_row_stride + h * a->q_head_stride;
    const int64_t k = place(a, b, t, h / (a->q_heads / a->kv_heads), a->k_page_stride, a->k_slot_stride, a->k_head_stride);
    float sum = 0;
    for (int d = 0; d < a->head_dim; d++) sum += load(a->q, a->q_dtype, q + d) * load(a->k_pages, a->kv_dtype, k + d);
    return sum * a->sm_scale;
}

enum { kMaxDim = 256 };

LATHE_OP_EXPORT int lathe_op_attn_decode_supports(const lathe_attn_decode_args *a)
{
    return a->head_dim <= kMaxDim && a->q_dtype != LATHE_OP_F16 && a->kv_dtype != LATHE_OP_F16 && a->out_dtype != LATHE_OP_F16;
}

static void one_head(const lathe_attn_decode_args *a, int b, int row, int h, int keys)
{
    float highest = -INFINITY, sum = 0, values[kMaxDim] = {0};
    for (int t = 0; t < keys; t++) {
        const float s = score(a, b, row, h, t);
        if (s > highest) highest = s;
    }
    for (int t = 0; t < keys; t++) {
        const float weight = expf(score(a, b, row, h, t) - highest);
        const int64_t v = place(a, b, t, h / (a->q_heads / a->kv_heads), a->v_page_stride, a->v_slot_stride, a->v_head_stride);
        sum += weight;
        for (int d = 0; d < a->head_dim; d++) values[d] += weight * load(a->v_pages, a->kv_dtype, v + d);
    }
    const int64_t out = b * a->out_seq_stride + row * a->out_row_stride + h * a->out_head_stride;
    for (int d = 0; d < a->head_dim; d++) store(a->out, a->out_dtype, out + d, values[d] / sum);
    if (a->lse != 0) a->lse[((int64_t)b * a->q_per_seq + row) * a->q_heads + h] = (highest + logf(sum)) * 1.44269504f;
}

LATHE_OP_EXPORT int lathe_op_attn_decode(const lathe_ctx *ctx, const lathe_attn_decode_args *a)
{
    for (int unit = ctx->part; unit < a->batch * a->q_per_seq * a->q_heads; unit += ctx->parts) {
        const int h = unit % a->q_heads, row = unit / a->q_heads % a->q_per_seq, b = unit / a->q_heads / a->q_per_seq;
        if (a->seq_len[b] > 0) one_head(a, b, row, h, a->seq_len[b] - a->q_per_seq + row + 1);
    }
    return 0;
}
