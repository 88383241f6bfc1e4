// operator_run_test.cc: one operator alone: the numbers are right in every cache state,
// and a cold one never meets its buffers again before four caches have passed.
#include <cmath>
#include <cstring>
#include <set>
#include <string>
#include <vector>

#include "../cpu_kernels.h"
#include "../cpu_operator_run.h"
#include "../native_error.h"
#include "../operator.h"
#include "check.h"
#include "fixture.h"

using namespace lathe_test;

namespace {

const int32_t kM = 3, kN = 40, kK = 24;

struct Product {
    std::vector<float> a, out;
    std::vector<uint16_t> w;
    lathe_gemm_args args{};

    Product() : a(kM * kK), out(kM * kN, -1), w(kN * kK)
    {
        for (size_t i = 0; i < a.size(); i++) a[i] = static_cast<float>(static_cast<int>(i * 7 % 11) - 5);
        for (size_t i = 0; i < w.size(); i++) w[i] = lathe_bf16_from_f32(static_cast<float>(static_cast<int>(i * 5 % 9) - 4));
        args.struct_size = sizeof args;
        args.role = LATHE_GEMM_DOWN;
        args.m = kM, args.n = kN, args.k = kK;
        args.w_dtype = LATHE_OP_BF16;
        args.a = a.data(), args.w = w.data(), args.out = out.data();
        args.a_row_stride = args.w_row_stride = kK, args.out_row_stride = kN;
    }
    bool right() const
    {
        for (int32_t m = 0; m < kM; m++)
            for (int32_t n = 0; n < kN; n++) {
                float sum = 0; /* small whole numbers: exact in any order */
                for (int32_t k = 0; k < kK; k++)
                    sum += a[static_cast<size_t>(m * kK + k)] * lathe_f32_from_bf16(w[static_cast<size_t>(n * kK + k)]);
                if (out[static_cast<size_t>(m * kN + n)] != sum) return false;
            }
        return true;
    }
};

// What a function saw in its calls.
struct Seen {
    std::vector<const void *> a, w;
    std::vector<float> sums;
    int code = 0;
} seen;

int look(const lathe_ctx *ctx, const lathe_gemm_args *args)
{
    if (ctx->part != 0) return 0;
    seen.a.push_back(args->a);
    seen.w.push_back(args->w);
    float sum = 0;
    for (int32_t i = 0; i < kM * kK; i++) sum += static_cast<const float *>(args->a)[i] * static_cast<float>(i);
    seen.sums.push_back(sum);
    std::memset(args->out, 0x55, sizeof(float));
    return seen.code;
}

std::string run(const char *op, const void *args, void *function, int32_t cache, std::vector<int64_t> *ns,
                uint64_t cache_bytes = 4096, int32_t threads = 2)
{
    lathe::cpu::Pool pool(threads);
    char err[400] = "";
    lathe::guard(err, sizeof err, [&] {
        lathe::cpu::run_operator(*lathe::cpu::find_kernels(""), pool, true,
                                 {op, args, function, cache, static_cast<int32_t>(ns->size()), ns->data()}, cache_bytes);
    });
    return err;
}

void *pointer(int (*f)(const lathe_ctx *, const lathe_gemm_args *)) { return reinterpret_cast<void *>(f); }

size_t different(const std::vector<const void *> &list) { return std::set<const void *>(list.begin(), list.end()).size(); }

}  // namespace

TEST(alone_builtin_writes_the_callers_outputs_when_warm)
{
    for (const int32_t threads : {1, 2, 5}) {
        Product p;
        std::vector<int64_t> ns(3, -1);
        const std::string error = run("gemm.down", &p.args, nullptr, LATHE_CACHE_WARM, &ns, 4096, threads);
        CHECK_MSG(error.empty() && p.right(), "%d threads: %s", threads, error.c_str());
        for (const int64_t t : ns) CHECK(t >= 0);
    }
    Product p;
    std::vector<int64_t> ns(2, -1);
    CHECK(run("gemm", &p.args, nullptr, LATHE_CACHE_COLD, &ns).empty());
    CHECK(p.out[0] == -1 && ns[1] >= 0);
}

