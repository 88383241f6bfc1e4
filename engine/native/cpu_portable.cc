// cpu_portable.cc: the numeric path that runs anywhere: plain C++ and four-lane
// compiler vectors, no target attribute. Activations are f32, bf16 weights are
// widened exactly: class A with an f32 KV cache, class C with bf16.
//
// Products: even inputs of a row go to one accumulator, odd ones to another, in
// ascending order, added at the end: one order at every batch size.
#include <cmath>
#include <cstring>

#include "backend.h"
#include "cpu_kernels.h"
#include "cpu_pack.h"
#include "cpu_vec.h"

namespace lathe {
namespace cpu {

namespace {

#if defined(__BYTE_ORDER__) && __BYTE_ORDER__ != __ORDER_LITTLE_ENDIAN__
#error "packed pairs are read as little-endian words"
#endif

inline F4 load(const float *p) { return load4(p); }

inline F4 load(const uint16_t *p)
{
    const U4 bits = {static_cast<uint32_t>(p[0]) << 16, static_cast<uint32_t>(p[1]) << 16,
                     static_cast<uint32_t>(p[2]) << 16, static_cast<uint32_t>(p[3]) << 16};
    return reinterpret_cast<F4>(bits);
}

inline float value(const float *p) { return *p; }
inline float value(const uint16_t *p) { return lathe_f32_from_bf16(*p); }

inline float lanes(F4 v) { return (v[0] + v[1]) + (v[2] + v[3]); }

// Q quads of rows (4 each) of one tile, from quad q0, times C columns.
template <int Q, int C>
void micro(const uint16_t *w, int32_t q0, int32_t kpairs, const float *x, float *out, int64_t ld)
{
    const U4 high = {0xFFFF0000u, 0xFFFF0000u, 0xFFFF0000u, 0xFFFF0000u};
    F4 even[Q][C], odd[Q][C];
#pragma GCC unroll 4
    for (int q = 0; q < Q; q++)
#pragma GCC unroll 4
        for (int c = 0; c < C; c++) even[q][c] = odd[q][c] = splat(0);
    w += q0 * 8;
    for (int32_t p = 0; p < kpairs; p++, w += 32, x += 2 * C) {
#pragma GCC unroll 4
        for (int q = 0; q < Q; q++) {
            U4 pair;
            std::memcpy(&pair, w + 8 * q, sizeof pair);
            const F4 w0 = reinterpret_cast<F4>(pair << 16), w1 = reinterpret_cast<F4>(pair & high);
#pragma GCC unroll 4
            for (int c = 0; c < C; c++) {
                even[q][c] += w0 * splat(x[2 * c]);
                odd[q][c] += w1 * splat(x[2 * c + 1]);
            }
        }
    }
#pragma GCC unroll 4
    for (int q = 0; q < Q; q++)
#pragma GCC unroll 4
        for (int c = 0; c < C; c++) put4(out + c * ld + (q0 + q) * 4, even[q][c] + odd[q][c]);
}

// One tile in as few passes as its accumulators fit 16 vector registers.
template <int Q, int C>
void tile_columns(const TileArgs &a)
{
    for (int32_t t = 0; t < a.tiles; t++)
        for (int32_t q = 0; q < 4; q += Q)
            micro<Q, C>(a.w + static_cast<int64_t>(t) * a.kpairs * 32, q, a.kpairs, static_cast<const float *>(a.x),
                        a.out + t * kTile, a.ld);
}

void tiles(const TileArgs &a)
{
    switch (a.cols) {
    case 1: return tile_columns<4, 1>(a);
    case 2: return tile_columns<2, 2>(a);
    case 3: return tile_columns<1, 3>(a);
    default: return tile_columns<1, 4>(a);
    }
}

// R weight rows times C columns, eight inputs at a time in two accumulators.
template <int R, int C, class W, class A>
void micro_rows(const W *w, int64_t w_stride, const A *a, int64_t a_stride, int32_t k, float *out, int64_t ld)
{
    F4 s0[R][C], s1[R][C];
#pragma GCC unroll 4
    for (int r = 0; r < R; r++)
#pragma GCC unroll 4
        for (int c = 0; c < C; c++) s0[r][c] = s1[r][c] = splat(0);
    int32_t i = 0;
    for (; i + 8 <= k; i += 8)
#pragma GCC unroll 4
        for (int r = 0; r < R; r++) {
            const F4 w0 = load(w + r * w_stride + i), w1 = load(w + r * w_stride + i + 4);
#pragma GCC unroll 4
            for (int c = 0; c < C; c++) {
                s0[r][c] += w0 * load(a + c * a_stride + i);
                s1[r][c] += w1 * load(a + c * a_stride + i + 4);
            }
        }
    for (int r = 0; r < R; r++)
        for (int c = 0; c < C; c++) {
            float sum = lanes(s0[r][c] + s1[r][c]);
            for (int32_t j = i; j < k; j++) sum += value(w + r * w_stride + j) * value(a + c * a_stride + j);
            out[c * ld + r] = sum;
        }
}

template <class W, class A>
void rows(const RowsArgs &p)
{
    const W *w = static_cast<const W *>(p.w);
    const A *a = static_cast<const A *>(p.a);
    for (int32_t c = 0; c < p.cols;) {
        const int32_t columns = p.cols - c >= 2 ? 2 : 1;
        int32_t r = 0;
        for (; r + 2 <= p.rows; r += 2)
            (columns == 2 ? micro_rows<2, 2, W, A> : micro_rows<2, 1, W, A>)(
                w + r * p.w_stride, p.w_stride, a + c * p.a_stride, p.a_stride, p.k, p.out + c * p.ld + r, p.ld);
        if (r < p.rows)
            (columns == 2 ? micro_rows<1, 2, W, A> : micro_rows<1, 1, W, A>)(
                w + r * p.w_stride, p.w_stride, a + c * p.a_stride, p.a_stride, p.k, p.out + c * p.ld + r, p.ld);
        c += columns;
    }
}

void narrow_row(const float *x, int32_t n, uint16_t *out) { narrow(x, n, out); }

void store(const PanelRow &row, int32_t k0, int32_t n, const float *x)
{
    unsigned char *at = row.base + static_cast<uint64_t>(k0 / 2) * row.stride;
    for (int32_t i = 0; i < n; i += 2, at += row.stride) {
        const float pair[2] = {x[i], i + 1 < n ? x[i + 1] : 0.0f};
        std::memcpy(at, pair, sizeof pair);
    }
}

void norm(const float *x, const float *gain, float eps, int32_t n, float *out)
{
    F4 s0 = splat(0), s1 = splat(0);
    int32_t i = 0;
    for (; i + 8 <= n; i += 8) {
        const F4 a = load(x + i), b = load(x + i + 4);
        s0 += a * a;
        s1 += b * b;
    }
    float sum = lanes(s0 + s1);
    for (; i < n; i++) sum += x[i] * x[i];
    const float factor = 1.0f / std::sqrt(sum / static_cast<float>(n) + eps);
    for (i = 0; i + 4 <= n; i += 4) put4(out + i, load(x + i) * splat(factor) * load(gain + i));
    for (; i < n; i++) out[i] = x[i] * factor * gain[i];
}

void silu_mul(float *gate, const float *up, int32_t n)
{
    for (int32_t i = 0; i < n; i++) gate[i] = gate[i] / (1.0f + std::exp(-gate[i])) * up[i];
}

template <class E>
float dot(const float *q, const E *k, int32_t n)
{
    F4 s0 = splat(0), s1 = splat(0);
    int32_t i = 0;
    for (; i + 8 <= n; i += 8) {
        s0 += load(q + i) * load(k + i);
        s1 += load(q + i + 4) * load(k + i + 4);
    }
    float sum = lanes(s0 + s1);
    for (; i < n; i++) sum += q[i] * value(k + i);
    return sum;
}

// out[head_dim] = sum over keys, ascending, of weights[key] * v[key].
template <class E>
void weighted_values(const PartialArgs &a, const float *weights, float *out)
{
    int32_t d = 0;
    for (; d + 8 <= a.head_dim; d += 8) {
        F4 s0 = splat(0), s1 = splat(0);
        for (int32_t k = 0; k < a.keys; k++) {
            const E *v = static_cast<const E *>(a.v[k]) + d;
            s0 += splat(weights[k]) * load(v);
            s1 += splat(weights[k]) * load(v + 4);
        }
        put4(out + d, s0);
        put4(out + d + 4, s1);
    }
    for (; d < a.head_dim; d++) {
        float sum = 0;
        for (int32_t k = 0; k < a.keys; k++) sum += weights[k] * value(static_cast<const E *>(a.v[k]) + d);
        out[d] = sum;
    }
}

template <class E>
void partial(const PartialArgs &a)
{
    for (int32_t h = 0; h < a.group; h++) {
        float *weights = a.weights + h * kKeys;
        float max = -INFINITY, sum = 0;
        for (int32_t k = 0; k < a.keys; k++) {
            weights[k] = dot(a.q + static_cast<int64_t>(h) * a.head_dim, static_cast<const E *>(a.k[k]), a.head_dim) * a.scale;
            if (weights[k] > max) max = weights[k]; /* a NaN is not above, but its weight is NaN below */
        }
        for (int32_t k = 0; k < a.keys; k++) {
            weights[k] = std::exp(weights[k] - max);
            sum += weights[k];
        }
        a.max[h] = max;
        a.sum[h] = sum;
        weighted_values<E>(a, weights, a.out + static_cast<int64_t>(h) * a.head_dim);
    }
}

void merge(float *max, float *sum, float *out, float part_max, float part_sum, const float *part, int32_t head_dim)
{
    const float top = part_max > *max ? part_max : *max;
    const float keep = std::exp(*max - top), add = std::exp(part_max - top);
    *max = top;
    *sum = *sum * keep + part_sum * add;
    int32_t i = 0;
    for (; i + 4 <= head_dim; i += 4) put4(out + i, load(out + i) * splat(keep) + load(part + i) * splat(add));
    for (; i < head_dim; i++) out[i] = out[i] * keep + part[i] * add;
}

bool runs_here() { return true; }

const Kernels kPortable = {"portable",
                           4,
                           8,
                           LATHE_F32,
                           runs_here,
                           tiles,
                           store,
                           rows<uint16_t, uint16_t>,
                           rows<uint16_t, float>,
                           rows<float, float>,
                           narrow_row,
                           norm,
                           silu_mul,
                           partial<float>,
                           partial<uint16_t>,
                           merge};

}  // namespace

const Kernels *portable_kernels() { return &kPortable; }

}  // namespace cpu
}  // namespace lathe
