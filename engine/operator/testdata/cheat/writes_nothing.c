#include "honest_silu_mul.h"

KERNEL
{
    (void)ctx;
    (void)a;
    (void)honest;
    return 0;
}
