/* element.h: reading and writing the element types of operator.h, one value at a
 * time. For the test kernels; a fast one would not. */
#ifndef ELEMENT_H
#define ELEMENT_H

#include <string.h>

#include "operator.h"

static float get(int32_t dtype, const void *base, int64_t i)
{
    union { uint32_t u; float f; } v;
    if (dtype == LATHE_OP_F32) return ((const float *)base)[i];
    v.u = (uint32_t)((const uint16_t *)base)[i] << 16;
    return v.f;
}

static void put(int32_t dtype, void *base, int64_t i, float x)
{
    union { float f; uint32_t u; } v;
    if (dtype == LATHE_OP_F32) {
        ((float *)base)[i] = x;
        return;
    }
    v.f = x;
    if ((v.u & 0x7FFFFFFFu) <= 0x7F800000u) v.u += 0x7FFFu + ((v.u >> 16) & 1u);
    ((uint16_t *)base)[i] = (uint16_t)(v.u >> 16);
}

#endif
