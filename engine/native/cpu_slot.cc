// cpu_slot.cc: see cpu_slot.h.
#include "cpu_slot.h"

#include <cstdio>

#include "cpu_builtin.h"
#include "memory_size.h"
#include "native_error.h"
#include "operator_args.h"
#include "operator_names.h"

namespace lathe {
namespace cpu {

Slot::Slot(const Kernels &kernels, int32_t op, const lathe_override &o, int32_t parts, bool deterministic)
    : op_(op), builtin_(o.kind == LATHE_OVERRIDE_BUILTIN), function_(o.function), workspace_(o.workspace),
      supports_(o.supports), contexts_(static_cast<size_t>(parts))
{
    if (o.kind == LATHE_OVERRIDE_IMAGE)
        fail(LATHE_E_UNSUPPORTED, "session: operator %s: the cpu backend runs no cubin or PTX, only a shared library",
             operator_name(op));
    if (builtin_) {
        function_ = builtin_function(kernels, op);
        workspace_ = supports_ = nullptr;
    }
    for (int32_t part = 0; part < parts; part++) {
        lathe_ctx &c = contexts_[static_cast<size_t>(part)].ctx;
        c = {};
        c.abi = LATHE_OP_ABI;
        c.struct_size = sizeof c;
        c.part = part;
        c.parts = parts;
        c.device = -1;
        c.flags = deterministic ? LATHE_CTX_DETERMINISTIC : 0;
    }
}

void Slot::ask_supports(const void *args) const
{
    int can = 1;
    if (builtin_) {
        can = builtin_supports(op_, args) ? 1 : 0;
    } else if (supports_ != nullptr) {
        try {
            can = reinterpret_cast<int (*)(const void *)>(supports_)(args);
        } catch (...) {
            fail(LATHE_E_UNSUPPORTED, "session: operator %s: lathe_op_%s_supports threw an exception",
                 operator_name(op_), operator_symbol(op_));
        }
    }
    if (can == 0)
        fail(LATHE_E_UNSUPPORTED,
             "session: operator %s: lathe_op_%s_supports says that it cannot run what is asked of it (%s)",
             operator_name(op_), operator_symbol(op_), describe_args(op_, args).c_str());
}

void Slot::take_workspace(const void *args)
{
    const int32_t parts = static_cast<int32_t>(contexts_.size());
    if (builtin_) {
        bytes_ = builtin_workspace(op_, args, parts);
    } else if (workspace_ != nullptr) {
        try {
            bytes_ = reinterpret_cast<uint64_t (*)(const void *)>(workspace_)(args);
        } catch (...) {
            fail(LATHE_E_UNSUPPORTED, "session: operator %s: lathe_op_%s_workspace threw an exception",
                 operator_name(op_), operator_symbol(op_));
        }
    }
    if (bytes_ == 0) return;
    const std::string what = std::string("workspace of operator ") + operator_name(op_);
    block_.allocate(bytes_, what.c_str());
    block_.touch();
    for (Context &c : contexts_) {
        c.ctx.workspace = block_.data();
        c.ctx.workspace_bytes = bytes_;
    }
}

int Slot::call_any(int32_t part, const void *args) const noexcept
{
    switch (op_) {
    case LATHE_OP_RMSNORM: return call(part, *static_cast<const lathe_rmsnorm_args *>(args));
    case LATHE_OP_ROPE_APPEND: return call(part, *static_cast<const lathe_rope_append_args *>(args));
    case LATHE_OP_ATTN_DECODE: return call(part, *static_cast<const lathe_attn_decode_args *>(args));
    case LATHE_OP_SILU_MUL: return call(part, *static_cast<const lathe_silu_mul_args *>(args));
    case LATHE_OP_NORM_QKV_ROPE_APPEND:
        return call(part, *static_cast<const lathe_norm_qkv_rope_append_args *>(args));
    case LATHE_OP_NORM_GATE_UP_SILU: return call(part, *static_cast<const lathe_norm_gate_up_silu_args *>(args));
    case LATHE_OP_NORM_HEAD_ARGMAX: return call(part, *static_cast<const lathe_norm_head_argmax_args *>(args));
    default: return call(part, *static_cast<const lathe_gemm_args *>(args));
    }
}

void SlotFailure::raise(const char *what) const
{
    if (!failed()) return;
    char where[48] = "";
    if (layer_ >= 0) snprintf(where, sizeof where, "in layer %d, ", layer_);
    if (code_ == kThrew)
        fail(LATHE_E_INTERNAL, "%s: operator %s threw an exception (%spart %d)", what, operator_name(op_), where, part_);
    fail(LATHE_E_INTERNAL, "%s: operator %s returned %d (%spart %d)", what, operator_name(op_), code_, where, part_);
}

}  // namespace cpu
}  // namespace lathe
