/* spin_park.h: a thread that waits for another one spins for a moment, and then parks on a word of its own.
 *
 * Spinning
 *
 * What a thread waits for is often over sooner than a park and a wake would be. So the thread spins first. It spins for
 * a time and not for a number of pauses, since a pause takes 5 to 140 cycles. Some loads do nothing but end the
 * spinning: what the thread then does, it does by what it reads afterwards. So these loads may be relaxed.
 *
 * How often it looks:
 *
 * - after each pause (csk_spin), at a lock's own word or at the word of a waiter that is next to get the lock. What it
 *   waits for comes at any instruction, and a load costs less than a pause. Reading the clock costs as much as several
 *   pauses, so it is read once in CSK_SPIN_PAUSES pauses.
 * - half a microsecond apart (csk_spin_away), at a gate whose sections are shorter than the way of its line from one
 *   processor to another: see spin_to_take in gate.c.
 * - once in several pauses, together with the clock (csk_spin_lasts and csk_spin_pause): at the marks of all readers
 *   (rwlock_bias.c), which are many; at the end of a queue's inbox and the count of queued items (workqueue_serve.c),
 *   which other threads keep writing; at the word of a thread that is answered through the pool (csk_word_spin), where
 *   the answer takes longer than these pauses.
 *
 * The word
 *
 *   WAITS    The thread spins, or is about to park. It has no answer.
 *   PARKED   The thread is parked or about to be. The answering thread must wake it.
 *   answer   Any other value, with a meaning for its user alone.
 *
 *   from             to        by                                              how
 *   WAITS            PARKED    the thread that waits                           compare-and-swap
 *   WAITS, PARKED    answer    the answering thread                            exchange
 *   answer           WAITS     the thread that waits, when none can answer     store
 *
 * Which thread may answer is settled elsewhere, under a lock: the one that takes the waiting thread out of its list, or
 * designates it. So a thread whose deadline has passed finds out there whether an answer is on its way. If one is, it
 * waits again. An answer may follow an answer only at the gate, the semaphore and the read-write lock: GRANTED may
 * follow TRY. A thread that waits for that GRANTED changes TRY to PARKED by a compare-and-swap too
 * (csk_waiter_await_granter in waiter.c), and at the semaphore to WAITS (csk_sem_try).
 *
 * No waiter is left asleep. Both sides change the word by a locked instruction. If the compare-and-swap comes first,
 * the exchange returns PARKED, and a wake follows. The system compares the word with PARKED before it puts the thread
 * to sleep. So a wake that comes early is not lost: the word has changed by then. If the exchange comes first, the
 * compare-and-swap fails, and the thread does not park.
 *
 * Memory order. What the answering thread wrote before its exchange (release) is visible to the waiting thread, which
 * ends its wait with a load (acquire). The compare-and-swap is relaxed: the thread whose exchange returns PARKED only
 * wakes, by the address.
 *
 * Memory. The waiting thread owns the word, and may go on as soon as the answer is there, without having slept. So the
 * answering thread uses only the address afterwards. A wake may then meet another word at that address: each park may
 * return for no reason.
 *
 * What is not built on this
 *
 * - wait/queue_lock.c: many threads wait on one word, which says whether a lock is held, and each of them changes it to
 *   enter. It spins for a number of pauses, since the holder is done within a few hundred nanoseconds.
 * - `revocation` (rwlock_bias.c) and the signals of the supervisor (pool_growth.c) and of the timers (timer.c): many
 *   threads notify, and one that has not gone to sleep may be notified several times. These words count. The thread
 *   remembers the count, checks whether there is anything to do, and parks only while the word has that count. The
 *   writer that takes a bias away spins as above.
 * - queue/pqueue.c: its threads sleep on condition variables. The first in a line spins as above, for longer, since the
 *   other end answers from its own work, and under the queue's mutex.
 * - A worker that lingers at an empty queue (workqueue_serve.c) spins as above and parks on nothing. It leaves
 *   instead.
 * - rcu_reclaim.c: its words have states of their own, and a grace period is not worth spinning for.
 * - csk_platform_await_step (platform.c): the other thread's next instructions end the wait, and it notifies no
 *   thread. */
#ifndef CSK_INTERNAL_SPIN_PARK_H
#define CSK_INTERNAL_SPIN_PARK_H

#include "base/platform.h"

/* ---- Spinning ---------------------------------------------------------------------------------------------------- */

/* How long a thread spins that may be let in at any moment: about a tenth of what a park and a wake on an idle core
 * cost. */
#define CSK_SPIN_NS INT64_C(2400)

/* How many pauses there are between two looks at the clock. */
enum { CSK_SPIN_PAUSES = 8 };

typedef struct csk_spin {
    int64_t end_ns;
    int64_t now_ns;  /* when it looked at the clock last */
    uint32_t pauses; /* since then */
} csk_spin_t;

