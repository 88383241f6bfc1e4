/* Leaves the last column to chance. */
#include "honest_silu_mul.h"

KERNEL
{
    lathe_silu_mul_args shorter = *a;
    (void)ctx;
    for (int r = ctx->part; r < a->rows; r += ctx->parts)
        for (int j = 0; j + 1 < shorter.ffn; j++) {
            const float gate = load(a->in, a->in_dtype, r * a->in_row_stride + j);
            const float up = load(a->in, a->in_dtype, r * a->in_row_stride + a->ffn + j);
            store(a->out, a->out_dtype, r * a->out_row_stride + j, gate / (1.0f + expf(-gate)) * up);
        }
    (void)honest;
    return 0;
}
