// cpu_backend.cc: the C table of the CPU backend.
#include <string>

#include "backend_table.h"
#include "cpu_device.h"
#include "cpu_session.h"
#include "native_error.h"

namespace lathe {
namespace cpu {
namespace {

const char kBuildInfo[] = "{\"backend\":\"cpu\",\"compiler\":\"" __VERSION__ "\","
                          "\"numeric_class\":{\"avx512bf16\":\"D\",\"portable\":\"A or C by kv dtype\"}}";

struct Parts {
    typedef cpu::Model Model;
    typedef cpu::Session Session;

    static std::string device_json() { return cpu::device_json(); }

    static Session *open(Model &model, const lathe_session_options &options, const lathe_override *overrides, int32_t n)
    {
        find_kernels(options.isa); /* refuse before memory is taken */
        return new Session(model, options, overrides, n);
    }

    static void run_operator(Session &session, const OperatorRun &run) { session.run_operator(run); }
};

const lathe_backend kTable = table_of<Parts>("cpu", kBuildInfo);

}  // namespace
}  // namespace cpu
}  // namespace lathe

extern "C" const lathe_backend *lathe_cpu_backend(void) { return &lathe::cpu::kTable; }