static inline csk_spin_t csk_spin_begin(int64_t span_ns) {
    int64_t now_ns = csk_platform_now();
    return (csk_spin_t){ .end_ns = now_ns + span_ns, .now_ns = now_ns };
}
static inline bool csk_spin_lasts(csk_spin_t *spin) { return (spin->now_ns = csk_platform_now()) < spin->end_ns; }
static inline void csk_spin_pause(uint32_t pauses) {
    while (pauses-- > 0) csk_platform_pause();
}

/* Pauses once. Returns false, without a pause, once the time is over. */
static inline bool csk_spin(csk_spin_t *spin) {
    if (spin->pauses == CSK_SPIN_PAUSES) {
        if (!csk_spin_lasts(spin)) return false;
        spin->pauses = 0;
    }
    spin->pauses++;
    csk_platform_pause();
    return true;
}

/* Pauses for `away_ns`, for a thread whose looks disturb what it waits for. Returns false, without a pause, once the
 * time is over. */
static inline bool csk_spin_away(csk_spin_t *spin, int64_t away_ns) {
    int64_t until_ns = spin->now_ns + away_ns;
    if (spin->now_ns >= spin->end_ns) return false;
    do csk_spin_pause(CSK_SPIN_PAUSES);
    while ((spin->now_ns = csk_platform_now()) < until_ns);
    return true;
}

/* Whether spinning pays at one place for one thread, or at one object for its waiters. A thread that waits for its
 * processor is often the one that was just woken, and the next step is its. The spinning then ends in vain and makes
 * all others late. So a thread that has spun in vain CSK_SPIN_VAIN times in a row parks at once, and only tries again
 * each CSK_SPIN_SKIPS-th time; each CSK_SPIN_SKIPS_LONG-th time where it spins for tens of microseconds. It decides how
 * long the thread stays awake and nothing else. */
#ifndef CSK_SPIN_LIMITS /* the explorer has smaller ones */
enum { CSK_SPIN_VAIN = 3, CSK_SPIN_SKIPS = 32, CSK_SPIN_SKIPS_LONG = 256 };
#endif
typedef struct csk_spin_habit {
    uint8_t vain;    /* how often in a row it was in vain */
    uint8_t skipped; /* since spinning was tried last */
} csk_spin_habit_t;

/* Called by the thread whose habit it is, or under the lock of what has it. */
static inline bool csk_spin_pays_each(csk_spin_habit_t *habit, uint32_t skips) {
    if (habit->vain < CSK_SPIN_VAIN) return true;
    habit->skipped = (uint8_t)((habit->skipped + 1) % skips);
    return habit->skipped == 0;
}
static inline bool csk_spin_pays(csk_spin_habit_t *habit) { return csk_spin_pays_each(habit, CSK_SPIN_SKIPS); }
static inline void csk_spin_learn(csk_spin_habit_t *habit, bool paid) {
    if (paid) habit->vain = 0;
    else if (habit->vain < CSK_SPIN_VAIN) habit->vain++;
}

/* ---- The word ---------------------------------------------------------------------------------------------------- */

/* Each user continues from CSK_WORD_ANSWER on with the answers that it gives. */
enum { CSK_WORD_WAITS = 0, CSK_WORD_PARKED = 1, CSK_WORD_ANSWER = 2 };

/* For the answering thread. Returns true when a wake is due, for callers that have something to do before it. */
static inline bool csk_word_tell(uint32_t *word, uint32_t answer) {
    return csk_exchange(word, answer, CSK_RELEASE) == CSK_WORD_PARKED;
}

/* Answers, and wakes the thread if it is parked. */
static inline void csk_word_answer(uint32_t *word, uint32_t answer) {
    if (csk_word_tell(word, answer)) csk_platform_wake(word, 1);
}

/* For the thread that waits. Spins until there is an answer, for `span_ns` at most. */
static inline void csk_word_spin(const uint32_t *word, int64_t span_ns) {
    csk_spin_t spin = csk_spin_begin(span_ns);
    while (csk_load(word, CSK_RELAXED) == CSK_WORD_WAITS && csk_spin_lasts(&spin)) csk_spin_pause(CSK_SPIN_PAUSES);
}

/* For the thread that waits. Comes before its first park. Afterwards the word is PARKED, unless there is an answer. */
static inline void csk_word_begin_park(uint32_t *word) {
    uint32_t waits = CSK_WORD_WAITS;
    csk_cas(word, &waits, (uint32_t)CSK_WORD_PARKED, CSK_RELAXED);
}

/* For the thread that waits. Whether it has to park, once more or for the first time. */
static inline bool csk_word_is_parked(const uint32_t *word) { return csk_load(word, CSK_ACQUIRE) == CSK_WORD_PARKED; }

#endif
