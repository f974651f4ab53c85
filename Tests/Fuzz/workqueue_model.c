#include "workqueue_model.h"

/* TAKEN: by a worker, which will call it; GRANTED: by a worker, for the caller that waits; TOLD: with ECANCELED, one after the other; DUE: a delayed
 * work whose function is called without a turn; RAN, REFUSED, GAVE_UP: how a caller's wait ended. */
enum { IDLE, IN_LINE, WAITING, TAKEN, GRANTED, TOLD, DUE, RAN, REFUSED, GAVE_UP };
enum { STOPPED, WAITS_FOR_TIME, QUEUED, RUNS, LAST, CANCELLED, CANCELLED_TWICE };

enum { ACTORS = 3, FRAMES = 64, LIVES = 128, QUANTUM = 128 };
/* What a thread is in the middle of. */
enum { SERVES, SECTION, TELLS, CALLED, CALLED_INSIDE, DRAINED, WAITS_FOR_TURN, WAITS_FOR_ROOM, WAITS_FOR_DRAIN };

typedef struct {
    int state, queue;
    csk_rank_t rank;
    int64_t arrival;
    bool barrier;
    int due_status, due_actor;
} entry_t;

typedef struct {
    int state, canceller;
    csk_rank_t rank;
    bool timer;
    int64_t timer_ns, due_ns, period_ns;
} delayed_t;

typedef struct {
    bool exists, released, on_heap, shut, exclusive;
    csk_workqueue_attr_t attr;
    const csk_pool_item_t *item;
    int suspends;
    uint32_t running;
    int64_t arrivals;
    int64_t lives[LIVES];      /* the arrivals of all that was accepted and is not over */
    int live_count;
    int rooms[ACTORS], room_count;
} queue_t;

typedef struct {
    int kind, queue, entry;
    int64_t arrival;
    bool in_function;          /* SERVES, WAITS_FOR_TURN: whose section is above */
    bool alone, periodic, last_follows;
    uint32_t served;
    int taken;
    bool grants;               /* it has taken a caller */
    bool has_looked;           /* when its function ended: drains may have been told since */
    bool asked_at_quantum, steps_back;
    int untold;
    bool at_once, helps;       /* helps: goes on with what is before it, if there is time */
    int64_t deadline_ns;
    int result;                /* of a wait: MODEL_WAITS until it is known */
} frame_t;

typedef struct {
    int state, queue, actor;   /* IDLE, WAITING, DUE */
    int64_t arrivals;
} drain_t;

static queue_t queues[QUEUES];
static entry_t entries[ENTRIES];
static delayed_t delayed_works[DELAYED];
static drain_t drains[WAITS];
static struct {
    frame_t frames[FRAMES];
    int count;
} stacks[ACTORS];
static bool for_timer_thread;  /* the model catches up with it */

void model_begin(void) {
    memset(queues, 0, sizeof queues);
    memset(entries, 0, sizeof entries);
    memset(delayed_works, 0, sizeof delayed_works);
    memset(drains, 0, sizeof drains);
    memset(stacks, 0, sizeof stacks);
}

static int actor(void) { return for_timer_thread ? ACTOR_TIMER : fuzz_actor(); }

static frame_t *top_of(int who) { return stacks[who].count != 0 ? &stacks[who].frames[stacks[who].count - 1] : NULL; }
static frame_t *top(void) { return top_of(actor()); }

static frame_t *push(int kind, int queue, int entry) {
    if (stacks[actor()].count == FRAMES) fuzz_fail("the model has no room for another function");
    stacks[actor()].count++;
    *top() = (frame_t){ .kind = kind, .queue = queue, .entry = entry, .taken = -1, .result = MODEL_WAITS };
    return top();
}

static void pop(void) { stacks[actor()].count--; }

/* `above`: the one around which it is, NULL at the top. */
static bool any_frame(bool (*is)(const frame_t *frame, const frame_t *above, int queue), int queue) {
    for (int who = 0; who < ACTORS; who++)
        for (frame_t *frame = stacks[who].frames; frame < stacks[who].frames + stacks[who].count; frame++)
            if (is(frame, frame != top_of(who) ? frame + 1 : NULL, queue)) return true;
    return false;
}

