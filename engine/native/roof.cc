// roof.cc: see roof.h. Twelve independent accumulators hide the latency of a
// multiply-add (4 to 8 cycles) and fit the 16 registers of the plain path.
#include "roof.h"

#include <cstring>

#include "cpu_avx512.h"
#include "cpu_kernels.h"
#include "cpu_vec.h"

namespace lathe {
namespace cpu {

namespace {

const int kChains = 12;
const uint64_t kAheadBytes = 2048; /* as the products fetch ahead */

bool runs_here(const char *path)
{
    for (const Kernels *const *p = kernel_paths(); *p != nullptr; p++)
        if (std::strcmp((*p)->name, path) == 0) return (*p)->runs_here();
    return false;
}

uint64_t read_plain(const unsigned char *p, uint64_t bytes)
{
    typedef uint64_t U64x2 __attribute__((vector_size(16)));
    U64x2 sum[8];
    for (int i = 0; i < 8; i++) sum[i] = U64x2{0, 0};
    for (uint64_t at = 0; at < bytes; at += 128) {
        __builtin_prefetch(p + at + kAheadBytes);
        __builtin_prefetch(p + at + kAheadBytes + 64);
#pragma GCC unroll 8
        for (int i = 0; i < 8; i++) {
            U64x2 v;
            std::memcpy(&v, p + at + 16 * i, sizeof v);
            sum[i] += v;
        }
    }
    uint64_t total = 0;
    for (int i = 0; i < 8; i++) total += sum[i][0] + sum[i][1];
    return total;
}

// sum = sum*b + a: the product cannot be taken out of the loop, and the sum stays
// below 2a.
int64_t multiply_plain(int64_t rounds, float *sink)
{
    F4 sum[kChains], a[kChains];
    for (int i = 0; i < kChains; i++) {
        sum[i] = splat(0);
        a[i] = splat(*sink + 0.001f * static_cast<float>(i));
    }
    const F4 b = splat(0.5f);
    for (int64_t r = 0; r < rounds; r++) {
#pragma GCC unroll 12
        for (int i = 0; i < kChains; i++) sum[i] = sum[i] * b + a[i];
    }
    float total = 0;
    for (int i = 0; i < kChains; i++) total += sum[i][0] + sum[i][1] + sum[i][2] + sum[i][3];
    *sink = total;
    return rounds * kChains * 4 * 2;
}

}  // namespace
}  // namespace cpu
}  // namespace lathe

#if defined(LATHE_HAS_AVX512BF16)
LATHE_AVX512_BEGIN
namespace lathe {
namespace cpu {
namespace {

uint64_t read_avx512(const unsigned char *p, uint64_t bytes)
{
    __m512i sum[8];
#pragma GCC unroll 8
    for (int i = 0; i < 8; i++) sum[i] = _mm512_setzero_si512();
    for (uint64_t at = 0; at < bytes; at += 512) {
#pragma GCC unroll 8
        for (int i = 0; i < 8; i++) {
            _mm_prefetch(reinterpret_cast<const char *>(p + at + kAheadBytes + 64 * i), _MM_HINT_T0);
            sum[i] = _mm512_add_epi64(sum[i], _mm512_load_si512(p + at + 64 * i));
        }
    }
    uint64_t total = 0;
    for (int i = 0; i < 8; i++) total += static_cast<uint64_t>(_mm512_reduce_add_epi64(sum[i]));
    return total;
}

int64_t multiply_avx512bf16(int64_t rounds, float *sink)
{
    __m512 sum[kChains];
#pragma GCC unroll 12
    for (int i = 0; i < kChains; i++) sum[i] = _mm512_setzero_ps();
    uint32_t factor;
    std::memcpy(&factor, sink, sizeof factor);
    const __m512i a = _mm512_set1_epi32(static_cast<int>(factor)), b = _mm512_set1_epi32(0x00000001);
    for (int64_t r = 0; r < rounds; r++) {
#pragma GCC unroll 12
        for (int i = 0; i < kChains; i++) sum[i] = dot_pairs(sum[i], a, b);
    }
    float total = 0;
    for (int i = 0; i < kChains; i++) total += _mm512_reduce_add_ps(sum[i]);
    *sink = total;
    return rounds * kChains * 16 * 4;
}

}  // namespace
}  // namespace cpu
}  // namespace lathe
LATHE_AVX512_END
#endif

using namespace lathe::cpu;

uint64_t lathe_roof_read(const void *p, uint64_t bytes)
{
    const unsigned char *at = static_cast<const unsigned char *>(p);
#if defined(LATHE_HAS_AVX512BF16)
    if (runs_here("avx512bf16")) return read_avx512(at, bytes);
#endif
    return read_plain(at, bytes);
}

int64_t lathe_roof_multiply(const char *path, int64_t rounds, float *sink)
{
    if (!runs_here(path)) return -1;
#if defined(LATHE_HAS_AVX512BF16)
    if (std::strcmp(path, "avx512bf16") == 0) return multiply_avx512bf16(rounds, sink);
#endif
    if (std::strcmp(path, "portable") == 0) return multiply_plain(rounds, sink);
    return -1;
}
