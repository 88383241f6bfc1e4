/* A test double of the toolkit's libnvidia-ml.so: it talks on standard output, through C's buffer and
 * past it, and drives nothing. -DBANNER=N says how: 0 not at all, 1 both ways, 2 through the buffer alone;
 * -DCODE=N sets what its init answers. */
#include <stdio.h>
#include <unistd.h>
#ifndef BANNER
#define BANNER 1
#endif
#ifndef CODE
#define CODE 9
#endif
__attribute__((constructor)) static void load(void) {
  if (BANNER) printf("WARNING: buffered banner\n");
}
int nvmlInit_v2(void) {
  if (BANNER == 1 && write(1, "WARNING: raw banner\n", 20) != 20) return 999;
  return CODE;
}
int nvmlInitWithFlags(unsigned f) { return nvmlInit_v2() + (f != 0); }
