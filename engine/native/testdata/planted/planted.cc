// planted.cc: the CPU backend with a known fault, to test what compare finds. Built by
// CMake with -DLATHE_PLANTED=NAME=DEFINITION;... (see CMakeLists.txt):
//   PLANTED_SPIN=2.5   each step takes 2.5 % longer: the backend's own time from submit
//                      to the end of wait, measured step by step, is spun on top
//   PLANTED_WRONG=400  from step 400 on the first 64 logits of a row are half as large
//                      again; 0: from the start
#include <chrono>
#include <cstdint>

#include "../../backend.h"

#ifndef PLANTED_SPIN
#define PLANTED_SPIN 0
#endif

extern "C" const lathe_backend *lathe_cpu_backend(void);

namespace {

int64_t now()
{
    using std::chrono::duration_cast;
    return duration_cast<std::chrono::nanoseconds>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

const lathe_backend *cpu;
int64_t steps;  // submitted so far, over all sessions
int64_t begun;  // of the step that runs; 0: none does. One session of a comparison runs at a time.

int32_t submit(lathe_session *s, int32_t rows, const int32_t *token, const int32_t *seq, const int32_t *pos, int32_t sequences,
               const int32_t *page_table, int32_t page_stride, int32_t n_want, const int32_t *want_rows, uint32_t flags, char *err,
               int32_t err_cap)
{
    begun = now();
    steps++;
    return cpu->submit(s, rows, token, seq, pos, sequences, page_table, page_stride, n_want, want_rows, flags, err, err_cap);
}

int32_t wait(lathe_session *s, int32_t *tokens, int32_t cap, int32_t *accepted, lathe_step_info *info, char *err, int32_t err_cap)
{
    const int32_t rc = cpu->wait(s, tokens, cap, accepted, info, err, err_cap);
    if (begun != 0) {
        const int64_t end = now();
        const int64_t until = end + static_cast<int64_t>(static_cast<double>(end - begun) * (PLANTED_SPIN) / 100);
        while (now() < until) {
        }
        begun = 0;
    }
    return rc;
}

int32_t logits(lathe_session *s, int32_t first, int32_t n, float *out, char *err, int32_t err_cap)
{
    const int32_t rc = cpu->logits(s, first, n, out, err, err_cap);
#ifdef PLANTED_WRONG
    if (rc == LATHE_OK && n > 0 && steps >= (PLANTED_WRONG)) {
        for (int i = 0; i < 64; i++) out[i] *= 1.5f;
    }
#endif
    return rc;
}

lathe_backend planted()
{
    cpu = lathe_cpu_backend();
    lathe_backend t = *cpu;
    t.submit = submit;
    t.wait = wait;
    t.logits = logits;
    return t;
}

}  // namespace

extern "C" __attribute__((visibility("default"))) const lathe_backend *lathe_backend_get(void)
{
    static const lathe_backend table = planted();
    return &table;
}
