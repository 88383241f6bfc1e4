// cpu_session.h: a session of the CPU backend: its KV pool, threads, workspace
// and the state between submit and wait. Steps run to their end inside submit
// and allocate nothing (but the residual copies of a step that keeps them).
#ifndef LATHE_CPU_SESSION_H
#define LATHE_CPU_SESSION_H

#include <cstdint>
#include <memory>
#include <vector>

#include "batch_check.h"
#include "cpu_overrides.h"
#include "cpu_operator_run.h"
#include "cpu_phases.h"
#include "session_results.h"

namespace lathe {
namespace cpu {

class Session {
public:
    Session(Model &model, const lathe_session_options &options, const lathe_override *overrides, int32_t n);

    void submit(const BatchView &batch);
    void wait(int32_t *tokens, int32_t cap, const int32_t *accepted, lathe_step_info *info);
    void logits(int32_t first, int32_t n, float *out) const;
    void residual(int32_t stage, float *out) const;
    void copy_pages(int32_t direction, int32_t n, const int32_t *from, const int32_t *to, void *host,
                    uint64_t host_bytes);
    void memory(lathe_session_memory *out) const;
    void run_operator(const OperatorRun &run);

private:
    void make_workspace(const lathe_session_options &options);
    void make_scratch(const lathe_session_options &options);
    void choose(const BatchView &batch);
    template <class T>
    Buffer<T> take(uint64_t rows, uint64_t columns, const char *what);

    Model &model_;
    BatchChecker checker_;
    KvPool kv_;
    Pool pool_;
    std::shared_ptr<const RopeTable> rope_;
    std::unique_ptr<Overrides> overrides_;  // NULL: the fused path
    StepResults results_;
    StepContext context_;
    uint64_t workspace_bytes_ = 0;

    std::vector<int32_t> tokens_in_;   // [max_rows]
    int64_t op_ns_[LATHE_OPS];
    bool deterministic_;
};

}  // namespace cpu
}  // namespace lathe

#endif  // LATHE_CPU_SESSION_H
