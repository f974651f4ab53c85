/* queue_lock.h: the short internal lock that protects a waiter queue or the timers' heap.
 *
 *   0 free    1 held    2 held, and somebody may be parked
 *
 * It is held for a heap operation, never while user code, an allocation or a free runs. Unlocking is a locked exchange, which
 * orders everything before it with everything after it; the gate's argument uses that.
 * Source: Drepper, "Futexes are tricky", the second mutex. */
#ifndef CSK_INTERNAL_QUEUE_LOCK_H
#define CSK_INTERNAL_QUEUE_LOCK_H

#include "internal/platform.h"

static inline void csk_queue_lock(uint32_t *lock) {
    uint32_t expected = 0;
    if (CSK_LIKELY(csk_cas(lock, &expected, 1u, CSK_ACQUIRE))) return;
    /* A holder that runs is done within a few hundred nanoseconds. */
    for (int spins = 0; spins < 40; spins++) {
        csk_platform_pause();
        expected = 0;
        if (csk_load(lock, CSK_RELAXED) == 0 && csk_cas(lock, &expected, 1u, CSK_ACQUIRE)) return;
    }
    while (csk_exchange(lock, 2u, CSK_ACQUIRE) != 0) csk_platform_park(lock, 2u, CSK_NEVER);
}

static inline void csk_queue_unlock(uint32_t *lock) {
    if (CSK_UNLIKELY(csk_exchange(lock, 0u, CSK_SEQ_CST) == 2)) csk_platform_wake(lock, 1);
}

#endif
