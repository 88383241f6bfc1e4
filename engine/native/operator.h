/* operator.h: what a user's kernel is written against, on the CPU and on CUDA.
 *
 * An operator is one C function, exported from a shared library:
 *
 *     int lathe_op_<name>(const lathe_ctx *, const lathe_<name>_args *);
 *
 * and optionally, beside it,
 *
 *     uint64_t lathe_op_<name>_workspace(const lathe_<name>_args *);  bytes it wants
 *     int      lathe_op_<name>_supports(const lathe_<name>_args *);   1: it can run these
 *
 * <name> is one of the list below. The one header serves CPU and CUDA: in C or
 * C++ this file is all that is needed; in a .cu file include cuda_runtime.h as
 * well and cast ctx->stream to cudaStream_t. With #include <lathe/operator.h>, build
 * for the CPU (INCLUDE: where lathe/operator.h was installed; include in the source
 * tree after make build):
 *
 *     cc -O3 -shared -fPIC -I INCLUDE -o mine.so mine.c -lm
 *
 * Better, so that two builds can be loaded at once and nothing is left undefined:
 *
 *     c++ -O3 -shared -fPIC -fvisibility=hidden -Wl,-z,defs -I INCLUDE -o mine.so mine.cc
 *
 * Rules
 *   - Return 0, or a non-zero code of your own: the step then fails and names it.
 *   - CPU: the function is called on every thread of the pool at once, with
 *     ctx->part = 0 .. ctx->parts-1. Do your share and return; do not start
 *     threads and do not wait for another part. Pointers are host memory. Which
 *     part does what is yours to choose; every output must be written by one part.
 *   - CUDA: the function is called once (part 0 of 1) and enqueues work on
 *     ctx->stream; it may be inside a graph capture. Pointers are device memory and
 *     stay the same in every replay: read what varies (seq_len, position,
 *     block_table) on the device, never on the host. Do not allocate, do not
 *     synchronise.
 *   - The workspace is aligned to 256 bytes, shared by all parts, zeroed once when
 *     the session opens and left as you leave it: counters must reset themselves.
 *     `_workspace` is asked once, with the largest counts that a session can have;
 *     `_supports` with the largest and the smallest. A question's pointers are NULL
 *     where the call's are, but their memory is not to be read.
 *   - Only outputs are written. Outputs may hold anything before. A NaN of an input
 *     must not vanish.
 *   - Shapes are in elements, strides are in elements between neighbours of that
 *     dimension; a dimension without a stride field is contiguous.
 *   - Buffers start at a multiple of 64 bytes (where head_dim is a multiple of 32), and
 *     so do rows, heads and pages whose strides are one; otherwise an element is
 *     aligned to its own size.
 *   - The same inputs give the same bits, and a row's bits do not depend on its
 *     neighbours in the batch when ctx->flags has LATHE_CTX_DETERMINISTIC.
 *   - Element types are the engine's choice: without `_supports` an operator must take
 *     every one; with it, what it refuses is reported before anything is timed. The CPU
 *     backend gives what enters a product (out of the norm, of attention and of silu_mul)
 *     as bf16 on its path avx512bf16 and as f32 on portable, weights as bf16, K and V in
 *     the session's type, everything else as f32.
 */
#ifndef LATHE_OPERATOR_H
#define LATHE_OPERATOR_H

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Raised whenever the meaning or the layout of anything below changes. Export
 * `const uint32_t lathe_op_abi = LATHE_OP_ABI;` to have it checked when the library
 * is opened. */
#define LATHE_OP_ABI 1u

/* Element types of the *_dtype fields; the numbers are lathe_dtype's. */
#define LATHE_OP_F32 0
#define LATHE_OP_F16 1
#define LATHE_OP_BF16 2

/* Slots of op_ns and the operators' numbers. The second group are the fused
 * operators of the default path; replacing one of the first group makes the engine
 * run the layer part that contains it unfused. */