static bool is_sync(int entry) { return entry >= FIRST_SYNC; }
static bool is_delayed(int entry) { return entry >= FIRST_DELAYED && entry < FIRST_SYNC; }
static delayed_t *delayed_of(int entry) { return &delayed_works[entry - FIRST_DELAYED]; }

/* ---- Queues and their order --------------------------------------------------------------------------------------------- */

void model_make(int queue, const csk_workqueue_attr_t *attr, bool on_heap, const csk_pool_item_t *item) {
    queues[queue] = (queue_t){ .exists = true, .on_heap = on_heap, .attr = *attr, .item = item };
}

bool model_exists(int queue) { return queues[queue].exists && !queues[queue].released; }
bool model_is_on_heap(int queue) { return queues[queue].on_heap; }
bool model_is_idle(int entry) { return entries[entry].state == IDLE && (!is_delayed(entry) || delayed_of(entry)->state == STOPPED); }
int model_queue_of(int entry) { return entries[entry].queue; }
csk_rank_t model_rank(int queue) { return csk_rank(queues[queue].attr.priority, CSK_PLACE_BACK); }
uint32_t model_running(int queue) { return queues[queue].running; }
bool model_is_suspended(int queue) { return queues[queue].suspends != 0; }

uint32_t model_level(int queue) {
    int32_t priority = queues[queue].attr.priority;
    return priority >= 1024 ? CSK_POOL_URGENT : priority <= -1024 ? CSK_POOL_BACKGROUND : CSK_POOL_NORMAL;
}

static uint32_t width_of(int queue) { return queues[queue].attr.width > 1 ? queues[queue].attr.width : 1; }

static bool waits_in(int entry, int queue) { return entries[entry].state == WAITING && entries[entry].queue == queue; }

uint32_t model_waiting(int queue) {
    uint32_t count = 0;
    for (int entry = 0; entry < ENTRIES; entry++) count += waits_in(entry, queue);
    return count;
}

static bool before(const entry_t *a, const entry_t *b) {
    if (a->rank != b->rank) return a->rank > b->rank;
    return (a->rank & 3) == CSK_PLACE_FRONT ? a->arrival > b->arrival : a->arrival < b->arrival;
}

static int first_barrier(int queue) {
    int first = -1;
    for (int entry = 0; entry < ENTRIES; entry++)
        if (waits_in(entry, queue) && entries[entry].barrier && (first < 0 || entries[entry].arrival < entries[first].arrival)) first = entry;
    return first;
}

/* Of those before the first barrier; then that. -1: nothing waits. */
static int next_of(int queue) {
    int barrier = first_barrier(queue), next = -1;
    for (int entry = 0; entry < ENTRIES; entry++) {
        if (!waits_in(entry, queue) || (barrier >= 0 && entries[entry].arrival >= entries[barrier].arrival)) continue;
        if (next < 0 || before(&entries[entry], &entries[next])) next = entry;
    }
    return next >= 0 ? next : barrier;
}

static bool may_begin(int queue) {
    const queue_t *it = &queues[queue];
    int next = next_of(queue);
    return next >= 0 && it->suspends == 0 && !it->exclusive && it->running < width_of(queue) && (!entries[next].barrier || it->running == 0);
}

static bool is_full(int queue) { return queues[queue].attr.capacity != 0 && model_waiting(queue) >= queues[queue].attr.capacity; }

static bool is_inside(const frame_t *frame, int queue) {
    return frame->queue == queue && (frame->kind == SECTION || frame->kind == TELLS || frame->kind == CALLED_INSIDE);
}

bool model_is_current(int queue) {
    for (int index = 0; index < stacks[actor()].count; index++)
        if (is_inside(&stacks[actor()].frames[index], queue)) return true;
    return false;
}

/* Will look at the queue when it goes on: a worker between two functions, or a caller who has told a drain that it ran what was before it. */
static bool is_looking(const frame_t *frame, const frame_t *above, int queue) {
    if (frame->queue != queue || frame->in_function) return false;
    return frame->kind == SERVES || (frame->kind == WAITS_FOR_TURN && above != NULL);
}

