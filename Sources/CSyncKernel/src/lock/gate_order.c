#include "lock/gate_order.h"

#include "lock/gate_lane.h"

/* Whether the waiter's lane, if it has one, lets it be granted now. A thread that was passed over is not there. */
static bool may_be_granted(const csk_gate_waiter_t *waiter) {
    const csk_gate_lane_t *lane = csk_gate_lane_of(waiter);
    if (lane == NULL) return !csk_gate_is_passed_over(waiter);
    return !lane->granted && (lane->front == waiter || (!lane->stalled && csk_heap_top(&lane->lost) == NULL));
}

/* Finds the oldest waiter that has been passed too often and that can be granted. Counts grow with age, so the walk
 * ends at the first waiter that has not been passed too often. The counts are sums of differences, and the sum is zero
 * behind the newest waiter, so the walk ends there at the latest. */
csk_gate_waiter_t *csk_gate_find_overdue(const csk_gate_t *gate) {
    uint32_t passed = gate->oldest_bypassed;
    csk_gate_waiter_t *waiter = csk_gate_oldest(gate);
    for (; passed >= gate->bypass_limit; waiter = csk_waiter_of_arrival(waiter->arrival.newer)) {
        /* Waiters that lost a grant and queue again behind the closing waiter pass it. It comes after them all the
         * same. */
        if (waiter->node.rank == GATE_RANK_CLOSER) return NULL;
        if (may_be_granted(waiter)) return waiter;
        passed -= waiter->arrival.passed;
    }
    return NULL;
}

static csk_arrival_t *oldest_arrival(const csk_gate_t *gate) {
    csk_gate_waiter_t *oldest = csk_gate_oldest(gate);
    return oldest == NULL ? NULL : &oldest->arrival;
}
static void set_oldest_arrival(csk_gate_t *gate, csk_arrival_t *oldest) {
    csk_gate_set_oldest(gate, csk_waiter_of_arrival(oldest));
}

void csk_gate_count_pass(csk_gate_t *gate) {
    csk_arrival_t *oldest = oldest_arrival(gate);
    if (oldest == NULL) return;
    oldest->older->passed++;
    gate->oldest_bypassed++;
}

void csk_gate_link(csk_gate_t *gate, csk_gate_waiter_t *waiter) {
    set_oldest_arrival(gate, csk_arrivals_link(oldest_arrival(gate), &waiter->arrival));
}

void csk_gate_unlink(csk_gate_t *gate, csk_gate_waiter_t *waiter, bool granted) {
    csk_arrival_t *oldest = oldest_arrival(gate);
    set_oldest_arrival(gate, csk_arrivals_unlink(oldest, &gate->oldest_bypassed, &waiter->arrival, granted));
}
