/* watch.h: what waiters at the gate, the semaphore and the read-write lock do before and while they sleep. */
#ifndef CSK_INTERNAL_WATCH_H
#define CSK_INTERNAL_WATCH_H

#include "wait/waiter.h"

/* Watches the waiter's word for a moment. With direct hand-over a wake would cost more than most critical sections
 * take. So the next waiter is likely to be granted while it watches. */
void csk_watch_word(csk_gate_waiter_t *self);
/* Yields a few times. A yield may take a time slice, so threads with a deadline don't. */
void csk_yield_for_word(csk_gate_waiter_t *self, int64_t deadline_ns);
/* Both, for locks that nobody may pass. */
void csk_watch_word_awake(csk_gate_waiter_t *self, int64_t deadline_ns);

/* When a sleeping waiter looks for whom it waits: after a second, and then at ever longer intervals. */
typedef struct csk_watch {
    int64_t since_ns, look_ns, span_ns;
    bool reported; /* nothing is left to look for */
} csk_watch_t;
csk_watch_t csk_begin_watch(int64_t since_ns);

/* Parks until the word changes or the deadline has passed (ETIMEDOUT). May return spuriously. True in *look means that
 * the word is as it was, and that it is time to look. */
int csk_watch_park(uint32_t *word, uint32_t expected, int64_t deadline_ns, const csk_watch_t *watch, bool *look);
/* Called after a look. Decides when the next look is due. */
void csk_watch_later(csk_watch_t *watch);

#endif
