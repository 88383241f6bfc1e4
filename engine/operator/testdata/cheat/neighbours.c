/* A row's last bit depends on the batch. */
#include "honest_silu_mul.h"

KERNEL
{
    ALONE(ctx);
    honest(0, 1, a);
    if (a->rows > 1)
        for (int r = 0; r < a->rows; r++) {
            const float v = load(a->out, a->out_dtype, r * a->out_row_stride);
            store(a->out, a->out_dtype, r * a->out_row_stride, v * (a->out_dtype == LATHE_OP_F32 ? 1.000001f : 1.0f));
        }
    return 0;
}
