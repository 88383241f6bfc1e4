// cpu_parallel.h: one-off parallel loops for loading a model. Steps never come
// here: they have the session's pool.
#ifndef LATHE_CPU_PARALLEL_H
#define LATHE_CPU_PARALLEL_H

#include <algorithm>
#include <cstdint>
#include <exception>
#include <thread>
#include <vector>

namespace lathe {
namespace cpu {

// Calls body(first, last) over [0, total) on up to `threads` threads. Where the
// system gives no more threads the caller does their part. body must not throw.
template <class Body>
void parallel(int64_t total, int64_t threads, const Body &body)
{
    const int64_t n = std::max<int64_t>(1, std::min(threads, total));
    std::vector<std::thread> workers;
    workers.reserve(static_cast<size_t>(n));
    for (int64_t t = 1; t < n; t++) {
        const int64_t first = total * t / n, last = total * (t + 1) / n;
        try {
            workers.emplace_back([&body, first, last] { body(first, last); });
        } catch (const std::exception &) {
            body(first, last);
        }
    }
    body(0, total / n);
    for (std::thread &w : workers) w.join();
}

}  // namespace cpu
}  // namespace lathe

#endif  // LATHE_CPU_PARALLEL_H
