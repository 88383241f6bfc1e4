// cpu_avx512bf16.cc: the numeric path of CPUs with AVX-512-BF16. Activations are
// rounded to bf16 where they enter a product, vdpbf16ps accumulates in f32, the
// residual stream stays f32: class D.
//
// Products: one 64-byte line holds a pair of inputs of 16 rows. Even pairs go to
// one accumulator, odd pairs to another, added at the end: one order at every
// batch size. Small batches take several tiles at once to hide the latency of
// vdpbf16ps, larger ones take 2 tiles x 6 columns (24 accumulators).
// Bytes: each weight once a call; reaches memory bandwidth up to about 4 columns.
#include "cpu_kernels.h"

#if defined(__x86_64__) && defined(__GNUC__)
#define LATHE_HAS_AVX512BF16 1
#endif

#if defined(LATHE_HAS_AVX512BF16)

/* GCC 12 warns of its own intrinsics' deliberately undefined operands. */
#if defined(__GNUC__) && !defined(__clang__)
#pragma GCC diagnostic ignored "-Wuninitialized"
#pragma GCC diagnostic ignored "-Wmaybe-uninitialized"
#endif
#include <immintrin.h>

#include <cmath>
#include <cstring>

#include "cpu_pack.h"

/* After every include, so that no library function is compiled for this CPU. */
#if defined(__clang__)
#pragma clang attribute push(__attribute__((target("avx512f,avx512bw,avx512vl,avx512dq,avx512bf16"))), apply_to = function)
#else
#pragma GCC push_options
#pragma GCC target("avx512f,avx512bw,avx512vl,avx512dq,avx512bf16")
#endif

