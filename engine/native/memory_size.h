// memory_size.h: byte counts that cannot overflow, and the question whether an
// allocation can fit this machine at all. Asked before allocating: with memory
// overcommit a hopeless allocation succeeds and the process is killed later.
#ifndef LATHE_MEMORY_SIZE_H
#define LATHE_MEMORY_SIZE_H

#include <unistd.h>

#include <cstdint>
#include <cstdlib>
#include <memory>
#include <new>
#include <type_traits>

#include "native_error.h"

namespace lathe {

// a*b, or a Failure that names what was being sized.
static inline uint64_t checked_mul(uint64_t a, uint64_t b, const char *what)
{
    uint64_t product = 0;
    if (__builtin_mul_overflow(a, b, &product))
        fail(LATHE_E_MEMORY, "%s: %llu x %llu bytes overflow 64 bits", what,
             static_cast<unsigned long long>(a), static_cast<unsigned long long>(b));
    return product;
}

static inline uint64_t checked_add(uint64_t a, uint64_t b, const char *what)
{
    uint64_t sum = 0;
    if (__builtin_add_overflow(a, b, &sum)) fail(LATHE_E_MEMORY, "%s: the size overflows 64 bits", what);
    return sum;
}

// Physical memory of the machine in bytes, 0 if unknown.
static inline uint64_t physical_memory()
{
    const long pages = sysconf(_SC_PHYS_PAGES), page = sysconf(_SC_PAGESIZE);
    if (pages <= 0 || page <= 0) return 0;
    return static_cast<uint64_t>(pages) * static_cast<uint64_t>(page);
}

// Refuses with LATHE_E_MEMORY what is larger than the machine's memory.
static inline void require_memory(uint64_t bytes, const char *what)
{
    const uint64_t have = physical_memory();
    if ((have != 0 && bytes > have) || bytes > SIZE_MAX / 2)
        fail(LATHE_E_MEMORY, "%s needs %llu bytes, the machine has %llu", what,
             static_cast<unsigned long long>(bytes), static_cast<unsigned long long>(have));
}

struct FreeBytes {
    void operator()(void *p) const { std::free(p); }
};
template <class T>
using Buffer = std::unique_ptr<T[], FreeBytes>;

// count zeroed values of T, aligned to 64 bytes. Every page is touched here, so
// that no step pays for a first touch. T must be trivial.
template <class T>
static inline Buffer<T> zeroed(uint64_t count, const char *what)
{
    static_assert(std::is_trivially_copyable<T>::value && std::is_trivially_destructible<T>::value,
                  "zeroed memory holds trivial values");
    uint64_t bytes = checked_mul(count, sizeof(T), what);
    require_memory(bytes, what);
    bytes = (bytes + 63) / 64 * 64;
    if (bytes == 0) bytes = 64;
    void *p = nullptr;
    if (posix_memalign(&p, 64, static_cast<size_t>(bytes)) != 0)
        fail(LATHE_E_MEMORY, "%s: cannot allocate %llu bytes", what, static_cast<unsigned long long>(bytes));
    __builtin_memset(p, 0, static_cast<size_t>(bytes));
    return Buffer<T>(static_cast<T *>(p));
}

}  // namespace lathe

#endif  // LATHE_MEMORY_SIZE_H
