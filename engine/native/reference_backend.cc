// reference_backend.cc: the C table of the plain reference path. Numeric class A:
// weights as given, float32 activations, float32 sums; the oracle of every other
// path, written for reading.
#include <algorithm>
#include <cstdio>
#include <cstring>
#include <string>

#include "allowed_cpus.h"
#include "backend_table.h"
#include "native_error.h"
#include "reference_session.h"

namespace lathe {
namespace reference {
namespace {

const char kBuildInfo[] = "{\"backend\":\"reference\",\"compiler\":\"" __VERSION__ "\",\"isa\":\"portable\","
                          "\"numeric_class\":\"A\"}";

struct Parts {
    typedef reference::Model Model;
    typedef reference::Session Session;

    static std::string device_json()
    {
        long cache = 0;
#ifdef _SC_LEVEL3_CACHE_SIZE
        cache = std::max(0L, sysconf(_SC_LEVEL3_CACHE_SIZE));
#endif
        char text[256];
        snprintf(text, sizeof text,
                 "{\"name\":\"reference\",\"paths\":[\"reference\"],\"cores\":%d,"
                 "\"last_level_cache_bytes\":%ld,\"memory_bytes\":%llu}",
                 allowed_cpus(), cache, static_cast<unsigned long long>(physical_memory()));
        return text;
    }

    // An oracle that can be changed is none: overrides are refused.
    static Session *open(Model &model, const lathe_session_options &options, const lathe_override *overrides, int32_t n)
    {
        if (n != 0)
            fail(LATHE_E_UNSUPPORTED,
                 "session: the reference backend replaces no operator (asked for %s): it is what replaced ones are "
                 "checked against; use the cpu backend",
                 overrides[0].op);
        if (options.isa[0] != '\0' && strcmp(options.isa, "reference") != 0)
            fail(LATHE_E_UNSUPPORTED, "session: the reference backend has no path \"%s\"", options.isa);
        return new Session(model, options);
    }

    static void run_operator(Session &, const OperatorRun &run)
    {
        fail(LATHE_E_UNSUPPORTED, "operator %s: the reference backend runs no operator alone", run.op);
    }
};

const lathe_backend kTable = table_of<Parts>("reference", kBuildInfo);

}  // namespace
}  // namespace reference
}  // namespace lathe

extern "C" const lathe_backend *lathe_reference_backend(void) { return &lathe::reference::kTable; }
