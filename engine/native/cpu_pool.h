// cpu_pool.h: the threads of one session. They are created once, run one job at
// a time together with the caller's thread, and meet at barriers inside it. A
// waiting thread spins for about 50 us and then sleeps, so that an idle session
// costs nothing. Never pins a thread and never allocates while a job runs.
#ifndef LATHE_CPU_POOL_H
#define LATHE_CPU_POOL_H

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <mutex>
#include <thread>
#include <vector>

namespace lathe {
namespace cpu {

// A counter that threads wait on: spin first, sleep after.
class Gate {
public:
    uint32_t value() const { return value_.load(std::memory_order_acquire); }
    void wait_past(uint32_t seen);  // returns when value() != seen
    void advance();                 // one step; wakes who sleeps

private:
    std::atomic<uint32_t> value_{0};
    std::atomic<int32_t> sleepers_{0};
    std::mutex mutex_;
    std::condition_variable wake_;
};

class Pool {
public:
    // The caller counts as thread 0; threads-1 are created. Throws Failure when
    // the system refuses a thread.
    explicit Pool(int32_t threads);
    ~Pool();
    Pool(const Pool &) = delete;
    Pool &operator=(const Pool &) = delete;

    int32_t threads() const { return threads_; }

    // Runs job(context, t) on every thread t and returns when all have ended.
    typedef void (*Job)(void *context, int32_t thread);
    void run(Job job, void *context);

    // Inside a job: returns when every thread of the pool has come here. What was
    // written before is seen by all after.
    void barrier();

private:
    void work(int32_t thread);
    void stop();

    const int32_t threads_;
    Job job_ = nullptr;
    void *context_ = nullptr;
    bool quit_ = false;
    alignas(64) std::atomic<int32_t> arrived_{0};
    alignas(64) Gate start_;
    alignas(64) Gate meet_;
    std::vector<std::thread> workers_;
};

// Items [first, last) of `total` that thread t of `threads` takes: contiguous,
// in order, sizes differ by at most one.
struct Range {
    int64_t first, last;
};
inline Range share(int64_t total, int32_t thread, int32_t threads)
{
    return {total * thread / threads, total * (thread + 1) / threads};
}

}  // namespace cpu
}  // namespace lathe

#endif  // LATHE_CPU_POOL_H
