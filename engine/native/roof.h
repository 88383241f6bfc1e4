/* roof.h: the two loops that a machine's ceilings are measured with: reading, and
 * multiplying in registers. They take no time; the caller does, around the call, on
 * as many threads as it wants. */
#ifndef LATHE_ROOF_H
#define LATHE_ROOF_H

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Reads bytes from p, 64-byte lines fetched ahead, with the widest loads that run
 * here; returns a digest of all of them, so that no load can be left out. bytes is a
 * multiple of 512 and p aligned to 64. */
uint64_t lathe_roof_read(const void *p, uint64_t bytes);

/* Multiplies and adds in registers as the products of the named numeric path do
 * ("avx512bf16": vdpbf16ps; "portable": four-lane float32), rounds times; returns
 * the FLOPs done (a multiply-add is two), -1 where the path is unknown or does not
 * run here. sink takes a digest of the results. */
int64_t lathe_roof_multiply(const char *path, int64_t rounds, float *sink);

#ifdef __cplusplus
}
#endif
#endif /* LATHE_ROOF_H */
