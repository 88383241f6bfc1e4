// cpu_attention.cc: causal attention of a step's rows over the paged cache. An
// item is one row and one kv head with its group of query heads; items go to
// threads in turn, so that the long rows of a prefill chunk are spread. Bits depend on
// neither pages nor threads (cpu_attend.h).
// Bytes: 2 * head_dim * element a key and kv head, each read once for the group.
#include <algorithm>
#include <cmath>

#include "cpu_attend.h"
#include "cpu_phases.h"

namespace lathe {
namespace cpu {

void attend_group(const Kernels &kernels, int32_t kv_dtype, const float *q, int32_t group, int32_t head_dim,
                  float scale, int32_t keys, const PagedHead &at, const AttendScratch &s)
{
    const int32_t n = group * head_dim;
    float *part_max = s.max + group, *part_sum = s.sum + group;
    std::fill_n(s.max, group, -INFINITY);
    std::fill_n(s.sum, group, 0.0f);
    std::fill_n(s.out, n, 0.0f);
    const auto partial = kv_dtype == LATHE_BF16 ? kernels.partial_bf16 : kernels.partial_f32;
    const void *k[kKeys], *v[kKeys];
    for (int32_t first = 0; first < keys; first += kKeys) {
        const int32_t count = std::min(kKeys, keys - first);
        at.find(first, count, k, v);
        partial({q, group, head_dim, scale, count, k, v, s.weights, part_max, part_sum, s.part});
        for (int32_t h = 0; h < group; h++)
            kernels.merge(s.max + h, s.sum + h, s.out + h * head_dim, part_max[h], part_sum[h], s.part + h * head_dim,
                          head_dim);
    }
    for (int32_t h = 0; h < group; h++) {
        const float factor = 1.0f / s.sum[h];
        float *out = s.out + h * head_dim;
        for (int32_t i = 0; i < head_dim; i++) out[i] *= factor;
    }
}

namespace {

void attend(const StepContext &c, Scratch &s, int32_t layer, int32_t row, int32_t head)
{
    const lathe_model_desc &d = c.model->desc();
    const KvPool &kv = *c.kv;
    const int32_t group = d.q_heads / d.kv_heads, n = group * d.head_dim;
    const int64_t page = static_cast<int64_t>(kv.page_bytes()), slot = static_cast<int64_t>(kv.row_bytes());
    const PagedHead at = {kv.page(0) + kv.head_offset(layer, 0, head),
                          kv.page(0) + kv.head_offset(layer, 1, head),
                          page,
                          slot,
                          page,
                          slot,
                          c.batch.page_table + static_cast<int64_t>(c.batch.seq[row]) * c.batch.page_stride,
                          kv.page_size()};
    const AttendScratch scratch = {s.weights.get(), s.max.get(), s.sum.get(), s.part.get(), s.out.get()};
    attend_group(*c.kernels, kv.dtype(), c.q_row(row) + static_cast<int64_t>(head) * n, group, d.head_dim,
                 1.0f / std::sqrt(static_cast<float>(d.head_dim)), c.batch.pos[row] + 1, at, scratch);
    const int32_t q_dim = d.q_heads * d.head_dim;
    if (c.attended != nullptr) return c.store_rows(c.attended, q_dim, row, head * n, n, scratch.out);
    const PanelShape shape = c.panel(c.rows(), q_dim);
    c.kernels->store(panel_row(c.attended_panel.get(), shape, row), head * n, n, scratch.out);
}

}  // namespace

void phase_attention(StepContext &c, int32_t layer, int32_t thread)
{
    const int32_t heads = c.model->desc().kv_heads;
    const int64_t items = static_cast<int64_t>(c.rows()) * heads;
    Scratch &s = c.scratch[static_cast<size_t>(thread)];
    for (int64_t i = thread; i < items; i += c.pool->threads()) {
        const int32_t row = static_cast<int32_t>(i / heads);
        if (c.skips(row)) continue;
        attend(c, s, layer, row, static_cast<int32_t>(i % heads));
    }
}

}  // namespace cpu
}  // namespace lathe
