/* gate_await.c: threads that wait at a gate until a predicate is true. See gate_await.h. */
#include "lock/gate_await.h"

#include "base/ordering.h"
#include "lock/gate_queue.h"
#include "wait/trampoline.h"
#include "wait/waits.h"
#include "wait/yield.h"

/* The deadline has passed: the thread comes for the gate, unless it is on its way already. */
static void choose_itself(csk_gate_t *gate, csk_gate_condition_t *self) {
    csk_effects_t effects = { 0 };
    csk_gate_lock_queue(gate);
    bool first = false;
    if (!self->chosen) {
        csk_gate_condition_choose(gate, self);
        first = csk_gate_settle(gate, &effects);
    }
    csk_gate_finish_waiting(gate, first, &effects);
}

/* Waits until the condition is chosen, and then for the gate. */
static void wait_for_turn(csk_gate_t *gate, csk_gate_condition_t *self, csk_wait_t *wait, bool yields) {
    if (yields) csk_yield_for_word(&self->waiter, wait->deadline_ns);
    if (csk_gate_park_until_queued(gate, &self->waiter, wait) == ETIMEDOUT) choose_itself(gate, self);
    csk_cannot_fail(csk_waiter_wait(&csk_gate_wait_kind, gate, &self->waiter, CSK_NEVER, false));
    if (csk_gate_is_ordered(gate)) csk_current_ordering()->entered(gate, CSK_OBJECT_GATE);
}

static bool has_passed(int64_t deadline_ns) { return deadline_ns != CSK_NEVER && deadline_ns <= csk_platform_now(); }

/* The thread waits, in the list or outside of it. So no callback that is left for later runs on it while it leaves the
 * gate (csk_gate_call_later), which might wait, or end the thread. */
static void leave_waiting(csk_gate_t *gate, uint64_t self) {
    csk_trampoline_begin_wait();
    csk_cannot_fail(csk_gate_unlock_as(gate, self));
    csk_trampoline_end_wait();
}

static int wait_until_true(csk_gate_t *gate, csk_gate_condition_t *self, int64_t deadline_ns, bool yields) {
    int64_t since_ns = self->waiter.since_ns;
    for (;; yields = true) {
        uint32_t depth = csk_load(&gate->depth, CSK_RELAXED);
        csk_store(&gate->depth, 0u, CSK_RELAXED);
        csk_wait_t wait = { .object = gate,
                            .object_kind = CSK_OBJECT_GATE,
                            .waits_for = CSK_WAITS_FOR_PREDICATE,
                            .waiter = &self->waiter,
                            .rank = self->waiter.node.rank, /* which only a holder changes */
                            .since_ns = since_ns,
                            .deadline_ns = deadline_ns };
        leave_waiting(gate, self->waiter.thread);
        wait_for_turn(gate, self, &wait, yields);
        csk_store(&gate->depth, depth, CSK_RELAXED);
        if (self->predicate(self->predicate_context)) return 0;
        if (has_passed(deadline_ns)) return ETIMEDOUT;
        csk_gate_condition_wait_on(gate, self);
    }
}

/* Called by the holder, whose predicate is false. `ticket` is that of a thread that has come again; 0 for one that
 * arrives now, and has not yielded yet. */
static int wait_in_list(csk_gate_t *gate, csk_gate_predicate_t predicate, void *context, csk_rank_t rank,
                        int64_t deadline_ns, int64_t ticket) {
    csk_gate_condition_t self;
    csk_waiter_for_thread(&self.waiter, rank, csk_gate_holder(gate));
    csk_gate_lock_queue(gate);
    bool closed = gate->closed;
    if (!closed) {
        self.waiter.node.ticket = ticket != 0 ? ticket : csk_waiter_ticket(&gate->next_ticket, rank);
        csk_gate_condition_begin(gate, &self, predicate, context, NULL);
    }
    csk_queue_unlock(&gate->queue_lock);
    if (closed) return ESHUTDOWN;
    int status = wait_until_true(gate, &self, deadline_ns, ticket == 0);
    csk_gate_condition_end(gate, &self);
    return status;
}

int csk_gate_await_ranked(csk_gate_t *gate, csk_rank_t rank, csk_gate_predicate_t predicate, void *context,
                          int64_t deadline_ns) {
    if (predicate == NULL || !csk_is_rank_or_unnamed(rank)) return EINVAL;
    if (!csk_gate_is_mine(gate)) return EPERM;
    if (predicate(context)) return 0;
    if (has_passed(deadline_ns)) return ETIMEDOUT;
    csk_gate_prepare(gate);
    return wait_in_list(gate, predicate, context, rank, deadline_ns, 0);
}

/* ---- Coming again ------------------------------------------------------------------------------------------------ */

/* Whether a thread may come again without a change of the order that await.h promises. */
static bool comes_again(const csk_gate_t *gate, csk_rank_t rank, int64_t deadline_ns) {
    return gate->policy != CSK_GATE_STRICT && csk_rank_in_order(rank) <= csk_rank(0, CSK_PLACE_BACK) &&
           deadline_ns == CSK_NEVER;
}

/* Called by the holder. Returns its ticket. */
static int64_t arrive(csk_gate_t *gate, csk_rank_t rank) {
    csk_gate_lock_queue(gate);
    int64_t ticket = csk_waiter_ticket(&gate->next_ticket, rank);
    csk_queue_unlock(&gate->queue_lock);
    return ticket;
}

/* Called by the holder, whose predicate is false. Returns as csk_gate_lock_when_ranked does. */
static int come_again_or_wait(csk_gate_t *gate, csk_gate_predicate_t predicate, void *context, csk_rank_t rank) {
    int64_t ticket = arrive(gate, rank);
    csk_yields_t yields = csk_yields_begin();
    while (yields.left > 0) {
        leave_waiting(gate, csk_self());
        csk_yield(&yields);
        int status = csk_gate_enter_fast(gate) ? 0 : csk_gate_lock_slow(gate, rank, CSK_NEVER);
        if (status != 0 || predicate(context)) return status;
    }
    int status = wait_in_list(gate, predicate, context, rank, CSK_NEVER, ticket);
    if (status != 0) (void)csk_gate_unlock(gate);
    return status;
}

int csk_gate_lock_when_ranked(csk_gate_t *gate, csk_rank_t rank, csk_gate_predicate_t predicate, void *context,
                              int64_t deadline_ns) {
    if (predicate == NULL || !csk_is_rank_or_unnamed(rank)) return EINVAL;
    int status = csk_gate_enter_fast(gate) ? 0
                 : csk_gate_is_mine(gate)  ? EDEADLK /* at whatever level */
                                           : csk_gate_lock_slow(gate, rank, deadline_ns);
    if (status != 0 || predicate(context)) return status;
    if (comes_again(gate, rank, deadline_ns)) return come_again_or_wait(gate, predicate, context, rank);
    status = has_passed(deadline_ns) ? ETIMEDOUT : wait_in_list(gate, predicate, context, rank, deadline_ns, 0);
    if (status != 0) (void)csk_gate_unlock(gate);
    return status;
}
