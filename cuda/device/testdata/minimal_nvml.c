/* A test double of libnvidia-ml.so.1 that exports only what every driver has:
 * init, shutdown, count, handle, name. Anything else that is called ends the process. */
#include <string.h>
int nvmlInit_v2(void) { return 0; }
int nvmlInitWithFlags(unsigned f) { return f != 0; }
int nvmlShutdown(void) { return 0; }
int nvmlDeviceGetCount_v2(unsigned *n) { *n = 1; return 0; }
int nvmlDeviceGetHandleByIndex_v2(unsigned i, void **h) { *h = (void *)1; return i != 0; }
int nvmlDeviceGetName(void *h, char *s, unsigned n) { strncpy(s, "minimal device", n); return h != (void *)1; }
