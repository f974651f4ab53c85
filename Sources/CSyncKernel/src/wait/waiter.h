/* waiter.h: what a waiter's words say, at the gate and at the read-write lock. A waiter's memory is owned by its thread
 * or its user, so its type is declared in gate.h. The arguments of these two locks (gate_queue.h, rwlock_queue.h) say
 * who may change which field, and when. */
#ifndef CSK_INTERNAL_WAITER_H
#define CSK_INTERNAL_WAITER_H

#include "csynckernel/gate.h"
#include "wait/queue_lock.h"

enum { WORD_WAITING = 0, WORD_PARKED = 1, WORD_TRY = 2, WORD_GRANTED = 3 };          /* csk_gate_waiter_t.word */
/* csk_gate_waiter_t.state, with the mark of the process in which that is true. In a child of fork no waiter of the
 * parent's waits or has a grant. */
enum { WAITER_IDLE = 0, WAITER_QUEUED = 1, WAITER_GRANTED = 2, WAITER_LOST = 3 };

/* These are called under the queue lock. */
static inline uint32_t csk_waiter_state(const csk_gate_waiter_t *waiter) {
    uint32_t state = waiter->state ^ csk_process_mark();
    return CSK_LIKELY(state <= WAITER_LOST) ? state : WAITER_IDLE;
}
static inline void csk_waiter_set(csk_gate_waiter_t *waiter, uint32_t state) { waiter->state = csk_process_mark() | state; }
/* Whether some thread of this process is yet to call the waiter's function. */
static inline bool csk_waiter_is_due(const csk_gate_waiter_t *waiter) {
    return csk_load(&waiter->due, CSK_RELAXED) && !csk_queue_lock_is_old(waiter->state);
}

static inline csk_gate_waiter_t *csk_waiter_of_node(csk_heap_node_t *node) { return (csk_gate_waiter_t *)node; }
static inline csk_gate_waiter_t *csk_waiter_of_deadline(csk_timer_t *timer) {
    return (csk_gate_waiter_t *)((char *)timer - offsetof(csk_gate_waiter_t, deadline));
}

#endif
