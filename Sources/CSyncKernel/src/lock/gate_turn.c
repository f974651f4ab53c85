/* gate_turn.c: the waiters of lanes begin, lose their grants and come again. gate_lane.h has the argument. */
#include "base/ordering.h"
#include "lock/gate_await.h"
#include "lock/gate_queue.h"
#include "lock/gate_section.h"

/* The lane's first: the first among the waiter that has the grant, if any, and those that wait. If the bypass limit
 * chose the one that has the grant, that choice stays. */
static csk_waiter_t *first_to_begin(const csk_gate_t *gate, const csk_gate_lane_t *lane) {
    csk_waiter_t *first = csk_gate_lane_first(lane);
    if (lane->granted) return lane->forced || !csk_gate_comes_before(first, lane->front) ? lane->front : first;
    csk_waiter_t *overdue = csk_gate_overdue(gate);
    return overdue != NULL && overdue->lane == lane && csk_gate_lane_of(overdue) != NULL ? overdue : first;
}

static void queue_again(csk_gate_t *gate, csk_waiter_t *waiter) {
    csk_waiter_set(waiter, WAITER_QUEUED);
    gate->waiting++;
    csk_heap_insert(&waiter->lane->waiters, &waiter->node);
}

/* A waiter whose grant is over waits again, under its ticket. Its deadline counts again. Returns true when it had not
 * waited so far. */
static bool wait_again(csk_gate_t *gate, csk_waiter_t *waiter) {
    bool newly = !waiter->has_waited;
    csk_waiter_begin_again(waiter, CSK_OBJECT_GATE);
    waiter->stays = 0;
    if (csk_waiter_state(waiter) != WAITER_QUEUED) queue_again(gate, waiter);
    csk_waiter_start_deadline(waiter, &csk_gate_queue_kind);
    return newly;
}

/* The lane has no grant any more. The gate is another's already, or the caller takes care of that and of `pending`. */
static void leave_grant(csk_gate_lane_t *lane) {
    lane->granted = lane->forced = 0;
    lane->front = NULL;
}
static void end_grant(csk_gate_t *gate, csk_gate_lane_t *lane) {
    csk_gate_end_pending(gate, csk_gate_pending(gate));
    leave_grant(lane);
}

bool csk_gate_lane_lose(csk_gate_t *gate, csk_waiter_t *waiter) {
    csk_gate_lane_t *lane = waiter->lane;
    leave_grant(lane);
    csk_gate_count_lost(gate, 1);
    if (lane->function != NULL) {
        lane->stalled = 1;
        return wait_again(gate, waiter);
    }
    csk_waiter_set(waiter, WAITER_LOST);
    csk_heap_insert(&lane->lost, &waiter->node);
    csk_gate_lane_show(gate, lane);
    return false;
}

void csk_gate_lane_pass(csk_gate_t *gate, csk_waiter_t *pending) {
    csk_gate_transfer(gate, csk_self()); /* before the grant ends: a child of fork must find the grant or the holder */
    end_grant(gate, pending->lane);
    pending->stays = 1;
    if (pending->passed < GATE_PASSES) pending->passed++;
    queue_again(gate, pending);
    csk_gate_lane_show(gate, pending->lane);
}

enum { STOP_DEADLINE = 1, STOP_GRACE = 2 };

/* Called under the queue lock. The waiter is its caller's again. Returns the clocks that must be stopped, without the
 * lock, before the caller has the waiter. */
static int give_back(csk_gate_t *gate, csk_waiter_t *waiter, bool begins) {
    int clocks = (waiter->deadline_started ? STOP_DEADLINE : 0) | (waiter->grace_started ? STOP_GRACE : 0);
    csk_gate_unlink(gate, waiter, begins);
    csk_waiter_set(waiter, WAITER_IDLE);
    waiter->deadline_started = waiter->grace_started = 0;
    return clocks;
}

static void stop_clocks(csk_waiter_t *waiter, int clocks) {
    if (clocks & STOP_DEADLINE) csk_timer_cancel(&waiter->deadline);
    if (clocks & STOP_GRACE) csk_timer_cancel(&waiter->grace);
}

/* ---- Queues ------------------------------------------------------------------------------------------------------ */

typedef struct {
    int status, clocks;
    csk_waiter_t *first;
    bool newly_waits;
    csk_rank_t rank; /* of the waiter that newly waits, which may be gone by the time that this is reported */
} begun_t;

