// cpu_operator_run.cc: see cpu_operator_run.h.
#include "cpu_operator_run.h"

#include <algorithm>
#include <chrono>
#include <cstring>
#include <vector>

#include "cpu_memory.h"
#include "cpu_slot.h"
#include "memory_size.h"
#include "native_error.h"
#include "operator_names.h"

namespace lathe {
namespace cpu {

namespace {

// The operator that a run names: "gemm" is the role of its arguments.
int32_t operator_of(const OperatorRun &run)
{
    uint32_t set = operator_set(run.op);
    if (std::strcmp(run.op, "gemm") == 0) {
        const int32_t role = static_cast<const lathe_gemm_args *>(run.args)->role;
        for (int32_t op = 0; op < LATHE_OPS; op++)
            if ((set & operator_bit(op)) != 0 && operator_gemm_role(op) != role) set &= ~operator_bit(op);
    }
    if (set == 0) fail(LATHE_E_INVALID, "operator \"%.64s\" does not exist or cannot run alone", run.op);
    return __builtin_ctz(set);
}

// Sets of arguments to take in turn, with the memory of their copies.
class ArgumentSets {
public:
    ArgumentSets(int32_t op, const OperatorRun &run, uint64_t cache_bytes)
        : bytes_((operator_args_bytes(op) + 63) / 64 * 64)
    {
        std::vector<unsigned char> mine(bytes_, 0);
        std::memcpy(mine.data(), run.args, operator_args_bytes(op));
        std::vector<OperatorBuffer> buffers = operator_buffers(op, mine.data());
        uint64_t footprint = 0;
        for (const OperatorBuffer &b : buffers)
            if (copies(run.cache, b)) footprint += padded(b.bytes);
        if (footprint > 0) n_ = std::max<uint64_t>(2, 4 * cache_bytes / footprint + 1);
        const uint64_t total = checked_mul(n_, footprint + bytes_, "operator: copies of its buffers");
        if (total > physical_memory() / 2 && physical_memory() != 0)
            fail(LATHE_E_MEMORY, "operator %s: %llu copies of its %llu bytes do not fit half of the machine's memory",
                 run.op, static_cast<unsigned long long>(n_), static_cast<unsigned long long>(footprint));
        block_.allocate(total, "operator: copies of its buffers");
        unsigned char *at = block_.data() + n_ * bytes_;
        for (uint64_t i = 0; i < n_; i++) {
            std::memcpy(set(i), mine.data(), bytes_);
            for (const OperatorBuffer &b : operator_buffers(op, set(i))) {
                if (!copies(run.cache, b)) continue;
                std::memcpy(at, *b.pointer, b.bytes);
                *b.pointer = at;
                at += padded(b.bytes);
            }
        }
    }

    uint64_t count() const { return n_; }
    void *set(uint64_t i) const { return block_.data() + i * bytes_; }

private:
    static uint64_t padded(uint64_t bytes) { return (bytes + 63) / 64 * 64; }
    static bool copies(int32_t cache, const OperatorBuffer &b)
    {
        return cache == LATHE_CACHE_COLD || (cache == LATHE_CACHE_STREAM && b.streamed);
    }

    uint64_t bytes_, n_ = 1;
    HugeBlock block_;
};

struct Job {
    const Slot *slot;
    const void *args;
    SlotFailure failure;
};

void work(void *context, int32_t part)
{
    Job &job = *static_cast<Job *>(context);
    const int code = job.slot->call_any(part, job.args);
    if (code != 0) job.failure.note(job.slot->op(), -1, part, code);
}

}  // namespace

void run_operator(const Kernels &kernels, Pool &pool, bool deterministic, const OperatorRun &run, uint64_t cache_bytes)
{
    const int32_t op = operator_of(run);
    const ArgumentSets sets(op, run, cache_bytes != 0 ? cache_bytes : 64u << 20);
    lathe_override change{};
    change.kind = run.function != nullptr ? LATHE_OVERRIDE_FUNCTION : LATHE_OVERRIDE_BUILTIN;
    change.function = run.function;
    Slot slot(kernels, op, change, pool.threads(), deterministic);
    slot.prepare(run.args, run.args);
    Job job;
    job.slot = &slot;
    job.failure.clear();
    for (int32_t i = -1; i < run.repetitions; i++) {
        /* The untimed call takes the set that comes up last. */
        job.args = sets.set((static_cast<uint64_t>(i) + sets.count()) % sets.count());
        const auto start = std::chrono::steady_clock::now();
        pool.run(work, &job);
        const auto ns = std::chrono::duration_cast<std::chrono::nanoseconds>(std::chrono::steady_clock::now() - start);
        job.failure.raise("run alone");
        if (i >= 0) run.out_ns[i] = ns.count();
    }
}

}  // namespace cpu
}  // namespace lathe