namespace lathe {
namespace cpu {

namespace {

inline __m512bh as_bf16(__m512i x) { return reinterpret_cast<__m512bh>(x); }

inline __m512 dot_pairs(__m512 sum, __m512i a, __m512i b) { return _mm512_dpbf16_ps(sum, as_bf16(a), as_bf16(b)); }

inline __mmask16 lanes16(int32_t n)
{
    return n >= 16 ? static_cast<__mmask16>(0xFFFF) : static_cast<__mmask16>((1u << n) - 1);
}

// T tiles times C columns.
template <int T, int C>
void micro(const uint16_t *w, int64_t tile_elems, int32_t kpairs, const uint32_t *x, float *out, int64_t ld)
{
    __m512 even[T][C], odd[T][C];
#pragma GCC unroll 8
    for (int t = 0; t < T; t++)
#pragma GCC unroll 8
        for (int c = 0; c < C; c++) even[t][c] = odd[t][c] = _mm512_setzero_ps();
    int32_t p = 0;
    for (; p + 2 <= kpairs; p += 2, w += 64, x += 2 * C) {
        __m512i w0[T], w1[T];
#pragma GCC unroll 8
        for (int t = 0; t < T; t++) {
            w0[t] = _mm512_loadu_si512(w + t * tile_elems);
            w1[t] = _mm512_loadu_si512(w + t * tile_elems + 32);
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

// T tiles at a time, then one at a time.
template <int T, int C>
void tile_columns(const TileArgs &a)
{
    const int64_t elems = static_cast<int64_t>(a.kpairs) * 32;
    const uint32_t *x = static_cast<const uint32_t *>(a.x);
    int32_t t = 0;
    for (; t + T <= a.tiles; t += T) micro<T, C>(a.w + t * elems, elems, a.kpairs, x, a.out + t * kTile, a.ld);
    for (; t < a.tiles; t++) micro<1, C>(a.w + t * elems, elems, a.kpairs, x, a.out + t * kTile, a.ld);
}

void tiles(const TileArgs &a)
{
    switch (a.cols) {
    case 1: return tile_columns<2, 1>(a);
    case 2: return tile_columns<2, 2>(a);
    case 3: return tile_columns<2, 3>(a);
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

// Scores of 16 keys: sums[i] holds lane sums of key i. Returns the 16 totals in
// key order, each summed in the same tree.
inline __m512 totals(const __m512 *sums)
{
    __m512 pairs[8], quads[4];
#pragma GCC unroll 8
    for (int i = 0; i < 8; i++)
        pairs[i] = _mm512_add_ps(_mm512_unpacklo_ps(sums[2 * i], sums[2 * i + 1]),
                                 _mm512_unpackhi_ps(sums[2 * i], sums[2 * i + 1]));
#pragma GCC unroll 4
    for (int i = 0; i < 4; i++) {
        const __m512d a = _mm512_castps_pd(pairs[2 * i]), b = _mm512_castps_pd(pairs[2 * i + 1]);
        quads[i] = _mm512_add_ps(_mm512_castpd_ps(_mm512_unpacklo_pd(a, b)), _mm512_castpd_ps(_mm512_unpackhi_pd(a, b)));
    }
    const __m512 low = _mm512_add_ps(_mm512_shuffle_f32x4(quads[0], quads[1], 0x88),
                                     _mm512_shuffle_f32x4(quads[0], quads[1], 0xDD));
    const __m512 high = _mm512_add_ps(_mm512_shuffle_f32x4(quads[2], quads[3], 0x88),
                                      _mm512_shuffle_f32x4(quads[2], quads[3], 0xDD));
    return _mm512_add_ps(_mm512_shuffle_f32x4(low, high, 0x88), _mm512_shuffle_f32x4(low, high, 0xDD));
}

// q . k for keys k[0..16): bf16 keys take q rounded to bf16, f32 keys f32.
inline __m512 scores16(const float *q, const uint16_t *const *k, int32_t n)
{
    __m512 sums[16];
#pragma GCC unroll 16
    for (int i = 0; i < 16; i++) sums[i] = _mm512_setzero_ps();
    for (int32_t d = 0; d < n; d += 32) {
        const __m512 q0 = _mm512_maskz_loadu_ps(lanes16(n - d), q + d);
        const __m512 q1 = n - d > 16 ? _mm512_maskz_loadu_ps(lanes16(n - d - 16), q + d + 16) : _mm512_setzero_ps();
        const __m512i pairs = reinterpret_cast<__m512i>(_mm512_cvtne2ps_pbh(q1, q0));
        const __mmask16 m = lanes16((n - d) / 2);
#pragma GCC unroll 16
        for (int i = 0; i < 16; i++) sums[i] = dot_pairs(sums[i], pairs, _mm512_maskz_loadu_epi32(m, k[i] + d));
    }
    return totals(sums);
}

inline __m512 scores16(const float *q, const float *const *k, int32_t n)
{
    __m512 sums[16];
#pragma GCC unroll 16
    for (int i = 0; i < 16; i++) sums[i] = _mm512_setzero_ps();
    for (int32_t d = 0; d < n; d += 16) {
        const __mmask16 m = lanes16(n - d);
        const __m512 qd = _mm512_maskz_loadu_ps(m, q + d);
#pragma GCC unroll 16
        for (int i = 0; i < 16; i++) sums[i] = _mm512_fmadd_ps(qd, _mm512_maskz_loadu_ps(m, k[i] + d), sums[i]);
    }
    return totals(sums);
}

inline __m512 load_values(__mmask16 m, const float *v) { return _mm512_maskz_loadu_ps(m, v); }
inline __m512 load_values(__mmask16 m, const uint16_t *v)
{
    return _mm512_castsi512_ps(_mm512_slli_epi32(_mm512_cvtepu16_epi32(_mm256_maskz_loadu_epi16(m, v)), 16));
}

// out[h][d .. d+16*V) = sum over keys, ascending, of weights[h][key] * v[key][d ..].
template <int H, int V, class E>
void weighted_values(const PartialArgs &a, int32_t h0, int32_t d)
{
    __m512 sums[H][V];
    __mmask16 m[V];
#pragma GCC unroll 4
    for (int i = 0; i < V; i++) m[i] = lanes16(a.head_dim - d - 16 * i);
#pragma GCC unroll 4
    for (int h = 0; h < H; h++)
#pragma GCC unroll 4
        for (int i = 0; i < V; i++) sums[h][i] = _mm512_setzero_ps();
    const float *weights = a.weights + h0 * kKeys;
    for (int32_t k = 0; k < a.keys; k++) {
        const E *v = static_cast<const E *>(a.v[k]) + d;
        __m512 values[V];
#pragma GCC unroll 4
        for (int i = 0; i < V; i++) values[i] = load_values(m[i], v + 16 * i);
#pragma GCC unroll 4
        for (int h = 0; h < H; h++) {
            const __m512 w = _mm512_set1_ps(weights[h * kKeys + k]);
#pragma GCC unroll 4
            for (int i = 0; i < V; i++) sums[h][i] = _mm512_fmadd_ps(w, values[i], sums[h][i]);
        }
    }
#pragma GCC unroll 4
    for (int h = 0; h < H; h++)
#pragma GCC unroll 4
        for (int i = 0; i < V; i++)
            _mm512_mask_storeu_ps(a.out + static_cast<int64_t>(h0 + h) * a.head_dim + d + 16 * i, m[i], sums[h][i]);
}

template <int H, class E>
void values_of_heads(const PartialArgs &a, int32_t h0)
{
    int32_t d = 0;
    for (; d + 48 < a.head_dim; d += 64) weighted_values<H, 4, E>(a, h0, d);
    for (; d < a.head_dim; d += 16) weighted_values<H, 1, E>(a, h0, d);
}

// Weights of one head; the largest score and the weights' sum.
template <class E>
void weights_of_head(const PartialArgs &a, int32_t h, const E *const *keys)
{
    const float *q = a.q + static_cast<int64_t>(h) * a.head_dim;
    float *weights = a.weights + h * kKeys;
    __m512 scores[4];
    __m512 top = _mm512_set1_ps(-INFINITY);
    for (int32_t i = 0; i < 4; i++) {
        scores[i] = _mm512_set1_ps(-INFINITY);
        if (i * 16 >= a.keys) continue;
        const __m512 s = _mm512_mul_ps(scores16(q, keys + i * 16, a.head_dim), _mm512_set1_ps(a.scale));
        scores[i] = _mm512_mask_mov_ps(scores[i], lanes16(a.keys - i * 16), s);
        top = _mm512_max_ps(top, scores[i]);
    }
    const float max = _mm512_reduce_max_ps(top); /* may miss a NaN; its weight is NaN below */
    __m512 sum = _mm512_setzero_ps();
    for (int32_t i = 0; i * 16 < a.keys; i++) {
        const __m512 w = exponential(_mm512_sub_ps(scores[i], _mm512_set1_ps(max)));
        sum = _mm512_add_ps(sum, _mm512_maskz_mov_ps(lanes16(a.keys - i * 16), w));
        _mm512_storeu_ps(weights + i * 16, w);
    }
    a.max[h] = max;
    a.sum[h] = _mm512_reduce_add_ps(sum);
}

template <class E>
void partial(const PartialArgs &a)
{
    /* Lanes past the last key read it again and are masked off. */
    const E *keys[kKeys];
    for (int32_t k = 0; k < kKeys; k++) keys[k] = static_cast<const E *>(a.k[k < a.keys ? k : a.keys - 1]);
    for (int32_t h = 0; h < a.group; h++) weights_of_head(a, h, keys);
    int32_t h = 0;
    for (; h + 4 <= a.group; h += 4) values_of_heads<4, E>(a, h);
    switch (a.group - h) {
    case 3: return values_of_heads<3, E>(a, h);
    case 2: return values_of_heads<2, E>(a, h);
    case 1: return values_of_heads<1, E>(a, h);
    }
}

void merge(float *max, float *sum, float *out, float part_max, float part_sum, const float *part, int32_t head_dim)
{
    const float top = part_max > *max ? part_max : *max;
    const __m512 factors = exponential(_mm512_setr_ps(*max - top, part_max - top, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0));
    float f[16];
    _mm512_storeu_ps(f, factors);
    *max = top;
    *sum = *sum * f[0] + part_sum * f[1];
    const __m512 keep = _mm512_set1_ps(f[0]), add = _mm512_set1_ps(f[1]);
    for (int32_t i = 0; i < head_dim; i += 16) {
        const __mmask16 m = lanes16(head_dim - i);
        const __m512 kept = _mm512_mul_ps(_mm512_maskz_loadu_ps(m, out + i), keep);
        _mm512_mask_storeu_ps(out + i, m, _mm512_fmadd_ps(_mm512_maskz_loadu_ps(m, part + i), add, kept));
    }
}

}  // namespace

}  // namespace cpu
}  // namespace lathe

#if defined(__clang__)
#pragma clang attribute pop
#else
#pragma GCC pop_options
#endif

namespace lathe {
namespace cpu {

namespace {

bool runs_here()
{
    return __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
           __builtin_cpu_supports("avx512vl") && __builtin_cpu_supports("avx512dq") &&
           __builtin_cpu_supports("avx512bf16");
}

const Kernels kAvx512Bf16 = {"avx512bf16", 6,        4,           runs_here,    tiles, store,
                             norm,         silu_mul, partial<float>, partial<uint16_t>, merge};

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
