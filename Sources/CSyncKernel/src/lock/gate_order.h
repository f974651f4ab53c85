/* gate_order.h: which waiter goes next, which one a leaver calls, and which newcomers may pass; and how often each
 * waiter was overtaken. Called under the queue lock; changes no word, notifies no waiter.
 *
 * Which waiter to call. A gate that becomes free with waiters needs one that comes for it. A thread is designated: it
 * is woken to try, and others may take the gate before it comes. A waiter that can't try, or must not be overtaken
 * again, is granted the gate: it becomes the holder without a moment at which the gate is free.
 *
 *   WAITERS  HAND_OVER  DESIGNATED    csk_gate_call_for     since
 *      no        -          -         GATE_CALLS_NOBODY     there are no waiters
 *      yes       no         yes       GATE_CALLS_NOBODY     the next waiter was designated
 *      yes       no         no        GATE_DESIGNATES       the next waiter is a thread that sleeps
 *      yes       yes        -         GATE_GRANTS           the next waiter is a callback; or STRICT, or the bypass
 *                                                           limit, or a waiter that was overtaken for long says so
 *
 * DESIGNATED is what ends a leaver's work. A leaver in one word designates, reads DESIGNATED in `held`, and only then
 * frees the word. Without the flag it would designate the same waiter again and again. In two words each leaver would
 * take the queue lock, to call a waiter that was called before.
 *
 * This table is the only place where that is decided. csk_gate_flags makes the flags of what the queue lock protects.
 * Under that lock csk_gate_call asks for them, and csk_gate_settle uses those that it has just published; without it a
 * leaver reads them in the words, as they were published:
 *
 *   csk_gate_settle          a thread that has changed the queue, for a gate that is free
 *   csk_gate_post            a leaver of the two-word form that has freed the gate
 *   leave_two_words          such a leaver before it frees
 *   leave_one_word           a leaver of the one-word form, by the flags in `held`
 *   prepare_to_leave         the same, where it must call a waiter
 *
 * leave_by_grant, grace_ended, csk_gate_unlock_lane and pass_grant (gate_turn.c) grant without asking: what they have
 * is theirs to give. Nor does a designated waiter ask that has taken the gate (try_to_enter). A leaver of the one-word
 * form whose designated waiters have given up twice grants where the table says that it designates (prepare_to_leave).
 *
 * Which newcomers may pass. A newcomer takes a free gate if its rank is at least the highest that waits.
 * csk_gate_may_pass decides that under the queue lock, and take_without_queue in gate.c by `summary` alone.
 *
 * The order. The gate's heap (`waiters`) holds those that can be granted, by rank and then by ticket. The list of
 * arrivals (`oldest`, `older`, `newer`) holds all waiters that are accepted and have not begun. A waiter that belongs
 * to no lane leaves both when it is granted. A lane keeps its waiters in a heap of its own, and all but one of them out
 * of the gate's: see gate_lane.h.
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
/* Whether there are some; the holder may ask without the queue lock. */
static inline bool csk_gate_has_conditions(const csk_gate_t *gate) {
    return CSK_UNLIKELY((csk_load(&gate->looks, CSK_RELAXED) & LOOKS_CONDITIONS) != 0);
}
static inline csk_gate_conditions_t *csk_gate_conditions(const csk_gate_t *gate) {
    return csk_gate_has_conditions(gate) ? gate->conditions : NULL;
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

/* ---- Who is next, and who is called ------------------------------------------------------------------------------ */

/* These are called under the queue lock. The waiter that goes next; NULL where none can. */
csk_waiter_t *csk_gate_next(const csk_gate_t *gate);
/* Whether a newcomer may have the gate now, if it is free. */
bool csk_gate_may_pass(const csk_gate_t *gate, const csk_heap_node_t *newcomer);
/* Whether a waiter that was overtaken once more asks for a hand-over. */
bool csk_gate_has_lost_patience(const csk_waiter_t *waiter);

/* WAITERS, DESIGNATED and HAND_OVER as they are to be published. Called under the queue lock; `next` is
 * csk_gate_next. */
static inline uint64_t csk_gate_flags(const csk_gate_t *gate, const csk_waiter_t *next) {
    if (next == NULL) return csk_gate_is_ordered(gate) ? GATE_HAND_OVER : 0;
    bool hand_over = gate->policy == CSK_GATE_STRICT || gate->hand_over || next->function != NULL ||
                     csk_gate_overdue(gate) != NULL;
    return GATE_WAITERS | (csk_waiter_is_told(next) ? GATE_DESIGNATED : 0) | (hand_over ? GATE_HAND_OVER : 0);
}

enum csk_gate_call { GATE_CALLS_NOBODY, GATE_DESIGNATES, GATE_GRANTS };

/* There are waiters, and one is on its way already. The word has its flags `shift` bits lower than `summary`. */
static inline bool csk_gate_somebody_comes(uint64_t word, int shift) {
    const uint64_t coming = (GATE_WAITERS | GATE_DESIGNATED) >> shift;
    return (word & (coming | GATE_HAND_OVER >> shift)) == coming;
}
static inline enum csk_gate_call csk_gate_call_for(uint64_t word, int shift) {
    if (!(word & GATE_WAITERS >> shift) || csk_gate_somebody_comes(word, shift)) return GATE_CALLS_NOBODY;
    return word & GATE_HAND_OVER >> shift ? GATE_GRANTS : GATE_DESIGNATES;
}

#endif
