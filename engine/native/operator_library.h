/* operator_library.h: a user's shared library of operators (operator.h): opening it
 * and finding its functions. In C, so that Go can call it; backends get the
 * addresses in a lathe_override and know of no library. Nothing here calls a function
 * of the library. */
#ifndef LATHE_OPERATOR_LIBRARY_H
#define LATHE_OPERATOR_LIBRARY_H

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Opens a library (RTLD_NOW, RTLD_LOCAL; never closed) and checks its lathe_op_abi
 * where it exports one. A lathe_status; on failure the loader's own text is in err.
 * The library's constructors run. */
int32_t lathe_operator_library_open(const char *path, void **library, char *err, int32_t err_cap);

/* The addresses of one operator: NULL where the library has none of the optional ones. */
typedef struct lathe_operator_symbols {
    void *function, *workspace, *supports;
} lathe_operator_symbols;

/* Finds operator `op` ("attn_decode", "gemm.down", ...). Refuses a name that does not
 * exist, and a library without the function. */
int32_t lathe_operator_library_find(void *library, const char *op, lathe_operator_symbols *out, char *err,
                                    int32_t err_cap);

#ifdef __cplusplus
}
#endif
#endif /* LATHE_OPERATOR_LIBRARY_H */
