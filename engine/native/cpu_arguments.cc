// cpu_arguments.cc: how a step of the CPU backend lays out the arguments of
// operator.h. Strides are in elements; a page is [layers][K, V][kv_heads][slots][dim].
#include <cmath>

#include "cpu_overrides.h"
#include "cpu_phases.h"

namespace lathe {
namespace cpu {

namespace {

template <class Args>
Args sized()
{
    Args a{};
    a.struct_size = sizeof a;
    return a;
}

// The pages of one layer as operator.h describes them, into any arguments that have them.
template <class Args>
void set_pages(const StepContext &c, int32_t layer, Args *a)
{
    const KvPool &kv = *c.kv;
    const int64_t element = kv.dtype() == LATHE_F32 ? 4 : 2;
    a->k_pages = kv.page(0) + kv.head_offset(layer, 0, 0);
    a->v_pages = kv.page(0) + kv.head_offset(layer, 1, 0);
    a->k_page_stride = a->v_page_stride = static_cast<int64_t>(kv.page_bytes()) / element;
    a->k_slot_stride = a->v_slot_stride = c.model->desc().head_dim;
    a->k_head_stride = a->v_head_stride = int64_t{kv.page_size()} * c.model->desc().head_dim;
    a->page_size = kv.page_size();
    a->kv_dtype = kv.dtype();
    a->block_table_stride = c.batch.page_stride;
}

void set_weights(const StepContext &c, int32_t role, int32_t layer, lathe_gemm_args *a)
{
    const RowMajor &w = *c.overrides->weights(role);
    a->role = role;
    a->n = w.n;
    a->k = w.k;
    a->w = w.layer(role == LATHE_GEMM_HEAD ? 0 : layer);
    a->w_row_stride = w.k;
    a->w_dtype = LATHE_BF16;
    a->a_dtype = c.kernels->activation;
    a->out_dtype = a->bias_dtype = LATHE_F32;
}

void set_input(const Rows &rows, lathe_gemm_args *a)
{
    a->a = rows.data.get();
    a->a_row_stride = rows.columns;
}

template <class T>
void set_output(T *out, int64_t stride, const float *bias, lathe_gemm_args *a)
{
    a->out = out;
    a->out_row_stride = stride;
    a->bias = bias;
}

}  // namespace

lathe_rmsnorm_args rmsnorm_args(const StepContext &c, int32_t rows, const float *x, const float *weight, const Rows &out)
{
    lathe_rmsnorm_args a = sized<lathe_rmsnorm_args>();
    a.rows = rows;
    a.hidden = c.model->desc().hidden;
    a.eps = c.model->desc().rms_eps;
    a.x_dtype = a.residual_dtype = a.weight_dtype = LATHE_F32;
    a.out_dtype = c.kernels->activation;
    a.x = x;
    a.weight = weight;
    a.out = out.data.get();
    a.x_row_stride = a.residual_row_stride = a.out_row_stride = a.hidden;
    return a;
}

lathe_gemm_args gemm_args(const StepContext &c, int32_t op, int32_t layer)
{
    const Overrides &o = *c.overrides;
    const Layer &l = c.model->layer(layer);
    const lathe_model_desc &d = c.model->desc();
    lathe_gemm_args a = sized<lathe_gemm_args>();
    set_weights(c, operator_gemm_role(op), layer, &a);
    a.m = op == LATHE_OP_GEMM_HEAD ? c.batch.n_want : c.batch.rows;
    switch (op) {
    case LATHE_OP_GEMM_QKV:
        set_input(o.normed, &a);
        set_output(o.qkv.get(), a.n, l.qkv_bias, &a);
        break;
    case LATHE_OP_GEMM_GATE_UP:
        set_input(o.normed, &a);
        set_output(o.gate_up.get(), a.n, l.gate_up_bias, &a);
        break;
    case LATHE_OP_GEMM_HEAD:
        set_input(o.normed_wanted, &a);
        set_output(c.logits.get(), d.vocab, nullptr, &a);
        break;
    case LATHE_OP_GEMM_O:
    case LATHE_OP_O_ADD:
        set_input(o.attended, &a);
        set_output(op == LATHE_OP_O_ADD ? c.x.get() : o.added.get(), d.hidden, l.o_bias, &a);
        break;
    default:
        set_input(o.hidden, &a);
        set_output(op == LATHE_OP_DOWN_ADD ? c.x.get() : o.added.get(), d.hidden, l.down_bias, &a);
    }
    a.accumulate = op == LATHE_OP_O_ADD || op == LATHE_OP_DOWN_ADD;
    return a;
}

lathe_rope_append_args rope_append_args(const StepContext &c, int32_t layer)
{
    const lathe_model_desc &d = c.model->desc();
    lathe_rope_append_args a = sized<lathe_rope_append_args>();
    a.rows = c.batch.rows;
    a.q_heads = d.q_heads;
    a.kv_heads = d.kv_heads;
    a.head_dim = d.head_dim;
    a.qkv_dtype = LATHE_F32;
    a.q = const_cast<float *>(c.q_base);
    a.q_row_stride = a.k_row_stride = a.v_row_stride = c.q_stride;
    if (c.overrides->qkv != nullptr) {
        const float *k = c.q_base + int64_t{d.q_heads} * d.head_dim;
        a.k = k;
        a.v = k + int64_t{d.kv_heads} * d.head_dim;
    }
    a.position = c.batch.pos;
    a.seq = c.batch.seq;
    a.cos_sin = c.rope->cosines(0);
    a.cos_sin_row_stride = d.head_dim;
    a.block_table = c.batch.page_table;
    set_pages(c, layer, &a);
    return a;
}

lathe_silu_mul_args silu_mul_args(const StepContext &c)
{
    lathe_silu_mul_args a = sized<lathe_silu_mul_args>();
    a.rows = c.batch.rows;
    a.ffn = c.model->desc().ffn;
    a.in_dtype = LATHE_F32;
    a.out_dtype = c.kernels->activation;
    a.in = c.overrides->gate_up.get();
    a.in_row_stride = 2 * int64_t{a.ffn};
    a.out = c.overrides->hidden.data.get();
    a.out_row_stride = a.ffn;
    return a;
}

lathe_attn_decode_args attn_decode_args(const StepContext &c, int32_t layer, const DecodeRun &run)
{
    const lathe_model_desc &d = c.model->desc();
    const Overrides &o = *c.overrides;
    const int64_t q_dim = int64_t{d.q_heads} * d.head_dim, element = c.kernels->activation == LATHE_F32 ? 4 : 2;
    lathe_attn_decode_args a = sized<lathe_attn_decode_args>();
    a.batch = run.n;
    a.q_per_seq = 1;
    a.q_heads = d.q_heads;
    a.kv_heads = d.kv_heads;
    a.head_dim = d.head_dim;
    a.max_seq_len = o.max_positions;
    a.sm_scale = 1.0f / std::sqrt(static_cast<float>(d.head_dim));
    a.q_dtype = LATHE_F32;
    a.out_dtype = c.kernels->activation;
    a.q = c.q_row(run.first);
    a.q_seq_stride = a.q_row_stride = c.q_stride;
    a.q_head_stride = d.head_dim;
    set_pages(c, layer, &a);
    a.block_table = c.batch.page_table + int64_t{run.sequence} * c.batch.page_stride;
    a.seq_len = o.seq_len.data() + run.first;
    a.out = o.attended.data.get() + run.first * q_dim * element;
    a.out_seq_stride = a.out_row_stride = q_dim;
    a.out_head_stride = d.head_dim;
    return a;
}

lathe_norm_qkv_rope_append_args norm_qkv_rope_append_args(const StepContext &c, int32_t layer)
{
    const Layer &l = c.model->layer(layer);
    lathe_norm_qkv_rope_append_args a = sized<lathe_norm_qkv_rope_append_args>();
    a.norm = rmsnorm_args(c, c.batch.rows, c.x.get(), l.norm_attn, Rows());
    a.qkv = sized<lathe_gemm_args>();
    set_weights(c, LATHE_GEMM_QKV, layer, &a.qkv);
    a.qkv.m = c.batch.rows;
    a.qkv.a_row_stride = a.qkv.k;
    set_output(static_cast<float *>(nullptr), a.qkv.n, l.qkv_bias, &a.qkv);
    a.rope = rope_append_args(c, layer);
    return a;
}

lathe_norm_gate_up_silu_args norm_gate_up_silu_args(const StepContext &c, int32_t layer)
{
    const Layer &l = c.model->layer(layer);
    lathe_norm_gate_up_silu_args a = sized<lathe_norm_gate_up_silu_args>();
    a.norm = rmsnorm_args(c, c.batch.rows, c.x.get(), l.norm_ffn, Rows());
    a.gate_up = sized<lathe_gemm_args>();
    set_weights(c, LATHE_GEMM_GATE_UP, layer, &a.gate_up);
    a.gate_up.m = c.batch.rows;
    a.gate_up.a_row_stride = a.gate_up.k;
    set_output(static_cast<float *>(nullptr), a.gate_up.n, l.gate_up_bias, &a.gate_up);
    a.silu = silu_mul_args(c);
    return a;
}

lathe_norm_head_argmax_args norm_head_argmax_args(const StepContext &c, const float *x, int64_t x_stride)
{
    Overrides &o = *c.overrides;
    lathe_norm_head_argmax_args a = sized<lathe_norm_head_argmax_args>();
    a.norm = rmsnorm_args(c, c.batch.n_want, x, c.model->norm_final(), Rows());
    a.norm.x_row_stride = x_stride;
    a.head = sized<lathe_gemm_args>();
    set_weights(c, LATHE_GEMM_HEAD, 0, &a.head);
    a.head.m = c.batch.n_want;
    a.head.a_row_stride = a.head.k;
    set_output(c.logits.get(), c.model->desc().vocab, nullptr, &a.head);
    a.token = o.token.data();
    a.value = o.value.data();
    return a;
}

}  // namespace cpu
}  // namespace lathe
