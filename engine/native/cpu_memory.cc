// cpu_memory.cc: see cpu_memory.h.
#include "cpu_memory.h"

#include <sys/mman.h>

#include <cstdlib>
#include <cstring>

#include "memory_size.h"
#include "native_error.h"

namespace lathe {
namespace cpu {

namespace {

const uint64_t kHuge = 2u << 20;

// What operator.h promises of a workspace, and more than anything else needs.
const uint64_t kHeapAlign = 256;

// Under AddressSanitizer blocks come from the heap, so that an overrun is seen.
#if defined(__SANITIZE_ADDRESS__)
const bool kFromHeap = true;
#else
const bool kFromHeap = false;
#endif

}  // namespace

HugeBlock::~HugeBlock()
{
    if (base_ == nullptr) return;
    if (kFromHeap)
        std::free(base_);
    else
        munmap(base_, static_cast<size_t>(mapped_));
}

void HugeBlock::allocate(uint64_t bytes, const char *what)
{
    require_memory(bytes, what);
    bytes_ = bytes;
    if (kFromHeap) {
        if (posix_memalign(&base_, kHeapAlign, static_cast<size_t>(bytes == 0 ? kHeapAlign : bytes)) != 0) base_ = nullptr;
        if (base_ != nullptr) std::memset(base_, 0, static_cast<size_t>(bytes));
        data_ = static_cast<unsigned char *>(base_);
    } else {
        mapped_ = checked_add(bytes, 2 * kHuge, what) / kHuge * kHuge;
        void *p = mmap(nullptr, static_cast<size_t>(mapped_), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        base_ = p == MAP_FAILED ? nullptr : p;
        const uintptr_t at = (reinterpret_cast<uintptr_t>(base_) + kHuge - 1) / kHuge * kHuge;
        data_ = reinterpret_cast<unsigned char *>(at);
#if defined(MADV_HUGEPAGE)
        /* Small blocks stay on small pages: a huge page would waste most of itself. */
        if (base_ != nullptr && bytes >= kHuge / 2)
            madvise(data_, static_cast<size_t>((bytes + kHuge - 1) / kHuge * kHuge), MADV_HUGEPAGE);
#endif
    }
    if (base_ == nullptr)
        fail(LATHE_E_MEMORY, "%s: cannot allocate %llu bytes", what, static_cast<unsigned long long>(bytes));
}

void HugeBlock::touch()
{
    for (uint64_t i = 0; i < bytes_; i += 4096) static_cast<volatile unsigned char *>(data_)[i] = 0;
}

uint64_t BlockPlan::add(uint64_t bytes, const char *what)
{
    const uint64_t align = bytes < 4096 ? 64 : 4096;
    const uint64_t at = checked_add(total_, align - 1, what) / align * align;
    total_ = checked_add(at, bytes, what);
    return at;
}

}  // namespace cpu
}  // namespace lathe
