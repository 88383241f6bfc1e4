// override_test.cc: sessions with replaced operators: our own ones in their slots give
// the numbers of the fused path, and keep a row's bits whatever surrounds it.
#include <algorithm>
#include <cmath>
#include <cstring>
#include <string>

#include "../operator.h"
#include "check.h"
#include "fixture.h"

using namespace lathe_test;

namespace {

typedef std::vector<lathe_override> List;

List ours(const std::vector<const char *> &ops)
{
    List list;
    for (const char *op : ops) list.push_back(builtin(op));
    return list;
}

// A prompt of 70 in pieces, two short ones, then decode rows, then all kinds in one step.
std::vector<float> story(const Model &m, const lathe_session_options &o, const List &list, std::string *error)
{
    Session s(m, o, list);
    if (s.status != LATHE_OK) {
        *error = s.error;
        return {};
    }
    const int32_t v = m.desc.vocab;
    std::vector<float> out;
    const auto run = [&](const std::vector<Piece> &pieces) {
        const std::vector<float> logits = s.step(pieces);
        if (s.status != LATHE_OK) *error = s.error;
        out.insert(out.end(), logits.begin(), logits.end());
    };
    const std::vector<int32_t> prompt = some_tokens(70, v, 3);
    run({{0, 0, {prompt.begin(), prompt.begin() + 45}}});
    run({{0, 45, {prompt.begin() + 45, prompt.end()}}, {1, 0, {7}}, {2, 0, some_tokens(5, v, 4)}});
    run({{0, 70, {1}}, {1, 1, {2}}, {2, 5, {3}}});
    run({{2, 6, {3}}, {0, 71, {1}}, {1, 2, {4, 5, 6}}, {3, 0, {9}}});
    run({{1, 5, {1}}});
    return out;
}

void distance(const std::vector<float> &got, const std::vector<float> &want, double *largest, double *rms)
{
    double sum = 0;
    *largest = 0;
    for (size_t i = 0; i < want.size(); i++) {
        const double d = std::fabs(static_cast<double>(got[i]) - want[i]);
        *largest = std::max(*largest, d);
        sum += d * d;
    }
    *rms = std::sqrt(sum / static_cast<double>(want.size()));
}

lathe_model_desc described(int32_t head_dim, int32_t variant)
{
    lathe_model_desc d = small_desc(head_dim);
    d.tied = variant == 1;
    d.attention_bias = d.mlp_bias = variant == 2;
    return d;
}

const char *const kAll[] = {"attn_decode", "rmsnorm", "gemm", "gemm.qkv", "gemm.o", "gemm.gate_up", "gemm.down", "gemm.head",
                            "rope_append", "silu_mul", "norm_qkv_rope_append", "o_add", "norm_gate_up_silu", "down_add",
                            "norm_head_argmax"};

bool multiplies(const std::string &op)
{
    return op.find("gemm") != std::string::npos || op.find("add") != std::string::npos || op.find("norm_") == 0;
}

}  // namespace

// What only moves data or works on one row has the fused path's bits; products sum in
// another order, within a few roundings of its logits.
TEST(override_builtins_give_the_fused_numbers)
{
    int32_t round = 0;
    for (const int32_t head_dim : {8, 16, 48, 64, 80})
        for (const int32_t variant : {0, 1, 2}) {
            const Model m(lathe_cpu_backend(), described(head_dim, variant));
            for (const std::string &path : paths())
                for (const int32_t kv : {LATHE_BF16, LATHE_F32}) {
                    if (round++ % 3 == 1) continue; /* each kind comes up with each other */
                    lathe_session_options o = options(2, 16, path.c_str());
                    o.kv_dtype = kv;
                    std::string error;
                    const std::vector<float> want = story(m, o, {}, &error);
                    for (const char *op : kAll) {
                        const std::vector<float> got = story(m, o, ours({op}), &error);
                        CHECK_MSG(error.empty() && got.size() == want.size(), "%s %s: %s", path.c_str(), op, error.c_str());
                        if (!multiplies(op)) {
                            CHECK_MSG(same_bits(got, want), "%s, %s: other bits", path.c_str(), op);
                            continue;
                        }
                        double largest = 1e9, rms = 1e9;
                        if (got.size() == want.size()) distance(got, want, &largest, &rms);
                        const double most = path == "portable" ? (kv == LATHE_F32 ? 2e-4 : 0.3) : 0.5;
                        const double middle = path == "portable" ? (kv == LATHE_F32 ? 2e-5 : 0.02) : 0.06;
                        CHECK_MSG(largest <= most && rms <= middle, "%s, %s, kv %d, head_dim %d: %g, rms %g",
                                  path.c_str(), op, kv, head_dim, largest, rms);
                    }
                }
        }
}

