// override_function_test.cc: functions in the slots of a step: what they are asked and
// given, and what becomes of it when they fail.
#include <atomic>
#include <cmath>
#include <cstring>
#include <mutex>
#include <stdexcept>
#include <string>

#include "../operator.h"
#include "check.h"
#include "fixture.h"

using namespace lathe_test;

namespace {

// What the functions below saw and what they shall do; one test at a time.
struct Log {
    std::mutex mutex;
    std::vector<lathe_attn_decode_args> attention;
    std::vector<lathe_rmsnorm_args> asked, sized;
    std::vector<int32_t> seq_len;
    std::atomic<int32_t> calls{0}, bad{0};
    int32_t code = 0, throws = 0, token = 0;
    uint64_t workspace = 0;
} seen;

void reset()
{
    seen.attention.clear();
    seen.asked.clear();
    seen.sized.clear();
    seen.seq_len.clear();
    seen.calls = seen.bad = 0;
    seen.code = seen.throws = seen.token = 0;
    seen.workspace = 0;
}

int norm(const lathe_ctx *ctx, const lathe_rmsnorm_args *a)
{
    seen.calls++;
    if (seen.throws != 0) throw std::runtime_error("not allowed");
    if (seen.workspace != 0) {
        int32_t *count = static_cast<int32_t *>(ctx->workspace) + ctx->part;
        if (ctx->workspace_bytes != seen.workspace || reinterpret_cast<uintptr_t>(count) % 256 != 4u * static_cast<uint32_t>(ctx->part))
            seen.bad++;
        if ((*count)++ < 0) seen.bad++;
    }
    if (ctx->part == ctx->parts - 1 && seen.code != 0) return seen.code;
    if (ctx->part == 0) std::memset(a->out, 0, static_cast<size_t>(a->rows) * static_cast<size_t>(a->hidden) * 2);
    return 0;
}

int norm_supports(const lathe_rmsnorm_args *a)
{
    seen.asked.push_back(*a);
    return a->rows < 1000;
}

uint64_t norm_workspace(const lathe_rmsnorm_args *a)
{
    seen.sized.push_back(*a);
    return seen.workspace;
}

int attention(const lathe_ctx *ctx, const lathe_attn_decode_args *a)
{
    if (ctx->part != 0) return 0;
    const std::lock_guard<std::mutex> lock(seen.mutex);
    seen.attention.push_back(*a);
    for (int32_t b = 0; b < a->batch; b++) seen.seq_len.push_back(a->seq_len[b]);
    return 0;
}

int argmax(const lathe_ctx *ctx, const lathe_norm_head_argmax_args *a)
{
    for (int32_t r = ctx->part; r < a->norm.rows; r += ctx->parts) {
        float *logits = static_cast<float *>(a->head.out) + r * a->head.out_row_stride;
        for (int32_t i = 0; i < a->head.n; i++) logits[i] = 0;
        if (seen.code != 0) logits[3] = NAN;
        a->token[r] = seen.token;
        a->value[r] = 0;
    }
    return 0;
}

template <class F>
void *address(F f)
{
    return reinterpret_cast<void *>(f);
}

}  // namespace

// A failing call ends the step with operator, code, layer and part; the session goes on.
TEST(override_failures_name_the_operator)
{
    const Model m(lathe_cpu_backend(), small_desc());
    reset();
    Session s(m, options(3, 16, ""), {function("rmsnorm", address(norm))});
    seen.code = 42;
    s.step({{0, 0, {1, 2}}});
    CHECK_MSG(s.status == LATHE_E_INTERNAL && strstr(s.error, "step: operator rmsnorm returned 42 (in layer 0, part 2)"),
              "%.300s", s.error);
    char err[400];
    float logits[1000];
    CHECK(m.backend->logits(s.handle, 0, 1, logits, err, sizeof err) == LATHE_E_STATE);
    CHECK_MSG(seen.calls <= 3 * 6, "%d calls after the first failure", seen.calls.load());
    seen.code = 0;
    seen.throws = 1;
    s.step({{0, 0, {1, 2}}});
    CHECK_MSG(s.status == LATHE_E_INTERNAL && strstr(s.error, "operator rmsnorm threw an exception"), "%.300s", s.error);
    seen.throws = 0;
    s.step({{0, 0, {1, 2}}});
    CHECK_MSG(s.status == LATHE_OK, "after the failures: %.300s", s.error);
}

