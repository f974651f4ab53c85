/* gate_await.h: the conditions of a gate: waits until a predicate is true. See await.h for what it promises.
 *
 * A condition is what one waits with: a waiter, a predicate, and a place in the gate's list of conditions, which is in
 * order. It is in one of these states, which are changed under the queue lock:
 *
 *   waiting   in the list; its waiter is in no queue. Its predicate was false when the last holder left the gate, or a
 *             chosen one stands before it.
 *   chosen    in the list, and its waiter in the gate's queue, or granted the gate: it is on its way. By a leaver, to
 *             whom its predicate was true; or by its own thread, whose deadline has passed.
 *   over      in no list. A thread takes out its own, holding the gate; one that has a function is taken out by the
 *             leaver to whom its predicate was true, or by csk_gate_unwatch.
 *
 * Why no waiter whose predicate is true is left asleep
 *
 * 1. Only a holder of the gate changes what predicates read, and only a holder puts a condition into the list. So later
 *    holders find LOOKS in `summary`, by the order of the gate itself. No fence is needed for it.
 * 2. Each holder, before it leaves a gate with LOOKS, walks the list in order, up to the first condition that is
 *    chosen, or whose predicate is true: that one is chosen now. Conditions before that place were false just then, and
 *    stay so until another thread holds the gate.
 * 3. So when the gate becomes free, whatever was not asked stands behind a chosen one. The chosen one is a waiter of
 *    the gate like any other, and does not give up: a chosen thread waits for the gate without a deadline. It comes to
 *    hold the gate, and when it leaves, all of this is true of it.
 * 4. A function that is called has its waiter queued in place of a chosen one. That waiter comes too, unless its lane
 *    is stalled, whose task may wait for a thread behind it: see nobody_comes. The walk begins anew then.
 *
 * 5. That waiter has the condition's ticket. So one of the same rank that was chosen earlier, but arrived later, does
 *    not enter before it, nor before those between them, which are asked when it leaves.
 *
 * 6. A condition whose rank is raised may move up past the one that is being asked (2), without having been asked
 *    itself. So the holder that evaluates is notified, and begins anew unless it has found one. Where it moves up past
 *    a chosen one (3), that one comes to hold the gate, and asks all when it leaves.
 *
 * Which waits come again
 *
 * A place in the list costs a choice by a leaver, two passes through the queue lock and mostly a wake, and while it is
 * not empty no thread leaves by the inline path. So a thread in csk_gate_lock_when that finds its predicate false does
 * not stand there at once. It takes its ticket, leaves the gate, yields, and comes again, as often as it would yield
 * before it parks (wait/yield.h). Then it stands in the list, with that ticket, and parks.
 *
 * Meanwhile it is in no list and no queue: it is not chosen or designated, so no leaver skips a call because of it. It
 * does not sleep either. A yield ends by itself, and then it comes like any newcomer and evaluates its own predicate.
 * When it stands in the list at last, it holds the gate and has just found its predicate false, as in 1. So the
 * argument holds as it is.
 *
 * What it gives up is its place for as long: newcomers, and others in the list, may get what it waits for, whatever
 * their rank. So a thread of a priority above 0 does not come again, nor does any at a STRICT gate; nor one with a
 * deadline, since a yield may take a time slice; nor csk_gate_await, whose thread has been in a section. The ticket
 * keeps its arrival: those that arrived later stand behind it in the list.
 *
 * A predicate runs without the queue lock. Meanwhile the holder's own condition can't be in the list but as one that
 * was just put there; no other can leave the list, since its thread needs the gate for that. A deadline may choose it.
 *
 * The list stands at the gate in the place of the arrivals (`oldest`), and has their head while it is there. It is a
 * part of one of its conditions, and moves into another one when that one leaves. */
#ifndef CSK_INTERNAL_GATE_AWAIT_H
#define CSK_INTERNAL_GATE_AWAIT_H

#include "csynckernel/await.h"
#include "lock/gate_order.h"

/* Called by the holder before it leaves a gate that has conditions. */
void csk_gate_choose_next(csk_gate_t *gate);
static inline void csk_gate_look_at_conditions(csk_gate_t *gate) {
    if (csk_gate_has_conditions(gate)) csk_gate_choose_next(gate);
}

/* The place of the condition whose function runs on this thread. */
typedef struct {
    const csk_gate_t *gate; /* NULL once a waiter has taken the place */
    csk_rank_t rank;
    int64_t ticket;
} csk_gate_place_t;
extern _Thread_local csk_gate_place_t *csk_gate_place __attribute__((tls_model("initial-exec"), visibility("hidden")));
/* Called under the queue lock. The ticket of an asynchronous waiter. The first that a condition's function queues at
 * the condition's rank has that of the condition. */
static inline int64_t csk_gate_ticket(csk_gate_t *gate, csk_rank_t rank) {
    int64_t ticket = csk_waiter_ticket(&gate->next_ticket, rank);
    csk_gate_place_t *place = csk_gate_place;
    if (CSK_LIKELY(place == NULL) || place->gate != gate || place->rank != rank) return ticket;
    place->gate = NULL;
    return place->ticket;
}

/* For a thread's condition and for one with a function. The first is called under the queue lock by the holder, once
 * the waiter's rank and ticket are set, and puts it into the list. The second sends its waiter into the gate's queue,
 * with the ticket of its arrival; called under the queue lock. The other two are called by the holder: one whose
 * predicate was false although it was chosen waits on, and one that has what it waited for, or gives up, ends. */
void csk_gate_condition_begin(csk_gate_t *gate, csk_gate_condition_t *self, csk_gate_predicate_t predicate,
                              void *context, csk_gate_condition_function_t function);
void csk_gate_condition_choose(csk_gate_t *gate, csk_gate_condition_t *chosen);
void csk_gate_condition_wait_on(csk_gate_t *gate, csk_gate_condition_t *self);
void csk_gate_condition_end(csk_gate_t *gate, csk_gate_condition_t *self);

#endif
