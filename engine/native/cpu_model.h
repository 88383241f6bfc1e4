// cpu_model.h: the weights of the CPU backend, packed once and shared by every
// session. One block of memory holds all of them:
//   per layer  qkv      tiles of q, k and v heads, K = hidden
//              o        hidden / 16 tiles, K = q_heads * head_dim
//              gate_up  tile 2i is gate rows 16i .., tile 2i+1 the same up rows
//              down     hidden / 16 tiles, K = ffn
//              norms, biases as f32
//   embedding  [vocab][hidden] plain bf16, for look-up
//   head       vocab / 16 tiles; a tied head is packed too: a second copy
// so bytes = 2 * padded parameters, plus 2*vocab*hidden when tied.
#ifndef LATHE_CPU_MODEL_H
#define LATHE_CPU_MODEL_H

#include <cstdint>
#include <memory>
#include <mutex>
#include <vector>

#include "backend.h"
#include "cpu_memory.h"
#include "cpu_pack.h"
#include "memory_size.h"

namespace lathe {
namespace cpu {

// cos and sin of each position: [positions][2][head_dim/2] f32, rope_scale in it.
struct RopeTable {
    int64_t positions = 0;
    int32_t half = 0;
    Buffer<float> values;
    const float *cosines(int64_t position) const { return values.get() + position * 2 * half; }
    const float *sines(int64_t position) const { return cosines(position) + half; }
    uint64_t bytes() const { return static_cast<uint64_t>(positions) * static_cast<uint64_t>(half) * 8; }
};

struct Layer {
    Packed qkv, o, gate_up, down;
    float *norm_attn, *norm_ffn;              // [hidden]
    float *qkv_bias;                          // [(q_heads + 2*kv_heads) * head_dim], NULL without
    float *o_bias, *down_bias;                // [hidden], NULL without
    float *gate_up_bias;                      // [2*ffn]: gate, then up; NULL without
};

// A copy of one gemm role's weights as operator.h shows them to a user's function:
// row-major bf16 [n][k] a layer. It lives as long as a session needs it.
struct RowMajor {
    HugeBlock block;  // empty where the model's own memory serves (a tied head)
    int32_t n = 0, k = 0;
    const uint16_t *first = nullptr;  // layer 0
    const uint16_t *layer(int32_t l) const { return first + static_cast<int64_t>(l) * n * k; }
};

class Model {
public:
    // Takes the memory of every tensor; throws Failure.
    Model(const lathe_model_desc &desc, const float *inv_freq);

    void set_tensor(int32_t role, int32_t layer, int32_t dtype, int32_t rows, int32_t cols, const void *data,
                    uint64_t seed, float std);
    void ready();  // every tensor is there, or Failure
    bool is_ready() const { return ready_; }
    // Row-major copies included, while they live.
    uint64_t weight_bytes() const;

    const lathe_model_desc &desc() const { return desc_; }
    const HeadUnits &head_units() const { return units_; }
    const Layer &layer(int32_t l) const { return layers_[static_cast<size_t>(l)]; }
    const uint16_t *embedding(int32_t token) const
    {
        return embed_ + static_cast<int64_t>(token) * desc_.hidden;
    }
    const float *norm_final() const { return norm_final_; }
    const Packed &head() const { return head_; }

    // The row-major weights of a lathe_gemm_role, unpacked on first use and shared by
    // the sessions that hold them.
    std::shared_ptr<const RowMajor> row_major(int32_t role) const;

    // The table for at least `positions` positions, made once and shared.
    std::shared_ptr<const RopeTable> rope(int64_t positions);

private:
    void lay_out();
    float *vector_of(int32_t role, int32_t layer) const;
    void set_matrix(int32_t role, int32_t layer, const TensorSource &source, int32_t rows);
    // Which matrix a tensor is part of, and where in it.
    struct Place {
        const Packed *matrix;
        Placement placement;
    };
    Place place(int32_t role, int32_t layer, int32_t rows) const;

    lathe_model_desc desc_;
    std::vector<float> inv_freq_;
    HeadUnits units_;
    HugeBlock block_;
    std::vector<Layer> layers_;
    Packed head_;
    uint16_t *embed_ = nullptr;
    float *norm_final_ = nullptr;
    std::vector<uint8_t> given_;  // by tensor_slot
    bool ready_ = false;
    std::mutex rope_mutex_;
    std::shared_ptr<const RopeTable> rope_;
    mutable std::mutex rows_mutex_;
    mutable std::weak_ptr<const RowMajor> rows_[5];  // by lathe_gemm_role
};

}  // namespace cpu
}  // namespace lathe

#endif  // LATHE_CPU_MODEL_H