// A row's bits do not depend on pages, threads or chunks, with any operator replaced.
TEST(override_bits_do_not_depend_on_surroundings)
{
    const Model m(lathe_cpu_backend(), described(16, 2));
    const std::vector<int32_t> prompt = some_tokens(47, m.desc.vocab, 3);
    for (const std::string &path : paths())
        for (const char *op : kAll) {
            std::vector<float> want;
            for (const int32_t threads : {1, 2, 3, 5})
                for (const int32_t page : {1, 16, 256})
                    for (const int32_t chunk : {1, 3, 20, 47}) {
                        if (threads != 2 && (page != 16 || chunk != 20)) continue;
                        Session s(m, options(threads, page, path.c_str()), ours({op}));
                        std::vector<float> got;
                        for (int32_t i = 0; i < 47; i += chunk) {
                            const int32_t end = std::min(47, i + chunk);
                            const std::vector<float> logits = s.step({{2, 0, {5}}, {0, i, {prompt.begin() + i, prompt.begin() + end}}});
                            got.insert(got.end(), logits.begin() + m.desc.vocab, logits.end());
                        }
                        if (want.empty()) want = got;
                        CHECK_MSG(same_bits(got, want), "%s, %s: %d threads, pages of %d, chunks of %d", path.c_str(), op,
                                  threads, page, chunk);
                    }
        }
}

// All unfused operators, and all fused ones, replaced at once.
TEST(override_all_at_once)
{
    const Model m(lathe_cpu_backend(), described(64, 2));
    for (const std::string &path : paths()) {
        const lathe_session_options o = options(2, 16, path.c_str());
        std::string error;
        const std::vector<float> want = story(m, o, {}, &error);
        for (const List &list : {ours({"attn_decode", "rmsnorm", "gemm", "rope_append", "silu_mul"}),
                                 ours({"norm_qkv_rope_append", "attn_decode", "o_add", "norm_gate_up_silu", "down_add",
                                       "norm_head_argmax"}),
                                 ours({"rmsnorm", "o_add", "down_add"}), ours({"norm_qkv_rope_append", "gemm.o", "silu_mul"})}) {
            const std::vector<float> got = story(m, o, list, &error);
            double largest = 1e9, rms = 1e9;
            if (got.size() == want.size()) distance(got, want, &largest, &rms);
            CHECK_MSG(error.empty() && largest <= 0.5 && rms <= 0.06, "%s: %s %g, rms %g", path.c_str(), error.c_str(),
                      largest, rms);
        }
    }
}

// The chosen tokens are the largest logits, whoever chooses; a kept residual stream is
// the fused path's where no product is replaced.
TEST(override_tokens_and_residuals)
{
    const Model m(lathe_cpu_backend(), described(16, 0));
    for (const char *op : kAll) {
        Session s(m, options(3, 16, ""), ours({op})), plain(m, options(3, 16, ""));
        const std::vector<int32_t> prompt = some_tokens(60, m.desc.vocab, 5);
        const std::vector<float> logits = s.step({{0, 0, prompt}}, LATHE_KEEP_RESIDUAL);
        plain.step({{0, 0, prompt}}, LATHE_KEEP_RESIDUAL);
        CHECK_MSG(!logits.empty(), "%s: %s", op, s.error);
        for (size_t r = 0; r < 60 && !logits.empty(); r++) {
            const float *row = logits.data() + r * static_cast<size_t>(m.desc.vocab);
            const long best = std::max_element(row, row + m.desc.vocab) - row;
            CHECK_MSG(s.tokens[r] == best, "%s, row %zu: token %d, largest %ld", op, r, s.tokens[r], best);
        }
        std::vector<float> got(60 * static_cast<size_t>(m.desc.hidden)), want = got;
        char err[400];
        for (int32_t stage = 0; stage <= m.desc.layers + 1; stage++) {
            CHECK(m.backend->residual(s.handle, stage, got.data(), err, sizeof err) == LATHE_OK);
            CHECK(m.backend->residual(plain.handle, stage, want.data(), err, sizeof err) == LATHE_OK);
            double largest = 0, rms = 0;
            distance(got, want, &largest, &rms);
            CHECK_MSG(multiplies(op) ? largest <= 0.2 : largest == 0, "%s, stage %d: %g", op, stage, largest);
        }
    }
}
