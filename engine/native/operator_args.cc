// operator_args.cc: see operator_args.h.
#include "operator_args.h"

#include <algorithm>
#include <cstdio>

#include "dtype_convert.h"
#include "memory_size.h"
#include "native_error.h"
#include "operator_names.h"

namespace lathe {

namespace {

template <class Args>
const Args &as(const void *args)
{
    return *static_cast<const Args *>(args);
}

std::string text(const lathe_rmsnorm_args &a)
{
    return "rows " + std::to_string(a.rows) + ", hidden " + std::to_string(a.hidden) + ", x " + dtype_name(a.x_dtype) +
           ", weight " + dtype_name(a.weight_dtype) + ", out " + dtype_name(a.out_dtype);
}

std::string text(const lathe_gemm_args &a)
{
    return "m " + std::to_string(a.m) + ", n " + std::to_string(a.n) + ", k " + std::to_string(a.k) + ", a " +
           dtype_name(a.a_dtype) + ", w " + dtype_name(a.w_dtype) + ", out " + dtype_name(a.out_dtype) +
           (a.bias != nullptr ? ", a bias" : "") + (a.accumulate ? ", accumulate" : "");
}

std::string text(const lathe_rope_append_args &a)
{
    return "rows " + std::to_string(a.rows) + ", heads " + std::to_string(a.q_heads) + "/" +
           std::to_string(a.kv_heads) + ", head_dim " + std::to_string(a.head_dim) + ", page_size " +
           std::to_string(a.page_size) + ", qkv " + dtype_name(a.qkv_dtype) + ", kv " + dtype_name(a.kv_dtype);
}

std::string text(const lathe_silu_mul_args &a)
{
    return "rows " + std::to_string(a.rows) + ", ffn " + std::to_string(a.ffn) + ", in " + dtype_name(a.in_dtype) +
           ", out " + dtype_name(a.out_dtype);
}

std::string text(const lathe_attn_decode_args &a)
{
    return "batch " + std::to_string(a.batch) + ", q_per_seq " + std::to_string(a.q_per_seq) + ", heads " +
           std::to_string(a.q_heads) + "/" + std::to_string(a.kv_heads) + ", head_dim " + std::to_string(a.head_dim) +
           ", page_size " + std::to_string(a.page_size) + ", q " + dtype_name(a.q_dtype) + ", kv " +
           dtype_name(a.kv_dtype) + ", out " + dtype_name(a.out_dtype);
}

int64_t elements(int64_t count, int64_t stride, int64_t rest) { return count < 1 ? 0 : (count - 1) * stride + rest; }

// A field that may be NULL, or is when a fused operator passes it on inside.
enum Presence { kNeeded, kOptional };
Presence needed_unless(bool inside) { return inside ? kOptional : kNeeded; }

// Collects the buffers of one set of arguments.
class Buffers {
public:
    // Elements of a type from the pointer's first to its last.
    template <class Pointer>
    void add(const char *field, Pointer &pointer, int64_t count, int32_t dtype, OperatorBuffer::Use use,
             bool streamed = false, Presence presence = kNeeded)
    {
        if (pointer == nullptr && presence == kNeeded) fail(LATHE_E_INVALID, "operator arguments: %s is NULL", field);
        if (pointer == nullptr) return;
        if (count < 0 || dtype_bytes(dtype) == 0)
            fail(LATHE_E_INVALID, "operator arguments: %s: %lld elements of dtype %d", field,
                 static_cast<long long>(count), dtype);
        const uint64_t bytes = checked_mul(static_cast<uint64_t>(count), dtype_bytes(dtype), field);
        if (bytes > 0) list.push_back({field, const_cast<void **>(reinterpret_cast<const void *const *>(&pointer)), bytes, use, streamed});
    }
    // `inside`: part of a fused operator, whose chain passes on what is between.
    void rmsnorm(lathe_rmsnorm_args &a, bool inside)
    {
        add("x", a.x, elements(a.rows, a.x_row_stride, a.hidden), a.x_dtype, OperatorBuffer::kInput);
        add("residual", a.residual, elements(a.rows, a.residual_row_stride, a.hidden), a.residual_dtype,
            OperatorBuffer::kBoth, false, kOptional);
        add("weight", a.weight, a.hidden, a.weight_dtype, OperatorBuffer::kInput, true);
        add("out", a.out, elements(a.rows, a.out_row_stride, a.hidden), a.out_dtype, OperatorBuffer::kOutput, false,
            needed_unless(inside));
    }
    void gemm(lathe_gemm_args &a, bool inside)
    {
        add("a", a.a, elements(a.m, a.a_row_stride, a.k), a.a_dtype, OperatorBuffer::kInput, false,
            needed_unless(inside));
        add("w", a.w, elements(a.n, a.w_row_stride, a.k), a.w_dtype, OperatorBuffer::kInput, true);
        add("bias", a.bias, a.n, a.bias_dtype, OperatorBuffer::kInput, true, kOptional);
        add("out", a.out, elements(a.m, a.out_row_stride, a.n), a.out_dtype,
            a.accumulate ? OperatorBuffer::kBoth : OperatorBuffer::kOutput, false, needed_unless(inside));
    }
    void silu_mul(lathe_silu_mul_args &a, bool inside)
    {
        add("in", a.in, elements(a.rows, a.in_row_stride, 2 * int64_t{a.ffn}), a.in_dtype, OperatorBuffer::kInput,
            false, needed_unless(inside));
        add("out", a.out, elements(a.rows, a.out_row_stride, a.ffn), a.out_dtype, OperatorBuffer::kOutput);
    }
    void rope_append(lathe_rope_append_args &a, bool inside);
    void attn_decode(lathe_attn_decode_args &a);

