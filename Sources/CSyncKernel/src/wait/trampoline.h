/* trampoline.h: runs the functions of asynchronous waiters and lanes on the thread that granted them, one after the other, so that a
 * chain of grant, function, unlock, grant needs no stack however long it is. What the functions leave for later (csk_gate_call_later in
 * gate.h) runs once the list is empty and the thread as free as if it had never been here: it may block, and come back. */
#ifndef CSK_INTERNAL_TRAMPOLINE_H
#define CSK_INTERNAL_TRAMPOLINE_H

#include "csynckernel/gate.h"

/* Appends a chain linked by `next_ready`, and a lane, either of which may be NULL, to the thread's lists, and runs these unless they
 * are running or held back. */
void csk_trampoline_run(csk_gate_waiter_t *first, csk_gate_lane_t *lane);

/* Between these two the thread's lists only grow; they run at the end. */
void csk_trampoline_hold(void);
void csk_trampoline_release(void);

/* Between these two the thread stands in a queue and others may wait for it: nothing is left for later here. */
void csk_trampoline_begin_wait(void);
void csk_trampoline_end_wait(void);

#endif
