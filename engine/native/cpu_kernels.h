// cpu_kernels.h: what one numeric path of the CPU backend must provide. A path
// is one file that fills one Kernels table; everything else is shared. Bits may
// differ between paths, never within one: each function's result for a row
// depends on that row alone, at every batch size.
#ifndef LATHE_CPU_KERNELS_H
#define LATHE_CPU_KERNELS_H

#include <cstdint>

namespace lathe {
namespace cpu {

// ---- Panels: the inputs of a matrix product --------------------------------
// rows x K activations cut into column blocks of nearly equal width <= max_cols,
// each [K/2][width] pairs of inputs, so that a kernel broadcasts from one cache
// line at a time. A pair has pair_bytes (4: two bf16; 8: two f32). Odd K is
// padded with zero.
struct PanelShape {
    int32_t rows, kpairs, max_cols, pair_bytes;

    int32_t blocks() const { return (rows + max_cols - 1) / max_cols; }
    int32_t start(int32_t block) const
    {
        return static_cast<int32_t>(static_cast<int64_t>(block) * rows / blocks());
    }
    int32_t width(int32_t block) const { return start(block + 1) - start(block); }
    int32_t block_of(int32_t row) const
    {
        return static_cast<int32_t>((static_cast<int64_t>(row + 1) * blocks() - 1) / rows);
    }
    // Byte offset of a block.
    uint64_t offset(int32_t block) const
    {
        return static_cast<uint64_t>(start(block)) * static_cast<uint64_t>(kpairs) * static_cast<uint64_t>(pair_bytes);
    }
    uint64_t bytes() const
    {
        return static_cast<uint64_t>(rows) * static_cast<uint64_t>(kpairs) * static_cast<uint64_t>(pair_bytes);
    }
};

// Where one row's pairs lie: pair p at base + p*stride bytes.
struct PanelRow {
    unsigned char *base;
    uint64_t stride;
};
inline PanelRow panel_row(void *panel, const PanelShape &shape, int32_t row)
{
    const int32_t block = shape.block_of(row);
    const uint64_t column = static_cast<uint64_t>(row - shape.start(block));
    const uint64_t pair = static_cast<uint64_t>(shape.pair_bytes);
    return {static_cast<unsigned char *>(panel) + shape.offset(block) + column * pair,
            static_cast<uint64_t>(shape.width(block)) * pair};
}

// out[c*ld + 16*t + r] = sum over k of tile t's row r times column c's input k.
struct TileArgs {
    const uint16_t *w;  // `tiles` packed tiles
    int32_t tiles, kpairs;
    const void *x;  // one column block [kpairs][cols]
    int32_t cols;   // 1 .. max_cols
    float *out;
    int64_t ld;
};

// Row-major products, for operators that are called by operator.h's rules:
// out[c*ld + r] = sum over k of w[r*w_stride + k] * a[c*a_stride + k], in one
// order whatever the rows and columns. Strides are in elements.
struct RowsArgs {
    const void *w;
    int64_t w_stride;
    int32_t rows;
    const void *a;
    int64_t a_stride;
    int32_t cols, k;
    float *out;
    int64_t ld;
};

// Attention of one row's `group` query heads over up to 64 keys of one kv head.
const int32_t kKeys = 64;
struct PartialArgs {
    const float *q;  // [group][head_dim]
    int32_t group, head_dim;
    float scale;
    int32_t keys;           // 1 .. kKeys
    const void *const *k;   // [keys] rows of head_dim elements of the KV dtype
    const void *const *v;   // [keys]
    float *weights;         // [group][kKeys] scratch: exp(score - max)
    float *max, *sum;       // [group]
    float *out;             // [group][head_dim]: sum of weight * v, not normalised
};

struct Kernels {
    const char *name;
    int32_t max_cols;    // columns of one call of tiles
    int32_t pair_bytes;  // of a panel
    int32_t activation;  // lathe_dtype of what enters a product
    bool (*runs_here)();

    void (*tiles)(const TileArgs &);
    // Writes x[0..n) as inputs k0 .. k0+n-1 (k0 even; an odd n ends the row).
    void (*store)(const PanelRow &, int32_t k0, int32_t n, const float *x);
    // Row-major products of weights and inputs: bf16 and bf16, bf16 and f32, f32 and f32.
    void (*rows_bf16)(const RowsArgs &);
    void (*rows_mixed)(const RowsArgs &);
    void (*rows_f32)(const RowsArgs &);
    // Rounds n values to bf16 as store does.
    void (*narrow)(const float *x, int32_t n, uint16_t *out);
    // out = x / sqrt(mean(x^2) + eps) * gain
    void (*norm)(const float *x, const float *gain, float eps, int32_t n, float *out);
    // gate[i] = silu(gate[i]) * up[i]
    void (*silu_mul)(float *gate, const float *up, int32_t n);
    void (*partial_f32)(const PartialArgs &);
    void (*partial_bf16)(const PartialArgs &);
    // Merges a partial into the running maximum, sum and output of one head. A NaN
    // in either stays.
    void (*merge)(float *max, float *sum, float *out, float part_max, float part_sum, const float *part,
                  int32_t head_dim);
};

// The paths of this build, best first; NULL-terminated.
const Kernels *const *kernel_paths();
// The path called `isa` ("": the best that runs). Refuses (LATHE_E_UNSUPPORTED)
// what this build lacks or this machine cannot run, naming those it can.
const Kernels *find_kernels(const char *isa);

// Values first .. first+n-1 of a seeded tensor (backend.h's generator) by the
// fastest code that runs here; the same bits on every machine.
void seed_values(uint64_t key, uint64_t first, int32_t n, float std, uint16_t *out);

// The tables, one a file. avx512bf16 is NULL where the compiler cannot make it.
const Kernels *portable_kernels();
const Kernels *avx512bf16_kernels();

}  // namespace cpu
}  // namespace lathe

#endif  // LATHE_CPU_KERNELS_H
