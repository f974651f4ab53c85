#include "lock/gate_order.h"

#include "lock/gate_lane.h"

/* ---- Who is next, and who may pass ------------------------------------------------------------------------------- */

csk_waiter_t *csk_gate_next(const csk_gate_t *gate) {
    csk_waiter_t *top = csk_gate_top(gate);
    if (top == NULL) return NULL;
    if (top->node.rank == GATE_RANK_CLOSER) return !csk_gate_has_lost_grants(gate) ? top : NULL;
    csk_waiter_t *overdue = csk_gate_overdue(gate);
    return overdue != NULL ? overdue : top;
}

bool csk_gate_may_pass(const csk_gate_t *gate, const csk_heap_node_t *newcomer) {
    const csk_waiter_t *next = csk_gate_next(gate);
    if (next == NULL) return newcomer->rank != GATE_RANK_CLOSER || !csk_gate_has_lost_grants(gate);
    /* Under STRICT a gate with waiters is never free. */
    if (gate->hand_over || csk_gate_overdue(gate) != NULL) return false;
    return newcomer->rank > next->node.rank ||
           (newcomer->rank == next->node.rank && (next->function == NULL || newcomer->ticket < next->node.ticket));
}

/* How long a waiter waits before it asks for a hand-over: between 0.25 and 0.78 ms, spread so that waiters don't ask in
 * step. */
static int64_t patience_ns(const csk_waiter_t *waiter) {
    uint64_t mixed = (uint64_t)waiter->node.ticket * UINT64_C(0x9E3779B97F4A7C15);
    return 250000 + (int64_t)(mixed >> 45);
}

bool csk_gate_has_lost_patience(const csk_waiter_t *waiter) {
    return csk_platform_now() - waiter->since_ns > patience_ns(waiter);
}

/* ---- How often each was overtaken -------------------------------------------------------------------------------- */

/* Whether the waiter's lane, if it has one, lets it be granted now. A thread that was passed over is not there. */
static bool may_be_granted(const csk_waiter_t *waiter) {
    const csk_gate_lane_t *lane = csk_gate_lane_of(waiter);
    if (lane == NULL) return !csk_gate_is_passed_over(waiter);
    return !lane->granted && (lane->front == waiter || (!lane->stalled && csk_heap_top(&lane->lost) == NULL));
}

/* Finds the oldest waiter that has been passed too often and that can be granted. Counts grow with age, so the walk
 * ends at the first waiter that has not been passed too often; or at once, where the oldest is yet to go to the end; or
 * at CSK_ARRIVALS_STEPS that are under no limit, which may stand between.
 * The counts are sums of differences, and the sum is zero behind the newest waiter, so the walk ends there at the
 * latest. */
csk_waiter_t *csk_gate_find_overdue(const csk_gate_t *gate) {
    uint32_t passed = gate->oldest_bypassed, steps = CSK_ARRIVALS_STEPS;
    csk_waiter_t *waiter = csk_gate_oldest(gate);
    if (waiter->arrival.is_bounded != CSK_ARRIVAL_BOUNDED) return NULL;
    for (; passed >= csk_arrivals_limit(gate->bypass_limit); waiter = csk_waiter_of_arrival(waiter->arrival.newer)) {
        /* Waiters that lost a grant and queue again behind the closing waiter pass it. It comes after them all the
         * same. */
        if (waiter->node.rank == GATE_RANK_CLOSER) return NULL;
        bool bounded = waiter->arrival.is_bounded == CSK_ARRIVAL_BOUNDED;
        if (bounded && may_be_granted(waiter)) return waiter;
        if (!bounded && --steps == 0) return NULL;
        passed -= waiter->arrival.passed;
    }
    return NULL;
}

static csk_arrival_t *oldest_arrival(const csk_gate_t *gate) {
    csk_waiter_t *oldest = csk_gate_oldest(gate);
    return oldest == NULL ? NULL : &oldest->arrival;
}
static void set_oldest_arrival(csk_gate_t *gate, csk_arrival_t *oldest) {
    csk_gate_set_oldest(gate, csk_waiter_of_arrival(oldest));
}

/* Has some of the oldest go to the end that are under no limit, if others are. */
static void trim(csk_gate_t *gate) {
    if (CSK_LIKELY(gate->bounded == 0)) return;
    csk_arrival_t *oldest = oldest_arrival(gate), *before = oldest;
    for (int steps = CSK_ARRIVALS_STEPS; steps > 0 && oldest->is_bounded != CSK_ARRIVAL_BOUNDED; steps--) {
        gate->oldest_bypassed -= oldest->passed;
        oldest->passed = 0;
        oldest->is_bounded = CSK_ARRIVAL_BEHIND;
        oldest = oldest->newer;
    }
    if (oldest != before) set_oldest_arrival(gate, oldest);
}

void csk_gate_count_pass(csk_gate_t *gate) {
    csk_arrival_t *oldest = oldest_arrival(gate);
    if (oldest == NULL) return;
    csk_arrivals_pass_to(oldest->older, &gate->oldest_bypassed);
    trim(gate);
}

/* One that lost its grant and comes again is what it was: a waiter that is BEHIND was never under a limit. */
static void set_limit(csk_gate_t *gate, csk_waiter_t *waiter) {
    bool unnamed = waiter->arrival.is_bounded == CSK_ARRIVAL_BOUNDED;
    waiter->arrival.is_bounded = gate->bypass_limit == 0 ? unnamed : csk_gate_has_limit(gate);
    gate->bounded += waiter->arrival.is_bounded;
}

void csk_gate_link(csk_gate_t *gate, csk_waiter_t *waiter) {
    set_limit(gate, waiter);
    set_oldest_arrival(gate, csk_arrivals_link(oldest_arrival(gate), &waiter->arrival));
    trim(gate);
}

void csk_gate_unlink(csk_gate_t *gate, csk_waiter_t *waiter, bool granted) {
    csk_arrival_t *oldest = oldest_arrival(gate);
    bool passes = granted && waiter->arrival.is_bounded != CSK_ARRIVAL_BEHIND;
    set_oldest_arrival(gate, csk_arrivals_unlink(oldest, &gate->oldest_bypassed, &waiter->arrival, passes));
    if (waiter->arrival.is_bounded == CSK_ARRIVAL_BOUNDED) gate->bounded--;
    trim(gate);
}

uint32_t csk_gate_conditions_waiting(const csk_gate_t *gate) {
    const csk_gate_conditions_t *list = csk_gate_conditions(gate);
    uint32_t count = 0;
    for (const csk_gate_condition_t *at = list != NULL ? list->first : NULL; at != NULL; at = at->behind)
        count += at->chosen ? 0 : 1;
    return count;
}
