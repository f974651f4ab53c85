/* pqueue_fuzz.c: the blocking queue, as one thread and asynchronous waiters see it, against arrays in order of the
 * calls. A thread's call that would wait is made with a deadline that has passed. */
#include "fuzz.h"

enum { ITEMS = 12, WAITERS = 5, DUE = 64 };
enum { POPS, PUSHES };
static csk_pqueue_t queue;
static csk_pqueue_item_t items[ITEMS];
static csk_waiter_t waiters[WAITERS];

static struct {
    int inside[ITEMS]; /* in the order of their pushes */
    int32_t priority[ITEMS];
    int count;
    uint64_t capacity;
    bool closed;
    struct {
        bool waits;
        int side, item;      /* what it pushes */
        int64_t deadline_ns; /* CSK_NEVER: none */
    } of[WAITERS];
    int line[2][WAITERS], in_line[2]; /* who waits, in the order in which they came */
    /* The functions that are to be called, in order, and what was taken for them. */
    int due[DUE], statuses[DUE], taken[DUE], first_due, end_due;
    bool runs;
} model;

static bool model_has(int item) {
    for (int index = 0; index < model.count; index++)
        if (model.inside[index] == item) return true;
    for (int index = 0; index < WAITERS; index++)
        if (model.of[index].waits && model.of[index].side == PUSHES && model.of[index].item == item) return true;
    return false;
}

/* The first of the highest priority; -1 when there is none. */
static int model_take(void) {
    int best = 0;
    if (model.count == 0) return -1;
    for (int index = 1; index < model.count; index++)
        if (model.priority[model.inside[index]] > model.priority[model.inside[best]]) best = index;
    int item = model.inside[best];
    model.count--;
    memmove(&model.inside[best], &model.inside[best + 1], sizeof model.inside[0] * (size_t)(model.count - best));
    return item;
}

static bool model_is_full(void) { return model.capacity != 0 && (uint64_t)model.count >= model.capacity; }

static void model_put(int item) { model.inside[model.count++] = item; }

static void model_end(int index, int status, int taken) {
    int side = model.of[index].side, place = 0;
    model.of[index].waits = false;
    while (model.line[side][place] != index) place++;
    model.in_line[side]--;
    memmove(&model.line[side][place], &model.line[side][place + 1],
            sizeof model.line[side][0] * (size_t)(model.in_line[side] - place));
    model.due[model.end_due] = index;
    model.taken[model.end_due] = taken;
    model.statuses[model.end_due++] = status;
}

