// cpu_device.h: facts of this machine for the header of a run.
#ifndef LATHE_CPU_DEVICE_H
#define LATHE_CPU_DEVICE_H

#include <cstdint>
#include <string>

namespace lathe {
namespace cpu {

// One JSON object: name (the CPU's model), paths (that run here, best first),
// built_paths, cores (that this process may use), last_level_cache_bytes (0:
// unknown), memory_bytes.
std::string device_json();

// Bytes of the last-level cache, 0 where the machine does not tell.
uint64_t last_level_cache();

}  // namespace cpu
}  // namespace lathe

#endif  // LATHE_CPU_DEVICE_H
