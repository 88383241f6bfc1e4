/* operator_call.h: calls one operator of a user's library over memory that the caller
 * has prepared, as the check of a kernel needs it: on every thread of a pool or one
 * part after the other, with copies made as it returns, in a process that keeps a
 * record of the address it crashes at; and times an operator alone. In C, so that Go can
 * call it. Nothing here is part of a step. */
#ifndef LATHE_OPERATOR_CALL_H
#define LATHE_OPERATOR_CALL_H

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Threads that operators are called on; the caller's is one of them. A lathe_status. */
int32_t lathe_operator_threads_open(int32_t parts, void **threads, char *err, int32_t err_cap);
void lathe_operator_threads_close(void *threads);

/* `bytes` from one place to another. */
typedef struct lathe_operator_copy {
    uintptr_t from, to;
    uint64_t bytes;
} lathe_operator_copy;

/* Calls function(ctx, args) for every part: on the pool's threads at once, or with
 * reverse on the caller's thread, the last part first. The copies are made before
 * anything else happens. The answer is the first part's that is not 0. */
int32_t lathe_operator_call(void *threads, uintptr_t function, uintptr_t args, uintptr_t workspace,
                            uint64_t workspace_bytes, uint32_t flags, int32_t reverse,
                            const lathe_operator_copy *copies, int32_t n_copies);

/* Calls function(ctx, args[i]) on the pool's threads for each of n arguments, `calls` of
 * them a sample, and writes the nanoseconds of each sample to out_ns[n/calls]. Between
 * two clock reads stands nothing but the calls. The answer is the first call's that is
 * not 0, where it stops. */
int32_t lathe_operator_time(void *threads, uintptr_t function, uintptr_t workspace, uint64_t workspace_bytes,
                            uint32_t flags, const uintptr_t *args, int32_t n, int32_t calls, int64_t *out_ns);

/* lathe_op_<name>_supports and lathe_op_<name>_workspace. */
int32_t lathe_operator_supports(uintptr_t function, uintptr_t args);
uint64_t lathe_operator_workspace(uintptr_t function, uintptr_t args);

/* Our own operator behind the same type, on a numeric path ("": the best that runs):
 * what OP=builtin puts into a slot. op is a name with its role. A lathe_status. */
typedef struct lathe_operator_ours {
    uintptr_t function;
    int32_t op; /* LATHE_OP_* */
} lathe_operator_ours;
int32_t lathe_operator_builtin(const char *op, const char *isa, lathe_operator_ours *out, char *err,
                               int32_t err_cap);
/* Can it run these element types; how many bytes of workspace it wants on `parts` threads. */
int32_t lathe_operator_builtin_supports(int32_t op, uintptr_t args);
uint64_t lathe_operator_builtin_workspace(int32_t op, uintptr_t args, int32_t parts);

/* From here on a signal that code brings upon itself (SIGSEGV, SIGBUS, SIGFPE,
 * SIGILL) writes {signal, address, access, 1} to record before it ends the process, and
 * SIGABRT ends it at once: no handler of the Go runtime prints anything. access is 1
 * for a read, 2 for a write, 3 where the address was none, 0 unknown. For a process
 * that does nothing but call operators. */
void lathe_operator_watch(uintptr_t record);

/* Writes out what the library left in the C streams; 0 where that worked. */
int32_t lathe_operator_flush(void);

#ifdef __cplusplus
}
#endif
#endif /* LATHE_OPERATOR_CALL_H */
