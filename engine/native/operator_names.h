// operator_names.h: the operators of operator.h by name, and what every backend
// refuses about the overrides of a session, in the same words.
#ifndef LATHE_OPERATOR_NAMES_H
#define LATHE_OPERATOR_NAMES_H

#include <cstdint>

#include "backend.h"
#include "operator.h"

namespace lathe {

// Sets of operators are bits 1 << LATHE_OP_*.
constexpr uint32_t operator_bit(int32_t op) { return 1u << op; }

const uint32_t kFusedOperators = operator_bit(LATHE_OP_NORM_QKV_ROPE_APPEND) | operator_bit(LATHE_OP_O_ADD) |
                                 operator_bit(LATHE_OP_NORM_GATE_UP_SILU) | operator_bit(LATHE_OP_DOWN_ADD) |
                                 operator_bit(LATHE_OP_NORM_HEAD_ARGMAX);

// The operators that a name of --kernel replaces: one, or with "gemm" all five
// roles. 0 for a name that does not exist or cannot be replaced.
uint32_t operator_set(const char *name);

// The name of one operator, with its role: "gemm.down"; "unknown" outside the list.
const char *operator_name(int32_t op);

// What follows lathe_op_ in the exported symbol: "gemm" for every role of it.
const char *operator_symbol(int32_t op);

// The role of a gemm operator (o_add and down_add are gemms too), -1 for the others.
int32_t operator_gemm_role(int32_t op);

// The unfused operators that a fused one is made of; 0 for the others.
uint32_t operator_parts(int32_t fused);

// Refuses overrides that no backend could take: NULL, another size, an unknown kind
// or name, a missing function or image, an operator that is replaced twice, and a fused
// operator beside one of its parts. Returns every operator that is replaced.
uint32_t check_overrides(const lathe_override *overrides, int32_t n);

}  // namespace lathe

#endif  // LATHE_OPERATOR_NAMES_H
