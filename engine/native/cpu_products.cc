// cpu_products.cc: the phases around a matrix product. A product walks this
// thread's units (whole tiles) of the packed weights once; what follows (RoPE and
// append, silu * mul, residual add, choice of the largest logit) is done to the
// unit's outputs while they are in the first-level cache.
#include <algorithm>

#include "cpu_phases.h"
#include "cpu_product.h"
#include "cpu_rope.h"

namespace lathe {
namespace cpu {

namespace {

// The normalised rows as a panel: each thread its own when few, else together.
// rows_of(i) is the residual row of panel row i.
template <class RowOf>
const void *normed(StepContext &c, int32_t thread, const float *gain, const PanelShape &shape, const RowOf &row_of)
{
    Scratch &s = c.scratch[static_cast<size_t>(thread)];
    const lathe_model_desc &d = c.model->desc();
    const bool own = shape.rows <= kOwnRows;
    unsigned char *panel = own ? s.panel.get() : c.normed_panel.get();
    const Range mine = own ? Range{0, shape.rows} : share(shape.rows, thread, c.pool->threads());
    for (int32_t i = static_cast<int32_t>(mine.first); i < mine.last; i++) {
        c.kernels->norm(c.row(row_of(i)), gain, d.rms_eps, d.hidden, s.normed.get());
        c.kernels->store(panel_row(panel, shape, i), 0, d.hidden, s.normed.get());
    }
    if (!own) c.pool->barrier();
    return panel;
}

// Where a unit of a head goes after its product.
struct HeadUnit {
    int32_t head, pair;  // head among q, k, v heads; first pair
    HeadUnit(const HeadUnits &units, int64_t unit)
        : head(static_cast<int32_t>(unit / units.per_head)),
          pair(static_cast<int32_t>(unit % units.per_head) * units.width)
    {
    }
};

// Writes one unit of K or V of a row into the cache.
void append(const StepContext &c, int32_t layer, int32_t row, int32_t kv_head, int32_t v, int32_t pair,
            const float *values)
{
    const HeadUnits &units = c.model->head_units();
    const KvPool &kv = *c.kv;
    const int32_t position = c.batch.pos[row];
    const int32_t *table = c.batch.page_table + static_cast<int64_t>(c.batch.seq[row]) * c.batch.page_stride;
    unsigned char *at = kv.page(table[position / kv.page_size()]) + kv.head_offset(layer, v, kv_head) +
                        static_cast<uint64_t>(position % kv.page_size()) * kv.row_bytes();
    if (kv.dtype() == LATHE_BF16) {
        uint16_t *out = reinterpret_cast<uint16_t *>(at) + pair;
        narrow(values, units.width, out);
        narrow(values + units.high, units.width, out + units.half);
    } else {
        float *out = reinterpret_cast<float *>(at) + pair;
        std::copy_n(values, units.width, out);
        std::copy_n(values + units.high, units.width, out + units.half);
    }
}

// Bias, rotation and destination of one unit of one row.
void finish_head(const StepContext &c, const Layer &l, int32_t layer, int32_t row, int64_t unit, float *values)
{
    const lathe_model_desc &d = c.model->desc();
    const HeadUnits &units = c.model->head_units();
    const HeadUnit at(units, unit);
    float *low = values, *high = values + units.high;
    if (l.qkv_bias != nullptr) {
        const float *bias = l.qkv_bias + static_cast<int64_t>(at.head) * d.head_dim + at.pair;
        add_to(low, bias, units.width);
        add_to(high, bias + units.half, units.width);
    }
    const int32_t position = c.batch.pos[row];
    if (at.head < d.q_heads + d.kv_heads)
        rotate(low, high, c.rope->cosines(position) + at.pair, c.rope->sines(position) + at.pair, units.width);
    if (at.head < d.q_heads) {
        float *out = c.q.get() + (static_cast<int64_t>(row) * d.q_heads + at.head) * d.head_dim + at.pair;
        std::copy_n(low, units.width, out);
        std::copy_n(high, units.width, out + units.half);
        return;
    }
    const int32_t k = at.head - d.q_heads;
    append(c, layer, row, k < d.kv_heads ? k : k - d.kv_heads, k < d.kv_heads ? 0 : 1, at.pair, values);
}

// The biases of rows first .. first+count-1 of gate, and of the same of up.
void add_gate_up_bias(const Layer &l, int32_t ffn, int32_t first, int32_t count, float *values)
{
    if (l.gate_up_bias == nullptr) return;
    add_to(values, l.gate_up_bias + first, count);
    add_to(values + kTile, l.gate_up_bias + ffn + first, count);
}

}  // namespace

void phase_embed(StepContext &c, int32_t thread)
{
    const int32_t hidden = c.model->desc().hidden;
    const Range mine = share(c.rows(), thread, c.pool->threads());
    for (int32_t r = static_cast<int32_t>(mine.first); r < mine.last; r++)
        widen_bf16(c.model->embedding(c.tokens[r]), hidden, c.row(r));
}

void phase_qkv(StepContext &c, int32_t layer, int32_t thread)
{
    const Layer &l = c.model->layer(layer);
    const HeadUnits &units = c.model->head_units();
    const PanelShape shape = c.panel(c.rows(), c.model->desc().hidden);
    const void *panel = normed(c, thread, l.norm_attn, shape, [](int32_t i) { return i; });
    const int32_t step = units.tiles * kTile;
    product(c, c.scratch[static_cast<size_t>(thread)], l.qkv, panel, shape, units.tiles,
            share(l.qkv.tiles / units.tiles, thread, c.pool->threads()),
            [&](int32_t row, int64_t unit, int32_t n, float *values) {
                for (int32_t i = 0; i < n; i++) finish_head(c, l, layer, row, unit + i, values + i * step);
            });
}

void add_product(StepContext &c, int32_t thread, const Packed &m, const void *panel, int32_t k, const float *bias)
{
    Scratch &s = c.scratch[static_cast<size_t>(thread)];
    const int32_t hidden = c.model->desc().hidden;
    product(c, s, m, panel, c.panel(c.rows(), k), 1, share(m.tiles, thread, c.pool->threads()),
            [&](int32_t row, int64_t tile, int32_t n, float *values) {
                const int64_t first = tile * kTile, count = std::min<int64_t>(n * kTile, hidden - first);
                if (bias != nullptr) add_to(values, bias + first, count);
                add_to(c.row(row) + first, values, count);
            });
}

void phase_o(StepContext &c, int32_t layer, int32_t thread)
{
    const Layer &l = c.model->layer(layer);
    const lathe_model_desc &d = c.model->desc();
    add_product(c, thread, l.o, c.attended_panel.get(), d.q_heads * d.head_dim, l.o_bias);
}

void phase_gate_up(StepContext &c, int32_t layer, int32_t thread)
{
    const Layer &l = c.model->layer(layer);
    const lathe_model_desc &d = c.model->desc();
    const PanelShape shape = c.panel(c.rows(), d.hidden), out = c.panel(c.rows(), d.ffn);
    const void *panel = normed(c, thread, l.norm_ffn, shape, [](int32_t i) { return i; });
    product(c, c.scratch[static_cast<size_t>(thread)], l.gate_up, panel, shape, 2,
            share(l.gate_up.tiles / 2, thread, c.pool->threads()),
            [&](int32_t row, int64_t unit, int32_t n, float *values) {
                const PanelRow to = panel_row(c.hidden_panel.get(), out, row);
                for (int32_t i = 0; i < n; i++, values += 2 * kTile) {
                    const int32_t first = static_cast<int32_t>(unit + i) * kTile, count = std::min(kTile, d.ffn - first);
                    add_gate_up_bias(l, d.ffn, first, count, values);
                    c.kernels->silu_mul(values, values + kTile, count);
                    if (c.hidden != nullptr)
                        c.store_rows(c.hidden, d.ffn, row, first, count, values);
                    else
                        c.kernels->store(to, first, count, values);
                }
            });
}

void phase_down(StepContext &c, int32_t layer, int32_t thread)
{
    const Layer &l = c.model->layer(layer);
    add_product(c, thread, l.down, c.hidden_panel.get(), c.model->desc().ffn, l.down_bias);
}

void phase_head(StepContext &c, int32_t thread)
{
    const PanelShape shape = c.panel(c.batch.n_want, c.model->desc().hidden);
    head_product(c, thread,
                 normed(c, thread, c.model->norm_final(), shape, [&](int32_t i) { return c.batch.want_rows[i]; }));
}

void clear_best(StepContext &c, int32_t thread)
{
    Scratch &s = c.scratch[static_cast<size_t>(thread)];
    for (int32_t w = 0; w < c.batch.n_want; w++) s.best[static_cast<size_t>(w)] = {-__builtin_inff(), -1, true};
}

void head_product(StepContext &c, int32_t thread, const void *panel)
{
    Scratch &s = c.scratch[static_cast<size_t>(thread)];
    const lathe_model_desc &d = c.model->desc();
    clear_best(c, thread);
    product(c, s, c.model->head(), panel, c.panel(c.batch.n_want, d.hidden), 1,
            share(c.model->head().tiles, thread, c.pool->threads()),
            [&](int32_t w, int64_t tile, int32_t n, float *values) {
                const int32_t first = static_cast<int32_t>(tile * kTile), count = std::min(n * kTile, d.vocab - first);
                std::copy_n(values, count, c.logits.get() + static_cast<int64_t>(w) * d.vocab + first);
                take_logits(values, count, first, &s.best[static_cast<size_t>(w)]);
            });
}

void keep_residual(StepContext &c, int32_t stage, int32_t thread)
{
    const lathe_model_desc &d = c.model->desc();
    const Range mine = share(c.rows(), thread, c.pool->threads());
    for (int64_t r = mine.first; r < mine.last; r++) {
        float *out = c.residual + (static_cast<int64_t>(stage) * c.rows() + r) * d.hidden;
        const float *x = c.row(static_cast<int32_t>(r));
        if (stage <= d.layers)
            std::copy_n(x, d.hidden, out);
        else
            c.kernels->norm(x, c.model->norm_final(), d.rms_eps, d.hidden, out);
    }
}

}  // namespace cpu
}  // namespace lathe
