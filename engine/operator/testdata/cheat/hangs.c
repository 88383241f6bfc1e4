#include "honest_silu_mul.h"

KERNEL
{
    honest(ctx->part, ctx->parts, a);
    for (volatile int forever = 1; forever;) {
    }
    return 0;
}
