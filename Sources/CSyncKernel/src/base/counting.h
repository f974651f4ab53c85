/* counting.h: whether waits are counted, by the contention profile or by the metrics, or shown to the deadlock
 * watch. One word says so for all, so a path that waits loads no more for three than for one. */
#ifndef CSK_INTERNAL_COUNTING_H
#define CSK_INTERNAL_COUNTING_H

#include "base/platform.h"
#include "base/probe.h"

/* STACKS: each waiting thread shows its stack to the deadlock watch. */
enum { CSK_COUNTS_PROFILE = 1, CSK_COUNTS_METRICS = 2, CSK_COUNTS_STACKS = 4 };

extern uint32_t csk_counting __attribute__((visibility("hidden")));

static inline bool csk_is_counting(uint32_t what) {
    return CSK_UNLIKELY((csk_load(&csk_counting, CSK_RELAXED) & what) != 0);
}
/* The table was made before it is said that it is counted in. A thread that counts reads the table's address, and
 * counts nothing where it finds none. So the word orders nothing, and all its readers are relaxed. Callbacks first
 * check the word for all observers (probe.h). */
static inline void csk_counting_begin(uint32_t what) {
    uint32_t before = csk_fetch_or(&csk_counting, what, CSK_RELAXED);
    csk_tell_program((before & what) != 0, true);
}
static inline void csk_counting_end(uint32_t what) {
    uint32_t before = csk_fetch_and(&csk_counting, ~what, CSK_RELAXED);
    csk_tell_program((before & what) != 0, false);
}

/* For a thread that comes to wait at `now_ns`. It may get what it wants by spinning, without a place in a queue. Where
 * nothing is counted it has come at 0. Otherwise the lowest bit of the time says whether the profile samples this
 * attempt. The draw is made here: after the spinning the thread holds the object, and others wait for it. Measured in
 * docs/design/profile.md. */
enum { CSK_COUNTS_LOOK = 1, CSK_COUNTS_ONE_LOOK_IN = 16 };
int64_t csk_counts_came(int64_t now_ns);
static inline int64_t csk_counts_since(int64_t now_ns) {
    return csk_is_counting(CSK_COUNTS_PROFILE | CSK_COUNTS_METRICS) ? csk_counts_came(now_ns) : 0;
}
/* The same thread has got it, without a place in a queue. No internal lock is held, and the object exists. For the
 * profile it is one of so many such waits, and counts as that many; one in 0 counts as none. */
void csk_counts_entered(const void *object, uint32_t object_kind, csk_rank_t rank, int64_t since_ns, uint32_t one_in);
static inline void csk_counts_end(const void *object, uint32_t object_kind, csk_rank_t rank, int64_t since_ns) {
    if (CSK_UNLIKELY(since_ns != 0)) csk_counts_entered(object, object_kind, rank, since_ns, 1);
}
/* The same where the thread has only looked, for CSK_SPIN_NS at most. */
static inline void csk_counts_end_of_look(const void *object, uint32_t object_kind, csk_rank_t rank, int64_t since_ns) {
    if (CSK_LIKELY(since_ns == 0)) return;
    bool is_drawn = since_ns & CSK_COUNTS_LOOK;
    if (is_drawn || csk_is_counting(CSK_COUNTS_METRICS))
        csk_counts_entered(object, object_kind, rank, since_ns, is_drawn ? CSK_COUNTS_ONE_LOOK_IN : 0);
}

#endif
