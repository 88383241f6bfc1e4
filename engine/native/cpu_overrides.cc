// cpu_overrides.cc: see cpu_overrides.h.
#include "cpu_overrides.h"

#include <algorithm>

#include "cpu_phases.h"
#include "native_error.h"

namespace lathe {
namespace cpu {

namespace {

uint64_t u64(int64_t n) { return static_cast<uint64_t>(n); }

const int32_t kFused[] = {LATHE_OP_NORM_QKV_ROPE_APPEND, LATHE_OP_O_ADD, LATHE_OP_NORM_GATE_UP_SILU, LATHE_OP_DOWN_ADD,
                          LATHE_OP_NORM_HEAD_ARGMAX};

// The gemm role that a slot multiplies by, -1 for none.
int32_t role_of(int32_t op)
{
    if (op == LATHE_OP_NORM_QKV_ROPE_APPEND) return LATHE_GEMM_QKV;
    if (op == LATHE_OP_NORM_GATE_UP_SILU) return LATHE_GEMM_GATE_UP;
    if (op == LATHE_OP_NORM_HEAD_ARGMAX) return LATHE_GEMM_HEAD;
    return operator_gemm_role(op);
}

}  // namespace

Overrides::Overrides(const Kernels &kernels, const lathe_override *list, int32_t n, int32_t parts, bool deterministic)
    : kernels_(kernels), parts_(parts), deterministic_(deterministic)
{
    uint32_t replaced = 0;
    for (int32_t i = 0; i < n; i++) {
        const uint32_t set = operator_set(list[i].op);
        replaced |= set;
        for (int32_t op = 0; op < LATHE_OPS; op++)
            if ((set & operator_bit(op)) != 0) add_slot(op, list[i]);
    }
    for (const int32_t fused : kFused)
        if ((replaced & operator_parts(fused)) != 0) unfused_ |= operator_bit(fused);
    lathe_override ours{};
    ours.kind = LATHE_OVERRIDE_BUILTIN;
    for (const int32_t fused : kFused)
        for (const int32_t op : {LATHE_OP_RMSNORM, LATHE_OP_ROPE_APPEND, LATHE_OP_SILU_MUL})
            if (unfused(fused) && (operator_parts(fused) & operator_bit(op)) != 0 && slots_[op] == nullptr)
                add_slot(op, ours);
}

void Overrides::add_slot(int32_t op, const lathe_override &override)
{
    slots_[op].reset(new Slot(kernels_, op, override, parts_, deterministic_));
}

void Overrides::prepare(Model &model, const lathe_session_options &options, StepContext &c, int64_t positions)
{
    max_positions = static_cast<int32_t>(std::min<int64_t>(positions, INT32_MAX));
    c.overrides = this;
    take_weights(model);
    take_rows(options, c);
    ask(options, c);
    for (const std::unique_ptr<Slot> &s : slots_)
        if (s != nullptr) bytes_ += s->workspace_bytes();
}

void Overrides::take_weights(Model &model)
{
    for (int32_t op = 0; op < LATHE_OPS; op++) {
        const int32_t role = role_of(op);
        if (slots_[op] != nullptr && role >= 0) weights_[role] = model.row_major(role);
    }
}

Rows Overrides::rows(uint64_t n, int32_t columns)
{
    const uint64_t bytes = checked_mul(checked_mul(n, u64(columns), "activations"), kernels_.activation == LATHE_F32 ? 4 : 2,
                                       "activations");
    bytes_ += bytes;
    Rows r;
    r.data = zeroed<unsigned char>(bytes, "activations");
    r.columns = columns;
    return r;
}

Buffer<float> Overrides::floats(uint64_t n, int64_t columns)
{
    const uint64_t count = checked_mul(n, u64(columns), "activations");
    bytes_ += count * sizeof(float);
    return zeroed<float>(count, "activations");
}

void Overrides::take_rows(const lathe_session_options &options, StepContext &c)
{
    const lathe_model_desc &d = c.model->desc();
    const uint64_t n = u64(options.max_rows), logits = u64(options.max_logits);
    const int32_t q_dim = d.q_heads * d.head_dim;
    const bool qkv_alone = unfused(LATHE_OP_NORM_QKV_ROPE_APPEND), ffn_alone = unfused(LATHE_OP_NORM_GATE_UP_SILU);
    const bool attention = slot(LATHE_OP_ATTN_DECODE) != nullptr;
    if (qkv_alone || ffn_alone) normed = rows(n, d.hidden);
    if (qkv_alone) {
        qkv = floats(n, int64_t{q_dim} + 2 * int64_t{d.kv_heads} * d.head_dim);
        c.q_base = qkv.get();
        c.q_stride = int64_t{q_dim} + 2 * int64_t{d.kv_heads} * d.head_dim;
    }
    if (attention || slot(LATHE_OP_GEMM_O) != nullptr || slot(LATHE_OP_O_ADD) != nullptr) {
        attended = rows(n, q_dim);
        c.attended = attended.data.get();
    }
    if (ffn_alone) gate_up = floats(n, 2 * int64_t{d.ffn});
    if (ffn_alone || slot(LATHE_OP_NORM_GATE_UP_SILU) != nullptr || slot(LATHE_OP_GEMM_DOWN) != nullptr ||
        slot(LATHE_OP_DOWN_ADD) != nullptr) {
        hidden = rows(n, d.ffn);
        c.hidden = hidden.data.get();
    }
    if (slot(LATHE_OP_GEMM_O) != nullptr || slot(LATHE_OP_GEMM_DOWN) != nullptr) added = floats(n, d.hidden);
    if (unfused(LATHE_OP_NORM_HEAD_ARGMAX)) normed_wanted = rows(logits, d.hidden);
    if (unfused(LATHE_OP_NORM_HEAD_ARGMAX) || slot(LATHE_OP_NORM_HEAD_ARGMAX) != nullptr) wanted = floats(logits, d.hidden);
    token.assign(logits, 0);
    value.assign(logits, 0);
    if (attention) {
        seq_len.assign(n, 0);
        decode_.assign(n, 0);
        runs.reserve(n);
    }
    bytes_ += logits * 8 + (attention ? n * (sizeof(int32_t) + 1 + sizeof(DecodeRun)) : 0);
}

void Overrides::sort_rows(StepContext &c)
{
    if (slot(LATHE_OP_ATTN_DECODE) == nullptr) return;
    const BatchView &b = c.batch;
    runs.clear();
    others = false;
    for (int32_t r = 0; r < b.rows; r++) {
        const bool alone = (r == 0 || b.seq[r - 1] != b.seq[r]) && (r + 1 == b.rows || b.seq[r + 1] != b.seq[r]);
        decode_[u64(r)] = alone;
        seq_len[u64(r)] = b.pos[r] + 1;
        others = others || !alone;
        if (!alone) continue;
        if (!runs.empty() && runs.back().first + runs.back().n == r && b.seq[r] == b.seq[r - 1] + 1)
            runs.back().n++;
        else
            runs.push_back({r, b.seq[r], 1});
    }
    c.skip = decode_.data();
}

namespace {

// Asks one slot with arguments made for a batch of the most rows and of one.
template <class Make>
void ask_both(Slot *slot, StepContext &c, const BatchView &most, const BatchView &least, const Make &make)
{
    if (slot == nullptr) return;
    c.batch = most;
    const auto largest = make();
    c.batch = least;
    const auto smallest = make();
    slot->prepare(&largest, &smallest);
}

}  // namespace

void Overrides::ask(const lathe_session_options &options, StepContext &c)
{
    const int32_t sequences = std::min(options.max_sequences, options.max_rows);
    const std::vector<int32_t> zeros(u64(options.max_rows), 0);
    BatchView most{};
    most.rows = options.max_rows;
    most.token = most.seq = most.pos = most.page_table = most.want_rows = zeros.data();
    most.sequences = sequences;
    most.page_stride = (max_positions + options.page_size - 1) / options.page_size;
    most.n_want = options.max_logits;
    BatchView least = most;
    least.rows = least.sequences = least.n_want = 1;
    const auto at = [&](int32_t op) { return slots_[op].get(); };
    ask_both(at(LATHE_OP_RMSNORM), c, most, least, [&] {
        const Rows &out = normed.data != nullptr ? normed : normed_wanted;
        return rmsnorm_args(c, c.batch.rows, c.x.get(), c.model->layer(0).norm_attn, out);
    });
    for (const int32_t op : {LATHE_OP_GEMM_QKV, LATHE_OP_GEMM_O, LATHE_OP_GEMM_GATE_UP, LATHE_OP_GEMM_DOWN,
                             LATHE_OP_GEMM_HEAD, LATHE_OP_O_ADD, LATHE_OP_DOWN_ADD})
        ask_both(at(op), c, most, least, [&] { return gemm_args(c, op, 0); });
    ask_both(at(LATHE_OP_ROPE_APPEND), c, most, least, [&] { return rope_append_args(c, 0); });
    ask_both(at(LATHE_OP_SILU_MUL), c, most, least, [&] { return silu_mul_args(c); });
    ask_both(at(LATHE_OP_ATTN_DECODE), c, most, least,
             [&] { return attn_decode_args(c, 0, DecodeRun{0, 0, c.batch.sequences}); });
    ask_both(at(LATHE_OP_NORM_QKV_ROPE_APPEND), c, most, least, [&] { return norm_qkv_rope_append_args(c, 0); });
    ask_both(at(LATHE_OP_NORM_GATE_UP_SILU), c, most, least, [&] { return norm_gate_up_silu_args(c, 0); });
    ask_both(at(LATHE_OP_NORM_HEAD_ARGMAX), c, most, least,
             [&] { return norm_head_argmax_args(c, wanted.get(), c.model->desc().hidden); });
    c.batch = BatchView{};
}

}  // namespace cpu
}  // namespace lathe
