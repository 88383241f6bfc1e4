// cpu_attention.cc: causal attention of a step's rows over the paged cache. An
// item is one row and one kv head with its group of query heads; items go to
// threads in turn, so that the long rows of a prefill chunk are spread. Keys are
// taken 64 at a time by position, whatever the page size; the partial results
// are merged in ascending order, so bits depend on neither pages nor threads.
// Bytes: 2 * head_dim * element a key and kv head, each read once for the group.
#include <algorithm>
#include <cmath>

#include "cpu_phases.h"

namespace lathe {
namespace cpu {

namespace {

// Addresses of the K and V rows of positions first .. first+n-1.
struct KeyRows {
    const void *k[kKeys], *v[kKeys];

    void find(const StepContext &c, int32_t row, int32_t layer, int32_t head, int32_t first, int32_t n)
    {
        const KvPool &kv = *c.kv;
        const int32_t *table = c.batch.page_table + static_cast<int64_t>(c.batch.seq[row]) * c.batch.page_stride;
        const uint64_t to_k = kv.head_offset(layer, 0, head), to_v = kv.head_offset(layer, 1, head);
        const int32_t size = kv.page_size();
        for (int32_t i = 0; i < n;) {
            const int32_t position = first + i, slot = position % size;
            const unsigned char *page = kv.page(table[position / size]) + static_cast<uint64_t>(slot) * kv.row_bytes();
            const int32_t run = std::min(n - i, size - slot);
            for (int32_t j = 0; j < run; j++, i++, page += kv.row_bytes()) {
                k[i] = page + to_k;
                v[i] = page + to_v;
            }
        }
    }
};

void attend(const StepContext &c, Scratch &s, int32_t layer, int32_t row, int32_t head)
{
    const lathe_model_desc &d = c.model->desc();
    const int32_t group = d.q_heads / d.kv_heads, n = group * d.head_dim, keys = c.batch.pos[row] + 1;
    float *part_max = s.max.get() + group, *part_sum = s.sum.get() + group;
    std::fill_n(s.max.get(), group, -INFINITY);
    std::fill_n(s.sum.get(), group, 0.0f);
    std::fill_n(s.out.get(), n, 0.0f);
    const auto partial = c.kv->dtype() == LATHE_BF16 ? c.kernels->partial_bf16 : c.kernels->partial_f32;
    const float *q = c.q.get() + static_cast<int64_t>(row) * d.q_heads * d.head_dim + static_cast<int64_t>(head) * n;
    const float scale = 1.0f / std::sqrt(static_cast<float>(d.head_dim));
    KeyRows at;
    for (int32_t first = 0; first < keys; first += kKeys) {
        const int32_t count = std::min(kKeys, keys - first);
        at.find(c, row, layer, head, first, count);
        partial({q, group, d.head_dim, scale, count, at.k, at.v, s.weights.get(), part_max, part_sum, s.part.get()});
        for (int32_t h = 0; h < group; h++)
            c.kernels->merge(s.max.get() + h, s.sum.get() + h, s.out.get() + h * d.head_dim, part_max[h], part_sum[h],
                             s.part.get() + h * d.head_dim, d.head_dim);
    }
    for (int32_t h = 0; h < group; h++) {
        const float factor = 1.0f / s.sum[static_cast<size_t>(h)];
        float *out = s.out.get() + h * d.head_dim;
        for (int32_t i = 0; i < d.head_dim; i++) out[i] *= factor;
    }
    const PanelShape shape = c.panel(c.rows(), d.q_heads * d.head_dim);
    c.kernels->store(panel_row(c.attended_panel.get(), shape, row), head * n, n, s.out.get());
}

}  // namespace

void phase_attention(StepContext &c, int32_t layer, int32_t thread)
{
    const int32_t heads = c.model->desc().kv_heads;
    const int64_t items = static_cast<int64_t>(c.rows()) * heads;
    Scratch &s = c.scratch[static_cast<size_t>(thread)];
    for (int64_t i = thread; i < items; i += c.pool->threads())
        attend(c, s, layer, static_cast<int32_t>(i / heads), static_cast<int32_t>(i % heads));
}

}  // namespace cpu
}  // namespace lathe
