/* timer_fuzz.c: timers, started and cancelled by two threads and by their own functions, against an array that is
 * searched. */
#include "fuzz.h"

enum { TIMERS = 7 };
static csk_timer_t timers[TIMERS];

static struct {
    bool started;
    int64_t deadline_ns, start; /* its number among the starts */
} model[TIMERS];
static int64_t starts;
static int firing = -1;

static void fired(csk_timer_t *timer, void *context);

static void start(void) {
    int index = fuzz_below(TIMERS), when = fuzz_below(12) - 2;
    bool with_function = fuzz_below(8) != 7;
    /* Some are equal. */
    int64_t deadline_ns = when == 9   ? CSK_NEVER
                          : when == 8 ? INT64_MIN + index / 3
                                      : fuzz_deadline(fuzz_tick() + when, index / 3);
    int expected = !with_function ? EINVAL : model[index].started ? EBUSY : 0;
    fuzz_note("%" PRId64 "/%d: csk_timer_start(%d, %d ticks%s)", fuzz_tick(), fuzz_actor(), index, when,
              with_function ? "" : ", no function");
    fuzz_expect_status("csk_timer_start",
                       csk_timer_start(&timers[index], deadline_ns, with_function ? fired : NULL, &model[index]),
                       expected);
    if (expected != 0) return;
    model[index].started = true;
    model[index].deadline_ns = deadline_ns;
    model[index].start = ++starts;
}

static void cancel(int index) {
    fuzz_note("%" PRId64 "/%d: csk_timer_cancel(%d)", fuzz_tick(), fuzz_actor(), index);
    fuzz_expect_status("csk_timer_cancel", csk_timer_cancel(&timers[index]), model[index].started ? 0 : ENOENT);
    model[index].started = false;
}

static void start_or_cancel(void *context) {
    (void)context;
    if (fuzz_below(3) != 2) start();
    else cancel(fuzz_below(TIMERS));
}

/* The first that is due at this tick; -1 when none is. */
static int model_due(void) {
    int first = -1;
    for (int index = 0; index < TIMERS; index++) {
        if (!model[index].started || model[index].deadline_ns >= fuzz_deadline(fuzz_tick() + 1, 0)) continue;
        bool earlier = first >= 0 && (model[index].deadline_ns < model[first].deadline_ns ||
                                      (model[index].deadline_ns == model[first].deadline_ns &&
                                       model[index].start < model[first].start));
        if (first < 0 || earlier) first = index;
    }
    return first;
}

static void fired(csk_timer_t *timer, void *context) {
    int index = (int)(timer - timers);
    fuzz_note("%" PRId64 "/%d: timer %d fires", fuzz_tick(), fuzz_actor(), index);
    fuzz_expect("the thread that fires", fuzz_actor(), ACTOR_TIMER);
    fuzz_expect("functions that run at once", firing, -1);
    fuzz_expect("the timer that fires", index, model_due());
    if (context != &model[index]) fuzz_fail("a function gets the context of another");
    model[index].started = false;
    firing = index;
    for (int calls = fuzz_below(3); calls > 0; calls--) start_or_cancel(NULL);
    firing = -1;
}

static void expect_none_due(void) { fuzz_expect("a timer that is due and did not fire", model_due(), -1); }

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    fuzz_begin(data, size);
    fuzz_after_timers(expect_none_due);
    memset(timers, 0, sizeof timers);
    memset(model, 0, sizeof model);
    while (!fuzz_at_end()) {
        uint8_t byte = fuzz_byte();
        if (byte % 3 == 0) {
            fuzz_note("%" PRId64 "/%d: %d ticks pass", fuzz_tick(), fuzz_actor(), byte / 3 % 4);
            fuzz_advance(byte / 3 % 4);
        } else fuzz_call_on(byte / 3 & 1, start_or_cancel, NULL);
    }
    fuzz_advance(1);
    for (int index = 0; index < TIMERS; index++) cancel(index);
    fuzz_advance(12);
    return 0;
}
