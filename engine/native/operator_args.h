// operator_args.h: facts about an operator's arguments that need no computation:
// their size, a description for messages, the memory that they point to.
#ifndef LATHE_OPERATOR_ARGS_H
#define LATHE_OPERATOR_ARGS_H

#include <cstdint>
#include <string>
#include <vector>

#include "operator.h"

namespace lathe {

// The arguments of the table's op_run.
struct OperatorRun {
    const char *op;
    const void *args;
    void *function;  // NULL: ours
    int32_t cache, repetitions;
    int64_t *out_ns;  // [repetitions]
};

// sizeof the arguments of an operator (LATHE_OP_*).
uint64_t operator_args_bytes(int32_t op);

// Counts and types in a few words: "m 8, n 1536, k 576, a bf16, w bf16, out f32".
std::string describe_args(int32_t op, const void *args);

// One buffer that arguments point to.
struct OperatorBuffer {
    enum Use { kInput, kOutput, kBoth };
    const char *field;
    void **pointer;  // inside the arguments
    uint64_t bytes;  // from the first byte that the operator may touch to the last
    Use use;
    bool streamed;   // weights, and pages of the cache: what a step finds cold
};

// Every buffer of the arguments that is not NULL. Pages are counted up to the largest
// index in the block table that a sequence uses. Refuses (Failure) counts below 0, a
// struct_size that is not the operator's, and a NULL where the operator needs a buffer.
std::vector<OperatorBuffer> operator_buffers(int32_t op, void *args);

}  // namespace lathe

#endif  // LATHE_OPERATOR_ARGS_H
