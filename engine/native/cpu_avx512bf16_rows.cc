// cpu_avx512bf16_rows.cc: products with row-major weights for CPUs with
// AVX-512-BF16: what a gemm of operator.h is given, where the fused path has packed
// tiles. Lanes run along k, 64 inputs a turn in two accumulators (32 where an operand
// is f32), one order at every batch size; a sum across lanes ends each output.
// Bytes: each weight once a call of up to 6 columns. Measured beside the packed tiles,
// from memory no slower, from the second-level cache 92 % of their speed.
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

// How far ahead of its use a weight is fetched, in bytes.
const int32_t kAhead = 2048;

// The lanes' sums of four vectors, each by the same tree whatever its neighbours.
inline __m128 totals(__m512 a, __m512 b, __m512 c, __m512 d)
{
    const __m512d ab = _mm512_castps_pd(_mm512_add_ps(_mm512_unpacklo_ps(a, b), _mm512_unpackhi_ps(a, b)));
    const __m512d cd = _mm512_castps_pd(_mm512_add_ps(_mm512_unpacklo_ps(c, d), _mm512_unpackhi_ps(c, d)));
    const __m512 quads = _mm512_add_ps(_mm512_castpd_ps(_mm512_unpacklo_pd(ab, cd)),
                                       _mm512_castpd_ps(_mm512_unpackhi_pd(ab, cd)));
    const __m256 halves = _mm256_add_ps(_mm512_castps512_ps256(quads), _mm512_extractf32x8_ps(quads, 1));
    return _mm_add_ps(_mm256_castps256_ps128(halves), _mm256_extractf128_ps(halves, 1));
}

// out[c*ld + r] = the sum of sums[r][c]'s lanes.
template <int R, int C>
void put_totals(__m512 (&sums)[R][C], float *out, int64_t ld)
{
    const int count = R * C;
    float values[(count + 3) / 4 * 4];
    const __m512 none = _mm512_setzero_ps();
#pragma GCC unroll 8
    for (int i = 0; i < count; i += 4)
        _mm_storeu_ps(values + i, totals(sums[i % R][i / R], i + 1 < count ? sums[(i + 1) % R][(i + 1) / R] : none,
                                         i + 2 < count ? sums[(i + 2) % R][(i + 2) / R] : none,
                                         i + 3 < count ? sums[(i + 3) % R][(i + 3) / R] : none));
#pragma GCC unroll 8
    for (int c = 0; c < C; c++)
#pragma GCC unroll 8
        for (int r = 0; r < R; r++) out[c * ld + r] = values[c * R + r];
}

// R rows times C columns. The rows' streams are fetched ahead; near their end, those
// of the R rows that follow.
template <class T, int R, int C>
void micro(const typename T::Weight *w, int64_t w_stride, const typename T::Input *a, int64_t a_stride, int32_t k,
           float *out, int64_t ld)
{
    typedef typename T::Lanes Lanes;
    const int32_t step = T::kStep, ahead = kAhead / static_cast<int32_t>(sizeof(typename T::Weight));
    __m512 even[R][C], odd[R][C];
#pragma GCC unroll 8
    for (int r = 0; r < R; r++)
#pragma GCC unroll 8
        for (int c = 0; c < C; c++) even[r][c] = odd[r][c] = _mm512_setzero_ps();
    int32_t i = 0;
    for (; i + 2 * step <= k; i += 2 * step) {
        const int64_t next = i + ahead < k ? ahead : R * w_stride + ahead - k;
        Lanes w0[R], w1[R];
#pragma GCC unroll 8
        for (int r = 0; r < R; r++) {
            const typename T::Weight *at = w + r * w_stride + i;
            w0[r] = T::full(at);
            w1[r] = T::full(at + step);
            _mm_prefetch(reinterpret_cast<const char *>(at + next), _MM_HINT_T0);
            _mm_prefetch(reinterpret_cast<const char *>(at + next + step), _MM_HINT_T0);
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
    for (int r = 0; r < R; r++)
#pragma GCC unroll 8
        for (int c = 0; c < C; c++) even[r][c] = _mm512_add_ps(even[r][c], odd[r][c]);
    put_totals<R, C>(even, out, ld);
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
