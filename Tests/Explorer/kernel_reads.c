/* kernel_reads.c: the kernel's reads.c, whose records live in the memory of one schedule, and the way back to its first
 * state. */
#include "explorer.h"

#define aligned_alloc(alignment, size) explore_allocate(size)
#include "readwrite/reads.c"

#include "internal.h"

void kernel_reset_reads(void) {
    all.lock = 0;
    all.owned = all.spare = all.newest = NULL;
}

/* For clients: how many records a writer looks at. */
uint32_t kernel_reads_looked_at(void) {
    uint32_t count = 0;
    for (const csk_reads_t *record = all.owned; record != NULL; record = record->next) count++;
    return count;
}
