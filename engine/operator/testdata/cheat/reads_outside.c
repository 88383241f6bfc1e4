/* Reads a vector past the end of the last row. */
#include "honest_silu_mul.h"

KERNEL
{
    static volatile float sink;
    honest(ctx->part, ctx->parts, a);
    if (ctx->part == 0) sink += load(a->in, a->in_dtype, (a->rows - 1) * a->in_row_stride + 2 * a->ffn + 64);
    return 0;
}
