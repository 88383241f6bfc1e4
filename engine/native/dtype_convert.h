// dtype_convert.h: the element types that weights and KV pages may have, and
// their exact conversions. No intrinsics: both directions are plain bit work, so
// that every path and every machine agrees.
#ifndef LATHE_DTYPE_CONVERT_H
#define LATHE_DTYPE_CONVERT_H

#include <cstdint>
#include <cstring>

#include "backend.h"

namespace lathe {

// Bytes of one element, 0 for a dtype that does not exist.
static inline uint32_t dtype_bytes(int32_t dtype)
{
    switch (dtype) {
    case LATHE_F32: return 4;
    case LATHE_F16:
    case LATHE_BF16: return 2;
    }
    return 0;
}

static inline const char *dtype_name(int32_t dtype)
{
    switch (dtype) {
    case LATHE_F32: return "f32";
    case LATHE_F16: return "f16";
    case LATHE_BF16: return "bf16";
    }
    return "unknown";
}

// IEEE binary16 to binary32, exact; subnormals, infinities and NaN included.
static inline float f32_from_f16(uint16_t h)
{
    const uint32_t sign = static_cast<uint32_t>(h & 0x8000u) << 16;
    uint32_t exponent = (h >> 10) & 0x1Fu, mantissa = h & 0x3FFu, bits;
    if (exponent == 0x1F) {
        bits = sign | 0x7F800000u | (mantissa << 13);
    } else if (exponent != 0) {
        bits = sign | ((exponent + 112) << 23) | (mantissa << 13);
    } else if (mantissa == 0) {
        bits = sign;
    } else {
        exponent = 113;
        while ((mantissa & 0x400u) == 0) {
            mantissa <<= 1;
            exponent--;
        }
        bits = sign | (exponent << 23) | ((mantissa & 0x3FFu) << 13);
    }
    float f;
    std::memcpy(&f, &bits, sizeof f);
    return f;
}

// n values of dtype at src widened to float32, exact. src needs no alignment.
static inline void widen(int32_t dtype, const void *src, uint64_t n, float *dst)
{
    const unsigned char *bytes = static_cast<const unsigned char *>(src);
    if (dtype == LATHE_F32) {
        std::memcpy(dst, src, n * sizeof(float));
        return;
    }
    for (uint64_t i = 0; i < n; i++) {
        uint16_t h;
        std::memcpy(&h, bytes + 2 * i, sizeof h);
        dst[i] = dtype == LATHE_BF16 ? lathe_f32_from_bf16(h) : f32_from_f16(h);
    }
}

// n float32 values rounded to bf16, nearest, ties to even, NaN kept.
static inline void narrow_bf16(const float *src, uint64_t n, uint16_t *dst)
{
    for (uint64_t i = 0; i < n; i++) dst[i] = lathe_bf16_from_f32(src[i]);
}

// Values first .. first+n-1 (row-major) of a seeded tensor as bf16; backend.h
// defines them. Any cut into ranges gives the same values.
static inline void seed_bf16(uint64_t seed, int32_t role, int32_t layer, float std, uint64_t first, uint64_t n,
                             uint16_t *dst)
{
    const uint64_t key = lathe_seeded_key(seed, role, layer);
    for (uint64_t i = 0; i < n; i++) dst[i] = lathe_seeded_bf16(key, first + i, std);
}

}  // namespace lathe

#endif  // LATHE_DTYPE_CONVERT_H