typedef enum lathe_op {
    LATHE_OP_EMBED = 0,            /* not replaceable */
    LATHE_OP_RMSNORM = 1,
    LATHE_OP_GEMM_QKV = 2,
    LATHE_OP_ROPE_APPEND = 3,
    LATHE_OP_ATTN_DECODE = 4,
    LATHE_OP_GEMM_O = 5,
    LATHE_OP_GEMM_GATE_UP = 6,
    LATHE_OP_SILU_MUL = 7,
    LATHE_OP_GEMM_DOWN = 8,
    LATHE_OP_GEMM_HEAD = 9,
    LATHE_OP_NORM_QKV_ROPE_APPEND = 10,
    LATHE_OP_O_ADD = 11,
    LATHE_OP_NORM_GATE_UP_SILU = 12,
    LATHE_OP_DOWN_ADD = 13,
    LATHE_OP_NORM_HEAD_ARGMAX = 14,
    LATHE_OP_ATTN_PREFILL = 15     /* not replaceable */
} lathe_op;

/* Which matrix a gemm multiplies by; `--kernel gemm.down=...` replaces one role,
 * `--kernel gemm=...` all five. */
typedef enum lathe_gemm_role {
    LATHE_GEMM_QKV = 0,     /* n = (q_heads + 2*kv_heads) * head_dim: Q, then K, then V */
    LATHE_GEMM_O = 1,       /* n = hidden, k = q_heads * head_dim */
    LATHE_GEMM_GATE_UP = 2, /* n = 2*ffn: gate, then up */
    LATHE_GEMM_DOWN = 3,    /* n = hidden, k = ffn */
    LATHE_GEMM_HEAD = 4     /* n = vocab */
} lathe_gemm_role;

/* Bits of lathe_ctx.flags. */
#define LATHE_CTX_CAPTURING 1u     /* CUDA: inside a graph capture */
#define LATHE_CTX_PDL 2u           /* CUDA: launched with programmatic dependent launch */
#define LATHE_CTX_DETERMINISTIC 4u /* a row's bits must not depend on its batch */

/* How and where an operator is called. */
typedef struct lathe_ctx {
    uint32_t abi;             /* LATHE_OP_ABI */
    uint32_t struct_size;     /* sizeof(lathe_ctx) */
    int32_t part;             /* CPU: this thread's share, 0 .. parts-1; CUDA: 0 */
    int32_t parts;            /* CPU: threads of the pool; CUDA: 1 */
    void *stream;             /* CUDA: a cudaStream_t; CPU: NULL */
    void *workspace;          /* workspace_bytes, NULL when none was asked for */
    uint64_t workspace_bytes;
    int32_t device;           /* CUDA: device index; CPU: -1 */
    int32_t sm_count;         /* CUDA: multiprocessors; CPU: 0 */
    uint32_t flags;           /* LATHE_CTX_* */
    int32_t reserved;
} lathe_ctx;

/* attn_decode: attention of each sequence's newest q_per_seq rows over its whole
 * paged context.
 *   out[b,i,h,:] = sum_t softmax_t(q[b,i,h,:] . K[b,t,g,:] * sm_scale) * V[b,t,g,:]
 *   g = h / (q_heads/kv_heads);  t = 0 .. seq_len[b]-q_per_seq+i  (causal inside)
 * Key t of sequence b is at
 *   k_pages + block_table[b*block_table_stride + t/page_size]*k_page_stride
 *           + (t%page_size)*k_slot_stride + g*k_head_stride
 * K and V of the newest rows are already in the pages. seq_len[b] == 0 marks a
 * padded row: write nothing for it. A step calls it for the sequences that have one row
 * in the step, q_per_seq 1; the rows of longer blocks (prefill chunks) stay with the
 * engine's own attention, which is not replaceable. */
