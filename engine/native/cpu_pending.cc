// cpu_pending.cc: stands where the CPU backend goes until its files are here.
#include "backend.h"

extern "C" const lathe_backend *lathe_cpu_backend(void) { return nullptr; }