// 4 x 4096 bytes of cache, 288 + 1920 + 480 + padding bytes a copy.
TEST(alone_cold_takes_copies_by_turns)
{
    Product p;
    const size_t footprint = 320 + 1920 + 512, copies = 4 * 4096 / footprint + 1;
    std::vector<int64_t> ns(3 * copies);
    seen = Seen{};
    CHECK(run("gemm.down", &p.args, pointer(look), LATHE_CACHE_COLD, &ns).empty());
    CHECK(seen.a.size() == ns.size() + 1 && p.out[0] == -1);
    CHECK_MSG(different(seen.a) >= copies && different(seen.w) == different(seen.a), "%zu copies", different(seen.a));
    for (size_t i = copies; i < seen.a.size(); i++)
        for (size_t j = 1; j < copies; j++) CHECK(seen.a[i] != seen.a[i - j]);
    for (const float sum : seen.sums) CHECK(sum == seen.sums[0] && sum != 0);

    seen = Seen{};
    CHECK(run("gemm.down", &p.args, pointer(look), LATHE_CACHE_STREAM, &ns).empty());
    CHECK(different(seen.a) == 1 && seen.a[0] == p.a.data() && different(seen.w) > 8);
    seen = Seen{};
    CHECK(run("gemm.down", &p.args, pointer(look), LATHE_CACHE_WARM, &ns).empty());
    CHECK(different(seen.a) == 1 && different(seen.w) == 1 && seen.w[0] == p.w.data());
}

TEST(alone_refuses_by_name)
{
    Product p;
    std::vector<int64_t> ns(2);
    const auto says = [&](const std::string &error, const char *words) {
        CHECK_MSG(error.find(words) != std::string::npos, "\"%s\" does not say \"%s\"", error.c_str(), words);
    };
    seen.code = 9;
    says(run("gemm.down", &p.args, pointer(look), LATHE_CACHE_WARM, &ns), "operator gemm.down returned 9");
    seen.code = 0;
    says(run("embed", &p.args, nullptr, LATHE_CACHE_WARM, &ns), "operator \"embed\" does not exist");
    says(run("rmsnorm", &p.args, nullptr, LATHE_CACHE_WARM, &ns), "its arguments have 96 bytes, this backend expects 88");
    says(run("gemm.down", &p.args, nullptr, LATHE_CACHE_COLD, &ns, 1ull << 50), "do not fit half of the machine's memory");
    p.args.w = nullptr;
    says(run("gemm.down", &p.args, nullptr, LATHE_CACHE_WARM, &ns), "w is NULL");
    Product half;
    half.args.a_dtype = LATHE_OP_F16;
    says(run("gemm.down", &half.args, nullptr, LATHE_CACHE_WARM, &ns), "says that it cannot run");
    Product none;
    none.args.m = -1;
    CHECK(run("gemm.down", &none.args, nullptr, LATHE_CACHE_WARM, &ns).empty()); /* no rows: nothing to do */

    const Model m(lathe_cpu_backend(), small_desc());
    Session s(m, options(2, 16, ""));
    Product ok;
    char err[400];
    CHECK(m.backend->op_run(s.handle, "gemm.down", &ok.args, nullptr, LATHE_CACHE_WARM, 2, ns.data(), err, sizeof err) ==
          LATHE_OK);
    CHECK(ok.right());
    CHECK(m.backend->op_run(s.handle, "gemm.down", &ok.args, nullptr, 7, 2, ns.data(), err, sizeof err) == LATHE_E_INVALID);
    CHECK(m.backend->op_run(s.handle, "gemm.down", &ok.args, nullptr, 0, 0, ns.data(), err, sizeof err) == LATHE_E_INVALID);
}
