// cpu_avx512bf16.cc: the numeric path of CPUs with AVX-512-BF16. Activations are
// rounded to bf16 where they enter a product, vdpbf16ps accumulates in f32, the
// residual stream stays f32: class D.
//
// Products: one 64-byte line holds a pair of inputs of 16 rows. Even pairs go to
// one accumulator, odd pairs to another, added at the end: one order at every
// batch size. Small batches take several tiles at once to hide the latency of
// vdpbf16ps, larger ones take 2 tiles x 6 columns (24 accumulators).
// Bytes: each weight once a call; reaches memory bandwidth up to about 4 columns.
#include "cpu_avx512.h"

#if defined(LATHE_HAS_AVX512BF16)

#include <cmath>
#include <cstring>

#include "backend.h"
#include "cpu_pack.h"

LATHE_AVX512_BEGIN

namespace lathe {
namespace cpu {

namespace {

// How far ahead of its use a weight is fetched, in elements: 2 KB. Measured on a
// Sapphire Rapids core: 4 tiles x 1 column 18.7 -> 19.1 GB/s of memory (plain
// reading: 16.6), 2 x 4 columns 11.6 -> 15.9, 2 x 6 columns 9.8 -> 12.3.
const int32_t kAhead = 1024;

// T tiles times C columns.
template <int T, int C>
void micro(const uint16_t *w, int64_t tile_elems, int32_t kpairs, const uint32_t *x, float *out, int64_t ld)
{
    __m512 even[T][C], odd[T][C];
#pragma GCC unroll 8
    for (int t = 0; t < T; t++)
#pragma GCC unroll 8
        for (int c = 0; c < C; c++) even[t][c] = odd[t][c] = _mm512_setzero_ps();
    /* Each tile's stream is fetched ahead; near its end, the stream of the tile
     * that follows in its place. */
    const int64_t next = (T - 1) * tile_elems;
    int32_t p = 0;
    for (int part = 0; part < 2; part++) {
        const int32_t end = part == 0 ? kpairs - kAhead / 32 : kpairs;
        const int64_t ahead = part == 0 ? kAhead : kAhead + next;
        for (; p + 2 <= end; p += 2, w += 64, x += 2 * C) {
            __m512i w0[T], w1[T];
#pragma GCC unroll 8
            for (int t = 0; t < T; t++) {
                const uint16_t *at = w + t * tile_elems;
                w0[t] = _mm512_loadu_si512(at);
                w1[t] = _mm512_loadu_si512(at + 32);
                _mm_prefetch(reinterpret_cast<const char *>(at + ahead), _MM_HINT_T0);
                _mm_prefetch(reinterpret_cast<const char *>(at + ahead + 32), _MM_HINT_T0);
            }
#pragma GCC unroll 8
            for (int c = 0; c < C; c++) {
                const __m512i x0 = _mm512_set1_epi32(static_cast<int>(x[c]));
                const __m512i x1 = _mm512_set1_epi32(static_cast<int>(x[C + c]));
#pragma GCC unroll 8
                for (int t = 0; t < T; t++) {
                    even[t][c] = dot_pairs(even[t][c], w0[t], x0);
                    odd[t][c] = dot_pairs(odd[t][c], w1[t], x1);
                }
            }
        }
    }
    if (p < kpairs) {
#pragma GCC unroll 8
        for (int c = 0; c < C; c++) {
            const __m512i x0 = _mm512_set1_epi32(static_cast<int>(x[c]));
#pragma GCC unroll 8
            for (int t = 0; t < T; t++)
                even[t][c] = dot_pairs(even[t][c], _mm512_loadu_si512(w + t * tile_elems), x0);
        }
    }
#pragma GCC unroll 8
    for (int t = 0; t < T; t++)
#pragma GCC unroll 8
        for (int c = 0; c < C; c++)
            _mm512_storeu_ps(out + c * ld + t * kTile, _mm512_add_ps(even[t][c], odd[t][c]));
}

// T tiles at a time, then two, then one.
template <int T, int C>
void tile_columns(const TileArgs &a)
{
    const int64_t elems = static_cast<int64_t>(a.kpairs) * 32;
    const uint32_t *x = static_cast<const uint32_t *>(a.x);
    int32_t t = 0;
    for (; t + T <= a.tiles; t += T) micro<T, C>(a.w + t * elems, elems, a.kpairs, x, a.out + t * kTile, a.ld);
    for (; T > 2 && t + 2 <= a.tiles; t += 2)
        micro<2, C>(a.w + t * elems, elems, a.kpairs, x, a.out + t * kTile, a.ld);
    for (; t < a.tiles; t++) micro<1, C>(a.w + t * elems, elems, a.kpairs, x, a.out + t * kTile, a.ld);
}

void tiles(const TileArgs &a)
{
    switch (a.cols) {
    case 1: return tile_columns<4, 1>(a);
    case 2: return tile_columns<4, 2>(a);
    case 3: return tile_columns<4, 3>(a);
    case 4: return tile_columns<2, 4>(a);
    case 5: return tile_columns<2, 5>(a);
    default: return tile_columns<2, 6>(a);
    }
}

// 16 values as 8 pairs.
inline __m256i to_bf16(__m512 v) { return reinterpret_cast<__m256i>(_mm512_cvtneps_pbh(v)); }

void store(const PanelRow &row, int32_t k0, int32_t n, const float *x)
{
    unsigned char *at = row.base + static_cast<uint64_t>(k0 / 2) * row.stride;
    for (int32_t i = 0; i < n; i += 16) {
        const int32_t m = n - i < 16 ? n - i : 16;
        const __m256i pairs = to_bf16(_mm512_maskz_loadu_ps(lanes16(m), x + i));
        if (row.stride == 4 && m == 16) {
            _mm256_storeu_si256(reinterpret_cast<__m256i *>(at), pairs);
            at += 32;
            continue;
        }
        uint32_t words[8];
        _mm256_storeu_si256(reinterpret_cast<__m256i *>(words), pairs);
        for (int32_t j = 0; j < (m + 1) / 2; j++, at += row.stride) std::memcpy(at, words + j, 4);
    }
}

void narrow(const float *x, int32_t n, uint16_t *out)
{
    for (int32_t i = 0; i < n; i += 16) {
        const __mmask16 m = lanes16(n - i);
        _mm256_mask_storeu_epi16(out + i, m, to_bf16(_mm512_maskz_loadu_ps(m, x + i)));
    }
}

void norm(const float *x, const float *gain, float eps, int32_t n, float *out)
{
    __m512 s0 = _mm512_setzero_ps(), s1 = _mm512_setzero_ps();
    int32_t i = 0;
    for (; i + 32 <= n; i += 32) {
        const __m512 a = _mm512_loadu_ps(x + i), b = _mm512_loadu_ps(x + i + 16);
        s0 = _mm512_fmadd_ps(a, a, s0);
        s1 = _mm512_fmadd_ps(b, b, s1);
    }
    for (; i < n; i += 16) {
        const __m512 a = _mm512_maskz_loadu_ps(lanes16(n - i), x + i);
        s0 = _mm512_fmadd_ps(a, a, s0);
    }
    const float sum = _mm512_reduce_add_ps(_mm512_add_ps(s0, s1));
    const __m512 factor = _mm512_set1_ps(1.0f / std::sqrt(sum / static_cast<float>(n) + eps));
    for (i = 0; i < n; i += 16) {
        const __mmask16 m = lanes16(n - i);
        const __m512 scaled = _mm512_mul_ps(_mm512_maskz_loadu_ps(m, x + i), factor);
        _mm512_mask_storeu_ps(out + i, m, _mm512_mul_ps(scaled, _mm512_maskz_loadu_ps(m, gain + i)));
    }
}

void silu_mul(float *gate, const float *up, int32_t n)
{
    const __m512 one = _mm512_set1_ps(1.0f);
    for (int32_t i = 0; i < n; i += 16) {
        const __mmask16 m = lanes16(n - i);
        const __m512 g = _mm512_maskz_loadu_ps(m, gate + i);
        const __m512 e = exponential(_mm512_sub_ps(_mm512_setzero_ps(), g));
        const __m512 silu = _mm512_div_ps(g, _mm512_add_ps(one, e));
        _mm512_mask_storeu_ps(gate + i, m, _mm512_mul_ps(silu, _mm512_maskz_loadu_ps(m, up + i)));
    }
}

}  // namespace

}  // namespace cpu
}  // namespace lathe

LATHE_AVX512_END

namespace lathe {
namespace cpu {

namespace {

bool runs_here()
{
    return __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
           __builtin_cpu_supports("avx512vl") && __builtin_cpu_supports("avx512dq") &&
           __builtin_cpu_supports("avx512bf16");
}

const Kernels kAvx512Bf16 = {"avx512bf16",
                             6,
                             4,
                             LATHE_BF16,
                             runs_here,
                             tiles,
                             store,
                             avx512bf16_rows_bf16,
                             avx512bf16_rows_mixed,
                             avx512bf16_rows_f32,
                             narrow,
                             norm,
                             silu_mul,
                             avx512bf16_partial_f32,
                             avx512bf16_partial_bf16,
                             avx512bf16_merge};

}  // namespace

const Kernels *avx512bf16_kernels() { return &kAvx512Bf16; }

}  // namespace cpu
}  // namespace lathe

#else

namespace lathe {
namespace cpu {

const Kernels *avx512bf16_kernels() { return nullptr; }

}  // namespace cpu
}  // namespace lathe

#endif
