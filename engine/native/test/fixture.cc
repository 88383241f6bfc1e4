// fixture.cc: see fixture.h.
#include "fixture.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "../cpu_kernels.h"
#include "../model_check.h"

namespace lathe_test {

lathe_model_desc small_desc(int32_t head_dim)
{
    lathe_model_desc d{};
    d.struct_size = sizeof d;
    d.vocab = 203;
    d.hidden = 72;
    d.layers = 2;
    d.q_heads = 6;
    d.kv_heads = 2;
    d.head_dim = head_dim;
    d.ffn = 88;
    d.max_position = 512;
    d.rms_eps = 1e-5f;
    d.rope_scale = 1.0f;
    return d;
}

namespace {

void must(int32_t status, const char *error)
{
    if (status == LATHE_OK) return;
    printf("fixture: status %d: %s\n", status, error);
    std::abort();
}

}  // namespace

Model::Model(const lathe_backend *b, const lathe_model_desc &d, uint64_t seed, float std) : backend(b), desc(d)
{
    char err[400] = "";
    std::vector<float> inv_freq;
    for (int32_t i = 0; i < d.head_dim / 2; i++)
        inv_freq.push_back(static_cast<float>(std::pow(10000.0, -2.0 * i / d.head_dim)));
    must(b->model_create(&desc, inv_freq.data(), &handle, err, sizeof err), err);
    for (int32_t layer = -1; layer < d.layers; layer++)
        for (int32_t role = 0; role < LATHE_ROLES; role++) {
            if (lathe::role_is_global(role) != (layer == -1) || !lathe::role_exists(d, role)) continue;
            const lathe::TensorShape s = lathe::role_shape(d, role);
            const bool ones = role == LATHE_NORM_ATTN || role == LATHE_NORM_FFN || role == LATHE_NORM_FINAL;
            must(b->model_set_tensor(handle, role, layer, LATHE_BF16, s.rows, s.cols, nullptr, seed, ones ? 0 : std,
                                     err, sizeof err),
                 err);
        }
    must(b->model_ready(handle, err, sizeof err), err);
}

Model::~Model() { backend->model_close(handle); }

lathe_session_options options(int32_t threads, int32_t page_size, const char *isa)
{
    lathe_session_options o{};
    o.struct_size = sizeof o;
    o.threads = threads;
    o.page_size = page_size;
    o.pages = std::max(4, 1024 / page_size);
    o.max_rows = 256;
    o.max_sequences = 4;
    o.max_logits = 256;
    o.kv_dtype = LATHE_BF16;
    o.deterministic = 1;
    o.device = -1;
    snprintf(o.isa, sizeof o.isa, "%s", isa);
    return o;
}

lathe_override builtin(const char *op)
{
    lathe_override o{};
    o.struct_size = sizeof o;
    o.kind = LATHE_OVERRIDE_BUILTIN;
    o.op = op;
    return o;
}

lathe_override function(const char *op, void *address)
{
    lathe_override o = builtin(op);
    o.kind = LATHE_OVERRIDE_FUNCTION;
    o.function = address;
    return o;
}

Session::Session(const Model &m, const lathe_session_options &o, const std::vector<lathe_override> &overrides)
    : model(m), opened(o)
{
    status = m.backend->session_open(m.handle, &o, overrides.data(), static_cast<int32_t>(overrides.size()), &handle,
                                     error, sizeof error);
    if (status != LATHE_OK) return;
    /* Sequence s owns every max_sequences-th page, from the last one down. */
    stride = o.pages / o.max_sequences;
    for (int32_t s = 0; s < o.max_sequences; s++)
        for (int32_t p = 0; p < stride; p++) page_table.push_back(o.pages - 1 - (p * o.max_sequences + s));
}

Session::~Session()
{
    if (handle != nullptr) model.backend->session_close(handle);
}

std::vector<float> Session::step(const std::vector<Piece> &pieces, uint32_t flags)
{
    std::vector<int32_t> token, seq, pos, want;
    for (const Piece &p : pieces)
        for (size_t i = 0; i < p.tokens.size(); i++) {
            want.push_back(static_cast<int32_t>(token.size()));
            token.push_back(p.tokens[i]);
            seq.push_back(p.sequence);
            pos.push_back(p.first + static_cast<int32_t>(i));
        }
    const int32_t rows = static_cast<int32_t>(token.size());
    const lathe_backend *b = model.backend;
    status = b->submit(handle, rows, token.data(), seq.data(), pos.data(), opened.max_sequences, page_table.data(),
                       stride, rows, want.data(), flags, error, sizeof error);
    if (status != LATHE_OK) return {};
    tokens.assign(token.size(), -1);
    info.struct_size = sizeof info;
    status = b->wait(handle, tokens.data(), rows, nullptr, &info, error, sizeof error);
    if (status != LATHE_OK) return {};
    std::vector<float> logits(token.size() * static_cast<size_t>(model.desc.vocab));
    status = b->logits(handle, 0, rows, logits.data(), error, sizeof error);
    return logits;
}

std::vector<int32_t> some_tokens(int32_t n, int32_t vocab, uint64_t seed)
{
    std::vector<int32_t> out;
    for (int32_t i = 0; i < n; i++)
        out.push_back(static_cast<int32_t>(lathe_splitmix64(seed + static_cast<uint64_t>(i)) %
                                           static_cast<uint64_t>(vocab)));
    return out;
}

std::vector<std::string> paths()
{
    std::vector<std::string> out;
    for (const lathe::cpu::Kernels *const *p = lathe::cpu::kernel_paths(); *p != nullptr; p++)
        if ((*p)->runs_here()) out.push_back((*p)->name);
    return out;
}

bool same_bits(const std::vector<float> &a, const std::vector<float> &b)
{
    return a.size() == b.size() && !a.empty() && std::memcmp(a.data(), b.data(), a.size() * sizeof(float)) == 0;
}

}  // namespace lathe_test
