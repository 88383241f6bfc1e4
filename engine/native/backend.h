/* backend.h: the native boundary of Lathe, one C table of functions.
 *
 * A backend owns weights (a model), and per model any number of sessions: a KV
 * pool, a workspace, threads or a stream. The Go side owns everything else:
 * reading files, page tables, what to run and when, and every clock that is
 * judged. A backend never reads a file, an environment variable or a clock that
 * is reported as a step's time.
 *
 * Writing a backend
 *   - Build a shared library that exports exactly one symbol,
 *     `const lathe_backend *lathe_backend_get(void)`, with hidden visibility for
 *     everything else and no undefined symbols (-fvisibility=hidden -Wl,-z,defs).
 *     The library is opened with RTLD_NOW|RTLD_LOCAL and never closed. Two
 *     builds of one backend may be open in one process, so it must have no
 *     symbol that one build could resolve in the other.
 *   - Fill the table; `abi` and `struct_size` must be LATHE_ABI and
 *     sizeof(lathe_backend). What the backend cannot do answers
 *     LATHE_E_UNSUPPORTED with a message that says what is missing; no entry is
 *     NULL.
 *   - Run `lathe bench one-batch --backend ./yours.so --model preset:tiny
 *     --correctness-test`.
 *
 * Rules of every function
 *   - It returns a lathe_status. On anything but LATHE_OK it writes a message
 *     into `err` (at most `err_cap` bytes with the final NUL; `err` may be NULL
 *     when err_cap is 0): lower case, one line, naming the subject and the value.
 *   - It never aborts, exits, prints or lets an exception out.
 *   - Pointers into Go memory are valid during the call only. Inputs are copied
 *     before the return; outputs are written before the return.
 *   - Models may be used from several threads at once, one session from one
 *     thread at a time.
 *   - Indices and sizes are int32 unless a product of two of them is meant;
 *     byte counts are uint64; times are int64 nanoseconds; -1 means unknown.
 */
#ifndef LATHE_BACKEND_H
#define LATHE_BACKEND_H

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Raised whenever the meaning or the layout of anything below changes. */
#define LATHE_ABI 1u

typedef enum lathe_status {
    LATHE_OK = 0,
    LATHE_E_INVALID = 1,     /* an argument is wrong; the caller's fault */
    LATHE_E_UNSUPPORTED = 2, /* sound, but this backend or machine cannot */
    LATHE_E_MEMORY = 3,      /* does not fit; the message says how much was asked */
    LATHE_E_DEVICE = 4,      /* the device or driver failed; the session is dead */
    LATHE_E_STATE = 5,       /* calls in the wrong order */
    LATHE_E_NON_FINITE = 6,  /* a NaN or infinity reached the logits */
    LATHE_E_INTERNAL = 7
} lathe_status;

typedef enum lathe_dtype { LATHE_F32 = 0, LATHE_F16 = 1, LATHE_BF16 = 2 } lathe_dtype;

/* Which tensor of the Llama family. Matrices are row-major [out, in], as
 * Hugging Face stores them. Biases exist only where the model has them. */
typedef enum lathe_role {
    LATHE_EMBED = 0,      /* [vocab, hidden] */
    LATHE_NORM_ATTN = 1,  /* [hidden]            per layer: input_layernorm */
    LATHE_Q = 2,          /* [q_heads*head_dim, hidden] */
    LATHE_K = 3,          /* [kv_heads*head_dim, hidden] */
    LATHE_V = 4,          /* [kv_heads*head_dim, hidden] */
    LATHE_O = 5,          /* [hidden, q_heads*head_dim] */
    LATHE_NORM_FFN = 6,   /* [hidden]            post_attention_layernorm */
    LATHE_GATE = 7,       /* [ffn, hidden] */
    LATHE_UP = 8,         /* [ffn, hidden] */
    LATHE_DOWN = 9,       /* [hidden, ffn] */
    LATHE_NORM_FINAL = 10,/* [hidden] */
    LATHE_HEAD = 11,      /* [vocab, hidden]     absent when tied */
    LATHE_Q_BIAS = 12,    /* [q_heads*head_dim] */
    LATHE_K_BIAS = 13,    /* [kv_heads*head_dim] */
    LATHE_V_BIAS = 14,    /* [kv_heads*head_dim] */
    LATHE_O_BIAS = 15,    /* [hidden] */
    LATHE_GATE_BIAS = 16, /* [ffn] */
    LATHE_UP_BIAS = 17,   /* [ffn] */
    LATHE_DOWN_BIAS = 18, /* [hidden] */
    LATHE_ROLES = 19
} lathe_role;

