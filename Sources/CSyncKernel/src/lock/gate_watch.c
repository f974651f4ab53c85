/* gate_watch.c: how a waiter finds out that the thread which holds the gate has ended.
 *
 * Entering must cost no more than its compare-and-swap. So nothing is recorded when a thread enters, and nothing is
 * reported when it ends. But a thread that has waited for a second can afford to ask the system which threads there
 * are.
 *
 * Why a live holder is not reported:
 *
 * 1. The waiter looks at the queue, makes every other thread execute a fence, asks the system, and looks again.
 * 2. Both times it is the next in order and parked, no waiter is on its way, and `held` names the same thread. No
 *    waiter has come to the queue in between. Meanwhile the system shows no such thread.
 * 3. A thread that left the gate after the fence saw this queue, and called the next in order. That is this waiter,
 *    whose word would say so. So no thread has left the gate: the thread that held it then holds it now, and has ended.
 * 4. No later thread at the same address can have entered either, since the gate was never free. */
#include "base/report.h"
#include "lock/gate_queue.h"
#include "wait/waits.h"
#include "wait/watch.h"

/* Called under the queue lock. Returns the thread that holds the gate if this waiter may check whether it has ended,
 * and 0 otherwise. */
static uint64_t holder_to_look_after(const csk_gate_t *gate, const csk_waiter_t *self) {
    uint64_t holder = csk_gate_holder(gate);
    bool may = csk_gate_next(gate) == self && csk_load(&self->word, CSK_RELAXED) == WORD_PARKED;
    return may && holder != CSK_GATE_NOBODY && !(holder & HELD_ENDED) ? holder : 0;
}

/* Called under the queue lock. Returns false when the holder is another one by now. */
static bool mark_ended(csk_gate_t *gate, uint64_t holder) {
    uint64_t found = csk_load(&gate->held, CSK_RELAXED);
    return (found & ~HELD_FLAGS) == holder && csk_cas(&gate->held, &found, found | HELD_ENDED, CSK_RELAXED);
}

static void look_after_holder(csk_gate_t *gate, csk_waiter_t *self) {
    csk_gate_lock_queue(gate);
    uint64_t holder = holder_to_look_after(gate, self);
    int64_t ticket = gate->next_ticket;
    csk_queue_unlock(&gate->queue_lock);
    if (holder == 0) return;
    /* In the two-word form a leaver may still rely on an earlier queue, in which a waiter was on the way. */
    if (!csk_gate_is_one_word(gate)) csk_platform_membarrier();
    if (!csk_platform_thread_has_ended(holder)) return;
    csk_gate_lock_queue(gate);
    bool ended = gate->next_ticket == ticket && holder_to_look_after(gate, self) == holder && mark_ended(gate, holder);
    csk_queue_unlock(&gate->queue_lock);
    if (ended)
        csk_observe_report(CSK_EVENT_HOLDER_ENDED, CSK_OBJECT_GATE, gate, self->node.rank, self->since_ns, EOWNERDEAD,
                           0);
}

/* For a waiter that stands behind one that was designated and is late (gate_aside.h). A waiter that was designated
 * meanwhile comes itself. */
static void look_for_late(csk_gate_t *gate, const csk_waiter_t *self) {
    csk_effects_t effects = { 0 };
    int64_t now_ns = csk_platform_now();
    csk_gate_lock_queue(gate);
    bool waits = csk_load(&self->word, CSK_RELAXED) == WORD_PARKED;
    bool look_again = waits && csk_gate_pass_over(gate, now_ns) && csk_gate_settle(gate, &effects);
    csk_gate_finish_waiting(gate, look_again, &effects);
}

int csk_gate_park(csk_gate_t *gate, csk_waiter_t *self, int64_t deadline_ns, csk_watch_t *watch) {
    bool look;
    int status = csk_watch_park(&self->word, WORD_PARKED, deadline_ns, watch, &look);
    if (!look) return status;
    look_for_late(gate, self);
    int64_t now_ns = csk_platform_now(), ended_ns = watch->since_ns + CSK_WATCH_ENDED_NS;
    if (now_ns < ended_ns) {
        csk_watch_later(watch);
        if (watch->look_ns > ended_ns) watch->look_ns = ended_ns;
    } else if (csk_watch_may_look(watch)) {
        look_after_holder(gate, self);
        csk_watch_looked(watch, now_ns);
    }
    return status;
}

static bool is_queued(csk_gate_t *gate, const csk_waiter_t *self) {
    csk_gate_lock_queue(gate);
    bool queued = csk_waiter_state(self) != WAITER_IDLE;
    csk_queue_unlock(&gate->queue_lock);
    return queued;
}

static int park_until_queued(csk_gate_t *gate, csk_waiter_t *self, csk_wait_t *wait) {
    csk_watch_t watch = csk_begin_watch(wait->since_ns, CSK_WATCH_ENDED_NS);
    int64_t deadline_ns = wait->deadline_ns;
    csk_word_begin_park(&self->word);
    while (csk_word_is_parked(&self->word)) {
        bool look;
        if (!wait->noted) csk_waits_note(wait);
        int status = csk_watch_park(&self->word, WORD_PARKED, deadline_ns, &watch, &look);
        if (!look && status == ETIMEDOUT) return ETIMEDOUT;
        if (look && is_queued(gate, self)) return 0;
        if (look) csk_watch_later(&watch);
    }
    return 0;
}

int csk_gate_park_until_queued(csk_gate_t *gate, csk_waiter_t *self, csk_wait_t *wait) {
    int status = park_until_queued(gate, self, wait);
    csk_waits_end(wait);
    return status;
}
