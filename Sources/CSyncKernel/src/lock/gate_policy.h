/* gate_policy.h: which waiter goes next, which newcomers may pass, and which waiter a leaver calls. It reads, and
 * changes nothing.
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
 * csk_gate_may_pass decides that under the queue lock, and take_without_queue in gate.c by `summary` alone. */
#ifndef CSK_INTERNAL_GATE_POLICY_H
#define CSK_INTERNAL_GATE_POLICY_H

#include "lock/gate_order.h"

/* These are called under the queue lock. The waiter that goes next; NULL where none can. */
csk_waiter_t *csk_gate_next(const csk_gate_t *gate);
/* Whether a newcomer may have the gate now, if it is free. */
bool csk_gate_may_pass(const csk_gate_t *gate, const csk_heap_node_t *newcomer);
/* Whether a waiter that was overtaken once more asks for a hand-over. */
bool csk_gate_has_lost_patience(const csk_waiter_t *waiter);

/* WAITERS, DESIGNATED and HAND_OVER as they are to be published. Called under the queue lock; `next` is
 * csk_gate_next. */
static inline uint64_t csk_gate_flags(const csk_gate_t *gate, const csk_waiter_t *next) {
    if (next == NULL) return csk_gate_is_ordered(gate) ? GATE_WAITERS | GATE_DESIGNATED : 0;
    bool hand_over = gate->policy == CSK_GATE_STRICT || gate->hand_over || next->function != NULL ||
                     csk_gate_overdue(gate) != NULL;
    return GATE_WAITERS | (csk_load(&next->word, CSK_RELAXED) == WORD_TRY ? GATE_DESIGNATED : 0) |
           (hand_over ? GATE_HAND_OVER : 0);
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
