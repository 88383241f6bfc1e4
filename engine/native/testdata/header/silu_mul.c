/* silu_mul.c: a user's operator as operator.h tells him to write it; compiled as C
 * and as C++ by the tests, with that one header. */
#include "operator.h"

#include <math.h>

LATHE_OP_EXPORT const uint32_t lathe_op_abi;
const uint32_t lathe_op_abi = LATHE_OP_ABI;

LATHE_OP_EXPORT int lathe_op_silu_mul_supports(const lathe_silu_mul_args *args)
{
    return args->in_dtype == LATHE_OP_F32 && args->out_dtype == LATHE_OP_F32;
}

LATHE_OP_EXPORT int lathe_op_silu_mul(const lathe_ctx *ctx, const lathe_silu_mul_args *args)
{
    if (ctx->abi != LATHE_OP_ABI || ctx->struct_size != sizeof *ctx) return 1;
    for (int32_t r = ctx->part; r < args->rows; r += ctx->parts) {
        const float *in = (const float *)args->in + r * args->in_row_stride;
        float *out = (float *)args->out + r * args->out_row_stride;
        for (int32_t j = 0; j < args->ffn; j++) out[j] = in[j] / (1.0f + expf(-in[j])) * in[args->ffn + j];
    }
    return 0;
}
