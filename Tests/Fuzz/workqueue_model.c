#include "workqueue_model_parts.h"

queue_t queues[QUEUES];
entry_t entries[ENTRIES];
delayed_t delayed_works[DELAYED];
wait_t waits[WAITS];
frames_t stacks[ACTORS];
bool for_timer_thread;
bool have_place[WORKS];

void model_begin(void) {
    memset(queues, 0, sizeof queues);
    memset(entries, 0, sizeof entries);
    memset(delayed_works, 0, sizeof delayed_works);
    memset(waits, 0, sizeof waits);
    memset(stacks, 0, sizeof stacks);
}

int actor(void) { return for_timer_thread ? ACTOR_TIMER : fuzz_actor(); }

frame_t *top_of(int who) { return stacks[who].count != 0 ? &stacks[who].frames[stacks[who].count - 1] : NULL; }
frame_t *top(void) { return top_of(actor()); }

frame_t *push(int kind, int queue, int entry) {
    if (stacks[actor()].count == FRAMES) fuzz_fail("the model has no room for another function");
    stacks[actor()].count++;
    *top() = (frame_t){ .kind = kind, .queue = queue, .entry = entry, .taken = -1, .result = MODEL_WAITS };
    return top();
}

void pop(void) { stacks[actor()].count--; }

/* `above`: the one around which it is, NULL at the top. */
bool any_frame(bool (*is)(const frame_t *frame, const frame_t *above, int queue), int queue) {
    for (int who = 0; who < ACTORS; who++)
        for (frame_t *frame = stacks[who].frames; frame < stacks[who].frames + stacks[who].count; frame++)
            if (is(frame, frame != top_of(who) ? frame + 1 : NULL, queue)) return true;
    return false;
}

bool is_sync(int entry) { return entry >= FIRST_SYNC; }
bool is_delayed(int entry) { return entry >= FIRST_DELAYED && entry < FIRST_SYNC; }
delayed_t *delayed_of(int entry) { return &delayed_works[entry - FIRST_DELAYED]; }

/* ---- Queues and their order -------------------------------------------------------------------------------------- */

void model_make(int queue, const csk_workqueue_attr_t *attr, bool on_heap, const csk_pool_item_t *item) {
    queues[queue] = (queue_t){ .exists = true, .on_heap = on_heap, .attr = *attr, .item = item };
}

bool model_exists(int queue) { return queues[queue].exists && (!queues[queue].released || queues[queue].retains != 0); }
bool model_is_owned(int queue) { return queues[queue].exists && !queues[queue].released; }
bool model_is_on_heap(int queue) { return queues[queue].on_heap; }
bool model_is_idle(int entry) {
    return entries[entry].state == IDLE && (!is_delayed(entry) || delayed_of(entry)->state == STOPPED);
}
int model_queue_of(int entry) { return entries[entry].queue; }
csk_rank_t model_rank(int queue) { return csk_rank(queues[queue].attr.priority, CSK_PLACE_BACK); }
uint32_t model_running(int queue) { return queues[queue].running; }
bool model_is_suspended(int queue) { return queues[queue].suspends != 0; }

uint32_t model_level(int queue) {
    int32_t priority = queues[queue].attr.priority;
    return priority >= 1024 ? CSK_POOL_URGENT : priority <= -1024 ? CSK_POOL_BACKGROUND : CSK_POOL_NORMAL;
}

uint32_t width_of(int queue) { return queues[queue].attr.width > 1 ? queues[queue].attr.width : 1; }

bool waits_in(int entry, int queue) { return entries[entry].state == WAITING && entries[entry].queue == queue; }

uint32_t model_waiting(int queue) {
    uint32_t count = 0;
    for (int entry = 0; entry < ENTRIES; entry++) count += waits_in(entry, queue);
    return count;
}

uint32_t model_beyond_bound(int queue) {
    uint32_t waiting = model_waiting(queue), capacity = queues[queue].attr.capacity;
    return capacity != 0 && waiting > capacity ? waiting - capacity : 0;
}

