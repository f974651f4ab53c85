/* gate_async.c: asynchronous waiters: their deadlines, cancellation, provisional grants, and closing. */
#include "base/raise.h"
#include "lock/gate_await.h"
#include "lock/gate_queue.h"
#include "wait/watch.h"

static const int64_t first_grace_ns = 1000000;
static const int64_t longest_grace_ns = 1000000000;

static csk_waiter_t *waiter_of_grace(csk_timer_t *timer) {
    return (csk_waiter_t *)((char *)timer - offsetof(csk_waiter_t, grace));
}

/* Whether the pending grant may be taken back now. If the function of its lane has not yet taken hold of the lane, that
 * function starts the clock anew. If this was the clock of an earlier grant, it runs on. */
static bool is_over(csk_gate_t *gate, csk_waiter_t *pending) {
    uint8_t due = 1;
    if (pending->lane != NULL) {
        if (csk_cas(&pending->lane->due, &due, 2, CSK_RELAXED)) return false;
        /* Acquire: what follows a loss finds what that function has done to keep the lane. */
        if (csk_load(&pending->lane->due, CSK_ACQUIRE) != 0) return false;
    }
    /* A task on its way was granted the gate before, and the clock began then: a taking gives no new grace. */
    if (csk_gate_is_on_its_way(pending)) return true;
    if (csk_platform_now() >= pending->granted_ns + pending->grace_ns) return true;
    csk_gate_start_grace(gate);
    return false;
}

void csk_gate_restart_grace(csk_gate_t *gate) {
    csk_gate_lock_queue(gate);
    if (csk_gate_pending(gate) != NULL && (gate->waiters.root != NULL || csk_gate_conditions(gate) != NULL)) {
        csk_gate_pending(gate)->granted_ns = csk_platform_now();
        csk_gate_start_grace(gate);
    }
    csk_queue_unlock(&gate->queue_lock);
}

/* A grant was not adopted in time. If others wait, the gate goes to the next of them. The waiter keeps its ticket. */
static void grace_ended(csk_timer_t *timer, void *context) {
    csk_gate_t *gate = context;
    csk_waiter_t *waiter = waiter_of_grace(timer);
    csk_effects_t effects = { 0 };
    csk_rank_t rank = 0;
    int64_t since_ns = 0;
    csk_gate_lock_queue(gate);
    waiter->grace_started = 0;
    csk_waiter_t *next = csk_gate_next(gate);
    bool lost = csk_gate_pending(gate) == waiter && is_over(gate, waiter), newly_waits = false;
    bool waits = next != NULL && next->node.rank != GATE_RANK_CLOSER, leaves = false;
    if (lost && !waits && !csk_gate_lane_has_better(waiter->lane)) {
        /* Only waiters for predicates are kept from the gate, if any are. It is left in their favour. */
        lost = leaves = csk_gate_conditions(gate) != NULL;
    }
    if (lost) {
        rank = waiter->node.rank;
        since_ns = waiter->since_ns != 0 ? waiter->since_ns : waiter->granted_ns;
        waiter->grace_ns = waiter->grace_ns > longest_grace_ns / 2 ? longest_grace_ns : waiter->grace_ns * 2;
        waiter->grace_started = 1; /* so that no clock is started: `pending` names it until the gate is another's */
        if (waiter->lane != NULL) newly_waits = csk_gate_lane_lose(gate, waiter);
        else {
            csk_gate_count_lost(gate, 1);
            csk_waiter_set(waiter, WAITER_LOST);
        }
        if (leaves) csk_gate_transfer(gate, csk_self());
        else csk_gate_grant_to(gate, csk_gate_next(gate), &effects);
        csk_gate_end_pending(gate, waiter);
        waiter->grace_started = 0;
        csk_gate_publish(gate);
    }
    csk_queue_unlock(&gate->queue_lock);
    if (newly_waits) csk_tell_event(CSK_EVENT_WAIT_BEGIN, gate, rank, 0);
    if (lost) csk_tell_event(CSK_EVENT_GRANT_LOST, gate, rank, since_ns);
    csk_effects_perform(&effects);
    if (leaves) csk_gate_unlock(gate);
}

/* Called under the queue lock. Grants the gate to the waiter if it may have it now, or queues the waiter. Returns
 * whether the caller must look again. */
static bool grant_or_insert(csk_gate_t *gate, csk_waiter_t *waiter, csk_effects_t *effects) {
    bool inserted = false;
    csk_gate_lane_t *lane = waiter->lane;
    /* One that is granted at once is to cost the least: without the hint gcc 12 jumps once more on its way. */
    if (CSK_LIKELY(csk_gate_holder(gate) == 0 && (lane == NULL || csk_gate_lane_is_open(lane, waiter)) &&
                   csk_gate_may_pass(gate, &waiter->node) && csk_gate_take_for(gate, waiter))) {
        if (lane != NULL) {
            csk_gate_link(gate, waiter);
            csk_gate_lane_grant(gate, waiter);
            waiter->passed = GATE_PASSES;
        } else csk_gate_count_pass(gate);
        csk_gate_mark_granted(gate, waiter, effects);
    } else {
        inserted = true;
        csk_gate_insert(gate, waiter);
    }
    /* One that stands behind others in its lane changes nothing of what is published, nor which waiter comes for the
     * gate; unless the list of arrivals came to an overdue waiter. */
    bool shows = lane == NULL || lane->front == waiter || csk_gate_overdue(gate) != NULL,
         first = shows && csk_gate_settle(gate, effects);
    return inserted && first;
}

