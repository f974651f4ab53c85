/* counting.h: whether waits are counted, by the contention profile or by the metrics, or shown to the deadlock
 * watch. The subscribers ask this word once they are called: the paths that wait test the one of base/hooks.h. */
#ifndef CSK_INTERNAL_COUNTING_H
#define CSK_INTERNAL_COUNTING_H

#include "observe/subscriber.h"

/* STACKS: each waiting thread shows its stack to the deadlock watch. */
enum { CSK_COUNTS_PROFILE = 1, CSK_COUNTS_METRICS = 2, CSK_COUNTS_STACKS = 4 };

extern uint32_t csk_counting __attribute__((visibility("hidden")));

static inline bool csk_is_counting(uint32_t what) {
    return CSK_UNLIKELY((csk_load(&csk_counting, CSK_RELAXED) & what) != 0);
}
/* The table was made before it is said that it is counted in. A thread that counts reads the table's address, and
 * counts nothing where it finds none. So the word orders nothing, and all its readers are relaxed. */
static inline void csk_counting_begin(uint32_t what) {
    csk_subscribe();
    uint32_t before = csk_fetch_or(&csk_counting, what, CSK_RELAXED);
    csk_tell_program((before & what) != 0, true);
}
static inline void csk_counting_end(uint32_t what) {
    uint32_t before = csk_fetch_and(&csk_counting, ~what, CSK_RELAXED);
    csk_tell_program((before & what) != 0, false);
}

#endif
