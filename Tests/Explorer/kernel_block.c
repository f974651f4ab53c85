/* kernel_block.c: the kernel's block.c with small slabs in the memory of one schedule, few places to keep them, and one
 * tally for each thread. */
#include "explorer.h"

#include <stdlib.h>

#include "thread/thread_exit.h"

#define CSK_BLOCK_LIMITS
enum { SLAB_SIZE = 256, SLABS_KEPT = 2, TALLIES = 1 };

static uint32_t slabs_made, slabs_freed;

/* Bit by bit the threads that can't hear of their end. */
uint32_t kernel_blocks_refused;
static int enroll(csk_thread_exit_stage_t stage, void (*function)(void)) {
    return kernel_blocks_refused >> explore_thread() & 1 ? EAGAIN : csk_thread_exit_enroll(stage, function);
}

EXPLORE_UNSEEN static int make_slab(void **slab, size_t size) {
    *slab = (void *)(((uintptr_t)explore_allocate(2 * SLAB_SIZE) + SLAB_SIZE - 1) & ~(uintptr_t)(SLAB_SIZE - 1));
    slabs_made++;
    return size <= SLAB_SIZE ? 0 : ENOMEM;
}
EXPLORE_UNSEEN static void free_slab(void *slab) {
    explore_free(slab, SLAB_SIZE);
    slabs_freed++;
}

/* Who takes a slab takes at least one block of it. */
EXPLORE_UNSEEN static int first_of(uint64_t blocks) {
    if (blocks == 0) explore_fail("a slab without a free block was taken");
    return __builtin_ctzll(blocks);
}

#define posix_memalign(slab, alignment, size) make_slab((slab), (size))
#define __builtin_ctzll(blocks) first_of(blocks)
#define free(slab) free_slab(slab)
#define csk_thread_exit_enroll(stage, function) enroll((stage), (function))
#include "thread/block.c"

#include "internal.h"

void kernel_reset_blocks(void) {
    for (int i = 0; i < SLABS_KEPT; i++) kept[i] = NULL;
    filled = slabs_made = slabs_freed = kernel_blocks_refused = 0;
}

/* How many slabs are neither freed nor kept with all of their blocks. */
uint32_t kernel_blocks_lost(void) {
    uint32_t lost = slabs_made - slabs_freed;
    for (int i = 0; i < SLABS_KEPT; i++) lost -= kept[i] != NULL && (kept[i]->back & ALL_BLOCKS) == ALL_BLOCKS;
    return lost;
}