/* Until its function is called, a waiter is in some thread's list of functions that are due. Once the function is
 * called, a grant that needs no adoption is over for the waiter. */
static bool is_in_use(const csk_waiter_t *waiter) {
    if (csk_waiter_is_due(waiter)) return true;
    return csk_waiter_state(waiter) != WAITER_IDLE && (csk_waiter_state(waiter) != WAITER_GRANTED || waiter->adoptable);
}

typedef struct {
    csk_request_t request; /* the first: csk_waiter_come gives it back. It stays where the gate is closed by it. */
    csk_gate_lane_t *lane;
    bool adoptable;
    /* Where the lane has yet to be found. */
    csk_gate_lanes_t *lanes;
    csk_gate_lane_t **spare;
    uint64_t key;
    bool is_queue;
} request_t;

static int refusal(void *object, const csk_waiter_t *waiter, csk_request_t *wanted) {
    csk_gate_t *gate = object;
    request_t *request = (request_t *)wanted;
    bool busy = is_in_use(waiter) || (wanted->stays && csk_gate_conditions(gate) != NULL);
    int status = gate->closed ? ESHUTDOWN : busy ? EBUSY : 0;
    if (status == 0 && request->lanes != NULL) {
        request->lane = csk_gate_lane_find(request->lanes, request->key, request->is_queue, request->spare);
        if (request->lane == NULL) status = ENOBUFS;
    }
    if (request->lane != NULL) csk_gate_lane_know_process(request->lane);
    return status;
}

static int place(void *object, csk_waiter_t *waiter, const csk_request_t *wanted, csk_effects_t *effects) {
    csk_gate_t *gate = object;
    const request_t *request = (const request_t *)wanted;
    waiter->lane = request->lane;
    waiter->adoptable = request->adoptable;
    waiter->grace.function = grace_ended; /* for csk_gate_start_grace, which knows nothing of callbacks */
    waiter->passed = csk_gate_place != NULL ? GATE_PASSES : 0; /* a condition's function queues it */
    csk_waiter_give_rank(waiter, wanted->rank);
    waiter->node.ticket = csk_gate_ticket(gate, waiter->node.rank);
    uint32_t grace_us = gate->grace_and_place >> 1;
    waiter->grace_ns = grace_us != 0 ? grace_us * INT64_C(1000) : first_grace_ns;
    gate->closed = wanted->stays;
    return grant_or_insert(gate, waiter, effects) ? CSK_LOOK_AGAIN : 0;
}

static const csk_way_in_t way_in = { &csk_gate_queue_kind, csk_gate_lock_for_waiter, refusal, place, false };

/* Only the closing waiter has a rank that is none of the caller's. */
static int queue_waiter(csk_gate_t *gate, csk_waiter_t *waiter, request_t *request) {
    if (!csk_is_rank_or_unnamed(request->request.rank) && !request->request.stays) return EINVAL;
    int error = request->adoptable ? csk_timer_prepare() : 0; /* for its grace */
    if (error != 0) return error;
    csk_gate_prepare(gate);
    return csk_waiter_come(&way_in, gate, waiter, &request->request);
}

int csk_gate_lock_async_ranked(csk_gate_t *gate, csk_rank_t rank, csk_waiter_t *waiter, bool adoptable,
                               int64_t deadline_ns, csk_waiter_function_t function, void *context) {
    request_t request = { { function, context, deadline_ns, rank, 0, false }, .adoptable = adoptable };
    return queue_waiter(gate, waiter, &request);
}

int csk_gate_lock_lane(csk_gate_t *gate, csk_rank_t rank, csk_waiter_t *waiter, csk_gate_lane_t *lane,
                       int64_t deadline_ns, csk_waiter_function_t function, void *context) {
    if (lane == NULL) return EINVAL;
    request_t request = { { function, context, deadline_ns, rank, 0, false }, .lane = lane, .adoptable = true };
    return queue_waiter(gate, waiter, &request);
}

int csk_gate_lock_keyed(csk_gate_t *gate, csk_rank_t rank, csk_waiter_t *waiter, csk_gate_lanes_t *lanes, uint64_t key,
                        bool is_queue, csk_gate_lane_t **spare, int64_t deadline_ns, csk_waiter_function_t function,
                        void *context) {
    if (lanes == NULL || spare == NULL) return EINVAL;
    request_t request = { { function, context, deadline_ns, rank, 0, false },
                          .adoptable = true,
                          .lanes = lanes,
                          .spare = spare,
                          .key = key,
                          .is_queue = is_queue };
    return queue_waiter(gate, waiter, &request);
}

