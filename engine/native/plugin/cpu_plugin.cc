// cpu_plugin.cc: the one exported symbol of liblathe_cpu.so. Not part of the Go
// binary, which has the same table built in.
#include "../backend.h"

extern "C" const lathe_backend *lathe_cpu_backend(void);

extern "C" __attribute__((visibility("default"))) const lathe_backend *lathe_backend_get(void)
{
    return lathe_cpu_backend();
}
