/* announce.h: a worker that waits inside the library says so, in a word of its own and in a count of all such workers.
 * So the pool knows without a system call that the worker's processor is free. Waits for internal locks, which are held
 * for a few hundred nanoseconds, are not announced. */
#ifndef CSK_INTERNAL_ANNOUNCE_H
#define CSK_INTERNAL_ANNOUNCE_H

#include "base/platform.h"

/* The calling worker's word. It is odd while the worker waits, and has another value for each wait. NULL on all other
 * threads. */
extern _Thread_local uint32_t *csk_announced __attribute__((tls_model("initial-exec"), visibility("hidden")));
/* How many workers of this process wait. */
extern uint32_t csk_announced_count __attribute__((visibility("hidden")));

/* Called around each wait of a caller. The accesses are relaxed: a reader of these words wants a number, and nothing is
 * published by them. */
static inline void csk_announce_wait(void) {
    if (CSK_LIKELY(csk_announced == NULL)) return;
    csk_store(csk_announced, csk_load(csk_announced, CSK_RELAXED) + 1, CSK_RELAXED);
    csk_fetch_add(&csk_announced_count, 1u, CSK_RELAXED);
}
static inline void csk_announce_end(void) {
    if (CSK_LIKELY(csk_announced == NULL)) return;
    csk_fetch_add(&csk_announced_count, -1u, CSK_RELAXED);
    csk_store(csk_announced, csk_load(csk_announced, CSK_RELAXED) + 1, CSK_RELAXED);
}

/* csk_platform_park for a wait of a caller. */
static inline int csk_wait_park(uint32_t *word, uint32_t expected, int64_t deadline_ns) {
    csk_announce_wait();
    int status = csk_platform_park(word, expected, deadline_ns);
    csk_announce_end();
    return status;
}

#endif