int csk_gate_lock_async(csk_gate_t *gate, int32_t priority, csk_waiter_t *waiter, int64_t deadline_ns,
                        csk_waiter_function_t function, void *context) {
    return csk_gate_lock_async_ranked(gate, csk_rank(priority, CSK_PLACE_BACK), waiter, false, deadline_ns, function,
                                      context);
}

int csk_gate_close(csk_gate_t *gate, csk_waiter_t *waiter, csk_waiter_function_t function, void *context) {
    request_t request = { { function, context, CSK_NEVER, GATE_RANK_CLOSER, 0, true }, .adoptable = false };
    return queue_waiter(gate, waiter, &request);
}

int csk_gate_cancel(csk_gate_t *gate, csk_waiter_t *waiter) {
    return csk_waiter_cancel(&csk_gate_queue_kind, gate, waiter);
}

/* To the rest of the gate this is a waiter that comes, and that has its ticket already. */
int csk_gate_raise(csk_gate_t *gate, csk_rank_t rank, csk_waiter_t *waiter) {
    if (!csk_is_rank(rank)) return EINVAL;
    csk_effects_t effects = { 0 };
    csk_gate_lock_queue(gate);
    bool waits = csk_waiter_state(waiter) == WAITER_QUEUED && !waiter->stays, look_again = false;
    if (waits && rank > waiter->node.rank) {
        gate->next_ticket++; /* gate_watch.c counts arrivals at the queue by the tickets */
        if (waiter->lane != NULL) csk_gate_lane_raise(gate, waiter, rank);
        else csk_node_raise(&gate->waiters, &waiter->node, rank);
        look_again = csk_gate_settle(gate, &effects);
    }
    csk_gate_finish(gate, look_again, &effects);
    return waits ? 0 : ENOENT;
}

int csk_gate_adopt(csk_gate_t *gate, csk_waiter_t *waiter) {
    if (waiter->lane != NULL) return csk_gate_lane_adopt(gate, waiter);
    csk_gate_lock_queue(gate);
    int status = csk_waiter_state(waiter) == WAITER_GRANTED ? 0
                 : csk_waiter_state(waiter) == WAITER_LOST  ? EAGAIN
                                                            : EINVAL;
    /* A waiter whose grant was unlocked already must not take the gate from its present holder, or from one that is
     * about to adopt it. */
    bool is_others = csk_gate_holder(gate) != CSK_GATE_NOBODY ||
                     (csk_gate_pending(gate) != NULL && csk_gate_pending(gate) != waiter);
    if (status == 0 && is_others) status = EINVAL;
    if (status == 0) {
        csk_waiter_set(waiter, WAITER_IDLE);
        csk_gate_transfer(gate, csk_self());
        csk_gate_end_pending(gate, waiter);
    }
    bool stop_grace = waiter->grace_started;
    waiter->grace_started = 0;
    csk_queue_unlock(&gate->queue_lock);
    if (stop_grace) csk_timer_cancel(&waiter->grace);
    return status;
}

/* Called under the queue lock. Returns whether `waiter` had lost its grant. If so it has no claim any more. */
static bool settle_lost(csk_gate_t *gate, csk_waiter_t *waiter) {
    if (csk_waiter_state(waiter) != WAITER_LOST) return false;
    csk_waiter_set(waiter, WAITER_IDLE);
    csk_gate_count_lost(gate, -1);
    return true;
}

int csk_gate_relock_async(csk_gate_t *gate, csk_waiter_t *waiter) {
    if (waiter->lane != NULL) return csk_gate_lane_relock(gate, waiter);
    csk_effects_t effects = { 0 };
    csk_gate_lock_queue(gate);
    bool lost = settle_lost(gate, waiter);
    gate->next_ticket++; /* the waiter keeps its own ticket, but gate_watch.c counts arrivals by this */
    if (!lost) {
        csk_queue_unlock(&gate->queue_lock);
        return EINVAL;
    }
    waiter->has_waited = 0;
    csk_rank_t rank = waiter->node.rank;
    bool look_again = grant_or_insert(gate, waiter, &effects);
    csk_waiter_has_come(&way_in, gate, waiter, &gate->queue_lock, rank, look_again, &effects);
    return 0;
}

int csk_gate_forget(csk_gate_t *gate, csk_waiter_t *waiter) {
    if (waiter->lane != NULL) return csk_gate_lane_forget(gate, waiter);
    csk_effects_t effects = { 0 };
    csk_gate_lock_queue(gate);
    bool lost = settle_lost(gate, waiter);
    /* The closing waiter may show now, and may be the first waiter that does. */
    bool look_again = csk_gate_settle(gate, &effects);
    csk_gate_finish(gate, look_again, &effects);
    return lost ? 0 : EINVAL;
}