typedef struct lathe_attn_decode_args {
    uint32_t struct_size;
    int32_t batch;                 /* sequences */
    int32_t q_per_seq;             /* rows a sequence: 1, or more for verify blocks */
    int32_t q_heads, kv_heads, head_dim;
    int32_t page_size;             /* tokens a page, a power of two */
    int32_t max_seq_len;           /* host bound of every seq_len */
    float sm_scale;                /* 1/sqrt(head_dim) */
    int32_t q_dtype, kv_dtype, out_dtype;
    const void *q;                 /* [batch, q_per_seq, q_heads, head_dim] */
    int64_t q_seq_stride, q_row_stride, q_head_stride;
    const void *k_pages, *v_pages; /* of this layer */
    int64_t k_page_stride, k_slot_stride, k_head_stride;
    int64_t v_page_stride, v_slot_stride, v_head_stride;
    const int32_t *block_table;    /* [batch, block_table_stride] page indices */
    int64_t block_table_stride;
    const int32_t *seq_len;        /* [batch], the newest rows included */
    void *out;                     /* [batch, q_per_seq, q_heads, head_dim] */
    int64_t out_seq_stride, out_row_stride, out_head_stride;
    float *lse;                    /* [batch, q_per_seq, q_heads], base 2, or NULL */
} lathe_attn_decode_args;

/* rmsnorm: with residual NULL  out = x / sqrt(mean(x^2) + eps) * weight;
 * else first  residual += x  (in place), then the same of residual. */
typedef struct lathe_rmsnorm_args {
    uint32_t struct_size;
    int32_t rows, hidden;
    float eps;
    int32_t x_dtype, residual_dtype, weight_dtype, out_dtype;
    const void *x;                 /* [rows, hidden] */
    int64_t x_row_stride;
    void *residual;                /* [rows, hidden], or NULL */
    int64_t residual_row_stride;
    const void *weight;            /* [hidden] */
    void *out;                     /* [rows, hidden] */
    int64_t out_row_stride;
} lathe_rmsnorm_args;

/* gemm: out[m,n] = sum_k a[m,k] * w[n,k] + bias[n], added to what out holds when
 * accumulate is 1. Sums are in float32 or wider. The weight is row-major [n, k], as
 * Hugging Face stores it. */
typedef struct lathe_gemm_args {
    uint32_t struct_size;
    int32_t role;                  /* lathe_gemm_role */
    int32_t m, n, k;               /* m: rows of the batch */
    int32_t accumulate;
    int32_t a_dtype, w_dtype, out_dtype, bias_dtype;
    const void *a;                 /* [m, k] */
    int64_t a_row_stride;
    const void *w;                 /* [n, k] */
    int64_t w_row_stride;
    const void *bias;              /* [n], or NULL */
    void *out;                     /* [m, n] */
    int64_t out_row_stride;
} lathe_gemm_args;

/* rope_append: rotates q and k by their positions (half-split: dimension i pairs
 * with i + head_dim/2), q in place, and writes k and v into the pages.
 *   cos = cos_sin[pos*cos_sin_row_stride + i], sin = the same + head_dim/2
 * Row r's page is block_table[seq[r]*block_table_stride + position[r]/page_size],
 * its slot position[r]%page_size. position[r] == -1 marks a padded row. */
typedef struct lathe_rope_append_args {
    uint32_t struct_size;
    int32_t rows;
    int32_t q_heads, kv_heads, head_dim;
    int32_t page_size;
    int32_t qkv_dtype, kv_dtype;
    void *q;                       /* [rows, q_heads, head_dim], in place */
    const void *k, *v;             /* [rows, kv_heads, head_dim] */
    int64_t q_row_stride, k_row_stride, v_row_stride; /* heads are contiguous */
    const int32_t *position;       /* [rows] */
    const int32_t *seq;            /* [rows] */
    const float *cos_sin;          /* [max_position, head_dim]: cosines, then sines */
    int64_t cos_sin_row_stride;
    void *k_pages, *v_pages;       /* of this layer */
    int64_t k_page_stride, k_slot_stride, k_head_stride;
    int64_t v_page_stride, v_slot_stride, v_head_stride;
    const int32_t *block_table;
    int64_t block_table_stride;
} lathe_rope_append_args;

/* silu_mul: out[r,j] = silu(in[r,j]) * in[r,ffn+j];  silu(x) = x / (1 + e^-x). */
typedef struct lathe_silu_mul_args {
    uint32_t struct_size;
    int32_t rows, ffn;
    int32_t in_dtype, out_dtype;
    const void *in;                /* [rows, 2*ffn]: gate, then up */
    int64_t in_row_stride;
    void *out;                     /* [rows, ffn] */
    int64_t out_row_stride;
} lathe_silu_mul_args;

