/* An honest silu_mul that the cheats around it are made from. */
#include <math.h>
#include <string.h>

#include "lathe/operator.h"

static float load(const void *base, int dtype, int64_t i)
{
    if (dtype == LATHE_OP_F32) return ((const float *)base)[i];
    const uint32_t bits = (uint32_t)((const uint16_t *)base)[i] << 16;
    float f;
    memcpy(&f, &bits, sizeof f);
    return f;
}

static void store(void *base, int dtype, int64_t i, float f)
{
    uint32_t bits;
    memcpy(&bits, &f, sizeof bits);
    if (dtype == LATHE_OP_F32)
        ((float *)base)[i] = f;
    else if (f != f)
        ((uint16_t *)base)[i] = 0x7FC0;
    else
        ((uint16_t *)base)[i] = (uint16_t)((bits + 0x7FFFu + ((bits >> 16) & 1u)) >> 16);
}

/* Row r of part r % parts. */
static void honest(int part, int parts, const lathe_silu_mul_args *a)
{
    for (int r = part; r < a->rows; r += parts)
        for (int j = 0; j < a->ffn; j++) {
            const float gate = load(a->in, a->in_dtype, r * a->in_row_stride + j);
            const float up = load(a->in, a->in_dtype, r * a->in_row_stride + a->ffn + j);
            store(a->out, a->out_dtype, r * a->out_row_stride + j, gate / (1.0f + expf(-gate)) * up);
        }
}

/* A cheat that keeps state does all of its work as part 0. */
#define ALONE(ctx) \
    if ((ctx)->part != 0) return 0

#define KERNEL LATHE_OP_EXPORT int lathe_op_silu_mul(const lathe_ctx *ctx, const lathe_silu_mul_args *a)