/* The shape of a model. `inv_freq` has head_dim/2 float32 values with every
 * rope_scaling already applied; RoPE is half-split (dimension i pairs with
 * i + head_dim/2), angle = position * inv_freq[i] rounded to float32. */
typedef struct lathe_model_desc {
    uint32_t struct_size;
    int32_t vocab, hidden, layers, q_heads, kv_heads, head_dim, ffn;
    int32_t tied;           /* 1: the head is the embedding */
    int32_t attention_bias; /* 1: q, k, v, o have biases */
    int32_t mlp_bias;       /* 1: gate, up, down have biases */
    int32_t max_position;   /* positions 0 .. max_position-1 may occur */
    float rms_eps;
    float rope_scale;       /* multiplies cos and sin; 1 for the Llama family */
} lathe_model_desc;

typedef struct lathe_model_memory {
    uint32_t struct_size;
    uint32_t reserved;
    uint64_t weight_bytes;  /* as held now, packing and padding included */
} lathe_model_memory;

/* Replaces one operator of a session; see operator.h. */
typedef struct lathe_override {
    uint32_t struct_size;
    int32_t kind;           /* LATHE_OVERRIDE_* */
    const char *op;         /* operator name, with a role where it has one: "gemm.down" */
    void *function;         /* lathe_op_<name> of an opened .so; NULL for builtin and images */
    void *workspace;        /* optional lathe_op_<name>_workspace */
    void *supports;         /* optional lathe_op_<name>_supports */
    const void *image;      /* cubin or PTX; CUDA only */
    uint64_t image_bytes;
    const char *launch_json;/* NAME.launch.json beside an image */
} lathe_override;

#define LATHE_OVERRIDE_BUILTIN 0  /* our own operator in the unfused slot */
#define LATHE_OVERRIDE_FUNCTION 1
#define LATHE_OVERRIDE_IMAGE 2

typedef struct lathe_session_options {
    uint32_t struct_size;
    int32_t threads;        /* 0: the backend's choice */
    int32_t page_size;      /* tokens a page; 1, 2, 4, ... 256 */
    int32_t pages;          /* pages of the pool, indices 0 .. pages-1 */
    int32_t max_rows;       /* most rows of one submit */
    int32_t max_sequences;  /* most sequences of one submit */
    int32_t max_logits;     /* most rows of one submit that want logits */
    int32_t kv_dtype;       /* lathe_dtype: LATHE_BF16 or LATHE_F32 */
    int32_t deterministic;  /* 1: a row's bits must not depend on its batch */
    int32_t graphs;         /* 0: never capture, 1: capture where the backend can */
    int32_t graph_max_rows; /* 0: no limit */
    int32_t device;         /* index; -1: the default */
    int32_t reserved;
    char isa[32];           /* "": the best that runs; else a path's name */
} lathe_session_options;

typedef struct lathe_session_memory {
    uint32_t struct_size;
    int32_t threads;        /* in effect */
    uint64_t kv_bytes;      /* the whole pool */
    uint64_t page_bytes;    /* one page, all layers, K and V */
    uint64_t workspace_bytes;
    char path[64];          /* numeric path in effect: "avx512bf16", "portable", ... */
} lathe_session_memory;

/* Flags of submit. */
#define LATHE_KEEP_RESIDUAL 1u /* keep the residual stream of every stage for `residual` */
#define LATHE_TIME_OPERATORS 2u /* instrumented pass: fill op_ns; never a judged time */

/* How a step ran. */
#define LATHE_GRAPH_NONE 0     /* the backend has no graphs */
#define LATHE_GRAPH_EAGER 1
#define LATHE_GRAPH_CAPTURED 2

#define LATHE_OPS 16           /* slots of op_ns; operator.h numbers them */

typedef struct lathe_step_info {
    uint32_t struct_size;
    int32_t graph;
    int64_t device_ns;          /* -1: the device has no clock of its own */
    int64_t op_ns[LATHE_OPS];   /* -1 where not measured */
} lathe_step_info;

