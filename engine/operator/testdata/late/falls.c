/* Crashes after many calls. */
#include "../cheat/honest_silu_mul.h"

static int calls;

KERNEL
{
    volatile int *volatile nowhere = 0;
    honest(ctx->part, ctx->parts, a);
    if (ctx->part == 0 && ++calls > 5000) *nowhere = 1;
    return 0;
}
