// cpu_avx512.h: what the AVX-512 files share. Only for files compiled under
// LATHE_HAS_AVX512BF16; code goes between LATHE_AVX512_BEGIN and LATHE_AVX512_END,
// after every include, so that no library function is compiled for these CPUs.
#ifndef LATHE_CPU_AVX512_H
#define LATHE_CPU_AVX512_H

#include "cpu_kernels.h"

#if defined(__x86_64__) && defined(__GNUC__)
#define LATHE_HAS_AVX512BF16 1

/* GCC 12 warns of its own intrinsics' deliberately undefined operands. */
#if !defined(__clang__)
#pragma GCC diagnostic ignored "-Wuninitialized"
#pragma GCC diagnostic ignored "-Wmaybe-uninitialized"
#endif
#include <immintrin.h>

#if defined(__clang__)
#define LATHE_AVX512_BEGIN                                                                                 \
    _Pragma("clang attribute push(__attribute__((target(\"avx512f,avx512bw,avx512vl,avx512dq,avx512bf16\"))), " \
            "apply_to = function)")
#define LATHE_AVX512_END _Pragma("clang attribute pop")
#else
#define LATHE_AVX512_BEGIN \
    _Pragma("GCC push_options") _Pragma("GCC target(\"avx512f,avx512bw,avx512vl,avx512dq,avx512bf16\")")
#define LATHE_AVX512_END _Pragma("GCC pop_options")
#endif

LATHE_AVX512_BEGIN

namespace lathe {
namespace cpu {

// The row-major products of the path avx512bf16 (cpu_avx512bf16_rows.cc).
void avx512bf16_rows_bf16(const RowsArgs &);
void avx512bf16_rows_mixed(const RowsArgs &);
void avx512bf16_rows_f32(const RowsArgs &);

// Its attention (cpu_avx512bf16_attention.cc).
void avx512bf16_partial_f32(const PartialArgs &);
void avx512bf16_partial_bf16(const PartialArgs &);
void avx512bf16_merge(float *max, float *sum, float *out, float part_max, float part_sum, const float *part,
                      int32_t head_dim);

namespace {

inline __m512bh as_bf16(__m512i x) { return reinterpret_cast<__m512bh>(x); }

inline __m512 dot_pairs(__m512 sum, __m512i a, __m512i b) { return _mm512_dpbf16_ps(sum, as_bf16(a), as_bf16(b)); }

// A mask of the first n lanes, all 16 from 16 on.
inline __mmask16 lanes16(int32_t n)
{
    return n >= 16 ? static_cast<__mmask16>(0xFFFF) : static_cast<__mmask16>((1u << n) - 1);
}

// e^x within 2 ulp (Cephes' polynomial); 0 below -104, infinity above 89, NaN stays.
inline __m512 exponential(__m512 x)
{
    x = _mm512_max_ps(_mm512_set1_ps(-104.0f), x); /* of a NaN the second operand is taken */
    x = _mm512_min_ps(_mm512_set1_ps(89.0f), x);
    const __m512 n = _mm512_roundscale_ps(_mm512_mul_ps(x, _mm512_set1_ps(1.44269504088896341f)), 8);
    __m512 r = _mm512_fnmadd_ps(n, _mm512_set1_ps(0.693359375f), x);
    r = _mm512_fnmadd_ps(n, _mm512_set1_ps(-2.12194440e-4f), r);
    __m512 p = _mm512_set1_ps(1.9875691500e-4f);
    p = _mm512_fmadd_ps(p, r, _mm512_set1_ps(1.3981999507e-3f));
    p = _mm512_fmadd_ps(p, r, _mm512_set1_ps(8.3334519073e-3f));
    p = _mm512_fmadd_ps(p, r, _mm512_set1_ps(4.1665795894e-2f));
    p = _mm512_fmadd_ps(p, r, _mm512_set1_ps(1.6666665459e-1f));
    p = _mm512_fmadd_ps(p, r, _mm512_set1_ps(5.0000001201e-1f));
    p = _mm512_fmadd_ps(p, _mm512_mul_ps(r, r), _mm512_add_ps(r, _mm512_set1_ps(1.0f)));
    return _mm512_scalef_ps(p, n);
}

}  // namespace

}  // namespace cpu
}  // namespace lathe

LATHE_AVX512_END

#endif
#endif  // LATHE_CPU_AVX512_H
