// step_test.cc: the bits of a row depend on nothing but the row, and every path
// agrees with the plain reference within its numeric class.
#include <algorithm>
#include <cmath>

#include "check.h"
#include "fixture.h"

using namespace lathe_test;

namespace {

const int32_t kPrompt = 150;

// The prompt row by row: the decode rows that everything else must equal.
std::vector<float> by_decode(const Model &m, const lathe_session_options &o, const std::vector<int32_t> &prompt)
{
    Session s(m, o);
    std::vector<float> all;
    for (size_t i = 0; i < prompt.size(); i++) {
        const std::vector<float> row = s.step({{0, static_cast<int32_t>(i), {prompt[i]}}});
        all.insert(all.end(), row.begin(), row.end());
    }
    return all;
}

// The prompt in chunks of `chunk` rows.
std::vector<float> by_chunks(const Model &m, const lathe_session_options &o, const std::vector<int32_t> &prompt,
                             size_t chunk)
{
    Session s(m, o);
    std::vector<float> all;
    for (size_t i = 0; i < prompt.size(); i += chunk) {
        const size_t end = std::min(prompt.size(), i + chunk);
        const std::vector<float> rows =
            s.step({{0, static_cast<int32_t>(i), {prompt.begin() + static_cast<long>(i), prompt.begin() + static_cast<long>(end)}}});
        all.insert(all.end(), rows.begin(), rows.end());
    }
    return all;
}

lathe_session_options with_kv(lathe_session_options o, int32_t dtype)
{
    o.kv_dtype = dtype;
    return o;
}

// Largest difference, and the median over rows of the root mean square.
void distance(const std::vector<float> &a, const std::vector<float> &b, int32_t vocab, double *largest, double *median)
{
    *largest = 0;
    std::vector<double> rms;
    for (size_t r = 0; r + static_cast<size_t>(vocab) <= a.size(); r += static_cast<size_t>(vocab)) {
        double sum = 0;
        for (size_t i = r; i < r + static_cast<size_t>(vocab); i++) {
            const double d = std::fabs(static_cast<double>(a[i]) - static_cast<double>(b[i]));
            *largest = std::fmax(*largest, d);
            sum += d * d;
        }
        rms.push_back(std::sqrt(sum / vocab));
    }
    std::sort(rms.begin(), rms.end());
    *median = rms[rms.size() / 2];
}

}  // namespace

// Chunking, page size and thread count leave every logit of every row alone.
TEST(step_bits_chunks_pages_threads)
{
    for (const int32_t head_dim : {8, 16, 32, 64})
        for (const std::string &path : paths())
            for (const int32_t kv : {LATHE_BF16, LATHE_F32}) {
                const Model m(lathe_cpu_backend(), small_desc(head_dim));
                const std::vector<int32_t> prompt = some_tokens(kPrompt, m.desc.vocab, 1);
                const char *isa = path.c_str();
                const std::vector<float> want = by_decode(m, with_kv(options(1, 16, isa), kv), prompt);
                CHECK_MSG(same_bits(want, by_chunks(m, with_kv(options(1, 16, isa), kv), prompt, 150)),
                          "%s head_dim %d kv %d: whole prompt differs", isa, head_dim, kv);
                CHECK_MSG(same_bits(want, by_chunks(m, with_kv(options(2, 1, isa), kv), prompt, 7)),
                          "%s head_dim %d kv %d: page 1, 2 threads, chunks of 7", isa, head_dim, kv);
                CHECK_MSG(same_bits(want, by_chunks(m, with_kv(options(3, 64, isa), kv), prompt, 64)),
                          "%s head_dim %d kv %d: page 64, 3 threads, chunks of 64", isa, head_dim, kv);
                CHECK_MSG(same_bits(want, by_chunks(m, with_kv(options(4, 256, isa), kv), prompt, 33)),
                          "%s head_dim %d kv %d: page 256, 4 threads, chunks of 33", isa, head_dim, kv);
            }
}

