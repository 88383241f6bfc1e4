// cpu_step.cc: the order of a step's phases, and where an instrumented pass
// reads the clock. A judged step reads none.
#include <chrono>

#include "cpu_phases.h"
#include "operator.h"

namespace lathe {
namespace cpu {

namespace {

// Meets the other threads after each phase; on thread 0 of an instrumented pass
// adds the time since the last meeting to the phase's slot.
class Meeting {
public:
    Meeting(StepContext &c, int32_t thread) : c_(c), timed_(c.op_ns != nullptr && thread == 0)
    {
        if (timed_) last_ = std::chrono::steady_clock::now();
    }
    void after(int32_t slot)
    {
        c_.pool->barrier();
        if (!timed_) return;
        const auto now = std::chrono::steady_clock::now();
        int64_t &sum = c_.op_ns[slot];
        sum = (sum < 0 ? 0 : sum) + std::chrono::duration_cast<std::chrono::nanoseconds>(now - last_).count();
        last_ = now;
    }

private:
    StepContext &c_;
    const bool timed_;
    std::chrono::steady_clock::time_point last_;
};

// The slot of attention: a step with a block of rows of one sequence counts as
// prefill.
int32_t attention_slot(const BatchView &batch)
{
    for (int32_t r = 1; r < batch.rows; r++)
        if (batch.seq[r] == batch.seq[r - 1]) return LATHE_OP_ATTN_PREFILL;
    return LATHE_OP_ATTN_DECODE;
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
        /* The next change of the residual stream is two meetings away. */
        if (c.residual != nullptr) keep_residual(c, l + 1, thread);
    }
    if (c.residual != nullptr) keep_residual(c, layers + 1, thread);
    if (c.batch.n_want > 0) phase_head(c, thread);
    meet.after(LATHE_OP_NORM_HEAD_ARGMAX);
}

}  // namespace cpu
}  // namespace lathe
