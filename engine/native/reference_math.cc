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

}  // namespace

float dot(const float *a, const float *b, int64_t n)
{
    Lanes s0 = {}, s1 = {}, s2 = {}, s3 = {};
    int64_t i = 0;
    for (; i + 16 <= n; i += 16) {
        s0 += load(a + i) * load(b + i);
        s1 += load(a + i + 4) * load(b + i + 4);
        s2 += load(a + i + 8) * load(b + i + 8);
        s3 += load(a + i + 12) * load(b + i + 12);
    }
    float part[16];
    std::memcpy(part, &s0, sizeof s0);
    std::memcpy(part + 4, &s1, sizeof s1);
    std::memcpy(part + 8, &s2, sizeof s2);
    std::memcpy(part + 12, &s3, sizeof s3);
    for (int lane = 0; i < n; i++, lane++) part[lane] += a[i] * b[i];
    for (int width = 8; width > 0; width /= 2)
        for (int lane = 0; lane < width; lane++) part[lane] += part[lane + width];
    return part[0];
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
