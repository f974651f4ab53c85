/* trampoline.h: runs the functions of asynchronous waiters and lanes on the thread that granted them, one after the
 * other. So a chain of grant, function, unlock, grant needs no stack, however long it is. What the functions leave for
 * later (csk_gate_call_later in gate.h) runs once the list is empty and the thread is as free as if it had never been
 * here. It may block, and it may come back here. */
#ifndef CSK_INTERNAL_TRAMPOLINE_H
#define CSK_INTERNAL_TRAMPOLINE_H

#include "csynckernel/lanes.h"

/* Appends a chain linked by `next_ready`, and a lane, to the thread's lists. Either may be NULL. Runs the lists unless
 * they are running or held back. */
void csk_trampoline_run(csk_waiter_t *first, csk_gate_lane_t *lane);

/* Between these two the thread's lists only grow. They run at the end. */
void csk_trampoline_hold(void);
void csk_trampoline_release(void);
/* For a thread that a function has ended: calls those that were held back. */
void csk_trampoline_end_hold(void);

/* Between these two the thread stands in a queue, and others may wait for it. So nothing is left for later here. */
void csk_trampoline_begin_wait(void);
void csk_trampoline_end_wait(void);

#endif
