#include "workqueue_model_parts.h"

/* ---- Works that will not run ------------------------------------------------------------------------------------- */

/* All are told; drains that wait for any of them wait for the telling. */
void end_telling(void) {
    frame_t telling = *top();
    pop();
    end_life(telling.queue, telling.arrival);
}

/* It has nobody's function to be called. */
static bool is_told_quietly(int entry) {
    entry_t *it = &entries[entry];
    bool periodic = is_delayed(entry) && delayed_of(entry)->period_ns != 0 && delayed_of(entry)->state != LAST &&
                    !queues[it->queue].shut;
    if (is_sync(entry)) it->state = REFUSED;
    if (periodic) it->state = IDLE;
    if (periodic) delayed_of(entry)->state = WAITS_FOR_TIME;
    return is_sync(entry) || periodic;
}

void go_on_telling(void) {
    frame_t *telling = top();
    if (telling->untold != 0) return;
    while (telling->joined_told < telling->joined_count && is_told_quietly(telling->joined[telling->joined_told]))
        telling->joined_told++;
    if (telling->joined_told == telling->joined_count) end_telling();
}

/* Whose function drops it is told by the same thread that it was dropped itself. */
static frame_t *is_telling(int queue) {
    frames_t *mine = &stacks[actor()];
    for (int index = mine->count - 1; index >= 0; index--) {
        frame_t *frame = &mine->frames[index];
        if (frame->kind == TELLS && frame->queue == queue && frame->in_function) return frame;
    }
    return NULL;
}

static void join(frame_t *telling, int entry) {
    int64_t arrival = entries[entry].arrival;
    end_life_quietly(telling->queue, arrival > telling->arrival ? arrival : telling->arrival);
    if (arrival < telling->arrival) telling->arrival = arrival;
    entries[entry].state = TOLD;
    if (telling->joined_count == LIVES) fuzz_fail("the model has no room for more that is dropped");
    telling->joined[telling->joined_count++] = entry;
}

static void tell(int queue, const int *list, int count) {
    frame_t *telling = push(TELLS, queue, -1);
    telling->arrival = INT64_MAX;
    for (int index = 0; index < count; index++)
        if (entries[list[index]].arrival < telling->arrival) telling->arrival = entries[list[index]].arrival;
    for (int index = 0; index < count; index++) {
        entry_t *entry = &entries[list[index]];
        if (entry->arrival != telling->arrival) end_life_quietly(queue, entry->arrival);
        if (is_told_quietly(list[index])) continue;
        entry->state = TOLD;
        telling->untold++;
    }
    go_on_telling();
}

static void drop_oldest(int queue) {
    int oldest = -1;
    for (int entry = 0; entry < ENTRIES; entry++) {
        if (!waits_in(entry, queue) || entries[entry].stays) continue;
        if (oldest < 0 || entries[entry].arrival < entries[oldest].arrival) oldest = entry;
    }
    frame_t *telling = is_telling(queue);
    if (telling != NULL) join(telling, oldest);
    else tell(queue, &oldest, 1);
}

void model_shutdown(int queue, bool cancel) {
    queue_t *it = &queues[queue];
    int list[ENTRIES], count = 0;
    it->shut = true;
    it->suspends = 0;
    for (int index = 0; index < it->room_count; index++) {
        int entry = entry_for_room(it->rooms[index]);
        entries[entry].state = is_sync(entry) ? REFUSED : IDLE;
        end_room(it->rooms[index], ESHUTDOWN);
    }
    it->room_count = 0;
    for (int entry = 0; entry < ENTRIES; entry++)
        if (cancel && waits_in(entry, queue) && !entries[entry].stays) list[count++] = entry;
    if (count != 0) tell(queue, list, count);
}

/* ---- Queueing ---------------------------------------------------------------------------------------------------- */

