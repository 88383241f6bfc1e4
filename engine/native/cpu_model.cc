// cpu_model.cc: see cpu_model.h.
#include "cpu_model.h"

#include <cmath>

#include "allowed_cpus.h"
#include "cpu_parallel.h"
#include "dtype_convert.h"
#include "model_check.h"
#include "native_error.h"

namespace lathe {
namespace cpu {

namespace {

int64_t tiles_of(int64_t rows) { return (rows + kTile - 1) / kTile; }

// A part of the block to come: remembers where a pointer must be set. Offsets are
// turned into pointers when the block exists.
class Parts {
public:
    void matrix(Packed *m, int64_t tiles, int32_t k)
    {
        if (tiles > INT32_MAX) fail(LATHE_E_UNSUPPORTED, "model: a matrix of %lld tiles", static_cast<long long>(tiles));
        m->tiles = static_cast<int32_t>(tiles);
        m->kpairs = k / 2 + k % 2;
        matrices_.push_back({m, plan_.add(packed_bytes(tiles, k, "model weights"), "model weights")});
    }
    void vector(float **v, int64_t n)
    {
        vectors_.push_back({v, plan_.add(checked_mul(static_cast<uint64_t>(n), 4, "model weights"), "model weights")});
    }
    uint64_t plain(uint64_t bytes) { return plan_.add(bytes, "model weights"); }
    uint64_t total() const { return plan_.total(); }
    void resolve(unsigned char *base)
    {
        for (auto &m : matrices_) m.first->data = reinterpret_cast<uint16_t *>(base + m.second);
        for (auto &v : vectors_) *v.first = reinterpret_cast<float *>(base + v.second);
    }

private:
    BlockPlan plan_;
    std::vector<std::pair<Packed *, uint64_t>> matrices_;
    std::vector<std::pair<float **, uint64_t>> vectors_;
};

}  // namespace

Model::Model(const lathe_model_desc &desc, const float *inv_freq)
    : desc_(desc), inv_freq_(inv_freq, inv_freq + desc.head_dim / 2), units_(desc.head_dim)
{
    layers_.assign(static_cast<size_t>(desc.layers), Layer{});
    given_.assign(tensor_slots(desc), 0);
    lay_out();
}

void Model::lay_out()
{
    const int64_t heads = int64_t{desc_.q_heads} + 2 * int64_t{desc_.kv_heads};
    const int64_t q_dim = int64_t{desc_.q_heads} * desc_.head_dim;
    Parts parts;
    const uint64_t embed = parts.plain(
        checked_mul(static_cast<uint64_t>(desc_.vocab), static_cast<uint64_t>(desc_.hidden) * 2, "embedding"));
    for (Layer &l : layers_) {
        parts.vector(&l.norm_attn, desc_.hidden);
        parts.matrix(&l.qkv, heads * units_.per_head * units_.tiles, desc_.hidden);
        parts.matrix(&l.o, tiles_of(desc_.hidden), static_cast<int32_t>(q_dim));
        parts.vector(&l.norm_ffn, desc_.hidden);
        parts.matrix(&l.gate_up, 2 * tiles_of(desc_.ffn), desc_.hidden);
        parts.matrix(&l.down, tiles_of(desc_.hidden), desc_.ffn);
        if (desc_.attention_bias) {
            parts.vector(&l.qkv_bias, heads * desc_.head_dim);
            parts.vector(&l.o_bias, desc_.hidden);
        }
        if (desc_.mlp_bias) {
            parts.vector(&l.gate_up_bias, 2 * int64_t{desc_.ffn});
            parts.vector(&l.down_bias, desc_.hidden);
        }
    }
    parts.vector(&norm_final_, desc_.hidden);
    parts.matrix(&head_, tiles_of(desc_.vocab), desc_.hidden);
    block_.allocate(parts.total(), "model weights");
    parts.resolve(block_.data());
    embed_ = reinterpret_cast<uint16_t *>(block_.data() + embed);
}

float *Model::vector_of(int32_t role, int32_t layer) const
{
    if (role == LATHE_NORM_FINAL) return norm_final_;
    const Layer &l = layers_[static_cast<size_t>(layer)];
    const int64_t q = int64_t{desc_.q_heads} * desc_.head_dim, kv = int64_t{desc_.kv_heads} * desc_.head_dim;
    switch (role) {
    case LATHE_NORM_ATTN: return l.norm_attn;
    case LATHE_NORM_FFN: return l.norm_ffn;
    case LATHE_Q_BIAS: return l.qkv_bias;
    case LATHE_K_BIAS: return l.qkv_bias + q;
    case LATHE_V_BIAS: return l.qkv_bias + q + kv;
    case LATHE_O_BIAS: return l.o_bias;
    case LATHE_GATE_BIAS: return l.gate_up_bias;
    case LATHE_UP_BIAS: return l.gate_up_bias + desc_.ffn;
    default: return l.down_bias;
    }
}

Model::Place Model::place(int32_t role, int32_t layer, int32_t rows) const
{
    Placement place;
    place.rows = rows;
    place.units = units_;
    if (role == LATHE_EMBED || role == LATHE_HEAD) return {&head_, place};
    const Layer &l = layers_[static_cast<size_t>(layer)];
    switch (role) {
    case LATHE_O: return {&l.o, place};
    case LATHE_DOWN: return {&l.down, place};
    case LATHE_GATE:
    case LATHE_UP:
        place.kind = role == LATHE_GATE ? Placement::kGate : Placement::kUp;
        return {&l.gate_up, place};
    default:
        place.kind = Placement::kHeads;
        if (role != LATHE_Q) place.first_unit = desc_.q_heads * units_.per_head;
        if (role == LATHE_V) place.first_unit += desc_.kv_heads * units_.per_head;
        return {&l.qkv, place};
    }
}

void Model::set_matrix(int32_t role, int32_t layer, const TensorSource &source, int32_t rows)
{
    const int32_t threads = allowed_cpus();
    if (role == LATHE_EMBED) fill_plain(embed_, rows, source, threads);
    if (role == LATHE_EMBED && !desc_.tied) return;
    const Place at = place(role, layer, rows);
    pack(*at.matrix, at.placement, source, threads);
}

void Model::set_tensor(int32_t role, int32_t layer, int32_t dtype, int32_t rows, int32_t cols, const void *data,
                       uint64_t seed, float std)
{
    if (ready_) fail(LATHE_E_STATE, "tensor %s: the model is ready and takes no more tensors", role_name(role));
    check_tensor(desc_, role, layer, dtype, rows, cols, data, std);
    TensorSource source;
    source.data = data;
    source.dtype = dtype;
    source.cols = cols;
    source.key = lathe_seeded_key(seed, role, layer);
    source.std = std;
    if (!role_is_vector(role)) {
        set_matrix(role, layer, source, rows);
    } else if (data != nullptr) {
        widen(dtype, data, static_cast<uint64_t>(cols), vector_of(role, layer));
    } else {
        float *out = vector_of(role, layer);
        for (int32_t i = 0; i < cols; i++)
            out[i] = lathe_f32_from_bf16(lathe_seeded_bf16(source.key, static_cast<uint64_t>(i), std));
    }
    given_[tensor_slot(desc_, role, layer)] = 1;
}

void Model::ready()
{
    check_complete(desc_, given_);
    ready_ = true;
}

std::shared_ptr<const RopeTable> Model::rope(int64_t positions)
{
    std::lock_guard<std::mutex> lock(rope_mutex_);
    if (rope_ != nullptr && rope_->positions >= positions) return rope_;
    auto table = std::make_shared<RopeTable>();
    const int32_t half = desc_.head_dim / 2;
    const uint64_t row = static_cast<uint64_t>(half) * 2;
    table->positions = positions;
    table->half = half;
    table->values = zeroed<float>(checked_mul(static_cast<uint64_t>(positions), row, "rope table"), "rope table");
    float *values = table->values.get();
    parallel(positions, positions * half < 65536 ? 1 : allowed_cpus(), [&](int64_t first, int64_t last) {
        for (int64_t p = first; p < last; p++)
            for (int32_t i = 0; i < half; i++) {
                const float angle = static_cast<float>(p) * inv_freq_[static_cast<size_t>(i)];
                float *at = values + p * 2 * half + i;
                at[0] = static_cast<float>(std::cos(static_cast<double>(angle))) * desc_.rope_scale;
                at[half] = static_cast<float>(std::sin(static_cast<double>(angle))) * desc_.rope_scale;
            }
    });
    rope_ = table;
    return rope_;
}

}  // namespace cpu
}  // namespace lathe
