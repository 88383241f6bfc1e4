// reference_math.h: the arithmetic of the reference path on float32 rows. Every
// sum has one order that depends on its length only.
#ifndef LATHE_REFERENCE_MATH_H
#define LATHE_REFERENCE_MATH_H

#include <cstdint>

namespace lathe {
namespace reference {

// Sum of a[i]*b[i]. Element i goes to partial sum i%16; the sixteen are added in a
// fixed tree.
float dot(const float *a, const float *b, int64_t n);

// Two dot products with the same a, each with the bits of dot.
void dot2(const float *a, const float *b0, const float *b1, int64_t n, float *out0, float *out1);

// out = x / sqrt(mean(x^2) + eps) * weight, n values.
void rmsnorm(const float *x, const float *weight, int32_t n, float eps, float *out);

// cos and sin of position*inv_freq[i] (that product rounded to float32), times
// scale; half values each.
void rope_angles(int32_t position, const float *inv_freq, int32_t half, float scale, float *cosines,
                 float *sines);

// Rotates one head in place, half-split: dimension i pairs with i + half.
void rope(float *head, const float *cosines, const float *sines, int32_t half);

// gate = silu(gate) * up, n values; silu(x) = x / (1 + e^-x).
void silu_mul(float *gate, const float *up, int64_t n);

// Turns n scores into weights e^(score - max) and returns their sum. A NaN among
// the scores makes the sum NaN.
float softmax_weights(float *scores, int64_t n);

}  // namespace reference
}  // namespace lathe

#endif  // LATHE_REFERENCE_MATH_H
