/* gate_queue.h: the gate's words, its queue of waiters, and what may be done to them under the queue lock.
 *
 *   gate.c        threads: entering, waiting, leaving
 *   gate_queue.c  the queue under its lock: order, publishing, granting, settling
 *   gate_async.c  callbacks: their deadlines, provisional grants, closing
 *   gate_lane.c   lanes: the waiters that are performed on one queue or executor
 *   gate_watch.c  how a waiter finds out that the holder has ended
 *
 * These five files call each other in circles, which no order of the files would remove. Settling the queue grants the
 * gate to a callback or a lane, and starts a clock. The end of the clock takes the grant back, and settles the queue.
 * In the two-word form, whoever makes the queue visible again looks a second time, which settles the queue too.
 *
 * The words
 *
 * held (64 bits)      0 = free, else who holds it
 *   bits 4..63  the holder's thread pointer; with bit 63 its number    set by CAS from 0 by whoever enters; set to
 *               (recursive gates, mutexes); or CSK_GATE_NOBODY         another holder, or to 0, only by the holder, or
 *                                                                      on its behalf (lost grants)
 *   bit 3       ENDED: that thread has ended without leaving           set by CAS under the queue lock; for good
 *   bits 0..2   one-word form only: WAITERS, DESIGNATED, HAND_OVER     changed under the queue lock, by CAS
 *
 * summary (64 bits)   what a newcomer or a leaver must know about the queue; written only under the queue lock
 *   bit 0  READY        two-word form; the value 1 alone says "nobody waits, all is inline"
 *   bit 1  WAITERS      the queue is not empty
 *   bit 2  DESIGNATED   one waiting thread was told to try, and has not yet entered, given up or passed it on: wake no
 *                       other
 *   bit 3  HAND_OVER    who leaves must grant the gate to the next waiter, and newcomers must not take it
 *   bit 4  ONE_WORD     bits 0..2 of `held` repeat bits 1..3; leaving is a CAS that fails when they change
 *   bit 5  CLOSED       newcomers are refused
 *   8..63  RANK         of the next waiter, biased; the maximum where no newcomer may pass without the queue lock
 * A `summary` of zero means that the form is undecided. The first call that comes to the slow path decides the form for
 * this gate's life.
 *
 * The queue lock protects everything else in csk_gate_t and in a queued waiter, except `depth`, which is the holder's.
 *
 * Why nobody is left asleep: the two-word form
 *
 * 1. A waiter W publishes WAITERS, and looks whether the gate is free.
 * 2. A leaver L frees the gate, and looks whether there are waiters.
 * 3. If both executed a fence in between, one of them would see the other. Whoever sees the other settles: under the
 *    queue lock, a free gate with waiters means that one of them is designated or granted.
 * 4. L has no fence between its store and its look. The first waiter of an episode therefore executes membarrier
 *    between its publication and a second look. (An episode lasts as long as the summary says WAITERS.) Either L's look
 *    came after the membarrier, and saw WAITERS. Or L's store came before the membarrier, and W sees the gate free.
 * 5. A later waiter of the same episode needs no membarrier: L sees the first.
 * 6. While a designated waiter is on its way, L calls nobody. That waiter executes membarrier, and looks again,
 *    whenever it gives the designation back without having entered.
 * Tests/Model/gate_fast.pml models this step by step. It fails when any of the barriers or looks is removed.
 *
 * Why nobody is left asleep: the one-word form
 *
 * The flags stand in the word that the leaver's CAS compares, so the leaver can't miss them. It designates before it
 * frees. Freeing is its last access to the gate, which may then be destroyed.
 *
 * Both forms
 *
 * - A thread that was granted the gate under the queue lock passes through that lock before it returns. By then the
 *   granter has finished with the gate, and has published. Otherwise the thread could leave by a summary that still
 *   says that this thread itself is on its way, and call nobody.
 * - A designated waiter enters only while it is the next in order, which it checks under the queue lock. Otherwise it
 *   gives the designation back, and settles.
 * - Others write a waiter's word only under the queue lock, while the waiter is queued. Waking uses its address only.
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
 * Whoever begins takes the first of the lane at that moment, under the queue lock. The gate's heap contains at most one
 * waiter of a lane, and that one is the lane's first. So as long as the lane is open, the gate's order is what it would
 * be if all waiters stood in the gate's heap. While the lane is granted or stalled, nothing of it can be granted except
 * by the lane's own queue. So in every state, what begins is the lane's first.
 *
 * At most one block of a lane is on its queue. A queue's function is called once for each grant, and no further grant
 * is made until the begin that it owes.
 *
 * An executor's task can't begin in place of another. It gives the grant up only to one that comes before it (adopt,
 * relock). A task that lost the grant stands in `lost`, and only what comes before it may be granted meanwhile. So a
 * task of high priority need not wait until one of low priority is given a thread.
 *
 * Lanes: passes
 *
 * A waiter of a lane stays in the list of arrivals until it begins. So the count of passes is exact although grants are
 * taken back. The limit's choice (`forced`) begins before others of its lane, whatever their rank: the limit is part of
 * the order that its user asked for. Between a grant and its begin nobody is passed. Where a limit is reached, only
 * forced grants are made. So whoever else begins in place of a granted one passes nobody beyond the limit. Waiters of a
 * lane that is not open can't be next. They go on counting the passes.
 *
 * Lanes: memory
 *
 * A queue's waiter can time out while a function of its lane is due on another thread. So the lane's function says that
 * it has taken hold of the lane (`due`). Until then no grant is taken back, and the granted waiter holds the lane. The
 * clocks of a waiter may run on when its grant is over. Whoever gives the waiter back to its owner stops both, and
 * grace_ended checks whether its clock is that of the pending grant.
 *
 * After a fork
 *
 * In the child the words may speak of waiters that only the parent has. Whoever trusts them there, and would wait or
 * call somebody, takes the queue lock sooner or later. It finds that the lock is the parent's, and forgets the queue
 * unread: the queue may be half changed. Whoever holds the gate goes on holding it, even where that thread does not
 * exist in the child, since what the gate protects may be half changed too. But a grant that nobody has adopted is the
 * parent's alone. Until the queue is forgotten the flags can do no harm: nobody waits in the child who has not come
 * through that lock, and a flag that keeps newcomers out sends them to it. */
