// cpu_operator_run.h: one operator alone, timed, with the cache as the caller wants it.
#ifndef LATHE_CPU_OPERATOR_RUN_H
#define LATHE_CPU_OPERATOR_RUN_H

#include <cstdint>

#include "cpu_kernels.h"
#include "cpu_pool.h"
#include "operator_args.h"

namespace lathe {
namespace cpu {

// What op_run of backend.h promises, on the pool's threads. cache_bytes is the last
// level's size, 0: unknown, and 64 MB are assumed. Throws Failure: a name, arguments or
// a state that mean nothing, copies that do not fit half the machine's memory, a call
// that did not return 0.
void run_operator(const Kernels &kernels, Pool &pool, bool deterministic, const OperatorRun &run, uint64_t cache_bytes);

}  // namespace cpu
}  // namespace lathe

#endif  // LATHE_CPU_OPERATOR_RUN_H
