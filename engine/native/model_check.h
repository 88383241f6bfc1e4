// model_check.h: what every backend refuses about a model's description and its
// tensors, in the same words. Nothing here holds weights.
#ifndef LATHE_MODEL_CHECK_H
#define LATHE_MODEL_CHECK_H

#include <cstdint>
#include <vector>

#include "backend.h"

namespace lathe {

// Rows and columns a role must have; a vector has rows 1.
struct TensorShape {
    int32_t rows, cols;
};

// The name Hugging Face uses within a layer ("q_proj.weight"), for messages.
const char *role_name(int32_t role);
// 1 for EMBED, NORM_FINAL and HEAD, whose layer is -1.
bool role_is_global(int32_t role);
// 1 for norms and biases (rows 1).
bool role_is_vector(int32_t role);

// Refuses a description whose sizes are not positive or do not fit together, of
// more than 65536 layers, or with q_heads*head_dim above int32 (kv_heads*head_dim is
// no larger; every other product must be taken in 64 bits); rms_eps and rope_scale
// outside their range; and inv_freq values that are not finite.
void check_model_desc(const lathe_model_desc *desc, const float *inv_freq);

// Does this model have this tensor (tied heads, biases)?
bool role_exists(const lathe_model_desc &desc, int32_t role);
TensorShape role_shape(const lathe_model_desc &desc, int32_t role);

// Refuses a tensor that this model does not have, or has in another shape or in
// an unknown dtype. data NULL asks for seeding, which needs a finite std >= 0.
void check_tensor(const lathe_model_desc &desc, int32_t role, int32_t layer, int32_t dtype, int32_t rows,
                  int32_t cols, const void *data, float std);

// Where a tensor's record lives in an array of tensor_slots(desc) records.
uint64_t tensor_slots(const lathe_model_desc &desc);
uint64_t tensor_slot(const lathe_model_desc &desc, int32_t role, int32_t layer);

// Refuses (LATHE_E_STATE) a model of which a tensor was not given, naming the
// first one and how many; given has tensor_slots entries.
void check_complete(const lathe_model_desc &desc, const std::vector<uint8_t> &given);

}  // namespace lathe

#endif  // LATHE_MODEL_CHECK_H
