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
    for (csk_gate_waiter_t *waiter = csk_gate_oldest(gate); passed >= gate->bypass_limit; waiter = waiter->newer) {
        /* Waiters that lost a grant and queue again behind the closing waiter pass it. It comes after them all the
         * same. */
        if (waiter->node.rank == GATE_RANK_CLOSER) return NULL;
        if (may_be_granted(waiter)) return waiter;
        passed -= waiter->bypassed;
    }
    return NULL;
}

void csk_gate_count_pass(csk_gate_t *gate) {
    csk_gate_waiter_t *oldest = csk_gate_oldest(gate);
    if (oldest == NULL) return;
    oldest->older->bypassed++;
    gate->oldest_bypassed++;
}

void csk_gate_link(csk_gate_t *gate, csk_gate_waiter_t *waiter) {
    csk_gate_waiter_t *oldest = csk_gate_oldest(gate);
    waiter->bypassed = 0;
    if (oldest == NULL) {
        waiter->older = waiter->newer = waiter;
        csk_gate_set_oldest(gate, waiter);
    } else {
        csk_gate_waiter_t *newest = oldest->older;
        waiter->older = newest;
        waiter->newer = oldest;
        newest->newer = waiter;
        oldest->older = waiter;
    }
}

void csk_gate_unlink(csk_gate_t *gate, csk_gate_waiter_t *waiter, bool granted) {
    if (waiter == csk_gate_oldest(gate)) {
        gate->oldest_bypassed -= waiter->bypassed;
        csk_gate_set_oldest(gate, waiter->newer == waiter ? NULL : waiter->newer);
    } else {
        waiter->older->bypassed += waiter->bypassed + (granted ? 1 : 0);
        gate->oldest_bypassed += granted ? 1 : 0;
    }
    waiter->older->newer = waiter->newer;
    waiter->newer->older = waiter->older;
}
