#include "wait/queue_lock.h"

static const int64_t look_after_ns = 1000000;

/* The caller has found that the lock is taken, or that it is the parent's. */
bool csk_queue_lock_slow(uint32_t *lock) {
    uint32_t free = csk_process_mark(), found = csk_load(lock, CSK_RELAXED);
    /* The lock never becomes the parent's again, so there is nothing in this process to acquire. */
    while (CSK_UNLIKELY(csk_queue_lock_is_old(found)))
        if (csk_cas(lock, &found, free | QUEUE_LOCK_HELD, CSK_RELAXED)) return true;
    /* A holder that is running is done within a few hundred nanoseconds. */
    for (int spins = 0; spins < 40; spins++) {
        csk_platform_pause();
        uint32_t expected = free;
        if (csk_load(lock, CSK_RELAXED) == free && csk_cas(lock, &expected, free | QUEUE_LOCK_HELD, CSK_ACQUIRE))
            return false;
    }
    /* An unlock wakes one of the parked threads. If that one has no processor, the lock may be free meanwhile, and no
     * other thread is woken: so the others check. */
    while (csk_exchange(lock, free | QUEUE_LOCK_CONTENDED, CSK_ACQUIRE) != free)
        csk_platform_park_to_look(lock, free | QUEUE_LOCK_CONTENDED, csk_platform_now() + look_after_ns);
    return false;
}
