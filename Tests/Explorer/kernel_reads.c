/* kernel_reads.c: the kernel's reads.c, whose records live in the memory of one schedule, and the way back to its first
 * state. */
#include "explorer.h"

#define aligned_alloc(alignment, size) explore_allocate(size)
#include "readwrite/reads.c"

#include "internal.h"

void kernel_reset_reads(void) {
    all.lock = 0;
    all.first = NULL;
}
