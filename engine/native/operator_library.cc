// operator_library.cc: see operator_library.h.
#include "operator_library.h"

#include <dlfcn.h>

#include <string>

#include "native_error.h"
#include "operator.h"
#include "operator_names.h"

int32_t lathe_operator_library_open(const char *path, void **library, char *err, int32_t err_cap)
{
    return lathe::guard(err, err_cap, [&] {
        void *handle = dlopen(path, RTLD_NOW | RTLD_LOCAL);
        if (handle == nullptr) {
            const char *why = dlerror();
            lathe::fail(LATHE_E_INVALID, "%s", why != nullptr ? why : "the loader gave no reason");
        }
        const void *abi = dlsym(handle, "lathe_op_abi");
        const uint32_t has = abi != nullptr ? *static_cast<const uint32_t *>(abi) : LATHE_OP_ABI;
        if (has != LATHE_OP_ABI)
            lathe::fail(LATHE_E_INVALID, "built for operator ABI %u, this lathe speaks %u; rebuild it with this lathe's "
                                         "operator.h",
                        has, LATHE_OP_ABI);
        *library = handle;
    });
}

int32_t lathe_operator_library_find(void *library, const char *op, lathe_operator_symbols *out, char *err,
                                    int32_t err_cap)
{
    return lathe::guard(err, err_cap, [&] {
        const uint32_t set = lathe::operator_set(op);
        if (set == 0) lathe::fail(LATHE_E_INVALID, "operator \"%.64s\" does not exist or cannot be replaced", op);
        const std::string symbol = std::string("lathe_op_") + lathe::operator_symbol(__builtin_ctz(set));
        out->function = dlsym(library, symbol.c_str());
        out->workspace = dlsym(library, (symbol + "_workspace").c_str());
        out->supports = dlsym(library, (symbol + "_supports").c_str());
        if (out->function == nullptr) lathe::fail(LATHE_E_INVALID, "no symbol %s", symbol.c_str());
    });
}
