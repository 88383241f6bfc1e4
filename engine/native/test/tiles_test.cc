// tiles_test.cc: each path's product, norm and silu against double precision for
// awkward shapes, and the bits of a column at every batch size.
#include <cmath>
#include <cstring>
#include <vector>

#include "../cpu_kernels.h"
#include "../cpu_pack.h"
#include "check.h"
#include "fixture.h"

using namespace lathe::cpu;

namespace {

std::vector<float> noise(int64_t n, uint64_t seed)
{
    std::vector<uint16_t> bits(static_cast<size_t>(n));
    seed_values(lathe_seeded_key(seed, 0, 0), 0, static_cast<int32_t>(n), 1.0f, bits.data());
    std::vector<float> out;
    for (const uint16_t b : bits) out.push_back(lathe_f32_from_bf16(b) * 1.0009765625f); /* not bf16 values */
    return out;
}

struct Product {
    int32_t n, k;
    std::vector<uint16_t> weights, memory;
    Packed m;
    Product(int32_t rows, int32_t cols) : n(rows), k(cols), weights(static_cast<size_t>(rows * cols))
    {
        seed_values(99, 0, rows * cols, 1.0f, weights.data());
        Placement place;
        place.rows = rows;
        m.tiles = static_cast<int32_t>(place.tiles());
        m.kpairs = k / 2 + k % 2;
        memory.assign(packed_bytes(m.tiles, k, "test") / 2, 0);
        m.data = memory.data();
        TensorSource s;
        s.data = weights.data();
        s.cols = k;
        pack(m, place, s, 1);
    }
    // Outputs [rows][tiles*16] of a whole batch, as the phases compute them.
    std::vector<float> run(const Kernels &path, const std::vector<float> &x, int32_t rows) const
    {
        const PanelShape shape = {rows, m.kpairs, path.max_cols, path.pair_bytes};
        std::vector<unsigned char> panel(shape.bytes(), 0xFF);
        for (int32_t r = 0; r < rows; r++)
            path.store(panel_row(panel.data(), shape, r), 0, k, x.data() + static_cast<int64_t>(r) * k);
        const int64_t ld = m.tiles * kTile;
        std::vector<float> out(static_cast<size_t>(rows * ld), -1e30f);
        for (int32_t b = 0; b < shape.blocks(); b++)
            path.tiles({m.tile(0), m.tiles, m.kpairs, panel.data() + shape.offset(b), shape.width(b),
                        out.data() + shape.start(b) * ld, ld});
        return out;
    }
};

float as_input(const Kernels &path, float x)
{
    return path.pair_bytes == 4 ? lathe_f32_from_bf16(lathe_bf16_from_f32(x)) : x;
}

void check_product(const Kernels &path, const Product &p, const std::vector<float> &x, const std::vector<float> &out,
                   int32_t rows)
{
    const int32_t padded = p.m.tiles * kTile;
    for (int32_t r = 0; r < rows; r++)
        for (int32_t i = 0; i < padded; i++) {
            double sum = 0, size = 1e-30;
            for (int32_t k = 0; i < p.n && k < p.k; k++) {
                const double w = lathe_f32_from_bf16(p.weights[static_cast<size_t>(i * p.k + k)]);
                const double term = w * as_input(path, x[static_cast<size_t>(r * p.k + k)]);
                sum += term;
                size += std::fabs(term);
            }
            const double got = out[static_cast<size_t>(r * padded + i)];
            CHECK_MSG(std::fabs(got - sum) <= 2e-7 * size + 1e-6 * std::fabs(sum),
                      "%s [%d,%d] row %d output %d: %g, want %g", path.name, p.n, p.k, r, i, got, sum);
        }
}

template <class Body>
void each_path(const Body &body)
{
    for (const Kernels *const *p = kernel_paths(); *p != nullptr; p++)
        if ((*p)->runs_here()) body(**p);
}

}  // namespace

TEST(tiles_against_double)
{
    each_path([](const Kernels &path) {
        for (const int32_t n : {1, 16, 33, 72, 130})
            for (const int32_t k : {1, 2, 3, 5, 64, 129, 200}) {
                const Product p(n, k);
                const std::vector<float> x = noise(static_cast<int64_t>(17) * k, 5);
                for (int32_t rows = 1; rows <= 17; rows += rows < 8 ? 1 : 3)
                    check_product(path, p, x, p.run(path, x, rows), rows);
            }
    });
}

TEST(tiles_bits_do_not_depend_on_the_batch)
{
    each_path([](const Kernels &path) {
        for (const int32_t k : {1, 2, 63, 64, 65, 66, 67, 300}) {
            const Product p(100, k);
            const std::vector<float> x = noise(static_cast<int64_t>(17) * k, 6);
            const int32_t padded = p.m.tiles * kTile;
            std::vector<float> alone;
            for (int32_t r = 0; r < 17; r++) {
                const std::vector<float> mine(x.begin() + r * k, x.begin() + (r + 1) * k);
                const std::vector<float> out = p.run(path, mine, 1);
                alone.insert(alone.end(), out.begin(), out.end());
            }
            for (int32_t rows = 1; rows <= 17; rows++) {
                const std::vector<float> out = p.run(path, x, rows);
                CHECK_MSG(std::memcmp(out.data(), alone.data(), static_cast<size_t>(rows * padded) * 4) == 0,
                          "%s k %d: a batch of %d has other bits", path.name, k, rows);
            }
        }
    });
}

TEST(panel_blocks_cover_every_row_once)
{
    for (int32_t rows = 1; rows <= 70; rows++)
        for (const int32_t most : {1, 4, 6, 12}) {
            const PanelShape s = {rows, 3, most, 4};
            CHECK(s.start(0) == 0 && s.start(s.blocks()) == rows);
            for (int32_t b = 0; b < s.blocks(); b++) {
                CHECK(s.width(b) >= 1 && s.width(b) <= most);
                for (int32_t r = s.start(b); r < s.start(b + 1); r++) CHECK(s.block_of(r) == b);
            }
        }
}

TEST(norm_and_silu_against_double)
{
    each_path([](const Kernels &path) {
        for (const int32_t n : {1, 3, 8, 16, 31, 32, 72, 577}) {
            const std::vector<float> x = noise(n, 8), gain = noise(n, 9);
            std::vector<float> out(static_cast<size_t>(n)), gate = x;
            path.norm(x.data(), gain.data(), 1e-5f, n, out.data());
            path.silu_mul(gate.data(), gain.data(), n);
            double square = 0;
            for (const float v : x) square += static_cast<double>(v) * v;
            for (size_t i = 0; i < x.size(); i++) {
                const double want = x[i] / std::sqrt(square / n + 1e-5) * gain[i];
                const double silu = x[i] / (1 + std::exp(-static_cast<double>(x[i]))) * gain[i];
                CHECK_MSG(std::fabs(out[i] - want) <= 1e-6 * std::fabs(want) + 1e-12, "%s norm: %g, want %g", path.name,
                          static_cast<double>(out[i]), want);
                CHECK_MSG(std::fabs(gate[i] - silu) <= 1e-6 * std::fabs(silu) + 1e-12, "%s silu: %g, want %g",
                          path.name, static_cast<double>(gate[i]), silu);
            }
        }
        float extreme[4] = {-200.0f, 200.0f, 0.0f, NAN};
        const float ones[4] = {1, 1, 1, 1};
        path.silu_mul(extreme, ones, 4);
        CHECK(std::fabs(extreme[0]) < 1e-30f && extreme[1] == 200.0f && extreme[2] == 0.0f && std::isnan(extreme[3]));
    });
}
