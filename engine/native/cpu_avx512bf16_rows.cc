// cpu_avx512bf16_rows.cc: products with row-major weights for CPUs with
// AVX-512-BF16: what a gemm of operator.h is given, where the fused path has packed
// tiles. Lanes run along k, 64 inputs a turn in two accumulators (32 where an operand
// is f32), one order at every batch size; a sum across lanes ends each output.
// Bytes: each weight once a call of up to 6 columns, from as many streams as rows.
#include "cpu_avx512.h"

#if defined(LATHE_HAS_AVX512BF16)

LATHE_AVX512_BEGIN

namespace lathe {
namespace cpu {

namespace {

// How one turn's operands are read: up to n values at p, 16 lanes of 32 bits each.
struct Bf16Pairs {
    typedef uint16_t Weight;
    typedef uint16_t Input;
    typedef __m512i Lanes;
    static const int32_t kStep = 32;
    static Lanes full(const uint16_t *p) { return _mm512_loadu_si512(p); }
    static Lanes part(const uint16_t *p, int32_t n)
    {
        const __mmask32 m = n >= 32 ? 0xFFFFFFFFu : (1u << n) - 1;
        return _mm512_maskz_loadu_epi16(m, p);
    }
    static __m512 add(__m512 sum, Lanes w, Lanes a) { return dot_pairs(sum, w, a); }
};

inline __m512 load_lanes(const float *p, __mmask16 m) { return _mm512_maskz_loadu_ps(m, p); }
inline __m512 load_lanes(const uint16_t *p, __mmask16 m)
{
    return _mm512_castsi512_ps(_mm512_slli_epi32(_mm512_cvtepu16_epi32(_mm256_maskz_loadu_epi16(m, p)), 16));
}

template <class W>
struct Floats {
    typedef W Weight;
    typedef float Input;
    typedef __m512 Lanes;
    static const int32_t kStep = 16;
    template <class E>
    static Lanes full(const E *p)
    {
        return load_lanes(p, 0xFFFF);
    }
    template <class E>
    static Lanes part(const E *p, int32_t n)
    {
        return load_lanes(p, lanes16(n));
    }
    static __m512 add(__m512 sum, Lanes w, Lanes a) { return _mm512_fmadd_ps(w, a, sum); }
};

// R rows times C columns.
template <class T, int R, int C>
void micro(const typename T::Weight *w, int64_t w_stride, const typename T::Input *a, int64_t a_stride, int32_t k,
           float *out, int64_t ld)
{
    typedef typename T::Lanes Lanes;
    const int32_t step = T::kStep;
    __m512 even[R][C], odd[R][C];
#pragma GCC unroll 8
    for (int r = 0; r < R; r++)
#pragma GCC unroll 8
        for (int c = 0; c < C; c++) even[r][c] = odd[r][c] = _mm512_setzero_ps();
    int32_t i = 0;
    for (; i + 2 * step <= k; i += 2 * step) {
        Lanes w0[R], w1[R];
#pragma GCC unroll 8
        for (int r = 0; r < R; r++) {
            w0[r] = T::full(w + r * w_stride + i);
            w1[r] = T::full(w + r * w_stride + i + step);
        }
#pragma GCC unroll 8
        for (int c = 0; c < C; c++) {
            const Lanes a0 = T::full(a + c * a_stride + i), a1 = T::full(a + c * a_stride + i + step);
#pragma GCC unroll 8
            for (int r = 0; r < R; r++) {
                even[r][c] = T::add(even[r][c], w0[r], a0);
                odd[r][c] = T::add(odd[r][c], w1[r], a1);
            }
        }
    }
    for (; i < k; i += step)
#pragma GCC unroll 8
        for (int c = 0; c < C; c++) {
            const Lanes a0 = T::part(a + c * a_stride + i, k - i);
#pragma GCC unroll 8
            for (int r = 0; r < R; r++) even[r][c] = T::add(even[r][c], T::part(w + r * w_stride + i, k - i), a0);
        }
#pragma GCC unroll 8
    for (int c = 0; c < C; c++)
#pragma GCC unroll 8
        for (int r = 0; r < R; r++) out[c * ld + r] = _mm512_reduce_add_ps(_mm512_add_ps(even[r][c], odd[r][c]));
}

template <class T, int R, int C>
void columns(const RowsArgs &p, int32_t c)
{
    const typename T::Weight *w = static_cast<const typename T::Weight *>(p.w);
    const typename T::Input *a = static_cast<const typename T::Input *>(p.a) + c * p.a_stride;
    float *out = p.out + c * p.ld;
    int32_t r = 0;
    for (; r + R <= p.rows; r += R) micro<T, R, C>(w + r * p.w_stride, p.w_stride, a, p.a_stride, p.k, out + r, p.ld);
    for (; r < p.rows; r++) micro<T, 1, C>(w + r * p.w_stride, p.w_stride, a, p.a_stride, p.k, out + r, p.ld);
}

template <class T>
void rows(const RowsArgs &p)
{
    int32_t c = 0;
    for (; c + 6 <= p.cols; c += 6) columns<T, 2, 6>(p, c);
    switch (p.cols - c) {
    case 5: return columns<T, 2, 5>(p, c);
    case 4: return columns<T, 2, 4>(p, c);
    case 3: return columns<T, 4, 3>(p, c);
    case 2: return columns<T, 4, 2>(p, c);
    case 1: return columns<T, 4, 1>(p, c);
    }
}

}  // namespace

void avx512bf16_rows_bf16(const RowsArgs &p) { rows<Bf16Pairs>(p); }
void avx512bf16_rows_mixed(const RowsArgs &p) { rows<Floats<uint16_t>>(p); }
void avx512bf16_rows_f32(const RowsArgs &p) { rows<Floats<float>>(p); }

}  // namespace cpu
}  // namespace lathe

LATHE_AVX512_END

#endif
