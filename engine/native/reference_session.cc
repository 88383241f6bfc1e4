// reference_session.cc: everything of a session but the arithmetic; see
// reference_session.h.
#include "reference_session.h"

#include <algorithm>
#include <cstring>

#include "allowed_cpus.h"
#include "native_error.h"

namespace lathe {
namespace reference {

namespace {

uint64_t u64(int64_t n) { return static_cast<uint64_t>(n); }

}  // namespace

Buffer<float> Session::floats(uint64_t rows, uint64_t columns, const char *what)
{
    const uint64_t n = checked_mul(rows, columns, what);
    Buffer<float> b = zeroed<float>(n, what);
    workspace_bytes_ = checked_add(workspace_bytes_, n * sizeof(float), what);
    return b;
}

Session::Session(const Model &model, const lathe_session_options &options)
    : model_(model), desc_(model.desc()), checker_(model.desc(), options), kv_(model.desc(), options),
      threads_(options.threads > 0 ? options.threads : allowed_cpus()), max_logits_(options.max_logits)
{
    const uint64_t rows = u64(options.max_rows), hidden = u64(desc_.hidden), ffn = u64(desc_.ffn);
    const uint64_t q = u64(desc_.q_heads) * u64(desc_.head_dim), kv = u64(desc_.kv_heads) * u64(desc_.head_dim);
    x_ = floats(rows, hidden, "workspace");
    normed_ = floats(rows, hidden, "workspace");
    q_ = floats(rows, q, "workspace");
    k_ = floats(rows, kv, "workspace");
    v_ = floats(rows, kv, "workspace");
    attended_ = floats(rows, q, "workspace");
    gate_ = floats(rows, ffn, "workspace");
    up_ = floats(rows, ffn, "workspace");
    cosines_ = floats(rows, u64(desc_.head_dim / 2), "workspace");
    sines_ = floats(rows, u64(desc_.head_dim / 2), "workspace");
    wanted_ = floats(u64(max_logits_), hidden, "logits workspace");
    logits_ = floats(u64(max_logits_), u64(desc_.vocab), "logits workspace");
    scratch_stride_ = std::max({hidden, q, ffn, u64(2 * int64_t{desc_.head_dim})});
    scratch_ = floats(u64(threads_.count()), scratch_stride_, "workspace");
    scores_stride_ = u64(checker_.max_positions());
    scores_ = floats(u64(threads_.count()), scores_stride_, "attention scores");
    tokens_in_.assign(rows, 0);
    tokens_out_.assign(u64(max_logits_), 0);
    workspace_bytes_ += (rows + u64(max_logits_)) * sizeof(int32_t);
}

void Session::submit(const BatchView &batch)
{
    if (pending_) fail(LATHE_E_STATE, "submit: the last step was not waited for");
    checker_.check(batch, tokens_in_.data());
    finished_ = false;
    rows_ = batch.rows;
    n_want_ = batch.n_want;
    keeping_ = (batch.flags & LATHE_KEEP_RESIDUAL) != 0;
    if (keeping_) {
        const uint64_t n = checked_mul(u64(desc_.layers) + 2, u64(rows_) * u64(desc_.hidden), "kept residual");
        require_memory(checked_mul(n, sizeof(float), "kept residual"), "kept residual");
        residual_rows_ = 0;
        residual_.resize(n);
        residual_rows_ = rows_;
    }
    forward(batch);
    pending_ = true;
    finished_ = true;
}

void Session::wait(int32_t *tokens, int32_t cap, const int32_t *accepted, lathe_step_info *info)
{
    if (accepted != nullptr) fail(LATHE_E_UNSUPPORTED, "wait: the reference backend has no speculation");
    if (info != nullptr && info->struct_size != sizeof(lathe_step_info))
        fail(LATHE_E_INVALID, "wait: step info has %u bytes, this backend expects %zu", info->struct_size,
             sizeof(lathe_step_info));
    if (cap < 0 || (cap > 0 && tokens == nullptr))
        fail(LATHE_E_INVALID, "wait: room for %d tokens at %s", cap, tokens ? "a buffer" : "NULL");
    if (info != nullptr) {
        info->graph = LATHE_GRAPH_NONE;
        info->device_ns = -1;
        for (int64_t &ns : info->op_ns) ns = -1;
    }
    if (!pending_) return;
    if (tokens != nullptr && cap < n_want_)
        fail(LATHE_E_INVALID, "wait: room for %d tokens, the step chose %d", cap, n_want_);
    pending_ = false;
    if (broken_row_ >= 0)
        fail(LATHE_E_NON_FINITE, "step: a logit of row %d (sequence %d, position %d) is not finite", broken_row_,
             broken_sequence_, broken_position_);
    if (tokens != nullptr) std::copy_n(tokens_out_.data(), n_want_, tokens);
}

void Session::logits(int32_t first, int32_t n, float *out) const
{
    if (pending_ || !finished_) fail(LATHE_E_STATE, "logits: no finished step, call wait first");
    if (first < 0 || n < 0 || int64_t{first} + n > n_want_)
        fail(LATHE_E_INVALID, "logits: rows %d to %lld of %d wanted rows", first,
             static_cast<long long>(int64_t{first} + n - 1), n_want_);
    if (n == 0) return;
    require(out, "logits: out");
    const uint64_t vocab = u64(desc_.vocab);
    std::memcpy(out, logits_.get() + u64(first) * vocab, u64(n) * vocab * sizeof(float));
}

void Session::residual(int32_t stage, float *out) const
{
    if (pending_ || residual_rows_ == 0) fail(LATHE_E_STATE, "residual: no finished step kept its residual stream");
    if (stage < 0 || stage > desc_.layers + 1)
        fail(LATHE_E_INVALID, "residual: stage is %d, must be 0 to %d", stage, desc_.layers + 1);
    require(out, "residual: out");
    const uint64_t n = u64(residual_rows_) * u64(desc_.hidden);
    std::memcpy(out, residual_.data() + u64(stage) * n, n * sizeof(float));
}

void Session::copy_pages(int32_t direction, int32_t n, const int32_t *from, const int32_t *to, void *host,
                         uint64_t host_bytes)
{
    if (pending_) fail(LATHE_E_STATE, "copy pages: a step is running, call wait first");
    const uint64_t size = kv_.page_bytes();
    check_copy_pages(direction, n, from, to, host, host_bytes, kv_.pages(), size);
    unsigned char *packed = static_cast<unsigned char *>(host);
    for (int32_t i = 0; i < n; i++) {
        if (direction == LATHE_PAGES_WITHIN)
            std::memmove(kv_.page(to[i]), kv_.page(from[i]), size);
        else if (direction == LATHE_PAGES_OUT)
            std::memcpy(packed + u64(i) * size, kv_.page(from[i]), size);
        else
            std::memcpy(kv_.page(to[i]), packed + u64(i) * size, size);
    }
}

void Session::memory(lathe_session_memory *out) const
{
    require(out, "session memory");
    if (out->struct_size != sizeof(lathe_session_memory))
        fail(LATHE_E_INVALID, "session memory has %u bytes, this backend expects %zu", out->struct_size,
             sizeof(lathe_session_memory));
    out->threads = threads_.count();
    out->kv_bytes = kv_.bytes();
    out->page_bytes = kv_.page_bytes();
    out->workspace_bytes = workspace_bytes_;
    write_text(out->path, sizeof out->path, "reference");
}

}  // namespace reference
}  // namespace lathe
