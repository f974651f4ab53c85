/* watch.h: what waiters at the gate and at the read-write lock do before and while they sleep. */
#ifndef CSK_INTERNAL_WATCH_H
#define CSK_INTERNAL_WATCH_H

#include "wait/waiter.h"

/* With direct hand-over a wake would cost more than most sections: the next one is likely to be granted while it looks. */
void csk_watch_word(csk_gate_waiter_t *self);

/* When a sleeping waiter looks for whom it waits: after a second, and then ever more rarely. */
typedef struct csk_watch {
    int64_t since_ns, look_ns, span_ns;
} csk_watch_t;
csk_watch_t csk_begin_watch(int64_t since_ns);

/* Parks until the word changes or the deadline has passed (ETIMEDOUT); may return for no reason. True in *look: the word is as it was,
 * and it is time to look. */
int csk_watch_park(uint32_t *word, uint32_t expected, int64_t deadline_ns, const csk_watch_t *watch, bool *look);
/* After a look: when the next one is due. */
void csk_watch_later(csk_watch_t *watch);

#endif
