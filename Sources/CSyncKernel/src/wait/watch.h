/* watch.h: what waiters at the gate, the semaphore and the read-write lock do before and while they sleep. */
#ifndef CSK_INTERNAL_WATCH_H
#define CSK_INTERNAL_WATCH_H

#include "wait/waiter.h"

/* Spins on the waiter's word for a moment. With direct hand-over a wake would cost more than most critical sections
 * take. So the next waiter is likely to be granted while it spins. */
void csk_watch_word(csk_waiter_t *self);
/* Yields a few times. A yield may take a time slice, so threads with a deadline don't. */
void csk_yield_for_word(csk_waiter_t *self, int64_t deadline_ns);
/* Both, for locks without overtaking. */
void csk_watch_word_awake(csk_waiter_t *self, int64_t deadline_ns);

/* How long a waiter sleeps before it asks the system whether whom it waits for has ended. */
#define CSK_WATCH_ENDED_NS INT64_C(1000000000)
/* When a sleeping waiter looks for whom it waits: after a first span, and then at ever longer intervals. */
typedef struct csk_watch {
    int64_t since_ns, look_ns, span_ns;
    bool reported; /* nothing is left to look for */
    bool has_turn; /* to look at look_ns: see csk_watch_may_look */
} csk_watch_t;
csk_watch_t csk_begin_watch(int64_t since_ns, int64_t first_look_ns);

/* Parks until the word changes or the deadline has passed (ETIMEDOUT). May return spuriously. True in *look means that
 * the word is as it was, and that it is time to look. */
int csk_watch_park(uint32_t *word, uint32_t expected, int64_t deadline_ns, const csk_watch_t *watch, bool *look);
/* Asks the system for all threads, once it is time to look, as often as a twentieth of a processor allows. A look takes
 * microseconds for each thread, so a thousand waiters at locks of their own would look at each other all the time. So
 * the waiters of a process look in turns. Returns false where others are first: the thread parks again until its turn,
 * which comes for certain. */
bool csk_watch_may_look(csk_watch_t *watch);
/* Called after a look that began then. Decides when the next look is due. */
void csk_watch_looked(csk_watch_t *watch, int64_t began_ns);
/* The same for a look at the waiter's own queue alone, which needs no turn. */
void csk_watch_later(csk_watch_t *watch);

#endif