// A decode row among any neighbours, and a verify block, have the row's own bits.
TEST(step_bits_neighbours_and_verify)
{
    for (const std::string &path : paths()) {
        const Model m(lathe_cpu_backend(), small_desc());
        const int32_t vocab = m.desc.vocab;
        const std::vector<int32_t> prompt = some_tokens(90, vocab, 1), other = some_tokens(60, vocab, 2);
        const std::vector<float> want = by_decode(m, options(1, 16, path.c_str()), prompt);
        Session s(m, options(2, 16, path.c_str()));
        const size_t v = static_cast<size_t>(vocab);
        for (int32_t i = 0; i < 80;) {
            /* between a prefill chunk and a decode row of others, blocks of 1 to 5 rows */
            const int32_t block = 1 + i % 5, before = i % 7;
            std::vector<Piece> pieces;
            if (before > 0) pieces.push_back({1, 0, {other.begin(), other.begin() + before}});
            pieces.push_back({0, i, {prompt.begin() + i, prompt.begin() + i + block}});
            pieces.push_back({2, 0, {other[static_cast<size_t>(i) % 60]}});
            const std::vector<float> got = s.step(pieces);
            const size_t at = static_cast<size_t>(before) * v, n = static_cast<size_t>(block) * v;
            CHECK_MSG(s.status == LATHE_OK, "step: %s", s.error);
            const std::vector<float> mine(got.begin() + static_cast<long>(at), got.begin() + static_cast<long>(at + n));
            const std::vector<float> ref(want.begin() + static_cast<long>(static_cast<size_t>(i) * v),
                                         want.begin() + static_cast<long>(static_cast<size_t>(i) * v + n));
            CHECK_MSG(same_bits(mine, ref), "%s: rows %d .. %d differ among neighbours", path.c_str(), i, i + block);
            i += block;
        }
    }
}

// Each path against the reference: portable with f32 KV is class A, with bf16 KV
// C, avx512bf16 D (bounds of the tiny golden models).
TEST(step_classes_against_reference)
{
    for (const int32_t head_dim : {8, 16, 48, 64, 80})
        for (const int32_t variant : {0, 1, 2}) {
            lathe_model_desc d = small_desc(head_dim);
            d.tied = variant == 1;
            d.attention_bias = d.mlp_bias = variant == 2;
            const Model reference(lathe_reference_backend(), d), cpu(lathe_cpu_backend(), d);
            const std::vector<int32_t> prompt = some_tokens(kPrompt, d.vocab, 3);
            const std::vector<float> exact = by_chunks(reference, with_kv(options(1, 16, ""), LATHE_F32), prompt, 150);
            for (const std::string &path : paths()) {
                const bool bf16_inputs = path == "avx512bf16";
                for (const int32_t kv : {LATHE_F32, LATHE_BF16}) {
                    const std::vector<float> got = by_chunks(cpu, with_kv(options(2, 16, path.c_str()), kv), prompt, 50);
                    double largest = 1e9, median = 1e9;
                    CHECK(got.size() == exact.size());
                    if (got.size() == exact.size()) distance(got, exact, d.vocab, &largest, &median);
                    const double most = bf16_inputs ? 0.5 : kv == LATHE_F32 ? 2e-4 : 0.3;
                    const double middle = bf16_inputs ? 0.08 : kv == LATHE_F32 ? 4e-5 : 0.03;
                    CHECK_MSG(largest <= most && median <= middle, "%s kv %d head_dim %d variant %d: %g, median rms %g",
                              path.c_str(), kv, head_dim, variant, largest, median);
                }
            }
        }
}

// The chosen token is the lowest index of the largest logit, for every row.
TEST(step_tokens_are_the_largest_logits)
{
    const Model m(lathe_cpu_backend(), small_desc());
    for (const std::string &path : paths()) {
        Session s(m, options(3, 16, path.c_str()));
        const std::vector<float> logits = s.step({{0, 0, some_tokens(100, m.desc.vocab, 5)}});
        for (size_t r = 0; r < 100; r++) {
            const float *row = logits.data() + r * static_cast<size_t>(m.desc.vocab);
            const long best = std::max_element(row, row + m.desc.vocab) - row;
            CHECK_MSG(s.tokens[r] == best, "row %zu: token %d, largest %ld", r, s.tokens[r], best);
        }
    }
}
