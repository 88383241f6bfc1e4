// cpu_step.h: where the threads of a step meet, and where an instrumented pass reads
// the clock. A judged step reads none.
#ifndef LATHE_CPU_STEP_H
#define LATHE_CPU_STEP_H

#include <chrono>
#include <cstdint>

#include "cpu_phases.h"

namespace lathe {
namespace cpu {

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

// The slot of our attention's time: a step with a block of rows of one sequence counts
// as prefill.
int32_t attention_slot(const BatchView &batch);

// One layer of a session with replaced operators, its meetings included, and the end
// of its step (cpu_unfused.cc).
void replaced_layer(StepContext &, int32_t layer, int32_t thread, Meeting &);
void replaced_head(StepContext &, int32_t thread, Meeting &);

}  // namespace cpu
}  // namespace lathe

#endif  // LATHE_CPU_STEP_H
