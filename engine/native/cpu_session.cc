// cpu_session.cc: see cpu_session.h.
#include "cpu_session.h"

#include <algorithm>

#include "allowed_cpus.h"
#include "cpu_device.h"
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

Session::Session(Model &model, const lathe_session_options &options, const lathe_override *overrides, int32_t n)
    : model_(model), checker_(model.desc(), options), kv_(model.desc(), options),
      pool_(options.threads > 0 ? options.threads : allowed_cpus()), results_("cpu", model.desc(), options),
      deterministic_(options.deterministic != 0)
{
    context_.model = &model_;
    context_.kernels = find_kernels(options.isa);
    context_.kv = &kv_;
    context_.pool = &pool_;
    rope_ = model_.rope(checker_.max_positions());
    context_.rope = rope_.get();
    workspace_bytes_ = rope_->bytes();
    if (n > 0)
        overrides_.reset(new Overrides(*context_.kernels, overrides, n, pool_.threads(), deterministic_));
    make_workspace(options);
    make_scratch(options);
    if (n > 0) overrides_->prepare(model_, options, context_, checker_.max_positions());
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
    c.q_base = c.q.get();
    c.q_stride = static_cast<int64_t>(q);
    c.normed_panel = take<unsigned char>(rows, (u64(d.hidden) + 1) / 2 * pair, "workspace");
    c.attended_panel = take<unsigned char>(rows, q / 2 * pair, "workspace");
    c.hidden_panel = take<unsigned char>(rows, (u64(d.ffn) + 1) / 2 * pair, "workspace");
    c.logits = take<float>(logits, u64(d.vocab), "logits workspace");
    tokens_in_.assign(rows, 0);
    workspace_bytes_ += rows * sizeof(int32_t);
}

void Session::make_scratch(const lathe_session_options &options)
{
    const lathe_model_desc &d = model_.desc();
    StepContext &c = context_;
    const uint64_t group = u64(d.q_heads / d.kv_heads), columns = u64(c.kernels->max_cols);
    /* A replaced step may make its own panel of any activations. */
    const uint64_t q = u64(d.q_heads) * u64(d.head_dim);
    const uint64_t widest = overrides_ == nullptr ? u64(d.hidden) : std::max({u64(d.hidden), q, u64(d.ffn)});
    c.run_tiles = std::max(kRunTiles, model_.head_units().tiles);
    c.scratch.resize(u64(pool_.threads()));
    for (Scratch &s : c.scratch) {
        s.tile_out = take<float>(columns, u64(c.run_tiles) * kTile, "thread scratch");
        s.normed = take<float>(1, u64(d.hidden), "thread scratch");
        s.panel = take<unsigned char>(u64(kOwnRows), (widest + 1) / 2 * u64(c.kernels->pair_bytes), "thread scratch");
        s.weights = take<float>(group, kKeys, "thread scratch");
        s.max = take<float>(2, group, "thread scratch");
        s.sum = take<float>(2, group, "thread scratch");
        s.part = take<float>(group, u64(d.head_dim), "thread scratch");
        s.out = take<float>(group, u64(d.head_dim), "thread scratch");
        s.best.assign(u64(options.max_logits), Best{0, -1, true});
        workspace_bytes_ += u64(options.max_logits) * sizeof(Best);
    }
}

void Session::submit(const BatchView &batch)
{
    results_.require_waited();
    checker_.check(batch, tokens_in_.data());
    results_.begin(batch);
    context_.residual = results_.residual();
    context_.batch = batch;
    context_.tokens = tokens_in_.data();
    std::fill_n(op_ns_, LATHE_OPS, -1);
    context_.op_ns = (batch.flags & LATHE_TIME_OPERATORS) != 0 ? op_ns_ : nullptr;
    if (overrides_ != nullptr) {
        overrides_->failure.clear();
        overrides_->sort_rows(context_);
    }
    pool_.run([](void *c, int32_t thread) { run_step(*static_cast<StepContext *>(c), thread); }, &context_);
    context_.batch = BatchView{}; /* the caller's arrays end with the call */
    if (overrides_ != nullptr) overrides_->failure.raise("step");
    choose(batch);
    results_.end();
}

// Merges the threads' choices in the order of their tokens.
void Session::choose(const BatchView &batch)
{
    const bool replaced = overrides_ != nullptr && overrides_->slot(LATHE_OP_NORM_HEAD_ARGMAX) != nullptr;
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
        const int32_t token = replaced ? overrides_->token[u64(w)] : best.index;
        if (replaced && (token < 0 || token >= model_.desc().vocab) && best.finite)
            fail(LATHE_E_INTERNAL, "step: operator norm_head_argmax chose token %d in row %d, must be 0 to %d", token,
                 batch.want_rows[w], model_.desc().vocab - 1);
        results_.chose(batch, w, token, best.finite, &checker_);
    }
}

void Session::wait(int32_t *tokens, int32_t cap, const int32_t *accepted, lathe_step_info *info)
{
    results_.wait(tokens, cap, accepted, info, op_ns_);
}

void Session::logits(int32_t first, int32_t n, float *out) const
{
    results_.copy_logits(first, n, context_.logits.get(), out);
}

void Session::residual(int32_t stage, float *out) const { results_.copy_residual(stage, out); }

void Session::copy_pages(int32_t direction, int32_t n, const int32_t *from, const int32_t *to, void *host,
                         uint64_t host_bytes)
{
    results_.copy_pages(kv_, direction, n, from, to, host, host_bytes);
}

void Session::run_operator(const OperatorRun &run)
{
    results_.require_idle("operator");
    cpu::run_operator(*context_.kernels, pool_, deterministic_, run, last_level_cache());
}

void Session::memory(lathe_session_memory *out) const
{
    out->threads = pool_.threads();
    out->kv_bytes = kv_.bytes();
    out->page_bytes = kv_.page_bytes();
    out->workspace_bytes = workspace_bytes_ + results_.bytes() + (overrides_ != nullptr ? overrides_->bytes() : 0);
    write_text(out->path, sizeof out->path, context_.kernels->name);
}

}  // namespace cpu
}  // namespace lathe