bool model_needs_worker(int queue) { return may_begin(queue) && !any_frame(is_looking, queue); }

/* Telling a drain is no place to wait, and this worker may be the one that others wait for. */
bool model_may_block(void) {
    if (actor() != ACTOR_STRANGER) return false;
    for (int index = 0; index < stacks[actor()].count; index++) {
        const frame_t *frame = &stacks[actor()].frames[index];
        if (frame->kind == DRAINED || (frame->kind == SERVES && !frame->in_function)) return false;
    }
    return true;
}

/* ---- What is over, and who waited for it -------------------------------------------------------------------------------- */

static void begin_life(int queue, int64_t arrival) {
    if (queues[queue].live_count == LIVES) fuzz_fail("the model has no room for more that is accepted");
    queues[queue].lives[queues[queue].live_count++] = arrival;
}

static void end_life_quietly(int queue, int64_t arrival) {
    queue_t *it = &queues[queue];
    int index = 0;
    while (it->lives[index] != arrival) index++;
    it->lives[index] = it->lives[--it->live_count];
}

static bool is_drained(int queue, int64_t arrivals) {
    for (int index = 0; index < queues[queue].live_count; index++)
        if (queues[queue].lives[index] <= arrivals) return false;
    return true;
}

static void end_life(int queue, int64_t arrival) {
    end_life_quietly(queue, arrival);
    for (int wait = 0; wait < WAITS; wait++) {
        drain_t *drain = &drains[wait];
        if (drain->state != WAITING || drain->queue != queue || !is_drained(queue, drain->arrivals)) continue;
        drain->state = DUE;
        drain->actor = actor();
    }
    for (int who = 0; who < ACTORS; who++) {
        frame_t *frame = top_of(who);
        if (frame != NULL && frame->kind == WAITS_FOR_DRAIN && frame->queue == queue && is_drained(queue, frame->arrival)) frame->result = 0;
    }
}

static void accept(int entry, int queue, csk_rank_t rank, bool barrier) {
    int64_t arrival = ++queues[queue].arrivals;
    entries[entry] = (entry_t){ WAITING, queue, rank, arrival, barrier && width_of(queue) > 1, 0, 0 };
    begin_life(queue, arrival);
}

/* Work has left the queue: who waits for room first gets the place. */
static void give_room(int queue) {
    queue_t *it = &queues[queue];
    if (it->room_count == 0 || is_full(queue)) return;
    frame_t *frame = top_of(it->rooms[0]);
    it->room_count--;
    memmove(&it->rooms[0], &it->rooms[1], sizeof it->rooms[0] * (size_t)it->room_count);
    frame->result = 0;
    accept(frame->entry, queue, entries[frame->entry].rank, entries[frame->entry].barrier);
}

static void take(int queue, int entry) {
    queue_t *it = &queues[queue];
    entries[entry].state = is_sync(entry) ? GRANTED : TAKEN;
    it->running++;
    it->exclusive |= entries[entry].barrier;
    give_room(queue);
}

static void withdraw(int entry, int state) {
    entries[entry].state = state;
    end_life(entries[entry].queue, entries[entry].arrival);
    give_room(entries[entry].queue);
}

static void end_section(const frame_t *section) {
    queues[section->queue].running--;
    if (section->alone) queues[section->queue].exclusive = false;
    end_life(section->queue, section->arrival);
}

/* ---- Works that will not run -------------------------------------------------------------------------------------------- */

/* All are told; drains that wait for any of them wait for the telling. */
static void end_telling(void) {
    frame_t telling = *top();
    pop();
    end_life(telling.queue, telling.arrival);
}

