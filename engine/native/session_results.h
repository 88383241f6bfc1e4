// session_results.h: what a session remembers between submit and wait, and what it
// hands out after: tokens, logits, the kept residual stream. The same states and the
// same refusals for every backend whose steps end within submit. Nothing here computes.
#ifndef LATHE_SESSION_RESULTS_H
#define LATHE_SESSION_RESULTS_H

#include <cstdint>
#include <cstring>
#include <vector>

#include "backend.h"
#include "batch_check.h"

namespace lathe {

class StepResults {
public:
    // backend is its name, for messages; it must outlive the object.
    StepResults(const char *backend, const lathe_model_desc &desc, const lathe_session_options &options);

    // Bytes held, kept residual streams included.
    uint64_t bytes() const;

    // ---- Within submit
    // Refuses a submit before the last step was waited for.
    void require_waited() const;
    // A step of this batch begins: forgets the last one, makes room for its residual
    // stream where LATHE_KEEP_RESIDUAL asks for it.
    void begin(const BatchView &batch);
    // [layers+2][rows][hidden] of the step that runs, NULL when it keeps none.
    float *residual() { return keeping_ ? residual_.data() : nullptr; }
    // The choice of wanted row w, in ascending order of w; one whose logits are not
    // all finite is remembered as the step's failure, not as a token.
    void chose(const BatchView &batch, int32_t w, int32_t token, bool finite, BatchChecker *checker);
    // The step is finished and can be waited for.
    void end();

    // ---- After it: the table's functions of these names.
    // op_ns has LATHE_OPS values; NULL: none was measured.
    void wait(int32_t *tokens, int32_t cap, const int32_t *accepted, lathe_step_info *info, const int64_t *op_ns);
    // logits is [max_logits][vocab], of the last step.
    void copy_logits(int32_t first, int32_t n, const float *logits, float *out) const;
    void copy_residual(int32_t stage, float *out) const;
    // pool has page(i), pages() and page_bytes().
    template <class Pool>
    void copy_pages(Pool &pool, int32_t direction, int32_t n, const int32_t *from, const int32_t *to, void *host,
                    uint64_t host_bytes) const
    {
        require_idle("copy pages");
        const uint64_t size = pool.page_bytes();
        check_copy_pages(direction, n, from, to, host, host_bytes, pool.pages(), size);
        unsigned char *packed = static_cast<unsigned char *>(host);
        for (int32_t i = 0; i < n; i++, packed += size) {
            if (direction == LATHE_PAGES_WITHIN)
                std::memmove(pool.page(to[i]), pool.page(from[i]), size);
            else if (direction == LATHE_PAGES_OUT)
                std::memcpy(packed, pool.page(from[i]), size);
            else
                std::memcpy(pool.page(to[i]), packed, size);
        }
    }
    // Refuses anything that a running step would disturb.
    void require_idle(const char *what) const;

private:
    void check_wait(const int32_t *tokens, int32_t cap, const int32_t *accepted, const lathe_step_info *info) const;

    const char *backend_;
    int32_t vocab_, hidden_, layers_;
    std::vector<int32_t> tokens_;  // [max_logits]
    std::vector<float> residual_;  // [layers+2][residual_rows_][hidden]
    int32_t residual_rows_ = 0, n_want_ = 0;
    bool keeping_ = false;
    /* The first wanted row with a NaN or infinite logit; -1: none. */
    int32_t broken_row_ = -1, broken_sequence_ = -1, broken_position_ = -1;
    bool pending_ = false;   // submitted, not waited for
    bool finished_ = false;  // the logits are the last step's
};

// Refuses a struct of the border whose size is not what this backend was built with.
void check_struct_size(const void *out, uint32_t has, size_t wants, const char *what);

}  // namespace lathe

#endif  // LATHE_SESSION_RESULTS_H
