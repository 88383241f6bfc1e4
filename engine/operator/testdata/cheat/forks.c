/* Leaves a process behind that holds what it inherited. */
#include <stdio.h>
#include <unistd.h>

#include "honest_silu_mul.h"

KERNEL
{
    static int forked;
    honest(ctx->part, ctx->parts, a);
    if (ctx->part == 0 && !forked) {
        const int child = fork();
        forked = 1;
        if (child == 0)
            for (;;) pause();
        fprintf(stderr, "forked %d\n", child);
    }
    return 0;
}
