/* block.c: slabs of blocks. A thread takes the free blocks of its slab one after the other. It collects the blocks that
 * it gives back by slab, and adds many at once to the slab's own word. A slab of which half is free goes to the next
 * thread that needs one. So a block that is kept for long keeps a slab from being freed, but not its other blocks from
 * being used: a slab from which no thread takes, and which none can get, has more blocks in use than free ones. Slabs
 * go on through an array, into which one compare-and-swap puts a slab and out of which one exchange takes it. So no
 * slab can be taken twice, and nothing is half done at a fork.
 *
 *   bits of slab->back
 *   0 to 61   A block each: it was given back, and no thread has taken it since. Set by the compare-and-swap of the
 *             thread that gives it back, or of a thread that ends with it untaken. Cleared by a thread that takes from
 *             the slab, all at once.
 *   62 KEPT   The slab is in the array, or the thread that set the bit is about to put it there. It is set by
 *             the compare-and-swap that finds half of the blocks free and neither KEPT nor TAKEN. Cleared by a thread
 *             that takes from the slab, and by the one that set it where the array has no place.
 *   63 TAKEN  A thread takes from it, and will look at the word when it is done. Set by that thread as it clears the
 *             others; cleared by it alone.
 *
 * The thread that sets KEPT owns the slab until it is in the array. The thread that takes it out of there owns it from
 * then on. A slab is freed only by its owner, when all of its blocks are back. Until then a thread that gives blocks
 * back, or has TAKEN it, may look at the word. Each change of it has acquire or release order, so that all uses of a
 * block are over when it is taken again. */
#include "csynckernel/block.h"

#include <stdlib.h>

#include "thread/thread_exit.h"

/* A sanitizer must see each block end. */
#ifndef CSK_BLOCKS_ARE_KEPT
#define CSK_BLOCKS_ARE_KEPT !(CSK_UNDER_ASAN || CSK_UNDER_TSAN)
#endif

/* The explorer has smaller limits. */
#ifndef CSK_BLOCK_LIMITS
enum { SLAB_SIZE = 4096, SLABS_KEPT = 2048, TALLIES = 8 };
#endif
/* A slab is two words smaller than SLAB_SIZE. An allocator may want these in front of the next slab, so slabs lie close
 * together. */
enum { HEADER_SIZE = 64, BLOCKS = (SLAB_SIZE - 16 - HEADER_SIZE) / CSK_BLOCK_SIZE };

#define ALL_BLOCKS ((UINT64_C(1) << BLOCKS) - 1)
#define KEPT (UINT64_C(1) << 62)
#define TAKEN (UINT64_C(1) << 63)

/* A slab lies at a multiple of its size, so that a block's address gives its slab. */
typedef struct slab {
    uint64_t back;
} slab_t;

/* Slabs of which half is free. */
static slab_t *kept[SLABS_KEPT];
/* How many places are filled. It avoids looks where there is nothing, and says about where to look. It may be one
 * behind for each thread. */
static uint32_t filled;

static _Thread_local struct {
    char *next, *end;                   /* blocks yet to be taken, one behind the other */
    uint64_t others : 63, enrolled : 1; /* `others`: those behind a gap */
    struct {
        slab_t *slab;
        uint64_t back; /* blocks that are not yet added to the slab's own word */
    } tallies[TALLIES];
} mine __attribute__((tls_model("initial-exec")));

static slab_t *slab_of(const void *block) { return (slab_t *)((uintptr_t)block & ~(uintptr_t)(SLAB_SIZE - 1)); }
static char *block_of(slab_t *slab, int index) { return (char *)slab + HEADER_SIZE + index * CSK_BLOCK_SIZE; }
static uint32_t index_of(const void *block) {
    return ((uint32_t)((uintptr_t)block & (SLAB_SIZE - 1)) - HEADER_SIZE) / CSK_BLOCK_SIZE;
}
static int tally_of(const slab_t *slab) { return (int)((uintptr_t)slab / SLAB_SIZE % TALLIES); }
static bool is_half_free(uint64_t back) { return __builtin_popcountll(back & ALL_BLOCKS) >= (BLOCKS + 1) / 2; }

/* Release: the receiver of the slab finds its word as it is now, and not what the memory held before it was a slab. The
 * caller has set KEPT. Where there is no place, a thread that gives back another block tries again. */
