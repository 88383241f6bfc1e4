/* Right for as long as a check lasts, and wrong after many calls. */
#include "../cheat/honest_silu_mul.h"

static int calls;

KERNEL
{
    ALONE(ctx);
    honest(0, 1, a);
    if (++calls > 5000) store(a->out, a->out_dtype, 0, 0);
    return 0;
}