static void tell(int queue, const int *list, int count) {
    frame_t *telling = push(TELLS, queue, -1);
    telling->arrival = INT64_MAX;
    for (int index = 0; index < count; index++)
        if (entries[list[index]].arrival < telling->arrival) telling->arrival = entries[list[index]].arrival;
    for (int index = 0; index < count; index++) {
        entry_t *entry = &entries[list[index]];
        if (entry->arrival != telling->arrival) end_life_quietly(queue, entry->arrival);
        if (is_sync(list[index])) {
            entry->state = REFUSED;
        } else if (is_delayed(list[index]) && delayed_of(list[index])->period_ns != 0 && !queues[queue].shut) {
            entry->state = IDLE;
            delayed_of(list[index])->state = WAITS_FOR_TIME;
        } else {
            entry->state = TOLD;
            telling->untold++;
        }
    }
    if (telling->untold == 0) end_telling();
}

static void drop_oldest(int queue) {
    int oldest = -1;
    for (int entry = 0; entry < ENTRIES; entry++)
        if (waits_in(entry, queue) && (oldest < 0 || entries[entry].arrival < entries[oldest].arrival)) oldest = entry;
    tell(queue, &oldest, 1);
}

void model_shutdown(int queue, bool cancel) {
    queue_t *it = &queues[queue];
    int list[ENTRIES], count = 0;
    it->shut = true;
    for (int index = 0; index < it->room_count; index++) {
        top_of(it->rooms[index])->result = ESHUTDOWN;
        entries[top_of(it->rooms[index])->entry].state = IDLE;
    }
    it->room_count = 0;
    for (int entry = 0; entry < ENTRIES; entry++)
        if (cancel && waits_in(entry, queue)) list[count++] = entry;
    if (count != 0) tell(queue, list, count);
}

/* ---- Queueing ----------------------------------------------------------------------------------------------------------- */

int model_enqueue(int entry, int queue, csk_rank_t rank, bool barrier, bool always, bool waits) {
    const queue_t *it = &queues[queue];
    if (it->attr.when_full == CSK_WORKQUEUE_DROP_OLDEST && rank != model_rank(queue)) return EINVAL;
    if (it->shut && !always) return ESHUTDOWN;
    bool full = is_full(queue) && !always;
    if (full && it->attr.when_full == CSK_WORKQUEUE_REFUSE) return EAGAIN;
    if (full && it->attr.when_full == CSK_WORKQUEUE_WAIT) {
        if (model_is_current(queue)) return EDEADLK;
        if (!waits) return MODEL_WAITS;
        entries[entry] = (entry_t){ .state = IN_LINE, .queue = queue, .rank = rank, .barrier = barrier };
        queues[queue].rooms[queues[queue].room_count++] = actor();
        push(WAITS_FOR_ROOM, queue, entry);
        return MODEL_WAITS;
    }
    if (full) drop_oldest(queue); /* before the newcomer is one of those that wait; told after that */
    accept(entry, queue, rank, barrier);
    return 0;
}

int model_room_ended(int status, int64_t deadline_ns) {
    frame_t wait = *top();
    queue_t *it = &queues[wait.queue];
    pop();
    if (wait.result != MODEL_WAITS) return wait.result;
    int index = 0;
    while (it->rooms[index] != actor()) index++;
    it->room_count--;
    memmove(&it->rooms[index], &it->rooms[index + 1], sizeof it->rooms[0] * (size_t)(it->room_count - index));
    entries[wait.entry].state = IDLE;
    if (status == ETIMEDOUT && csk_now() < deadline_ns) fuzz_fail("a caller waits for room no longer, before its deadline");
    return ETIMEDOUT;
}

int model_cancel(int entry, int queue) {
    if (!waits_in(entry, queue)) return ENOENT;
    withdraw(entry, IDLE);
    return 0;
}

void model_suspend(int queue) { queues[queue].suspends++; }

int model_resume(int queue) {
    if (queues[queue].suspends == 0) return EPERM;
    queues[queue].suspends--;
    return 0;
}

/* ---- Turns -------------------------------------------------------------------------------------------------------------- */

bool model_sync_is_at_once(int queue, csk_rank_t rank, bool barrier) {
    queue_t before_it = queues[queue];
    int entry = FIRST_SYNC;
    while (entry < ENTRIES && entries[entry].state != IDLE) entry++;
    if (entry == ENTRIES || before_it.shut) return false;
    accept(entry, queue, rank, barrier);
    bool at_once = may_begin(queue) && next_of(queue) == entry;
    entries[entry].state = IDLE;
    queues[queue] = before_it;
    return at_once;
}

