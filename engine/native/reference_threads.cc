// reference_threads.cc: see reference_threads.h.
#include "reference_threads.h"

#include <system_error>

#include "native_error.h"

namespace lathe {
namespace reference {

Threads::Threads(int32_t count) : count_(count)
{
    try {
        workers_.reserve(static_cast<size_t>(count - 1));
        for (int32_t t = 1; t < count; t++) workers_.emplace_back([this, t] { work(t); });
    } catch (const std::system_error &e) {
        const size_t started = workers_.size() + 1;
        stop();
        fail(LATHE_E_MEMORY, "session: only %zu of %d threads could be started: %s", started, count, e.what());
    }
}

Threads::~Threads() { stop(); }

void Threads::stop()
{
    {
        std::lock_guard<std::mutex> lock(mutex_);
        stopping_ = true;
    }
    start_.notify_all();
    for (std::thread &w : workers_) w.join();
    workers_.clear();
}

void Threads::range(int32_t thread)
{
    const int64_t begin = n_ * thread / count_, end = n_ * (thread + 1) / count_;
    if (begin < end) (*body_)(begin, end, thread);
}

void Threads::each(int64_t n, const Body &body)
{
    n_ = n;
    body_ = &body;
    if (count_ > 1 && n > 1) {
        {
            std::lock_guard<std::mutex> lock(mutex_);
            round_++;
            running_ = count_ - 1;
        }
        start_.notify_all();
        range(0);
        std::unique_lock<std::mutex> lock(mutex_);
        done_.wait(lock, [this] { return running_ == 0; });
    } else if (n > 0) {
        body(0, n, 0);
    }
    body_ = nullptr;
}

void Threads::work(int32_t thread)
{
    uint64_t seen = 0;
    std::unique_lock<std::mutex> lock(mutex_);
    for (;;) {
        start_.wait(lock, [&] { return stopping_ || round_ != seen; });
        if (stopping_) return;
        seen = round_;
        lock.unlock();
        range(thread);
        lock.lock();
        if (--running_ == 0) done_.notify_one();
    }
}

}  // namespace reference
}  // namespace lathe
