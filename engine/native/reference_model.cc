// reference_model.cc: see reference_model.h.
#include "reference_model.h"

#include <cstring>
#include <utility>

#include "dtype_convert.h"
#include "model_check.h"
#include "native_error.h"

namespace lathe {
namespace reference {

uint64_t Matrix::bytes() const
{
    const uint64_t n = static_cast<uint64_t>(rows) * static_cast<uint64_t>(cols);
    return (bf16 ? n * 2 : 0) + (f32 ? n * 4 : 0);
}

const float *Matrix::row(int64_t r, float *scratch) const
{
    if (f32) return f32.get() + r * cols;
    const uint16_t *src = bf16.get() + r * cols;
    for (int32_t i = 0; i < cols; i++) scratch[i] = lathe_f32_from_bf16(src[i]);
    return scratch;
}

Model::Model(const lathe_model_desc &desc, const float *inv_freq) : desc_(desc)
{
    inv_freq_.assign(inv_freq, inv_freq + desc.head_dim / 2);
    tensors_.resize(tensor_slots(desc));
    given_.assign(tensor_slots(desc), 0);
}

void Model::set_tensor(int32_t role, int32_t layer, int32_t dtype, int32_t rows, int32_t cols, const void *data,
                       uint64_t seed, float std)
{
    if (ready_) fail(LATHE_E_STATE, "tensor %s: the model is ready, its weights are fixed", role_name(role));
    check_tensor(desc_, role, layer, dtype, rows, cols, data, std);
    const uint64_t n = static_cast<uint64_t>(rows) * static_cast<uint64_t>(cols);
    const bool seeded = data == nullptr;
    Matrix m;
    m.rows = rows;
    m.cols = cols;
    if (seeded || dtype == LATHE_BF16) {
        m.bf16 = zeroed<uint16_t>(n, role_name(role));
        if (seeded)
            seed_bf16(seed, role, layer, std, 0, n, m.bf16.get());
        else
            std::memcpy(m.bf16.get(), data, n * 2);
    } else {
        m.f32 = zeroed<float>(n, role_name(role));
        widen(dtype, data, n, m.f32.get());
    }
    if (role_is_vector(role) && m.bf16) {
        m.f32 = zeroed<float>(n, role_name(role));
        widen(LATHE_BF16, m.bf16.get(), n, m.f32.get());
        m.bf16.reset();
    }
    const uint64_t slot = tensor_slot(desc_, role, layer);
    tensors_[slot] = std::move(m);
    given_[slot] = 1;
}

void Model::ready()
{
    check_complete(desc_, given_);
    ready_ = true;
}

uint64_t Model::weight_bytes() const
{
    uint64_t sum = 0;
    for (const Matrix &m : tensors_) sum += m.bytes();
    return sum;
}

const Matrix &Model::tensor(int32_t role, int32_t layer) const
{
    return tensors_[tensor_slot(desc_, role, layer)];
}

}  // namespace reference
}  // namespace lathe
