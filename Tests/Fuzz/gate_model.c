/* gate_model.c: see gate_model.h.
 *
 * More than 400 lines: it is one state, which each call changes. */
#include "gate_model.h"

enum { IDLE, QUEUED, GRANTED, LOST };

static const csk_rank_t closer_rank = (csk_rank_t)INT32_MIN * 4 - 1;

typedef struct {
    int state;
    csk_rank_t rank;
    int64_t ticket;
    int64_t deadline_ns;
    uint32_t passed; /* by how many later arrivals since it queued */
    bool unnamed;    /* it has a limit where the gate has none */
    bool due;        /* its function is */
    int due_status;
    bool adoptable;
    int64_t granted_tick, grace_ticks;
    bool grace_started;
} model_waiter_t;

static struct {
    csk_gate_attr_t attr;
    int holder;
    int grantee; /* HOLDER_NOBODY: whose grant it was; -1: disowned */
    int pending; /* has a grant that nobody has adopted; -1: none does */
    bool closed, hand_over, designated;
    int lost;
    int64_t tickets;
    model_waiter_t waiters[WAITERS + 1];
    int queue[WAITERS + 1], queued;
    int due[64], due_count;
    bool in_function;
} model;

/* The thread that waits. */
static struct {
    bool waits, woken, granted;
    int actor, status;
    int64_t since_tick, end_tick, ended_tick;
} thread;

void model_make(const csk_gate_attr_t *attr) {
    memset(&model, 0, sizeof model);
    model.attr = *attr;
    model.holder = HOLDER_NONE;
    model.pending = model.grantee = -1;
}

/* ---- The order --------------------------------------------------------------------------------------------------- */

static bool is_rank(csk_rank_t rank) {
    return rank >= (csk_rank_t)INT32_MIN * 4 && rank <= (csk_rank_t)INT32_MAX * 4 + 3;
}

static bool before(const model_waiter_t *a, const model_waiter_t *b) {
    return a->rank != b->rank ? a->rank > b->rank : a->ticket < b->ticket;
}

static bool is_unnamed(csk_rank_t rank) { return rank != closer_rank && (rank & 3) == 3; }
static csk_rank_t in_order(csk_rank_t rank) { return is_unnamed(rank) ? rank - 2 : rank; }

/* The one that has been passed too often: the first to queue of those under a limit, or none (-1). */
static int overdue(void) {
    uint32_t own = model.attr.bypass_limit, limit = own != 0 ? own : 64;
    for (int place = 0; place < model.queued; place++) {
        const model_waiter_t *waiter = &model.waiters[model.queue[place]];
        if (own == 0 && !waiter->unnamed) continue;
        return waiter->passed >= limit && waiter->rank != closer_rank ? model.queue[place] : -1;
    }
    return -1;
}

static int next_waiter(void) {
    int best = -1;
    for (int index = 0; index < model.queued; index++)
        if (best < 0 || before(&model.waiters[model.queue[index]], &model.waiters[best])) best = model.queue[index];
    if (best >= 0 && model.waiters[best].rank == closer_rank) return model.lost == 0 ? best : -1;
    return overdue() >= 0 ? overdue() : best;
}

/* Whether a newcomer may have a free gate before those who wait. */
static bool may_pass(csk_rank_t rank, int64_t ticket) {
    int next = next_waiter();
    if (next < 0) return rank != closer_rank || model.lost == 0;
    if (model.hand_over || overdue() >= 0) return false;
    const model_waiter_t *waiter = &model.waiters[next];
    return rank > waiter->rank || (rank == waiter->rank && (next == THREAD || ticket < waiter->ticket));
}

static void count_pass(void) {
    for (int index = 0; index < model.queued; index++) model.waiters[model.queue[index]].passed++;
}

static void start_grace(void) {
    if (model.pending < 0) return;
    model_waiter_t *pending = &model.waiters[model.pending];
    if (pending->granted_tick < 0) pending->granted_tick = fuzz_tick();
    pending->grace_started = true;
}