int model_sync(int entry, int queue, csk_rank_t rank, bool barrier, int64_t deadline_ns) {
    if (queues[queue].attr.when_full == CSK_WORKQUEUE_DROP_OLDEST && rank != model_rank(queue)) return EINVAL;
    if (model_is_current(queue)) return EDEADLK;
    if (queues[queue].shut) return ESHUTDOWN;
    accept(entry, queue, rank, barrier);
    frame_t *call = push(WAITS_FOR_TURN, queue, entry);
    call->deadline_ns = deadline_ns;
    call->at_once = may_begin(queue) && next_of(queue) == entry;
    /* On a serial queue a caller sees to what is before it. The other thread's turn is that thread's to use. */
    if (may_begin(queue) && !call->at_once && is_sync(next_of(queue)) && width_of(queue) == 1) take(queue, next_of(queue));
    return MODEL_WAITS;
}

void model_stranger_stopped(void) {
    frame_t *call = top_of(ACTOR_STRANGER);
    if (call == NULL || call->kind != WAITS_FOR_TURN || !call->helps) return;
    call->helps = false;
    if (entries[call->entry].state != WAITING || csk_now() >= call->deadline_ns || !may_begin(call->queue)) return;
    int next = next_of(call->queue);
    if (!is_sync(next) || next == call->entry) fuzz_fail("a caller sleeps, though it could call %d", next);
    take(call->queue, next);
}

int model_sync_ended(int status) {
    frame_t call = *top();
    entry_t *entry = &entries[call.entry];
    int state = entry->state;
    pop();
    entry->state = IDLE;
    if (state == RAN) return 0;
    if (state == REFUSED) return ECANCELED;
    if (call.at_once) fuzz_fail("a caller's turn was to come at once; the call gives %d", status);
    if (state != WAITING && state != GAVE_UP) fuzz_fail("a caller got its turn; the call gives %d", status);
    if (csk_now() < call.deadline_ns) fuzz_fail("a caller waits for its turn no longer, before its deadline: %d", status);
    if (state == WAITING) withdraw(call.entry, IDLE);
    return ETIMEDOUT;
}

/* ---- Drains ------------------------------------------------------------------------------------------------------------- */

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
    drains[wait] = (drain_t){ queues[queue].live_count != 0 ? WAITING : DUE, queue, actor(), queues[queue].arrivals };
}

bool model_is_wait_idle(int wait) { return drains[wait].state == IDLE; }

int model_drain_cancel(int wait, int queue) {
    if (drains[wait].state != WAITING || drains[wait].queue != queue) return ENOENT;
    drains[wait].state = IDLE;
    return 0;
}

/* ---- Delayed work ------------------------------------------------------------------------------------------------------- */

static void make_due(int entry, int status, int who) {
    entries[entry].state = DUE;
    entries[entry].due_status = status;
    entries[entry].due_actor = who;
}

static void time_has_come(int index) {
    delayed_t *it = &delayed_works[index];
    int entry = FIRST_DELAYED + index, queue = entries[entry].queue;
    if (it->period_ns != 0 && it->state != STOPPED && it->state != LAST) {
        /* Work whose time has come knows the end of the tick. */
        while (it->due_ns < fuzz_deadline(fuzz_tick() + 1, 0)) {
            if (it->due_ns > CSK_NEVER - it->period_ns) it->due_ns = CSK_NEVER;
            else if (it->due_ns == 0) it->due_ns = (fuzz_deadline(fuzz_tick() + 1, 0) - 1) / it->period_ns * it->period_ns + it->period_ns;
            else it->due_ns += it->period_ns;
        }
        it->timer = true;
        it->timer_ns = it->due_ns;
    }
    if (it->state != WAITS_FOR_TIME) return;
    it->state = QUEUED;
    bool over_bound = queues[queue].attr.capacity != 0 && queues[queue].attr.when_full == CSK_WORKQUEUE_WAIT && !queues[queue].shut;
    int error = model_enqueue(entry, queue, it->rank, false, over_bound, false);
    if (error == 0) return;
    if (it->period_ns == 0 || error != EAGAIN) {
        it->timer = false;
        make_due(entry, error, actor());
    } else {
        it->state = WAITS_FOR_TIME;
    }
}