static void begin_granted(csk_gate_t *gate, csk_gate_lane_t *lane, begun_t *begun) {
    csk_waiter_t *granted = lane->front, *first = first_to_begin(gate, lane);
    csk_gate_transfer(gate, csk_self()); /* before the grant ends: a child of fork must find the grant or the holder */
    end_grant(gate, lane);
    if (first != granted) {
        csk_heap_remove(&lane->waiters, &first->node);
        gate->waiting--;
        begun->rank = granted->node.rank;
        begun->newly_waits = wait_again(gate, granted);
    }
    begun->first = first;
}

/* The queue has come after its lane's grant was lost. The lane's first is the gate's next, or has its place in the
 * gate's order again. */
static void begin_stalled(csk_gate_t *gate, csk_gate_lane_t *lane, begun_t *begun) {
    lane->stalled = 0;
    begun->status = EAGAIN;
    if (csk_gate_lane_first(lane) == NULL) return;
    csk_gate_count_lost(gate, -1);
    csk_waiter_t *first = first_to_begin(gate, lane);
    if (!csk_gate_may_pass(gate, &first->node) || !csk_gate_take(gate, csk_self())) return;
    csk_heap_remove(&lane->waiters, &first->node);
    gate->waiting--;
    begun->first = first;
    begun->status = 0;
}

int csk_gate_begin(csk_gate_t *gate, csk_gate_lane_t *lane, csk_waiter_t **waiter) {
    csk_effects_t effects = { 0 };
    begun_t begun = { 0 };
    csk_gate_lock_queue(gate);
    csk_gate_lane_know_process(lane);
    if (lane->function != NULL && lane->granted) begin_granted(gate, lane, &begun);
    else if (lane->stalled) begin_stalled(gate, lane, &begun);
    else begun.status = EINVAL;
    if (begun.first != NULL) begun.clocks = give_back(gate, begun.first, true);
    csk_gate_lane_show(gate, lane);
    bool look_again = false;
    if (begun.status == 0) csk_gate_publish(gate); /* this thread holds the gate: it looks when it leaves */
    else look_again = csk_gate_settle(gate, &effects);
    csk_queue_unlock(&gate->queue_lock);
    if (begun.newly_waits) csk_tell_event(CSK_EVENT_WAIT_BEGIN, gate, begun.rank, 0);
    if (begun.first != NULL) {
        stop_clocks(begun.first, begun.clocks);
        if (begun.first->has_waited) csk_waiter_note_end(begun.first, gate, 0);
        *waiter = begun.first;
    }
    csk_effects_perform(&effects);
    if (look_again) csk_gate_look_again(gate);
    return begun.status;
}

int csk_gate_unlock_lane(csk_gate_t *gate, csk_gate_lane_t *lane, uint64_t key, bool *goes_on) {
    *goes_on = false;
    if (!csk_gate_is_mine(gate)) return EPERM;
    csk_gate_look_at_conditions(gate);
    if (csk_load(&gate->summary, CSK_RELAXED) & GATE_WAITERS) {
        csk_effects_t effects = { 0 };
        csk_gate_lock_queue(gate);
        csk_waiter_t *next = csk_gate_next(gate);
        if (next != NULL && csk_gate_lane_of(next) == lane && lane->key == key && lane->function != NULL) {
            csk_gate_grant_to(gate, next, &effects);
            csk_gate_publish(gate);
            csk_store(&lane->due, 0, CSK_RELAXED);
            *goes_on = true;
        }
        bool ordered = *goes_on && csk_gate_is_ordered(gate);
        csk_queue_unlock(&gate->queue_lock);
        if (ordered) csk_current_ordering()->leaves(gate);
    }
    return *goes_on ? 0 : csk_gate_unlock(gate);
}

/* ---- Executors --------------------------------------------------------------------------------------------------- */

static bool has_grant(const csk_gate_t *gate, const csk_waiter_t *waiter) {
    return csk_waiter_state(waiter) == WAITER_GRANTED && csk_gate_pending(gate) == waiter &&
           waiter->lane->function == NULL;
}

static bool was_taken(const csk_waiter_t *waiter) {
    return csk_waiter_state(waiter) == WAITER_QUEUED && csk_gate_is_on_its_way(waiter);
}

