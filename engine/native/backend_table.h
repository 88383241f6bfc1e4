// backend_table.h: the C table of a backend over its C++ classes, one guard and one
// set of argument checks for all of them. A backend gives one struct:
//
//   struct Parts {
//       typedef ... Model;    // Model(desc, inv_freq), set_tensor, ready, is_ready, weight_bytes
//       typedef ... Session;  // submit, wait, logits, residual, copy_pages, memory
//       static std::string device_json();
//       // Refuses what this backend cannot before memory is taken.
//       static Session *open(Model &, const lathe_session_options &, const lathe_override *, int32_t n);
//       static void run_operator(Session &, const OperatorRun &);
//   };
//
// and takes table_of<Parts>(name, build_info).
#ifndef LATHE_BACKEND_TABLE_H
#define LATHE_BACKEND_TABLE_H

#include <cstdint>
#include <string>

#include "backend.h"
#include "batch_check.h"
#include "model_check.h"
#include "native_error.h"
#include "operator_args.h"
#include "operator_names.h"
#include "session_results.h"

namespace lathe {

template <class Parts>
struct TableEntries {
    typedef typename Parts::Model Model;
    typedef typename Parts::Session Session;

    static Model &from(lathe_model *m)
    {
        require(m, "model");
        return *reinterpret_cast<Model *>(m);
    }
    static Session &from(lathe_session *s)
    {
        require(s, "session");
        return *reinterpret_cast<Session *>(s);
    }

    static int32_t device_info(int32_t device, char *json, int32_t cap, char *err, int32_t err_cap)
    {
        return guard(err, err_cap, [&] {
            if (device != -1 && device != 0) fail(LATHE_E_INVALID, "device %d does not exist (1 device)", device);
            require(json, "device info: json");
            const std::string text = Parts::device_json();
            if (static_cast<int64_t>(text.size()) >= cap)
                fail(LATHE_E_INVALID, "device info: room for %d bytes, %zu needed", cap, text.size() + 1);
            write_text(json, cap, text.c_str());
        });
    }

    static int32_t model_create(const lathe_model_desc *desc, const float *inv_freq, lathe_model **out, char *err,
                                int32_t err_cap)
    {
        return guard(err, err_cap, [&] {
            require(out, "model_create: out");
            check_model_desc(desc, inv_freq);
            *out = reinterpret_cast<lathe_model *>(new Model(*desc, inv_freq));
        });
    }

    static int32_t model_set_tensor(lathe_model *m, int32_t role, int32_t layer, int32_t dtype, int32_t rows,
                                    int32_t cols, const void *data, uint64_t seed, float std, char *err,
                                    int32_t err_cap)
    {
        return guard(err, err_cap, [&] { from(m).set_tensor(role, layer, dtype, rows, cols, data, seed, std); });
    }

    static int32_t model_ready(lathe_model *m, char *err, int32_t err_cap)
    {
        return guard(err, err_cap, [&] { from(m).ready(); });
    }

    static int32_t model_memory(const lathe_model *m, lathe_model_memory *out, char *err, int32_t err_cap)
    {
        return guard(err, err_cap, [&] {
            require(out, "model memory");
            check_struct_size(out, out->struct_size, sizeof(lathe_model_memory), "model memory");
            out->weight_bytes = from(const_cast<lathe_model *>(m)).weight_bytes();
        });
    }

    static void model_close(lathe_model *m) { delete reinterpret_cast<Model *>(m); }

    static int32_t session_open(lathe_model *m, const lathe_session_options *options, const lathe_override *overrides,
                                int32_t n_overrides, lathe_session **out, char *err, int32_t err_cap)
    {
        return guard(err, err_cap, [&] {
            Model &model = from(m);
            require(out, "session_open: out");
            check_session_options(options, 1);
            check_overrides(overrides, n_overrides);
            if (!model.is_ready()) fail(LATHE_E_STATE, "session: the model is not ready");
            *out = reinterpret_cast<lathe_session *>(Parts::open(model, *options, overrides, n_overrides));
        });
    }

    static int32_t session_memory(const lathe_session *s, lathe_session_memory *out, char *err, int32_t err_cap)
    {
        return guard(err, err_cap, [&] {
            require(out, "session memory");
            check_struct_size(out, out->struct_size, sizeof(lathe_session_memory), "session memory");
            from(const_cast<lathe_session *>(s)).memory(out);
        });
    }

    static void session_close(lathe_session *s) { delete reinterpret_cast<Session *>(s); }

    static int32_t submit(lathe_session *s, int32_t rows, const int32_t *token, const int32_t *seq, const int32_t *pos,
                          int32_t sequences, const int32_t *page_table, int32_t page_stride, int32_t n_want,
                          const int32_t *want_rows, uint32_t flags, char *err, int32_t err_cap)
    {
        return guard(err, err_cap, [&] {
            from(s).submit({rows, token, seq, pos, sequences, page_table, page_stride, n_want, want_rows, flags});
        });
    }

    static int32_t wait(lathe_session *s, int32_t *tokens, int32_t cap, int32_t *accepted, lathe_step_info *info,
                        char *err, int32_t err_cap)
    {
        return guard(err, err_cap, [&] { from(s).wait(tokens, cap, accepted, info); });
    }

    static int32_t logits(lathe_session *s, int32_t first, int32_t n, float *out, char *err, int32_t err_cap)
    {
        return guard(err, err_cap, [&] { from(s).logits(first, n, out); });
    }

    static int32_t residual(lathe_session *s, int32_t stage, float *out, char *err, int32_t err_cap)
    {
        return guard(err, err_cap, [&] { from(s).residual(stage, out); });
    }

    static int32_t copy_pages(lathe_session *s, int32_t direction, int32_t n, const int32_t *from_pages,
                              const int32_t *to_pages, void *host, uint64_t host_bytes, char *err, int32_t err_cap)
    {
        return guard(err, err_cap,
                     [&] { from(s).copy_pages(direction, n, from_pages, to_pages, host, host_bytes); });
    }

    static int32_t op_run(lathe_session *s, const char *op, const void *args, void *function, int32_t cache,
                          int32_t repetitions, int64_t *out_ns, char *err, int32_t err_cap)
    {
        return guard(err, err_cap, [&] {
            Session &session = from(s);
            require(op, "op_run: op");
            require(args, "op_run: args");
            if (cache < LATHE_CACHE_COLD || cache > LATHE_CACHE_STREAM)
                fail(LATHE_E_INVALID, "operator %s: cache state %d does not exist", op, cache);
            if (repetitions < 1) fail(LATHE_E_INVALID, "operator %s: %d repetitions, must be at least 1", op, repetitions);
            require(out_ns, "op_run: out_ns");
            Parts::run_operator(session, {op, args, function, cache, repetitions, out_ns});
        });
    }
};

template <class Parts>
constexpr lathe_backend table_of(const char *name, const char *build_info)
{
    typedef TableEntries<Parts> E;
    return {LATHE_ABI,         sizeof(lathe_backend), name,        build_info,        E::device_info,
            E::model_create,   E::model_set_tensor,   E::model_ready, E::model_memory, E::model_close,
            E::session_open,   E::session_memory,     E::session_close, E::submit,     E::wait,
            E::logits,         E::residual,           E::copy_pages, E::op_run};
}

}  // namespace lathe

#endif  // LATHE_BACKEND_TABLE_H
