/* Leaves scratch in its input. */
#include "honest_silu_mul.h"

KERNEL
{
    honest(ctx->part, ctx->parts, a);
    if (ctx->part == 0) store((void *)a->in, a->in_dtype, 0, 0);
    return 0;
}
