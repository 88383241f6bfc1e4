// cpu_rope.h: the rotation of RoPE, one meaning for every path and operator.
#ifndef LATHE_CPU_ROPE_H
#define LATHE_CPU_ROPE_H

#include <cstdint>

#include "cpu_vec.h"

namespace lathe {
namespace cpu {

// Half-split rotation of n pairs: low[i] with high[i].
static inline void rotate(float *low, float *high, const float *cosines, const float *sines, int32_t n)
{
    int32_t i = 0;
    for (; i + 4 <= n; i += 4) {
        const F4 a = load4(low + i), b = load4(high + i), co = load4(cosines + i), si = load4(sines + i);
        put4(low + i, a * co - b * si);
        put4(high + i, b * co + a * si);
    }
    for (; i < n; i++) {
        const float a = low[i], b = high[i];
        low[i] = a * cosines[i] - b * sines[i];
        high[i] = b * cosines[i] + a * sines[i];
    }
}

}  // namespace cpu
}  // namespace lathe

#endif  // LATHE_CPU_ROPE_H