#ifndef CSK_INTERNAL_GATE_QUEUE_H
#define CSK_INTERNAL_GATE_QUEUE_H

#include "csynckernel/gate.h"
#include "wait/queue_lock.h"
#include "wait/waiter.h"
#include "wait/watch.h"

#define GATE_READY CSK_GATE_READY
#define GATE_WAITERS UINT64_C(2)
#define GATE_DESIGNATED UINT64_C(4)
#define GATE_HAND_OVER UINT64_C(8)
#define GATE_ONE_WORD UINT64_C(16)
#define GATE_CLOSED UINT64_C(32)
#define GATE_RANK_SHIFT 8
#define GATE_RANK_MAX ((UINT64_C(1) << 56) - 1)

#define HELD_FLAGS UINT64_C(7)
/* Makes the holder a thread that can't exist, so that no later thread at the same address passes for it. */
#define HELD_ENDED UINT64_C(8)

/* The closing waiter's rank. It comes after every rank that csk_rank can give. */
#define GATE_RANK_CLOSER ((csk_rank_t)INT32_MIN * 4 - 1)

/* A number that csk_rank does not give would stand before or behind everybody, or would not fit the summary. */
static inline bool csk_gate_is_rank(csk_rank_t rank) {
    return rank >= csk_rank(INT32_MIN, CSK_PLACE_LAST) && rank <= csk_rank(INT32_MAX, CSK_PLACE_FRONT);
}

/* What is left to do once the queue lock is dropped. */
typedef struct csk_gate_effects {
    uint32_t *wake;             /* a parked waiter's word: only an address, since its memory may be gone */
    csk_gate_waiter_t *ready;   /* asynchronous waiters whose functions are due */
    csk_gate_lane_t *lane;      /* the lane that was granted the gate, and whose function is due */
} csk_gate_effects_t;

