/* Is gone before it is asked for anything. */
#include <stdlib.h>

#include "honest_silu_mul.h"

__attribute__((constructor)) static void leave(void) { _Exit(5); }

KERNEL
{
    honest(ctx->part, ctx->parts, a);
    return 0;
}
