/* layout.c: the layout of ABI 1 on a 64-bit machine. A size or an offset that
 * changes here needs a new LATHE_ABI or LATHE_OP_ABI: libraries that were built
 * against the old one would be read wrongly. */
#include <stddef.h>

#include "backend.h"
#include "operator.h"

#define SIZE(type, bytes) _Static_assert(sizeof(type) == (bytes), #type)
#define AT(type, field, bytes) _Static_assert(offsetof(type, field) == (bytes), #type "." #field)

_Static_assert(LATHE_ABI == 1 && LATHE_OP_ABI == 1, "write the new ABI's layout here");
_Static_assert((int)LATHE_OP_ATTN_PREFILL + 1 == LATHE_OPS, "every operator has a slot of op_ns");
SIZE(lathe_model_desc, 56);
AT(lathe_model_desc, rms_eps, 48);
SIZE(lathe_model_memory, 16);
SIZE(lathe_override, 64);
AT(lathe_override, launch_json, 56);
SIZE(lathe_session_options, 84);
AT(lathe_session_options, isa, 52);
SIZE(lathe_session_memory, 96);
AT(lathe_session_memory, path, 32);
SIZE(lathe_step_info, 144);
AT(lathe_step_info, op_ns, 16);
SIZE(lathe_backend, 144);
AT(lathe_backend, device_info, 24);
AT(lathe_backend, submit, 96);
AT(lathe_backend, op_run, 136);
SIZE(lathe_ctx, 56);
AT(lathe_ctx, flags, 48);
SIZE(lathe_attn_decode_args, 208);
AT(lathe_attn_decode_args, lse, 200);
SIZE(lathe_rmsnorm_args, 88);
AT(lathe_rmsnorm_args, out_row_stride, 80);
SIZE(lathe_gemm_args, 96);
AT(lathe_gemm_args, out_row_stride, 88);
SIZE(lathe_rope_append_args, 192);
AT(lathe_rope_append_args, block_table_stride, 184);
SIZE(lathe_silu_mul_args, 56);
SIZE(lathe_norm_qkv_rope_append_args, 384);
SIZE(lathe_norm_gate_up_silu_args, 248);
SIZE(lathe_norm_head_argmax_args, 208);
AT(lathe_norm_head_argmax_args, value, 200);
