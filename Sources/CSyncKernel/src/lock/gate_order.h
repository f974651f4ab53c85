/* gate_order.h: the order of the gate's waiters, and how often each was overtaken. Called under the queue lock; touches
 * no word, notifies no waiter.
 *
 * The gate's heap (`waiters`) holds those that can be granted, by rank and then by ticket. The list of arrivals
 * (`oldest`, `older`, `newer`) holds all waiters that are accepted and have not begun. A waiter that belongs to no lane
 * leaves both when it is granted. A lane keeps its waiters in a heap of its own, and all but one of them out of the
 * gate's: see gate_lane.h.
 *
 * Only the oldest waiter's count of passes is kept, as a sum in `oldest_bypassed`. Yet the count of each waiter is
 * exact. `bypassed` of a waiter is the difference between its count and that of the next newer one. So a grant to X
 * adds one pass for all waiters that are older than X by adding to X's older neighbour alone.
 *
 * Without a limit of the gate's own only waiters of unnamed rank are under one. The others go from the front of the
 * list to its end, some at each step, and say from then on that they are BEHIND: no waiter under a limit is older, so a
 * grant to such a one is no pass. So the oldest is under the limit, but for a moment after a long row of others. */
#ifndef CSK_INTERNAL_GATE_ORDER_H
#define CSK_INTERNAL_GATE_ORDER_H

#include "csynckernel/await.h"
#include "lock/gate_words.h"
#include "wait/waiter.h"

/* The first of the gate's heap; NULL when it is empty. */
static inline csk_waiter_t *csk_gate_top(const csk_gate_t *gate) {
    return csk_waiter_of_node(csk_heap_top(&gate->waiters));
}
/* The waiter that the bypass limit makes next; NULL where none has been passed too often. */
csk_waiter_t *csk_gate_find_overdue(const csk_gate_t *gate);
/* Whether the gate has a limit of its own, for all that wait. */
static inline bool csk_gate_has_limit(const csk_gate_t *gate) {
    return gate->bypass_limit != 0 && gate->bypass_limit != CSK_BYPASS_NEVER;
}
static inline csk_waiter_t *csk_gate_overdue(const csk_gate_t *gate) {
    bool may_be = gate->bounded != 0 && CSK_UNLIKELY(gate->oldest_bypassed >= csk_arrivals_limit(gate->bypass_limit));
    return may_be ? csk_gate_find_overdue(gate) : NULL;
}
/* The conditions of a gate (gate_await.h). NULL without waits for predicates. */
typedef struct csk_gate_conditions csk_gate_conditions_t;
static inline csk_gate_conditions_t *csk_gate_conditions(const csk_gate_t *gate) {
    return CSK_UNLIKELY(gate->looks & LOOKS_CONDITIONS) ? gate->conditions : NULL;
}
/* Whether there are some, for the holder, without the queue lock. */
static inline bool csk_gate_has_conditions(const csk_gate_t *gate) {
    return CSK_UNLIKELY((csk_load(&gate->looks, CSK_RELAXED) & LOOKS_CONDITIONS) != 0);
}
static inline csk_waiter_t *csk_gate_oldest(const csk_gate_t *gate) {
    const csk_gate_conditions_t *conditions = csk_gate_conditions(gate);
    return conditions != NULL ? conditions->oldest : gate->oldest;
}
static inline void csk_gate_set_oldest(csk_gate_t *gate, csk_waiter_t *oldest) {
    csk_gate_conditions_t *conditions = csk_gate_conditions(gate);
    if (conditions != NULL) conditions->oldest = oldest;
    else gate->oldest = oldest;
}
/* Puts the list into another place, or takes it away (NULL). */
static inline void csk_gate_set_conditions(csk_gate_t *gate, csk_gate_conditions_t *conditions) {
    csk_waiter_t *oldest = csk_gate_oldest(gate);
    uint8_t looks = csk_load(&gate->looks, CSK_RELAXED) & LOOKS_ORDERED;
    if (conditions != NULL) {
        looks |= LOOKS_CONDITIONS;
        conditions->oldest = oldest;
        gate->conditions = conditions;
    } else gate->oldest = oldest;
    csk_store(&gate->looks, looks, CSK_RELAXED);
}

/* How many wait for a predicate, and are not on their way. */
uint32_t csk_gate_conditions_waiting(const csk_gate_t *gate);

/* Whether a thread was designated, was late, and has not come back: see gate_aside.h. It is not in the heap. */
static inline bool csk_gate_is_passed_over(const csk_waiter_t *waiter) {
    return waiter->function == NULL && csk_waiter_state(waiter) == WAITER_LOST;
}

/* These add a waiter to the arrivals and take it out: `granted` says that it goes before all that are older. */
void csk_gate_link(csk_gate_t *gate, csk_waiter_t *waiter);
void csk_gate_unlink(csk_gate_t *gate, csk_waiter_t *waiter, bool granted);
/* A newcomer that did not stand in the queue has entered, past all of it. */
void csk_gate_count_pass(csk_gate_t *gate);

#endif
