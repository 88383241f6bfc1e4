#include "honest_silu_mul.h"

KERNEL
{
    volatile int *volatile nowhere = 0;
    honest(ctx->part, ctx->parts, a);
    *nowhere = 1;
    return 0;
}