/* MODEL_WAITS: it has to wait for room. */
static int enqueue(int entry, int queue, csk_rank_t rank, bool barrier, int how) {
    const queue_t *it = &queues[queue];
    if (it->attr.when_full == CSK_WORKQUEUE_DROP_OLDEST && rank_in_order(entry, rank) != model_rank(queue))
        return EINVAL;
    if (it->shut && how != ALWAYS_IN) return ESHUTDOWN;
    bool full = is_full(queue) && how == BY_THE_BOUND;
    if (full && it->attr.when_full == CSK_WORKQUEUE_REFUSE) return EBUSY;
    if (full && it->attr.when_full == CSK_WORKQUEUE_WAIT) return MODEL_WAITS;
    if (full) drop_oldest(queue); /* before the newcomer is one of those that wait; told after that */
    accept(entry, queue, rank, barrier, how);
    return 0;
}

static void stand_in_line(int who, int entry, int queue, csk_rank_t rank, bool barrier) {
    entries[entry] = (entry_t){ .state = IN_LINE, .queue = queue, .rank = rank, .barrier = barrier };
    queues[queue].rooms[queues[queue].room_count++] = who;
}

static void leave_line(int who, int queue, int entry) {
    queue_t *it = &queues[queue];
    int index = 0;
    while (it->rooms[index] != who) index++;
    it->room_count--;
    memmove(&it->rooms[index], &it->rooms[index + 1], sizeof it->rooms[0] * (size_t)(it->room_count - index));
    entries[entry].state = IDLE;
}

int model_enqueue(int entry, int queue, csk_rank_t rank, bool barrier, int how, bool may_wait) {
    int status = enqueue(entry, queue, rank, barrier, how);
    if (status != MODEL_WAITS) return status;
    if (model_is_current(queue)) return EDEADLK;
    if (!may_wait) return MODEL_WAITS;
    stand_in_line(actor(), entry, queue, rank, barrier);
    push(WAITS_FOR_ROOM, queue, entry);
    return MODEL_WAITS;
}

int model_enqueue_when_room(int wait, int entry, int queue, csk_rank_t rank, bool barrier) {
    int status = enqueue(entry, queue, rank, barrier, BY_THE_BOUND);
    if (status != MODEL_WAITS) return status;
    stand_in_line(ACTORS + wait, entry, queue, rank, barrier);
    waits[wait] = (wait_t){ .state = WAITING, .queue = queue, .entry = entry };
    return EINPROGRESS;
}

int model_room_cancel(int wait, int queue) {
    if (waits[wait].state != WAITING || waits[wait].queue != queue) return ENOENT;
    waits[wait].state = IDLE;
    leave_line(ACTORS + wait, queue, waits[wait].entry);
    return 0;
}

int model_room_ended(int status, int64_t deadline_ns) {
    frame_t wait = *top();
    pop();
    if (wait.result != MODEL_WAITS) return wait.result;
    leave_line(actor(), wait.queue, wait.entry);
    if (status == ETIMEDOUT && csk_now() < deadline_ns)
        fuzz_fail("a caller waits for room no longer, before its deadline");
    return ETIMEDOUT;
}

int model_cancel(int entry, int queue) {
    if (!waits_in(entry, queue)) return ENOENT;
    withdraw(entry, IDLE);
    return 0;
}

static bool is_ending(int queue) { return queues[queue].shut || queues[queue].released; }

void model_suspend(int queue) { queues[queue].suspends += !is_ending(queue); }

int model_resume(int queue) {
    if (queues[queue].suspends == 0) return is_ending(queue) ? 0 : EPERM;
    queues[queue].suspends--;
    return 0;
}

/* ---- Turns ------------------------------------------------------------------------------------------------------- */

static bool stands_in_line(int queue, bool always) {
    return !always && is_full(queue) && queues[queue].attr.when_full == CSK_WORKQUEUE_WAIT;
}

