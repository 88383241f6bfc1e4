// reference_session.cc: everything of a session but the arithmetic; see
// reference_session.h.
#include "reference_session.h"

#include <algorithm>

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
      threads_(options.threads > 0 ? options.threads : allowed_cpus()),
      results_("reference", model.desc(), options), max_logits_(options.max_logits)
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
    workspace_bytes_ += rows * sizeof(int32_t);
}

void Session::submit(const BatchView &batch)
{
    results_.require_waited();
    checker_.check(batch, tokens_in_.data());
    results_.begin(batch);
    rows_ = batch.rows;
    n_want_ = batch.n_want;
    forward(batch);
    results_.end();
}

void Session::wait(int32_t *tokens, int32_t cap, const int32_t *accepted, lathe_step_info *info)
{
    results_.wait(tokens, cap, accepted, info, nullptr);
}

void Session::logits(int32_t first, int32_t n, float *out) const { results_.copy_logits(first, n, logits_.get(), out); }

void Session::residual(int32_t stage, float *out) const { results_.copy_residual(stage, out); }

void Session::copy_pages(int32_t direction, int32_t n, const int32_t *from, const int32_t *to, void *host,
                         uint64_t host_bytes)
{
    results_.copy_pages(kv_, direction, n, from, to, host, host_bytes);
}

void Session::memory(lathe_session_memory *out) const
{
    out->threads = threads_.count();
    out->kv_bytes = kv_.bytes();
    out->page_bytes = kv_.page_bytes();
    out->workspace_bytes = workspace_bytes_ + results_.bytes();
    write_text(out->path, sizeof out->path, "reference");
}

}  // namespace reference
}  // namespace lathe
