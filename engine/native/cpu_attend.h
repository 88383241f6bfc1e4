// cpu_attend.h: attention of one row's group of query heads over a paged cache that
// strides describe: what the fused path and the operator attn_decode share.
#ifndef LATHE_CPU_ATTEND_H
#define LATHE_CPU_ATTEND_H

#include <algorithm>
#include <cstdint>

#include "cpu_kernels.h"

namespace lathe {
namespace cpu {

// Where the K and V rows of one kv head of one sequence lie; strides in bytes.
struct PagedHead {
    const unsigned char *k, *v;  // slot 0 of page 0
    int64_t k_page, k_slot, v_page, v_slot;
    const int32_t *pages;  // page indices of the sequence
    int32_t page_size;

    // Addresses of the rows of positions first .. first+n-1.
    void find(int32_t first, int32_t n, const void **k_rows, const void **v_rows) const
    {
        for (int32_t i = 0; i < n;) {
            const int32_t position = first + i, slot = position % page_size;
            const int64_t page = pages[position / page_size];
            const unsigned char *k_at = k + page * k_page + slot * k_slot, *v_at = v + page * v_page + slot * v_slot;
            const int32_t run = std::min(n - i, page_size - slot);
            for (int32_t j = 0; j < run; j++, i++, k_at += k_slot, v_at += v_slot) {
                k_rows[i] = k_at;
                v_rows[i] = v_at;
            }
        }
    }
};

// What one thread needs for a group of heads.
struct AttendScratch {
    float *weights;    // [group][kKeys]
    float *max, *sum;  // [2*group]: running, then partial
    float *part, *out; // [group][head_dim]
    static uint64_t floats(int32_t group, int32_t head_dim)
    {
        return static_cast<uint64_t>(group) * (kKeys + 4 + 2 * static_cast<uint64_t>(head_dim));
    }
};

// out = softmax(q K^T * scale) V over keys 0 .. keys-1 for the group's heads,
// q [group][head_dim]; max and sum keep the softmax's largest score and sum of weights.
// Keys are taken 64 at a time by position, whatever the page size, and the partial
// results merged in ascending order. keys >= 1.
void attend_group(const Kernels &kernels, int32_t kv_dtype, const float *q, int32_t group, int32_t head_dim,
                  float scale, int32_t keys, const PagedHead &at, const AttendScratch &s);

}  // namespace cpu
}  // namespace lathe

#endif  // LATHE_CPU_ATTEND_H
