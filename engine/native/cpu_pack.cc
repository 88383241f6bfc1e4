// cpu_pack.cc: see cpu_pack.h. Packing goes by chunks of 16 rows x 512 inputs
// (16 KB), so that no second copy of a tensor ever exists.
#include "cpu_pack.h"

#include <algorithm>
#include <cstring>

#include "cpu_kernels.h"
#include "cpu_parallel.h"
#include "dtype_convert.h"
#include "memory_size.h"

namespace lathe {
namespace cpu {

namespace {

const int32_t kChunk = 512;

// rows[16][chunk] -> tile lines; n values of each of the first `lanes` rows.
void interleave(const uint16_t (*rows)[kChunk], int32_t lanes, int32_t n, uint16_t *out)
{
    for (int32_t p = 0; p < (n + 1) / 2; p++) {
        uint16_t line[32] = {0};
        for (int32_t r = 0; r < lanes; r++) {
            line[2 * r] = rows[r][2 * p];
            line[2 * r + 1] = 2 * p + 1 < n ? rows[r][2 * p + 1] : static_cast<uint16_t>(0);
        }
        std::memcpy(out + static_cast<int64_t>(p) * 32, line, sizeof line);
    }
}

void pack_tile(uint16_t *out, const Placement::At &at, const TensorSource &source)
{
    uint16_t rows[kTile][kChunk];
    for (int32_t k0 = 0; k0 < source.cols; k0 += kChunk) {
        const int32_t n = std::min(kChunk, source.cols - k0);
        for (int32_t r = 0; r < at.n; r++) source.read(at.row + r, k0, n, rows[r]);
        interleave(rows, at.n, n, out + static_cast<int64_t>(k0) * 16);
    }
}

}  // namespace

uint64_t packed_bytes(int64_t tiles, int32_t k, const char *what)
{
    const uint64_t line = (static_cast<uint64_t>(k) + 1) / 2 * 64;
    return checked_mul(static_cast<uint64_t>(tiles), line, what);
}

void TensorSource::read(int64_t row, int32_t k0, int32_t n, uint16_t *out) const
{
    const uint64_t first = static_cast<uint64_t>(row) * static_cast<uint64_t>(cols) + static_cast<uint64_t>(k0);
    if (data == nullptr) {
        seed_values(key, first, n, std, out);
        return;
    }
    const unsigned char *at = static_cast<const unsigned char *>(data) + first * dtype_bytes(dtype);
    if (dtype == LATHE_BF16) {
        std::memcpy(out, at, static_cast<size_t>(n) * 2);
        return;
    }
    float wide[64];
    for (int32_t i = 0; i < n; i += 64) {
        const uint64_t m = static_cast<uint64_t>(std::min(64, n - i));
        widen(dtype, at + static_cast<uint64_t>(i) * dtype_bytes(dtype), m, wide);
        narrow_bf16(wide, m, out + i);
    }
}

HeadUnits::HeadUnits(int32_t dim) : paired(dim / 2 % kTile == 0), head_dim(dim), half(dim / 2)
{
    tiles = paired ? 2 : (dim + kTile - 1) / kTile;
    per_head = paired ? half / kTile : 1;
    width = paired ? kTile : half;
    high = paired ? kTile : half;
}

int64_t Placement::tiles() const
{
    if (kind == kHeads) return static_cast<int64_t>(rows / units.head_dim) * units.per_head * units.tiles;
    return (static_cast<int64_t>(rows) + kTile - 1) / kTile;
}

Placement::At Placement::at(int64_t i) const
{
    if (kind != kHeads) {
        const int64_t row = i * kTile;
        const int32_t n = static_cast<int32_t>(std::min<int64_t>(kTile, rows - row));
        return {kind == kPlain ? i : kind == kGate ? 2 * i : 2 * i + 1, row, n};
    }
    const int64_t tile = static_cast<int64_t>(first_unit) * units.tiles + i;
    const int64_t unit = i / units.tiles, in_unit = i % units.tiles;
    const int64_t head = unit / units.per_head;
    const int64_t row = head * units.head_dim;
    if (units.paired) return {tile, row + unit % units.per_head * kTile + in_unit * units.half, kTile};
    const int64_t d = in_unit * kTile;
    return {tile, row + d, static_cast<int32_t>(std::min<int64_t>(kTile, units.head_dim - d))};
}

void pack(const Packed &matrix, const Placement &place, const TensorSource &source, int32_t threads)
{
    const uint64_t elems = matrix.tile_elems();
    /* A thread is worth starting for about a megabyte. */
    const uint64_t bytes = static_cast<uint64_t>(place.tiles()) * elems * 2;
    const int32_t useful = static_cast<int32_t>(std::min<uint64_t>(static_cast<uint64_t>(threads), bytes >> 19));
    parallel(place.tiles(), useful, [&](int64_t first, int64_t last) {
        for (int64_t i = first; i < last; i++) {
            const Placement::At at = place.at(i);
            pack_tile(matrix.data + static_cast<uint64_t>(at.tile) * elems, at, source);
        }
    });
}

void unpack(const Packed &matrix, const Placement &place, int32_t cols, uint16_t *out, int32_t threads)
{
    parallel(place.tiles(), threads, [&](int64_t first, int64_t last) {
        for (int64_t i = first; i < last; i++) {
            const Placement::At at = place.at(i);
            const uint16_t *tile = matrix.tile(at.tile);
            for (int32_t r = 0; r < at.n; r++) {
                uint16_t *row = out + (at.row + r) * cols;
                for (int32_t k = 0; k < cols; k++) row[k] = tile[k / 2 * 32 + r * 2 + k % 2];
            }
        }
    });
}

void fill_plain(uint16_t *out, int64_t rows, const TensorSource &source, int32_t threads)
{
    parallel(rows, threads, [&](int64_t first, int64_t last) {
        for (int64_t r = first; r < last; r++) source.read(r, 0, source.cols, out + r * source.cols);
    });
}

}  // namespace cpu
}  // namespace lathe
