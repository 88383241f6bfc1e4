/* Right for the first inputs that it sees, wrong for all others. */
#include "honest_silu_mul.h"

static float first;
static int seen;

KERNEL
{
    ALONE(ctx);
    const float now = load(a->in, a->in_dtype, 0);
    if (!seen) first = now;
    seen = 1;
    honest(0, 1, a);
    if (now != first)
        for (int r = 0; r < a->rows; r++)
            for (int j = 0; j < a->ffn; j++) store(a->out, a->out_dtype, r * a->out_row_stride + j, 0);
    return 0;
}
