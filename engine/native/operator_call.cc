// operator_call.cc: see operator_call.h.
#include "operator_call.h"

#include <signal.h>
#if defined(__linux__) && defined(__x86_64__)
#include <ucontext.h>
#endif

#include <chrono>
#include <cstdio>
#include <cstring>
#include <memory>

#include "cpu_builtin.h"
#include "cpu_kernels.h"
#include "cpu_pool.h"
#include "native_error.h"
#include "operator.h"
#include "operator_names.h"

namespace {

typedef int (*Function)(const lathe_ctx *, const void *);

struct Call {
    Function function;
    const void *args;
    lathe_ctx ctx;
    int32_t codes[1024];  // what a part returned last that was not 0
};

void call_part(void *context, int32_t part)
{
    Call &call = *static_cast<Call *>(context);
    lathe_ctx ctx = call.ctx;
    ctx.part = part;
    if (const int code = call.function(&ctx, call.args)) call.codes[part] = code;
}

// A context as every part gets it, but for its number.
lathe_ctx context_for(int32_t parts, void *workspace, uint64_t workspace_bytes, uint32_t flags)
{
    lathe_ctx ctx = {};
    ctx.abi = LATHE_OP_ABI;
    ctx.struct_size = sizeof ctx;
    ctx.parts = parts;
    ctx.workspace = workspace;
    ctx.workspace_bytes = workspace_bytes;
    ctx.device = -1;
    ctx.flags = flags;
    return ctx;
}

// The first part's answer that is not 0.
int32_t first_code(const Call &call)
{
    for (int32_t part = 0; part < call.ctx.parts; part++)
        if (call.codes[part] != 0) return call.codes[part];
    return 0;
}

void *pointer(uintptr_t address) { return reinterpret_cast<void *>(address); }

// Where the signal handler writes: of the process, as handlers are.
volatile uint64_t *record = nullptr;

// 1 read, 2 write, 3 no address, 0 unknown.
uint64_t access_of(int signal, const siginfo_t *info, const void *context)
{
    if (signal != SIGSEGV) return 0;
#if defined(__linux__)
    if (info->si_code == SI_KERNEL) return 3;  // general protection: misaligned, or not canonical
#endif
#if defined(__linux__) && defined(__x86_64__)
    const ucontext_t *at = static_cast<const ucontext_t *>(context);
    return (at->uc_mcontext.gregs[REG_ERR] & 2) != 0 ? 2 : 1;
#else
    (void)info;
    (void)context;
    return 0;
#endif
}

void on_fault(int signal, siginfo_t *info, void *context)
{
    if (record != nullptr && record[3] == 0) {
        record[0] = static_cast<uint64_t>(signal);
        record[1] = reinterpret_cast<uintptr_t>(info->si_addr);
        record[2] = access_of(signal, info, context);
        record[3] = 1;
    }
    ::signal(signal, SIG_DFL);
    if (info->si_code <= 0) raise(signal);  // sent, not caused: it does not come again by itself
}

}  // namespace

int32_t lathe_operator_threads_open(int32_t parts, void **threads, char *err, int32_t err_cap)
{
    return lathe::guard(err, err_cap, [&] {
        if (parts < 1 || parts > static_cast<int32_t>(sizeof(Call::codes) / sizeof(int32_t)))
            lathe::fail(LATHE_E_INVALID, "parts is %d, out of 1 to 1024", parts);
        *threads = new lathe::cpu::Pool(parts);
    });
}

void lathe_operator_threads_close(void *threads) { delete static_cast<lathe::cpu::Pool *>(threads); }

int32_t lathe_operator_call(void *threads, uintptr_t function, uintptr_t args, uintptr_t workspace,
                            uint64_t workspace_bytes, uint32_t flags, int32_t reverse,
                            const lathe_operator_copy *copies, int32_t n_copies)
{
    lathe::cpu::Pool &pool = *static_cast<lathe::cpu::Pool *>(threads);
    Call call{};
    call.function = reinterpret_cast<Function>(function);
    call.args = pointer(args);
    call.ctx = context_for(pool.threads(), pointer(workspace), workspace_bytes, flags);
    if (reverse != 0)
        for (int32_t part = pool.threads() - 1; part >= 0; part--) call_part(&call, part);
    else
        pool.run(call_part, &call);
    for (int32_t i = 0; i < n_copies; i++)
        std::memcpy(pointer(copies[i].to), pointer(copies[i].from), static_cast<size_t>(copies[i].bytes));
    return first_code(call);
}

int32_t lathe_operator_time(void *threads, uintptr_t function, uintptr_t workspace, uint64_t workspace_bytes,
                            uint32_t flags, const uintptr_t *args, int32_t n, int32_t calls, int64_t *out_ns)
{
    lathe::cpu::Pool &pool = *static_cast<lathe::cpu::Pool *>(threads);
    Call call{};
    call.function = reinterpret_cast<Function>(function);
    call.ctx = context_for(pool.threads(), pointer(workspace), workspace_bytes, flags);
    for (int32_t i = 0; i + calls <= n; i += calls) {
        const auto before = std::chrono::steady_clock::now();
        for (int32_t k = i; k < i + calls; k++) {
            call.args = pointer(args[k]);
            pool.run(call_part, &call);
        }
        const auto after = std::chrono::steady_clock::now();
        *out_ns++ = std::chrono::duration_cast<std::chrono::nanoseconds>(after - before).count();
        if (const int32_t code = first_code(call)) return code;
    }
    return 0;
}

int32_t lathe_operator_supports(uintptr_t function, uintptr_t args)
{
    return reinterpret_cast<int (*)(const void *)>(function)(pointer(args));
}

uint64_t lathe_operator_workspace(uintptr_t function, uintptr_t args)
{
    return reinterpret_cast<uint64_t (*)(const void *)>(function)(pointer(args));
}

int32_t lathe_operator_builtin(const char *op, const char *isa, lathe_operator_ours *out, char *err, int32_t err_cap)
{
    return lathe::guard(err, err_cap, [&] {
        const uint32_t set = lathe::operator_set(op);
        if (set == 0 || (set & (set - 1)) != 0)
            lathe::fail(LATHE_E_INVALID, "operator \"%.64s\" is not one that can be replaced", op);
        out->op = __builtin_ctz(set);
        void *function = lathe::cpu::builtin_function(*lathe::cpu::find_kernels(isa), out->op);
        out->function = reinterpret_cast<uintptr_t>(function);
    });
}

int32_t lathe_operator_builtin_supports(int32_t op, uintptr_t args)
{
    return lathe::cpu::builtin_supports(op, pointer(args)) ? 1 : 0;
}

uint64_t lathe_operator_builtin_workspace(int32_t op, uintptr_t args, int32_t parts)
{
    return lathe::cpu::builtin_workspace(op, pointer(args), parts);
}

void lathe_operator_watch(uintptr_t at)
{
    record = static_cast<volatile uint64_t *>(pointer(at));
    struct sigaction action;
    std::memset(&action, 0, sizeof action);
    action.sa_sigaction = on_fault;
    action.sa_flags = SA_SIGINFO | SA_ONSTACK;
    for (int signal : {SIGSEGV, SIGBUS, SIGFPE, SIGILL}) sigaction(signal, &action, nullptr);
    ::signal(SIGABRT, SIG_DFL);
}

int32_t lathe_operator_flush(void) { return std::fflush(nullptr); }
