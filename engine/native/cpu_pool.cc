// cpu_pool.cc: see cpu_pool.h.
#include "cpu_pool.h"

#include <chrono>
#include <system_error>

#include "native_error.h"
#if defined(__x86_64__)
#include <immintrin.h>
#endif

namespace lathe {
namespace cpu {

namespace {

const std::chrono::microseconds kSpin(50);

inline void relax()
{
#if defined(__x86_64__)
    _mm_pause();
#elif defined(__aarch64__)
    __asm__ __volatile__("yield");
#endif
}

}  // namespace

void Gate::wait_past(uint32_t seen)
{
    for (int i = 0; i < 256; i++) {
        if (value_.load(std::memory_order_acquire) != seen) return;
        relax();
    }
    const auto until = std::chrono::steady_clock::now() + kSpin;
    while (std::chrono::steady_clock::now() < until) {
        for (int i = 0; i < 16; i++) {
            if (value_.load(std::memory_order_acquire) != seen) return;
            relax();
        }
    }
    /* The order "count myself, then look" against advance's "change, then count"
     * makes it impossible that both miss the other. */
    std::unique_lock<std::mutex> lock(mutex_);
    sleepers_.fetch_add(1, std::memory_order_seq_cst);
    wake_.wait(lock, [&] { return value_.load(std::memory_order_seq_cst) != seen; });
    sleepers_.fetch_sub(1, std::memory_order_seq_cst);
}

void Gate::advance()
{
    value_.fetch_add(1, std::memory_order_seq_cst);
    if (sleepers_.load(std::memory_order_seq_cst) == 0) return;
    { std::lock_guard<std::mutex> lock(mutex_); }
    wake_.notify_all();
}

Pool::Pool(int32_t threads) : threads_(threads)
{
    workers_.reserve(static_cast<size_t>(threads - 1));
    try {
        for (int32_t t = 1; t < threads; t++) workers_.emplace_back([this, t] { work(t); });
    } catch (const std::system_error &e) {
        const size_t started = workers_.size() + 1;
        stop();
        fail(LATHE_E_DEVICE, "thread pool: cannot start thread %zu of %d: %s", started, threads, e.what());
    }
}

Pool::~Pool() { stop(); }

void Pool::stop()
{
    quit_ = true;
    start_.advance();
    for (std::thread &w : workers_) w.join();
    workers_.clear();
}

void Pool::work(int32_t thread)
{
    /* The gate's value is the number of jobs started; this one has seen none. */
    for (uint32_t seen = 0;; seen++) {
        start_.wait_past(seen);
        if (quit_) return;
        job_(context_, thread);
        barrier();
    }
}

void Pool::run(Job job, void *context)
{
    job_ = job;
    context_ = context;
    if (threads_ > 1) start_.advance();
    job(context, 0);
    barrier();
}

void Pool::barrier()
{
    if (threads_ == 1) return;
    const uint32_t seen = meet_.value();
    if (arrived_.fetch_add(1, std::memory_order_acq_rel) + 1 == threads_) {
        arrived_.store(0, std::memory_order_relaxed);
        meet_.advance();
    } else {
        meet_.wait_past(seen);
    }
}

}  // namespace cpu
}  // namespace lathe
