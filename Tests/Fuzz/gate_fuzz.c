/* gate_fuzz.c: one gate, seven asynchronous waiters, and two threads of which one may wait, against gate_model.c.
 *
 * Each operation first asks the model what will happen and then makes the call. The functions that it calls meanwhile
 * are compared, one by one, with those that the model says are due, and make calls of their own. */
#include "gate_model.h"

static csk_gate_t gate;
static csk_waiter_t waiters[WAITERS];
static uint32_t begun, ended; /* waits that the observer has seen */

static void on_event(const csk_observer_t *observer, const csk_event_t *event) {
    (void)observer;
    fuzz_expect("the observed object", event->object == &gate, true);
    if (event->kind == CSK_EVENT_WAIT_BEGIN) begun++;
    if (event->kind == CSK_EVENT_WAIT_END) ended++;
}

static const csk_observer_t observer = { .event = on_event };

static void make_call(bool nested);

static void on_due(csk_waiter_t *waiter, void *context, int status) {
    int index = (int)(waiter - waiters), expected_status;
    fuzz_note("%" PRId64 "/%d: the function of %d is called with %d", fuzz_tick(), fuzz_actor(), index, status);
    int expected = model_next_due(&expected_status);
    fuzz_expect("the waiter whose function is called", index, expected);
    fuzz_expect_status("what a function is called with", status, expected_status);
    fuzz_expect("the context's waiter", (int64_t)(intptr_t)context, index);
    for (int calls = fuzz_below(4); calls > 0; calls--) make_call(true);
    model_function_ended();
}

static void note(const char *call, int index, int64_t number) {
    fuzz_note("%" PRId64 "/%d: %s(%d, %" PRId64 ")", fuzz_tick(), fuzz_actor(), call, index, number);
}

/* The timer thread may hold nothing beyond its function: there is no telling it to leave later. */
static void keep_off_timer_thread(int status) {
    if (status != 0 || fuzz_actor() != ACTOR_TIMER) return;
    note("csk_gate_disown", -1, 0);
    model_disown();
    fuzz_expect_status("csk_gate_disown", csk_gate_disown(&gate), 0);
}

static void try_lock(void) {
    int32_t priority = fuzz_priority();
    note("csk_gate_trylock", -1, priority);
    int expected = model_trylock(csk_rank(priority, CSK_PLACE_BACK));
    fuzz_expect_status("csk_gate_trylock", csk_gate_trylock(&gate, priority), expected);
    keep_off_timer_thread(expected);
}

static csk_rank_t any_rank(void) {
    static const csk_rank_t odd[] = { INT64_MAX, INT64_MIN, 3, (csk_rank_t)INT32_MIN * 4 - 1 };
    int place = fuzz_below(16);
    return place >= 12 ? odd[place - 12] : csk_rank(fuzz_priority(), place % 3);
}

/* A function that a leaver calls must not wait; a thread may for some ticks. */
static void timed_lock(bool nested) {
    csk_rank_t rank = any_rank();
    int ticks = nested ? -1 : fuzz_below(8) - 2;
    int64_t deadline_ns = ticks == -2 ? INT64_MIN : fuzz_deadline(fuzz_tick() + ticks, 0);
    note("csk_gate_lock_ranked", ticks, rank);
    int expected = model_lock(rank, ticks);
    int status = csk_gate_lock_ranked(&gate, rank, deadline_ns);
    if (expected == MODEL_BLOCKS) expected = model_wait_ended();
    if (expected == MODEL_OK_OR_EINVAL) {
        if (status != 0 && status != EINVAL) fuzz_fail("csk_gate_lock_ranked with a bad rank: %d", status);
        if (status == 0) model_take();
        expected = status;
    }
    fuzz_expect_status("csk_gate_lock_ranked", status, expected);
    keep_off_timer_thread(expected);
}

static void unlock(void) {
    note("csk_gate_unlock", -1, 0);
    int expected = model_unlock();
    fuzz_expect_status("csk_gate_unlock", csk_gate_unlock(&gate), expected);
}

static void disown(void) {
    note("csk_gate_disown", -1, 0);
    int expected = model_disown();
    fuzz_expect_status("csk_gate_disown", csk_gate_disown(&gate), expected);
}

static void lock_async(void) {
    int index = fuzz_below(WAITERS), kind = fuzz_byte(), when = fuzz_below(8) - 1;
    csk_rank_t rank = any_rank();
    bool plain = kind % 4 == 0, adoptable = !plain && kind % 2 == 1, with_function = kind < 240;
    if (plain) rank = csk_rank(fuzz_priority(), CSK_PLACE_BACK);
    int64_t deadline_ns = when == 6 ? CSK_NEVER : fuzz_deadline(fuzz_tick() + when, index);
    csk_waiter_function_t function = with_function ? on_due : NULL;
    void *context = (void *)(intptr_t)index;
    note(adoptable ? "csk_gate_lock_async_ranked, adoptable" : "csk_gate_lock_async", index, rank);
    int expected = model_lock_async(index, rank, deadline_ns, adoptable, with_function);
    int status =
        plain ? csk_gate_lock_async(&gate, (int32_t)(rank >> 2), &waiters[index], deadline_ns, function, context)
              : csk_gate_lock_async_ranked(&gate, rank, &waiters[index], adoptable, deadline_ns, function, context);
    fuzz_expect_status("csk_gate_lock_async", status, expected);
}

