/* Attention that reads whole pages and gives what lies past the context a weight of 0:
 * nothing of it shows until those slots hold a NaN. */
#include <math.h>
#include <string.h>

#include "lathe/operator.h"

static float load(const void *base, int dtype, int64_t i)
{
    if (dtype == LATHE_OP_F32) return ((const float *)base)[i];
    const uint32_t bits = (uint32_t)((const uint16_t *)base)[i] << 16;
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
    else
        ((uint16_t *)base)[i] = f != f ? 0x7FC0 : (uint16_t)((bits + 0x7FFFu + ((bits >> 16) & 1u)) >> 16);
}

#ifndef LAST_HEAD
#define LAST_HEAD 0
#endif
#ifndef WHOLE_PAGES
#define WHOLE_PAGES 1
#endif

LATHE_OP_EXPORT int lathe_op_attn_decode(const lathe_ctx *ctx, const lathe_attn_decode_args *a)
{
    for (int u = ctx->part; u < a->batch * a->q_per_seq * a->q_heads; u += ctx->parts) {
        const int h = u % a->q_heads, row = u / a->q_heads % a->q_per_seq, b = u / a->q_heads / a->q_per_seq;
        const int g = h / (a->q_heads / a->kv_heads), keys = a->seq_len[b] - a->q_per_seq + row + 1;
        const int read = WHOLE_PAGES ? (keys + a->page_size - 1) / a->page_size * a->page_size : keys;
        float sum = 0, out[256] = {0}, highest = -INFINITY;
        if (a->seq_len[b] == 0) continue;
        for (int pass = 0; pass < 2; pass++)
            for (int t = 0; t < read; t++) {
                const int64_t page = a->block_table[b * a->block_table_stride + t / a->page_size], slot = t % a->page_size;
                float score = 0;
                for (int d = 0; d < a->head_dim; d++)
                    score += load(a->q, a->q_dtype, b * a->q_seq_stride + row * a->q_row_stride + h * a->q_head_stride + d) *
                             load(a->k_pages, a->kv_dtype, page * a->k_page_stride + slot * a->k_slot_stride + g * a->k_head_stride + d);
                score *= a->sm_scale;
                if (pass == 0) {
                    if (t < keys && score > highest) highest = score;
                    continue;
                }
                const float weight = t < keys ? expf(score - highest) : 0.0f;
                sum += weight;
                for (int d = 0; d < a->head_dim; d++)
                    out[d] += weight * load(a->v_pages, a->kv_dtype, page * a->v_page_stride + slot * a->v_slot_stride + g * a->v_head_stride + d);
            }
        for (int d = 0; d < a->head_dim; d++)
            store(a->out, a->out_dtype, b * a->out_seq_stride + row * a->out_row_stride + h * a->out_head_stride + d,
                  LAST_HEAD && h == a->q_heads - 1 && a->q_heads >= 4 ? 0 : out[d] / sum);
        if (a->lse != 0) a->lse[(b * a->q_per_seq + row) * a->q_heads + h] = (highest + logf(sum)) * 1.44269504f;
    }
    return 0;
}
