// cpu_unfused.cc: the parts of a step whose operators are replaced. Every thread comes
// to every meeting, whether a call was skipped or not.
#include "cpu_overrides.h"
#include "cpu_product.h"
#include "cpu_step.h"

namespace lathe {
namespace cpu {

void StepContext::store_rows(unsigned char *rows, int32_t columns, int64_t r, int32_t k0, int32_t n, const float *x) const
{
    const int64_t at = r * columns + k0;
    if (kernels->activation == LATHE_F32)
        std::copy_n(x, n, reinterpret_cast<float *>(rows) + at);
    else
        kernels->narrow(x, n, reinterpret_cast<uint16_t *>(rows) + at);
}

namespace {

// This thread's share of one operator's call.
template <class Args>
void call(StepContext &c, int32_t op, int32_t layer, int32_t thread, const Args &args)
{
    SlotFailure &failure = c.overrides->failure;
    if (failure.failed()) return;
    const int code = c.overrides->slot(op)->call(thread, args);
    if (code != 0) failure.note(op, layer, thread, code);
}

// Row-major activations as the panel that packed weights meet: each thread its own
// when few rows, else together, with a meeting.
const void *panel_of(StepContext &c, int32_t thread, const Rows &rows, int32_t n, void *shared)
{
    const PanelShape shape = c.panel(n, rows.columns);
    const bool own = n <= kOwnRows;
    Scratch &s = c.scratch[static_cast<size_t>(thread)];
    void *panel = own ? s.panel.get() : shared;
    const Range mine = own ? Range{0, n} : share(n, thread, c.pool->threads());
    float wide[256];
    for (int32_t r = static_cast<int32_t>(mine.first); r < mine.last; r++) {
        const PanelRow to = panel_row(panel, shape, r);
        const int64_t at = int64_t{r} * rows.columns;
        for (int32_t k = 0; k < rows.columns; k += 256) {
            const int32_t count = std::min(256, rows.columns - k);
            const float *x = reinterpret_cast<const float *>(rows.data.get()) + at + k;
            if (c.kernels->activation != LATHE_F32) {
                widen_bf16(reinterpret_cast<const uint16_t *>(rows.data.get()) + at + k, count, wide);
                x = wide;
            }
            c.kernels->store(to, k, count, x);
        }
    }
    if (!own) c.pool->barrier();
    return panel;
}

// q, k and v of the normalised rows by the packed weights, row-major.
void packed_qkv(StepContext &c, int32_t layer, int32_t thread)
{
    Overrides &o = *c.overrides;
    const Layer &l = c.model->layer(layer);
    const HeadUnits &units = c.model->head_units();
    const int32_t dim = c.model->desc().head_dim, step = units.tiles * kTile;
    const void *panel = panel_of(c, thread, o.normed, c.rows(), c.normed_panel.get());
    product(c, c.scratch[static_cast<size_t>(thread)], l.qkv, panel, c.panel(c.rows(), o.normed.columns), units.tiles,
            share(l.qkv.tiles / units.tiles, thread, c.pool->threads()),
            [&](int32_t row, int64_t unit, int32_t n, float *values) {
                for (int32_t i = 0; i < n; i++, values += step) {
                    const int64_t head = (unit + i) / units.per_head, pair = (unit + i) % units.per_head * units.width;
                    const int64_t first = head * dim + pair;
                    if (l.qkv_bias != nullptr) {
                        add_to(values, l.qkv_bias + first, units.width);
                        add_to(values + units.high, l.qkv_bias + first + units.half, units.width);
                    }
                    float *out = o.qkv.get() + row * c.q_stride + first;
                    std::copy_n(values, units.width, out);
                    std::copy_n(values + units.high, units.width, out + units.half);
                }
            });
}

// gate and up of the normalised rows by the packed weights, row-major.
void packed_gate_up(StepContext &c, int32_t layer, int32_t thread)
{
    Overrides &o = *c.overrides;
    const Layer &l = c.model->layer(layer);
    const int64_t ffn = c.model->desc().ffn;
    const void *panel = panel_of(c, thread, o.normed, c.rows(), c.normed_panel.get());
    product(c, c.scratch[static_cast<size_t>(thread)], l.gate_up, panel, c.panel(c.rows(), o.normed.columns), 2,
            share(l.gate_up.tiles / 2, thread, c.pool->threads()),
            [&](int32_t row, int64_t unit, int32_t n, float *values) {
                for (int32_t i = 0; i < n; i++, values += 2 * kTile) {
                    const int64_t first = (unit + i) * kTile, count = std::min<int64_t>(kTile, ffn - first);
                    if (l.gate_up_bias != nullptr) {
                        add_to(values, l.gate_up_bias + first, count);
                        add_to(values + kTile, l.gate_up_bias + ffn + first, count);
                    }
                    float *out = o.gate_up.get() + row * 2 * ffn + first;
                    std::copy_n(values, count, out);
                    std::copy_n(values + kTile, count, out + ffn);
                }
            });
}

void part_qkv(StepContext &c, int32_t layer, int32_t thread, Meeting &meet)
{
    Overrides &o = *c.overrides;
    const int32_t fused = LATHE_OP_NORM_QKV_ROPE_APPEND;
    if (!o.unfused(fused)) {
        if (o.slot(fused) != nullptr)
            call(c, fused, layer, thread, norm_qkv_rope_append_args(c, layer));
        else
            phase_qkv(c, layer, thread);
        return meet.after(fused);
    }
    call(c, LATHE_OP_RMSNORM, layer, thread,
         rmsnorm_args(c, c.rows(), c.x.get(), c.model->layer(layer).norm_attn, o.normed));
    meet.after(LATHE_OP_RMSNORM);
    if (o.slot(LATHE_OP_GEMM_QKV) != nullptr)
        call(c, LATHE_OP_GEMM_QKV, layer, thread, gemm_args(c, LATHE_OP_GEMM_QKV, layer));
    else
        packed_qkv(c, layer, thread);
    meet.after(LATHE_OP_GEMM_QKV);
    call(c, LATHE_OP_ROPE_APPEND, layer, thread, rope_append_args(c, layer));
    meet.after(LATHE_OP_ROPE_APPEND);
}

void part_attention(StepContext &c, int32_t layer, int32_t thread, Meeting &meet)
{
    Overrides &o = *c.overrides;
    if (o.slot(LATHE_OP_ATTN_DECODE) == nullptr) {
        phase_attention(c, layer, thread);
        return meet.after(attention_slot(c.batch));
    }
    /* Calls of one operator share its workspace: one ends before the next begins. */
    for (const DecodeRun &run : o.runs) {
        call(c, LATHE_OP_ATTN_DECODE, layer, thread, attn_decode_args(c, layer, run));
        meet.after(LATHE_OP_ATTN_DECODE);
    }
    if (!o.others) return;
    phase_attention(c, layer, thread);
    meet.after(LATHE_OP_ATTN_PREFILL);
}

// The gemm `alone` and our addition, its fused form, or ours: x += product of `from`.
struct AddPart {
    int32_t fused, alone;
    const Packed *packed;
    const float *bias;
    const Rows *from;
    const void *panel;  // of what comes before, where nothing is row-major
    void *shared;       // panel for panel_of
    int32_t k;
};

void part_add(StepContext &c, const AddPart &p, int32_t layer, int32_t thread, Meeting &meet)
{
    Overrides &o = *c.overrides;
    if (o.slot(p.fused) != nullptr) {
        call(c, p.fused, layer, thread, gemm_args(c, p.fused, layer));
        return meet.after(p.fused);
    }
    if (o.slot(p.alone) == nullptr) {
        const bool row_major = p.from->data != nullptr;
        const void *panel = row_major ? panel_of(c, thread, *p.from, c.rows(), p.shared) : p.panel;
        add_product(c, thread, *p.packed, panel, p.k, p.bias);
        return meet.after(p.fused);
    }
    call(c, p.alone, layer, thread, gemm_args(c, p.alone, layer));
    meet.after(p.alone);
    const Range mine = share(int64_t{c.rows()} * c.model->desc().hidden, thread, c.pool->threads());
    add_to(c.x.get() + mine.first, o.added.get() + mine.first, mine.last - mine.first);
    meet.after(p.fused);
}

void part_gate_up(StepContext &c, int32_t layer, int32_t thread, Meeting &meet)
{
    Overrides &o = *c.overrides;
    const int32_t fused = LATHE_OP_NORM_GATE_UP_SILU;
    if (!o.unfused(fused)) {
        if (o.slot(fused) != nullptr)
            call(c, fused, layer, thread, norm_gate_up_silu_args(c, layer));
        else
            phase_gate_up(c, layer, thread);
        return meet.after(fused);
    }
    call(c, LATHE_OP_RMSNORM, layer, thread,
         rmsnorm_args(c, c.rows(), c.x.get(), c.model->layer(layer).norm_ffn, o.normed));
    meet.after(LATHE_OP_RMSNORM);
    if (o.slot(LATHE_OP_GEMM_GATE_UP) != nullptr)
        call(c, LATHE_OP_GEMM_GATE_UP, layer, thread, gemm_args(c, LATHE_OP_GEMM_GATE_UP, layer));
    else
        packed_gate_up(c, layer, thread);
    meet.after(LATHE_OP_GEMM_GATE_UP);
    call(c, LATHE_OP_SILU_MUL, layer, thread, silu_mul_args(c));
    meet.after(LATHE_OP_SILU_MUL);
}

// The residual rows that want logits, contiguous: where they lie, or gathered.
const float *wanted_rows(StepContext &c, int32_t thread)
{
    const int32_t n = c.batch.n_want, hidden = c.model->desc().hidden;
    if (c.batch.want_rows[n - 1] == n - 1) return c.x.get(); /* they ascend */
    Overrides &o = *c.overrides;
    const Range mine = share(n, thread, c.pool->threads());
    for (int64_t w = mine.first; w < mine.last; w++)
        std::copy_n(c.row(c.batch.want_rows[w]), hidden, o.wanted.get() + w * hidden);
    c.pool->barrier();
    return o.wanted.get();
}

// This thread's best logits, over its share of the vocabulary.
void take_best(StepContext &c, int32_t thread)
{
    const int32_t vocab = c.model->desc().vocab;
    const Range mine = share(vocab, thread, c.pool->threads());
    clear_best(c, thread);
    for (int32_t w = 0; w < c.batch.n_want; w++)
        take_logits(c.logits.get() + int64_t{w} * vocab + mine.first, static_cast<int32_t>(mine.last - mine.first),
                    static_cast<int32_t>(mine.first), &c.scratch[static_cast<size_t>(thread)].best[static_cast<size_t>(w)]);
}

}  // namespace

void replaced_layer(StepContext &c, int32_t layer, int32_t thread, Meeting &meet)
{
    Overrides &o = *c.overrides;
    const Layer &l = c.model->layer(layer);
    const lathe_model_desc &d = c.model->desc();
    part_qkv(c, layer, thread, meet);
    part_attention(c, layer, thread, meet);
    part_add(c,
             {LATHE_OP_O_ADD, LATHE_OP_GEMM_O, &l.o, l.o_bias, &o.attended, c.attended_panel.get(),
              c.attended_panel.get(), d.q_heads * d.head_dim},
             layer, thread, meet);
    part_gate_up(c, layer, thread, meet);
    part_add(c,
             {LATHE_OP_DOWN_ADD, LATHE_OP_GEMM_DOWN, &l.down, l.down_bias, &o.hidden, c.hidden_panel.get(),
              c.hidden_panel.get(), d.ffn},
             layer, thread, meet);
}

void replaced_head(StepContext &c, int32_t thread, Meeting &meet)
{
    Overrides &o = *c.overrides;
    const int32_t fused = LATHE_OP_NORM_HEAD_ARGMAX;
    const bool replaced = o.slot(fused) != nullptr;
    if (c.batch.n_want == 0 || (!replaced && !o.unfused(fused))) {
        if (c.batch.n_want > 0) phase_head(c, thread);
        return meet.after(fused);
    }
    const float *x = wanted_rows(c, thread);
    if (replaced) {
        call(c, fused, -1, thread, norm_head_argmax_args(c, x, c.model->desc().hidden));
        meet.after(fused);
        return take_best(c, thread); /* for what is not finite; its tokens stand */
    }
    call(c, LATHE_OP_RMSNORM, -1, thread, rmsnorm_args(c, c.batch.n_want, x, c.model->norm_final(), o.normed_wanted));
    meet.after(LATHE_OP_RMSNORM);
    if (o.slot(LATHE_OP_GEMM_HEAD) == nullptr) {
        head_product(c, thread, panel_of(c, thread, o.normed_wanted, c.batch.n_want, c.normed_panel.get()));
        return meet.after(LATHE_OP_GEMM_HEAD);
    }
    call(c, LATHE_OP_GEMM_HEAD, -1, thread, gemm_args(c, LATHE_OP_GEMM_HEAD, 0));
    meet.after(LATHE_OP_GEMM_HEAD);
    take_best(c, thread);
    meet.after(fused);
}

}  // namespace cpu
}  // namespace lathe
