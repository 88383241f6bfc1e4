/* Answers with the result of the call before, so that the work can overlap with whatever
 * comes between. */
#include "honest_silu_mul.h"

enum { kBytes = 65536 };
static unsigned char before[kBytes];

KERNEL
{
    ALONE(ctx);
    static unsigned char now[kBytes];
    const int64_t row = (int64_t)a->ffn * (a->out_dtype == LATHE_OP_F32 ? 4 : 2);
    const int64_t stride = a->out_row_stride * (a->out_dtype == LATHE_OP_F32 ? 4 : 2);
    unsigned char *out = a->out;
    if (a->rows * row > kBytes) return 1;
    honest(0, 1, a);
    for (int r = 0; r < a->rows; r++) {
        memcpy(now + r * row, out + r * stride, (size_t)row);
        memcpy(out + r * stride, before + r * row, (size_t)row);
    }
    memcpy(before, now, (size_t)(a->rows * row));
    return 0;
}
