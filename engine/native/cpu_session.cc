// cpu_session.cc: see cpu_session.h.
#include "cpu_session.h"

#include <algorithm>
#include <cstring>

#include "allowed_cpus.h"
#include "native_error.h"

namespace lathe {
namespace cpu {

namespace {

uint64_t u64(int64_t n) { return static_cast<uint64_t>(n); }

}  // namespace

template <class T>
Buffer<T> Session::take(uint64_t rows, uint64_t columns, const char *what)
{
    const uint64_t n = checked_mul(rows, columns, what);
    Buffer<T> b = zeroed<T>(n, what);
    workspace_bytes_ = checked_add(workspace_bytes_, n * sizeof(T), what);
    return b;
}

Session::Session(Model &model, const lathe_session_options &options)
    : model_(model), checker_(model.desc(), options), kv_(model.desc(), options),
      pool_(options.threads > 0 ? options.threads : allowed_cpus())
{
    context_.model = &model_;
    context_.kernels = find_kernels(options.isa);
    context_.kv = &kv_;
    context_.pool = &pool_;
    rope_ = model_.rope(checker_.max_positions());
    context_.rope = rope_.get();
    workspace_bytes_ = rope_->bytes();
    make_workspace(options);
    make_scratch(options);
    std::fill_n(op_ns_, LATHE_OPS, -1);
}

void Session::make_workspace(const lathe_session_options &options)
{
    const lathe_model_desc &d = model_.desc();
    StepContext &c = context_;
    const uint64_t rows = u64(options.max_rows), logits = u64(options.max_logits);
    const uint64_t q = u64(d.q_heads) * u64(d.head_dim), pair = u64(c.kernels->pair_bytes);
    c.x = take<float>(rows, u64(d.hidden), "residual stream");
    c.q = take<float>(rows, q, "queries");
    c.normed_panel = take<unsigned char>(rows, (u64(d.hidden) + 1) / 2 * pair, "workspace");
    c.attended_panel = take<unsigned char>(rows, q / 2 * pair, "workspace");
    c.hidden_panel = take<unsigned char>(rows, (u64(d.ffn) + 1) / 2 * pair, "workspace");
    c.logits = take<float>(logits, u64(d.vocab), "logits workspace");
    tokens_in_.assign(rows, 0);
    tokens_out_.assign(logits, 0);
    workspace_bytes_ += (rows + logits) * sizeof(int32_t);
}

void Session::make_scratch(const lathe_session_options &options)
{
    const lathe_model_desc &d = model_.desc();
    StepContext &c = context_;
    const uint64_t group = u64(d.q_heads / d.kv_heads), columns = u64(c.kernels->max_cols);
    c.run_tiles = std::max(kRunTiles, model_.head_units().tiles);
    c.scratch.resize(u64(pool_.threads()));
    for (Scratch &s : c.scratch) {
        s.tile_out = take<float>(columns, u64(c.run_tiles) * kTile, "thread scratch");
        s.normed = take<float>(1, u64(d.hidden), "thread scratch");
        s.panel = take<unsigned char>(u64(kOwnRows), (u64(d.hidden) + 1) / 2 * u64(c.kernels->pair_bytes),
                                      "thread scratch");
        s.weights = take<float>(group, kKeys, "thread scratch");
        s.max = take<float>(2, group, "thread scratch");
        s.sum = take<float>(2, group, "thread scratch");
        s.part = take<float>(group, u64(d.head_dim), "thread scratch");
        s.out = take<float>(group, u64(d.head_dim), "thread scratch");
        s.best.assign(u64(options.max_logits), Best{0, -1, true});
        workspace_bytes_ += u64(options.max_logits) * sizeof(Best);
    }
}

void Session::keep_residual(const BatchView &batch)
{
    context_.residual = nullptr;
    if ((batch.flags & LATHE_KEEP_RESIDUAL) == 0) return;
    const lathe_model_desc &d = model_.desc();
    const uint64_t n = checked_mul(u64(d.layers) + 2, u64(batch.rows) * u64(d.hidden), "kept residual");
    require_memory(checked_mul(n, sizeof(float), "kept residual"), "kept residual");
    residual_rows_ = 0;
    residual_.resize(n);
    residual_rows_ = batch.rows;
    context_.residual = residual_.data();
}

void Session::submit(const BatchView &batch)
{
    if (pending_) fail(LATHE_E_STATE, "submit: the last step was not waited for");
    checker_.check(batch, tokens_in_.data());
    finished_ = false;
    keep_residual(batch);
    n_want_ = batch.n_want;
    context_.batch = batch;
    context_.tokens = tokens_in_.data();
    std::fill_n(op_ns_, LATHE_OPS, -1);
    context_.op_ns = (batch.flags & LATHE_TIME_OPERATORS) != 0 ? op_ns_ : nullptr;
    pool_.run([](void *c, int32_t thread) { run_step(*static_cast<StepContext *>(c), thread); }, &context_);
    choose(batch);
    context_.batch = BatchView{}; /* the caller's arrays end with the call */
    pending_ = true;
    finished_ = true;
}

// Merges the threads' choices in the order of their tokens.
void Session::choose(const BatchView &batch)
{
    broken_row_ = -1;
    for (int32_t w = 0; w < batch.n_want; w++) {
        Best best = {-__builtin_inff(), -1, true};
        for (const Scratch &s : context_.scratch) {
            const Best &part = s.best[u64(w)];
            best.finite = best.finite && part.finite;
            if (part.value > best.value) {
                best.value = part.value;
                best.index = part.index;
            }
        }
        const int32_t row = batch.want_rows[w];
        tokens_out_[u64(w)] = best.index;
        if (best.finite) {
            checker_.chose(batch.seq[row], best.index);
        } else if (broken_row_ < 0) {
            broken_row_ = row;
            broken_sequence_ = batch.seq[row];
            broken_position_ = batch.pos[row];
        }
    }
}

void Session::wait(int32_t *tokens, int32_t cap, const int32_t *accepted, lathe_step_info *info)
{
    if (accepted != nullptr) fail(LATHE_E_UNSUPPORTED, "wait: the cpu backend has no speculation");
    if (info != nullptr && info->struct_size != sizeof(lathe_step_info))
        fail(LATHE_E_INVALID, "wait: step info has %u bytes, this backend expects %zu", info->struct_size,
             sizeof(lathe_step_info));
    if (cap < 0 || (cap > 0 && tokens == nullptr))
        fail(LATHE_E_INVALID, "wait: room for %d tokens at %s", cap, tokens ? "a buffer" : "NULL");
    if (info != nullptr) {
        info->graph = LATHE_GRAPH_NONE;
        info->device_ns = -1;
        for (int32_t i = 0; i < LATHE_OPS; i++) info->op_ns[i] = pending_ ? op_ns_[i] : -1;
    }
    if (!pending_) return;
    if (tokens != nullptr && cap < n_want_)
        fail(LATHE_E_INVALID, "wait: room for %d tokens, the step chose %d", cap, n_want_);
    pending_ = false;
    if (broken_row_ >= 0)
        fail(LATHE_E_NON_FINITE, "step: logits of row %d (sequence %d, position %d) are not finite", broken_row_,
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
    const uint64_t vocab = u64(model_.desc().vocab);
    std::memcpy(out, context_.logits.get() + u64(first) * vocab, u64(n) * vocab * sizeof(float));
}

void Session::residual(int32_t stage, float *out) const
{
    const int32_t last = model_.desc().layers + 1;
    if (pending_ || residual_rows_ == 0) fail(LATHE_E_STATE, "residual: no finished step kept its residual stream");
    if (stage < 0 || stage > last) fail(LATHE_E_INVALID, "residual: stage is %d, must be 0 to %d", stage, last);
    require(out, "residual: out");
    const uint64_t n = u64(residual_rows_) * u64(model_.desc().hidden);
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
    out->threads = pool_.threads();
    out->kv_bytes = kv_.bytes();
    out->page_bytes = kv_.page_bytes();
    out->workspace_bytes = workspace_bytes_ + residual_.capacity() * sizeof(float);
    write_text(out->path, sizeof out->path, context_.kernels->name);
}

}  // namespace cpu
}  // namespace lathe