static void insert(int index) {
    model.waiters[index].state = QUEUED;
    model.waiters[index].passed = 0;
    model.queue[model.queued++] = index;
    start_grace();
}

static void take_out(int index, bool granted) {
    int place = 0;
    if (granted || next_waiter() == index) model.hand_over = false;
    while (model.queue[place] != index) place++;
    if (granted)
        for (int older = 0; older < place; older++) model.waiters[model.queue[older]].passed++;
    model.queued--;
    memmove(&model.queue[place], &model.queue[place + 1], sizeof model.queue[0] * (size_t)(model.queued - place));
    if (index == THREAD) model.designated = false;
}

static void make_due(int index, int status) {
    model.waiters[index].due = true;
    model.waiters[index].due_status = status;
    if (model.due_count == (int)(sizeof model.due / sizeof model.due[0]))
        fuzz_fail("the model has no room for functions that are due");
    model.due[model.due_count++] = index;
}

static void mark_granted(int index) {
    model_waiter_t *waiter = &model.waiters[index];
    waiter->state = GRANTED;
    model.holder = HOLDER_NOBODY;
    model.grantee = index;
    if (waiter->adoptable) {
        model.pending = index;
        waiter->granted_tick = model.queued != 0 ? fuzz_tick() : -1; /* the grace begins when somebody waits */
        waiter->grace_started = model.queued != 0;
    }
    make_due(index, 0);
}

static void grant(int index) {
    take_out(index, true);
    if (index != THREAD) {
        mark_granted(index);
        return;
    }
    model.holder = thread.actor;
    thread.granted = thread.woken = true;
}

/* A free gate does not stay so while somebody waits: it is granted, or the thread that waits is told to try. */
static void settle(void) {
    int next = next_waiter();
    if (next < 0 || model.holder != HOLDER_NONE) return;
    if (next != THREAD || model.attr.policy == CSK_GATE_STRICT || model.hand_over || overdue() >= 0) grant(next);
    else if (!model.designated) model.designated = thread.woken = true;
}

/* ---- Threads ----------------------------------------------------------------------------------------------------- */

void model_take(void) { model.holder = fuzz_actor(); }

static int try_to_enter(csk_rank_t rank, bool counts) {
    if (model.holder != HOLDER_NONE) return EBUSY;
    if (model.closed) return ESHUTDOWN;
    if (!may_pass(in_order(rank), INT64_MAX)) return EBUSY;
    if (counts) count_pass();
    model_take();
    return 0;
}
int model_trylock(csk_rank_t rank) { return try_to_enter(rank, true); }

int model_lock(csk_rank_t rank, int ticks) {
    bool idle = model.holder == HOLDER_NONE && model.queued == 0 && !model.closed;
    if (!is_rank(rank)) return idle ? MODEL_OK_OR_EINVAL : EINVAL;
    if (model.holder == fuzz_actor()) return EDEADLK;
    if (model.closed) return ESHUTDOWN;
    if (ticks <= 0 || model.holder == HOLDER_NONE) {
        /* It passes by one compare-and-swap, unless the gate has a limit. */
        int status = try_to_enter(rank, model.attr.bypass_limit != 0);
        return status == EBUSY ? ETIMEDOUT : status;
    }
    int64_t ticket = ++model.tickets;
    model.waiters[THREAD] = (model_waiter_t){ .rank = in_order(rank),
                                              .unnamed = is_unnamed(rank),
                                              .ticket = (rank & 3) == CSK_PLACE_FRONT ? -ticket : ticket };
    insert(THREAD);
    memset(&thread, 0, sizeof thread);
    thread.waits = true;
    thread.actor = fuzz_actor();
    thread.since_tick = fuzz_tick();
    thread.end_tick = fuzz_tick() + ticks;
    return MODEL_BLOCKS;
}

