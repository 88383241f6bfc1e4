// reference_session.h: a session of the reference path: the KV pool, the
// activations of one step, and the forward pass. A step runs to its end within
// submit; wait hands out what it chose.
#ifndef LATHE_REFERENCE_SESSION_H
#define LATHE_REFERENCE_SESSION_H

#include <cstdint>
#include <vector>

#include "backend.h"
#include "batch_check.h"
#include "memory_size.h"
#include "reference_kv.h"
#include "reference_model.h"
#include "reference_threads.h"
#include "session_results.h"

namespace lathe {
namespace reference {

class Session {
public:
    Session(const Model &model, const lathe_session_options &options);

    void submit(const BatchView &batch);
    void wait(int32_t *tokens, int32_t cap, const int32_t *accepted, lathe_step_info *info);
    void logits(int32_t first, int32_t n, float *out) const;
    void residual(int32_t stage, float *out) const;
    void copy_pages(int32_t direction, int32_t n, const int32_t *from, const int32_t *to, void *host,
                    uint64_t host_bytes);
    void memory(lathe_session_memory *out) const;

private:
    // reference_forward.cc: the forward pass over rows_ rows.
    void forward(const BatchView &batch);
    void embed();
    void attention_block(const BatchView &batch, int32_t layer);
    void append_kv(const BatchView &batch, int32_t layer);
    void attend(const BatchView &batch, int32_t layer);
    void attend_head(const BatchView &batch, int32_t layer, int32_t row, int32_t head, int32_t thread);
    void ffn_block(int32_t layer);
    void final_norm_and_head(const BatchView &batch);
    void normalise(const Matrix &weight, const float *in, int32_t rows, float *out);
    void multiply(const Matrix &weight, const Matrix *bias, const float *in, int32_t rows, float *out);
    void add(const float *delta, float *to, int64_t n);
    void keep(int32_t stage, const float *rows);
    void choose(const BatchView &batch);

    const Matrix *bias(int32_t role, int32_t layer) const;
    float *scratch(int32_t thread) { return scratch_.get() + scratch_stride_ * static_cast<uint64_t>(thread); }
    float *scores(int32_t thread) { return scores_.get() + scores_stride_ * static_cast<uint64_t>(thread); }
    Buffer<float> floats(uint64_t rows, uint64_t columns, const char *what);

    const Model &model_;
    const lathe_model_desc &desc_;
    BatchChecker checker_;
    KvPool kv_;
    Threads threads_;
    StepResults results_;
    int32_t max_logits_;
    uint64_t workspace_bytes_ = 0;

    // Activations, float32 [max_rows, ...].
    Buffer<float> x_, normed_;          // [hidden]: residual stream, its norm (or a block's output)
    Buffer<float> q_, k_, v_, attended_;// [q_heads*head_dim], [kv_heads*head_dim] twice, [q_heads*head_dim]
    Buffer<float> gate_, up_;           // [ffn]
    Buffer<float> cosines_, sines_;     // [head_dim/2]
    Buffer<float> wanted_;              // [max_logits, hidden]: final norm of the wanted rows
    Buffer<float> logits_;              // [max_logits, vocab]
    uint64_t scratch_stride_, scores_stride_;
    Buffer<float> scratch_;             // [threads, widest row]
    Buffer<float> scores_;              // [threads, positions]
    std::vector<int32_t> tokens_in_;    // [max_rows], -1 replaced
    int32_t rows_ = 0, n_want_ = 0;     // of the step that runs
};

}  // namespace reference
}  // namespace lathe

#endif  // LATHE_REFERENCE_SESSION_H
