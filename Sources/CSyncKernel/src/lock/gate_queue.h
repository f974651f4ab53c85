/* gate_queue.h: the gate's queue, and what may be done to it under its lock. Every change of the queue ends with
 * csk_gate_settle, which publishes it and ensures that a waiter comes for a free gate; or with csk_gate_publish alone,
 * where the caller has the gate or gives it to another holder (gate_words.h says why).
 *
 *   gate_words.h        the two words: what may change each bit, and why no waiter is left asleep; both forms
 *   gate_order.h        which waiter goes next, which one a leaver calls, and how often each was overtaken
 *   gate_lane.h         lanes: the waiters that are performed on one queue or executor; the clock of provisional grants
 *   gate_queue.c        the queue under its lock: inserting, taking out, designating, granting, settling
 *   gate_aside.h        which threads step aside for a waiter that is late
 *   gate_conditions.c   predicates: their list, and the leaver that evaluates them (gate_await.h)
 *   gate_leave.c        leaving, in both forms, the second look that it relies on, and how a waiter leaves the queue
 *   gate_watch.c        how a waiter finds out that the holder has ended, or that the one before it is late
 *   gate.c              threads: entering and waiting
 *   gate_turn.c         the waiters of lanes: they begin, lose their grants, and come again
 *   gate_pass.c         tasks that run, and enter before one that has yet to be started
 *   gate_async.c        callbacks: provisional grants, closing
 *   gate_await.c        threads that wait for a predicate
 *
 * In this order: each uses those above it alone. Settling the queue grants the gate to a callback or a lane, and starts
 * a clock, whose end takes the grant back, publishes the queue and may leave the gate. So the waiter brings the
 * function of that clock along (gate_lane.h).
 *
 * After a fork
 *
 * In the child the words may speak of waiters that only the parent has. A thread that trusts them there, and would wait
 * or call a waiter, takes the queue lock sooner or later. It finds that the lock is the parent's, and forgets the queue
 * unread: the queue may be half changed. The holder of the gate goes on holding it, even where that thread does not
 * exist in the child, since what the gate protects may be half changed too. But a grant that is not adopted is the
 * parent's alone. Until the queue is forgotten the flags can do no harm: each waiter in the child has come through that
 * lock, and a flag that keeps newcomers out sends them to it. */
#ifndef CSK_INTERNAL_GATE_QUEUE_H
#define CSK_INTERNAL_GATE_QUEUE_H

#include "lock/gate_lane.h"
#include "lock/gate_order.h"
#include "wait/watch.h"

/* How long a designated waiter is on its way before it is marked (gate_aside.h). Less would make waits shorter, and
 * leave less time for work: docs/measurements.md has what was measured. */
#define GATE_LATE_NS INT64_C(500000)
/* And before it is passed over. On a machine that has more to do than processors a thread waits for some milliseconds
 * all the time: the order of waiters is strict there too. */
#ifndef GATE_PASSED_OVER_NS /* the explorer has less */
#define GATE_PASSED_OVER_NS INT64_C(100000000)
#endif
/* How long a thread is parked before it looks for one that is late. */
#define GATE_FIRST_LOOK_NS (GATE_PASSED_OVER_NS + GATE_PASSED_OVER_NS / 4)

/* Called under the queue lock, which was the parent's: see above. */
void csk_gate_begin_in_child(csk_gate_t *gate);
static inline void csk_gate_lock_queue(csk_gate_t *gate) {
    if (CSK_UNLIKELY(csk_queue_lock(&gate->queue_lock))) csk_gate_begin_in_child(gate);
}

/* For callers that would trust the holder without the queue lock: a grant that is not adopted may be the parent's.
 * Returns true when such a grant has ended now, so that the gate is free. */
static inline bool csk_gate_know_process(csk_gate_t *gate) {
    if (CSK_LIKELY(!csk_queue_lock_is_old(csk_load(&gate->queue_lock, CSK_RELAXED)))) return false;
    csk_gate_lock_queue(gate);
    csk_queue_unlock(&gate->queue_lock);
    return csk_gate_holder(gate) == 0;
}

/* These two take the queue lock themselves. If the gate's form is still undecided, the first makes it `form` for good,
 * and the gate ordered where the checker of lock order has been started. The second finds out which form that is. */
void csk_gate_set_form(csk_gate_t *gate, uint64_t form);
void csk_gate_decide_form(csk_gate_t *gate);
static inline void csk_gate_prepare(csk_gate_t *gate) {
    /* Relaxed: whoever acts on what was decided with the form holds the gate or the queue lock, or loads it again. */
    if (CSK_UNLIKELY(csk_load(&gate->summary, CSK_RELAXED) == 0)) csk_gate_decide_form(gate);
}

/* In mutex.c. Decides the form of a mutex, which may be held. Takes the queue lock itself. */
void csk_mutex_prepare(csk_gate_t *gate);

