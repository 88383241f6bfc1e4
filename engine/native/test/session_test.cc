// session_test.cc: what a session promises around its steps: copies of pages, the
// fed-back token, kept residuals, refusals, and numbers that are not finite.
#include <cmath>
#include <cstring>
#include <utility>

#include "../operator.h"
#include "check.h"
#include "fixture.h"

using namespace lathe_test;

namespace {

const lathe_backend *cpu() { return lathe_cpu_backend(); }

}  // namespace

// Pages go out to the host, are overwritten, come back and move to other pages:
// the sequence goes on with the same bits.
TEST(session_copy_pages_round_trip)
{
    const Model m(cpu(), small_desc());
    const std::vector<int32_t> prompt = some_tokens(40, m.desc.vocab, 1);
    Session s(m, options(2, 16, ""));
    char err[400];
    s.step({{0, 0, prompt}});
    lathe_session_memory memory{};
    memory.struct_size = sizeof memory;
    CHECK(cpu()->session_memory(s.handle, &memory, err, sizeof err) == LATHE_OK);
    std::vector<unsigned char> host(3 * memory.page_bytes);
    CHECK(cpu()->copy_pages(s.handle, LATHE_PAGES_OUT, 3, s.page_table.data(), nullptr, host.data(), host.size(), err,
                            sizeof err) == LATHE_OK);
    const std::vector<float> want = s.step({{0, 40, {5}}});
    s.step({{0, 0, some_tokens(41, m.desc.vocab, 2)}});
    CHECK(!same_bits(want, s.step({{0, 40, {5}}})));
    CHECK(cpu()->copy_pages(s.handle, LATHE_PAGES_IN, 3, nullptr, s.page_table.data(), host.data(), host.size(), err,
                            sizeof err) == LATHE_OK);
    CHECK(same_bits(want, s.step({{0, 40, {5}}})));
    CHECK(cpu()->copy_pages(s.handle, LATHE_PAGES_WITHIN, 3, s.page_table.data(), s.page_table.data() + s.stride,
                            nullptr, 0, err, sizeof err) == LATHE_OK);
    CHECK(same_bits(want, s.step({{1, 40, {5}}})));
    CHECK(cpu()->copy_pages(s.handle, LATHE_PAGES_OUT, 3, s.page_table.data(), nullptr, host.data(), host.size() - 1,
                            err, sizeof err) == LATHE_E_INVALID);
}

TEST(session_feeds_its_token_back)
{
    const Model m(cpu(), small_desc());
    Session a(m, options(2, 16, "")), b(m, options(2, 16, ""));
    const std::vector<int32_t> prompt = some_tokens(20, m.desc.vocab, 1);
    a.step({{0, 0, prompt}});
    b.step({{0, 0, prompt}});
    for (int32_t i = 20; i < 30; i++) {
        const int32_t token = a.tokens.back();
        const std::vector<float> given = a.step({{0, i, {token}}}), fed = b.step({{0, i, {-1}}});
        CHECK(same_bits(given, fed));
    }
    b.step({{1, 0, {-1}}});
    CHECK(b.status == LATHE_E_INVALID);
}

// Stage 0 is the embedding; the last stage's product with the head is the logits.
TEST(session_keeps_the_residual_stream)
{
    const lathe_model_desc d = small_desc();
    const Model m(cpu(), d), reference(lathe_reference_backend(), d);
    lathe_session_options o = options(3, 16, "portable");
    o.kv_dtype = LATHE_F32;
    lathe_session_options plain = o;
    plain.isa[0] = '\0';
    Session s(m, o), r(reference, plain);
    const std::vector<int32_t> prompt = some_tokens(21, d.vocab, 1);
    CHECK(same_bits(s.step({{0, 0, prompt}}, LATHE_KEEP_RESIDUAL), s.step({{0, 0, prompt}})));
    r.step({{0, 0, prompt}}, LATHE_KEEP_RESIDUAL);
    std::vector<float> got(21 * static_cast<size_t>(d.hidden)), want = got;
    char err[400];
    for (int32_t stage = 0; stage <= d.layers + 1; stage++) {
        CHECK(cpu()->residual(s.handle, stage, got.data(), err, sizeof err) == LATHE_OK);
        CHECK(reference.backend->residual(r.handle, stage, want.data(), err, sizeof err) == LATHE_OK);
        double difference = 0, size = 0;
        for (size_t i = 0; i < got.size(); i++) {
            difference += std::pow(static_cast<double>(got[i]) - want[i], 2);
            size += std::pow(static_cast<double>(want[i]), 2);
        }
        CHECK_MSG(std::sqrt(difference / size) <= 2e-5, "stage %d: relative difference %g", stage,
                  std::sqrt(difference / size));
        if (stage == 0) CHECK(difference == 0);
    }
    CHECK(cpu()->residual(s.handle, d.layers + 2, got.data(), err, sizeof err) == LATHE_E_INVALID);
}

TEST(session_times_operators_when_asked)
{
    const Model m(cpu(), small_desc());
    Session s(m, options(2, 16, ""));
    s.step({{0, 0, some_tokens(8, m.desc.vocab, 1)}});
    for (const int64_t ns : s.info.op_ns) CHECK(ns == -1);
    CHECK(s.info.device_ns == -1 && s.info.graph == LATHE_GRAPH_NONE);
    s.step({{0, 8, {1}}}, LATHE_TIME_OPERATORS);
    for (const int op : {LATHE_OP_NORM_QKV_ROPE_APPEND, LATHE_OP_ATTN_DECODE, LATHE_OP_O_ADD,
                         LATHE_OP_NORM_GATE_UP_SILU, LATHE_OP_DOWN_ADD, LATHE_OP_NORM_HEAD_ARGMAX})
        CHECK_MSG(s.info.op_ns[op] >= 0, "operator %d has no time", op);
    CHECK(s.info.op_ns[LATHE_OP_ATTN_PREFILL] == -1 && s.info.op_ns[LATHE_OP_GEMM_O] == -1);
}

