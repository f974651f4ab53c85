#include "lock/gate_queue.h"

#include "base/observe.h"
#include "wait/trampoline.h"

void csk_gate_decide_form(csk_gate_t *gate) {
    /* A bypass limit must hold against newcomers that looked at the queue long ago. Only the flags in one word can't be
     * stale. */
    bool one_word = gate->policy != CSK_GATE_FAST || gate->bypass_limit != 0 || !csk_platform_has_membarrier();
    csk_gate_lock_queue(gate);
    if (csk_load(&gate->summary, CSK_RELAXED) == 0)
        csk_store(&gate->summary, one_word ? GATE_ONE_WORD : GATE_READY, CSK_RELEASE);
    csk_queue_unlock(&gate->queue_lock);
}

void csk_gate_begin_in_child(csk_gate_t *gate) {
    gate->waiters.root = NULL;
    gate->oldest = NULL;
    gate->oldest_bypassed = gate->waiting = 0;
    csk_store(&gate->lost_grants, 0u, CSK_RELAXED);
    gate->designated = gate->hand_over = 0;
    if (gate->pending != NULL && csk_gate_holder(gate) == CSK_GATE_NOBODY) csk_gate_transfer(gate, 0);
    gate->pending = NULL;
    if (csk_load(&gate->summary, CSK_RELAXED) != 0) csk_gate_publish(gate);
}

/* Finds the oldest waiter that has been passed too often and that can be granted. Counts grow with age, so the walk
 * ends at the first waiter that has not been passed too often. The counts are sums of differences, and the sum is zero
 * behind the newest waiter, so the walk ends there at the latest. */
static csk_gate_waiter_t *find_overdue(const csk_gate_t *gate) {
    uint32_t passed = gate->oldest_bypassed;
    for (csk_gate_waiter_t *waiter = gate->oldest; passed >= gate->bypass_limit; waiter = waiter->newer) {
        /* Waiters that lost a grant and queue again behind the closing waiter pass it. It comes after them all the
         * same. */
        if (waiter->node.rank == GATE_RANK_CLOSER) return NULL;
        if (csk_gate_lane_lets_through(waiter)) return waiter;
        passed -= waiter->bypassed;
    }
    return NULL;
}

csk_gate_waiter_t *csk_gate_overdue(const csk_gate_t *gate) {
    return CSK_LIKELY(gate->bypass_limit == 0) ? NULL : find_overdue(gate);
}

csk_gate_waiter_t *csk_gate_next(const csk_gate_t *gate) {
    csk_gate_waiter_t *top = csk_waiter_of_node(csk_heap_top(&gate->waiters));
    if (top == NULL) return NULL;
    if (top->node.rank == GATE_RANK_CLOSER) return !csk_gate_has_lost_grants(gate) ? top : NULL;
    csk_gate_waiter_t *overdue = csk_gate_overdue(gate);
    return overdue != NULL ? overdue : top;
}

bool csk_gate_wants_hand_over(const csk_gate_t *gate, const csk_gate_waiter_t *next) {
    return gate->policy == CSK_GATE_STRICT || gate->hand_over || next->function != NULL || csk_gate_overdue(gate) != NULL;
}

bool csk_gate_may_pass(const csk_gate_t *gate, const csk_heap_node_t *newcomer) {
    const csk_gate_waiter_t *next = csk_gate_next(gate);
    if (next == NULL) return newcomer->rank != GATE_RANK_CLOSER || !csk_gate_has_lost_grants(gate);
    /* Under STRICT a gate with waiters is never free. */
    if (gate->hand_over || csk_gate_overdue(gate) != NULL) return false;
    return newcomer->rank > next->node.rank ||
           (newcomer->rank == next->node.rank && (next->function == NULL || newcomer->ticket < next->node.ticket));
}

bool csk_gate_take(csk_gate_t *gate, uint64_t holder) {
    uint64_t found = csk_load(&gate->held, CSK_RELAXED);
    do {
        if ((found & ~HELD_FLAGS) != 0) return false;
    } while (!csk_cas(&gate->held, &found, holder | (found & HELD_FLAGS), CSK_ACQ_REL));
    return true;
}

/* The caller holds the gate, or acts for its holder. So nobody but the owner of the queue lock changes the word
 * meanwhile. */
void csk_gate_transfer(csk_gate_t *gate, uint64_t holder) {
    uint64_t flags = csk_load(&gate->held, CSK_RELAXED) & HELD_FLAGS;
    csk_store(&gate->held, holder | flags, CSK_RELEASE);
}

/* Only the oldest waiter's passes are kept as a sum, yet the count of each waiter is exact. `bypassed` of a waiter is
 * the difference between its count and that of the next newer one. So a grant to X adds one pass for all waiters that
 * are older than X by adding to X's older neighbour alone. */
