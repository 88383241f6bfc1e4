// cpu_kv.h: the KV pool. A page is contiguous:
//   [layers][K, V][kv_heads][page_size slots][head_dim] elements of the KV dtype
// so that a page is copied in one piece, every row of a head is contiguous, and
// each of K and V is expressible by strides.
#ifndef LATHE_CPU_KV_H
#define LATHE_CPU_KV_H

#include <cstdint>

#include "backend.h"
#include "batch_check.h"
#include "cpu_memory.h"
#include "dtype_convert.h"
#include "memory_size.h"

namespace lathe {
namespace cpu {

class KvPool {
public:
    KvPool(const lathe_model_desc &desc, const lathe_session_options &options)
        : kv_heads_(desc.kv_heads), page_size_(options.page_size), pages_(options.pages), dtype_(options.kv_dtype),
          row_bytes_(static_cast<uint64_t>(desc.head_dim) * dtype_bytes(options.kv_dtype)),
          page_bytes_(kv_page_bytes(desc, options.page_size, options.kv_dtype))
    {
        block_.allocate(checked_mul(page_bytes_, static_cast<uint64_t>(pages_), "kv pool"), "kv pool");
        block_.touch();
    }

    int32_t dtype() const { return dtype_; }
    int32_t page_size() const { return page_size_; }
    int32_t pages() const { return pages_; }
    uint64_t row_bytes() const { return row_bytes_; }  // one token, one head, K or V
    uint64_t page_bytes() const { return page_bytes_; }
    uint64_t bytes() const { return block_.bytes(); }

    unsigned char *page(int32_t p) const { return block_.data() + static_cast<uint64_t>(p) * page_bytes_; }
    // Slot 0 of K (0) or V (1) of a head within any page.
    uint64_t head_offset(int32_t layer, int32_t v, int32_t head) const
    {
        const uint64_t heads = (static_cast<uint64_t>(layer) * 2 + static_cast<uint64_t>(v)) *
                                   static_cast<uint64_t>(kv_heads_) +
                               static_cast<uint64_t>(head);
        return heads * static_cast<uint64_t>(page_size_) * row_bytes_;
    }

private:
    int32_t kv_heads_, page_size_, pages_, dtype_;
    uint64_t row_bytes_, page_bytes_;
    HugeBlock block_;
};

}  // namespace cpu
}  // namespace lathe

#endif  // LATHE_CPU_KV_H
