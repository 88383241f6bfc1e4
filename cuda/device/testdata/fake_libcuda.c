/* A test double of libcuda.so.1: enough for the driver tests, no GPU needed.
 * gcc -shared -fPIC -Wl,-soname,libcuda.so.1 -o libcuda.so.1 fake_libcuda.c */
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
typedef unsigned long long ptr;
int cuInit(unsigned f) { return f; }
int cuDriverGetVersion(int *v) { *v = 13000; return 0; }
int cuDeviceGetCount(int *n) { *n = 1; return 0; }
int cuDeviceGetName(char *s, int n, int d) { strncpy(s, "fake device", n); return d; }
int cuDeviceTotalMem_v2(size_t *b, int d) { *b = 1u << 30; return d; }
int cuDeviceGetAttribute(int *v, int a, int d) { *v = a == 75 ? 9 : 0; return d; }
int cuCtxCreate_v2(void **c, unsigned f, int d) { *c = malloc(8); return d; }
int cuCtxDestroy_v2(void *c) { free(c); return 0; }
int cuModuleLoadData(void **m, const void *img) { *m = 0; return memcmp(img, "\177ELF", 4) ? 200 : 0; }
int cuModuleUnload(void *m) { return m != 0; }
int cuModuleGetFunction(void **f, void *m, const char *n) { *f = strdup(n); return 0; }
int cuMemAlloc_v2(ptr *p, size_t n) { *p = (ptr)malloc(n); return 0; }
int cuMemFree_v2(ptr p) { free((void *)p); return 0; }
int cuStreamCreate(void **s, unsigned f) { *s = malloc(8); return 0; }
int cuStreamDestroy_v2(void *s) { free(s); return 0; }
int cuStreamSynchronize(void *s) { return s ? 0 : 400; }
int cuMemcpyDtoH_v2(void *h, ptr d, size_t n) { memcpy(h, (void *)d, n); return 0; }
int cuLaunchKernel(void *f, unsigned gx, unsigned gy, unsigned gz, unsigned bx, unsigned by, unsigned bz,
                   unsigned sh, void *s, void **par, void **ex) {
  float *p = *(float **)par[0];
  int n = *(int *)par[1];
  printf("launch %s <<<%u,%u,%u; %u,%u,%u; %u>>> n=%d\n", (char *)f, gx, gy, gz, bx, by, bz, sh, n);
  fflush(stdout);
  for (int i = 0; i < n; i++) p[i] = i;
  return ex != 0;
}
