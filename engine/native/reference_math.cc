// reference_math.cc: see reference_math.h. Contraction of a*b+c into one rounding
// is off, so that machines with and without FMA give the same bits.
#if defined(__GNUC__) && !defined(__clang__)
#pragma GCC optimize("fp-contract=off")
#elif defined(__clang__)
#pragma STDC FP_CONTRACT OFF
#endif

#include "reference_math.h"

#include <cmath>
#include <cstring>

namespace lathe {
namespace reference {

namespace {

// Four float32 lanes: one register of SSE2 or NEON, written without either.
typedef float Lanes __attribute__((vector_size(16)));

inline Lanes load(const float *p)
{
    Lanes v;
    std::memcpy(&v, p, sizeof v);
    return v;
}

// The sixteen partial sums of one dot product: element i belongs to lane i%16.
struct Sums {
    Lanes a = {}, b = {}, c = {}, d = {};
    void add(const float *x, const float *y)
    {
        a += load(x) * load(y);
        b += load(x + 4) * load(y + 4);
        c += load(x + 8) * load(y + 8);
        d += load(x + 12) * load(y + 12);
    }
    // Adds the n products (n < 16) that are left, then the lanes in a fixed tree.
    float fold(const float *x, const float *y, int64_t n) const
    {
        float part[16];
        std::memcpy(part, &a, sizeof a);
        std::memcpy(part + 4, &b, sizeof b);
        std::memcpy(part + 8, &c, sizeof c);
        std::memcpy(part + 12, &d, sizeof d);
        for (int64_t i = 0; i < n; i++) part[i] += x[i] * y[i];
        for (int width = 8; width > 0; width /= 2)
            for (int lane = 0; lane < width; lane++) part[lane] += part[lane + width];
        return part[0];
    }
};

}  // namespace

float dot(const float *a, const float *b, int64_t n)
{
    Sums sum;
    int64_t i = 0;
    for (; i + 16 <= n; i += 16) sum.add(a + i, b + i);
    return sum.fold(a + i, b + i, n - i);
}

void dot2(const float *a, const float *b0, const float *b1, int64_t n, float *out0, float *out1)
{
    Sums sum0, sum1;
    int64_t i = 0;
    for (; i + 16 <= n; i += 16) {
        sum0.add(a + i, b0 + i);
        sum1.add(a + i, b1 + i);
    }
    *out0 = sum0.fold(a + i, b0 + i, n - i);
    *out1 = sum1.fold(a + i, b1 + i, n - i);
}

void rmsnorm(const float *x, const float *weight, int32_t n, float eps, float *out)
{
    const float mean = dot(x, x, n) / static_cast<float>(n);
    const float scale = 1.0f / std::sqrt(mean + eps);
    for (int32_t i = 0; i < n; i++) out[i] = weight[i] * (x[i] * scale);
}

void rope_angles(int32_t position, const float *inv_freq, int32_t half, float scale, float *cosines,
                 float *sines)
{
    for (int32_t i = 0; i < half; i++) {
        const float angle = static_cast<float>(position) * inv_freq[i];
        cosines[i] = static_cast<float>(std::cos(static_cast<double>(angle))) * scale;
        sines[i] = static_cast<float>(std::sin(static_cast<double>(angle))) * scale;
    }
}

void rope(float *head, const float *cosines, const float *sines, int32_t half)
{
    for (int32_t i = 0; i < half; i++) {
        const float a = head[i], b = head[i + half];
        head[i] = a * cosines[i] - b * sines[i];
        head[i + half] = b * cosines[i] + a * sines[i];
    }
}

void silu_mul(float *gate, const float *up, int64_t n)
{
    for (int64_t i = 0; i < n; i++) gate[i] = gate[i] / (1.0f + std::exp(-gate[i])) * up[i];
}

float softmax_weights(float *scores, int64_t n)
{
    float largest = scores[0];
    for (int64_t t = 1; t < n; t++)
        if (scores[t] > largest) largest = scores[t];
    float sum = 0;
    for (int64_t t = 0; t < n; t++) {
        scores[t] = std::exp(scores[t] - largest);
        sum += scores[t];
    }
    return sum;
}

}  // namespace reference
}  // namespace lathe