int model_delayed_start(int index, int queue, csk_rank_t rank, int64_t deadline_ns, int64_t period_ns) {
    delayed_t *it = &delayed_works[index];
    if (period_ns < 0 || (queues[queue].attr.when_full == CSK_WORKQUEUE_DROP_OLDEST && rank != model_rank(queue))) return EINVAL;
    if (it->state != STOPPED) return EBUSY;
    bool now = deadline_ns <= 0 && period_ns == 0;
    *it = (delayed_t){ .state = WAITS_FOR_TIME, .rank = rank, .timer = !now, .timer_ns = deadline_ns,
                       .due_ns = deadline_ns > 0 ? deadline_ns : 0, .period_ns = period_ns };
    entries[FIRST_DELAYED + index].queue = queue;
    if (now) time_has_come(index);
    return 0;
}

/* Drains may be told of it while the call goes on, and others may cancel it then: theirs is the promise of a last call. */
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

/* ---- Workers ------------------------------------------------------------------------------------------------------------ */

/* Whether the pool has other work than for this queue. */
static bool others_wait(int queue) { return fuzz_pool_count() > 1 || (fuzz_pool_count() == 1 && !fuzz_pool_has(queues[queue].item)); }

static void count_served(frame_t *worker) {
    if (++worker->served % QUANTUM != 0) return;
    worker->asked_at_quantum = true;
    worker->steps_back = others_wait(worker->queue);
}

/* The worker looks once: it takes work to call, or a caller, who has the turn once drains were told. */
static void look_once(frame_t *worker) {
    if (!may_begin(worker->queue)) return;
    int entry = next_of(worker->queue);
    take(worker->queue, entry);
    if (is_sync(entry)) worker->grants = true;
    else worker->taken = entry;
}

/* It looks until there is nothing for it, or work to call. */
static void look(frame_t *worker) {
    for (;;) {
        if (worker->grants) count_served(worker);
        worker->grants = false;
        if (worker->steps_back || worker->taken >= 0) return;
        look_once(worker);
        if (!worker->grants) return;
    }
}

void model_worker_comes(int queue) { push(SERVES, queue, -1); }

/* True: it has found nothing, and will look again. False: it is asked between two works. */
bool model_worker_lingers(void) {
    frame_t *worker = top();
    if (worker == NULL || worker->kind != SERVES) fuzz_fail("who is no worker asks what others have to do");
    if (!worker->asked_at_quantum && !worker->has_looked) {
        worker->steps_back = false; /* another has come for the queue already, so this one went on */
        look(worker);
    }
    bool lingers = !worker->asked_at_quantum;
    if (lingers) worker->has_looked = false;
    worker->asked_at_quantum = false;
    if (lingers && worker->taken >= 0) fuzz_fail("a worker finds nothing to do, though %d may begin", worker->taken);
    return lingers;
}

void model_worker_left(void) {
    frame_t *worker = top();
    if (worker->steps_back) {
        if (!fuzz_pool_has(queues[worker->queue].item)) fuzz_fail("a worker leaves its queue to others, and asks for none");
    } else {
        look(worker);
        if (worker->taken >= 0) fuzz_fail("a worker leaves, though %d may begin", worker->taken);
    }
    pop();
}

/* ---- Functions ---------------------------------------------------------------------------------------------------------- */

/* What the timer thread does next, until it has to call a function. */
static bool is_due_on(int who) {
    const frame_t *frame = top_of(who);
    if (frame != NULL && frame->kind == TELLS) return true;
    for (int entry = 0; entry < ENTRIES; entry++)
        if (entries[entry].state == DUE && entries[entry].due_actor == who) return true;
    for (int wait = 0; wait < WAITS; wait++)
        if (drains[wait].state == DUE && drains[wait].actor == who) return true;
    return false;
}

