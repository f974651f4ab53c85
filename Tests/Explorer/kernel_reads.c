/* kernel_reads.c: the kernel's reads.c, whose records live in the memory of one schedule, and the way back to its first
 * state. */
#include "explorer.h"

/* For clients: how many records there is memory for. */
uint32_t kernel_records_left = UINT32_MAX;

EXPLORE_UNSEEN static void *allocate_record(size_t size) {
    if (kernel_records_left == 0) return NULL;
    kernel_records_left--;
    return explore_allocate(size);
}
#define aligned_alloc(alignment, size) allocate_record(size)
#include "readwrite/reads.c"

#include "internal.h"

void kernel_reset_reads(void) {
    kernel_records_left = UINT32_MAX;
    all.lock = 0;
    all.owned = all.spare = all.newest = NULL;
}

/* For clients: how many records a writer looks at. */
uint32_t kernel_reads_looked_at(void) {
    uint32_t count = 0;
    for (const csk_reads_t *record = all.owned; record != NULL; record = record->next) count++;
    return count;
}
