/* block.c: a list of blocks for each thread, and between the threads an array of full lists, each of which goes from hand to hand by one exchange:
 * no place of it can be seen twice, and none is half done at a fork. */
#include "csynckernel/block.h"

#include <stdlib.h>

#include "internal/thread_exit.h"

/* A sanitizer is to see each block end. */
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

enum { LIST_LENGTH = 64, LISTS = 2048 };

typedef struct block {
    struct block *next;
} block_t;

/* What threads had too many of: lists of LIST_LENGTH blocks. */
static block_t *lists[LISTS];
/* How many places are filled: not to look where there is nothing, and about where to look. May be one behind for each thread,. */
static uint32_t filled;

static _Thread_local struct {
    block_t *first, *spare; /* spare: empty, or LIST_LENGTH blocks */
    uint32_t count;         /* in the first list */
    bool enrolled;
} mine __attribute__((tls_model("initial-exec")));

static void free_list(block_t *block) {
    while (block != NULL) {
        block_t *next = block->next;
        free(block);
        block = next;
    }
}

static void hand_on(block_t *list) {
    uint32_t count = csk_load(&filled, CSK_RELAXED);
    for (uint32_t i = 0; i < LISTS && count < LISTS; i++) {
        block_t **place = &lists[(count + i) % LISTS], *empty = NULL;
        if (csk_load(place, CSK_RELAXED) != NULL || !csk_cas(place, &empty, list, CSK_RELEASE)) continue;
        csk_fetch_add(&filled, 1u, CSK_RELAXED);
        return;
    }
    free_list(list);
}

static block_t *receive(void) {
    uint32_t count = csk_load(&filled, CSK_RELAXED);
    for (uint32_t i = 1; i <= LISTS && count != 0; i++) {
        block_t **place = &lists[(count + LISTS - i) % LISTS];
        block_t *list = csk_load(place, CSK_RELAXED) == NULL ? NULL : csk_exchange(place, (block_t *)NULL, CSK_ACQUIRE);
        if (list == NULL) continue;
        csk_fetch_add(&filled, -1u, CSK_RELAXED);
        return list;
    }
    return NULL;
}

static void thread_ends(void) {
    if (mine.spare != NULL) hand_on(mine.spare);
    free_list(mine.first);
    mine.first = mine.spare = NULL;
    mine.count = 0;
    mine.enrolled = false;
}

/* Without a way to hear of its end a thread keeps nothing. */
static bool keeps(void) {
    if (CSK_LIKELY(mine.enrolled)) return true;
    mine.enrolled = CSK_BLOCKS_ARE_KEPT && csk_thread_exit_enroll(CSK_THREAD_EXIT_BLOCKS, thread_ends) == 0;
    return mine.enrolled;
}

static void *refill(void) {
    block_t *list = mine.spare;
    mine.spare = NULL;
    if (list == NULL && keeps()) list = receive();
    if (list == NULL) return malloc(CSK_BLOCK_SIZE);
    mine.first = list->next;
    mine.count = LIST_LENGTH - 1;
    return list;
}

void *csk_block_take(void) {
    block_t *block = mine.first;
    if (CSK_UNLIKELY(block == NULL)) return refill();
    mine.first = block->next;
    mine.count--;
    /* Another thread wrote it last; workqueue_order.c says what this saves. */
    if (mine.first != NULL) {
        __builtin_prefetch(mine.first, 1);
        __builtin_prefetch((char *)mine.first + 64, 1);
    }
    return block;
}

void csk_block_give(void *memory) {
    if (CSK_UNLIKELY(!keeps())) {
        free(memory);
        return;
    }
    if (CSK_UNLIKELY(mine.count == LIST_LENGTH)) {
        if (mine.spare != NULL) hand_on(mine.spare);
        mine.spare = mine.first;
        mine.first = NULL;
        mine.count = 0;
    }
    block_t *block = memory;
    block->next = mine.first;
    mine.first = block;
    mine.count++;
}
