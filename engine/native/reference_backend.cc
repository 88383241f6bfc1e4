// reference_backend.cc: the C table of the plain reference path. Numeric class A:
// weights as given, float32 activations, float32 sums; the oracle of every other
// path, written for reading.
#include <algorithm>
#include <cstdio>
#include <cstring>
#include <memory>
#include <string>

#include "allowed_cpus.h"
#include "model_check.h"
#include "native_error.h"
#include "reference_session.h"

namespace lathe {
namespace reference {
namespace {

const char kBuildInfo[] = "{\"backend\":\"reference\",\"compiler\":\"" __VERSION__ "\",\"isa\":\"portable\","
                          "\"numeric_class\":\"A\"}";

Model *from(lathe_model *m)
{
    require(m, "model");
    return reinterpret_cast<Model *>(m);
}

const Model *from(const lathe_model *m)
{
    require(m, "model");
    return reinterpret_cast<const Model *>(m);
}

Session *from(lathe_session *s)
{
    require(s, "session");
    return reinterpret_cast<Session *>(s);
}

int32_t device_info(int32_t device, char *json, int32_t cap, char *err, int32_t err_cap)
{
    return guard(err, err_cap, [&] {
        if (device != -1 && device != 0) fail(LATHE_E_INVALID, "device %d does not exist (1 device)", device);
        require(json, "device info: json");
        long cache = 0;
#ifdef _SC_LEVEL3_CACHE_SIZE
        cache = std::max(0L, sysconf(_SC_LEVEL3_CACHE_SIZE));
#endif
        char text[256];
        const int n = snprintf(text, sizeof text,
                               "{\"name\":\"reference\",\"paths\":[\"reference\"],\"cores\":%d,"
                               "\"last_level_cache_bytes\":%ld,\"memory_bytes\":%llu}",
                               allowed_cpus(), cache,
                               static_cast<unsigned long long>(physical_memory()));
        if (n >= cap) fail(LATHE_E_INVALID, "device info: room for %d bytes, %d needed", cap, n + 1);
        write_text(json, cap, text);
    });
}

int32_t model_create(const lathe_model_desc *desc, const float *inv_freq, lathe_model **out, char *err,
                     int32_t err_cap)
{
    return guard(err, err_cap, [&] {
        require(out, "model_create: out");
        check_model_desc(desc, inv_freq);
        *out = reinterpret_cast<lathe_model *>(new Model(*desc, inv_freq));
    });
}

int32_t model_set_tensor(lathe_model *m, int32_t role, int32_t layer, int32_t dtype, int32_t rows, int32_t cols,
                         const void *data, uint64_t seed, float std, char *err, int32_t err_cap)
{
    return guard(err, err_cap,
                 [&] { from(m)->set_tensor(role, layer, dtype, rows, cols, data, seed, std); });
}

int32_t model_ready(lathe_model *m, char *err, int32_t err_cap)
{
    return guard(err, err_cap, [&] { from(m)->ready(); });
}

int32_t model_memory(const lathe_model *m, lathe_model_memory *out, char *err, int32_t err_cap)
{
    return guard(err, err_cap, [&] {
        require(out, "model memory");
        if (out->struct_size != sizeof(lathe_model_memory))
            fail(LATHE_E_INVALID, "model memory has %u bytes, this backend expects %zu", out->struct_size,
                 sizeof(lathe_model_memory));
        out->weight_bytes = from(m)->weight_bytes();
    });
}

void model_close(lathe_model *m) { delete reinterpret_cast<Model *>(m); }

int32_t session_open(lathe_model *m, const lathe_session_options *options, const lathe_override *overrides,
                     int32_t n_overrides, lathe_session **out, char *err, int32_t err_cap)
{
    return guard(err, err_cap, [&] {
        Model *model = from(m);
        require(out, "session_open: out");
        check_session_options(options, 1);
        if (!model->is_ready()) fail(LATHE_E_STATE, "session: the model is not ready");
        if (n_overrides != 0)
            fail(LATHE_E_UNSUPPORTED, "session: the reference backend replaces no operator (asked for %s)",
                 overrides != nullptr && overrides[0].op != nullptr ? overrides[0].op : "an unnamed one");
        if (options->isa[0] != '\0' && strcmp(options->isa, "reference") != 0)
            fail(LATHE_E_UNSUPPORTED, "session: the reference backend has no path \"%s\"", options->isa);
        *out = reinterpret_cast<lathe_session *>(new Session(*model, *options));
    });
}

int32_t session_memory(const lathe_session *s, lathe_session_memory *out, char *err, int32_t err_cap)
{
    return guard(err, err_cap, [&] {
        require(s, "session");
        reinterpret_cast<const Session *>(s)->memory(out);
    });
}

void session_close(lathe_session *s) { delete reinterpret_cast<Session *>(s); }

int32_t submit(lathe_session *s, int32_t rows, const int32_t *token, const int32_t *seq, const int32_t *pos,
               int32_t sequences, const int32_t *page_table, int32_t page_stride, int32_t n_want,
               const int32_t *want_rows, uint32_t flags, char *err, int32_t err_cap)
{
    return guard(err, err_cap, [&] {
        from(s)->submit({rows, token, seq, pos, sequences, page_table, page_stride, n_want, want_rows, flags});
    });
}

int32_t wait(lathe_session *s, int32_t *tokens, int32_t cap, int32_t *accepted, lathe_step_info *info, char *err,
             int32_t err_cap)
{
    return guard(err, err_cap, [&] { from(s)->wait(tokens, cap, accepted, info); });
}

int32_t logits(lathe_session *s, int32_t first, int32_t n, float *out, char *err, int32_t err_cap)
{
    return guard(err, err_cap, [&] { from(s)->logits(first, n, out); });
}

int32_t residual(lathe_session *s, int32_t stage, float *out, char *err, int32_t err_cap)
{
    return guard(err, err_cap, [&] { from(s)->residual(stage, out); });
}

int32_t copy_pages(lathe_session *s, int32_t direction, int32_t n, const int32_t *from_pages, const int32_t *to_pages,
                   void *host, uint64_t host_bytes, char *err, int32_t err_cap)
{
    return guard(err, err_cap,
                 [&] { from(s)->copy_pages(direction, n, from_pages, to_pages, host, host_bytes); });
}

int32_t op_run(lathe_session *, const char *op, const void *, void *, int32_t, int32_t, int64_t *, char *err,
               int32_t err_cap)
{
    return guard(err, err_cap, [&] {
        fail(LATHE_E_UNSUPPORTED, "operator %s: the reference backend runs no operator alone",
             op != nullptr ? op : "(NULL)");
    });
}

const lathe_backend kTable = {
    LATHE_ABI,    sizeof(lathe_backend), "reference",    kBuildInfo,    device_info, model_create, model_set_tensor,
    model_ready,  model_memory,          model_close,    session_open,  session_memory, session_close, submit,
    wait,         logits,                residual,       copy_pages,    op_run,
};

}  // namespace
}  // namespace reference
}  // namespace lathe

extern "C" const lathe_backend *lathe_reference_backend(void) { return &lathe::reference::kTable; }
