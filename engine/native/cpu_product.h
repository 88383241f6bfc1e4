// cpu_product.h: the walk over packed weights that every product of a step shares.
#ifndef LATHE_CPU_PRODUCT_H
#define LATHE_CPU_PRODUCT_H

#include <algorithm>

#include "cpu_phases.h"

namespace lathe {
namespace cpu {

// Runs units [share.first, share.last) of `unit_tiles` tiles against a panel.
// finish(row, unit, n, values) gets the outputs of n units of one row:
// values[0 .. n*unit_tiles*16).
template <class Finish>
void product(const StepContext &c, Scratch &s, const Packed &m, const void *panel, const PanelShape &shape,
             int32_t unit_tiles, Range units, const Finish &finish)
{
    /* Several column blocks reuse a run of tiles from the cache: keep it small. */
    const int32_t blocks = shape.blocks();
    const int32_t most = (blocks == 1 ? c.run_tiles : std::min(c.run_tiles, 2)) / unit_tiles;
    const int64_t run = std::max(1, most);
    const int64_t ld = run * unit_tiles * kTile;
    for (int64_t u = units.first; u < units.last; u += run) {
        const int32_t n = static_cast<int32_t>(std::min(run, units.last - u));
        for (int32_t b = 0; b < blocks; b++) {
            const int32_t cols = shape.width(b);
            c.kernels->tiles({m.tile(u * unit_tiles), n * unit_tiles, m.kpairs,
                              static_cast<const unsigned char *>(panel) + shape.offset(b), cols, s.tile_out.get(),
                              ld});
            for (int32_t i = 0; i < cols; i++) finish(shape.start(b) + i, u, n, s.tile_out.get() + i * ld);
        }
    }
}

}  // namespace cpu
}  // namespace lathe

#endif  // LATHE_CPU_PRODUCT_H
