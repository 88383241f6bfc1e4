// cpu_kernels.cc: which numeric paths exist and which run here.
#include "cpu_kernels.h"

#include <cstdio>
#include <cstring>

#include "native_error.h"

namespace lathe {
namespace cpu {

namespace {

// Appends ", name" to a list of names.
void append(char *list, size_t cap, const char *name)
{
    const size_t n = std::strlen(list);
    snprintf(list + n, cap - n, "%s%s", n == 0 ? "" : ", ", name);
}

}  // namespace

const Kernels *const *kernel_paths()
{
    static const Kernels *const with_avx512bf16[] = {avx512bf16_kernels(), portable_kernels(), nullptr};
    /* Where the compiler made no AVX-512 table the list starts one later. */
    return with_avx512bf16[0] != nullptr ? with_avx512bf16 : with_avx512bf16 + 1;
}

const Kernels *find_kernels(const char *isa)
{
    char runs[200] = "", built[200] = "";
    const Kernels *best = nullptr;
    for (const Kernels *const *p = kernel_paths(); *p != nullptr; p++) {
        append(built, sizeof built, (*p)->name);
        if (!(*p)->runs_here()) continue;
        append(runs, sizeof runs, (*p)->name);
        if (std::strcmp(isa, (*p)->name) == 0) return *p;
        if (best == nullptr) best = *p;
    }
    if (isa[0] == '\0') return best;
    fail(LATHE_E_UNSUPPORTED, "cpu isa \"%s\": this machine runs %s (built: %s)", isa, runs, built);
}

}  // namespace cpu
}  // namespace lathe
