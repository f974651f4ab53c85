/* gate_lane.h: lanes, and what gate_lane.c does for the rest of the gate.
 *
 * Lanes: why commands of one queue keep their order
 *
 * A lane holds the waiters that are performed on one queue or executor. A waiter begins when its work starts and takes
 * the gate over: by csk_gate_begin on a queue, by csk_gate_adopt in a task of an executor. Until then its grant is
 * provisional. The grace is the time after which a provisional grant may be taken back if others wait.
 *
 *   state      of its waiters, in the gate's heap        left by
 *   open       the first (`front`), if there is any      the grant to its front, or to the one that the bypass limit
 *                                                        makes next
 *   granted    none; `front` has the provisional grant   begin or adopt: then open; the end of the grace: then stalled
 *   stalled    a queue's: none                           begin on the queue
 *              an executor's: the first, if it comes     relock or forget by the task that lost its grant
 *              before all in `lost`
 *
 * A begin takes the first of the lane at that moment, under the queue lock. The gate's heap contains at most one waiter
 * of a lane, and that one is the lane's first. So as long as the lane is open, the gate's order is what it would be if
 * all waiters stood in the gate's heap. While the lane is granted, or a queue's lane is stalled, nothing of it is
 * granted but by that queue (begin) or by the task that has the grant (relock). An executor's lane is stalled while a
 * task that lost its grant has not come: only a waiter that comes before all of these may be granted, and it is the
 * lane's first. So in every state, what begins is the lane's first.
 *
 * At most one block of a lane is on its queue. A queue's function is called once for each grant, and no further grant
 * is made until the begin that it owes.
 *
 * An executor's task can't begin in place of another. It gives the grant up only to one that comes before it (adopt,
 * relock). A task that lost the grant stands in `lost`, and only what comes before it may be granted meanwhile. So a
 * task of high priority need not wait until one of low priority is given a thread.
 *
 * Lanes: a task that runs goes before one that has yet to be started
 *
 * A task that was granted the gate must be scheduled first, which takes longer than most sections. A task that runs
 * takes the gate meanwhile, by csk_gate_trylock_keyed, and returns the other's grant to the queue. The task whose grant
 * was taken keeps its place, and its function is not called again: it is on its way. `stays` says that of a waiter of
 * an executor's lane.
 *
 *   state and `stays`   function     left by
 *   QUEUED   no         not called   the grant: GRANTED no; deadline or cancellation: ended
 *   GRANTED  no         called       adopt: begun; the end of the grace: LOST no; a taking: QUEUED yes; relock, forget
 *   QUEUED   yes        called       the grant, which calls nothing: GRANTED yes; relock: QUEUED no; forget: ended
 *   GRANTED  yes        called       adopt: begun; the end of the grace: LOST yes; a taking: QUEUED yes; relock, forget
 *   LOST     either     called       relock: QUEUED no; forget: ended
 *
 * While a task is on its way it has no deadline, and can't be cancelled or raised, as one that has a grant: the task
 * finds out when it comes. It adopts a grant that it has been given anew; else it waits again.
 *
 * How often. `passed` counts the takings, until the waiter is queued for another wait. After GATE_PASSES only a higher
 * rank takes the grant, which would go before the task in the queue as well. So when its turn has come, a task lets so
 * many sections pass that came later at its rank, each of them after a brief one, and the n-th in order lets n times as
 * many pass while it waits. Each counts as a pass under a bypass limit, and none passes the waiter that a limit makes
 * next. Nor does one pass a task that goes after a predicate, which might be false by then; or that was granted the
 * gate at once, since it runs. And none passes where a grant was lost: the task that lost it keeps its place among
 * those that come later. Tasks of a serial executor pass none of their own.
 *
 * Who takes a grant holds the gate, and publishes. It owes no second look.
 *
 * Lanes: passes
 *
 * A waiter of a lane stays in the list of arrivals until it begins. So the count of passes is exact although grants are
 * taken back. The limit's choice (`forced`) begins before others of its lane, whatever their rank: the limit is part of
 * the order that its user asked for. Between a grant and its begin no waiter is overtaken. Where a limit is reached,
 * only forced grants are made. So one that begins in place of a granted one overtakes no waiter beyond the limit.
 * Waiters of a lane that is not open can't be next. They go on counting the passes.
 *
 * Lanes: sets
 *
 * A set finds the lane of a queue or executor by its key, under the queue lock, and never forgets a lane. One that is
 * idle, with neither waiters nor a grant nor a stall, may become that of another key: each user of a lane has a waiter
 * in it, or the grant, or owes the begin of a queue. So a list has as many lanes as were ever in use at once in it. A
 * thread that performs a lane's last waiter has none of these. It may find the lane another's when it leaves, which it
 * sees by the key, and then does not go on with it. A queue's key may be an address. A queue that is gone has left
 * neither waiter nor block, so another one at its address finds the lane idle.
 *
 * Lanes: memory
 *
 * A queue's waiter can time out while a function of its lane is due on another thread. So the lane's function says that
 * it has taken hold of the lane (`due`). Until then no grant is taken back, and the granted waiter holds the lane.
 *
 * `due` is 1 from the grant, 2 once a grace has ended before the function took hold, and 0 once it has. All but the
 * function write it under the queue lock. The function's 0 is a release, and taking the grant back acquires it. So a
 * thread that learns of the loss, and drops the last hold of the lane but the function's, knows of that one. Nothing
 * else comes by this word. 1 and 2 are relaxed: the function that finds 2 takes the queue lock, which the writer of the
 * 2 had, and so it comes after.
 *
 * The clocks of a waiter may run on when its grant is over. Giving the waiter back to its owner stops both, and
 * grace_ended checks whether its clock is that of the pending grant. */