/* ---- Fused operators of the default path. Each is the chain of the operators
 * above that its name lists, on row-major weights; the parts' fields mean what they
 * mean there, and what the chain only passes on (out of the norm, gate and up) need
 * not be stored. */

/* norm_qkv_rope_append: rmsnorm(x), gemm.qkv, rope_append. norm.out and qkv.a are
 * NULL (between), norm.residual is NULL; q goes to rope.q, and rope.k, rope.v and
 * qkv.out are NULL. */
typedef struct lathe_norm_qkv_rope_append_args {
    uint32_t struct_size;
    int32_t reserved;
    lathe_rmsnorm_args norm;
    lathe_gemm_args qkv;
    lathe_rope_append_args rope;
} lathe_norm_qkv_rope_append_args;

/* o_add and down_add: a gemm of that role into the residual stream: accumulate is
 * 1 and out is the residual [rows, hidden]. */
typedef lathe_gemm_args lathe_o_add_args;
typedef lathe_gemm_args lathe_down_add_args;

/* norm_gate_up_silu: rmsnorm(x), gemm.gate_up, silu_mul. norm.out, gate_up.a,
 * gate_up.out and silu.in are NULL. */
typedef struct lathe_norm_gate_up_silu_args {
    uint32_t struct_size;
    int32_t reserved;
    lathe_rmsnorm_args norm;
    lathe_gemm_args gate_up;
    lathe_silu_mul_args silu;
} lathe_norm_gate_up_silu_args;

/* norm_head_argmax: rmsnorm(x), gemm.head, and of each row the largest logit's
 * value and lowest index. norm.out and head.a are NULL; head.out is the logits,
 * NULL when nobody wants them. */
typedef struct lathe_norm_head_argmax_args {
    uint32_t struct_size;
    int32_t reserved;
    lathe_rmsnorm_args norm;
    lathe_gemm_args head;
    int32_t *token;                /* [rows] */
    float *value;                  /* [rows] */
} lathe_norm_head_argmax_args;

/* The types of the exported functions. */
typedef int (*lathe_op_attn_decode_fn)(const lathe_ctx *, const lathe_attn_decode_args *);
typedef int (*lathe_op_rmsnorm_fn)(const lathe_ctx *, const lathe_rmsnorm_args *);
typedef int (*lathe_op_gemm_fn)(const lathe_ctx *, const lathe_gemm_args *);
typedef int (*lathe_op_rope_append_fn)(const lathe_ctx *, const lathe_rope_append_args *);
typedef int (*lathe_op_silu_mul_fn)(const lathe_ctx *, const lathe_silu_mul_args *);
typedef int (*lathe_op_norm_qkv_rope_append_fn)(const lathe_ctx *, const lathe_norm_qkv_rope_append_args *);
typedef int (*lathe_op_o_add_fn)(const lathe_ctx *, const lathe_o_add_args *);
typedef int (*lathe_op_norm_gate_up_silu_fn)(const lathe_ctx *, const lathe_norm_gate_up_silu_args *);
typedef int (*lathe_op_down_add_fn)(const lathe_ctx *, const lathe_down_add_args *);
typedef int (*lathe_op_norm_head_argmax_fn)(const lathe_ctx *, const lathe_norm_head_argmax_args *);

/* Marks a function as exported from a library built with -fvisibility=hidden:
 *     LATHE_OP_EXPORT int lathe_op_silu_mul(const lathe_ctx *ctx, const lathe_silu_mul_args *args)
 */
#if defined(_WIN32)
#define LATHE_OP_VISIBLE __declspec(dllexport)
#else
#define LATHE_OP_VISIBLE __attribute__((visibility("default")))
#endif
#ifdef __cplusplus
#define LATHE_OP_EXPORT extern "C" LATHE_OP_VISIBLE
#else
#define LATHE_OP_EXPORT LATHE_OP_VISIBLE
#endif

#ifdef __cplusplus
}
#endif
#endif /* LATHE_OPERATOR_H */
