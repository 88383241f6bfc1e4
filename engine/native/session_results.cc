// session_results.cc: see session_results.h.
#include "session_results.h"

#include <algorithm>

#include "memory_size.h"
#include "native_error.h"

namespace lathe {

namespace {

uint64_t u64(int64_t n) { return static_cast<uint64_t>(n); }

}  // namespace

void check_struct_size(const void *out, uint32_t has, size_t wants, const char *what)
{
    require(out, what);
    if (has != wants) fail(LATHE_E_INVALID, "%s has %u bytes, this backend expects %zu", what, has, wants);
}

StepResults::StepResults(const char *backend, const lathe_model_desc &desc, const lathe_session_options &options)
    : backend_(backend), vocab_(desc.vocab), hidden_(desc.hidden), layers_(desc.layers)
{
    require_memory(u64(options.max_logits) * sizeof(int32_t), "chosen tokens");
    tokens_.assign(u64(options.max_logits), 0);
}

uint64_t StepResults::bytes() const
{
    return tokens_.size() * sizeof(int32_t) + residual_.capacity() * sizeof(float);
}

void StepResults::require_waited() const
{
    if (pending_) fail(LATHE_E_STATE, "submit: the last step was not waited for");
}

void StepResults::require_idle(const char *what) const
{
    if (pending_) fail(LATHE_E_STATE, "%s: a step is running, call wait first", what);
}

void StepResults::begin(const BatchView &batch)
{
    finished_ = false;
    broken_row_ = -1;
    n_want_ = batch.n_want;
    keeping_ = (batch.flags & LATHE_KEEP_RESIDUAL) != 0;
    if (!keeping_) return;
    const uint64_t n = checked_mul(u64(layers_) + 2, u64(batch.rows) * u64(hidden_), "kept residual");
    require_memory(checked_mul(n, sizeof(float), "kept residual"), "kept residual");
    residual_rows_ = 0;
    residual_.resize(n);
    residual_rows_ = batch.rows;
}

void StepResults::chose(const BatchView &batch, int32_t w, int32_t token, bool finite, BatchChecker *checker)
{
    const int32_t row = batch.want_rows[w];
    tokens_[u64(w)] = token;
    if (finite) {
        checker->chose(batch.seq[row], token);
    } else if (broken_row_ < 0) {
        broken_row_ = row;
        broken_sequence_ = batch.seq[row];
        broken_position_ = batch.pos[row];
    }
}

void StepResults::end() { pending_ = finished_ = true; }

void StepResults::check_wait(const int32_t *tokens, int32_t cap, const int32_t *accepted,
                             const lathe_step_info *info) const
{
    if (accepted != nullptr) fail(LATHE_E_UNSUPPORTED, "wait: the %s backend has no speculation", backend_);
    if (info != nullptr) check_struct_size(info, info->struct_size, sizeof(lathe_step_info), "wait: step info");
    if (cap < 0 || (cap > 0 && tokens == nullptr))
        fail(LATHE_E_INVALID, "wait: room for %d tokens at %s", cap, tokens ? "a buffer" : "NULL");
}

void StepResults::wait(int32_t *tokens, int32_t cap, const int32_t *accepted, lathe_step_info *info,
                       const int64_t *op_ns)
{
    check_wait(tokens, cap, accepted, info);
    if (info != nullptr) {
        info->graph = LATHE_GRAPH_NONE;
        info->device_ns = -1;
        for (int32_t i = 0; i < LATHE_OPS; i++) info->op_ns[i] = pending_ && op_ns != nullptr ? op_ns[i] : -1;
    }
    if (!pending_) return;
    if (tokens != nullptr && cap < n_want_)
        fail(LATHE_E_INVALID, "wait: room for %d tokens, the step chose %d", cap, n_want_);
    pending_ = false;
    if (broken_row_ >= 0)
        fail(LATHE_E_NON_FINITE, "step: a logit of row %d (sequence %d, position %d) is not finite", broken_row_,
             broken_sequence_, broken_position_);
    if (tokens != nullptr) std::copy_n(tokens_.data(), n_want_, tokens);
}

void StepResults::copy_logits(int32_t first, int32_t n, const float *logits, float *out) const
{
    if (pending_ || !finished_) fail(LATHE_E_STATE, "logits: no finished step, call wait first");
    if (first < 0 || n < 0 || int64_t{first} + n > n_want_)
        fail(LATHE_E_INVALID, "logits: rows %d to %lld of %d wanted rows", first,
             static_cast<long long>(int64_t{first} + n - 1), n_want_);
    if (n == 0) return;
    require(out, "logits: out");
    const uint64_t row = u64(vocab_);
    std::memcpy(out, logits + u64(first) * row, u64(n) * row * sizeof(float));
}

void StepResults::copy_residual(int32_t stage, float *out) const
{
    if (pending_ || residual_rows_ == 0) fail(LATHE_E_STATE, "residual: no finished step kept its residual stream");
    if (stage < 0 || stage > layers_ + 1)
        fail(LATHE_E_INVALID, "residual: stage is %d, must be 0 to %d", stage, layers_ + 1);
    require(out, "residual: out");
    const uint64_t n = u64(residual_rows_) * u64(hidden_);
    std::memcpy(out, residual_.data() + u64(stage) * n, n * sizeof(float));
}

}  // namespace lathe
