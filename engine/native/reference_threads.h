// reference_threads.h: the reference path's pool of threads. A loop of n items is
// cut into one contiguous range a thread; every item is computed whole by one
// thread, so results do not depend on how many there are.
#ifndef LATHE_REFERENCE_THREADS_H
#define LATHE_REFERENCE_THREADS_H

#include <condition_variable>
#include <cstdint>
#include <functional>
#include <mutex>
#include <thread>
#include <vector>

namespace lathe {
namespace reference {

class Threads {
public:
    // count >= 1; the calling thread is one of them.
    explicit Threads(int32_t count);
    ~Threads();
    Threads(const Threads &) = delete;
    Threads &operator=(const Threads &) = delete;

    int32_t count() const { return count_; }

    // Calls body(begin, end, thread) for ranges that cover 0 .. n-1; returns when
    // all are done. body must not throw.
    using Body = std::function<void(int64_t begin, int64_t end, int32_t thread)>;
    void each(int64_t n, const Body &body);

private:
    void work(int32_t thread);
    void range(int32_t thread);
    void stop();

    int32_t count_;
    std::vector<std::thread> workers_;
    std::mutex mutex_;
    std::condition_variable start_, done_;
    uint64_t round_ = 0;
    int32_t running_ = 0;
    bool stopping_ = false;
    const Body *body_ = nullptr;
    int64_t n_ = 0;
};

}  // namespace reference
}  // namespace lathe

#endif  // LATHE_REFERENCE_THREADS_H
