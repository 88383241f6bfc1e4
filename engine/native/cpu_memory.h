// cpu_memory.h: the large blocks of the CPU backend. Weights and KV pools live
// in anonymous memory aligned to 2 MB for which huge pages are asked: reading
// weights at memory speed misses the TLB otherwise (3 to 5 % of a decode step).
#ifndef LATHE_CPU_MEMORY_H
#define LATHE_CPU_MEMORY_H

#include <cstdint>

namespace lathe {
namespace cpu {

// Zeroed memory of a fixed size, aligned to 2 MB. Pages are committed when they
// are first written.
class HugeBlock {
public:
    HugeBlock() = default;
    ~HugeBlock();
    HugeBlock(const HugeBlock &) = delete;
    HugeBlock &operator=(const HugeBlock &) = delete;

    // Takes `bytes` once; throws Failure (LATHE_E_MEMORY) naming `what` when they
    // exceed the machine's memory or the system refuses.
    void allocate(uint64_t bytes, const char *what);

    // Commits every page now, so that no step pays for a first touch.
    void touch();

    unsigned char *data() const { return data_; }
    uint64_t bytes() const { return bytes_; }

private:
    unsigned char *data_ = nullptr;
    void *base_ = nullptr;
    uint64_t bytes_ = 0, mapped_ = 0;
};

// Hands out offsets of one block before it exists: add() every part, allocate
// total() bytes, then use the offsets.
class BlockPlan {
public:
    // Offset of a new part of `bytes`, aligned to 4096 (to 64 below one page).
    uint64_t add(uint64_t bytes, const char *what);
    uint64_t total() const { return total_; }

private:
    uint64_t total_ = 0;
};

}  // namespace cpu
}  // namespace lathe

#endif  // LATHE_CPU_MEMORY_H
