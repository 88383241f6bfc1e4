// cpu_vec.h: four-lane compiler vectors for the small loops that every path
// shares (RoPE, residual add, cache rounding, largest logit). No target
// attribute: one meaning on every machine.
#ifndef LATHE_CPU_VEC_H
#define LATHE_CPU_VEC_H

#include <cstdint>
#include <cstring>

#include "backend.h"

namespace lathe {
namespace cpu {

typedef float F4 __attribute__((vector_size(16)));
typedef uint32_t U4 __attribute__((vector_size(16)));

static inline F4 splat(float x) { return F4{x, x, x, x}; }

static inline F4 load4(const float *p)
{
    F4 v;
    std::memcpy(&v, p, sizeof v);
    return v;
}

static inline void put4(float *p, F4 v) { std::memcpy(p, &v, sizeof v); }

// x[0..n) += v[0..n)
static inline void add_to(float *x, const float *v, int64_t n)
{
    int64_t i = 0;
    for (; i + 4 <= n; i += 4) put4(x + i, load4(x + i) + load4(v + i));
    for (; i < n; i++) x[i] += v[i];
}

// n values rounded to bf16 as lathe_bf16_from_f32 does it.
static inline void narrow(const float *x, int64_t n, uint16_t *out)
{
    int64_t i = 0;
    for (; i + 4 <= n; i += 4) {
        U4 u;
        std::memcpy(&u, x + i, sizeof u);
        const U4 is_nan = reinterpret_cast<U4>((u & 0x7FFFFFFFu) > 0x7F800000u);
        const U4 rounded = (u + 0x7FFFu + ((u >> 16) & 1u)) >> 16, kept = (u >> 16) | 0x40u;
        const U4 h = (rounded & ~is_nan) | (kept & is_nan);
        for (int j = 0; j < 4; j++) out[i + j] = static_cast<uint16_t>(h[j]);
    }
    for (; i < n; i++) out[i] = lathe_bf16_from_f32(x[i]);
}

// n bf16 values widened, exact.
static inline void widen_bf16(const uint16_t *x, int64_t n, float *out)
{
    int64_t i = 0;
    for (; i + 4 <= n; i += 4) {
        const U4 u = {x[i], x[i + 1], x[i + 2], x[i + 3]};
        put4(out + i, reinterpret_cast<F4>(u << 16));
    }
    for (; i < n; i++) out[i] = lathe_f32_from_bf16(x[i]);
}

// The running choice of a greedy token over ascending pieces of a row.
struct Best {
    float value;
    int32_t index;  // lowest index of the largest value; -1: none yet
    bool finite;    // no NaN or infinity met
};

// Takes values[0..n), which are logits base .. base+n-1, into best.
static inline void take_logits(const float *values, int32_t n, int32_t base, Best *best)
{
    F4 top = splat(-__builtin_inff());
    U4 broken = {0, 0, 0, 0};
    int32_t i = 0;
    for (; i + 4 <= n; i += 4) {
        const F4 v = load4(values + i);
        U4 u;
        std::memcpy(&u, values + i, sizeof u);
        broken |= reinterpret_cast<U4>((u & 0x7F800000u) == 0x7F800000u);
        top = v > top ? v : top;
    }
    float largest = top[0];
    for (int j = 1; j < 4; j++) largest = top[j] > largest ? top[j] : largest;
    bool bad = (broken[0] | broken[1] | broken[2] | broken[3]) != 0;
    for (; i < n; i++) {
        if (!__builtin_isfinite(values[i])) bad = true;
        if (values[i] > largest) largest = values[i];
    }
    if (bad) best->finite = false;
    if (!(largest > best->value)) return;
    best->value = largest;
    for (i = 0; i < n; i++)
        if (values[i] == largest) break;
    best->index = base + i;
}

}  // namespace cpu
}  // namespace lathe

#endif  // LATHE_CPU_VEC_H
