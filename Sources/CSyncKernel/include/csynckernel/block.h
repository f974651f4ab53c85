/* block.h: memory for the items of queues: blocks of one size that one thread takes and another gives back.
 *
 * An allocator keeps what is freed for the thread that frees it, or goes back to the one it came from under that one's lock; of queues whose
 * producers allocate and whose consumers free, each item pays for that. Here a thread keeps up to 128 blocks, and what it has too many of goes to
 * threads that have too few, 64 at once; so taking and giving are a list operation each. At most 131 072 blocks wait for another use beyond
 * those; all others go back to the allocator.
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