static bool is_refused(int queue, bool always) {
    return !always && (queues[queue].shut || (is_full(queue) && queues[queue].attr.when_full == CSK_WORKQUEUE_REFUSE));
}

bool model_sync_is_at_once(int queue, csk_rank_t rank, bool barrier, bool always) {
    queue_t before_it = queues[queue];
    int entry = FIRST_SYNC;
    while (entry < ENTRIES && entries[entry].state != IDLE) entry++;
    if (entry == ENTRIES || is_refused(queue, always) || stands_in_line(queue, always)) return false;
    accept(entry, queue, rank, barrier, always ? ALWAYS_IN : BY_THE_BOUND);
    bool at_once = may_begin(queue) && next_of(queue) == entry;
    entries[entry].state = IDLE;
    queues[queue] = before_it;
    return at_once;
}

int model_sync(int entry, int queue, csk_rank_t rank, bool barrier, bool always, int64_t deadline_ns) {
    if (queues[queue].attr.when_full == CSK_WORKQUEUE_DROP_OLDEST && rank_in_order(entry, rank) != model_rank(queue))
        return EINVAL;
    if (model_is_current(queue)) return EDEADLK;
    if (is_refused(queue, always)) return queues[queue].shut ? ESHUTDOWN : EBUSY;
    bool in_line = stands_in_line(queue, always);
    if (in_line) stand_in_line(actor(), entry, queue, rank, barrier);
    else accept(entry, queue, rank, barrier, always ? ALWAYS_IN : BY_THE_BOUND);
    frame_t *call = push(WAITS_FOR_TURN, queue, entry);
    call->deadline_ns = deadline_ns;
    if (in_line) return MODEL_WAITS;
    call->at_once = may_begin(queue) && next_of(queue) == entry;
    if (call->at_once) take(queue, entry);
    return MODEL_WAITS;
}

int model_sync_ended(int status) {
    frame_t call = *top();
    entry_t *entry = &entries[call.entry];
    int state = entry->state;
    pop();
    if (state == IN_LINE) leave_line(actor(), call.queue, call.entry);
    entry->state = IDLE;
    if (state == RAN) return 0;
    if (state == REFUSED) return call.result == ESHUTDOWN ? ESHUTDOWN : ECANCELED;
    if (call.at_once) fuzz_fail("a caller's turn was to come at once; the call gives %d", status);
    if (state != WAITING && state != IN_LINE && state != GAVE_UP)
        fuzz_fail("a caller got its turn; the call gives %d", status);
    if (csk_now() < call.deadline_ns)
        fuzz_fail("a caller waits for its turn no longer, before its deadline: %d", status);
    if (state == WAITING) withdraw(call.entry, IDLE);
    return ETIMEDOUT;
}

/* ---- Drains ------------------------------------------------------------------------------------------------------ */

int model_drain(int queue) {
    if (model_is_current(queue)) return EDEADLK;
    if (queues[queue].live_count == 0) return 0;
    push(WAITS_FOR_DRAIN, queue, -1)->arrival = queues[queue].arrivals;
    return MODEL_WAITS;
}

int model_drain_ended(int status, int64_t deadline_ns) {
    int result = top()->result;
    pop();
    if (result != MODEL_WAITS) return result;
    if (status == ETIMEDOUT && csk_now() < deadline_ns) fuzz_fail("a drain waits no longer, before its deadline");
    return ETIMEDOUT;
}

void model_drain_async(int wait, int queue) {
    waits[wait] =
        (wait_t){ queues[queue].live_count != 0 ? WAITING : DUE, queue, actor(), -1, 0, queues[queue].arrivals };
}

bool model_is_wait_idle(int wait) { return waits[wait].state == IDLE; }
int model_queue_of_wait(int wait) { return waits[wait].queue; }
bool model_is_drain(int wait) { return waits[wait].entry < 0; }

int model_drain_cancel(int wait, int queue) {
    if (waits[wait].state != WAITING || waits[wait].queue != queue) return ENOENT;
    waits[wait].state = IDLE;
    return 0;
}

