/* cond.c: condition variables of a gate.
 *
 * A thread's waiter stands in one of two heaps: in the condition variable's until it is signalled, and then in the
 * gate's. The gate's queue lock protects both. So a signal, a deadline and the gate's own grants are ordered by it:
 *
 *   state    where the waiter stands     changed under the queue lock
 *   IDLE     in the condition variable   by its thread, which comes while it holds the gate
 *   IDLE     nowhere                     by its thread, whose deadline has passed
 *   QUEUED   in the gate's queue         by a signal
 *   GRANTED  nowhere                     by the gate, as any waiter of it
 *
 * 1. No signal is lost. The thread that makes the condition true holds the gate. So it comes before the waiting thread
 *    has checked, or after the waiter stands in the condition variable: the gate is left after that.
 * 2. A signal ends one wait. It takes the waiter out of the condition variable, under the lock under which a deadline
 *    does so. A thread that finds its deadline passed, and its waiter no longer there, has been signalled, and waits
 *    for the gate.
 * 3. No waiter is left asleep. Once it is in the gate's queue the waiter is like any other, whose thread parks by the
 *    same word (gate_words.h). A signal settles, and looks again unless its thread holds the gate. A thread that sleeps
 *    on from its wait for the signal looks now and then whether it waits for the gate by now, and from then on whether
 *    the holder has ended (gate_watch.c).
 * 4. The condition variable may go once it has no waiters: a signalled waiter does not touch it any more.
 * 5. The thread leaves the gate while it stands in a queue. What it lets in by that runs as functions of waiters do on
 *    a thread that waits (trampoline.h): nothing there may block, since this thread may have the gate by then. */
#include "csynckernel/cond.h"

#include "base/ordering.h"
#include "lock/gate_queue.h"
#include "thread/name.h"
#include "wait/trampoline.h"
#include "wait/waits.h"

int csk_cond_init(csk_cond_t *cond, csk_gate_t *gate) {
    if (cond == NULL || gate == NULL) return EINVAL;
    *cond = (csk_cond_t){ .gate = gate };
    return 0;
}

int csk_cond_init_mutex(csk_cond_t *cond, csk_mutex_t *mutex) {
    return csk_cond_init(cond, mutex == NULL ? NULL : &mutex->gate);
}

/* Takes the gate's queue lock. In a child of fork, those that wait do so in the parent. */
static void lock_queue(csk_cond_t *cond) {
    csk_gate_lock_queue(cond->gate);
    if (CSK_LIKELY(cond->process == csk_process_mark())) return;
    cond->waiters.root = NULL;
    csk_store(&cond->waiting, 0u, CSK_RELAXED);
    cond->process = csk_process_mark();
}

uint32_t csk_cond_waiting(csk_cond_t *cond) {
    if (cond->gate == NULL) return 0;
    lock_queue(cond);
    uint32_t waiting = csk_load(&cond->waiting, CSK_RELAXED);
    csk_queue_unlock(&cond->gate->queue_lock);
    return waiting;
}

int csk_cond_destroy(csk_cond_t *cond) {
    if (csk_cond_waiting(cond) != 0) return EBUSY;
    csk_name_end(cond);
    return 0;
}

/* ---- The waiting thread ------------------------------------------------------------------------------------------ */

/* Called under the queue lock. `move` reads the count without it. */
static void count_waiting(csk_cond_t *cond, int change) {
    csk_store(&cond->waiting, csk_load(&cond->waiting, CSK_RELAXED) + (uint32_t)change, CSK_RELAXED);
}

/* Called under the queue lock. */
static void take_out(csk_cond_t *cond, csk_waiter_t *waiter) {
    csk_heap_remove(&cond->waiters, &waiter->node);
    count_waiting(cond, -1);
}

/* Returns false where the gate is closed: a thread that leaves it never comes back. */
static bool begin_wait(csk_cond_t *cond, csk_waiter_t *self) {
    lock_queue(cond);
    bool may_wait = !cond->gate->closed;
    if (may_wait) {
        csk_waiter_set(self, WAITER_IDLE);
        self->node.ticket = csk_waiter_ticket(&cond->next_ticket, self->node.rank);
        csk_heap_insert(&cond->waiters, &self->node);
        count_waiting(cond, 1);
    }
    csk_queue_unlock(&cond->gate->queue_lock);
    return may_wait;
}

/* The deadline has passed. Returns false when a signal was faster. */
static bool give_up(csk_cond_t *cond, csk_gate_t *gate, csk_waiter_t *self) {
    csk_gate_lock_queue(gate);
    bool waits = csk_waiter_state(self) == WAITER_IDLE;
    if (waits) take_out(cond, self);
    csk_queue_unlock(&gate->queue_lock);
    return waits;
}

static inline void leave(csk_gate_t *gate, uint64_t self) {
    csk_store(&gate->depth, 0u, CSK_RELAXED);
    csk_cannot_fail(csk_gate_unlock_as(gate, self));
    csk_trampoline_end_wait();
}

