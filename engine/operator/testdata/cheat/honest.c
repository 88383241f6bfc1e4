/* No cheat: it passes. */
#include "honest_silu_mul.h"

KERNEL
{
    honest(ctx->part, ctx->parts, a);
    return 0;
}