static bool fire_next(void) {
    int first = -1;
    for (int index = 0; index < DELAYED; index++) {
        const delayed_t *it = &delayed_works[index];
        if (!it->timer || it->timer_ns >= fuzz_deadline(fuzz_tick() + 1, 0)) continue;
        if (first < 0 || it->timer_ns < delayed_works[first].timer_ns) first = index;
    }
    if (first < 0) return false;
    for_timer_thread = true;
    delayed_works[first].timer = false;
    time_has_come(first);
    for_timer_thread = false;
    return true;
}

void model_timers_ran(void) {
    do
        if (is_due_on(ACTOR_TIMER)) fuzz_fail("the timer thread did not call all functions that were due");
    while (fire_next());
}

static void catch_up_with_timer_thread(void) {
    if (actor() != ACTOR_TIMER || top() != NULL) return;
    while (!is_due_on(ACTOR_TIMER) && fire_next()) {}
}

static void begin_section(int entry, int status) {
    frame_t *caller = top();
    int queue = entries[entry].queue;
    if (caller == NULL || caller->queue != queue) fuzz_fail("work is called by nobody who serves its queue");
    if (caller->kind == SERVES) {
        caller->steps_back = caller->has_looked = false;
        look(caller);
        if (caller->taken != entry) fuzz_fail("a worker calls %d instead of %d", entry, caller->taken);
        caller->taken = -1;
    } else if (caller->kind == WAITS_FOR_TURN && entries[entry].state != GRANTED) {
        bool own = caller->entry == entry;
        if (!own && (is_sync(entry) || width_of(queue) > 1)) fuzz_fail("a caller calls %d, which is for others", entry);
        if (!may_begin(queue) || next_of(queue) != entry)
            fuzz_fail("a caller calls %d: %s", entry, may_begin(queue) ? "it is not the next" : "nothing may begin");
        take(queue, entry);
    } else if (caller->kind != WAITS_FOR_TURN || caller->entry != entry) {
        fuzz_fail("work is called by nobody who serves its queue");
    }
    caller->in_function = true;
    int expected = 0;
    bool periodic = false;
    if (is_delayed(entry)) {
        delayed_t *it = delayed_of(entry);
        periodic = it->period_ns != 0 && it->state != LAST;
        if (it->period_ns != 0 && it->state == LAST) expected = ECANCELED;
        it->state = periodic ? RUNS : STOPPED;
    }
    fuzz_expect_status("what a work is called with", status, expected);
    frame_t *section = push(SECTION, queue, entry);
    section->arrival = entries[entry].arrival;
    section->alone = entries[entry].barrier;
    section->periodic = periodic;
    entries[entry].state = is_sync(entry) ? RAN : IDLE;
}

void model_called(int entry, int status) {
    catch_up_with_timer_thread();
    const frame_t *caller = top();
    entry_t *it = &entries[entry];
    if (caller != NULL && caller->kind == SECTION && caller->last_follows && caller->entry == entry) {
        fuzz_expect_status("the last call of periodic work", status, ECANCELED);
        delayed_of(entry)->state = STOPPED;
        push(CALLED, it->queue, entry);
    } else if (it->state == TOLD) {
        if (caller == NULL || caller->kind != TELLS || caller->queue != it->queue) fuzz_fail("%d is told by somebody else", entry);
        fuzz_expect_status("what is told", status, ECANCELED);
        it->state = IDLE;
        if (is_delayed(entry)) {
            delayed_of(entry)->state = STOPPED;
            delayed_of(entry)->timer = false;
        }
        push(CALLED, it->queue, entry);
    } else if (it->state == DUE) {
        if (it->due_actor != actor()) fuzz_fail("a delayed work is called on another thread");
        fuzz_expect_status("what a delayed work is called with", status, it->due_status);
        it->state = IDLE;
        delayed_of(entry)->state = STOPPED;
        push(CALLED_INSIDE, it->queue, entry);
    } else {
        begin_section(entry, status);
    }
}