static void end_wait(int status) {
    thread.waits = false;
    thread.status = status;
    thread.ended_tick = fuzz_tick();
}

/* Told to try: it enters if it is still the next and the gate still free, else it has waited once more. */
static void try_designated(void) {
    bool next = next_waiter() == THREAD;
    if (next && model.holder == HOLDER_NONE) {
        grant(THREAD);
        return;
    }
    model.designated = false;
    /* Its patience, below a millisecond, is at an end: who leaves next hands over. */
    if (next && fuzz_tick() > thread.since_tick) model.hand_over = true;
    settle();
}

static void let_thread_look(void) {
    if (!thread.waits) return;
    if (thread.woken) {
        thread.woken = false;
        if (!thread.granted) try_designated();
        if (thread.granted) {
            end_wait(0);
            return;
        }
    }
    if (fuzz_tick() < thread.end_tick) return;
    take_out(THREAD, false);
    settle();
    end_wait(ETIMEDOUT);
}

int model_wait_ended(void) {
    if (thread.waits) fuzz_fail("a thread stopped waiting without a reason");
    fuzz_expect("the tick at which a wait ended", fuzz_tick(), thread.ended_tick);
    return thread.status;
}

int model_unlock(void) {
    bool may = model.holder == fuzz_actor() || (model.holder == HOLDER_NOBODY && model.pending < 0);
    if (!may) return EPERM;
    model.holder = HOLDER_NONE;
    settle();
    return 0;
}

int model_disown(void) {
    if (model.holder != fuzz_actor()) return EPERM;
    model.holder = HOLDER_NOBODY;
    model.grantee = -1;
    return 0;
}

/* ---- Asynchronous waiters ---------------------------------------------------------------------------------------- */

static void grant_or_insert(int index) {
    model_waiter_t *waiter = &model.waiters[index];
    if (model.holder == HOLDER_NONE && may_pass(waiter->rank, waiter->ticket)) {
        count_pass();
        mark_granted(index);
    } else insert(index);
    settle();
}

static int queue_waiter(int index, csk_rank_t rank, int64_t deadline_ns, bool adoptable) {
    model_waiter_t *waiter = &model.waiters[index];
    if (model.closed) return ESHUTDOWN;
    if (waiter->due || (waiter->state != IDLE && (waiter->state != GRANTED || waiter->adoptable))) return EBUSY;
    int64_t ticket = ++model.tickets;
    *waiter = (model_waiter_t){ .rank = in_order(rank),
                                .unnamed = is_unnamed(rank),
                                .deadline_ns = deadline_ns,
                                .adoptable = adoptable,
                                .grace_ticks = model.attr.grace_us == 0 ? 1 : model.attr.grace_us / 1000 };
    waiter->ticket = rank != closer_rank && (rank & 3) == CSK_PLACE_FRONT ? -ticket : ticket;
    model.closed = rank == closer_rank;
    grant_or_insert(index);
    return 0;
}

int model_lock_async(int index, csk_rank_t rank, int64_t deadline_ns, bool adoptable, bool with_function) {
    return !with_function || !is_rank(rank) ? EINVAL : queue_waiter(index, rank, deadline_ns, adoptable);
}

int model_close(int index, bool with_function) {
    return !with_function ? EINVAL : queue_waiter(index, closer_rank, CSK_NEVER, false);
}

static void give_up(int index, int status) {
    take_out(index, false);
    model.waiters[index].state = IDLE;
    make_due(index, status);
    settle();
}

int model_cancel(int index) {
    if (model.waiters[index].state != QUEUED || model.waiters[index].rank == closer_rank) return ENOENT;
    give_up(index, ECANCELED);
    return 0;
}

bool model_adopt_is_undefined(int index) {
    return model.waiters[index].state == GRANTED && model.holder == HOLDER_NOBODY && model.pending < 0 &&
           model.grantee != index;
}