/* Directions of copy_pages. */
#define LATHE_PAGES_WITHIN 0   /* pool -> pool */
#define LATHE_PAGES_OUT 1      /* pool -> host */
#define LATHE_PAGES_IN 2       /* host -> pool */

/* Cache state of op_run: every buffer out of the cache, by turns over copies of at
 * least four times the last-level cache; the caller's own buffers again and again; or
 * as in a step: weights and pages of the cache come from memory by turns over copies,
 * activations stay where they are. */
#define LATHE_CACHE_COLD 0
#define LATHE_CACHE_WARM 1
#define LATHE_CACHE_STREAM 2

typedef struct lathe_model lathe_model;
typedef struct lathe_session lathe_session;

typedef struct lathe_backend {
    uint32_t abi;          /* LATHE_ABI */
    uint32_t struct_size;  /* sizeof(lathe_backend) */
    const char *name;      /* "cpu", "reference", "cuda" */
    const char *build_info;/* one JSON object: compiler, flags, architectures */

    /* Facts of the device as one JSON object, for the Run header: name, paths
     * that run here, cores, last-level cache. device -1: the default one. */
    int32_t (*device_info)(int32_t device, char *json, int32_t json_cap, char *err, int32_t err_cap);

    /* A model without weights. inv_freq: head_dim/2 values, copied. */
    int32_t (*model_create)(const lathe_model_desc *desc, const float *inv_freq, lathe_model **out,
                            char *err, int32_t err_cap);

    /* Gives one tensor: rows x cols values of dtype at `data`, copied or packed
     * before the return. data NULL: fill by lathe_seeded_* below with `seed` and
     * `std` (std 0: every value is 1, which is what norms start from).
     * layer is -1 for EMBED, NORM_FINAL and HEAD. A vector has rows 1. */
    int32_t (*model_set_tensor)(lathe_model *, int32_t role, int32_t layer, int32_t dtype, int32_t rows,
                                int32_t cols, const void *data, uint64_t seed, float std, char *err,
                                int32_t err_cap);

    /* Every tensor is there; checks and finishes packing. Sessions may open. */
    int32_t (*model_ready)(lathe_model *, char *err, int32_t err_cap);
    int32_t (*model_memory)(const lathe_model *, lathe_model_memory *out, char *err, int32_t err_cap);
    /* Closes a model; its sessions must be closed. NULL is allowed. */
    void (*model_close)(lathe_model *);

    int32_t (*session_open)(lathe_model *, const lathe_session_options *, const lathe_override *overrides,
                            int32_t n_overrides, lathe_session **out, char *err, int32_t err_cap);
    int32_t (*session_memory)(const lathe_session *, lathe_session_memory *out, char *err, int32_t err_cap);
    void (*session_close)(lathe_session *);

    /* Enqueues one step over `rows` rows. Row r is token[r] of sequence seq[r]
     * at position pos[r]. Rows of one sequence are adjacent with positions that
     * count up by one (a prefill chunk, a decode row or a verify block), so all
     * three may share a step; a row attends to every position of its sequence up
     * to its own, those of this step included. Page p of sequence s is
     * page_table[s*page_stride + p]; position t lies in page t/page_size at slot
     * t%page_size. The row's K and V are written before they are read.
     * want_rows[n_want]: ascending rows whose logits and next token are wanted.
     * token -1, on the first row of its sequence, takes the token that the last
     * step that wanted a row of that sequence chose for it (for the last such
     * row), so that a loop need not wait for the host.
     * The work may be finished when this returns or later; errors of the work
     * may surface here or in wait. A step must be waited for before the next
     * submit unless the backend queues. */
    int32_t (*submit)(lathe_session *, int32_t rows, const int32_t *token, const int32_t *seq,
                      const int32_t *pos, int32_t sequences, const int32_t *page_table,
                      int32_t page_stride, int32_t n_want, const int32_t *want_rows, uint32_t flags,
                      char *err, int32_t err_cap);

    /* Synchronises: returns when everything submitted is finished. Writes the
     * greedy token (lowest index of the largest logit) of each wanted row of the
     * last step to tokens[0..n_want), and for verify blocks the accepted counts
     * per sequence to accepted (NULL when not asked for; UNSUPPORTED without
     * speculation). tokens NULL with cap 0: only drain. Without any submit since
     * the last wait it returns LATHE_OK at once. LATHE_E_NON_FINITE when a wanted
     * row has a NaN or infinite logit. */
    int32_t (*wait)(lathe_session *, int32_t *tokens, int32_t cap, int32_t *accepted, lathe_step_info *info,
                    char *err, int32_t err_cap);

    /* Logits of wanted rows first .. first+n-1 (indices into want_rows of the
     * last step) as float32 [n, vocab]. After wait. */
    int32_t (*logits)(lathe_session *, int32_t first, int32_t n, float *out, char *err, int32_t err_cap);

    /* Residual stream of the last step that had LATHE_KEEP_RESIDUAL: stage 0 is
     * the embedding, 1 .. layers after each layer, layers+1 the final norm's
     * output; float32 [rows, hidden]. */
    int32_t (*residual)(lathe_session *, int32_t stage, float *out, char *err, int32_t err_cap);

    /* Copies n whole pages (all layers, K and V). Host pages are opaque bytes
     * of page_bytes each; from/to is ignored on the host side, which is packed. */
    int32_t (*copy_pages)(lathe_session *, int32_t direction, int32_t n, const int32_t *from,
                          const int32_t *to, void *host, uint64_t host_bytes, char *err, int32_t err_cap);

    /* Runs one operator alone, once untimed and then `repetitions` times, and writes
     * the time of each to out_ns. op and args as operator.h defines them; function
     * NULL: ours. A function gets no workspace. Outputs are the caller's with
     * LATHE_CACHE_WARM only; the other states write to copies of them. */
    int32_t (*op_run)(lathe_session *, const char *op, const void *args, void *function, int32_t cache,
                      int32_t repetitions, int64_t *out_ns, char *err, int32_t err_cap);
} lathe_backend;