void csk_gate_count_pass(csk_gate_t *gate) {
    if (gate->oldest == NULL) return;
    gate->oldest->older->bypassed++;
    gate->oldest_bypassed++;
}

void csk_gate_link(csk_gate_t *gate, csk_gate_waiter_t *waiter) {
    waiter->bypassed = 0;
    if (gate->oldest == NULL) {
        waiter->older = waiter->newer = waiter;
        gate->oldest = waiter;
    } else {
        csk_gate_waiter_t *newest = gate->oldest->older;
        waiter->older = newest;
        waiter->newer = gate->oldest;
        newest->newer = waiter;
        gate->oldest->older = waiter;
    }
}

void csk_gate_unlink(csk_gate_t *gate, csk_gate_waiter_t *waiter, bool granted) {
    if (waiter == gate->oldest) {
        gate->oldest_bypassed -= waiter->bypassed;
        gate->oldest = waiter->newer == waiter ? NULL : waiter->newer;
    } else {
        waiter->older->bypassed += waiter->bypassed + (granted ? 1 : 0);
        gate->oldest_bypassed += granted ? 1 : 0;
    }
    waiter->older->newer = waiter->newer;
    waiter->newer->older = waiter->older;
}

void csk_gate_show(csk_gate_t *gate, csk_gate_waiter_t *waiter) {
    csk_heap_insert(&gate->waiters, &waiter->node);
    if (gate->pending != NULL) csk_gate_start_grace(gate);
}

void csk_gate_insert(csk_gate_t *gate, csk_gate_waiter_t *waiter) {
    csk_waiter_set(waiter, WAITER_QUEUED);
    csk_gate_link(gate, waiter);
    gate->waiting++;
    if (csk_gate_lane_of(waiter) != NULL) csk_gate_lane_put(gate, waiter);
    else csk_gate_show(gate, waiter);
}

/* Takes a waiter out of the queue. The waiters of a lane stay among the arrivals until they begin, since a grant that
 * is taken back has passed nobody. */
static void take(csk_gate_t *gate, csk_gate_waiter_t *waiter, bool granted) {
    /* The next in order asked for the hand-over. Others that give up must not cancel its request. */
    if (granted || csk_gate_next(gate) == waiter) gate->hand_over = 0;
    gate->waiting--;
    if (csk_gate_lane_of(waiter) != NULL) {
        csk_gate_lane_take(gate, waiter, granted);
        if (!granted) csk_gate_unlink(gate, waiter, false);
        return;
    }
    csk_heap_remove(&gate->waiters, &waiter->node);
    csk_gate_unlink(gate, waiter, granted);
    if (csk_load(&waiter->word, CSK_RELAXED) == WORD_TRY) gate->designated = 0;
}

void csk_gate_remove(csk_gate_t *gate, csk_gate_waiter_t *waiter) { take(gate, waiter, false); }

static void tell(csk_gate_waiter_t *waiter, uint32_t word, csk_gate_effects_t *effects) {
    if (csk_exchange(&waiter->word, word, CSK_ACQ_REL) == WORD_PARKED) effects->wake = &waiter->word;
}

void csk_gate_finish(csk_gate_waiter_t *waiter, int status, csk_gate_effects_t *effects) {
    waiter->status = status;
    waiter->next_ready = NULL;
    /* A grant that needs no function leaves the clocks of its waiter running. */
    waiter->timers = waiter->grace_started && csk_waiter_state(waiter) != WAITER_GRANTED;
    csk_store(&waiter->due, 1, CSK_RELAXED);
    csk_gate_waiter_t **last = &effects->ready;
    while (*last != NULL) last = &(*last)->next_ready;
    *last = waiter;
}

/* `held` names the waiter already, or CSK_GATE_NOBODY for an asynchronous one. The waiter is not in the queue, or not
 * any more. If its grant is to be adopted, `pending` names the waiter already. */
void csk_gate_mark_granted(csk_gate_t *gate, csk_gate_waiter_t *waiter, csk_gate_effects_t *effects) {
    csk_waiter_set(waiter, WAITER_GRANTED);
    if (waiter->function == NULL) {
        tell(waiter, WORD_GRANTED, effects);
        return;
    }
    if (waiter->adoptable) {
        waiter->granted_ns = csk_platform_now();
        if (gate->waiters.root != NULL) csk_gate_start_grace(gate);
    }
    csk_gate_lane_t *lane = waiter->lane;
    if (lane != NULL && lane->function != NULL) {
        csk_store(&lane->due, 1, CSK_RELAXED);
        effects->lane = lane;
    } else csk_gate_finish(waiter, 0, effects);
}

static uint64_t holder_of(const csk_gate_waiter_t *waiter) {
    return waiter->function != NULL ? CSK_GATE_NOBODY : waiter->thread;
}

/* Takes the gate for a waiter. If the grant is to be adopted, `pending` names the waiter before `held` says NOBODY, so
 * that no child of fork finds the one without the other. */