// _supports is asked with the most rows and with one, _workspace with the most; the
// workspace is aligned, of that size, zeroed once and then the functions' own.
TEST(override_questions_and_workspace)
{
    const Model m(lathe_cpu_backend(), small_desc());
    reset();
    seen.workspace = 1000;
    lathe_override o = function("rmsnorm", address(norm));
    o.supports = address(norm_supports);
    o.workspace = address(norm_workspace);
    lathe_session_options limits = options(4, 16, "");
    Session s(m, limits, {o}), plain(m, limits, {function("rmsnorm", address(norm))});
    CHECK(s.status == LATHE_OK && seen.asked.size() == 2 && seen.sized.size() == 1 && seen.calls == 0);
    CHECK(seen.asked[0].rows == limits.max_rows && seen.asked[1].rows == 1 && seen.sized[0].rows == limits.max_rows);
    for (const lathe_rmsnorm_args &a : seen.asked)
        CHECK(a.hidden == m.desc.hidden && a.x != nullptr && a.weight != nullptr && a.out != nullptr && a.residual == nullptr);
    for (int i = 0; i < 5; i++) s.step({{0, i, {1}}});
    CHECK(s.status == LATHE_OK && seen.bad == 0 && seen.calls == 5 * 4 * (2 * m.desc.layers + 1));
    lathe_session_memory with{}, without{};
    with.struct_size = without.struct_size = sizeof with;
    char err[400];
    CHECK(m.backend->session_memory(s.handle, &with, err, sizeof err) == LATHE_OK);
    CHECK(m.backend->session_memory(plain.handle, &without, err, sizeof err) == LATHE_OK);
    CHECK(with.workspace_bytes == without.workspace_bytes + 1000);
    limits.max_rows = 1000;
    Session refused(m, limits, {o});
    CHECK_MSG(refused.status == LATHE_E_UNSUPPORTED && strstr(refused.error, "operator rmsnorm") != nullptr &&
                  strstr(refused.error, "rows 1000, hidden 72") != nullptr,
              "%.300s", refused.error);
    CHECK(seen.calls == 5 * 4 * (2 * m.desc.layers + 1)); /* nothing ran before the refusal */
}

// Sequences with one row in the step go to attn_decode, adjacent ones in one call; the
// rows of longer blocks do not.
TEST(override_attention_takes_decode_rows)
{
    const Model m(lathe_cpu_backend(), small_desc());
    lathe_session_options o = options(2, 16, "");
    Session s(m, o, {function("attn_decode", address(attention))});
    s.step({{0, 0, some_tokens(20, m.desc.vocab, 1)}, {1, 0, some_tokens(7, m.desc.vocab, 2)}});
    reset();
    s.step({{0, 20, {1}}, {1, 7, {1}}, {2, 0, {1}}});
    CHECK(seen.attention.size() == 2); /* one call a layer */
    for (const lathe_attn_decode_args &a : seen.attention) {
        CHECK(a.batch == 3 && a.q_per_seq == 1 && a.q_heads == 6 && a.kv_heads == 2 && a.head_dim == 16 && a.page_size == 16);
        CHECK(a.max_seq_len == 512 && a.block_table_stride == s.stride && a.struct_size == sizeof a && a.lse == nullptr);
        CHECK(std::fabs(a.sm_scale - 0.25f) < 1e-7f && a.q_dtype == LATHE_F32 && a.kv_dtype == LATHE_BF16);
    }
    CHECK((seen.seq_len == std::vector<int32_t>{21, 8, 1, 21, 8, 1}));
    reset();
    s.step({{3, 0, {1}}, {0, 21, {1, 2, 3}}, {2, 1, {1}}, {1, 8, {1}}});
    CHECK(seen.attention.size() == 6); /* 3, then 2, then 1: not in ascending order */
    CHECK((seen.seq_len == std::vector<int32_t>{1, 2, 9, 1, 2, 9}));
    reset();
    s.step({{0, 24, some_tokens(5, m.desc.vocab, 3)}});
    CHECK(seen.attention.empty() && s.status == LATHE_OK);
}

// The token of a replaced norm_head_argmax is the step's; one outside the vocabulary or
// logits that are not finite are errors.
TEST(override_argmax_chooses)
{
    const Model m(lathe_cpu_backend(), small_desc());
    reset();
    Session s(m, options(2, 16, ""), {function("norm_head_argmax", address(argmax))});
    seen.token = 11;
    s.step({{0, 0, {1, 2, 3}}});
    CHECK(s.status == LATHE_OK && s.tokens[2] == 11);
    s.step({{0, 3, {-1}}});
    CHECK(s.status == LATHE_OK);
    seen.token = m.desc.vocab;
    s.step({{0, 3, {1}}});
    CHECK_MSG(s.status == LATHE_E_INTERNAL && strstr(s.error, "norm_head_argmax chose token 203 in row 0, must be 0 to 202"),
              "%.300s", s.error);
    seen.token = 1;
    seen.code = 1;
    s.step({{0, 3, {1}}});
    CHECK_MSG(s.status == LATHE_E_NON_FINITE, "%.300s", s.error);
}