static inline uint64_t csk_gate_biased_rank(csk_rank_t rank) { return (uint64_t)(rank + (INT64_C(1) << 40)); }
static inline bool csk_gate_is_one_word(const csk_gate_t *gate) {
    return (csk_load(&gate->summary, CSK_RELAXED) & GATE_ONE_WORD) != 0;
}
/* In the two-word form whoever makes the summary say that somebody waits must look again. The closing waiter does not
 * show while there are lost grants, so the heap can't answer this question. */
static inline bool csk_gate_shows_nobody(const csk_gate_t *gate) {
    return (csk_load(&gate->summary, CSK_RELAXED) & (GATE_WAITERS | GATE_ONE_WORD)) == 0;
}
static inline uint64_t csk_gate_holder(const csk_gate_t *gate) { return csk_load(&gate->held, CSK_ACQUIRE) & ~HELD_FLAGS; }

/* Called under the queue lock, which was the parent's: see the end of the argument above. */
void csk_gate_begin_in_child(csk_gate_t *gate);
static inline void csk_gate_lock_queue(csk_gate_t *gate) {
    if (CSK_UNLIKELY(csk_queue_lock(&gate->queue_lock))) csk_gate_begin_in_child(gate);
}

/* For callers that would trust the holder without the queue lock: a grant that nobody has adopted may be the parent's.
 * Returns true when such a grant has ended now, so that the gate is free. */
static inline bool csk_gate_know_process(csk_gate_t *gate) {
    if (CSK_LIKELY(!csk_queue_lock_is_old(csk_load(&gate->queue_lock, CSK_RELAXED)))) return false;
    csk_gate_lock_queue(gate);
    csk_queue_unlock(&gate->queue_lock);
    return csk_gate_holder(gate) == 0;
}

/* Decides the gate's form if that is still undecided. Takes the queue lock itself. */
void csk_gate_decide_form(csk_gate_t *gate);
static inline void csk_gate_prepare(csk_gate_t *gate) {
    if (CSK_UNLIKELY(csk_load(&gate->summary, CSK_ACQUIRE) == 0)) csk_gate_decide_form(gate);
}

/* All of these are called under the queue lock. */
csk_gate_waiter_t *csk_gate_next(const csk_gate_t *gate);
bool csk_gate_may_pass(const csk_gate_t *gate, const csk_heap_node_t *newcomer);
bool csk_gate_take(csk_gate_t *gate, uint64_t holder);
bool csk_gate_take_for(csk_gate_t *gate, csk_gate_waiter_t *waiter);
void csk_gate_transfer(csk_gate_t *gate, uint64_t holder);
void csk_gate_end_pending(csk_gate_t *gate, const csk_gate_waiter_t *waiter);
void csk_gate_count_pass(csk_gate_t *gate);
void csk_gate_insert(csk_gate_t *gate, csk_gate_waiter_t *waiter);
void csk_gate_remove(csk_gate_t *gate, csk_gate_waiter_t *waiter);
void csk_gate_mark_granted(csk_gate_t *gate, csk_gate_waiter_t *waiter, csk_gate_effects_t *effects);
void csk_gate_grant_to(csk_gate_t *gate, csk_gate_waiter_t *next, csk_gate_effects_t *effects);
void csk_gate_designate(csk_gate_t *gate, csk_gate_waiter_t *next, csk_gate_effects_t *effects);
bool csk_gate_wants_hand_over(const csk_gate_t *gate, const csk_gate_waiter_t *next);
void csk_gate_publish(csk_gate_t *gate);
void csk_gate_settle(csk_gate_t *gate, csk_gate_effects_t *effects);
void csk_gate_finish(csk_gate_waiter_t *waiter, int status, csk_gate_effects_t *effects);

/* The arrivals: all waiters that are accepted and have not begun. A waiter that belongs to no lane leaves them when it
 * is granted. */