TEST(session_refuses_by_name)
{
    const Model m(cpu(), small_desc());
    for (const char *isa : {"avx2", "avx512", "sse9"}) {
        Session s(m, options(1, 16, isa));
        CHECK(s.status == LATHE_E_UNSUPPORTED && s.handle == nullptr);
        CHECK_MSG(strstr(s.error, isa) != nullptr && strstr(s.error, "portable") != nullptr, "%.300s", s.error);
    }
    lathe_session_options huge = options(1, 256, "");
    huge.pages = 1 << 30;
    Session s(m, huge);
    CHECK(s.status == LATHE_E_MEMORY);
    CHECK_MSG(strstr(s.error, "bytes") != nullptr, "%.300s", s.error);
    Session ok(m, options(1, 16, ""));
    CHECK(ok.status == LATHE_OK);
    char err[400];
    int64_t ns = 0;
    CHECK(cpu()->op_run(ok.handle, "silu_mul", nullptr, nullptr, 0, 1, &ns, err, sizeof err) == LATHE_E_INVALID);
    const Model reference(lathe_reference_backend(), small_desc());
    Session oracle(reference, options(1, 16, ""), {builtin("gemm.down")});
    CHECK(oracle.status == LATHE_E_UNSUPPORTED && strstr(oracle.error, "gemm.down") != nullptr);
}

// A NaN weight of q_proj reaches the logits of every path and is named by row.
TEST(session_reports_logits_that_are_not_finite)
{
    const lathe_model_desc d = small_desc();
    for (const std::string &path : paths()) {
        std::vector<float> inv_freq(static_cast<size_t>(d.head_dim) / 2, 0.5f);
        lathe_model *handle = nullptr;
        char err[400] = "";
        Model good(cpu(), d);
        CHECK(cpu()->model_create(&d, inv_freq.data(), &handle, err, sizeof err) == LATHE_OK);
        std::swap(handle, good.handle);
        std::vector<float> q(static_cast<size_t>(d.q_heads * d.head_dim * d.hidden), 0.01f);
        q[777] = NAN;
        for (int32_t layer = -1; layer < d.layers; layer++)
            for (int32_t role = 0; role <= LATHE_HEAD; role++) {
                const bool global = role == LATHE_EMBED || role == LATHE_NORM_FINAL || role == LATHE_HEAD;
                if (global != (layer == -1)) continue;
                const int32_t wide = role == LATHE_Q ? d.q_heads * d.head_dim : d.kv_heads * d.head_dim;
                const bool norm = role == LATHE_NORM_ATTN || role == LATHE_NORM_FFN || role == LATHE_NORM_FINAL;
                const int32_t rows = norm ? 1
                                     : role == LATHE_EMBED || role == LATHE_HEAD ? d.vocab
                                     : role == LATHE_GATE || role == LATHE_UP    ? d.ffn
                                     : role == LATHE_O || role == LATHE_DOWN     ? d.hidden
                                                                                 : wide;
                const int32_t cols = role == LATHE_O      ? d.q_heads * d.head_dim
                                     : role == LATHE_DOWN ? d.ffn
                                                          : d.hidden;
                const bool bad = role == LATHE_Q && layer == 1;
                CHECK(cpu()->model_set_tensor(good.handle, role, layer, LATHE_F32, rows, cols,
                                              bad ? q.data() : nullptr, 1, norm ? 0.0f : 0.05f, err, sizeof err) ==
                      LATHE_OK);
            }
        CHECK(cpu()->model_ready(good.handle, err, sizeof err) == LATHE_OK);
        {
            Session s(good, options(2, 16, path.c_str()));
            s.step({{0, 0, {1, 2, 3}}});
            CHECK_MSG(s.status == LATHE_E_NON_FINITE, "%s: status %d", path.c_str(), s.status);
            CHECK_MSG(strstr(s.error, "row 0") != nullptr && strstr(s.error, "not finite") != nullptr, "%.300s", s.error);
        }
        cpu()->model_close(handle);
    }
}

TEST(session_memory_names_path_and_threads)
{
    const Model m(cpu(), small_desc());
    for (const std::string &path : paths()) {
        Session s(m, options(3, 32, path.c_str()));
        lathe_session_memory memory{};
        memory.struct_size = sizeof memory;
        char err[400];
        CHECK(cpu()->session_memory(s.handle, &memory, err, sizeof err) == LATHE_OK);
        CHECK(path == memory.path && memory.threads == 3);
        CHECK(memory.page_bytes == 2u * 2 * 2 * 16 * 32 * 2 && memory.kv_bytes == 32 * memory.page_bytes);
        CHECK(memory.workspace_bytes > 256u * 203 * 4);
    }
    char json[1000], err[400];
    CHECK(cpu()->device_info(-1, json, sizeof json, err, sizeof err) == LATHE_OK);
    CHECK(strstr(json, "\"paths\":[") != nullptr && strstr(json, "\"memory_bytes\":") != nullptr);
    CHECK(cpu()->device_info(-1, json, 20, err, sizeof err) == LATHE_E_INVALID);
}
