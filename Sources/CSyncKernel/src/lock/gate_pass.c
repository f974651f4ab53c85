/* gate_pass.c: a task that runs enters before one that was granted the gate and has yet to be started. gate_lane.h has
 * the argument: whose grant may be taken, and how often. */
#include "lock/gate_queue.h"
#include "lock/gate_section.h"

/* Called under the queue lock. `pending` has the grant. */
static bool may_take(const csk_gate_t *gate, const csk_waiter_t *pending, csk_rank_t rank, int64_t now_ns) {
    const csk_gate_lane_t *lane = csk_gate_lane_of(pending);
    if (gate->policy == CSK_GATE_STRICT || lane == NULL || lane->function != NULL || lane->forced) return false;
    if (csk_gate_overdue(gate) != NULL) return false;
    const csk_waiter_t *next = csk_gate_next(gate);
    if (next != NULL && rank < next->node.rank) return false;
    if (rank != pending->node.rank) return rank > pending->node.rank;
    int64_t ended_ns = pending->granted_ns != 0 ? pending->granted_ns : now_ns;
    return pending->passed < GATE_PASSES && csk_gate_was_brief(gate, ended_ns);
}

typedef struct {
    csk_heap_node_t node;
    csk_gate_lanes_t *lanes;
    uint64_t key;
} newcomer_t;

/* Called under the queue lock. Takes a free gate, or the grant of a task that has not begun. */
static bool enter_locked(csk_gate_t *gate, const newcomer_t *newcomer, int64_t now_ns) {
    csk_waiter_t *pending = csk_gate_pending(gate);
    int64_t ended_ns = now_ns;
    if (gate->closed || csk_gate_has_lost_grants(gate)) return false;
    if (newcomer->lanes != NULL && !csk_gate_lane_is_idle_of(newcomer->lanes, newcomer->key)) return false;
    if (csk_gate_holder(gate) == CSK_GATE_NOBODY && pending != NULL) {
        if (!may_take(gate, pending, newcomer->node.rank, now_ns)) return false;
        if (pending->granted_ns != 0) ended_ns = pending->granted_ns;
        csk_gate_lane_pass(gate, pending);
    } else if (!csk_gate_may_pass(gate, &newcomer->node) || !csk_gate_take(gate, csk_self())) return false;
    csk_gate_begin_section(gate, ended_ns, now_ns);
    csk_gate_count_pass(gate);
    csk_gate_publish(gate);
    return true;
}

static bool enter(csk_gate_t *gate, const newcomer_t *newcomer, int64_t now_ns) {
    csk_gate_lock_queue(gate);
    bool entered = enter_locked(gate, newcomer, now_ns);
    csk_queue_unlock(&gate->queue_lock);
    return entered;
}

/* Returns true once the thread that holds the gate has left it, false if that is not to be expected within a moment. */
static bool await_end(const csk_gate_t *gate, csk_spin_t *spin) {
    while (gate->policy != CSK_GATE_STRICT && csk_gate_ends_soon(gate, spin->now_ns) && csk_spin(spin))
        if (!csk_gate_has_thread(gate)) return true;
    return false;
}

int csk_gate_trylock_keyed(csk_gate_t *gate, csk_rank_t rank, csk_gate_lanes_t *lanes, uint64_t key) {
    if (!csk_is_rank_or_unnamed(rank)) return EINVAL;
    newcomer_t newcomer = { { .rank = csk_rank_in_order(rank), .ticket = INT64_MAX }, lanes, key };
    csk_gate_prepare(gate);
    csk_spin_t spin = csk_spin_begin(CSK_SPIN_NS);
    int64_t came_ns = csk_tell_came(spin.now_ns), since_ns = 0;
    do {
        if (!csk_gate_has_thread(gate) && enter(gate, &newcomer, spin.now_ns)) {
            csk_tell_entered(gate, CSK_OBJECT_GATE, newcomer.node.rank, since_ns, true);
            return 0;
        }
        since_ns = came_ns;
    } while (await_end(gate, &spin));
    return EBUSY;
}
