// cpu_element.h: reading and writing rows of the element types that our operators
// take: f32 and bf16.
#ifndef LATHE_CPU_ELEMENT_H
#define LATHE_CPU_ELEMENT_H

#include <algorithm>
#include <cstdint>

#include "backend.h"
#include "cpu_kernels.h"
#include "cpu_vec.h"

namespace lathe {
namespace cpu {

inline bool is_element(int32_t dtype) { return dtype == LATHE_F32 || dtype == LATHE_BF16; }
inline int64_t element_bytes(int32_t dtype) { return dtype == LATHE_F32 ? 4 : 2; }

// Element i of an array.
inline const void *element(int32_t dtype, const void *base, int64_t i)
{
    return static_cast<const unsigned char *>(base) + i * element_bytes(dtype);
}
inline void *element(int32_t dtype, void *base, int64_t i)
{
    return static_cast<unsigned char *>(base) + i * element_bytes(dtype);
}

// Elements i .. i+n-1 as f32: where they lie, or widened into scratch[n].
inline const float *floats(int32_t dtype, const void *base, int64_t i, int64_t n, float *scratch)
{
    if (dtype == LATHE_F32) return static_cast<const float *>(base) + i;
    widen_bf16(static_cast<const uint16_t *>(base) + i, n, scratch);
    return scratch;
}

// Elements i .. i+n-1 as f32 in out[n].
inline void read_floats(int32_t dtype, const void *base, int64_t i, int64_t n, float *out)
{
    if (dtype == LATHE_F32)
        std::copy_n(static_cast<const float *>(base) + i, n, out);
    else
        widen_bf16(static_cast<const uint16_t *>(base) + i, n, out);
}

// Writes x[0..n) as elements i .. i+n-1, bf16 rounded as the path rounds.
inline void put_floats(const Kernels &kernels, int32_t dtype, const float *x, int32_t n, void *base, int64_t i)
{
    if (dtype == LATHE_F32)
        std::copy_n(x, n, static_cast<float *>(base) + i);
    else
        kernels.narrow(x, n, static_cast<uint16_t *>(base) + i);
}

// The same for K and V in the cache, whose bf16 every path rounds alike.
inline void put_kv(int32_t dtype, const float *x, int32_t n, void *base, int64_t i)
{
    if (dtype == LATHE_F32)
        std::copy_n(x, n, static_cast<float *>(base) + i);
    else
        narrow(x, n, static_cast<uint16_t *>(base) + i);
}

}  // namespace cpu
}  // namespace lathe

#endif  // LATHE_CPU_ELEMENT_H
