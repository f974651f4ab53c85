/* block.h: memory for the items of queues: blocks of one size that one thread takes and another gives back.
 *
 * An allocator keeps what is freed for the thread that frees it, or goes back to the one it came from under that one's lock; of queues whose
 * producers allocate and whose consumers free, each item pays for that, and after a while for memory in no order at all. Here a thread
 * takes the blocks of a slab of 50 one after the other, and a slab goes round once all its blocks were given back: taking and giving are
 * a few instructions, and items that are used in the order in which they were taken lie in that order: to run 200 000 queued works costs 42 ns
 * each whatever went before, where blocks were kept in lists one by one it came to cost 200 ns once four producers had mixed them. 2048 slabs
 * of 4 KiB at most wait for another use; all others go back to the allocator. One block that is kept keeps its slab.
 *
 * Never blocks, but the allocator may. Not for signal handlers. Usable in a child of fork.
 *
 *     item_t *item = csk_block_take();        (on one thread)
 *     csk_block_give(item);                   (on another) */
#ifndef CSK_BLOCK_H
#define CSK_BLOCK_H

#include "base.h"

CSK_BEGIN_DECLS

enum { CSK_BLOCK_SIZE = 80 };

/* CSK_BLOCK_SIZE bytes, aligned as malloc does and of any content; NULL when there is no memory. O(1). */
CSK_API void *csk_block_take(void);

/* Takes back what csk_block_take gave, from any thread. O(1) amortized. */
CSK_API void csk_block_give(void *block);

CSK_END_DECLS

#endif
