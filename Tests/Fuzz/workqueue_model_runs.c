#include "base/platform.h"
#include "workqueue_model_parts.h"

/* ---- Workers ----------------------------------------------------------------------------------------------------- */

/* Whether the pool has other work than for this queue. */
static bool others_wait(int queue) {
    return fuzz_pool_count() > 1 || (fuzz_pool_count() == 1 && !fuzz_pool_has(queues[queue].item));
}

/* After each work it asks whether the pool has other work; and if so, whether that is for another queue: after 128
 * works, when it sees that for the first time, and then after 1, 2, 4 and each 8 more. */
static void count_served(frame_t *worker) {
    bool counts = ++worker->served % QUANTUM == 0;
    uint32_t since = worker->served - worker->seen_at;
    if (fuzz_pool_count() == 0) worker->seen_ns = 0;
    if (fuzz_pool_count() == 0) return;
    bool looks = worker->seen_ns == 0 || since == 1 || since == 2 || since == 4 || since % 8 == 0;
    if (!counts && !looks) return;
    if (!others_wait(worker->queue)) return;
    int64_t now_ns = csk_platform_now();
    if (counts || (worker->seen_ns != 0 && now_ns - worker->seen_ns >= 1000000)) worker->steps_back = true;
    if (worker->seen_ns != 0) return;
    worker->seen_ns = now_ns;
    worker->seen_at = worker->served;
}

/* The worker looks once: it takes work to call, or a caller, who has the turn once drains were told. */
static void look_once(frame_t *worker) {
    if (!may_begin(worker->queue)) return;
    int entry = next_of(worker->queue);
    take(worker->queue, entry);
    if (is_sync(entry)) worker->grants = true;
    else worker->taken = entry;
}

/* It looks, unless it has something already. It asks the pool after each turn that it gives, so it never gives two
 * before the model hears of it. */
static void look(frame_t *worker) {
    if (!worker->grants && !worker->steps_back && worker->taken < 0) look_once(worker);
}

void model_worker_comes(int queue) { push(SERVES, queue, -1); }

/* It has done something: called a work, or given a turn to a caller. */
void model_worker_asks_between(void) {
    frame_t *worker = top();
    if (worker == NULL || worker->kind != SERVES) fuzz_fail("who is no worker asks what others have to do");
    if (!worker->counted) {
        worker->has_looked = false;
        look(worker);
        if (!worker->grants) fuzz_fail("a worker asks as if it had done something");
        worker->grants = false;
        count_served(worker);
    }
    worker->counted = false;
}

/* It has found nothing, and will look again. */
void model_worker_lingers(void) {
    frame_t *worker = top();
    if (worker == NULL || worker->kind != SERVES) fuzz_fail("who is no worker asks what others have to do");
    if (!worker->has_looked) {
        worker->steps_back = false; /* another has come for the queue already, so this one went on */
        look(worker);
    }
    worker->has_looked = false;
    if (worker->grants || worker->taken >= 0) fuzz_fail("a worker finds nothing to do, though something may begin");
}

void model_worker_left(void) {
    frame_t *worker = top();
    if (worker->steps_back) {
        if (!fuzz_pool_has(queues[worker->queue].item))
            fuzz_fail("a worker leaves its queue to others, and asks for none");
    } else {
        look(worker);
        if (worker->taken >= 0) fuzz_fail("a worker leaves, though %d may begin", worker->taken);
    }
    pop();
}

/* ---- Functions --------------------------------------------------------------------------------------------------- */