void csk_gate_link(csk_gate_t *gate, csk_gate_waiter_t *waiter);
void csk_gate_unlink(csk_gate_t *gate, csk_gate_waiter_t *waiter, bool granted);
/* Puts a waiter into the gate's heap. */
void csk_gate_show(csk_gate_t *gate, csk_gate_waiter_t *waiter);
/* The waiter that the bypass limit makes next; NULL where none has been passed too often. */
csk_gate_waiter_t *csk_gate_overdue(const csk_gate_t *gate);

static inline csk_gate_lane_t *csk_gate_lane_of(const csk_gate_waiter_t *waiter) {
    return waiter->function != NULL ? waiter->lane : NULL;
}

/* Called under the queue lock. csk_gate_has_lost_grants reads the count without it. */
static inline void csk_gate_count_lost(csk_gate_t *gate, int change) {
    csk_store(&gate->lost_grants, csk_load(&gate->lost_grants, CSK_RELAXED) + (uint32_t)change, CSK_RELAXED);
}

/* In gate_lane.c; called under the queue lock. */
bool csk_gate_lane_lets_through(const csk_gate_waiter_t *waiter);
/* Whether a newcomer of the lane may be granted the gate, if the gate is free and the gate's own order allows it. */
bool csk_gate_lane_is_open(const csk_gate_lane_t *lane, const csk_gate_waiter_t *newcomer);
/* A lane of the parent has neither waiters nor a grant in the child. For callers that don't have one of this process's
 * waiters at hand. */
void csk_gate_lane_begin_in_child(csk_gate_lane_t *lane);
static inline void csk_gate_lane_know_process(csk_gate_lane_t *lane) {
    if (CSK_UNLIKELY(lane->mark != csk_process_mark())) csk_gate_lane_begin_in_child(lane);
}
/* These queue a waiter in its lane; take a queued one out, for good or because it was granted; and give the lane's
 * grant to one that stands in no heap. */
void csk_gate_lane_put(csk_gate_t *gate, csk_gate_waiter_t *waiter);
void csk_gate_lane_take(csk_gate_t *gate, csk_gate_waiter_t *waiter, bool granted);
void csk_gate_lane_grant(csk_gate_t *gate, csk_gate_waiter_t *waiter);
/* Whether an executor's waiter has a grant that belongs to another one, which arrived later and comes before it. */
bool csk_gate_lane_has_better(const csk_gate_lane_t *lane);
/* Takes the pending grant back, which is still named as pending. Returns true when the waiter, which was granted at
 * once, waits from now on. */
bool csk_gate_lane_lose(csk_gate_t *gate, csk_gate_waiter_t *waiter);

/* In gate_lane.c; called without the queue lock. csk_gate_adopt, csk_gate_relock_async and csk_gate_forget for waiters
 * of executors' lanes. */
int csk_gate_lane_adopt(csk_gate_t *gate, csk_gate_waiter_t *waiter);
int csk_gate_lane_relock(csk_gate_t *gate, csk_gate_waiter_t *waiter);
int csk_gate_lane_forget(csk_gate_t *gate, csk_gate_waiter_t *waiter);

/* Called after the queue lock was dropped. */
void csk_gate_perform(csk_gate_effects_t *effects);
/* The same for a thread that stands in the queue itself. */
void csk_gate_perform_waiting(csk_gate_effects_t *effects);

/* In gate.c; called without the queue lock. The fence and the second look that leavers without a fence count on. */
void csk_gate_look_again(csk_gate_t *gate);

/* In gate_watch.c. Parks a queued thread until its word changes or the deadline has passed (ETIMEDOUT). May return
 * spuriously. While it waits, it checks from time to time whether the holder has ended. */
int csk_gate_park(csk_gate_t *gate, csk_gate_waiter_t *self, int64_t deadline_ns, csk_watch_t *watch);

/* In gate_async.c; called under the queue lock. Starts the clock of a grant that nobody has adopted. */
void csk_gate_start_grace(csk_gate_t *gate);
/* In gate_async.c; called under the queue lock. Starts the clock of the waiter's deadline, if it has one. */
void csk_gate_start_deadline(csk_gate_t *gate, csk_gate_waiter_t *waiter);

#endif
