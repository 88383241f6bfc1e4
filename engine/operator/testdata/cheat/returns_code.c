#include "honest_silu_mul.h"

KERNEL
{
    honest(ctx->part, ctx->parts, a);
    return ctx->part == ctx->parts - 1 ? 7 : 0;
}