#ifndef CSK_INTERNAL_GATE_LANE_H
#define CSK_INTERNAL_GATE_LANE_H

#include "lock/gate_words.h"
#include "thread/fork.h"
#include "wait/waiter.h"

static inline csk_gate_lane_t *csk_gate_lane_of(const csk_waiter_t *waiter) {
    return waiter->function != NULL ? waiter->lane : NULL;
}

static inline bool csk_gate_comes_before(const csk_waiter_t *a, const csk_waiter_t *b) {
    return a != NULL && csk_heap_before(&a->node, &b->node);
}
/* The first of those that wait, but for the lane's front. */
static inline csk_waiter_t *csk_gate_lane_first(const csk_gate_lane_t *lane) {
    return csk_waiter_of_node(csk_heap_top(&lane->waiters));
}

/* How many sections of its rank may pass a task whose turn has come: see above. */
#ifndef GATE_PASSES /* the explorer has fewer */
enum { GATE_PASSES = 4 };
#endif
/* Called under the queue lock. Whether the function of a task's waiter was called for a grant that was taken since: see
 * above. */
static inline bool csk_gate_is_on_its_way(const csk_waiter_t *waiter) {
    return csk_gate_lane_of(waiter) != NULL && waiter->stays;
}

/* The grace of a provisional grant: for how long it stays once there is another waiter. A grant without other waiters
 * reads no clock. The call that queues a waiter whose grant is to be adopted sets the function of its clock
 * (`grace.function`, gate_async.c), which takes the grant back, and so leaves the gate. So the queue starts the clock
 * and knows nothing of leaving. */
/* These two are called under the queue lock. Starts the clock of the grant that is pending. */
void csk_gate_start_grace(csk_gate_t *gate);
/* Puts a waiter into the gate's heap, where it may be granted. */
static inline void csk_gate_show(csk_gate_t *gate, csk_waiter_t *waiter) {
    csk_heap_insert(&gate->waiters, &waiter->node);
    if (csk_gate_pending(gate) != NULL) csk_gate_start_grace(gate);
}

/* In gate_lane.c; called under the queue lock. */
/* Puts the lane's first waiter into the gate's heap, if it may be granted now. */
void csk_gate_lane_show(csk_gate_t *gate, csk_gate_lane_t *lane);
/* Whether a newcomer of the lane may be granted the gate, if the gate is free and the gate's own order allows it. */
bool csk_gate_lane_is_open(const csk_gate_lane_t *lane, const csk_waiter_t *newcomer);
/* A lane of the parent has neither waiters nor a grant in the child. For callers that don't have one of this process's
 * waiters at hand. */
void csk_gate_lane_begin_in_child(csk_gate_lane_t *lane);
static inline void csk_gate_lane_know_process(csk_gate_lane_t *lane) {
    if (CSK_UNLIKELY(lane->mark != csk_process_mark())) csk_gate_lane_begin_in_child(lane);
}
/* The lane of `key`: see csk_gate_lock_keyed. NULL where *spare is needed, which is NULL. */
csk_gate_lane_t *csk_gate_lane_find(csk_gate_lanes_t *lanes, uint64_t key, bool is_queue, csk_gate_lane_t **spare);
/* These queue a waiter in its lane; take a queued one out, for good or because it was granted; and give the lane's
 * grant to one that stands in no heap. */
void csk_gate_lane_put(csk_gate_t *gate, csk_waiter_t *waiter);
void csk_gate_lane_take(csk_gate_t *gate, csk_waiter_t *waiter, bool granted);
void csk_gate_lane_grant(csk_gate_t *gate, csk_waiter_t *waiter);
/* Gives a queued waiter a higher rank, in its lane, and in the gate's order where it is the lane's first then. */
void csk_gate_lane_raise(csk_gate_t *gate, csk_waiter_t *waiter, csk_rank_t rank);
/* Whether none of the executor of `key` waits or has a grant. */
bool csk_gate_lane_is_idle_of(csk_gate_lanes_t *lanes, uint64_t key);
/* Whether an executor's waiter has a grant that belongs to another one, which arrived later and comes before it. */
bool csk_gate_lane_has_better(const csk_gate_lane_t *lane);

/* In gate_turn.c. The first is called under the queue lock. It takes the pending grant back, which is still named as
 * pending, and returns true when the waiter, which was granted at once, waits from now on. */
bool csk_gate_lane_lose(csk_gate_t *gate, csk_waiter_t *waiter);
/* Called under the queue lock by the thread that has taken the gate from the waiter whose grant is pending: see
 * above. */
void csk_gate_lane_pass(csk_gate_t *gate, csk_waiter_t *pending);
/* The others are called without the queue lock: csk_gate_adopt, csk_gate_relock_async and csk_gate_forget for waiters
 * of executors' lanes. */
int csk_gate_lane_adopt(csk_gate_t *gate, csk_waiter_t *waiter);
int csk_gate_lane_relock(csk_gate_t *gate, csk_waiter_t *waiter);
int csk_gate_lane_forget(csk_gate_t *gate, csk_waiter_t *waiter);

#endif
