// reference_forward.cc: the Llama forward pass as Hugging Face defines it, in
// float32, one operator after the other. A weight matrix is read once a step: each
// of its rows meets every row of the batch before the next one is read.
#if defined(__GNUC__) && !defined(__clang__)
#pragma GCC optimize("fp-contract=off")
#elif defined(__clang__)
#pragma STDC FP_CONTRACT OFF
#endif

#include <algorithm>
#include <cmath>
#include <cstring>

#include "reference_math.h"
#include "reference_session.h"

namespace lathe {
namespace reference {

void Session::forward(const BatchView &batch)
{
    const int32_t half = desc_.head_dim / 2;
    embed();
    keep(0, x_.get());
    for (int32_t r = 0; r < rows_; r++)
        rope_angles(batch.pos[r], model_.inv_freq().data(), half, desc_.rope_scale,
                    cosines_.get() + int64_t{r} * half, sines_.get() + int64_t{r} * half);
    for (int32_t layer = 0; layer < desc_.layers; layer++) {
        attention_block(batch, layer);
        ffn_block(layer);
        keep(layer + 1, x_.get());
    }
    final_norm_and_head(batch);
    choose(batch);
}

void Session::embed()
{
    const Matrix &table = model_.tensor(LATHE_EMBED, -1);
    const int64_t hidden = desc_.hidden;
    for (int32_t r = 0; r < rows_; r++)
        std::memcpy(x_.get() + r * hidden, table.row(tokens_in_[static_cast<size_t>(r)], scratch(0)),
                    static_cast<size_t>(hidden) * sizeof(float));
}

// x += O(attention(rope(Q(norm(x)), K(norm(x))), V(norm(x))))
void Session::attention_block(const BatchView &batch, int32_t layer)
{
    const int64_t q_dim = int64_t{desc_.q_heads} * desc_.head_dim, kv_dim = int64_t{desc_.kv_heads} * desc_.head_dim;
    const int32_t half = desc_.head_dim / 2;
    normalise(model_.tensor(LATHE_NORM_ATTN, layer), x_.get(), rows_, normed_.get());
    multiply(model_.tensor(LATHE_Q, layer), bias(LATHE_Q_BIAS, layer), normed_.get(), rows_, q_.get());
    multiply(model_.tensor(LATHE_K, layer), bias(LATHE_K_BIAS, layer), normed_.get(), rows_, k_.get());
    multiply(model_.tensor(LATHE_V, layer), bias(LATHE_V_BIAS, layer), normed_.get(), rows_, v_.get());
    threads_.each(rows_, [&](int64_t begin, int64_t end, int32_t) {
        for (int64_t r = begin; r < end; r++) {
            const float *cosines = cosines_.get() + r * half, *sines = sines_.get() + r * half;
            for (int32_t h = 0; h < desc_.q_heads; h++)
                rope(q_.get() + r * q_dim + int64_t{h} * desc_.head_dim, cosines, sines, half);
            for (int32_t h = 0; h < desc_.kv_heads; h++)
                rope(k_.get() + r * kv_dim + int64_t{h} * desc_.head_dim, cosines, sines, half);
        }
    });
    append_kv(batch, layer);
    attend(batch, layer);
    multiply(model_.tensor(LATHE_O, layer), bias(LATHE_O_BIAS, layer), attended_.get(), rows_, normed_.get());
    add(normed_.get(), x_.get(), int64_t{rows_} * desc_.hidden);
}

void Session::append_kv(const BatchView &batch, int32_t layer)
{
    const int64_t kv_dim = int64_t{desc_.kv_heads} * desc_.head_dim;
    for (int32_t r = 0; r < rows_; r++) {
        const int32_t *table = batch.page_table + int64_t{batch.seq[r]} * batch.page_stride;
        const int32_t page = table[batch.pos[r] / kv_.page_size()], slot = batch.pos[r] % kv_.page_size();
        kv_.put(layer, KvPool::kKeys, page, slot, k_.get() + r * kv_dim);
        kv_.put(layer, KvPool::kValues, page, slot, v_.get() + r * kv_dim);
    }
}

void Session::attend(const BatchView &batch, int32_t layer)
{
    threads_.each(int64_t{rows_} * desc_.q_heads, [&](int64_t begin, int64_t end, int32_t thread) {
        for (int64_t i = begin; i < end; i++)
            attend_head(batch, layer, static_cast<int32_t>(i / desc_.q_heads),
                        static_cast<int32_t>(i % desc_.q_heads), thread);
    });
}

// One query head of one row over positions 0 .. pos, in that order. Query head h
// reads key/value head h / (q_heads/kv_heads).
void Session::attend_head(const BatchView &batch, int32_t layer, int32_t row, int32_t head, int32_t thread)
{
    const int32_t dim = desc_.head_dim, size = kv_.page_size();
    const int32_t kv_head = head / (desc_.q_heads / desc_.kv_heads);
    const int32_t *table = batch.page_table + int64_t{batch.seq[row]} * batch.page_stride;
    const int64_t at = (int64_t{row} * desc_.q_heads + head) * dim, n = int64_t{batch.pos[row]} + 1;
    const float scale = 1.0f / std::sqrt(static_cast<float>(dim));
    float *weights = scores(thread);
    for (int64_t t = 0; t < n; t++) {
        const float *key = kv_.get(layer, KvPool::kKeys, table[t / size], static_cast<int32_t>(t % size), kv_head,
                                   scratch(thread));
        weights[t] = dot(q_.get() + at, key, dim) * scale;
    }
    const float sum = softmax_weights(weights, n);
    float *out = attended_.get() + at;
    std::fill_n(out, dim, 0.0f);
    for (int64_t t = 0; t < n; t++) {
        const float *value = kv_.get(layer, KvPool::kValues, table[t / size], static_cast<int32_t>(t % size),
                                     kv_head, scratch(thread));
        const float w = weights[t] / sum;
        for (int32_t d = 0; d < dim; d++) out[d] += w * value[d];
    }
}

// x += down(silu(gate(norm(x))) * up(norm(x)))
void Session::ffn_block(int32_t layer)
{
    normalise(model_.tensor(LATHE_NORM_FFN, layer), x_.get(), rows_, normed_.get());
    multiply(model_.tensor(LATHE_GATE, layer), bias(LATHE_GATE_BIAS, layer), normed_.get(), rows_, gate_.get());
    multiply(model_.tensor(LATHE_UP, layer), bias(LATHE_UP_BIAS, layer), normed_.get(), rows_, up_.get());
    threads_.each(int64_t{rows_} * desc_.ffn, [&](int64_t begin, int64_t end, int32_t) {
        silu_mul(gate_.get() + begin, up_.get() + begin, end - begin);
    });
    multiply(model_.tensor(LATHE_DOWN, layer), bias(LATHE_DOWN_BIAS, layer), gate_.get(), rows_, normed_.get());
    add(normed_.get(), x_.get(), int64_t{rows_} * desc_.hidden);
}

void Session::final_norm_and_head(const BatchView &batch)
{
    const Matrix &norm = model_.tensor(LATHE_NORM_FINAL, -1);
    const int64_t hidden = desc_.hidden;
    if (results_.residual() != nullptr) {
        normalise(norm, x_.get(), rows_, normed_.get());
        keep(desc_.layers + 1, normed_.get());
    }
    for (int32_t w = 0; w < n_want_; w++)
        normalise(norm, x_.get() + batch.want_rows[w] * hidden, 1, wanted_.get() + w * hidden);
    if (n_want_ > 0) multiply(model_.head(), nullptr, wanted_.get(), n_want_, logits_.get());
}

void Session::normalise(const Matrix &weight, const float *in, int32_t rows, float *out)
{
    for (int64_t r = 0; r < rows; r++)
        rmsnorm(in + r * desc_.hidden, weight.vector(), desc_.hidden, desc_.rms_eps, out + r * desc_.hidden);
}

// out[r][o] = dot(weight[o], in[r]) + bias[o]; in is [rows, weight.cols].
void Session::multiply(const Matrix &weight, const Matrix *bias, const float *in, int32_t rows, float *out)
{
    const int64_t cols = weight.cols, outputs = weight.rows;
    threads_.each(outputs, [&](int64_t begin, int64_t end, int32_t thread) {
        for (int64_t o = begin; o < end; o++) {
            const float *w = weight.row(o, scratch(thread));
            float *column = out + o;
            int64_t r = 0;
            for (; r + 2 <= rows; r += 2)
                dot2(w, in + r * cols, in + (r + 1) * cols, cols, column + r * outputs, column + (r + 1) * outputs);
            if (r < rows) column[r * outputs] = dot(w, in + r * cols, cols);
            if (bias == nullptr) continue;
            for (r = 0; r < rows; r++) column[r * outputs] += bias->vector()[o];
        }
    });
}

void Session::add(const float *delta, float *to, int64_t n)
{
    for (int64_t i = 0; i < n; i++) to[i] += delta[i];
}

void Session::keep(int32_t stage, const float *rows)
{
    if (results_.residual() == nullptr) return;
    const size_t n = static_cast<size_t>(rows_) * static_cast<size_t>(desc_.hidden);
    std::memcpy(results_.residual() + static_cast<size_t>(stage) * n, rows, n * sizeof(float));
}

void Session::choose(const BatchView &batch)
{
    for (int32_t w = 0; w < n_want_; w++) {
        bool finite = false;
        const int32_t token = argmax_row(logits_.get() + int64_t{w} * desc_.vocab, desc_.vocab, &finite);
        results_.chose(batch, w, token, finite, &checker_);
    }
}

const Matrix *Session::bias(int32_t role, int32_t layer) const
{
    const Matrix &m = model_.tensor(role, layer);
    return m.given() ? &m : nullptr;
}

}  // namespace reference
}  // namespace lathe
