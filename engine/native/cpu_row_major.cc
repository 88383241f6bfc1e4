// cpu_row_major.cc: the model's weights as operator.h promises them to a function:
// row-major, unpacked from the tiles when the first session asks and dropped with the
// last one that holds them.
#include "cpu_model.h"

#include "allowed_cpus.h"
#include "model_check.h"
#include "native_error.h"
#include "operator.h"

namespace lathe {
namespace cpu {

namespace {

// The tensors of a role, in the order of their rows; -1 ends the list.
const int32_t kTensors[5][4] = {
    {LATHE_Q, LATHE_K, LATHE_V, -1}, {LATHE_O, -1, -1, -1},    {LATHE_GATE, LATHE_UP, -1, -1},
    {LATHE_DOWN, -1, -1, -1},        {LATHE_HEAD, -1, -1, -1},
};

}  // namespace

uint64_t Model::weight_bytes() const
{
    std::lock_guard<std::mutex> lock(rows_mutex_);
    uint64_t bytes = block_.bytes();
    for (const std::weak_ptr<const RowMajor> &held : rows_)
        if (const std::shared_ptr<const RowMajor> rows = held.lock()) bytes += rows->block.bytes();
    return bytes;
}

std::shared_ptr<const RowMajor> Model::row_major(int32_t role) const
{
    std::lock_guard<std::mutex> lock(rows_mutex_);
    if (std::shared_ptr<const RowMajor> held = rows_[role].lock()) return held;
    const std::shared_ptr<RowMajor> rows = std::make_shared<RowMajor>();
    const bool head = role == LATHE_GEMM_HEAD;
    int64_t n = 0;
    for (const int32_t *t = kTensors[role]; *t >= 0; t++) {
        n += role_shape(desc_, *t).rows;
        rows->k = role_shape(desc_, *t).cols;
    }
    if (n > INT32_MAX) fail(LATHE_E_UNSUPPORTED, "row-major weights: %lld rows", static_cast<long long>(n));
    rows->n = static_cast<int32_t>(n);
    if (head && desc_.tied) {
        rows->first = embed_;
        rows_[role] = rows;
        return rows;
    }
    const int32_t layers = head ? 1 : desc_.layers;
    const uint64_t one = checked_mul(static_cast<uint64_t>(rows->n), static_cast<uint64_t>(rows->k) * 2, "row-major weights");
    rows->block.allocate(checked_mul(one, static_cast<uint64_t>(layers), "row-major weights"), "row-major weights");
    rows->first = reinterpret_cast<uint16_t *>(rows->block.data());
    for (int32_t l = 0; l < layers; l++) {
        uint16_t *out = reinterpret_cast<uint16_t *>(rows->block.data()) + static_cast<int64_t>(l) * rows->n * rows->k;
        for (const int32_t *t = kTensors[role]; *t >= 0; t++) {
            const TensorShape shape = role_shape(desc_, *t);
            const Place at = place(*t, head ? -1 : l, shape.rows);
            unpack(*at.matrix, at.placement, shape.cols, out, allowed_cpus());
            out += static_cast<int64_t>(shape.rows) * shape.cols;
        }
    }
    rows_[role] = rows;
    return rows;
}

}  // namespace cpu
}  // namespace lathe
