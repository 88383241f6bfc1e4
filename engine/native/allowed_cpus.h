// allowed_cpus.h: how many CPUs this process may use, the same answer for every
// backend: what device_info calls cores, and the threads of a session that names none.
#ifndef LATHE_ALLOWED_CPUS_H
#define LATHE_ALLOWED_CPUS_H

#if defined(__linux__)
#include <sched.h>
#endif

#include <cstdint>
#include <thread>

namespace lathe {

// CPUs that the calling thread's affinity mask allows, where the system tells;
// else those of the machine. At least 1.
static inline int32_t allowed_cpus()
{
#if defined(__linux__)
    cpu_set_t set;
    CPU_ZERO(&set);
    if (sched_getaffinity(0, sizeof set, &set) == 0) {
        const int n = CPU_COUNT(&set);
        if (n > 0) return n;
    }
#endif
    const unsigned n = std::thread::hardware_concurrency();
    return n == 0 ? 1 : static_cast<int32_t>(n);
}

}  // namespace lathe

#endif  // LATHE_ALLOWED_CPUS_H