bool before(const entry_t *a, const entry_t *b) {
    if (a->rank != b->rank) return a->rank > b->rank;
    return (a->rank & 3) == CSK_PLACE_FRONT ? a->arrival > b->arrival : a->arrival < b->arrival;
}

static int first_barrier(int queue) {
    int first = -1;
    for (int entry = 0; entry < ENTRIES; entry++)
        if (waits_in(entry, queue) && entries[entry].barrier &&
            (first < 0 || entries[entry].arrival < entries[first].arrival))
            first = entry;
    return first;
}

/* Nobody is overtaken more often. */
static uint32_t limit_of(int queue) {
    uint32_t limit = queues[queue].attr.bypass_limit;
    return limit != 0 ? limit : (uint32_t)CSK_BYPASS_UNNAMED;
}

/* `next`, which comes first in order, or the oldest that is counted, where that was overtaken too often. */
static int next_by_limit(int queue, int next) {
    int oldest = -1;
    for (int entry = 0; entry < ENTRIES; entry++) {
        if (!waits_in(entry, queue) || !entries[entry].counted) continue;
        if (oldest < 0 || entries[entry].arrival < entries[oldest].arrival) oldest = entry;
    }
    bool overdue = oldest >= 0 && entries[oldest].passed >= limit_of(queue);
    return overdue && entries[oldest].arrival < entries[next].arrival ? oldest : next;
}

/* Of those before the first barrier; then that. -1: nothing waits. */
int next_of(int queue) {
    int barrier = first_barrier(queue), next = -1;
    for (int entry = 0; entry < ENTRIES; entry++) {
        if (!waits_in(entry, queue) || (barrier >= 0 && entries[entry].arrival >= entries[barrier].arrival)) continue;
        if (next < 0 || before(&entries[entry], &entries[next])) next = entry;
    }
    return next >= 0 ? next_by_limit(queue, next) : barrier;
}

bool may_begin(int queue) {
    const queue_t *it = &queues[queue];
    int next = next_of(queue);
    return next >= 0 && it->suspends == 0 && !it->exclusive && it->running < width_of(queue) &&
           (!entries[next].barrier || it->running == 0);
}

bool is_full(int queue) {
    uint32_t count = 0;
    for (int entry = 0; entry < ENTRIES; entry++) count += waits_in(entry, queue) && !entries[entry].roomless;
    return queues[queue].attr.capacity != 0 && count >= queues[queue].attr.capacity;
}

static bool is_inside(const frame_t *frame, int queue) {
    if (frame->kind == TELLS && !frame->in_function) return false;
    return frame->queue == queue && (frame->kind == SECTION || frame->kind == TELLS || frame->kind == CALLED_INSIDE);
}

bool model_is_current(int queue) {
    for (int index = 0; index < stacks[actor()].count; index++)
        if (is_inside(&stacks[actor()].frames[index], queue)) return true;
    return false;
}

/* Will look at the queue when it goes on: a worker between two functions. */
static bool is_looking(const frame_t *frame, const frame_t *above, int queue) {
    (void)above;
    return frame->queue == queue && frame->kind == SERVES && !frame->in_function;
}

bool model_needs_worker(int queue) { return may_begin(queue) && !any_frame(is_looking, queue); }

/* Telling a wait is no place to wait, and this worker may be the one that others wait for. */
bool model_may_block(void) {
    if (actor() != ACTOR_STRANGER) return false;
    for (int index = 0; index < stacks[actor()].count; index++) {
        const frame_t *frame = &stacks[actor()].frames[index];
        if (frame->kind == WAIT_TOLD || (frame->kind == SERVES && !frame->in_function)) return false;
    }
    return true;
}

bool model_may_pause(void) {
    const frames_t *mine = &stacks[actor()];
    for (int index = 1; index < mine->count; index++)
        if (mine->frames[index].kind == WAIT_TOLD && mine->frames[index - 1].kind == SERVES) return false;
    return true;
}

