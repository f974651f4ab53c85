/* gate_grace.h: the grace of a provisional grant: for how long it stays once there is another waiter. A grant without
 * other waiters reads no clock.
 *
 * The call that queues a waiter whose grant is to be adopted sets the function of its clock (`grace.function`,
 * gate_async.c), which takes the grant back, and so leaves the gate. So the queue starts the clock and knows nothing of
 * leaving. */
#ifndef CSK_INTERNAL_GATE_GRACE_H
#define CSK_INTERNAL_GATE_GRACE_H

#include "lock/gate_words.h"
#include "wait/waiter.h"

/* These two are called under the queue lock. Starts the clock of the grant that is pending. */
void csk_gate_start_grace(csk_gate_t *gate);
/* Puts a waiter into the gate's heap, where it may be granted. */
static inline void csk_gate_show(csk_gate_t *gate, csk_waiter_t *waiter) {
    csk_heap_insert(&gate->waiters, &waiter->node);
    if (csk_gate_pending(gate) != NULL) csk_gate_start_grace(gate);
}

#endif