/* What the timer thread does next, until it has to call a function. */
static bool is_due_on(int who) {
    const frame_t *frame = top_of(who);
    if (frame != NULL && frame->kind == TELLS) return true;
    for (int entry = 0; entry < ENTRIES; entry++)
        if (entries[entry].state == DUE && entries[entry].due_actor == who) return true;
    for (int wait = 0; wait < WAITS; wait++)
        if (waits[wait].state == DUE && waits[wait].actor == who) return true;
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
    } else if (caller->kind != WAITS_FOR_TURN || caller->entry != entry) {
        fuzz_fail("work is called by nobody who serves its queue");
    } else if (entries[entry].state != GRANTED) {
        fuzz_fail("a caller has its turn, though %s",
                  may_begin(queue) && next_of(queue) == entry ? "nobody gave it" : "it has not come");
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
    frame_t *caller = top();
    entry_t *it = &entries[entry];
    if (caller != NULL && caller->kind == SECTION && caller->last_follows && caller->entry == entry) {
        fuzz_expect_status("the last call of periodic work", status, ECANCELED);
        delayed_of(entry)->state = STOPPED;
        push(CALLED, it->queue, entry);
    } else if (it->state == TOLD) {
        if (caller == NULL || caller->kind != TELLS || caller->queue != it->queue)
            fuzz_fail("%d is told by somebody else", entry);
        if (caller->untold == 0 && caller->joined[caller->joined_told] != entry)
            fuzz_fail("%d is told before %d", entry, caller->joined[caller->joined_told]);
        fuzz_expect_status("what is told", status, ECANCELED);
        caller->in_function = true;
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
        if (around->untold > 0) around->untold--;
        else around->joined_told++;
        around->in_function = false;
        go_on_telling();
        return;
    }
    if (ended.kind == CALLED) {
        ended = *around;
        pop();
        around = top();
    }
    if (ended.kind != SECTION) return;
    around->in_function = false;
    around->counted = around->kind == SERVES;
    if (around->counted) count_served(around);
    end_section(&ended);
    if (around->kind != SERVES || around->steps_back) return;
    look_once(around);
    around->has_looked = !around->grants;
}

/* The worker has taken something, and so made room; it tells that before it goes on. */
static void look_for_room(frame_t *worker, int wait) {
    if (waits[wait].state != WAITING || worker->taken >= 0) return;
    worker->steps_back = worker->has_looked = false;
    look(worker);
}

void model_wait_called(int wait, int status) {
    catch_up_with_timer_thread();
    frame_t *caller = top();
    wait_t *it = &waits[wait];
    /* A caller who has waited long enough, and whose leaving is what was waited for. */
    if (it->state == WAITING && caller != NULL && caller->kind == WAITS_FOR_TURN &&
        entries[caller->entry].state == WAITING && csk_now() >= caller->deadline_ns)
        withdraw(caller->entry, GAVE_UP);
    if (caller != NULL && caller->kind == SERVES && it->entry >= 0)
        for (int turns = 0; turns < ENTRIES; turns++) look_for_room(caller, wait);
    if (it->state != DUE || it->actor != actor())
        fuzz_fail("the wait %d is told, but it is not done, or not by this thread", wait);
    fuzz_expect_status("what a wait is told", status, it->status);
    it->state = IDLE;
    push(WAIT_TOLD, it->queue, -1);
}

void model_wait_returned(void) { pop(); }

/* ---- The end ----------------------------------------------------------------------------------------------------- */

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

static bool may_let_go(int queue) { return !any_frame(waits_without_turn, queue) && !is_of_delayed(queue); }

bool model_may_release(int queue) { return queues[queue].on_heap && (queues[queue].retains != 0 || may_let_go(queue)); }
bool model_may_unretain(int queue) {
    const queue_t *it = &queues[queue];
    return it->retains != 0 && (it->retains > 1 || !it->released || may_let_go(queue));
}
void model_retain(int queue) { queues[queue].retains++; }
void model_unretain(int queue) { queues[queue].retains--; }

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
    return it->released && it->retains == 0 && it->live_count == 0 && !any_frame(is_of, queue) &&
           !fuzz_pool_has(it->item);
}

void model_expect_none_due(void) {
    if (is_due_on(ACTOR_MAIN) || is_due_on(ACTOR_TIMER)) fuzz_fail("a function is due and was not called");
    if (!fuzz_is_paused(ACTOR_STRANGER) && (is_due_on(ACTOR_STRANGER) || stacks[ACTOR_STRANGER].count != 0))
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
