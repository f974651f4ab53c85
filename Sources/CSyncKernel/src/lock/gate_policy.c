#include "lock/gate_policy.h"

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
