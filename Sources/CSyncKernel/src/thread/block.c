/* block.c: slabs of blocks. A thread takes the blocks of its slab one after the other. It counts the blocks that it
 * gives back by slab, and adds many at once to the slab's own count. Whoever makes that count complete hands the slab
 * on to whoever needs one next. It does so through an array, into which one compare-and-swap puts a slab and out of
 * which one exchange takes it. So no slab can be taken twice, and nothing is half done at a fork.
 *
 *   slab->returned   0 when a thread begins to take from the slab. It is only raised, by how many blocks are back. At
 *                    BLOCKS nobody has any of them, and whoever raised it to that owns the slab. Raising it has acquire
 *                    and release order, so that all uses of the slab's blocks are over. */
#include "csynckernel/block.h"

#include <stdlib.h>

#include "thread/thread_exit.h"

/* A sanitizer must see each block end. */
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define CSK_BLOCKS_ARE_KEPT 0
#elif defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
#define CSK_BLOCKS_ARE_KEPT 0
#endif
#endif
#ifndef CSK_BLOCKS_ARE_KEPT
#define CSK_BLOCKS_ARE_KEPT 1
#endif

/* The explorer has smaller limits. */
#ifndef CSK_BLOCK_LIMITS
enum { SLAB_SIZE = 4096, SLABS_KEPT = 2048, TALLIES = 8 };
#endif
/* A slab is two words smaller than SLAB_SIZE. An allocator may want these in front of the next slab, so slabs lie close
 * together. */
enum { HEADER_SIZE = 64, BLOCKS = (SLAB_SIZE - 16 - HEADER_SIZE) / CSK_BLOCK_SIZE };

/* A slab lies at a multiple of its size, so that a block's address gives its slab. */
typedef struct slab {
    uint32_t returned;
} slab_t;

/* Complete slabs. */
static slab_t *kept[SLABS_KEPT];
/* How many places are filled. It avoids looks where there is nothing, and says about where to look. It may be one
 * behind for each thread. */
static uint32_t filled;

static _Thread_local struct {
    char *next, *end; /* blocks yet to be taken */
    struct {
        slab_t *slab;
        uint32_t returned; /* blocks that are not yet added to the slab's own count */
    } tallies[TALLIES];
    bool enrolled;
} mine __attribute__((tls_model("initial-exec")));

static slab_t *slab_of(const void *block) { return (slab_t *)((uintptr_t)block & ~(uintptr_t)(SLAB_SIZE - 1)); }

static void hand_on(slab_t *slab) {
    uint32_t count = csk_load(&filled, CSK_RELAXED);
    for (uint32_t i = 0; i < SLABS_KEPT && count < SLABS_KEPT; i++) {
        slab_t **place = &kept[(count + i) % SLABS_KEPT], *empty = NULL;
        if (csk_load(place, CSK_RELAXED) != NULL || !csk_cas(place, &empty, slab, CSK_RELEASE)) continue;
        csk_fetch_add(&filled, 1u, CSK_RELAXED);
        return;
    }
    free(slab);
}

static slab_t *receive(void) {
    uint32_t count = csk_load(&filled, CSK_RELAXED);
    for (uint32_t i = 1; i <= SLABS_KEPT && count != 0; i++) {
        slab_t **place = &kept[(count + SLABS_KEPT - i) % SLABS_KEPT];
        slab_t *slab = csk_load(place, CSK_RELAXED) == NULL ? NULL : csk_exchange(place, (slab_t *)NULL, CSK_ACQUIRE);
        if (slab == NULL) continue;
        csk_fetch_add(&filled, -1u, CSK_RELAXED);
        return slab;
    }
    return NULL;
}

static void return_blocks(slab_t *slab, uint32_t count) {
    if (count != 0 && csk_fetch_add(&slab->returned, count, CSK_ACQ_REL) + count == BLOCKS) hand_on(slab);
}

static void thread_ends(void) {
    if (mine.next != mine.end) return_blocks(slab_of(mine.next), (uint32_t)((mine.end - mine.next) / CSK_BLOCK_SIZE));
    mine.next = mine.end = NULL;
    for (int i = 0; i < TALLIES; i++) {
        if (mine.tallies[i].slab != NULL) return_blocks(mine.tallies[i].slab, mine.tallies[i].returned);
        mine.tallies[i].slab = NULL;
    }
    mine.enrolled = false;
}

/* A thread that can't be told of its end keeps nothing. */
static bool keeps(void) {
    if (CSK_UNLIKELY(!mine.enrolled)) mine.enrolled = csk_thread_exit_enroll(CSK_THREAD_EXIT_BLOCKS, thread_ends) == 0;
    return mine.enrolled;
}

static void *take_from_another_slab(void) {
    slab_t *slab = receive();
    void *made;
    if (slab == NULL) {
        if (posix_memalign(&made, SLAB_SIZE, SLAB_SIZE - 16) != 0) return NULL;
        slab = made;
    }
    slab->returned = 0;
    char *block = (char *)slab + HEADER_SIZE;
    if (keeps()) {
        mine.next = block + CSK_BLOCK_SIZE;
        mine.end = block + BLOCKS * CSK_BLOCK_SIZE;
    } else {
        return_blocks(slab, BLOCKS - 1);
    }
    return block;
}

void *csk_block_take(void) {
    if (!CSK_BLOCKS_ARE_KEPT) return malloc(CSK_BLOCK_SIZE);
    char *block = mine.next;
    if (CSK_UNLIKELY(block == mine.end)) return take_from_another_slab();
    mine.next = block + CSK_BLOCK_SIZE;
    return block;
}

void csk_block_give(void *block) {
    if (!CSK_BLOCKS_ARE_KEPT) return free(block);
    slab_t *slab = slab_of(block);
    int i = (int)((uintptr_t)slab / SLAB_SIZE % TALLIES);
    if (CSK_LIKELY(mine.tallies[i].slab == slab)) {
        if (++mine.tallies[i].returned != BLOCKS) return;
        mine.tallies[i].slab = NULL;
        return_blocks(slab, BLOCKS);
        return;
    }
    if (CSK_UNLIKELY(!keeps())) return return_blocks(slab, 1);
    if (mine.tallies[i].slab != NULL) return_blocks(mine.tallies[i].slab, mine.tallies[i].returned);
    mine.tallies[i].slab = slab;
    mine.tallies[i].returned = 1;
}
