// reference_kv.cc: see reference_kv.h.
#include "reference_kv.h"

#include <cstring>

#include "batch_check.h"
#include "dtype_convert.h"

namespace lathe {
namespace reference {

KvPool::KvPool(const lathe_model_desc &desc, const lathe_session_options &options)
    : dtype_(options.kv_dtype), page_size_(options.page_size), pages_(options.pages), kv_heads_(desc.kv_heads),
      head_dim_(desc.head_dim), page_bytes_(kv_page_bytes(desc, options.page_size, options.kv_dtype)),
      pool_(zeroed<unsigned char>(checked_mul(page_bytes_, static_cast<uint64_t>(options.pages), "kv pool"),
                                  "kv pool"))
{
}

uint64_t KvPool::offset(int32_t layer, Half half, int32_t page, int32_t slot) const
{
    const uint64_t row = static_cast<uint64_t>(kv_heads_) * static_cast<uint64_t>(head_dim_) * dtype_bytes(dtype_);
    const uint64_t rows = (static_cast<uint64_t>(layer) * 2 + half) * static_cast<uint64_t>(page_size_) +
                          static_cast<uint64_t>(slot);
    return page_bytes_ * static_cast<uint64_t>(page) + rows * row;
}

void KvPool::put(int32_t layer, Half half, int32_t page, int32_t slot, const float *values)
{
    const uint64_t n = static_cast<uint64_t>(kv_heads_) * static_cast<uint64_t>(head_dim_);
    unsigned char *at = pool_.get() + offset(layer, half, page, slot);
    if (dtype_ == LATHE_F32)
        std::memcpy(at, values, n * sizeof(float));
    else
        narrow_bf16(values, n, reinterpret_cast<uint16_t *>(at));
}

const float *KvPool::get(int32_t layer, Half half, int32_t page, int32_t slot, int32_t head,
                         float *scratch) const
{
    const uint64_t first = static_cast<uint64_t>(head) * static_cast<uint64_t>(head_dim_);
    const unsigned char *at = pool_.get() + offset(layer, half, page, slot) + first * dtype_bytes(dtype_);
    if (dtype_ == LATHE_F32) return reinterpret_cast<const float *>(at);
    const uint16_t *src = reinterpret_cast<const uint16_t *>(at);
    for (int32_t i = 0; i < head_dim_; i++) scratch[i] = lathe_f32_from_bf16(src[i]);
    return scratch;
}

}  // namespace reference
}  // namespace lathe