static void hand_on(slab_t *slab) {
    uint32_t count = csk_load(&filled, CSK_RELAXED);
    for (uint32_t i = 0; i < SLABS_KEPT && count < SLABS_KEPT; i++) {
        slab_t **place = &kept[(count + i) % SLABS_KEPT], *empty = NULL;
        if (csk_load(place, CSK_RELAXED) != NULL || !csk_cas(place, &empty, slab, CSK_RELEASE)) continue;
        csk_fetch_add(&filled, 1u, CSK_RELAXED);
        return;
    }
    for (;;) {
        uint64_t back = csk_load(&slab->back, CSK_ACQUIRE);
        if ((back & ALL_BLOCKS) == ALL_BLOCKS) break;
        if (csk_cas(&slab->back, &back, back & ~KEPT, CSK_RELEASE)) return;
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

/* `taken` is TAKEN where the caller stops taking from the slab, and otherwise 0. It need not acquire: the thread that
 * takes the blocks, or frees the slab, acquires what all have returned. */
static void return_blocks(slab_t *slab, uint64_t blocks, uint64_t taken) {
    uint64_t before = csk_load(&slab->back, CSK_RELAXED), after;
    do {
        after = (before & ~taken) | blocks;
        if (!(after & (KEPT | TAKEN)) && is_half_free(after)) after |= KEPT;
    } while (!csk_cas(&slab->back, &before, after, CSK_RELEASE));
    if (after & ~before & KEPT) hand_on(slab);
}

static void return_tally(int i) {
    if (mine.tallies[i].slab != NULL) return_blocks(mine.tallies[i].slab, mine.tallies[i].back, 0);
    mine.tallies[i].slab = NULL;
}

static void thread_ends(void) {
    if (mine.end != NULL) {
        uint64_t untaken = mine.others;
        for (; mine.next != mine.end; mine.next += CSK_BLOCK_SIZE) untaken |= UINT64_C(1) << index_of(mine.next);
        return_blocks(slab_of(mine.end), untaken, TAKEN);
    }
    mine.next = mine.end = NULL;
    mine.others = 0;
    for (int i = 0; i < TALLIES; i++) return_tally(i);
    mine.enrolled = 0;
}

/* A thread whose end can't be observed keeps nothing. */
static bool keeps(void) {
    if (CSK_UNLIKELY(!mine.enrolled)) mine.enrolled = csk_thread_exit_enroll(CSK_THREAD_EXIT_BLOCKS, thread_ends) == 0;
    return mine.enrolled;
}

/* Takes the first of these blocks, of a slab that the caller has TAKEN. The others are the thread's. */
static void *take_first(slab_t *slab, uint64_t blocks) {
    int first = __builtin_ctzll(blocks), count = __builtin_ctzll(~(blocks >> first));
    mine.next = block_of(slab, first + 1);
    mine.end = block_of(slab, first + count);
    mine.others = blocks & ~(((UINT64_C(1) << count) - 1) << first);
    return block_of(slab, first);
}

static uint64_t take_all(slab_t *slab) { return csk_exchange(&slab->back, TAKEN, CSK_ACQUIRE) & ALL_BLOCKS; }

/* Whether the thread goes on with the slab of which it has taken all blocks. What it has given back itself counts. */
static bool goes_on_with(slab_t *slab) {
    int i = tally_of(slab);
    if (mine.tallies[i].slab == slab) return_tally(i);
    if (is_half_free(csk_load(&slab->back, CSK_RELAXED))) return true;
    mine.next = mine.end = NULL;
    return_blocks(slab, 0, TAKEN);
    return false;
}

static void *take_elsewhere(void) {
    slab_t *slab = mine.end == NULL ? NULL : slab_of(mine.end);
    if (mine.others != 0) return take_first(slab, mine.others);
    if (slab != NULL && goes_on_with(slab)) return take_first(slab, take_all(slab));
    slab = receive();
    uint64_t blocks = ALL_BLOCKS;
    if (slab == NULL) {
        void *made;
        if (posix_memalign(&made, SLAB_SIZE, SLAB_SIZE - 16) != 0) return NULL;
        slab = made;
        csk_store(&slab->back, TAKEN, CSK_RELAXED);
    } else {
        blocks = take_all(slab);
    }
    if (keeps()) return take_first(slab, blocks);
    return_blocks(slab, blocks & (blocks - 1), TAKEN);
    return block_of(slab, __builtin_ctzll(blocks));
}

void *csk_block_take(void) {
    if (!CSK_BLOCKS_ARE_KEPT) return malloc(CSK_BLOCK_SIZE);
    char *block = mine.next;
    if (CSK_UNLIKELY(block == mine.end)) return take_elsewhere();
    mine.next = block + CSK_BLOCK_SIZE;
    return block;
}

void csk_block_give(void *block) {
    if (!CSK_BLOCKS_ARE_KEPT) {
        free(block);
        return;
    }
    slab_t *slab = slab_of(block);
    uint64_t bit = UINT64_C(1) << index_of(block);
    int i = tally_of(slab);
    if (CSK_LIKELY(mine.tallies[i].slab == slab)) {
        if (CSK_UNLIKELY((mine.tallies[i].back |= bit) == ALL_BLOCKS)) return_tally(i);
        return;
    }
    if (CSK_UNLIKELY(!keeps())) {
        return_blocks(slab, bit, 0);
        return;
    }
    return_tally(i);
    mine.tallies[i].slab = slab;
    mine.tallies[i].back = bit;
}
