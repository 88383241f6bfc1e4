// cpu_pack.h: how weights lie in memory. A matrix [N, K] is cut into tiles of 16
// output rows; a tile is [K/2][16 rows][2] bf16, so one 64-byte line holds two
// inputs of 16 rows, a product streams its tiles from first byte to last, and
// the 16 results need no horizontal sum. N is padded to 16 and K to 2 with
// zeros: N_pad*K_pad*2 bytes. Fused matrices permute rows by whole tiles.
#ifndef LATHE_CPU_PACK_H
#define LATHE_CPU_PACK_H

#include <cstdint>

#include "backend.h"

namespace lathe {
namespace cpu {

const int32_t kTile = 16;

// A packed matrix inside the model's block.
struct Packed {
    int32_t tiles = 0;   // 16 output rows each
    int32_t kpairs = 0;  // inputs / 2, rounded up
    uint16_t *data = nullptr;
    uint64_t tile_elems() const { return static_cast<uint64_t>(kpairs) * 32; }
    const uint16_t *tile(int64_t t) const { return data + static_cast<uint64_t>(t) * tile_elems(); }
};

// Bytes of a packed matrix of `tiles` tiles and K inputs.
uint64_t packed_bytes(int64_t tiles, int32_t k, const char *what);

// A row-major tensor to pack: values given (data) or seeded (data NULL).
struct TensorSource {
    const void *data = nullptr;
    int32_t dtype = LATHE_BF16;
    int32_t cols = 0;
    uint64_t key = 0;
    float std = 0;

    // Values k0 .. k0+n-1 of one row as bf16 (f16 and f32 rounded).
    void read(int64_t row, int32_t k0, int32_t n, uint16_t *out) const;
};

// How RoPE's row pairs (i, i + head_dim/2) share a unit of whole tiles, so that
// one thread holds both. Half a multiple of 16: a unit is two tiles, dims
// d .. d+15 and d+half .. d+half+15. Else a unit is a whole head, padded.
struct HeadUnits {
    bool paired;
    int32_t head_dim, half;
    int32_t tiles;     // a unit
    int32_t per_head;  // units a head
    int32_t width;     // pairs a unit
    int32_t high;      // where in the unit's rows the second halves begin
    explicit HeadUnits(int32_t head_dim);
    HeadUnits() : HeadUnits(2) {}
};

// Which whole tiles of a fused matrix one tensor fills.
struct Placement {
    enum Kind { kPlain, kGate, kUp, kHeads };
    Kind kind = kPlain;
    int32_t rows = 0;       // of the tensor
    int32_t first_unit = 0; // kHeads: where the tensor's units begin
    HeadUnits units;        // kHeads

    int64_t tiles() const;  // how many the tensor fills
    // Tile i of the tensor: its place in the matrix, and the source rows
    // row .. row+n-1 of its first n lanes (the rest is padding).
    struct At {
        int64_t tile, row;
        int32_t n;
    };
    At at(int64_t i) const;
};

// Packs a whole tensor with up to `threads` threads of its own.
void pack(const Packed &matrix, const Placement &place, const TensorSource &source, int32_t threads);

// The inverse of pack: writes the tensor's rows x cols values as plain row-major bf16.
void unpack(const Packed &matrix, const Placement &place, int32_t cols, uint16_t *out, int32_t threads);

// Fills rows x cols plain row-major bf16.
void fill_plain(uint16_t *out, int64_t rows, const TensorSource &source, int32_t threads);

// Value [row lane of a tile, k] of a packed matrix: the inverse of packing.
inline uint16_t packed_value(const Packed &m, int64_t tile, int32_t lane, int32_t k)
{
    return m.tile(tile)[static_cast<uint64_t>(k / 2) * 32 + static_cast<uint64_t>(lane) * 2 +
                        static_cast<uint64_t>(k % 2)];
}

}  // namespace cpu
}  // namespace lathe

#endif  // LATHE_CPU_PACK_H
