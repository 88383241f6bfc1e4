// decode_bench.cc: decode tokens per second of a seeded model beside the read
// bandwidth of the same threads in the same run. A measurement, not a test:
//   decode_bench [threads] [isa] [smollm2|1b] [context]
#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "../cpu_memory.h"
#include "../cpu_pool.h"
#include "../operator.h"
#include "../test/fixture.h"

using namespace lathe_test;

namespace {

double now()
{
    return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

struct Read {
    lathe::cpu::Pool *pool;
    const uint64_t *data;
    int64_t words;
    uint64_t sink[64];
};

typedef uint64_t U8 __attribute__((vector_size(64)));

void read_share(void *context, int32_t thread)
{
    Read &r = *static_cast<Read *>(context);
    const lathe::cpu::Range mine = lathe::cpu::share(r.words / 32, thread, r.pool->threads());
    U8 a = {0}, b = {0}, c = {0}, d = {0};
    for (int64_t i = mine.first; i < mine.last; i++) {
        const U8 *at = reinterpret_cast<const U8 *>(r.data) + i * 4;
        a += at[0];
        b += at[1];
        c += at[2];
        d += at[3];
    }
    const U8 sum = a + b + c + d;
    r.sink[thread] = sum[0] + sum[3] + sum[7];
}

// Best of several passes over `bytes`, in GB/s.
double read_bandwidth(int32_t threads, uint64_t bytes)
{
    lathe::cpu::HugeBlock block;
    block.allocate(bytes, "bandwidth");
    block.touch();
    lathe::cpu::Pool pool(threads);
    Read r{&pool, reinterpret_cast<const uint64_t *>(block.data()), static_cast<int64_t>(bytes / 8), {0}};
    double best = 0;
    for (int i = 0; i < 8; i++) {
        const double t = now();
        pool.run(read_share, &r);
        best = std::max(best, static_cast<double>(bytes) / (now() - t) / 1e9);
    }
    return best;
}

lathe_model_desc shape(const char *name)
{
    lathe_model_desc d = small_desc(64);
    d.max_position = 4096;
    d.tied = 1;
    if (strcmp(name, "1b") == 0) {
        d.vocab = 128256, d.hidden = 2048, d.layers = 16, d.q_heads = 32, d.kv_heads = 8, d.ffn = 8192;
    } else if (strcmp(name, "8b") == 0) {
        d.vocab = 128256, d.hidden = 4096, d.layers = 32, d.q_heads = 32, d.kv_heads = 8, d.ffn = 14336;
        d.head_dim = 128, d.tied = 0;
    } else {
        d.vocab = 49152, d.hidden = 576, d.layers = 30, d.q_heads = 9, d.kv_heads = 3, d.ffn = 1536;
    }
    return d;
}

double weight_bytes(const lathe_model_desc &d)
{
    const double q = 1.0 * d.q_heads * d.head_dim, kv = 1.0 * d.kv_heads * d.head_dim;
    return 2.0 * (1.0 * d.layers * d.hidden * (2 * q + 2 * kv + 3.0 * d.ffn) + 1.0 * d.vocab * d.hidden);
}

const char *kSlots[] = {"embed", "qkv", "attn", "o", "gate_up", "down", "head"};
const int kOps[] = {LATHE_OP_EMBED, LATHE_OP_NORM_QKV_ROPE_APPEND, LATHE_OP_ATTN_DECODE, LATHE_OP_O_ADD,
                    LATHE_OP_NORM_GATE_UP_SILU, LATHE_OP_DOWN_ADD, LATHE_OP_NORM_HEAD_ARGMAX};

void decode(const Model &m, const lathe_session_options &o, int32_t batch, int32_t context, double roof)
{
    Session s(m, o);
    const std::vector<int32_t> prompt = some_tokens(context, m.desc.vocab, 1);
    for (int32_t b = 0; b < batch; b++)
        for (int32_t i = 0; i < context; i += o.max_rows) {
            const int32_t end = std::min(context, i + o.max_rows);
            s.step({{b, i, {prompt.begin() + i, prompt.begin() + end}}});
        }
    std::vector<double> times;
    const int32_t steps = 40;
    double slots[LATHE_OPS] = {0};
    for (int32_t i = 0; i < steps + 8; i++) {
        std::vector<int32_t> token, seq, pos, want;
        for (int32_t b = 0; b < batch; b++) {
            token.push_back(i == 0 ? 1 : -1), seq.push_back(b), pos.push_back(context + i), want.push_back(b);
        }
        lathe_step_info info{};
        info.struct_size = sizeof info;
        const bool timed = i >= steps;
        const double t = now();
        const lathe_backend *k = m.backend;
        if (k->submit(s.handle, batch, token.data(), seq.data(), pos.data(), o.max_sequences, s.page_table.data(),
                      s.stride, batch, want.data(), timed ? LATHE_TIME_OPERATORS : 0, s.error, sizeof s.error) != 0 ||
            k->wait(s.handle, nullptr, 0, nullptr, &info, s.error, sizeof s.error) != 0) {
            printf("error: %s\n", s.error);
            exit(1);
        }
        if (!timed) times.push_back(now() - t);
        for (int j = 0; timed && j < 7; j++) slots[j] += static_cast<double>(info.op_ns[kOps[j]]) / 8e6;
    }
    std::sort(times.begin(), times.end());
    const double median = times[times.size() / 2], best = times[0], rate = weight_bytes(m.desc) / best / 1e9;
    printf("B=%-3d best %8.3f median %8.3f ms  %9.1f tok/s  weights %6.2f GB/s = %3.0f %% of read |", batch, best * 1e3, median * 1e3, batch / best,
           rate, 100 * rate / roof);
    for (int j = 0; j < 7; j++) printf(" %s %.2f", kSlots[j], slots[j]);
    printf("\n");
}

}  // namespace

int main(int argc, char **argv)
{
    const int32_t threads = argc > 1 ? atoi(argv[1]) : 2;
    const char *isa = argc > 2 ? argv[2] : "", *name = argc > 3 ? argv[3] : "smollm2";
    const int32_t context = argc > 4 ? atoi(argv[4]) : 128;
    const lathe_model_desc d = shape(name);
    double t = now();
    const Model m(lathe_cpu_backend(), d);
    printf("%s: %.1f MB of weights a step, filled in %.2f s\n", name, weight_bytes(d) / 1e6, now() - t);
    lathe_session_options o = options(threads, 16, isa);
    o.max_sequences = 16;
    o.pages = 16 * ((context + 160) / 16 + 1);
    o.max_rows = o.max_logits = 128;
    const double roof = read_bandwidth(threads, 1ull << 30);
    printf("threads %d isa %s read %.1f GB/s\n", threads, isa, roof);
    for (const int32_t b : {1, 2, 3, 4, 6, 8, 16}) decode(m, o, b, context, roof);
    Session s(m, o);
    const std::vector<int32_t> prompt = some_tokens(128, d.vocab, 1);
    double best = 1e9;
    for (int i = 0; i < 3; i++) {
        t = now();
        s.step({{0, 0, prompt}});
        best = std::min(best, now() - t);
    }
    printf("prefill of 128: %.1f tok/s\n", 128 / best);
    return 0;
}
