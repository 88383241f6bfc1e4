// cpu_phases.h: one step as phases over a context. Every thread of the pool runs
// every phase on its own static share and meets the others between phases, five
// times a layer:
//   qkv        norm, q k v products, RoPE, append to the cache
//   attention  one (row, kv head) at a time
//   o          product, add to the residual
//   gate_up    norm, gate and up products, silu * mul
//   down       product, add to the residual
// then the final norm and the head over the wanted rows. Bytes moved: every
// weight once a step for up to max_cols rows, each K and V row once a kv head.
#ifndef LATHE_CPU_PHASES_H
#define LATHE_CPU_PHASES_H

#include <cstdint>
#include <vector>

#include "batch_check.h"
#include "cpu_kernels.h"
#include "cpu_kv.h"
#include "cpu_model.h"
#include "cpu_pool.h"
#include "cpu_vec.h"
#include "memory_size.h"

namespace lathe {
namespace cpu {

// One thread's scratch.
struct Scratch {
    Buffer<float> tile_out;         // [max_cols][run_tiles*16]
    Buffer<float> normed;           // [hidden]
    Buffer<unsigned char> panel;    // panel of kOwnRows rows, K = hidden
    Buffer<float> weights;          // [group][kKeys]
    Buffer<float> max, sum;         // [2*group]: running, then partial
    Buffer<float> part, out;        // [group][head_dim]
    std::vector<Best> best;         // [max_logits]
};

// Up to this many rows every thread normalises all rows for itself instead of
// sharing the work and meeting once more.
const int32_t kOwnRows = 2;
// Tiles of one call of the tile kernel while all rows fit one column block.
const int32_t kRunTiles = 16;

class Overrides;

// Everything a step touches; the session owns it.
struct StepContext {
    const Model *model = nullptr;
    const Kernels *kernels = nullptr;
    const RopeTable *rope = nullptr;
    KvPool *kv = nullptr;
    Pool *pool = nullptr;
    int32_t run_tiles = 0;        // capacity of tile_out in tiles
    std::vector<Scratch> scratch;  // [threads]

    Buffer<float> x;              // [max_rows][hidden] residual stream
    Buffer<float> q;              // [max_rows][q_heads*head_dim] after RoPE
    Buffer<unsigned char> normed_panel;    // K = hidden
    Buffer<unsigned char> attended_panel;  // K = q_heads*head_dim
    Buffer<unsigned char> hidden_panel;    // K = ffn
    Buffer<float> logits;         // [max_logits][vocab]

    /* Of a session with replaced operators (cpu_overrides.h), else NULL. */
    Overrides *overrides = nullptr;
    unsigned char *attended = nullptr;  // row-major attention outputs instead of the panel
    unsigned char *hidden = nullptr;    // row-major silu * mul instead of the panel
    const float *q_base = nullptr;      // of row 0, rows q_stride apart
    int64_t q_stride = 0;
    const uint8_t *skip = nullptr;      // [rows] of skips

    BatchView batch{};
    const int32_t *tokens = nullptr;  // [rows], -1 resolved
    float *residual = nullptr;        // [layers+2][rows][hidden] when kept
    int64_t *op_ns = nullptr;         // [LATHE_OPS] when timed

    int32_t rows() const { return batch.rows; }
    PanelShape panel(int32_t rows, int32_t k) const
    {
        return {rows, k / 2 + k % 2, kernels->max_cols, kernels->pair_bytes};
    }
    const float *q_row(int32_t r) const { return q_base + r * q_stride; }
    // Writes x[0..n) as columns k0 .. of a row of row-major activations.
    void store_rows(unsigned char *rows, int32_t columns, int64_t row, int32_t k0, int32_t n, const float *x) const;
    // Rows whose attention a replaced attn_decode computes.
    bool skips(int32_t r) const { return skip != nullptr && skip[r] != 0; }
    float *row(int32_t r) const { return x.get() + static_cast<int64_t>(r) * model->desc().hidden; }
};

void phase_embed(StepContext &, int32_t thread);
void phase_qkv(StepContext &, int32_t layer, int32_t thread);
void phase_attention(StepContext &, int32_t layer, int32_t thread);
void phase_o(StepContext &, int32_t layer, int32_t thread);
void phase_gate_up(StepContext &, int32_t layer, int32_t thread);
void phase_down(StepContext &, int32_t layer, int32_t thread);
void phase_head(StepContext &, int32_t thread);
// Parts of the phases above on a panel that is there already: adds a product to the
// residual stream; writes the logits and takes this thread's best of them.
void add_product(StepContext &, int32_t thread, const Packed &, const void *panel, int32_t k, const float *bias);
void head_product(StepContext &, int32_t thread, const void *panel);
// No logit seen yet by this thread.
void clear_best(StepContext &, int32_t thread);
// Copies this thread's rows of the residual stream (stage 0 .. layers), or their
// final norm (layers+1), where they are kept.
void keep_residual(StepContext &, int32_t stage, int32_t thread);

// The whole step on one thread; every thread of the pool calls it.
void run_step(StepContext &, int32_t thread);

}  // namespace cpu
}  // namespace lathe

#endif  // LATHE_CPU_PHASES_H
