/* sem_fuzz.c: one semaphore, seven asynchronous waiters and a thread that never has to wait, against an array that is
 * searched for whoever is first. */
#include "fuzz.h"

enum { WAITERS = 7, DUE = 64 };
static csk_sem_t sem;
static csk_waiter_t waiters[WAITERS];

static struct {
    int64_t free, in_all, most;
    int64_t tickets;
    struct {
        bool waits;
        csk_rank_t rank;
        int64_t ticket, permits;
        int64_t deadline_ns; /* CSK_NEVER: none */
    } of[WAITERS];
    /* The functions that are to be called, in order. */
    int due[DUE], statuses[DUE], first_due, end_due;
    bool runs;
} model;

/* ---- The model --------------------------------------------------------------------------------------------------- */

/* Who comes first; -1: nobody waits. */
static int model_first(void) {
    int first = -1;
    for (int i = 0; i < WAITERS; i++) {
        if (!model.of[i].waits) continue;
        bool before = first < 0 || model.of[i].rank > model.of[first].rank ||
                      (model.of[i].rank == model.of[first].rank && model.of[i].ticket < model.of[first].ticket);
        if (before) first = i;
    }
    return first;
}

static void model_end(int index, int status) {
    model.of[index].waits = false;
    model.due[model.end_due] = index;
    model.statuses[model.end_due++] = status;
}

static void model_serve(void) {
    for (int first; (first = model_first()) >= 0 && model.of[first].permits <= model.free;) {
        model.free -= model.of[first].permits;
        model_end(first, 0);
    }
}

static bool model_is_rank(csk_rank_t rank) {
    return rank >= (csk_rank_t)INT32_MIN * 4 && rank <= (csk_rank_t)INT32_MAX * 4 + 2 && (rank & 3) != 3;
}

/* A thread that takes permits at once, or gets `otherwise`. */
static int model_take(csk_rank_t rank, int64_t permits, int otherwise) {
    int first = model_first();
    if (first < 0 && permits != 0 && permits <= model.free) {
        model.free -= permits;
        return 0;
    }
    if (!model_is_rank(rank) || permits == 0 || permits > model.most) return EINVAL;
    if (first < 0 || rank <= model.of[first].rank || permits > model.free) return otherwise;
    model.free -= permits;
    return 0;
}

/* The first whose deadline has passed; -1: none. */
static int model_late(void) {
    int late = -1;
    for (int i = 0; i < WAITERS; i++)
        if (model.of[i].waits && model.of[i].deadline_ns < fuzz_deadline(fuzz_tick() + 1, 0) &&
            (late < 0 || model.of[i].deadline_ns < model.of[late].deadline_ns))
            late = i;
    return late;
}

/* ---- The calls --------------------------------------------------------------------------------------------------- */

static void note(const char *call, int64_t a, int64_t b) {
    fuzz_note("%" PRId64 "/%d: %s(%" PRId64 ", %" PRId64 ")", fuzz_tick(), fuzz_actor(), call, a, b);
}

static void make_call(void);

static void called(csk_waiter_t *waiter, void *context, int status) {
    int index = (int)(waiter - waiters);
    note("a function is called", index, status);
    /* The clock's thread has taken it out before. */
    if (status == ETIMEDOUT) {
        fuzz_expect("the waiter that is late", index, model_late());
        model_end(index, ETIMEDOUT);
        model_serve();
    }
    if (model.first_due == model.end_due) fuzz_fail("a function is called that is not due");
    fuzz_expect("the waiter whose function is called", index, model.due[model.first_due]);
    fuzz_expect_status("what a function is called with", status, model.statuses[model.first_due]);
    fuzz_expect("the context's waiter", (int64_t)(intptr_t)context, index);
    fuzz_expect("functions that run at once", model.runs, false);
    model.first_due++;
    if (status == ETIMEDOUT || model.end_due > DUE / 2) return;
    model.runs = true;
    if (fuzz_below(3) == 2) make_call();
    model.runs = false;
}

static csk_rank_t any_rank(void) {
    static const csk_rank_t odd[] = { INT64_MAX, INT64_MIN };
    int place = fuzz_below(16);
    return place >= 14 ? odd[place - 14] : csk_rank(fuzz_priority(), place % 3);
}
static uint32_t any_permits(void) {
    static const uint32_t odd[] = { 0, UINT32_MAX, CSK_SEM_MAX, (uint32_t)CSK_SEM_MAX + 1 };
    int which = fuzz_below(32);
    return which >= 28 ? odd[which - 28] : 1 + (uint32_t)which % 5;
}

static void wait_async(void) {
    int index = fuzz_below(WAITERS), when = fuzz_below(8) - 1;
    csk_rank_t rank = any_rank();
    uint32_t permits = any_permits();
    bool with_function = fuzz_below(8) != 7, is_late = when < 5;
    int64_t deadline_ns = is_late ? fuzz_deadline(fuzz_tick() + when, index) : CSK_NEVER;
    note("csk_sem_wait_async", index, permits);
    int expected = 0;
    if (!with_function || !model_is_rank(rank) || permits == 0 || permits > model.most) expected = EINVAL;
    else if (model.of[index].waits) expected = EBUSY;
    for (int i = model.first_due; i < model.end_due && expected == 0; i++)
        if (model.due[i] == index) expected = EBUSY;
    if (expected == 0) {
        model.of[index].waits = true;
        model.of[index].rank = rank;
        model.of[index].ticket = ++model.tickets;
        if ((rank & 3) == CSK_PLACE_FRONT) model.of[index].ticket = -model.tickets;
        model.of[index].permits = permits;
        model.of[index].deadline_ns = deadline_ns;
        model_serve();
    }
    fuzz_expect_status("csk_sem_wait_async",
                       csk_sem_wait_async(&sem, rank, &waiters[index], permits, deadline_ns,
                                          with_function ? called : NULL, (void *)(intptr_t)index),
                       expected);
}

