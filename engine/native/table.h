/* table.h: one static inline function an entry of the table, because Go cannot
 * call through a C function pointer; and the loader. For this package's Go files
 * only: a backend's author needs backend.h. */
#ifndef LATHE_TABLE_H
#define LATHE_TABLE_H

#include <dlfcn.h>
#include <stdio.h>

#include "backend.h"

/* The backends of this binary; a pending one is NULL. */
const lathe_backend *lathe_cpu_backend(void);
const lathe_backend *lathe_reference_backend(void);

static inline int32_t lathe_go_device_info(const lathe_backend *b, int32_t device, char *json, int32_t cap,
                                           char *err, int32_t err_cap)
{
    return b->device_info(device, json, cap, err, err_cap);
}

static inline int32_t lathe_go_model_create(const lathe_backend *b, const lathe_model_desc *desc,
                                            const float *inv_freq, lathe_model **out, char *err, int32_t err_cap)
{
    return b->model_create(desc, inv_freq, out, err, err_cap);
}

static inline int32_t lathe_go_set_tensor(const lathe_backend *b, lathe_model *m, int32_t role, int32_t layer,
                                          int32_t dtype, int32_t rows, int32_t cols, const void *data,
                                          uint64_t seed, float std, char *err, int32_t err_cap)
{
    return b->model_set_tensor(m, role, layer, dtype, rows, cols, data, seed, std, err, err_cap);
}

static inline int32_t lathe_go_model_ready(const lathe_backend *b, lathe_model *m, char *err, int32_t err_cap)
{
    return b->model_ready(m, err, err_cap);
}

static inline int32_t lathe_go_model_memory(const lathe_backend *b, const lathe_model *m, lathe_model_memory *out,
                                            char *err, int32_t err_cap)
{
    return b->model_memory(m, out, err, err_cap);
}

static inline void lathe_go_model_close(const lathe_backend *b, lathe_model *m) { b->model_close(m); }

static inline int32_t lathe_go_session_open(const lathe_backend *b, lathe_model *m,
                                            const lathe_session_options *options, const lathe_override *overrides,
                                            int32_t n_overrides, lathe_session **out, char *err, int32_t err_cap)
{
    return b->session_open(m, options, overrides, n_overrides, out, err, err_cap);
}

static inline int32_t lathe_go_session_memory(const lathe_backend *b, const lathe_session *s,
                                              lathe_session_memory *out, char *err, int32_t err_cap)
{
    return b->session_memory(s, out, err, err_cap);
}

static inline void lathe_go_session_close(const lathe_backend *b, lathe_session *s) { b->session_close(s); }

static inline int32_t lathe_go_submit(const lathe_backend *b, lathe_session *s, int32_t rows,
                                      const int32_t *token, const int32_t *seq, const int32_t *pos,
                                      int32_t sequences, const int32_t *page_table, int32_t page_stride,
                                      int32_t n_want, const int32_t *want_rows, uint32_t flags, char *err,
                                      int32_t err_cap)
{
    return b->submit(s, rows, token, seq, pos, sequences, page_table, page_stride, n_want, want_rows, flags, err,
                     err_cap);
}

static inline int32_t lathe_go_wait(const lathe_backend *b, lathe_session *s, int32_t *tokens, int32_t cap,
                                    lathe_step_info *info, char *err, int32_t err_cap)
{
    return b->wait(s, tokens, cap, 0, info, err, err_cap);
}

static inline int32_t lathe_go_logits(const lathe_backend *b, lathe_session *s, int32_t first, int32_t n,
                                      float *out, char *err, int32_t err_cap)
{
    return b->logits(s, first, n, out, err, err_cap);
}

static inline int32_t lathe_go_residual(const lathe_backend *b, lathe_session *s, int32_t stage, float *out,
                                        char *err, int32_t err_cap)
{
    return b->residual(s, stage, out, err, err_cap);
}

static inline int32_t lathe_go_copy_pages(const lathe_backend *b, lathe_session *s, int32_t direction, int32_t n,
                                          const int32_t *from, const int32_t *to, void *host, uint64_t host_bytes,
                                          char *err, int32_t err_cap)
{
    return b->copy_pages(s, direction, n, from, to, host, host_bytes, err, err_cap);
}

static inline int32_t lathe_go_op_run(const lathe_backend *b, lathe_session *s, const char *op, uintptr_t args,
                                      uintptr_t function, int32_t cache, int32_t repetitions, int64_t *out_ns,
                                      char *err, int32_t err_cap)
{
    return b->op_run(s, op, (const void *)args, (void *)function, cache, repetitions, out_ns, err, err_cap);
}

/* Opens a plug-in and asks it for its table. dlerror is per thread, so the text is
 * fetched within the same call. NULL on failure, with the reason in err. */
static inline const lathe_backend *lathe_go_open(const char *path, char *err, int32_t err_cap)
{
    void *library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    if (library == 0) {
        const char *why = dlerror();
        snprintf(err, (size_t)err_cap, "%s", why ? why : "dlopen failed without a reason");
        return 0;
    }
    void *symbol = dlsym(library, LATHE_BACKEND_SYMBOL);
    if (symbol == 0) {
        snprintf(err, (size_t)err_cap, "no symbol %s", LATHE_BACKEND_SYMBOL);
        return 0;
    }
    lathe_backend_get_fn get;
    *(void **)&get = symbol;
    const lathe_backend *table = get();
    if (table == 0) snprintf(err, (size_t)err_cap, "%s returned NULL", LATHE_BACKEND_SYMBOL);
    return table;
}

/* The first entry that is NULL, or NULL when all are set. Asked only of tables
 * whose abi and struct_size are ours. */
static inline const char *lathe_go_null_entry(const lathe_backend *b)
{
#define LATHE_CHECK_ENTRY(entry) \
    if (b->entry == 0) return #entry
    LATHE_CHECK_ENTRY(name);
    LATHE_CHECK_ENTRY(build_info);
    LATHE_CHECK_ENTRY(device_info);
    LATHE_CHECK_ENTRY(model_create);
    LATHE_CHECK_ENTRY(model_set_tensor);
    LATHE_CHECK_ENTRY(model_ready);
    LATHE_CHECK_ENTRY(model_memory);
    LATHE_CHECK_ENTRY(model_close);
    LATHE_CHECK_ENTRY(session_open);
    LATHE_CHECK_ENTRY(session_memory);
    LATHE_CHECK_ENTRY(session_close);
    LATHE_CHECK_ENTRY(submit);
    LATHE_CHECK_ENTRY(wait);
    LATHE_CHECK_ENTRY(logits);
    LATHE_CHECK_ENTRY(residual);
    LATHE_CHECK_ENTRY(copy_pages);
    LATHE_CHECK_ENTRY(op_run);
#undef LATHE_CHECK_ENTRY
    return 0;
}

#endif /* LATHE_TABLE_H */
