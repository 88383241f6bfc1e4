// pool_test.cc: every thread runs every phase, and a barrier orders what was
// written before it against what is read after it.
#include <atomic>
#include <chrono>
#include <thread>
#include <vector>

#include "../cpu_pool.h"
#include "check.h"

using lathe::cpu::Pool;
using lathe::cpu::Range;
using lathe::cpu::share;

namespace {

// Phase p: thread t writes p into its own cell, then checks every cell; the cells
// are plain ints, so a missing barrier is a wrong value or a data race.
struct Ring {
    Pool *pool;
    int phases;
    std::vector<int> cells;
    std::atomic<int> wrong{0};
};

void run_ring(void *context, int32_t thread)
{
    Ring &r = *static_cast<Ring *>(context);
    for (int p = 1; p <= r.phases; p++) {
        r.cells[static_cast<size_t>(thread) * 16]++;
        r.pool->barrier();
        for (int32_t t = 0; t < r.pool->threads(); t++)
            if (r.cells[static_cast<size_t>(t) * 16] % r.phases != p % r.phases) r.wrong++;
        r.pool->barrier();
    }
}

}  // namespace

TEST(pool_many_tiny_phases)
{
    for (int32_t threads = 1; threads <= 4; threads++) {
        Pool pool(threads);
        Ring r{&pool, 300, std::vector<int>(static_cast<size_t>(threads) * 16, 0), {}};
        for (int job = 0; job < 10; job++) pool.run(run_ring, &r);
        CHECK_MSG(r.wrong == 0, "%d threads: %d stale reads", threads, r.wrong.load());
        for (int32_t t = 0; t < threads; t++) CHECK(r.cells[static_cast<size_t>(t) * 16] == 3000);
    }
}

// Jobs far enough apart that the workers have gone to sleep.
TEST(pool_wakes_sleepers)
{
    Pool pool(3);
    Ring r{&pool, 3, std::vector<int>(48, 0), {}};
    for (int job = 0; job < 5; job++) {
        std::this_thread::sleep_for(std::chrono::milliseconds(2));
        pool.run(run_ring, &r);
    }
    CHECK(r.wrong == 0);
    CHECK(r.cells[0] == 15 && r.cells[16] == 15 && r.cells[32] == 15);
}

TEST(pool_starts_and_stops_unused)
{
    for (int32_t threads = 1; threads <= 8; threads++) {
        Pool pool(threads);
        CHECK(pool.threads() == threads);
    }
}

// Shares are contiguous, in order, complete and even.
TEST(pool_shares)
{
    for (const int64_t total : {0, 1, 2, 7, 64, 1000})
        for (int32_t threads = 1; threads <= 9; threads++) {
            int64_t next = 0;
            for (int32_t t = 0; t < threads; t++) {
                const Range r = share(total, t, threads);
                CHECK(r.first == next && r.last >= r.first);
                CHECK(r.last - r.first <= total / threads + 1 && r.last - r.first >= total / threads);
                next = r.last;
            }
            CHECK(next == total);
        }
}
