/* gate_lane.c: the order of lanes, under the gate's queue lock: what stands in a lane, and which of its waiters stands
 * in the gate's heap. gate_lane.h has the argument. */
#include "lock/gate_lane.h"

#include "base/raise.h"

void csk_gate_lane_begin_in_child(csk_gate_lane_t *lane) {
    lane->waiters.root = lane->lost.root = NULL;
    lane->front = NULL;
    lane->granted = lane->stalled = lane->forced = 0;
    csk_store(&lane->due, 0, CSK_RELAXED);
    lane->mark = csk_process_mark();
}

/* The lane is not in use, and none of its blocks is to come. (Waiters without a front wait for one of these two.) */
static bool is_idle(const csk_gate_lane_t *lane) {
    return lane->front == NULL && !lane->stalled && lane->lost.root == NULL;
}

static csk_gate_lane_t **list_of(csk_gate_lanes_t *lanes, uint64_t key) {
    return &lanes->lists[key * UINT64_C(0x9E3779B97F4A7C15) >> 60];
}

csk_gate_lane_t *csk_gate_lane_find(csk_gate_lanes_t *lanes, uint64_t key, bool is_queue, csk_gate_lane_t **spare) {
    csk_gate_lane_t **list = list_of(lanes, key), *idle = NULL;
    for (csk_gate_lane_t *lane = *list; lane != NULL; lane = lane->next_lane) {
        if (lane->key == key && (lane->function != NULL) == is_queue) return lane;
        if (is_idle(lane)) idle = lane;
    }
    if (idle == NULL && *spare != NULL) {
        idle = *spare;
        *spare = NULL;
        idle->context = lanes->context;
        idle->next_lane = *list;
        *list = idle;
    }
    if (idle != NULL) {
        idle->key = key;
        idle->function = is_queue ? lanes->function : NULL;
    }
    return idle;
}

bool csk_gate_lane_is_idle_of(csk_gate_lanes_t *lanes, uint64_t key) {
    csk_gate_lane_t *lane = *list_of(lanes, key);
    while (lane != NULL && (lane->key != key || lane->function != NULL)) lane = lane->next_lane;
    if (lane != NULL) csk_gate_lane_know_process(lane);
    return lane == NULL || is_idle(lane);
}

csk_gate_lane_t *csk_gate_lanes_take(csk_gate_lanes_t *lanes) {
    for (int i = 0; i < 16; i++) {
        csk_gate_lane_t *lane = lanes->lists[i];
        if (lane == NULL) continue;
        lanes->lists[i] = lane->next_lane;
        return lane;
    }
    return NULL;
}

void csk_gate_start_grace(csk_gate_t *gate) {
    csk_waiter_t *pending = csk_gate_pending(gate);
    if (pending->granted_ns == 0) pending->granted_ns = csk_platform_now();
    if (pending->grace_started) return;
    pending->grace_started = 1;
    csk_cannot_fail(csk_timer_start(&pending->grace, pending->granted_ns + pending->grace_ns, pending->grace.function,
                                    gate));
}

bool csk_gate_lane_is_open(const csk_gate_lane_t *lane, const csk_waiter_t *newcomer) {
    const csk_waiter_t *lost = csk_waiter_of_node(csk_heap_top(&lane->lost));
    return !lane->stalled && (lost == NULL || csk_gate_comes_before(newcomer, lost));
}

void csk_gate_lane_show(csk_gate_t *gate, csk_gate_lane_t *lane) {
    csk_waiter_t *first = csk_gate_lane_first(lane), *lost = csk_waiter_of_node(csk_heap_top(&lane->lost));
    if (lane->granted || lane->stalled || first == NULL) return;
    if (lane->front != NULL && !csk_gate_comes_before(first, lane->front)) return;
    if (lost != NULL && !csk_gate_comes_before(first, lost)) return;
    csk_heap_remove(&lane->waiters, &first->node);
    if (lane->front != NULL) {
        csk_heap_remove(&gate->waiters, &lane->front->node);
        csk_heap_insert(&lane->waiters, &lane->front->node);
    }
    lane->front = first;
    csk_gate_show(gate, first);
}

bool csk_gate_lane_has_better(const csk_gate_lane_t *lane) {
    return lane != NULL && lane->function == NULL && lane->granted && !lane->forced &&
           csk_gate_comes_before(csk_gate_lane_first(lane), lane->front);
}

/* Puts the newest of the arrivals into its lane's heap. Where the one before it stands there too, and goes first, it
 * stands behind that one: waiters that come in order form a row, and taking the first only needs the next. */
static void append(csk_gate_lane_t *lane, csk_waiter_t *newest) {
    csk_waiter_t *before = csk_waiter_of_arrival(newest->arrival.older);
    bool in_heap = before != newest && csk_gate_lane_of(before) == lane && before != lane->front &&
                   csk_waiter_state(before) == WAITER_QUEUED;
    if (in_heap && csk_gate_comes_before(before, newest)) csk_heap_insert_behind(&before->node, &newest->node);
    else csk_heap_insert(&lane->waiters, &newest->node);
}

void csk_gate_lane_put(csk_gate_t *gate, csk_waiter_t *waiter) {
    csk_gate_lane_t *lane = waiter->lane;
    if (lane->stalled && csk_gate_lane_first(lane) == NULL) csk_gate_count_lost(gate, 1);
    append(lane, waiter);
    csk_gate_lane_show(gate, lane);
    if (csk_gate_lane_has_better(lane)) csk_gate_start_grace(gate);
}

void csk_gate_lane_grant(csk_gate_t *gate, csk_waiter_t *waiter) {
    csk_gate_lane_t *lane = waiter->lane;
    if (lane->front != NULL) {
        csk_heap_remove(&gate->waiters, &lane->front->node);
        csk_heap_insert(&lane->waiters, &lane->front->node);
    }
    lane->front = waiter;
    lane->granted = 1;
    lane->forced = 0;
}

/* One that is queued and the lane's front stands in the gate's heap, since the lane is open. */
void csk_gate_lane_raise(csk_gate_t *gate, csk_waiter_t *waiter, csk_rank_t rank) {
    csk_gate_lane_t *lane = waiter->lane;
    csk_node_raise(lane->front == waiter ? &gate->waiters : &lane->waiters, &waiter->node, rank);
    csk_gate_lane_show(gate, lane);
    if (csk_gate_lane_has_better(lane)) csk_gate_start_grace(gate);
}

void csk_gate_lane_take(csk_gate_t *gate, csk_waiter_t *waiter, bool granted) {
    csk_gate_lane_t *lane = waiter->lane;
    if (lane->front == waiter) {
        lane->front = NULL;
        csk_heap_remove(&gate->waiters, &waiter->node);
    } else csk_heap_remove(&lane->waiters, &waiter->node);
    if (granted) csk_gate_lane_grant(gate, waiter);
    else if (lane->stalled && csk_gate_lane_first(lane) == NULL) csk_gate_count_lost(gate, -1);
    else csk_gate_lane_show(gate, lane);
}