void model_returned(void) {
    frame_t ended = *top();
    if (ended.kind == SECTION && ended.periodic && delayed_of(ended.entry)->state == LAST) {
        top()->last_follows = true;
        return;
    }
    if (ended.kind == SECTION && ended.periodic) delayed_of(ended.entry)->state = WAITS_FOR_TIME;
    pop();
    frame_t *around = top();
    if (ended.kind == CALLED && around->kind == TELLS) {
        if (--around->untold == 0) end_telling();
        return;
    }
    if (ended.kind == CALLED) {
        ended = *around;
        pop();
        around = top();
    }
    if (ended.kind != SECTION) return;
    around->in_function = false;
    if (around->kind == SERVES) count_served(around);
    end_section(&ended);
    around->helps = around->kind == WAITS_FOR_TURN;
    if (around->kind != SERVES || around->steps_back) return;
    look_once(around);
    around->has_looked = !around->grants;
}

void model_drain_called(int wait) {
    catch_up_with_timer_thread();
    frame_t *caller = top();
    drain_t *drain = &drains[wait];
    /* A caller who has waited long enough, and whose leaving is what the drain waited for. */
    if (drain->state == WAITING && caller != NULL && caller->kind == WAITS_FOR_TURN && entries[caller->entry].state == WAITING &&
        csk_now() >= caller->deadline_ns)
        withdraw(caller->entry, GAVE_UP);
    if (drain->state != DUE || drain->actor != actor()) fuzz_fail("the drain %d is told, but it is not done, or not by this thread", wait);
    drain->state = IDLE;
    push(DRAINED, drain->queue, -1);
}

void model_drain_returned(void) { pop(); }

/* ---- The end ------------------------------------------------------------------------------------------------------------ */

static bool is_of(const frame_t *frame, const frame_t *above, int queue) {
    (void)above;
    return frame->queue == queue;
}
/* Neither may wait for room or a drain of a queue that is released, nor for a worker that waits for the caller. */
static bool waits_without_turn(const frame_t *frame, const frame_t *above, int queue) {
    (void)above;
    return frame->queue == queue && (frame->kind == WAITS_FOR_ROOM || frame->kind == WAITS_FOR_DRAIN);
}

static bool is_of_delayed(int queue) {
    for (int index = 0; index < DELAYED; index++)
        if (delayed_works[index].state != STOPPED && entries[FIRST_DELAYED + index].queue == queue) return true;
    return false;
}

bool model_may_destroy(int queue) {
    const queue_t *it = &queues[queue];
    if (it->on_heap || model_is_current(queue) || it->live_count != 0) return !it->on_heap;
    return !any_frame(is_of, queue) && !fuzz_pool_has(it->item) && !is_of_delayed(queue);
}

bool model_may_release(int queue) { return queues[queue].on_heap && !any_frame(waits_without_turn, queue) && !is_of_delayed(queue); }

int model_destroy(int queue) {
    if (model_is_current(queue)) return EDEADLK;
    if (queues[queue].live_count != 0) return EBUSY;
    queues[queue].exists = false;
    return 0;
}

void model_release(int queue) {
    queues[queue].released = true;
    queues[queue].suspends = 0;
}

bool model_is_gone(int queue) {
    const queue_t *it = &queues[queue];
    return it->released && it->live_count == 0 && !any_frame(is_of, queue) && !fuzz_pool_has(it->item);
}

void model_expect_none_due(void) {
    if (is_due_on(ACTOR_MAIN) || is_due_on(ACTOR_TIMER)) fuzz_fail("a function is due and was not called");
    if (!fuzz_is_paused() && (is_due_on(ACTOR_STRANGER) || stacks[ACTOR_STRANGER].count != 0))
        fuzz_fail("a function is due on the other thread and was not called");
    if (stacks[ACTOR_MAIN].count != 0) fuzz_fail("a call has returned too early");
}

bool model_is_quiet(void) {
    for (int entry = 0; entry < ENTRIES; entry++)
        if (entries[entry].state != IDLE) return false;
    for (int queue = 0; queue < QUEUES; queue++)
        if (queues[queue].live_count != 0) return false;
    return true;
}