/* ---- Delayed work ------------------------------------------------------------------------------------------------ */

static void make_due(int entry, int status, int who) {
    entries[entry].state = DUE;
    entries[entry].due_status = status;
    entries[entry].due_actor = who;
}

void time_has_come(int index) {
    delayed_t *it = &delayed_works[index];
    int entry = FIRST_DELAYED + index, queue = entries[entry].queue;
    if (it->period_ns != 0 && it->state != STOPPED && it->state != LAST) {
        /* Work whose time has come knows the end of the tick. */
        while (it->due_ns < fuzz_deadline(fuzz_tick() + 1, 0)) {
            if (it->due_ns > CSK_NEVER - it->period_ns) it->due_ns = CSK_NEVER;
            else if (it->due_ns == 0)
                it->due_ns = (fuzz_deadline(fuzz_tick() + 1, 0) - 1) / it->period_ns * it->period_ns + it->period_ns;
            else it->due_ns += it->period_ns;
        }
        it->timer = true;
        it->timer_ns = it->due_ns;
    }
    if (it->state != WAITS_FOR_TIME) return;
    it->state = QUEUED;
    bool over_bound = queues[queue].attr.capacity != 0 && queues[queue].attr.when_full == CSK_WORKQUEUE_WAIT;
    int error = model_enqueue(entry, queue, it->rank, false, over_bound ? BEYOND_THE_BOUND : BY_THE_BOUND, false);
    if (error == 0) return;
    if (it->period_ns == 0 || error != EBUSY) {
        it->timer = false;
        make_due(entry, error, actor());
    } else {
        it->state = WAITS_FOR_TIME;
    }
}

int model_delayed_start(int index, int queue, csk_rank_t rank, int64_t deadline_ns, int64_t period_ns) {
    delayed_t *it = &delayed_works[index];
    if (period_ns < 0 ||
        (queues[queue].attr.when_full == CSK_WORKQUEUE_DROP_OLDEST && csk_rank_in_order(rank) != model_rank(queue)))
        return EINVAL;
    if (it->state != STOPPED) return EBUSY;
    bool now = deadline_ns <= 0 && period_ns == 0;
    *it = (delayed_t){ .state = WAITS_FOR_TIME,
                       .rank = rank,
                       .timer = !now,
                       .timer_ns = deadline_ns,
                       .due_ns = deadline_ns > 0 ? deadline_ns : 0,
                       .period_ns = period_ns };
    entries[FIRST_DELAYED + index].queue = queue;
    if (now) time_has_come(index);
    return 0;
}

/* Drains may be told of it while the call goes on, and others may cancel it then: theirs is the promise of a last
 * call. */
int model_delayed_cancel(int index) {
    delayed_t *it = &delayed_works[index];
    bool periodic = it->period_ns != 0;
    if (it->state == STOPPED) return ENOENT;
    it->timer = false;
    switch (it->state) {
    case WAITS_FOR_TIME: it->state = STOPPED; return 0;
    case QUEUED:
        if (entries[FIRST_DELAYED + index].state == WAITING) {
            it->state = CANCELLED;
            it->canceller = actor();
            withdraw(FIRST_DELAYED + index, IDLE);
            return MODEL_WAITS;
        }
        if (periodic) it->state = LAST;
        return periodic ? EBUSY : ENOENT;
    case RUNS: it->state = LAST; return EBUSY;
    case CANCELLED:
        if (periodic) {
            it->state = CANCELLED_TWICE;
            make_due(FIRST_DELAYED + index, ECANCELED, it->canceller);
        }
        return periodic ? EBUSY : ENOENT;
    default: return ENOENT;
    }
}

int model_delayed_cancel_ended(int index) {
    if (delayed_works[index].state != CANCELLED) return ENOENT;
    delayed_works[index].state = STOPPED;
    return 0;
}
