/* Other bits at every call. */
#include "honest_silu_mul.h"

static int calls;

KERNEL
{
    ALONE(ctx);
    honest(0, 1, a);
    const float v = load(a->out, a->out_dtype, 0);
    if (a->out_dtype == LATHE_OP_F32) store(a->out, a->out_dtype, 0, v * (calls++ % 2 ? 1.000001f : 1.0f));
    return 0;
}