/* A wait for a signal. */
typedef struct {
    csk_wait_t wait; /* the first: csk_told_wait gives it back */
    csk_cond_t *cond;
    csk_waiter_t *self;
} signal_wait_t;

/* Lets the gate go, and waits until it is signalled. Returns 0, or ETIMEDOUT without a signal by the deadline. Waits
 * are reported from before that: once this thread is signalled, the condition variable may be destroyed. */
static int leave_and_await(csk_wait_t *wait) {
    signal_wait_t *of = (signal_wait_t *)wait;
    csk_waiter_t *self = of->self;
    csk_gate_t *gate = of->cond->gate;
    leave(gate, self->thread);
    csk_watch_word_awake(self, wait->deadline_ns);
    if (csk_gate_park_until_queued(gate, self, wait) == 0) return 0;
    return csk_word_is_parked(&self->word) && give_up(of->cond, gate, self) ? ETIMEDOUT : 0;
}

static int lock_as(csk_gate_t *gate, uint64_t self, csk_rank_t rank) {
    return csk_gate_is_number(self) ? csk_gate_lock_recursive_slow(gate, rank, CSK_NEVER)
                                    : csk_gate_lock_slow(gate, rank, CSK_NEVER);
}

int csk_cond_wait_ranked(csk_cond_t *cond, csk_rank_t rank, int64_t deadline_ns) {
    csk_gate_t *gate = cond->gate;
    if (gate == NULL || !csk_is_rank(rank)) return EINVAL;
    if (!csk_gate_is_mine(gate)) return EPERM;
    csk_mutex_prepare(gate); /* it is held: if its form is undecided, it is a mutex's */
    uint64_t self = csk_gate_holder(gate);
    uint32_t depth = csk_load(&gate->depth, CSK_RELAXED);
    csk_waiter_t waiter;
    csk_waiter_for_thread(&waiter, rank, self);
    signal_wait_t of = { .wait = { .object = cond,
                                   .object_kind = CSK_OBJECT_COND,
                                   .waits_for = CSK_WAITS_FOR_SIGNAL,
                                   .waiter = &waiter,
                                   .gate = gate,
                                   .rank = waiter.node.rank,
                                   .since_ns = waiter.since_ns,
                                   .deadline_ns = deadline_ns },
                         .cond = cond,
                         .self = &waiter };
    csk_trampoline_begin_wait();
    bool waits = begin_wait(cond, &waiter);
    if (!waits) leave(gate, self);
    if (!waits) return ESHUTDOWN;
    int status = csk_tell_wait(&of.wait, leave_and_await), locked;
    if (status == 0) locked = csk_waiter_wait(&csk_gate_wait_kind, gate, &waiter, CSK_NEVER, false);
    else locked = lock_as(gate, self, rank);
    if (locked != 0) return locked;
    if (status == 0 && csk_gate_is_ordered(gate)) csk_current_ordering()->entered(gate, CSK_OBJECT_GATE);
    csk_store(&gate->depth, depth, CSK_RELAXED);
    return status;
}

/* ---- Signalling -------------------------------------------------------------------------------------------------- */

/* Called under the queue lock. Moves the first that waits into the gate's queue, where it begins to wait for the gate
 * now. `ticket` is the one that the gate gave out before. */
static void move_first(csk_cond_t *cond, int64_t ticket, int64_t now_ns) {
    csk_waiter_t *waiter = csk_waiter_of_node(csk_heap_top(&cond->waiters));
    take_out(cond, waiter);
    waiter->since_ns = now_ns;
    waiter->node.ticket = csk_waiter_ticket(&ticket, waiter->node.rank);
    csk_gate_insert(cond->gate, waiter);
}

/* Called under the queue lock. Moves so many at most, which keep their order. Those that go to the front of their class
 * count down: the first of them gets the last ticket. */
static void move_under_lock(csk_cond_t *cond, uint32_t most, int64_t now_ns) {
    int64_t first = cond->gate->next_ticket;
    uint32_t waiting = csk_load(&cond->waiting, CSK_RELAXED), count = most < waiting ? most : waiting;
    cond->gate->next_ticket = first + count;
    for (uint32_t i = 0; i < count; i++) {
        bool front = (csk_heap_top(&cond->waiters)->rank & 3) == CSK_PLACE_FRONT;
        move_first(cond, first + (front ? count - 1 - i : i), now_ns);
    }
}

/* Moves so many at most. A thread that looks at the count without the lock has held the gate since those that it means
 * began to wait. */
static int move(csk_cond_t *cond, uint32_t most) {
    if (csk_load(&cond->waiting, CSK_RELAXED) == 0) return 0;
    csk_gate_t *gate = cond->gate;
    int64_t now_ns = csk_platform_now();
    csk_effects_t effects = { 0 };
    lock_queue(cond);
    move_under_lock(cond, most, now_ns);
    bool first = csk_gate_settle(gate, &effects);
    csk_gate_finish(gate, first && !csk_gate_is_mine(gate), &effects);
    return 0;
}

int csk_cond_signal(csk_cond_t *cond) { return move(cond, 1); }
int csk_cond_broadcast(csk_cond_t *cond) { return move(cond, UINT32_MAX); }
