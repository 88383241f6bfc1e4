// cpu_slot.h: one operator's slot: a function of operator.h's type, a user's or ours,
// with the context of each thread and its workspace. A step calls both kinds through
// here and through nothing else, so that like is compared with like.
#ifndef LATHE_CPU_SLOT_H
#define LATHE_CPU_SLOT_H

#include <atomic>
#include <cstdint>
#include <string>
#include <vector>

#include "backend.h"
#include "cpu_kernels.h"
#include "cpu_memory.h"
#include "operator.h"

namespace lathe {
namespace cpu {

// The code of a call that let a C++ exception out.
const int kThrew = INT32_MIN;

class Slot {
public:
    // override.function is called where its kind is LATHE_OVERRIDE_FUNCTION, ours
    // otherwise. Refuses images. Nothing of the library is called yet.
    Slot(const Kernels &kernels, int32_t op, const lathe_override &override, int32_t parts, bool deterministic);

    int32_t op() const { return op_; }
    bool builtin() const { return builtin_; }
    uint64_t workspace_bytes() const { return bytes_; }

    // Asks _supports with the largest and the smallest arguments that there will be,
    // and _workspace with the largest; takes the workspace. Both are arguments of this
    // operator. Throws Failure.
    void prepare(const void *largest, const void *smallest)
    {
        ask_supports(largest);
        ask_supports(smallest);
        take_workspace(largest);
    }

    // This thread's share of one call; what it returned. A builtin and a user's
    // function are called alike.
    template <class Args>
    int call(int32_t part, const Args &args) const noexcept
    {
        const auto function = reinterpret_cast<int (*)(const lathe_ctx *, const Args *)>(function_);
        try {
            return function(&contexts_[static_cast<size_t>(part)].ctx, &args);
        } catch (...) {
            return kThrew;
        }
    }
    // The same for arguments whose type only the operator tells.
    int call_any(int32_t part, const void *args) const noexcept;

private:
    void ask_supports(const void *args) const;
    void take_workspace(const void *args);

    struct alignas(64) Context {
        lathe_ctx ctx;
    };
    int32_t op_;
    bool builtin_;
    void *function_, *workspace_, *supports_;
    std::vector<Context> contexts_;  // [parts]
    HugeBlock block_;
    uint64_t bytes_ = 0;
};

// The first failure of a step's calls. Calls after it are skipped, so that the step
// ends soon, and what it computed is thrown away.
class SlotFailure {
public:
    void clear() { state_.store(0, std::memory_order_relaxed); }
    bool failed() const { return state_.load(std::memory_order_relaxed) != 0; }
    void note(int32_t op, int32_t layer, int32_t part, int code)
    {
        int32_t none = 0;
        if (!state_.compare_exchange_strong(none, 1, std::memory_order_acq_rel)) return;
        op_ = op;
        layer_ = layer;
        part_ = part;
        code_ = code;
    }
    // Throws a Failure of `what` that names operator, code, layer and part, if there
    // is one. Only behind a meeting of all threads.
    void raise(const char *what) const;

private:
    std::atomic<int32_t> state_{0};
    int32_t op_ = 0, layer_ = 0, part_ = 0;
    int code_ = 0;
};

}  // namespace cpu
}  // namespace lathe

#endif  // LATHE_CPU_SLOT_H
