/* A test double of libnvidia-ml.so.1 that tells the memory of one device in both versions of the call.
 * Of the second it checks the version word, as the driver does: size | version << 24. The first counts
 * what is reserved as used. -DREFUSE=N makes the second answer N to everything. */
#include <string.h>
typedef unsigned long long word;
struct v1 { word total, free, used; };
struct v2 { unsigned version; word total, reserved, free, used; };
static const word total = 80ull << 30, reserved = 300ull << 20;
int nvmlInit_v2(void) { return 0; }
int nvmlInitWithFlags(unsigned f) { return f != 0; }
int nvmlShutdown(void) { return 0; }
int nvmlDeviceGetCount_v2(unsigned *n) { *n = 1; return 0; }
int nvmlDeviceGetHandleByIndex_v2(unsigned i, void **h) { *h = (void *)1; return i != 0; }
int nvmlDeviceGetName(void *h, char *s, unsigned n) { strncpy(s, "memory device", n); return h != (void *)1; }
int nvmlDeviceGetMemoryInfo(void *h, struct v1 *m) {
  *m = (struct v1){total, total - reserved, reserved};
  return h != (void *)1;
}
#ifndef ONLY_V1
int nvmlDeviceGetMemoryInfo_v2(void *h, struct v2 *m) {
#ifdef REFUSE
  return REFUSE;
#endif
  if (m->version != 0x02000028) return 13;
  *m = (struct v2){m->version, total, reserved, total - reserved, 0};
  return h != (void *)1;
}
#endif