static void close_gate(void) {
    int index = fuzz_below(WAITERS);
    bool with_function = fuzz_below(4) != 3;
    note("csk_gate_close", index, with_function);
    int expected = model_close(index, with_function);
    int status = csk_gate_close(&gate, &waiters[index], with_function ? on_due : NULL, (void *)(intptr_t)index);
    fuzz_expect_status("csk_gate_close", status, expected);
}

static void cancel(int index) {
    note("csk_gate_cancel", index, 0);
    int expected = model_cancel(index);
    fuzz_expect_status("csk_gate_cancel", csk_gate_cancel(&gate, &waiters[index]), expected);
}

static void adopt(int index) {
    if (model_adopt_is_undefined(index)) return;
    note("csk_gate_adopt", index, 0);
    int expected = model_adopt(index);
    fuzz_expect_status("csk_gate_adopt", csk_gate_adopt(&gate, &waiters[index]), expected);
    keep_off_timer_thread(expected);
}

static void relock(int index) {
    note("csk_gate_relock_async", index, 0);
    int expected = model_relock(index);
    fuzz_expect_status("csk_gate_relock_async", csk_gate_relock_async(&gate, &waiters[index]), expected);
}

static void forget(int index) {
    note("csk_gate_forget", index, 0);
    int expected = model_forget(index);
    fuzz_expect_status("csk_gate_forget", csk_gate_forget(&gate, &waiters[index]), expected);
}

static void make(void) {
    static const uint32_t limits[] = { 0, 0, 1, 3 };
    int byte = fuzz_byte();
    csk_gate_attr_t attr = { .policy = (uint32_t)(byte % 3),
                             .bypass_limit = limits[byte / 3 % 4],
                             .grace_us = byte / 12 % 2 == 0 ? 0 : 2000 };
    memset(waiters, 0, sizeof waiters);
    csk_gate_attr_t bad = { .policy = CSK_GATE_STRICT + 1 + (uint32_t)byte };
    fuzz_expect_status("csk_gate_init, unknown policy", csk_gate_init(&gate, &bad), EINVAL);
    fuzz_expect_status("csk_gate_init", csk_gate_init(&gate, byte == 255 ? NULL : &attr), 0);
    if (byte == 255) attr = (csk_gate_attr_t){ 0 };
    model_make(&attr);
}

/* From a function it only asks: functions that are due still use their waiters. */
static void destroy(bool nested) {
    note("csk_gate_destroy", -1, 0);
    int status = csk_gate_destroy(&gate);
    fuzz_expect_status("csk_gate_destroy", status, model_destroy());
    if (status == 0 && !nested) make();
}

static void make_call(bool nested) {
    switch (fuzz_below(14)) {
    case 0: unlock(); break;
    case 1: try_lock(); break;
    case 2: timed_lock(nested); break;
    case 3:
    case 4:
    case 5: lock_async(); break;
    case 6: cancel(fuzz_below(WAITERS)); break;
    case 7: adopt(fuzz_below(WAITERS)); break;
    case 8: relock(fuzz_below(WAITERS)); break;
    case 9: forget(fuzz_below(WAITERS)); break;
    case 10: disown(); break;
    case 11: close_gate(); break;
    case 12: destroy(nested); break;
    case 13: unlock(); break;
    }
    fuzz_expect("csk_gate_waiting", csk_gate_waiting(&gate), model_waiting());
    fuzz_expect("csk_gate_is_mine", csk_gate_is_mine(&gate), model_is_mine());
}

static void call(void *context) {
    (void)context;
    make_call(false);
    model_expect_none_due();
}

/* ---- The end: everybody leaves, then nothing may be left --------------------------------------------------------- */

static void unlock_here(void *context) {
    (void)context;
    unlock();
}

static void end(void) {
    for (int index = 0; index < WAITERS; index++)
        if (model_is_queued(index)) cancel(index);
    for (int rounds = 0; rounds < 4 * WAITERS; rounds++) {
        for (int index = 0; index < WAITERS; index++)
            if (model_is_lost(index)) forget(index);
        if (model_pending() >= 0) adopt(model_pending());
        if (model_holder() != HOLDER_NONE)
            fuzz_call_on(model_holder() == ACTOR_STRANGER ? ACTOR_STRANGER : ACTOR_MAIN, unlock_here, NULL);
    }
    fuzz_advance(10);
    fuzz_expect_status("csk_gate_destroy at the end", csk_gate_destroy(&gate), 0);
    fuzz_expect("waits that the observer saw end", ended, begun);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    fuzz_begin(data, size);
    fuzz_after_timers(model_timers_ran);
    csk_observe(&observer);
    begun = ended = 0;
    make();
    while (!fuzz_at_end()) {
        int byte = fuzz_byte();
        if (byte % 5 == 0) {
            fuzz_note("%" PRId64 "/%d: %d ticks pass", fuzz_tick(), fuzz_actor(), byte / 5 % 4);
            fuzz_advance(byte / 5 % 4);
        } else fuzz_call_on(byte % 5 == 1 ? ACTOR_STRANGER : ACTOR_MAIN, call, NULL);
    }
    end();
    return 0;
}
