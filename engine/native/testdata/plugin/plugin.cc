// plugin.cc: the smallest backend that loads: it holds no weights and its steps do
// nothing. The loader's tests build it several times with different definitions:
//   PLUGIN_NAME="one"   the name in the table
//   PLUGIN_ABI=2        another ABI
//   PLUGIN_SIZE=8       another table size
//   PLUGIN_NULL_ENTRY   one entry is NULL
//   PLUGIN_NULL_TABLE   lathe_backend_get returns NULL
//   PLUGIN_NO_SYMBOL    lathe_backend_get is called something else
//   PLUGIN_UNDEFINED    refers to a function that exists nowhere
#include <cstdio>

#include "backend.h"

#ifndef PLUGIN_NAME
#define PLUGIN_NAME "plugin"
#endif
#ifndef PLUGIN_ABI
#define PLUGIN_ABI LATHE_ABI
#endif
#ifndef PLUGIN_SIZE
#define PLUGIN_SIZE sizeof(lathe_backend)
#endif
#ifdef PLUGIN_NO_SYMBOL
#define lathe_backend_get another_name
#endif

// A template's static is what two plug-ins share unless hidden visibility keeps the
// linker from making it unique in the process.
template <class T>
struct Calls {
    static T &count()
    {
        static T n = 0;
        return n;
    }
};

#ifdef PLUGIN_UNDEFINED
extern "C" int lathe_test_exists_nowhere(void);
#endif

namespace {

int32_t unsupported(char *err, int32_t cap)
{
    snprintf(err, static_cast<size_t>(cap), "this plug-in only loads");
    return LATHE_E_UNSUPPORTED;
}

int32_t device_info(int32_t, char *json, int32_t cap, char *, int32_t)
{
#ifdef PLUGIN_UNDEFINED
    lathe_test_exists_nowhere();
#endif
    snprintf(json, static_cast<size_t>(cap), "{\"name\":\"%s\",\"calls\":%d}", PLUGIN_NAME, ++Calls<int>::count());
    return LATHE_OK;
}

int32_t model_create(const lathe_model_desc *, const float *, lathe_model **out, char *, int32_t)
{
    *out = reinterpret_cast<lathe_model *>(&Calls<int>::count());
    return LATHE_OK;
}

int32_t set_tensor(lathe_model *, int32_t, int32_t, int32_t, int32_t, int32_t, const void *, uint64_t, float, char *err,
                   int32_t cap)
{
    return unsupported(err, cap);
}

int32_t model_ready(lathe_model *, char *, int32_t) { return LATHE_OK; }
int32_t model_memory(const lathe_model *, lathe_model_memory *, char *err, int32_t cap) { return unsupported(err, cap); }
void model_close(lathe_model *) {}

int32_t session_open(lathe_model *, const lathe_session_options *, const lathe_override *overrides, int32_t n,
                     lathe_session **out, char *err, int32_t cap)
{
    if (n > 0) { /* says back what it was given, the last one */
        const lathe_override &o = overrides[n - 1];
        snprintf(err, static_cast<size_t>(cap), "kind %d op %s function %p image %d bytes launch %s", o.kind, o.op, o.function,
                 static_cast<int>(o.image_bytes), o.launch_json ? o.launch_json : "none");
        return LATHE_E_UNSUPPORTED;
    }
    *out = reinterpret_cast<lathe_session *>(&Calls<int>::count());
    return LATHE_OK;
}

int32_t session_memory(const lathe_session *, lathe_session_memory *, char *, int32_t) { return LATHE_OK; }
void session_close(lathe_session *) {}

int32_t submit(lathe_session *, int32_t, const int32_t *, const int32_t *, const int32_t *, int32_t, const int32_t *, int32_t,
               int32_t, const int32_t *, uint32_t, char *, int32_t)
{
    return LATHE_OK;
}

// Says it is a captured step of 7 ns, whose operator i took i ns.
int32_t wait(lathe_session *, int32_t *tokens, int32_t cap, int32_t *, lathe_step_info *info, char *, int32_t)
{
    for (int32_t i = 0; i < cap; i++) tokens[i] = 100 + i;
    if (info != nullptr) {
        info->graph = LATHE_GRAPH_CAPTURED;
        info->device_ns = 7;
        for (int i = 0; i < LATHE_OPS; i++) info->op_ns[i] = i;
    }
    return LATHE_OK;
}

int32_t logits(lathe_session *, int32_t, int32_t, float *, char *err, int32_t cap) { return unsupported(err, cap); }
int32_t residual(lathe_session *, int32_t, float *, char *err, int32_t cap) { return unsupported(err, cap); }

int32_t copy_pages(lathe_session *, int32_t, int32_t, const int32_t *, const int32_t *, void *, uint64_t, char *err,
                   int32_t cap)
{
    return unsupported(err, cap);
}

int32_t op_run(lathe_session *, const char *, const void *, void *, int32_t, int32_t, int64_t *, char *err, int32_t cap)
{
    return unsupported(err, cap);
}

const lathe_backend table = {
    PLUGIN_ABI,   static_cast<uint32_t>(PLUGIN_SIZE), PLUGIN_NAME, "{\"plugin\":true}", device_info, model_create, set_tensor,
    model_ready,  model_memory, model_close, session_open, session_memory, session_close, submit,
    wait,         logits,       residual,
#ifdef PLUGIN_NULL_ENTRY
    nullptr,
#else
    copy_pages,
#endif
    op_run,
};

}  // namespace

extern "C" __attribute__((visibility("default"))) const lathe_backend *lathe_backend_get(void)
{
#ifdef PLUGIN_NULL_TABLE
    return nullptr;
#else
    return &table;
#endif
}
