// batch_check.cc: see batch_check.h.
#include "batch_check.h"

#include <algorithm>
#include <cmath>
#include <cstring>

#include "dtype_convert.h"
#include "memory_size.h"
#include "native_error.h"

namespace lathe {

namespace {

void require_at_least(int32_t value, int32_t least, const char *name)
{
    if (value < least) fail(LATHE_E_INVALID, "session: %s is %d, must be at least %d", name, value, least);
}

void require_switch(int32_t value, const char *name)
{
    if (value != 0 && value != 1) fail(LATHE_E_INVALID, "session: %s is %d, must be 0 or 1", name, value);
}

}  // namespace

void check_session_options(const lathe_session_options *o, int32_t devices)
{
    require(o, "session options");
    if (o->struct_size != sizeof(lathe_session_options))
        fail(LATHE_E_INVALID, "session options have %u bytes, this backend expects %zu", o->struct_size,
             sizeof(lathe_session_options));
    require_at_least(o->threads, 0, "threads");
    if (o->threads > 4096) fail(LATHE_E_INVALID, "session: threads is %d, at most 4096", o->threads);
    if (o->page_size < 1 || o->page_size > 256 || (o->page_size & (o->page_size - 1)) != 0)
        fail(LATHE_E_INVALID, "session: page_size is %d, must be a power of two from 1 to 256", o->page_size);
    require_at_least(o->pages, 1, "pages");
    require_at_least(o->max_rows, 1, "max_rows");
    require_at_least(o->max_sequences, 1, "max_sequences");
    require_at_least(o->max_logits, 1, "max_logits");
    if (o->max_logits > o->max_rows)
        fail(LATHE_E_INVALID, "session: max_logits is %d, more than max_rows %d", o->max_logits, o->max_rows);
    if (o->kv_dtype != LATHE_BF16 && o->kv_dtype != LATHE_F32)
        fail(LATHE_E_INVALID, "session: kv_dtype is %d (%s), must be bf16 or f32", o->kv_dtype,
             dtype_name(o->kv_dtype));
    require_switch(o->deterministic, "deterministic");
    require_switch(o->graphs, "graphs");
    require_at_least(o->graph_max_rows, 0, "graph_max_rows");
    if (o->device < -1 || o->device >= devices)
        fail(LATHE_E_INVALID, "session: device %d does not exist (%d devices)", o->device, devices);
    if (memchr(o->isa, '\0', sizeof o->isa) == nullptr)
        fail(LATHE_E_INVALID, "session: isa is longer than %zu characters", sizeof o->isa - 1);
}

BatchChecker::BatchChecker(const lathe_model_desc &desc, const lathe_session_options &options)
    : vocab_(desc.vocab), page_size_(options.page_size), pages_(options.pages), max_rows_(options.max_rows),
      max_sequences_(options.max_sequences), max_logits_(options.max_logits),
      max_positions_(std::min<int64_t>(desc.max_position, static_cast<int64_t>(options.pages) * options.page_size))
{
    require_memory(static_cast<uint64_t>(max_sequences_) * 8, "session: max_sequences");
    chosen_.assign(static_cast<size_t>(max_sequences_), -1);
    seen_.assign(static_cast<size_t>(max_sequences_), 0);
}

void BatchChecker::check(const BatchView &batch, int32_t *tokens_out)
{
    check_counts(batch);
    check_rows(batch, tokens_out);
    check_wanted(batch);
}

void BatchChecker::chose(int32_t sequence, int32_t token) { chosen_[static_cast<size_t>(sequence)] = token; }

void BatchChecker::check_counts(const BatchView &b) const
{
    if (b.rows < 1 || b.rows > max_rows_)
        fail(LATHE_E_INVALID, "submit: %d rows, must be 1 to max_rows %d", b.rows, max_rows_);
    if (b.sequences < 1 || b.sequences > max_sequences_)
        fail(LATHE_E_INVALID, "submit: %d sequences, must be 1 to max_sequences %d", b.sequences,
             max_sequences_);
    if (b.page_stride < 1)
        fail(LATHE_E_INVALID, "submit: page_stride is %d, must be at least 1", b.page_stride);
    if (b.n_want < 0 || b.n_want > max_logits_)
        fail(LATHE_E_INVALID, "submit: %d rows want logits, must be 0 to max_logits %d", b.n_want, max_logits_);
    if (b.n_want > b.rows)
        fail(LATHE_E_INVALID, "submit: %d rows want logits of %d rows", b.n_want, b.rows);
    if ((b.flags & ~(LATHE_KEEP_RESIDUAL | LATHE_TIME_OPERATORS)) != 0)
        fail(LATHE_E_INVALID, "submit: flags 0x%x has bits that do not exist", b.flags);
    require(b.token, "submit: token");
    require(b.seq, "submit: seq");
    require(b.pos, "submit: pos");
    require(b.page_table, "submit: page_table");
    if (b.n_want > 0) require(b.want_rows, "submit: want_rows");
}

void BatchChecker::check_rows(const BatchView &b, int32_t *tokens_out)
{
    if (++check_number_ == 0) { /* wrapped: forget the old marks */
        std::fill(seen_.begin(), seen_.end(), 0u);
        check_number_ = 1;
    }
    for (int32_t r = 0; r < b.rows; r++) {
        const int32_t s = b.seq[r], p = b.pos[r];
        if (s < 0 || s >= b.sequences)
            fail(LATHE_E_INVALID, "submit: row %d is of sequence %d, must be 0 to %d", r, s, b.sequences - 1);
        const bool first = r == 0 || b.seq[r - 1] != s;
        if (first && seen_[static_cast<size_t>(s)] == check_number_)
            fail(LATHE_E_INVALID, "submit: row %d is of sequence %d, whose rows are not adjacent", r, s);
        seen_[static_cast<size_t>(s)] = check_number_;
        if (p < 0 || p >= max_positions_)
            fail(LATHE_E_INVALID, "submit: row %d is at position %d, must be 0 to %lld", r, p,
                 static_cast<long long>(max_positions_ - 1));
        if (!first && p != b.pos[r - 1] + 1)
            fail(LATHE_E_INVALID, "submit: row %d of sequence %d is at position %d, must follow %d", r, s, p,
                 b.pos[r - 1]);
        int32_t token = b.token[r];
        if (token == -1 && first) {
            token = chosen_[static_cast<size_t>(s)];
            if (token < 0)
                fail(LATHE_E_INVALID, "submit: row %d has token -1, but no step chose a token for sequence %d", r,
                     s);
        }
        if (token < 0 || token >= vocab_)
            fail(LATHE_E_INVALID, "submit: row %d has token %d, must be 0 to %d", r, token, vocab_ - 1);
        tokens_out[r] = token;
        if (r + 1 == b.rows || b.seq[r + 1] != s) check_pages(b, r);
    }
}

// Every page up to the position of this row, the last of its sequence.
void BatchChecker::check_pages(const BatchView &b, int32_t row) const
{
    const int32_t s = b.seq[row], last = b.pos[row] / page_size_;
    if (last >= b.page_stride)
        fail(LATHE_E_INVALID, "submit: row %d at position %d needs page %d, page_stride is %d", row, b.pos[row],
             last, b.page_stride);
    const int32_t *table = b.page_table + static_cast<int64_t>(s) * b.page_stride;
    for (int32_t p = 0; p <= last; p++)
        if (table[p] < 0 || table[p] >= pages_)
            fail(LATHE_E_INVALID, "submit: page %d of sequence %d is %d, must be 0 to %d", p, s, table[p],
                 pages_ - 1);
}

void BatchChecker::check_wanted(const BatchView &b) const
{
    for (int32_t w = 0; w < b.n_want; w++) {
        if (b.want_rows[w] < 0 || b.want_rows[w] >= b.rows)
            fail(LATHE_E_INVALID, "submit: want_rows[%d] is %d, must be 0 to %d", w, b.want_rows[w], b.rows - 1);
        if (w > 0 && b.want_rows[w] <= b.want_rows[w - 1])
            fail(LATHE_E_INVALID, "submit: want_rows[%d] is %d after %d, must ascend", w, b.want_rows[w],
                 b.want_rows[w - 1]);
    }
}

uint64_t kv_page_bytes(const lathe_model_desc &desc, int32_t page_size, int32_t kv_dtype)
{
    const uint64_t row = static_cast<uint64_t>(desc.kv_heads) * static_cast<uint64_t>(desc.head_dim);
    uint64_t bytes = checked_mul(row, static_cast<uint64_t>(page_size) * 2 * dtype_bytes(kv_dtype), "kv page");
    return checked_mul(bytes, static_cast<uint64_t>(desc.layers), "kv page");
}

int32_t argmax_row(const float *values, int32_t n, bool *finite)
{
    int32_t best = 0;
    bool all = true;
    for (int32_t i = 0; i < n; i++) {
        if (!std::isfinite(values[i])) all = false;
        if (values[i] > values[best]) best = i;
    }
    *finite = all;
    return best;
}

void check_copy_pages(int32_t direction, int32_t n, const int32_t *from, const int32_t *to, const void *host,
                      uint64_t host_bytes, int32_t pages, uint64_t page_bytes)
{
    if (direction < LATHE_PAGES_WITHIN || direction > LATHE_PAGES_IN)
        fail(LATHE_E_INVALID, "copy pages: direction %d does not exist", direction);
    if (n < 0) fail(LATHE_E_INVALID, "copy pages: %d pages", n);
    if (n == 0) return;
    const bool reads_pool = direction != LATHE_PAGES_IN, writes_pool = direction != LATHE_PAGES_OUT;
    if (reads_pool) require(from, "copy pages: from");
    if (writes_pool) require(to, "copy pages: to");
    for (int32_t i = 0; i < n; i++) {
        if (reads_pool && (from[i] < 0 || from[i] >= pages))
            fail(LATHE_E_INVALID, "copy pages: from[%d] is %d, must be 0 to %d", i, from[i], pages - 1);
        if (writes_pool && (to[i] < 0 || to[i] >= pages))
            fail(LATHE_E_INVALID, "copy pages: to[%d] is %d, must be 0 to %d", i, to[i], pages - 1);
    }
    if (direction == LATHE_PAGES_WITHIN) return;
    require(host, "copy pages: host");
    const uint64_t want = checked_mul(static_cast<uint64_t>(n), page_bytes, "copy pages");
    if (host_bytes != want)
        fail(LATHE_E_INVALID, "copy pages: host has %llu bytes, %d pages need %llu",
             static_cast<unsigned long long>(host_bytes), n, static_cast<unsigned long long>(want));
}

}  // namespace lathe
