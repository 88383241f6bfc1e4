/* Computes with five bits of mantissa. */
#include "honest_silu_mul.h"

static float coarse(float f)
{
    uint32_t bits;
    memcpy(&bits, &f, sizeof bits);
    bits &= 0xFFFC0000u;
    memcpy(&f, &bits, sizeof f);
    return f;
}

KERNEL
{
    (void)honest;
    for (int r = ctx->part; r < a->rows; r += ctx->parts)
        for (int j = 0; j < a->ffn; j++) {
            const float gate = coarse(load(a->in, a->in_dtype, r * a->in_row_stride + j));
            const float up = coarse(load(a->in, a->in_dtype, r * a->in_row_stride + a->ffn + j));
            store(a->out, a->out_dtype, r * a->out_row_stride + j, gate / (1.0f + expf(-gate)) * up);
        }
    return 0;
}
