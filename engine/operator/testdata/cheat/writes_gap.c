/* Clears its rows up to their stride first. */
#include "honest_silu_mul.h"

KERNEL
{
    for (int r = ctx->part; r < a->rows - 1; r += ctx->parts)
        for (int64_t j = 0; j < a->out_row_stride; j++) store(a->out, a->out_dtype, r * a->out_row_stride + j, 0);
    honest(ctx->part, ctx->parts, a);
    return 0;
}
