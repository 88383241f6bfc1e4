// batch_check.h: what every backend refuses about a session's options and about
// one submit, in the same words, and the tokens that a step feeds back to the
// next. Nothing here allocates during a step.
#ifndef LATHE_BATCH_CHECK_H
#define LATHE_BATCH_CHECK_H

#include <cstddef>
#include <cstdint>
#include <vector>

#include "backend.h"

namespace lathe {

// Refuses options outside what backend.h allows: page_size not a power of two up
// to 256, counts below 1, max_logits above max_rows, unknown kv_dtype, a device
// other than -1 or 0 .. devices-1, an isa without a NUL. Large counts are not
// refused here: their products are taken in 64 bits, and whether they fit memory is
// asked where it is taken.
void check_session_options(const lathe_session_options *options, int32_t devices);

// One submit's arguments as they came over the border.
struct BatchView {
    int32_t rows;
    const int32_t *token, *seq, *pos;
    int32_t sequences;
    const int32_t *page_table;
    int32_t page_stride;
    int32_t n_want;
    const int32_t *want_rows;
    uint32_t flags;
};

// Checks batches against one session's limits and resolves token -1.
class BatchChecker {
public:
    BatchChecker(const lathe_model_desc &desc, const lathe_session_options &options);

    // Refuses a batch that breaks a rule of backend.h; then writes the real token
    // of each row to tokens_out[rows], with -1 replaced. A batch that is refused
    // leaves the checker as it was.
    void check(const BatchView &batch, int32_t *tokens_out);

    // Remembers what the step chose for wanted row w of a batch that passed, for
    // a later -1. Call it in ascending order of w, so that the last one of a
    // sequence stands.
    void chose(int32_t sequence, int32_t token);

    // The token last chosen for a sequence, -1 if none.
    int32_t chosen(int32_t sequence) const { return chosen_[static_cast<size_t>(sequence)]; }

    // Positions 0 .. max_positions()-1 can be held: the model's limit and the pool's.
    int64_t max_positions() const { return max_positions_; }

private:
    void check_counts(const BatchView &batch) const;
    void check_rows(const BatchView &batch, int32_t *tokens_out);
    void check_pages(const BatchView &batch, int32_t row) const;
    void check_wanted(const BatchView &batch) const;

    int32_t vocab_, page_size_, pages_, max_rows_, max_sequences_, max_logits_;
    int64_t max_positions_;
    std::vector<int32_t> chosen_;   // [max_sequences]
    std::vector<uint32_t> seen_;    // [max_sequences] number of the last check that met it
    uint32_t check_number_ = 0;
};

// Bytes of one page of the KV pool: all layers, K and V, elements of kv_dtype.
uint64_t kv_page_bytes(const lathe_model_desc &desc, int32_t page_size, int32_t kv_dtype);

// Lowest index of the largest of n values; *finite is false when any value is a
// NaN or infinite (then the index means nothing).
int32_t argmax_row(const float *values, int32_t n, bool *finite);

// Refuses copy_pages arguments: unknown direction, pages outside the pool, host
// NULL or host_bytes other than n pages where the host takes part.
void check_copy_pages(int32_t direction, int32_t n, const int32_t *from, const int32_t *to, const void *host,
                      uint64_t host_bytes, int32_t pages, uint64_t page_bytes);

}  // namespace lathe

#endif  // LATHE_BATCH_CHECK_H
