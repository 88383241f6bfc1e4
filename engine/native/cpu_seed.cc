// cpu_seed.cc: the generator of backend.h, eight values at a time where AVX-512
// runs (an 8-billion-parameter model fills in seconds). All steps are exact
// integers but one product and one rounding, so both versions give equal bits.
#include "cpu_kernels.h"

#include "backend.h"
#if defined(__x86_64__)
/* GCC 12 warns of its own intrinsics' deliberately undefined operands. */
#if defined(__GNUC__) && !defined(__clang__)
#pragma GCC diagnostic ignored "-Wuninitialized"
#pragma GCC diagnostic ignored "-Wmaybe-uninitialized"
#endif
#include <immintrin.h>
#endif

namespace lathe {
namespace cpu {

#if defined(__x86_64__)
namespace {

#define LATHE_SEED_TARGET __attribute__((target("avx512f,avx512dq,avx512bw,avx512vl")))

LATHE_SEED_TARGET inline __m512i mix(__m512i x)
{
    const __m512i m1 = _mm512_set1_epi64(static_cast<long long>(0xBF58476D1CE4E5B9ull));
    const __m512i m2 = _mm512_set1_epi64(static_cast<long long>(0x94D049BB133111EBull));
    x = _mm512_mullo_epi64(_mm512_xor_si512(x, _mm512_srli_epi64(x, 30)), m1);
    x = _mm512_mullo_epi64(_mm512_xor_si512(x, _mm512_srli_epi64(x, 27)), m2);
    return _mm512_xor_si512(x, _mm512_srli_epi64(x, 31));
}

// Fills n/8*8 values and returns how many that was.
LATHE_SEED_TARGET int32_t seed_avx512(uint64_t key, uint64_t first, int32_t n, float factor, uint16_t *out)
{
    const uint64_t step = 0x9E3779B97F4A7C15ull;
    uint64_t lanes[8];
    for (uint64_t i = 0; i < 8; i++) lanes[i] = key + (first + i) * step + step; /* splitmix adds step once more */
    __m512i state = _mm512_loadu_si512(lanes);
    const __m512i advance = _mm512_set1_epi64(static_cast<long long>(8 * step));
    const __m512i quarter = _mm512_set1_epi64(0xFFFF);
    const __m256 scale = _mm256_set1_ps(factor);
    const __m256i one = _mm256_set1_epi32(1), half = _mm256_set1_epi32(0x7FFF);
    int32_t i = 0;
    for (; i + 8 <= n; i += 8) {
        const __m512i r = mix(state);
        state = _mm512_add_epi64(state, advance);
        __m512i sum = _mm512_add_epi64(_mm512_and_si512(r, quarter),
                                       _mm512_and_si512(_mm512_srli_epi64(r, 16), quarter));
        sum = _mm512_add_epi64(sum, _mm512_and_si512(_mm512_srli_epi64(r, 32), quarter));
        sum = _mm512_add_epi64(sum, _mm512_srli_epi64(r, 48));
        const __m256i small = _mm256_sub_epi32(_mm512_cvtepi64_epi32(sum), _mm256_set1_epi32(131070));
        const __m256i bits = _mm256_castps_si256(_mm256_mul_ps(_mm256_cvtepi32_ps(small), scale));
        const __m256i odd = _mm256_and_si256(_mm256_srli_epi32(bits, 16), one);
        const __m256i rounded = _mm256_srli_epi32(_mm256_add_epi32(bits, _mm256_add_epi32(half, odd)), 16);
        _mm_storeu_si128(reinterpret_cast<__m128i *>(out + i), _mm256_cvtepi32_epi16(rounded));
    }
    return i;
}

#undef LATHE_SEED_TARGET

bool seed_avx512_runs()
{
    return __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512dq") &&
           __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512vl");
}

}  // namespace
#endif

void seed_values(uint64_t key, uint64_t first, int32_t n, float std, uint16_t *out)
{
    int32_t i = 0;
#if defined(__x86_64__)
    if (std != 0.0f && seed_avx512_runs()) i = seed_avx512(key, first, n, std * (1.0f / 37837.2227f), out);
#endif
    for (; i < n; i++) out[i] = lathe_seeded_bf16(key, first + static_cast<uint64_t>(i), std);
}

}  // namespace cpu
}  // namespace lathe
