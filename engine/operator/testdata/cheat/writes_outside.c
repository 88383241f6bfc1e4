/* Clears a little more than its output. */
#include "honest_silu_mul.h"

KERNEL
{
    honest(ctx->part, ctx->parts, a);
    if (ctx->part == 0) store(a->out, a->out_dtype, (a->rows - 1) * a->out_row_stride + a->ffn, 0);
    return 0;
}