typedef const lathe_backend *(*lathe_backend_get_fn)(void);
#define LATHE_BACKEND_SYMBOL "lathe_backend_get"

/* ---- Seeded weights -------------------------------------------------------
 * One counter-based generator, so that every backend fills the same values
 * where they live. Value `index` (row-major) of a tensor is
 *   z(index) * std, rounded to bfloat16 (nearest, ties to even),
 * where z is the centred sum of the four 16-bit quarters of
 * splitmix64(key + index * 0x9E3779B97F4A7C15), scaled to variance 1
 * (Irwin-Hall of order 4: near normal, |z| < 3.5), and key is
 * splitmix64(seed ^ (role << 32) ^ (layer + 1)). The integer sum is exact in
 * float32, so the value is one float32 product and one rounding. */
static inline uint64_t lathe_splitmix64(uint64_t x)
{
    x += 0x9E3779B97F4A7C15ull;
    x = (x ^ (x >> 30)) * 0xBF58476D1CE4E5B9ull;
    x = (x ^ (x >> 27)) * 0x94D049BB133111EBull;
    return x ^ (x >> 31);
}

static inline uint64_t lathe_seeded_key(uint64_t seed, int32_t role, int32_t layer)
{
    return lathe_splitmix64(seed ^ ((uint64_t)(uint32_t)role << 32) ^ (uint64_t)(uint32_t)(layer + 1));
}

static inline uint16_t lathe_bf16_from_f32(float f)
{
    union { float f; uint32_t u; } v;
    v.f = f;
    if ((v.u & 0x7FFFFFFFu) > 0x7F800000u) return (uint16_t)((v.u >> 16) | 0x40u); /* NaN stays NaN */
    return (uint16_t)((v.u + 0x7FFFu + ((v.u >> 16) & 1u)) >> 16);
}

static inline float lathe_f32_from_bf16(uint16_t h)
{
    union { uint32_t u; float f; } v;
    v.u = (uint32_t)h << 16;
    return v.f;
}

static inline uint16_t lathe_seeded_bf16(uint64_t key, uint64_t index, float std)
{
    uint64_t r = lathe_splitmix64(key + index * 0x9E3779B97F4A7C15ull);
    int32_t sum = (int32_t)(r & 0xFFFF) + (int32_t)((r >> 16) & 0xFFFF) + (int32_t)((r >> 32) & 0xFFFF) +
                  (int32_t)(r >> 48) - 131070;
    /* the sum's standard deviation is 65536 * sqrt(4/12) = 37837.2 */
    if (std == 0.0f) return 0x3F80; /* 1.0 */
    return lathe_bf16_from_f32((float)sum * (std * (1.0f / 37837.2227f)));
}

#ifdef __cplusplus
}
#endif
#endif /* LATHE_BACKEND_H */