static void model_serve(void) {
    for (;;) {
        if (model.in_line[POPS] != 0 && model.count != 0) {
            model_end(model.line[POPS][0], 0, model_take());
        } else if (model.in_line[PUSHES] != 0 && !model_is_full()) {
            int first = model.line[PUSHES][0];
            model_put(model.of[first].item);
            model_end(first, 0, -1);
        } else return;
    }
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

static int64_t passed_deadline(void) {
    static const int64_t deadlines[] = { INT64_MIN, -1, 0, 1 };
    int which = fuzz_below(5);
    return which == 4 ? csk_deadline_after(-fuzz_byte()) : deadlines[which];
}

static void push(void) {
    int item = fuzz_below(ITEMS), how = fuzz_below(3);
    if (model_has(item)) return;
    int32_t priority = fuzz_priority();
    int expected = model.closed ? ESHUTDOWN : 0;
    if (expected == 0 && model_is_full()) expected = how == 0 ? EBUSY : ETIMEDOUT;
    bool would_wait = expected == ETIMEDOUT;
    if (expected == 0) {
        model.priority[item] = priority;
        model_put(item);
        model_serve();
    }
    if (how == 0) {
        fuzz_note("csk_pqueue_trypush(%d, %d)", item, priority);
        fuzz_expect_status("csk_pqueue_trypush", csk_pqueue_trypush(&queue, priority, &items[item]), expected);
    } else if (how == 1 || would_wait) {
        int64_t deadline_ns = passed_deadline();
        fuzz_note("csk_pqueue_timedpush(%d, %d)", item, priority);
        fuzz_expect_status("csk_pqueue_timedpush", csk_pqueue_timedpush(&queue, priority, &items[item], deadline_ns),
                           expected);
    } else {
        fuzz_note("csk_pqueue_push(%d, %d)", item, priority);
        fuzz_expect_status("csk_pqueue_push", csk_pqueue_push(&queue, priority, &items[item]), expected);
    }
}

static void pop(void) {
    int how = fuzz_below(3), status;
    const char *call;
    csk_pqueue_item_t *item = NULL;
    bool would_wait = model.count == 0 && !model.closed;
    int expected = model.count != 0 ? 0 : model.closed ? ESHUTDOWN : how == 0 ? EBUSY : ETIMEDOUT;
    int taken = model_take();
    model_serve();
    if (how == 0) {
        fuzz_note("%s()", call = "csk_pqueue_trypop");
        status = csk_pqueue_trypop(&queue, &item);
    } else if (how == 1 || would_wait) {
        int64_t deadline_ns = passed_deadline();
        fuzz_note("%s()", call = "csk_pqueue_timedpop");
        status = csk_pqueue_timedpop(&queue, &item, deadline_ns);
    } else {
        fuzz_note("%s()", call = "csk_pqueue_pop");
        status = csk_pqueue_pop(&queue, &item);
    }
    fuzz_expect_status(call, status, expected);
    fuzz_expect("the item popped", item == NULL ? -1 : item - items, taken);
}

/* Its items are nobody's to push before it has returned. So the functions that it calls make no calls. */
static void drain(void) {
    int drained[ITEMS], count = model.count;
    bool runs = model.runs;
    csk_pqueue_item_t *item;
    for (int index = 0; index < count; index++) drained[index] = model_take();
    model_serve();
    fuzz_note("csk_pqueue_drain()");
    model.runs = true;
    fuzz_expect("csk_pqueue_drain", (int64_t)csk_pqueue_drain(&queue, &item), count);
    model.runs = runs;
    for (int index = 0; index < count; index++, item = item->next)
        fuzz_expect("the item drained", item - items, drained[index]);
    fuzz_expect("the end of what is drained", item == NULL, true);
}

static void make(void) {
    model.capacity = (uint64_t)fuzz_below(5);
    model.closed = false;
    model.count = 0;
    fuzz_note("csk_pqueue_init(%" PRIu64 ")", model.capacity);
    if (model.capacity == 4) {
        memset(&queue, 0, sizeof queue);
        model.capacity = 0;
    } else fuzz_expect_status("csk_pqueue_init", csk_pqueue_init(&queue, model.capacity), 0);
}

static void destroy(void) {
    fuzz_note("csk_pqueue_destroy()");
    int status = csk_pqueue_destroy(&queue), inside = model.count + model.in_line[POPS] + model.in_line[PUSHES];
    fuzz_expect_status("csk_pqueue_destroy", status, inside != 0 ? EBUSY : 0);
    if (status != 0) return;
    memset(&queue, 0x5A, sizeof queue);
    make();
}

static void close_queue(void) {
    fuzz_note("csk_pqueue_close()");
    model.closed = true;
    while (model.in_line[POPS] != 0) model_end(model.line[POPS][0], ESHUTDOWN, -1);
    while (model.in_line[PUSHES] != 0) model_end(model.line[PUSHES][0], ESHUTDOWN, -1);
    fuzz_expect_status("csk_pqueue_close", csk_pqueue_close(&queue), 0);
}

/* ---- Asynchronous waiters ---------------------------------------------------------------------------------------- */

static void make_call(void);

static void called(csk_waiter_t *waiter, void *context, int status) {
    int index = (int)(waiter - waiters);
    fuzz_note("the function of %d is called with %d", index, status);
    /* The clock's thread has taken it out before. */
    if (status == ETIMEDOUT) {
        fuzz_expect("the waiter that is late", index, model_late());
        model_end(index, ETIMEDOUT, -1);
    }
    if (model.first_due == model.end_due) fuzz_fail("a function is called that is not due");
    int due = model.first_due++;
    fuzz_expect("the waiter whose function is called", index, model.due[due]);
    fuzz_expect_status("what a function is called with", status, model.statuses[due]);
    fuzz_expect("the context's waiter", (int64_t)(intptr_t)context, index);
    if (model.taken[due] >= 0) fuzz_expect("the item taken", csk_pqueue_taken(waiter) - items, model.taken[due]);
    if (status == ETIMEDOUT || model.runs || model.end_due > DUE / 2) return;
    model.runs = true;
    if (fuzz_below(3) == 2) make_call();
    model.runs = false;
}

static bool is_in_use(int index) {
    for (int due = model.first_due; due < model.end_due; due++)
        if (model.due[due] == index) return true;
    return model.of[index].waits;
}

static void queue_waiter(int side) {
    int index = fuzz_below(WAITERS), when = fuzz_below(8) - 1, item = side == PUSHES ? fuzz_below(ITEMS) : -1;
    int32_t priority = side == PUSHES ? fuzz_priority() : 0;
    if (side == PUSHES && model_has(item)) return;
    bool with_function = fuzz_below(8) != 7;
    int64_t deadline_ns = when < 5 ? fuzz_deadline(fuzz_tick() + when, index) : CSK_NEVER;
    int expected = !with_function ? EINVAL : is_in_use(index) ? EBUSY : 0;
    if (expected == 0 && model.closed && (side == PUSHES || model.count == 0)) expected = ESHUTDOWN;
    if (expected == 0) {
        model.of[index].waits = true;
        model.of[index].side = side;
        model.of[index].item = item;
        model.of[index].deadline_ns = deadline_ns;
        if (side == PUSHES) model.priority[item] = priority;
        model.line[side][model.in_line[side]++] = index;
        model_serve();
    }
    csk_waiter_function_t function = with_function ? called : NULL;
    void *context = (void *)(intptr_t)index;
    fuzz_note("csk_pqueue_%s_async(%d, %d, %d)", side == PUSHES ? "push" : "pop", index, item, priority);
    int status = side == PUSHES ? csk_pqueue_push_async(&queue, priority, &waiters[index], &items[item], deadline_ns,
                                                        function, context)
                                : csk_pqueue_pop_async(&queue, &waiters[index], deadline_ns, function, context);
    fuzz_expect_status("an asynchronous call", status, expected);
}

static void cancel(int index) {
    fuzz_note("csk_pqueue_cancel(%d)", index);
    int expected = model.of[index].waits ? 0 : ENOENT;
    if (expected == 0) model_end(index, ECANCELED, -1);
    fuzz_expect_status("csk_pqueue_cancel", csk_pqueue_cancel(&queue, &waiters[index]), expected);
}

static void make_call(void) {
    switch (fuzz_below(18)) {
    case 0:
    case 1:
    case 2:
    case 3:
    case 4: push(); break;
    case 5:
    case 6:
    case 7:
    case 8: pop(); break;
    case 9: drain(); break;
    case 10: destroy(); break;
    case 11: close_queue(); break;
    case 12:
    case 13: queue_waiter(POPS); break;
    case 14:
    case 15: queue_waiter(PUSHES); break;
    case 16: cancel(fuzz_below(WAITERS)); break;
    case 17:
        if (!model.runs) fuzz_advance(fuzz_below(3));
        break;
    }
    fuzz_expect("csk_pqueue_count", (int64_t)csk_pqueue_count(&queue), model.count);
    fuzz_expect("csk_pqueue_waiting", csk_pqueue_waiting(&queue), model.in_line[POPS] + model.in_line[PUSHES]);
}

static void expect_none_due(void) {
    fuzz_expect("functions that are due and were not called", model.end_due - model.first_due, 0);
    model.first_due = model.end_due = 0;
}

static void expect_none_late(void) {
    fuzz_expect("a waiter whose deadline has passed", model_late(), -1);
    expect_none_due();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    fuzz_begin(data, size);
    fuzz_after_timers(NULL);
    memset(&model, 0, sizeof model);
    memset(waiters, 0, sizeof waiters);
    make();
    fuzz_after_timers(expect_none_late);
    while (!fuzz_at_end()) {
        make_call();
        expect_none_due();
    }
    model.runs = true;
    for (int index = 0; index < WAITERS; index++) {
        cancel(index);
        expect_none_due();
    }
    fuzz_advance(8);
    drain();
    fuzz_expect_status("csk_pqueue_destroy, drained", csk_pqueue_destroy(&queue), 0);
    return 0;
}
