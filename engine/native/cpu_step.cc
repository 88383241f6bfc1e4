// cpu_step.cc: the order of a step's phases.
#include "cpu_step.h"

#include "cpu_phases.h"
#include "operator.h"

namespace lathe {
namespace cpu {

int32_t attention_slot(const BatchView &batch)
{
    for (int32_t r = 1; r < batch.rows; r++)
        if (batch.seq[r] == batch.seq[r - 1]) return LATHE_OP_ATTN_PREFILL;
    return LATHE_OP_ATTN_DECODE;
}

namespace {

void fused_layer(StepContext &c, int32_t l, int32_t thread, int32_t attention, Meeting &meet)
{
    phase_qkv(c, l, thread);
    meet.after(LATHE_OP_NORM_QKV_ROPE_APPEND);
    phase_attention(c, l, thread);
    meet.after(attention);
    phase_o(c, l, thread);
    meet.after(LATHE_OP_O_ADD);
    phase_gate_up(c, l, thread);
    meet.after(LATHE_OP_NORM_GATE_UP_SILU);
    phase_down(c, l, thread);
    meet.after(LATHE_OP_DOWN_ADD);
}

}  // namespace

void run_step(StepContext &c, int32_t thread)
{
    const int32_t layers = c.model->desc().layers, attention = attention_slot(c.batch);
    Meeting meet(c, thread);
    phase_embed(c, thread);
    meet.after(LATHE_OP_EMBED);
    if (c.residual != nullptr) keep_residual(c, 0, thread);
    for (int32_t l = 0; l < layers; l++) {
        if (c.overrides == nullptr)
            fused_layer(c, l, thread, attention, meet);
        else
            replaced_layer(c, l, thread, meet);
        /* The next change of the residual stream is two meetings away. */
        if (c.residual != nullptr) keep_residual(c, l + 1, thread);
    }
    if (c.residual != nullptr) keep_residual(c, layers + 1, thread);
    if (c.overrides != nullptr) return replaced_head(c, thread, meet);
    if (c.batch.n_want > 0) phase_head(c, thread);
    meet.after(LATHE_OP_NORM_HEAD_ARGMAX);
}

}  // namespace cpu
}  // namespace lathe
