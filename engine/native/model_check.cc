// model_check.cc: see model_check.h.
#include "model_check.h"

#include <cmath>
#include <cstdio>

#include "dtype_convert.h"
#include "native_error.h"

namespace lathe {

namespace {

struct RoleFacts {
    const char *name;
    bool global, vector;
};

const RoleFacts kRoles[LATHE_ROLES] = {
    {"embed_tokens.weight", true, false},
    {"input_layernorm.weight", false, true},
    {"q_proj.weight", false, false},
    {"k_proj.weight", false, false},
    {"v_proj.weight", false, false},
    {"o_proj.weight", false, false},
    {"post_attention_layernorm.weight", false, true},
    {"gate_proj.weight", false, false},
    {"up_proj.weight", false, false},
    {"down_proj.weight", false, false},
    {"norm.weight", true, true},
    {"lm_head.weight", true, false},
    {"q_proj.bias", false, true},
    {"k_proj.bias", false, true},
    {"v_proj.bias", false, true},
    {"o_proj.bias", false, true},
    {"gate_proj.bias", false, true},
    {"up_proj.bias", false, true},
    {"down_proj.bias", false, true},
};

const int32_t kMaxLayers = 65536;

void require_positive(int32_t value, const char *name)
{
    if (value < 1) fail(LATHE_E_INVALID, "model: %s is %d, must be at least 1", name, value);
}

void require_bool(int32_t value, const char *name)
{
    if (value != 0 && value != 1) fail(LATHE_E_INVALID, "model: %s is %d, must be 0 or 1", name, value);
}

void describe(char *out, size_t cap, int32_t role, int32_t layer)
{
    if (role_is_global(role))
        snprintf(out, cap, "%s", role_name(role));
    else
        snprintf(out, cap, "layer %d %s", layer, role_name(role));
}

}  // namespace

const char *role_name(int32_t role)
{
    return role >= 0 && role < LATHE_ROLES ? kRoles[role].name : "unknown role";
}

bool role_is_global(int32_t role) { return role >= 0 && role < LATHE_ROLES && kRoles[role].global; }
bool role_is_vector(int32_t role) { return role >= 0 && role < LATHE_ROLES && kRoles[role].vector; }

void check_model_desc(const lathe_model_desc *desc, const float *inv_freq)
{
    require(desc, "model description");
    if (desc->struct_size != sizeof(lathe_model_desc))
        fail(LATHE_E_INVALID, "model description has %u bytes, this backend expects %zu", desc->struct_size,
             sizeof(lathe_model_desc));
    require_positive(desc->vocab, "vocab");
    require_positive(desc->hidden, "hidden");
    require_positive(desc->layers, "layers");
    require_positive(desc->q_heads, "q_heads");
    require_positive(desc->kv_heads, "kv_heads");
    require_positive(desc->head_dim, "head_dim");
    require_positive(desc->ffn, "ffn");
    require_positive(desc->max_position, "max_position");
    require_bool(desc->tied, "tied");
    require_bool(desc->attention_bias, "attention_bias");
    require_bool(desc->mlp_bias, "mlp_bias");
    if (desc->layers > kMaxLayers)
        fail(LATHE_E_INVALID, "model: layers is %d, at most %d are supported", desc->layers, kMaxLayers);
    if (desc->head_dim % 2 != 0)
        fail(LATHE_E_INVALID, "model: head_dim is %d, must be even (half-split RoPE)", desc->head_dim);
    if (desc->q_heads % desc->kv_heads != 0)
        fail(LATHE_E_INVALID, "model: q_heads is %d, must be a multiple of kv_heads %d", desc->q_heads,
             desc->kv_heads);
    if (static_cast<int64_t>(desc->q_heads) * desc->head_dim > INT32_MAX)
        fail(LATHE_E_INVALID, "model: q_heads %d x head_dim %d is over 2147483647", desc->q_heads,
             desc->head_dim);
    if (!std::isfinite(desc->rms_eps) || desc->rms_eps < 0)
        fail(LATHE_E_INVALID, "model: rms_eps is %g, must be finite and not negative",
             static_cast<double>(desc->rms_eps));
    if (!std::isfinite(desc->rope_scale) || desc->rope_scale <= 0)
        fail(LATHE_E_INVALID, "model: rope_scale is %g, must be finite and above 0",
             static_cast<double>(desc->rope_scale));
    require(inv_freq, "inv_freq");
    for (int32_t i = 0; i < desc->head_dim / 2; i++)
        if (!std::isfinite(inv_freq[i]))
            fail(LATHE_E_INVALID, "model: inv_freq[%d] is %g, must be finite", i,
                 static_cast<double>(inv_freq[i]));
}

bool role_exists(const lathe_model_desc &desc, int32_t role)
{
    if (role < 0 || role >= LATHE_ROLES) return false;
    if (role == LATHE_HEAD) return desc.tied == 0;
    if (role >= LATHE_Q_BIAS && role <= LATHE_O_BIAS) return desc.attention_bias != 0;
    if (role >= LATHE_GATE_BIAS) return desc.mlp_bias != 0;
    return true;
}

TensorShape role_shape(const lathe_model_desc &desc, int32_t role)
{
    const int32_t q = desc.q_heads * desc.head_dim, kv = desc.kv_heads * desc.head_dim;
    switch (role) {
    case LATHE_EMBED:
    case LATHE_HEAD: return {desc.vocab, desc.hidden};
    case LATHE_Q: return {q, desc.hidden};
    case LATHE_K:
    case LATHE_V: return {kv, desc.hidden};
    case LATHE_O: return {desc.hidden, q};
    case LATHE_GATE:
    case LATHE_UP: return {desc.ffn, desc.hidden};
    case LATHE_DOWN: return {desc.hidden, desc.ffn};
    case LATHE_Q_BIAS: return {1, q};
    case LATHE_K_BIAS:
    case LATHE_V_BIAS: return {1, kv};
    case LATHE_GATE_BIAS:
    case LATHE_UP_BIAS: return {1, desc.ffn};
    default: return {1, desc.hidden}; /* norms, o and down biases */
    }
}

void check_tensor(const lathe_model_desc &desc, int32_t role, int32_t layer, int32_t dtype, int32_t rows,
                  int32_t cols, const void *data, float std)
{
    if (role < 0 || role >= LATHE_ROLES)
        fail(LATHE_E_INVALID, "tensor: role %d does not exist", role);
    if (!role_exists(desc, role))
        fail(LATHE_E_INVALID, "tensor: %s given, but this model has none", role_name(role));
    if (role_is_global(role) ? layer != -1 : layer < 0 || layer >= desc.layers)
        fail(LATHE_E_INVALID, "tensor: %s of layer %d does not exist in a model of %d layers", role_name(role),
             layer, desc.layers);
    char name[96];
    describe(name, sizeof name, role, layer);
    if (dtype_bytes(dtype) == 0) fail(LATHE_E_INVALID, "tensor %s: dtype %d does not exist", name, dtype);
    const TensorShape want = role_shape(desc, role);
    if (rows != want.rows || cols != want.cols)
        fail(LATHE_E_INVALID, "tensor %s: shape is [%d, %d], must be [%d, %d]", name, rows, cols, want.rows,
             want.cols);
    if (data == nullptr && (!std::isfinite(std) || std < 0))
        fail(LATHE_E_INVALID, "tensor %s: std is %g, must be finite and not negative", name,
             static_cast<double>(std));
}

uint64_t tensor_slots(const lathe_model_desc &desc)
{
    return (static_cast<uint64_t>(desc.layers) + 1) * LATHE_ROLES;
}

uint64_t tensor_slot(const lathe_model_desc &desc, int32_t role, int32_t layer)
{
    const uint64_t group = role_is_global(role) ? static_cast<uint64_t>(desc.layers) : static_cast<uint64_t>(layer);
    return group * LATHE_ROLES + static_cast<uint64_t>(role);
}

void check_complete(const lathe_model_desc &desc, const std::vector<uint8_t> &given)
{
    uint64_t missing = 0;
    char first[96] = "";
    for (int32_t layer = -1; layer < desc.layers; layer++)
        for (int32_t role = 0; role < LATHE_ROLES; role++) {
            if (role_is_global(role) != (layer == -1) || !role_exists(desc, role)) continue;
            if (given[tensor_slot(desc, role, layer)]) continue;
            if (missing++ == 0) describe(first, sizeof first, role, layer);
        }
    if (missing != 0)
        fail(LATHE_E_STATE, "model: %s was not given (%llu tensors missing)", first,
             static_cast<unsigned long long>(missing));
}

}  // namespace lathe
