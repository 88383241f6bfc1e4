// reference_model.h: the weights of the reference path. Matrices are kept as
// given: bf16 as bf16 (widened exactly when read), f32 as f32, f16 widened to
// f32. Norms and biases are f32.
//
// The types live in lathe::reference and are handed out as the opaque pointers of
// backend.h: two backends of one binary must not define one struct twice.
#ifndef LATHE_REFERENCE_MODEL_H
#define LATHE_REFERENCE_MODEL_H

#include <atomic>
#include <cstdint>
#include <vector>

#include "backend.h"
#include "memory_size.h"

namespace lathe {
namespace reference {

// A row-major matrix [rows, cols]; one of bf16 and f32 is set.
struct Matrix {
    int32_t rows = 0, cols = 0;
    Buffer<uint16_t> bf16;
    Buffer<float> f32;

    bool given() const { return bf16 != nullptr || f32 != nullptr; }
    uint64_t bytes() const;
    // Row r as float32: a pointer into the matrix, or into scratch[cols].
    const float *row(int64_t r, float *scratch) const;
    // f32 data of a vector, NULL where the model has none.
    const float *vector() const { return f32.get(); }
};

class Model {
public:
    Model(const lathe_model_desc &desc, const float *inv_freq);

    void set_tensor(int32_t role, int32_t layer, int32_t dtype, int32_t rows, int32_t cols, const void *data,
                    uint64_t seed, float std);
    void ready();
    bool is_ready() const { return ready_; }
    uint64_t weight_bytes() const;

    const lathe_model_desc &desc() const { return desc_; }
    const std::vector<float> &inv_freq() const { return inv_freq_; }
    const Matrix &tensor(int32_t role, int32_t layer) const;
    const Matrix &head() const { return tensor(desc_.tied ? LATHE_EMBED : LATHE_HEAD, -1); }

private:
    lathe_model_desc desc_;
    std::vector<float> inv_freq_;   // [head_dim/2]
    std::vector<Matrix> tensors_;   // [tensor_slots]
    std::vector<uint8_t> given_;    // [tensor_slots]
    std::atomic<bool> ready_{false};
};

}  // namespace reference
}  // namespace lathe

#endif  // LATHE_REFERENCE_MODEL_H