static void take(void) {
    csk_rank_t rank = any_rank();
    uint32_t permits = any_permits();
    if (fuzz_below(2)) {
        int32_t priority = fuzz_priority();
        note("csk_sem_trywait", priority, permits);
        int expected = model_take(csk_rank(priority, CSK_PLACE_BACK), permits, EBUSY);
        fuzz_expect_status("csk_sem_trywait", csk_sem_trywait(&sem, priority, permits), expected);
        return;
    }
    note("csk_sem_wait_ranked", rank, permits);
    int expected = model_take(rank, permits, ETIMEDOUT);
    /* What can be had at once needs no deadline. */
    int64_t deadline_ns = expected == ETIMEDOUT ? INT64_MIN : CSK_NEVER;
    fuzz_expect_status("csk_sem_wait_ranked", csk_sem_wait_ranked(&sem, rank, permits, deadline_ns), expected);
}

static void signal_some(void) {
    uint32_t permits = any_permits();
    note("csk_sem_post", permits, 0);
    int expected = permits == 0 ? EINVAL : model.free + permits > model.most ? EOVERFLOW : 0;
    if (expected == 0) {
        model.free += permits;
        model_serve();
    }
    fuzz_expect_status("csk_sem_post", csk_sem_post(&sem, permits), expected);
}

static void resize(void) {
    uint32_t permits = fuzz_below(4) == 3 ? any_permits() : (uint32_t)fuzz_below(9);
    note("csk_sem_resize", permits, 0);
    int64_t more = permits - model.in_all;
    int expected = permits > model.most ? EINVAL : model.free + more > model.most ? EOVERFLOW : 0;
    if (expected == 0) {
        model.in_all = permits;
        model.free += more;
        model_serve();
    }
    fuzz_expect_status("csk_sem_resize", csk_sem_resize(&sem, permits), expected);
}

static void cancel(int index) {
    note("csk_sem_cancel", index, 0);
    int expected = model.of[index].waits ? 0 : ENOENT;
    if (expected == 0) {
        model_end(index, ECANCELED);
        model_serve();
    }
    fuzz_expect_status("csk_sem_cancel", csk_sem_cancel(&sem, &waiters[index]), expected);
}

static void look(void) {
    int waiting = 0;
    for (int i = 0; i < WAITERS; i++) waiting += model.of[i].waits;
    fuzz_expect("csk_sem_permits", csk_sem_permits(&sem), model.free);
    fuzz_expect("csk_sem_waiting", csk_sem_waiting(&sem), waiting);
    fuzz_expect_status("csk_sem_destroy", csk_sem_destroy(&sem), waiting != 0 ? EBUSY : 0);
}

static void make_call(void) {
    switch (fuzz_below(6)) {
    case 0:
    case 1: wait_async(); break;
    case 2: take(); break;
    case 3: signal_some(); break;
    case 4: resize(); break;
    case 5: cancel(fuzz_below(WAITERS)); break;
    }
    look();
}

static void call_from_outside(void *unused) {
    (void)unused;
    make_call();
    fuzz_expect("functions that are due and were not called", model.end_due - model.first_due, 0);
    model.first_due = model.end_due = 0;
}

static void expect_none_late(void) {
    fuzz_expect("a waiter whose deadline has passed", model_late(), -1);
    fuzz_expect("functions that are due and were not called", model.end_due - model.first_due, 0);
    model.first_due = model.end_due = 0;
}

static void make(void) {
    static const uint32_t bounds[] = { 0, 1, 4, 12 };
    uint32_t most = bounds[fuzz_below(4)], permits = (uint32_t)fuzz_below(4);
    memset(&model, 0, sizeof model);
    memset(waiters, 0, sizeof waiters);
    memset(&sem, 0, sizeof sem);
    model.most = most == 0 ? CSK_SEM_MAX : (int64_t)most;
    int expected = permits > model.most ? EINVAL : 0;
    fuzz_expect_status("csk_sem_init", csk_sem_init(&sem, permits, most), expected);
    if (expected != 0) model.most = CSK_SEM_MAX;
    else model.free = model.in_all = permits;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    fuzz_begin(data, size);
    fuzz_after_timers(NULL);
    make();
    fuzz_after_timers(expect_none_late);
    while (!fuzz_at_end()) {
        uint8_t byte = fuzz_byte();
        if (byte % 4 == 0) {
            note("ticks pass", byte / 4 % 3, 0);
            fuzz_advance(byte / 4 % 3);
        } else {
            fuzz_call_on(byte / 4 & 1, call_from_outside, NULL);
        }
    }
    for (int index = 0; index < WAITERS; index++) {
        cancel(index);
        model.first_due = model.end_due = 0;
    }
    fuzz_advance(8);
    return 0;
}
