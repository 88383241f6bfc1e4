// fixture.h: seeded models and paged sessions through the C table, as the Go side
// drives them.
#ifndef LATHE_TEST_FIXTURE_H
#define LATHE_TEST_FIXTURE_H

#include <cstdint>
#include <string>
#include <vector>

#include "../backend.h"

extern "C" const lathe_backend *lathe_cpu_backend(void);
extern "C" const lathe_backend *lathe_reference_backend(void);

namespace lathe_test {

// A small Llama: odd sizes, grouped heads.
lathe_model_desc small_desc(int32_t head_dim = 16);

// A model with every tensor seeded (norms are ones).
class Model {
public:
    Model(const lathe_backend *backend, const lathe_model_desc &desc, uint64_t seed = 7, float std = 0.08f);
    ~Model();
    Model(const Model &) = delete;
    Model &operator=(const Model &) = delete;

    const lathe_backend *backend;
    lathe_model_desc desc;
    lathe_model *handle = nullptr;
};

lathe_session_options options(int32_t threads, int32_t page_size, const char *isa);

// Our own operator in its slot, or a function in it.
lathe_override builtin(const char *op);
lathe_override function(const char *op, void *address);

// Rows of one sequence at positions first, first+1, ...
struct Piece {
    int32_t sequence, first;
    std::vector<int32_t> tokens;
};

// A session whose sequences own scattered pages; every row wants logits.
class Session {
public:
    Session(const Model &model, const lathe_session_options &options, const std::vector<lathe_override> &overrides = {});
    ~Session();
    Session(const Session &) = delete;
    Session &operator=(const Session &) = delete;

    // One step; returns its logits [rows][vocab], or nothing and sets `status`.
    std::vector<float> step(const std::vector<Piece> &pieces, uint32_t flags = 0);

    const Model &model;
    lathe_session_options opened;
    lathe_session *handle = nullptr;
    std::vector<int32_t> page_table, tokens;
    int32_t stride = 0;
    int32_t status = LATHE_OK;
    char error[400] = "";
    lathe_step_info info{};
};

// Deterministic token ids.
std::vector<int32_t> some_tokens(int32_t n, int32_t vocab, uint64_t seed);
// The paths of the CPU backend that run here.
std::vector<std::string> paths();
bool same_bits(const std::vector<float> &a, const std::vector<float> &b);

}  // namespace lathe_test

#endif  // LATHE_TEST_FIXTURE_H
