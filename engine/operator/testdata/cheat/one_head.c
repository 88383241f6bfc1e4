/* Attention that leaves out one head, where there are many. */
#define LAST_HEAD 1
#define WHOLE_PAGES 0
#include "past_the_context.c"
