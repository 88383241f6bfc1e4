/* Part 0 waits until part 1 has come: there may be one thread for both. */
#include "honest_silu_mul.h"

static volatile int arrived;

KERNEL
{
    if (ctx->parts > 1) {
        if (ctx->part == 0) arrived = 1;
        while (ctx->part == ctx->parts - 1 && !arrived) {
        }
        arrived = ctx->part == ctx->parts - 1 ? 0 : arrived;
    }
    honest(ctx->part, ctx->parts, a);
    return 0;
}
