// cpu_avx512bf16_attention.cc: attention over up to 64 keys for CPUs with
// AVX-512-BF16. Scores of 16 keys at a time, one accumulator a key, summed across
// in one tree; bf16 keys meet q rounded to bf16 (vdpbf16ps), f32 keys meet f32.
// Weights and values stay f32; up to 4 heads share each load of V.
// Bytes: K and V of the keys once from memory, again a head from the first-level
// cache (64 keys x 64 dims are 8 KB each).
#include "cpu_avx512.h"

#if defined(LATHE_HAS_AVX512BF16)

#include <cmath>

LATHE_AVX512_BEGIN

namespace lathe {
namespace cpu {

namespace {

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

}  // namespace

void avx512bf16_partial_f32(const PartialArgs &a) { partial<float>(a); }
void avx512bf16_partial_bf16(const PartialArgs &a) { partial<uint16_t>(a); }

void avx512bf16_merge(float *max, float *sum, float *out, float part_max, float part_sum, const float *part,
                      int32_t head_dim)
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

}  // namespace cpu
}  // namespace lathe

LATHE_AVX512_END

#endif