/* All of these are called under the queue lock. */
void csk_gate_insert(csk_gate_t *gate, csk_waiter_t *waiter);
/* Takes a waiter out of the queue, for good or because it was granted. */
void csk_gate_take_out(csk_gate_t *gate, csk_waiter_t *waiter, bool granted);
/* What is to be done for the next waiter, by the table in gate_order.h; and does it. The caller of the second has the
 * gate, or has taken it by csk_gate_take_for, if `call` is GATE_GRANTS. */
enum csk_gate_call csk_gate_call(const csk_gate_t *gate, csk_waiter_t **next);
void csk_gate_answer(csk_gate_t *gate, enum csk_gate_call call, csk_waiter_t *next, csk_effects_t *effects);
bool csk_gate_take_for(csk_gate_t *gate, csk_waiter_t *waiter);
void csk_gate_grant_to(csk_gate_t *gate, csk_waiter_t *next, csk_effects_t *effects);
void csk_gate_mark_granted(csk_gate_t *gate, csk_waiter_t *waiter, csk_effects_t *effects);
void csk_gate_end_pending(csk_gate_t *gate, const csk_waiter_t *waiter);
/* Publishes the queue. It is enough where the caller has the gate, or has given it to another holder. */
void csk_gate_publish(csk_gate_t *gate);
/* Publishes the queue. If the gate is free and has waiters, it ensures that a waiter comes for the gate. Each
 * other change of the queue ends with this. Returns true if, in two words, the summary has just begun to say that there
 * are waiters. Then the caller must look again (csk_gate_look_again) once the queue lock is dropped, since leavers have
 * no fence; unless it has the gate. */
bool csk_gate_settle(csk_gate_t *gate, csk_effects_t *effects);

/* Called under the queue lock: see gate_aside.h. The first passes the next in order over, if it was designated so long
 * before `now_ns` that it is late, and others wait; the caller then publishes or settles. The second puts such a waiter
 * back into its place, and returns whether it was passed over. */
bool csk_gate_pass_over(csk_gate_t *gate, int64_t now_ns);
bool csk_gate_come_back(csk_gate_t *gate, csk_waiter_t *waiter);

/* In gate_leave.c. The gate's queue, for waiter.h. */
extern const csk_queue_kind_t csk_gate_queue_kind __attribute__((visibility("hidden")));
static inline uint32_t *csk_gate_lock_for_waiter(void *object) {
    csk_gate_t *gate = object;
    csk_gate_lock_queue(gate);
    return &gate->queue_lock;
}

/* In gate_leave.c; called without the queue lock. The fence and the second look that leavers without a fence count on.
 * A thread that stands in the queue itself calls csk_waiter_look_again. */
void csk_gate_look_again(csk_gate_t *gate);

/* The end of a change of the queue, once it has settled or published: drops the queue lock, performs what is due, and
 * looks again if `look_again`, which is what settling has returned unless the caller has the gate. The second is for a
 * thread that stands in the queue itself, or may stand there. */
static inline void csk_gate_finish(csk_gate_t *gate, bool look_again, csk_effects_t *effects) {
    csk_queue_unlock(&gate->queue_lock);
    csk_effects_perform(effects);
    if (look_again) csk_gate_look_again(gate);
}
static inline void csk_gate_finish_waiting(csk_gate_t *gate, bool look_again, csk_effects_t *effects) {
    csk_queue_unlock(&gate->queue_lock);
    csk_effects_perform_waiting(effects);
    if (look_again) csk_waiter_look_again(&csk_gate_queue_kind, gate);
}

/* In gate.c. How a thread waits in it. */
extern const csk_wait_kind_t csk_gate_wait_kind __attribute__((visibility("hidden")));

/* Threads of a mutex and of a recursive gate are known by their numbers. */
static inline bool csk_gate_is_number(uint64_t holder) { return (int64_t)holder < 0; }
/* Leaves the gate, all of whose levels are given up, for the thread that holds it under this name. */
static inline int csk_gate_unlock_as(csk_gate_t *gate, uint64_t self) {
    return csk_gate_is_number(self) ? csk_gate_unlock_recursive_slow(gate) : csk_gate_unlock_slow(gate);
}

/* In gate_watch.c. Parks a queued thread until its word changes or the deadline has passed (ETIMEDOUT). May return
 * spuriously. While it waits, it checks from time to time whether the holder has ended. */
int csk_gate_park(csk_gate_t *gate, csk_waiter_t *self, int64_t deadline_ns, csk_watch_t *watch);

/* For a thread that something else sends into the queue: a signal, or a predicate. `wait` says since when and how long
 * it waits for that, and is recorded meanwhile. Parks it until its word is answered, or until it is seen in the queue,
 * where it looks after the holder. Returns ETIMEDOUT when the deadline has passed. */
struct csk_wait;
int csk_gate_park_until_queued(csk_gate_t *gate, csk_waiter_t *self, struct csk_wait *wait);

#endif
