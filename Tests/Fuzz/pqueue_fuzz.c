/* pqueue_fuzz.c: the blocking queue, as one thread sees it, against an array in order of the calls. A call that would
 * wait is made with a deadline that has passed. */
#include "fuzz.h"

enum { ITEMS = 12 };
static csk_pqueue_t queue;
static csk_pqueue_item_t items[ITEMS];

static struct {
    int inside[ITEMS]; /* in the order of their pushes */
    int32_t priority[ITEMS];
    int count;
    uint64_t capacity;
    bool closed;
} model;

static bool model_has(int item) {
    for (int index = 0; index < model.count; index++)
        if (model.inside[index] == item) return true;
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

static int64_t passed_deadline(void) {
    static const int64_t deadlines[] = { INT64_MIN, -1, 0, 1 };
    int which = fuzz_below(5);
    return which == 4 ? csk_deadline_after(-fuzz_byte()) : deadlines[which];
}

static void push(void) {
    int item = fuzz_below(ITEMS), how = fuzz_below(3);
    if (model_has(item)) return;
    int32_t priority = fuzz_priority();
    int expected = model.closed ? ESHUTDOWN : 0, status;
    if (expected == 0 && model_is_full()) expected = how == 0 ? EAGAIN : ETIMEDOUT;
    bool would_wait = expected == ETIMEDOUT;
    if (how == 0) {
        fuzz_note("csk_pqueue_trypush(%d, %d)", item, priority);
        status = csk_pqueue_trypush(&queue, &items[item], priority);
        fuzz_expect_status("csk_pqueue_trypush", status, expected);
    } else if (how == 1 || would_wait) {
        fuzz_note("csk_pqueue_timedpush(%d, %d)", item, priority);
        status = csk_pqueue_timedpush(&queue, &items[item], priority, passed_deadline());
        fuzz_expect_status("csk_pqueue_timedpush", status, expected);
    } else {
        fuzz_note("csk_pqueue_push(%d, %d)", item, priority);
        status = csk_pqueue_push(&queue, &items[item], priority);
        fuzz_expect_status("csk_pqueue_push", status, expected);
    }
    if (status != 0) return;
    model.priority[item] = priority;
    model.inside[model.count++] = item;
}

static void pop(void) {
    int how = fuzz_below(3), status;
    const char *call;
    csk_pqueue_item_t *item = NULL;
    bool would_wait = model.count == 0 && !model.closed;
    int expected = model.count != 0 ? 0 : model.closed ? ESHUTDOWN : how == 0 ? EAGAIN : ETIMEDOUT;
    if (how == 0) {
        fuzz_note("%s()", call = "csk_pqueue_trypop");
        status = csk_pqueue_trypop(&queue, &item);
    } else if (how == 1 || would_wait) {
        fuzz_note("%s()", call = "csk_pqueue_timedpop");
        status = csk_pqueue_timedpop(&queue, &item, passed_deadline());
    } else {
        fuzz_note("%s()", call = "csk_pqueue_pop");
        status = csk_pqueue_pop(&queue, &item);
    }
    fuzz_expect_status(call, status, expected);
    int taken = model_take();
    fuzz_expect("the item popped", item == NULL ? -1 : item - items, taken);
}

static void drain(void) {
    csk_pqueue_item_t *item;
    fuzz_note("csk_pqueue_drain()");
    fuzz_expect("csk_pqueue_drain", (int64_t)csk_pqueue_drain(&queue, &item), model.count);
    for (; item != NULL; item = item->next) fuzz_expect("the item drained", item - items, model_take());
    fuzz_expect("items that were not drained", model.count, 0);
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
    int status = csk_pqueue_destroy(&queue);
    fuzz_expect_status("csk_pqueue_destroy", status, model.count != 0 ? EBUSY : 0);
    if (status != 0) return;
    memset(&queue, 0x5A, sizeof queue);
    make();
}

static void close_queue(void) {
    fuzz_note("csk_pqueue_close()");
    fuzz_expect_status("csk_pqueue_close", csk_pqueue_close(&queue), 0);
    model.closed = true;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    fuzz_begin(data, size);
    make();
    while (!fuzz_at_end()) {
        switch (fuzz_below(12)) {
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
        }
        fuzz_expect("csk_pqueue_count", (int64_t)csk_pqueue_count(&queue), model.count);
        fuzz_expect("csk_pqueue_waiting", csk_pqueue_waiting(&queue), 0);
    }
    drain();
    fuzz_expect_status("csk_pqueue_destroy, drained", csk_pqueue_destroy(&queue), 0);
    return 0;
}
