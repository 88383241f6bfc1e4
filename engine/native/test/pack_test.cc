// pack_test.cc: packing loses and invents nothing: every weight is found where the
// kernels look for it, the rest is zero, and seeds give backend.h's values.
#include <vector>

#include "../cpu_kernels.h"
#include "../cpu_pack.h"
#include "../dtype_convert.h"
#include "check.h"

using namespace lathe::cpu;

namespace {

// A matrix with its own memory, filled with a pattern that is no weight.
struct Owned {
    Packed m;
    std::vector<uint16_t> memory;
    Owned(int64_t tiles, int32_t k)
    {
        m.tiles = static_cast<int32_t>(tiles);
        m.kpairs = k / 2 + k % 2;
        memory.assign(packed_bytes(tiles, k, "test") / 2, 0xABCD);
        m.data = memory.data();
    }
};

std::vector<uint16_t> numbered(int32_t rows, int32_t cols)
{
    std::vector<uint16_t> out;
    for (int32_t i = 0; i < rows * cols; i++) out.push_back(static_cast<uint16_t>(1 + i % 65521));
    return out;
}

TensorSource source_of(const std::vector<uint16_t> &values, int32_t cols)
{
    TensorSource s;
    s.data = values.data();
    s.cols = cols;
    return s;
}

}  // namespace

TEST(pack_plain_round_trip)
{
    for (const int32_t rows : {1, 15, 16, 17, 50})
        for (const int32_t cols : {1, 2, 3, 64, 511, 512, 513, 1030}) {
            const std::vector<uint16_t> values = numbered(rows, cols);
            Placement place;
            place.rows = rows;
            Owned o(place.tiles(), cols);
            pack(o.m, place, source_of(values, cols), 2);
            for (int32_t r = 0; r < o.m.tiles * kTile; r++)
                for (int32_t k = 0; k < o.m.kpairs * 2; k++) {
                    const uint16_t want =
                        r < rows && k < cols ? values[static_cast<size_t>(r * cols + k)] : static_cast<uint16_t>(0);
                    CHECK_MSG(packed_value(o.m, r / kTile, r % kTile, k) == want, "[%d,%d] row %d k %d", rows, cols, r, k);
                }
        }
}

TEST(pack_gate_and_up_alternate)
{
    const int32_t rows = 40, cols = 6;
    const std::vector<uint16_t> gate = numbered(rows, cols), up(static_cast<size_t>(rows * cols), 7);
    Placement place;
    place.rows = rows;
    Owned o(2 * place.tiles(), cols);
    place.kind = Placement::kGate;
    pack(o.m, place, source_of(gate, cols), 1);
    place.kind = Placement::kUp;
    pack(o.m, place, source_of(up, cols), 1);
    for (int32_t r = 0; r < rows; r++)
        for (int32_t k = 0; k < cols; k++) {
            CHECK(packed_value(o.m, 2 * (r / kTile), r % kTile, k) == gate[static_cast<size_t>(r * cols + k)]);
            CHECK(packed_value(o.m, 2 * (r / kTile) + 1, r % kTile, k) == 7);
        }
}

// Lane i of a unit's first half and lane high+i are the pair (d, d+half) of one head.
TEST(pack_heads_keep_rope_pairs_together)
{
    for (const int32_t head_dim : {2, 8, 16, 20, 32, 48, 64, 80, 96, 128}) {
        const int32_t heads = 3, cols = 2;
        const std::vector<uint16_t> values = numbered(heads * head_dim, cols);
        Placement place;
        place.kind = Placement::kHeads;
        place.rows = heads * head_dim;
        place.units = HeadUnits(head_dim);
        place.first_unit = 2;
        const HeadUnits &u = place.units;
        Owned o(2 * u.tiles + place.tiles(), cols);
        pack(o.m, place, source_of(values, cols), 1);
        CHECK(u.width * u.per_head == head_dim / 2 && u.high + u.width <= u.tiles * kTile);
        for (int32_t pair = 0; pair < heads * head_dim / 2; pair++) {
            const int32_t head = pair / u.half, d = pair % u.half;
            const int32_t tile = (2 + head * u.per_head + d / u.width) * u.tiles, lane = d % u.width;
            const int32_t high = u.high + lane;
            const size_t row = static_cast<size_t>(head * head_dim + d) * cols;
            CHECK_MSG(packed_value(o.m, tile + lane / kTile, lane % kTile, 1) == values[row + 1], "head_dim %d dim %d",
                      head_dim, d);
            CHECK_MSG(packed_value(o.m, tile + high / kTile, high % kTile, 0) ==
                          values[row + static_cast<size_t>(u.half) * cols],
                      "head_dim %d dim %d", head_dim, d + u.half);
        }
    }
}

TEST(pack_rounds_wider_types)
{
    const std::vector<float> wide = {1.0f, 1.00390625f, 1.01171875f, -3.0f, 65504.0f, 1e-8f};
    TensorSource s;
    s.data = wide.data();
    s.dtype = LATHE_F32;
    s.cols = 6;
    uint16_t got[6];
    s.read(0, 0, 6, got);
    const uint16_t want[6] = {0x3F80, 0x3F80, 0x3F82, 0xC040, 0x4780, 0x322C}; /* ties go to even */
    for (int i = 0; i < 6; i++) CHECK_MSG(got[i] == want[i], "value %d: 0x%04x", i, got[i]);
    const std::vector<uint16_t> half = {0x3C00, 0xC200, 0x0001, 0x7BFF};
    s.data = half.data();
    s.dtype = LATHE_F16;
    s.cols = 4;
    s.read(0, 0, 4, got);
    const uint16_t from_half[4] = {0x3F80, 0xC040, 0x3380, 0x4780};
    for (int i = 0; i < 4; i++) CHECK_MSG(got[i] == from_half[i], "half %d: 0x%04x", i, got[i]);
}

TEST(pack_seeds_are_the_generator_of_backend_h)
{
    for (const float std : {0.0f, 0.02f, 1.0f, 3e30f})
        for (const uint64_t first : {0ull, 1ull, 12345678901ull})
            for (const int32_t n : {1, 7, 8, 9, 100}) {
                std::vector<uint16_t> got(static_cast<size_t>(n) + 1, 0x5555), want(static_cast<size_t>(n));
                const uint64_t key = lathe_seeded_key(42, LATHE_UP, 3);
                seed_values(key, first, n, std, got.data());
                lathe::seed_bf16(42, LATHE_UP, 3, std, first, static_cast<uint64_t>(n), want.data());
                for (int32_t i = 0; i < n; i++)
                    CHECK(got[static_cast<size_t>(i)] == want[static_cast<size_t>(i)]);
                CHECK(got[static_cast<size_t>(n)] == 0x5555);
            }
}