int model_adopt(int index) {
    model_waiter_t *waiter = &model.waiters[index];
    if (waiter->state == LOST) return EAGAIN;
    if (waiter->state != GRANTED || model.holder != HOLDER_NOBODY || model.grantee != index) return EINVAL;
    waiter->state = IDLE;
    model.pending = -1;
    model.holder = fuzz_actor();
    return 0;
}

int model_relock(int index) {
    if (model.waiters[index].state != LOST) return EINVAL;
    model.lost--;
    grant_or_insert(index);
    return 0;
}

int model_forget(int index) {
    bool lost = model.waiters[index].state == LOST;
    if (lost) {
        model.waiters[index].state = IDLE;
        model.lost--;
    }
    settle();
    return lost ? 0 : EINVAL;
}

int model_destroy(void) {
    bool closed_for_good = model.closed && model.holder == HOLDER_NOBODY && model.pending < 0;
    return model.queued != 0 || model.lost != 0 || (model.holder != HOLDER_NONE && !closed_for_good) ? EBUSY : 0;
}

/* ---- What is due ------------------------------------------------------------------------------------------------- */

static bool has_passed(const model_waiter_t *waiter) { return waiter->deadline_ns < fuzz_deadline(fuzz_tick() + 1, 0); }

static int first_deadline(void) {
    int first = -1;
    for (int place = 0; place < model.queued; place++) {
        int index = model.queue[place];
        if (index == THREAD || !has_passed(&model.waiters[index])) continue;
        if (first < 0 || model.waiters[index].deadline_ns < model.waiters[first].deadline_ns) first = index;
    }
    return first;
}

/* Where somebody else waits, the grant goes to the next of them. */
static void end_grace(void) {
    model_waiter_t *waiter = &model.waiters[model.pending];
    int next = next_waiter();
    waiter->grace_started = false;
    if (next < 0 || model.waiters[next].rank == closer_rank) return;
    waiter->state = LOST;
    waiter->grace_ticks = waiter->grace_ticks > 500 ? 1000 : waiter->grace_ticks * 2;
    model.pending = -1;
    model.lost++;
    grant(next);
}

/* One thing that the timer thread does at this tick: false when there is none. */
static bool let_time_act(void) {
    int first = first_deadline();
    const model_waiter_t *pending = model.pending >= 0 ? &model.waiters[model.pending] : NULL;
    int64_t grace_end = pending != NULL && pending->grace_started ? pending->granted_tick + pending->grace_ticks
                                                                  : INT64_MAX;
    bool grace = grace_end <= fuzz_tick();
    if (first >= 0 && grace && fuzz_deadline(grace_end, 500) < model.waiters[first].deadline_ns) first = -1;
    if (first >= 0) give_up(first, ETIMEDOUT);
    else if (grace) end_grace();
    return first >= 0 || grace;
}

int model_next_due(int *status) {
    if (model.in_function) fuzz_fail("a function is called inside another");
    if (fuzz_actor() == ACTOR_TIMER)
        while (model.due_count == 0 && let_time_act()) {}
    if (model.due_count == 0) return -1;
    int index = model.due[0];
    model.due_count--;
    memmove(&model.due[0], &model.due[1], sizeof model.due[0] * (size_t)model.due_count);
    model.waiters[index].due = false;
    *status = model.waiters[index].due_status;
    model.in_function = true;
    return index;
}

void model_function_ended(void) { model.in_function = false; }

void model_expect_none_due(void) { fuzz_expect("functions that were not called", model.due_count, 0); }

void model_timers_ran(void) {
    while (let_time_act()) model_expect_none_due();
    let_thread_look();
}

int model_holder(void) { return model.holder; }
int model_pending(void) { return model.pending; }
bool model_is_mine(void) { return model.holder == fuzz_actor(); }
bool model_is_queued(int index) { return model.waiters[index].state == QUEUED; }
bool model_is_lost(int index) { return model.waiters[index].state == LOST; }
uint32_t model_waiting(void) { return (uint32_t)model.queued; }