/* `looks` receives whether the gate is likely to be the waiter's within a moment. */
static int adopt(csk_gate_t *gate, csk_waiter_t *waiter, int64_t now_ns, bool *looks) {
    csk_gate_lane_t *lane = waiter->lane;
    int clocks = 0, status = EINVAL;
    csk_gate_lock_queue(gate);
    bool taken = was_taken(waiter), lost = taken || csk_waiter_state(waiter) == WAITER_LOST;
    *looks = taken && csk_gate_next(gate) == waiter && csk_gate_ends_soon(gate, now_ns);
    if (lost || (has_grant(gate, waiter) && csk_gate_lane_has_better(lane))) status = EAGAIN;
    else if (has_grant(gate, waiter)) {
        status = 0;
        csk_gate_begin_section(gate, waiter->granted_ns != 0 ? waiter->granted_ns : now_ns, now_ns);
        csk_gate_transfer(gate, csk_self());
        end_grant(gate, lane);
        clocks = give_back(gate, waiter, true);
        csk_gate_lane_show(gate, lane);
        csk_gate_publish(gate);
    }
    csk_queue_unlock(&gate->queue_lock);
    stop_clocks(waiter, clocks);
    return status;
}

int csk_gate_lane_adopt(csk_gate_t *gate, csk_waiter_t *waiter) {
    csk_spin_t spin = csk_spin_begin(CSK_SPIN_NS);
    bool looks;
    int status = adopt(gate, waiter, spin.now_ns, &looks);
    while (looks && csk_spin(&spin)) {
        if (!csk_gate_has_thread(gate)) status = adopt(gate, waiter, spin.now_ns, &looks);
    }
    return status;
}

/* Gives the lane's grant to the first of the lane's waiters. The one that gives the grant up is among them. */
static void pass_grant(csk_gate_t *gate, csk_gate_lane_t *lane, csk_effects_t *effects) {
    csk_waiter_t *first = csk_gate_lane_first(lane);
    csk_gate_name_pending(gate, first); /* directly from one to the other: see csk_gate_take_for */
    leave_grant(lane);
    csk_heap_remove(&lane->waiters, &first->node);
    gate->waiting--;
    csk_gate_lane_grant(gate, first);
    csk_gate_mark_granted(gate, first, effects);
}

/* Called under the queue lock. From now on there is no lost grant of this waiter to wait for. */
static void settle_lost(csk_gate_t *gate, csk_waiter_t *waiter) {
    csk_heap_remove(&waiter->lane->lost, &waiter->node);
    csk_gate_count_lost(gate, -1);
}

int csk_gate_lane_relock(csk_gate_t *gate, csk_waiter_t *waiter) {
    csk_effects_t effects = { 0 };
    csk_rank_t rank = waiter->node.rank;
    csk_gate_lock_queue(gate);
    bool lost = csk_waiter_state(waiter) == WAITER_LOST, granted = has_grant(gate, waiter);
    bool waits = lost || granted || was_taken(waiter);
    if (waits) {
        gate->next_ticket++; /* the waiter keeps its own ticket, but gate_watch.c counts arrivals by this */
        if (lost) settle_lost(gate, waiter);
        wait_again(gate, waiter);
        if (granted) pass_grant(gate, waiter->lane, &effects);
        else csk_gate_lane_show(gate, waiter->lane);
    }
    bool look_again = csk_gate_settle(gate, &effects);
    csk_queue_unlock(&gate->queue_lock);
    if (waits) csk_tell_event(CSK_EVENT_WAIT_BEGIN, gate, rank, 0);
    csk_effects_perform(&effects);
    if (look_again) csk_gate_look_again(gate);
    return waits ? 0 : EINVAL;
}

int csk_gate_lane_forget(csk_gate_t *gate, csk_waiter_t *waiter) {
    csk_effects_t effects = { 0 };
    int clocks = 0;
    csk_gate_lock_queue(gate);
    csk_gate_lane_know_process(waiter->lane);
    bool lost = csk_waiter_state(waiter) == WAITER_LOST, granted = has_grant(gate, waiter), taken = was_taken(waiter);
    if (lost) settle_lost(gate, waiter);
    if (taken) {
        gate->waiting--;
        csk_gate_lane_take(gate, waiter, false);
    }
    if (lost || granted || taken) clocks = give_back(gate, waiter, false);
    /* The waiter that came before this one may be gone by now. So the gate chooses the next, and not the lane: this
     * thread becomes the holder, and leaves. */
    if (granted) {
        csk_gate_transfer(gate, csk_self());
        end_grant(gate, waiter->lane);
    }
    csk_gate_lane_show(gate, waiter->lane);
    /* The closing waiter may show now, and may be the first waiter that does. */
    bool look_again = csk_gate_settle(gate, &effects) && !granted;
    csk_queue_unlock(&gate->queue_lock);
    stop_clocks(waiter, clocks);
    csk_effects_perform(&effects);
    if (look_again) csk_gate_look_again(gate);
    if (granted) csk_gate_unlock(gate);
    return lost || granted || taken ? 0 : EINVAL;
}