    std::vector<OperatorBuffer> list;
};

void require_paging(int32_t page_size, int32_t head_dim, int32_t kv_heads)
{
    if (page_size < 1 || head_dim < 2 || kv_heads < 1)
        fail(LATHE_E_INVALID, "operator arguments: page_size %d, head_dim %d, kv_heads %d", page_size, head_dim, kv_heads);
}

void Buffers::rope_append(lathe_rope_append_args &a, bool inside)
{
    require_paging(a.page_size, a.head_dim, a.kv_heads);
    int64_t page = -1, table = 0, last = -1;
    for (int32_t r = 0; r < a.rows && a.position != nullptr && a.seq != nullptr && a.block_table != nullptr; r++) {
        if (a.position[r] < 0) continue;
        const int64_t at = a.seq[r] * a.block_table_stride + a.position[r] / a.page_size;
        page = std::max<int64_t>(page, a.block_table[at]);
        table = std::max(table, at + 1);
        last = std::max<int64_t>(last, a.position[r]);
    }
    const int64_t q = int64_t{a.q_heads} * a.head_dim, kv = int64_t{a.kv_heads} * a.head_dim;
    add("q", a.q, elements(a.rows, a.q_row_stride, q), a.qkv_dtype, OperatorBuffer::kBoth);
    const Presence between = needed_unless(inside);
    add("k", a.k, elements(a.rows, a.k_row_stride, kv), a.qkv_dtype, OperatorBuffer::kInput, false, between);
    add("v", a.v, elements(a.rows, a.v_row_stride, kv), a.qkv_dtype, OperatorBuffer::kInput, false, between);
    add("position", a.position, a.rows, LATHE_F32, OperatorBuffer::kInput);
    add("seq", a.seq, a.rows, LATHE_F32, OperatorBuffer::kInput);
    add("cos_sin", a.cos_sin, elements(last + 1, a.cos_sin_row_stride, a.head_dim), LATHE_F32, OperatorBuffer::kInput);
    add("block_table", a.block_table, table, LATHE_F32, OperatorBuffer::kInput);
    const int64_t k_slot = elements(a.page_size, a.k_slot_stride, elements(a.kv_heads, a.k_head_stride, a.head_dim));
    const int64_t v_slot = elements(a.page_size, a.v_slot_stride, elements(a.kv_heads, a.v_head_stride, a.head_dim));
    add("k_pages", a.k_pages, elements(page + 1, a.k_page_stride, k_slot), a.kv_dtype, OperatorBuffer::kBoth, true);
    add("v_pages", a.v_pages, elements(page + 1, a.v_page_stride, v_slot), a.kv_dtype, OperatorBuffer::kBoth, true);
}

void Buffers::attn_decode(lathe_attn_decode_args &a)
{
    require_paging(a.page_size, a.head_dim, a.kv_heads);
    int64_t page = -1, table = 0;
    for (int32_t b = 0; b < a.batch && a.seq_len != nullptr && a.block_table != nullptr; b++)
        for (int64_t p = 0; p < (int64_t{a.seq_len[b]} + a.page_size - 1) / a.page_size; p++) {
            const int64_t at = b * a.block_table_stride + p;
            page = std::max<int64_t>(page, a.block_table[at]);
            table = std::max(table, at + 1);
        }
    const int64_t heads = int64_t{a.batch} * a.q_per_seq * a.q_heads;
    add("q", a.q,
        elements(a.batch, a.q_seq_stride, elements(a.q_per_seq, a.q_row_stride, elements(a.q_heads, a.q_head_stride, a.head_dim))),
        a.q_dtype, OperatorBuffer::kInput);
    add("out", a.out,
        elements(a.batch, a.out_seq_stride,
                 elements(a.q_per_seq, a.out_row_stride, elements(a.q_heads, a.out_head_stride, a.head_dim))),
        a.out_dtype, OperatorBuffer::kOutput);
    add("lse", a.lse, heads, LATHE_F32, OperatorBuffer::kOutput, false, kOptional);
    add("block_table", a.block_table, table, LATHE_F32, OperatorBuffer::kInput);
    add("seq_len", a.seq_len, a.batch, LATHE_F32, OperatorBuffer::kInput);
    const int64_t k_slot = elements(a.page_size, a.k_slot_stride, elements(a.kv_heads, a.k_head_stride, a.head_dim));
    const int64_t v_slot = elements(a.page_size, a.v_slot_stride, elements(a.kv_heads, a.v_head_stride, a.head_dim));
    add("k_pages", a.k_pages, elements(page + 1, a.k_page_stride, k_slot), a.kv_dtype, OperatorBuffer::kInput, true);
    add("v_pages", a.v_pages, elements(page + 1, a.v_page_stride, v_slot), a.kv_dtype, OperatorBuffer::kInput, true);
}

}  // namespace

uint64_t operator_args_bytes(int32_t op)
{
    switch (op) {
    case LATHE_OP_RMSNORM: return sizeof(lathe_rmsnorm_args);
    case LATHE_OP_ROPE_APPEND: return sizeof(lathe_rope_append_args);
    case LATHE_OP_ATTN_DECODE: return sizeof(lathe_attn_decode_args);
    case LATHE_OP_SILU_MUL: return sizeof(lathe_silu_mul_args);
    case LATHE_OP_NORM_QKV_ROPE_APPEND: return sizeof(lathe_norm_qkv_rope_append_args);
    case LATHE_OP_NORM_GATE_UP_SILU: return sizeof(lathe_norm_gate_up_silu_args);
    case LATHE_OP_NORM_HEAD_ARGMAX: return sizeof(lathe_norm_head_argmax_args);
    default: return sizeof(lathe_gemm_args);
    }
}

std::string describe_args(int32_t op, const void *args)
{
    switch (op) {
    case LATHE_OP_RMSNORM: return text(as<lathe_rmsnorm_args>(args));
    case LATHE_OP_ROPE_APPEND: return text(as<lathe_rope_append_args>(args));
    case LATHE_OP_ATTN_DECODE: return text(as<lathe_attn_decode_args>(args));
    case LATHE_OP_SILU_MUL: return text(as<lathe_silu_mul_args>(args));
    case LATHE_OP_NORM_QKV_ROPE_APPEND: {
        const auto &a = as<lathe_norm_qkv_rope_append_args>(args);
        return text(a.norm) + "; " + text(a.qkv) + "; " + text(a.rope);
    }
    case LATHE_OP_NORM_GATE_UP_SILU: {
        const auto &a = as<lathe_norm_gate_up_silu_args>(args);
        return text(a.norm) + "; " + text(a.gate_up) + "; " + text(a.silu);
    }
    case LATHE_OP_NORM_HEAD_ARGMAX: {
        const auto &a = as<lathe_norm_head_argmax_args>(args);
        return text(a.norm) + "; " + text(a.head);
    }
    default: return text(as<lathe_gemm_args>(args));
    }
}

std::vector<OperatorBuffer> operator_buffers(int32_t op, void *args)
{
    const uint32_t size = *static_cast<const uint32_t *>(args);
    if (size != operator_args_bytes(op))
        fail(LATHE_E_INVALID, "operator %s: its arguments have %u bytes, this backend expects %llu", operator_name(op),
             size, static_cast<unsigned long long>(operator_args_bytes(op)));
    Buffers b;
    switch (op) {
    case LATHE_OP_RMSNORM: b.rmsnorm(*static_cast<lathe_rmsnorm_args *>(args), false); break;
    case LATHE_OP_ROPE_APPEND: b.rope_append(*static_cast<lathe_rope_append_args *>(args), false); break;
    case LATHE_OP_ATTN_DECODE: b.attn_decode(*static_cast<lathe_attn_decode_args *>(args)); break;
    case LATHE_OP_SILU_MUL: b.silu_mul(*static_cast<lathe_silu_mul_args *>(args), false); break;
    case LATHE_OP_NORM_QKV_ROPE_APPEND: {
        auto &a = *static_cast<lathe_norm_qkv_rope_append_args *>(args);
        b.rmsnorm(a.norm, true), b.gemm(a.qkv, true), b.rope_append(a.rope, true);
        break;
    }
    case LATHE_OP_NORM_GATE_UP_SILU: {
        auto &a = *static_cast<lathe_norm_gate_up_silu_args *>(args);
        b.rmsnorm(a.norm, true), b.gemm(a.gate_up, true), b.silu_mul(a.silu, true);
        break;
    }
    case LATHE_OP_NORM_HEAD_ARGMAX: {
        auto &a = *static_cast<lathe_norm_head_argmax_args *>(args);
        b.rmsnorm(a.norm, true), b.gemm(a.head, true);
        b.add("token", a.token, a.norm.rows, LATHE_F32, OperatorBuffer::kOutput);
        b.add("value", a.value, a.norm.rows, LATHE_F32, OperatorBuffer::kOutput);
        break;
    }
    default: b.gemm(*static_cast<lathe_gemm_args *>(args), false);
    }
    return b.list;
}

}  // namespace lathe
