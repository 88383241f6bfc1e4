// cpu_overrides.h: what a session with replaced operators has beside the fused path:
// the slots, row-major weights where a slot's gemm needs them, and row-major
// activations between the operators of a part that runs unfused.
//
// A step has five parts, each fused by default:
//   qkv      norm_qkv_rope_append  or  rmsnorm, gemm.qkv, rope_append
//   attn     attention             or  attn_decode
//   o        o_add                 or  gemm.o, then our addition
//   gate_up  norm_gate_up_silu     or  rmsnorm, gemm.gate_up, silu_mul
//   down     down_add              or  gemm.down, then our addition
//   head     norm_head_argmax      or  rmsnorm, gemm.head, then our choice
// A replaced operator makes the parts that contain it run unfused. In these the
// operators that nobody replaced are ours in the same slots, but for gemm: that one
// keeps the packed weights and needs no second copy. attn_decode replaces the rows
// of sequences that have one row in the step; the rows of longer blocks (prefill
// chunks) stay with our own attention.
//
// Types: residual stream, q, k, v, gate and up, logits f32; what enters a product in
// the path's activation type (bf16 on avx512bf16, f32 on portable); weights bf16;
// norms, biases, cos and sin f32; K and V in the session's type.
#ifndef LATHE_CPU_OVERRIDES_H
#define LATHE_CPU_OVERRIDES_H

#include <cstdint>
#include <memory>
#include <vector>

#include "cpu_model.h"
#include "cpu_slot.h"
#include "operator_names.h"

namespace lathe {
namespace cpu {

struct StepContext;

// Rows of activations of the path's type.
struct Rows {
    Buffer<unsigned char> data;
    int32_t columns = 0;
};

// Decode rows that one call of attn_decode takes: rows first .. first+n-1 of
// sequences sequence, sequence+1, ...
struct DecodeRun {
    int32_t first, sequence, n;
};

class Overrides {
public:
    // The slots of every override, and ours beside them. Throws Failure.
    Overrides(const Kernels &kernels, const lathe_override *list, int32_t n, int32_t parts, bool deterministic);

    // Takes the weights and the activations that the slots need, and asks _supports
    // and _workspace. c has its buffers already.
    void prepare(Model &model, const lathe_session_options &options, StepContext &c, int64_t max_positions);

    uint64_t bytes() const { return bytes_; }

    // The slot of an operator, NULL where the packed or fused path serves.
    const Slot *slot(int32_t op) const { return slots_[op].get(); }
    bool unfused(int32_t fused) const { return (unfused_ & operator_bit(fused)) != 0; }
    const RowMajor *weights(int32_t role) const { return weights_[role].get(); }

    // Sorts the rows of a step into decode runs and the rest, where attn_decode is
    // replaced. Before the threads start.
    void sort_rows(StepContext &c);

    Rows normed;      // [max_rows][hidden]
    Rows attended;    // [max_rows][q_heads*head_dim]
    Rows hidden;      // [max_rows][ffn]
    Rows normed_wanted;     // [max_logits][hidden]
    Buffer<float> qkv;      // [max_rows][(q_heads + 2*kv_heads)*head_dim]
    Buffer<float> gate_up;  // [max_rows][2*ffn]
    Buffer<float> added;    // [max_rows][hidden]: what is added to the residual stream
    Buffer<float> wanted;   // [max_logits][hidden]: residual rows that want logits
    std::vector<int32_t> seq_len;  // [max_rows]: of decode rows
    std::vector<DecodeRun> runs;
    bool others = false;           // rows that attn_decode does not take
    std::vector<int32_t> token;    // [max_logits]
    std::vector<float> value;      // [max_logits]
    int32_t max_positions = 0;
    SlotFailure failure;

private:
    void add_slot(int32_t op, const lathe_override &override);
    void take_weights(Model &model);
    void take_rows(const lathe_session_options &options, StepContext &c);
    Rows rows(uint64_t n, int32_t columns);
    Buffer<float> floats(uint64_t n, int64_t columns);
    void ask(const lathe_session_options &options, StepContext &c);

    const Kernels &kernels_;
    int32_t parts_;
    bool deterministic_;
    std::unique_ptr<Slot> slots_[LATHE_OPS];
    uint32_t unfused_ = 0;  // fused operators whose parts run unfused
    std::shared_ptr<const RowMajor> weights_[5];
    std::vector<uint8_t> decode_;  // [max_rows]
    uint64_t bytes_ = 0;
};

// ---- The arguments of each operator in a step of this context (cpu_arguments.cc).
lathe_rmsnorm_args rmsnorm_args(const StepContext &c, int32_t rows, const float *x, const float *weight, const Rows &out);
// op is a gemm's or o_add's or down_add's number.
lathe_gemm_args gemm_args(const StepContext &c, int32_t op, int32_t layer);
lathe_rope_append_args rope_append_args(const StepContext &c, int32_t layer);
lathe_silu_mul_args silu_mul_args(const StepContext &c);
lathe_attn_decode_args attn_decode_args(const StepContext &c, int32_t layer, const DecodeRun &run);
lathe_norm_qkv_rope_append_args norm_qkv_rope_append_args(const StepContext &c, int32_t layer);
lathe_norm_gate_up_silu_args norm_gate_up_silu_args(const StepContext &c, int32_t layer);
lathe_norm_head_argmax_args norm_head_argmax_args(const StepContext &c, const float *x, int64_t x_stride);

}  // namespace cpu
}  // namespace lathe

#endif  // LATHE_CPU_OVERRIDES_H
