/* A test double of libcuda.so.1: enough for the driver tests, no GPU needed. As in the real one, a
 * context belongs to the thread that made it: elsewhere a call answers 201.
 * LATHE_FAKE_CUDA="FUNCTION=CODE" makes that function answer with that code.
 * gcc -shared -fPIC -Wl,-soname,libcuda.so.1 -o libcuda.so.1 fake_libcuda.c */
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
typedef unsigned long long ptr;
static __thread void *current;
static int scripted(const char *function) {
  const char *s = getenv("LATHE_FAKE_CUDA");
  size_t n = strlen(function);
  return s && !strncmp(s, function, n) && s[n] == '=' ? atoi(s + n + 1) : 0;
}
/* 0, the scripted code, or 201 on a thread without the context */
static int inside(const char *function) {
  int code = scripted(function);
  return code ? code : current ? 0 : 201;
}
#define INSIDE            \
  int code = inside(__func__); \
  if (code) return code
int cuInit(unsigned f) { return f ? 1 : scripted(__func__); }
int cuDriverGetVersion(int *v) { *v = 12040; return 0; }
int cuDeviceGetCount(int *n) { *n = 1; return scripted(__func__); }
int cuDeviceGetName(char *s, int n, int d) { strncpy(s, "fake device", n); return d; }
int cuDeviceTotalMem_v2(size_t *b, int d) { *b = 1u << 30; return d; }
int cuDeviceGetAttribute(int *v, int a, int d) { *v = a == 75 ? 9 : 0; return d; }
int cuCtxCreate_v2(void **c, unsigned f, int d) {
  int code = scripted(__func__);
  if (code) return code;
  *c = current = malloc(8);
  return d;
}
int cuCtxDestroy_v2(void *c) {
  if (c == current) current = NULL;
  free(c);
  return 0;
}
int cuModuleLoadData(void **m, const void *img) {
  INSIDE;
  *m = 0;
  return memcmp(img, "\177ELF", 4) ? 200 : 0;
}
int cuModuleUnload(void *m) { INSIDE; return m != 0; }
int cuModuleGetFunction(void **f, void *m, const char *n) {
  INSIDE;
  *f = strcmp(n, "quiet") ? "fill" : "quiet";
  return 0;
}
int cuMemAlloc_v2(ptr *p, size_t n) {
  INSIDE;
  *p = (ptr)malloc(n);
  return 0;
}
int cuMemGetInfo_v2(size_t *avail, size_t *total) {
  INSIDE;
  *avail = 4096;
  *total = 1u << 30;
  return 0;
}
int cuMemFree_v2(ptr p) {
  INSIDE;
  free((void *)p);
  return 0;
}
int cuStreamCreate(void **s, unsigned f) {
  INSIDE;
  *s = malloc(8);
  return 0;
}
int cuStreamDestroy_v2(void *s) {
  INSIDE;
  free(s);
  return 0;
}
int cuStreamSynchronize(void *s) { INSIDE; return s ? 0 : 400; }
int cuMemcpyDtoH_v2(void *h, ptr d, size_t n) {
  INSIDE;
  memcpy(h, (void *)d, n);
  return 0;
}
int cuMemcpyHtoD_v2(ptr d, const void *h, size_t n) {
  INSIDE;
  memcpy((void *)d, h, n);
  return 0;
}
/* "fill" writes 0 to n-1 and says so; "quiet" adds 1 to each of n elements */
int cuLaunchKernel(void *f, unsigned gx, unsigned gy, unsigned gz, unsigned bx, unsigned by, unsigned bz,
                   unsigned sh, void *s, void **par, void **ex) {
  INSIDE;
  float *p = *(float **)par[0];
  int n = *(int *)par[1];
  int quiet = !strcmp(f, "quiet");
  if (!quiet) {
    printf("launch %s <<<%u,%u,%u; %u,%u,%u; %u>>> n=%d\n", (char *)f, gx, gy, gz, bx, by, bz, sh, n);
    fflush(stdout);
  }
  for (int i = 0; i < n; i++) p[i] = quiet ? p[i] + 1 : i;
  return ex != 0;
}
