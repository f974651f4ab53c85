/* queue_lock.h: the short internal lock that protects a waiter queue or the timers' heap.
 *
 *   bits 0-1   0 free    1 held    2 held, and threads may be parked
 *   bits 2-31  of which process that is true: csk_process.mark, 0 in the first one
 *
 * It is held for a few operations on lists and heaps and at most the start of a clock, which takes the timers' lock
 * inside of a gate's, never the other way round. It is never held while user code, an allocation or a free runs, but
 * for the one of views, which is only tried. (In a child of fork the first clock also starts the timers' thread:
 * docs/limits.md.) Unlocking releases what was done under the lock. It is an exchange, since it also asks whether
 * threads are parked. On x86-64 that is a fence, but C11 and arm64 let a later load pass its store. So it must not be
 * taken for one: a thread that checks again behind it executes membarrier first, compares the whole word, or has
 * sequentially consistent accesses of its own. Source: Drepper, "Futexes are tricky", the second mutex.
 *
 * In a child of fork a word of the parent says nothing: the threads that held the lock or were parked do not exist
 * there. The first thread that comes takes the lock over by a compare-and-swap, and learns that from the result. A
 * change may have been under way that no thread will complete, and whatever waits in the object does so in the parent.
 * So that thread makes the object anew before it goes on. Memory that a child fills with zeros looks like the parent's
 * once, to no effect. */
#ifndef CSK_INTERNAL_QUEUE_LOCK_H
#define CSK_INTERNAL_QUEUE_LOCK_H

#include "thread/fork.h"

enum { QUEUE_LOCK_HELD = 1, QUEUE_LOCK_CONTENDED = 2, QUEUE_LOCK_STATES = 3 };

/* Whether the word is one of the parent's. */
static inline bool csk_queue_lock_is_old(uint32_t word) {
    return ((word ^ csk_process_mark()) & ~(uint32_t)QUEUE_LOCK_STATES) != 0;
}

/* queue_lock.c */
bool csk_queue_lock_slow(uint32_t *lock);

/* Returns true when the lock was the parent's. Then what it protects has to be made anew. */
static inline bool csk_queue_lock(uint32_t *lock) {
    uint32_t free = csk_process_mark(), expected = free;
    if (CSK_LIKELY(csk_cas(lock, &expected, free | QUEUE_LOCK_HELD, CSK_ACQUIRE))) return false;
    return csk_queue_lock_slow(lock);
}

/* Takes the lock if it is free, for callers that must not wait. The parent's is not. */
static inline bool csk_queue_trylock(uint32_t *lock) {
    uint32_t free = csk_process_mark();
    return csk_load(lock, CSK_RELAXED) == free &&
           csk_cas(lock, &free, csk_process_mark() | QUEUE_LOCK_HELD, CSK_ACQUIRE);
}

static inline void csk_queue_unlock(uint32_t *lock) {
    if (CSK_UNLIKELY(csk_exchange(lock, csk_process_mark(), CSK_RELEASE) & QUEUE_LOCK_CONTENDED))
        csk_platform_wake(lock, 1);
}

#endif