bool csk_gate_take_for(csk_gate_t *gate, csk_gate_waiter_t *waiter) {
    if (csk_gate_holder(gate) != 0) return false; /* only the owner of the queue lock makes it NOBODY's */
    csk_gate_waiter_t *before = gate->pending;
    if (waiter->function != NULL && waiter->adoptable) gate->pending = waiter;
    bool taken = csk_gate_take(gate, holder_of(waiter));
    if (!taken) gate->pending = before;
    return taken;
}

/* The same order where a grant is over: its name is removed once `held` names another holder, or NOBODY for a grant
 * that needs no adoption. */
void csk_gate_end_pending(csk_gate_t *gate, const csk_gate_waiter_t *waiter) {
    if (gate->pending == waiter) __atomic_store_n(&gate->pending, (csk_gate_waiter_t *)NULL, __ATOMIC_RELEASE);
}

/* Gives the gate to a queued waiter. The caller holds the gate, or has just taken it for this waiter. */
void csk_gate_grant_to(csk_gate_t *gate, csk_gate_waiter_t *next, csk_gate_effects_t *effects) {
    bool forced = csk_gate_overdue(gate) == next;
    take(gate, next, true);
    if (csk_gate_lane_of(next) != NULL) next->lane->forced = forced;
    if (next->function != NULL && next->adoptable) gate->pending = next;
    csk_gate_transfer(gate, holder_of(next));
    csk_gate_mark_granted(gate, next, effects);
}

void csk_gate_designate(csk_gate_t *gate, csk_gate_waiter_t *next, csk_gate_effects_t *effects) {
    gate->designated = 1;
    tell(next, WORD_TRY, effects);
}

/* In the two-word form this is a plain store. It is ordered before a look at `held` by the unlocking of the queue, and
 * by the membarrier of those who look again. In the one-word form it ends with a locked instruction on `held`. */
void csk_gate_publish(csk_gate_t *gate) {
    uint64_t flags = 0, rank = 0;
    const csk_gate_waiter_t *next = csk_gate_next(gate);
    if (next != NULL) {
        bool hand_over = csk_gate_wants_hand_over(gate, next), count_passes = gate->bypass_limit != 0;
        flags = GATE_WAITERS | (gate->designated ? GATE_DESIGNATED : 0) | (hand_over ? GATE_HAND_OVER : 0);
        rank = count_passes ? GATE_RANK_MAX : csk_gate_biased_rank(next->node.rank);
    }
    uint64_t form = csk_load(&gate->summary, CSK_RELAXED) & (GATE_READY | GATE_ONE_WORD);
    csk_store(&gate->summary, form | flags | (gate->closed ? GATE_CLOSED : 0) | rank << GATE_RANK_SHIFT, CSK_RELEASE);
    if (form & GATE_ONE_WORD) {
        uint64_t found = csk_load(&gate->held, CSK_RELAXED), held_flags = flags >> 1;
        while (!csk_cas(&gate->held, &found, (found & ~HELD_FLAGS) | held_flags, CSK_SEQ_CST)) {}
    }
}

/* Publishes the queue. If the gate is free while somebody waits, it makes sure that somebody comes for the gate: it
 * designates the next waiter, or grants it the gate. Each change of the queue ends with this. */
void csk_gate_settle(csk_gate_t *gate, csk_gate_effects_t *effects) {
    csk_gate_publish(gate);
    csk_gate_waiter_t *next = csk_gate_next(gate);
    if (next == NULL || (csk_load(&gate->held, CSK_SEQ_CST) & ~HELD_FLAGS) != 0) return;
    if (csk_gate_wants_hand_over(gate, next)) {
        if (!csk_gate_take_for(gate, next)) return;
        csk_gate_grant_to(gate, next, effects);
    } else {
        if (gate->designated) return;
        csk_gate_designate(gate, next, effects);
    }
    csk_gate_publish(gate);
}

void csk_gate_perform(csk_gate_effects_t *effects) {
    if (effects->wake != NULL) csk_platform_wake(effects->wake, 1);
    for (csk_gate_waiter_t *waiter = effects->ready; waiter != NULL; waiter = waiter->next_ready) {
        if (waiter->deadline_started) {
            waiter->deadline_started = 0;
            csk_timer_cancel(&waiter->deadline);
        }
        if (waiter->timers) csk_timer_cancel(&waiter->grace);
        if (waiter->has_waited) csk_observe_wait(CSK_EVENT_WAIT_END, waiter->object, waiter->node.rank, waiter->since_ns, waiter->status);
    }
    csk_trampoline_run(effects->ready, effects->lane);
}

void csk_gate_perform_waiting(csk_gate_effects_t *effects) {
    csk_trampoline_begin_wait();
    csk_gate_perform(effects);
    csk_trampoline_end_wait();
}
