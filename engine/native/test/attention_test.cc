// attention_test.cc: each path's partial attention and merge against softmax in
// double precision, over every length and cut, and NaN that must come through.
#include <algorithm>
#include <cmath>
#include <cstring>
#include <vector>

#include "../cpu_kernels.h"
#include "check.h"
#include "fixture.h"

using namespace lathe::cpu;

namespace {

float noise(uint64_t i)
{
    uint16_t bits;
    seed_values(1234, i, 1, 1.0f, &bits);
    return lathe_f32_from_bf16(bits);
}

// q, and K and V rows as bf16 values in the element type of the cache.
struct Case {
    int32_t group, head_dim, keys;
    bool bf16;
    std::vector<float> q, k, v;
    std::vector<uint16_t> k16, v16;
    Case(int32_t g, int32_t d, int32_t n, bool narrow) : group(g), head_dim(d), keys(n), bf16(narrow)
    {
        for (int32_t i = 0; i < g * d; i++) q.push_back(noise(static_cast<uint64_t>(i)));
        for (int32_t i = 0; i < n * d; i++) {
            k.push_back(noise(100000 + static_cast<uint64_t>(i)));
            v.push_back(noise(900000 + static_cast<uint64_t>(i)));
            k16.push_back(lathe_bf16_from_f32(k.back()));
            v16.push_back(lathe_bf16_from_f32(v.back()));
        }
    }
    // Normalised outputs [group][head_dim].
    std::vector<float> run(const Kernels &path) const
    {
        std::vector<float> weights(static_cast<size_t>(group * kKeys)), part(q.size()), out(q.size(), 0.0f);
        const size_t g = static_cast<size_t>(group);
        std::vector<float> max(g, -INFINITY), sum(g, 0.0f), part_max(g), part_sum(g);
        for (int32_t first = 0; first < keys; first += kKeys) {
            const void *ks[kKeys], *vs[kKeys];
            const int32_t n = std::min(kKeys, keys - first);
            for (int32_t i = 0; i < n; i++) {
                const size_t at = static_cast<size_t>(first + i) * static_cast<size_t>(head_dim);
                ks[i] = bf16 ? static_cast<const void *>(&k16[at]) : &k[at];
                vs[i] = bf16 ? static_cast<const void *>(&v16[at]) : &v[at];
            }
            const PartialArgs a = {q.data(), group, head_dim, scale(), n, ks, vs, weights.data(), part_max.data(),
                                   part_sum.data(), part.data()};
            (bf16 ? path.partial_bf16 : path.partial_f32)(a);
            for (size_t h = 0; h < g; h++)
                path.merge(&max[h], &sum[h], &out[h * static_cast<size_t>(head_dim)], part_max[h], part_sum[h],
                           &part[h * static_cast<size_t>(head_dim)], head_dim);
        }
        for (size_t i = 0; i < out.size(); i++) out[i] /= sum[i / static_cast<size_t>(head_dim)];
        return out;
    }
    float scale() const { return 1.0f / std::sqrt(static_cast<float>(head_dim)); }
    double want(int32_t h, int32_t d) const
    {
        std::vector<double> scores;
        double max = -INFINITY, sum = 0, out = 0;
        for (int32_t t = 0; t < keys; t++) {
            double s = 0;
            for (int32_t i = 0; i < head_dim; i++)
                s += static_cast<double>(q[static_cast<size_t>(h * head_dim + i)]) *
                     k[static_cast<size_t>(t * head_dim + i)];
            scores.push_back(s * scale());
            max = std::max(max, scores.back());
        }
        for (int32_t t = 0; t < keys; t++) {
            const double w = std::exp(scores[static_cast<size_t>(t)] - max);
            sum += w;
            out += w * v[static_cast<size_t>(t * head_dim + d)];
        }
        return out / sum;
    }
};

template <class Body>
void each_path(const Body &body)
{
    for (const Kernels *const *p = kernel_paths(); *p != nullptr; p++)
        if ((*p)->runs_here()) body(**p);
}

void check_case(const Kernels &path, const Case &c)
{
    const std::vector<float> got = c.run(path);
    for (int32_t h = 0; h < c.group; h++)
        for (int32_t d = 0; d < c.head_dim; d++) {
            const double want = c.want(h, d), have = got[static_cast<size_t>(h * c.head_dim + d)];
            CHECK_MSG(std::fabs(have - want) <= 3e-6, "%s group %d head_dim %d keys %d bf16 %d: %g, want %g", path.name,
                      c.group, c.head_dim, c.keys, c.bf16, have, want);
        }
}

}  // namespace

TEST(attention_lengths_against_double)
{
    each_path([](const Kernels &path) {
        for (int32_t keys = 1; keys <= 200; keys += keys < 70 ? 1 : 13)
            for (const bool narrow : {false, true}) check_case(path, Case(3, 64, keys, narrow));
    });
}

TEST(attention_shapes_against_double)
{
    each_path([](const Kernels &path) {
        for (const int32_t head_dim : {2, 6, 8, 16, 20, 32, 34, 48, 64, 80, 96, 112, 128, 256})
            for (const int32_t group : {1, 2, 4, 5, 8})
                for (const bool narrow : {false, true}) check_case(path, Case(group, head_dim, 67, narrow));
    });
}

// One NaN in a key, a value or a query of any position reaches that head's output.
TEST(attention_keeps_nan)
{
    each_path([](const Kernels &path) {
        for (const bool narrow : {false, true})
            for (const int32_t bad : {0, 5, 63, 64, 69}) {
                Case in_key(2, 16, 70, narrow), in_value(2, 16, 70, narrow), in_query(2, 16, 70, narrow);
                const size_t at = static_cast<size_t>(bad) * 16 + 3;
                in_key.k[at] = in_value.v[at] = NAN;
                in_key.k16[at] = in_value.v16[at] = 0x7FC0;
                in_query.q[16 + 3] = NAN;
                const std::vector<float> a = in_key.run(path), b = in_value.run(path), c = in_query.run(path);
                CHECK_MSG(std::isnan(a[0]) && std::isnan(a[16]), "%s: a NaN key %d vanished", path.name, bad);
                CHECK_MSG(std::isnan(b[3]) && std::isnan(b[19]), "%s: a NaN value %d vanished", path.name, bad);
                CHECK_MSG(!std::isnan(c[0]) && std::isnan(c[16]), "%s: a NaN query vanished", path.name);
            }
    });
}
