/* Ends the process with the status of success. */
#include <stdlib.h>

#include "honest_silu_mul.h"

KERNEL
{
    honest(ctx->part, ctx->parts, a);
    exit(0);
}