/* ---- What is over, and who waited for it ------------------------------------------------------------------------- */

static void begin_life(int queue, int64_t arrival) {
    if (queues[queue].live_count == LIVES) fuzz_fail("the model has no room for more that is accepted");
    queues[queue].lives[queues[queue].live_count++] = arrival;
}

void end_life_quietly(int queue, int64_t arrival) {
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

void end_life(int queue, int64_t arrival) {
    end_life_quietly(queue, arrival);
    for (int wait = 0; wait < WAITS; wait++) {
        wait_t *drain = &waits[wait];
        if (drain->state != WAITING || drain->entry >= 0 || drain->queue != queue ||
            !is_drained(queue, drain->arrivals))
            continue;
        drain->state = DUE;
        drain->actor = actor();
    }
    for (int who = 0; who < ACTORS; who++) {
        frame_t *frame = top_of(who);
        if (frame != NULL && frame->kind == WAITS_FOR_DRAIN && frame->queue == queue &&
            is_drained(queue, frame->arrival))
            frame->result = 0;
    }
}

void model_has_place(int work, bool has_place) { have_place[work] = has_place; }

static bool has_place(int entry) { return entry >= WORKS || have_place[entry]; }
csk_rank_t rank_in_order(int entry, csk_rank_t rank) { return has_place(entry) ? csk_rank_in_order(rank) : rank; }

static bool is_counted(int entry, int queue, csk_rank_t rank) {
    uint32_t limit = queues[queue].attr.bypass_limit;
    if (!has_place(entry)) return false;
    return limit == 0 ? (rank & 3) == CSK_PLACE_UNNAMED : limit != CSK_BYPASS_NEVER;
}

void accept(int entry, int queue, csk_rank_t rank, bool barrier, int how) {
    int64_t arrival = ++queues[queue].arrivals;
    entries[entry] = (entry_t){ .state = WAITING,
                                .queue = queue,
                                .rank = rank_in_order(entry, rank),
                                .arrival = arrival,
                                .barrier = barrier,
                                .stays = how == ALWAYS_IN,
                                .roomless = how != BY_THE_BOUND,
                                .counted = !barrier && is_counted(entry, queue, rank) };
    begin_life(queue, arrival);
}

int entry_for_room(int who) { return who >= ACTORS ? waits[who - ACTORS].entry : top_of(who)->entry; }

/* It is told once the queue is unlocked, by this thread. */
void end_room(int who, int status) {
    if (who < ACTORS) {
        top_of(who)->result = status;
    } else {
        waits[who - ACTORS].state = DUE;
        waits[who - ACTORS].status = status;
        waits[who - ACTORS].actor = actor();
    }
}

/* Work has left the queue: who waits for room first gets the place. */
static void give_room(int queue) {
    queue_t *it = &queues[queue];
    if (it->room_count == 0 || is_full(queue)) return;
    int who = it->rooms[0], entry = entry_for_room(who);
    it->room_count--;
    memmove(&it->rooms[0], &it->rooms[1], sizeof it->rooms[0] * (size_t)it->room_count);
    end_room(who, 0);
    accept(entry, queue, entries[entry].rank, entries[entry].barrier, BY_THE_BOUND);
}

void take(int queue, int entry) {
    queue_t *it = &queues[queue];
    entries[entry].state = is_sync(entry) ? GRANTED : TAKEN;
    for (int other = 0; other < ENTRIES; other++)
        if (waits_in(other, queue) && entries[other].arrival < entries[entry].arrival) entries[other].passed++;
    it->running++;
    it->exclusive |= entries[entry].barrier;
    give_room(queue);
}

void withdraw(int entry, int state) {
    entries[entry].state = state;
    end_life(entries[entry].queue, entries[entry].arrival);
    give_room(entries[entry].queue);
}

void end_section(const frame_t *section) {
    queues[section->queue].running--;
    if (section->alone) queues[section->queue].exclusive = false;
    end_life(section->queue, section->arrival);
}
