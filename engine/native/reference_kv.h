// reference_kv.h: the paged key/value pool of the reference path. A page is
// contiguous: [layer][K, V][slot][kv_head][dim], in f32 or bf16, so that copying
// a page is one memcpy.
#ifndef LATHE_REFERENCE_KV_H
#define LATHE_REFERENCE_KV_H

#include <cstdint>

#include "backend.h"
#include "memory_size.h"

namespace lathe {
namespace reference {

class KvPool {
public:
    KvPool(const lathe_model_desc &desc, const lathe_session_options &options);

    uint64_t page_bytes() const { return page_bytes_; }
    uint64_t bytes() const { return page_bytes_ * static_cast<uint64_t>(pages_); }
    int32_t page_size() const { return page_size_; }
    int32_t pages() const { return pages_; }
    unsigned char *page(int32_t index) { return pool_.get() + page_bytes_ * static_cast<uint64_t>(index); }

    enum Half { kKeys = 0, kValues = 1 };

    // Stores all heads of one position: kv_heads*head_dim values.
    void put(int32_t layer, Half half, int32_t page, int32_t slot, const float *values);
    // One head of one position as float32: a pointer into the pool, or into
    // scratch[head_dim].
    const float *get(int32_t layer, Half half, int32_t page, int32_t slot, int32_t head, float *scratch) const;

private:
    uint64_t offset(int32_t layer, Half half, int32_t page, int32_t slot) const;

    int32_t dtype_, page_size_, pages_, kv_heads_, head_dim_;
    uint64_t page_bytes_;
    Buffer<unsigned char> pool_;
};

}  // namespace reference
}  // namespace lathe

#endif  // LATHE_REFERENCE_KV_H
