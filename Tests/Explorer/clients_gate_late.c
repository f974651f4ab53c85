/* clients_gate_late.c: a thread that was told to try has no processor, and none for as long as others are there. Nobody
 * waits for it: neither who comes above it, nor who stands behind it. */
#include "gate_fixture.h"
#include "late_fixture.h"

static uint64_t identity_of(int thread) { return 0x1000 * (uint64_t)(thread + 1); }

/* Thread 1 is late from the moment at which it is told while it is parked; not any more once it is granted the gate. */
static bool is_told(int thread, const void *word) { return is_late_with(thread, word, WORD_TRY); }
static void make_late_fast(void) {
    make_fast();
    was_late = false;
}
static void make_late_compact(void) {
    make_compact();
    was_late = false;
}
#define CLIENT_LATE(name, ...)                                                                               \
    CLIENT(name##_fast, .setup = make_late_fast, .invariant = is_published, .is_late = is_told, __VA_ARGS__) \
    CLIENT(name##_compact, .setup = make_late_compact, .invariant = is_published, .is_late = is_told, __VA_ARGS__)

/* flags[0]: thread 1 may come; flags[1]: others may. */
static void low_1(void) {
    explore_wait(&shared->flags[0], 1);
    once(0, 1);
}
static void high_2(void) {
    explore_wait(&shared->flags[1], 1);
    once(5, 2);
}
static void low_2(void) {
    explore_wait(&shared->flags[1], 1);
    once(0, 2);
}
static void low_3(void) {
    explore_wait(&shared->flags[1], 1);
    once(0, 3);
}
static void others_first(void) {
    EXPECT_EQUAL(shared->entered, 2);
    if (was_late) EXPECT_EQUAL(shared->order[1], 1);
}

/* ---- Above it ---------------------------------------------------------------------------------------------------- */

/* It is told, the gate is taken once more, and a higher rank comes. */
static void tells_and_holds(void) {
    lock(0);
    explore_set(&shared->flags[0], 1);
    await_waiting(1);
    unlock();
    lock(9);
    bool still_waits = csk_gate_waiting(gate) == 1;
    explore_set(&shared->flags[1], 1);
    if (still_waits) await_waiting(2);
    unlock();
}
CLIENT_LATE(gate_late_below, .threads = { tells_and_holds, low_1, high_2 }, .check = others_first, .without_time = true,
            .preemptions = 1)

/* It comes while somebody leaves who counts on the one that was told. */
static void leaves_again(void) {
    lock(0);
    explore_set(&shared->flags[0], 1);
    await_waiting(1);
    unlock();
    lock(9);
    explore_set(&shared->flags[1], 1);
    unlock();
}
CLIENT_LATE(gate_late_meanwhile, .threads = { leaves_again, low_1, high_2 }, .check = others_first, .preemptions = 1)

/* A callback is raised above it, while somebody leaves who counts on the one that was told, and waits for the callback
 * after that. */
static void is_let_in(csk_waiter_t *waiter, void *context, int status) {
    (void)waiter, (void)context;
    EXPECT_EQUAL(status, 0);
    enter_as(2);
    unlock();
    explore_set(&shared->flags[2], 1);
}
static void queues_below_and_leaves_again(void) {
    lock(0);
    EXPECT_EQUAL(csk_gate_lock_async(gate, -1, &shared->waiters[0], CSK_NEVER, is_let_in, NULL), 0);
    explore_set(&shared->flags[0], 1);
    await_waiting(2);
    unlock();
    lock(9);
    explore_set(&shared->flags[1], 1);
    unlock();
    explore_wait(&shared->flags[2], 1);
}
static void raises_above(void) {
    explore_wait(&shared->flags[1], 1);
    int status = csk_gate_raise(gate, csk_rank(5, CSK_PLACE_BACK), &shared->waiters[0]);
    EXPECT(status == 0 || status == ENOENT);
}
CLIENT_LATE(gate_late_below_who_is_raised, .threads = { queues_below_and_leaves_again, low_1, raises_above },
            .check = others_first, .preemptions = 1)

/* ---- At the queue lock ------------------------------------------------------------------------------------------- */

/* Who unlocks the queue wakes thread 1, which does not come. */
static bool is_woken_at_the_queue(int thread, const void *word) {
    if (thread != 1 || word != &gate->queue_lock) return false;
    was_late = was_late || gate->queue_lock != QUEUE_LOCK_CONTENDED;
    return was_late;
}
static void counts(void) {
    EXPECT(csk_gate_waiting(gate) == 0);
    EXPECT(csk_gate_waiting(gate) == 0);
}
CLIENT(gate_late_at_the_queue, .setup = make_late_fast, .is_late = is_woken_at_the_queue,
       .threads = { counts, counts, counts }, .preemptions = 2)

/* ---- Behind it --------------------------------------------------------------------------------------------------- */

static void leaves_two(void) {
    lock(0);
    explore_set(&shared->flags[0], 1);
    await_waiting(1);
    explore_set(&shared->flags[1], 1);
    await_waiting(2);
    unlock();
}
CLIENT_LATE(gate_late_before, .threads = { leaves_two, low_1, low_2 }, .check = others_first, .preemptions = 1)

static void entered_3(void) {
    EXPECT_EQUAL(shared->entered, 3);
    if (was_late) EXPECT_EQUAL(shared->order[2], 1);
    EXPECT_EQUAL(gate->lost_grants, 0);
}
static void leaves_three(void) {
    lock(0);
    explore_set(&shared->flags[0], 1);
    await_waiting(1);
    explore_set(&shared->flags[1], 1);
    await_waiting(3);
    unlock();
}
CLIENT_LATE(gate_late_before_two, .threads = { leaves_three, low_1, low_2, low_3 }, .check = entered_3)

/* Those who keep passing the gate see it: nobody need look by the clock. */
static void let_pass(int64_t ns) {
    for (int64_t end = explore_now() + ns; explore_now() < end;) explore_pause("let_pass");
}
static void tells_and_passes(void) {
    leaves_two();
    bool late = was_late;
    for (int i = 0; i < 3; i++) {
        lock(9);
        let_pass(GATE_LATE_NS + 5000);
        unlock();
    }
    csk_gate_lock_queue(gate);
    const csk_waiter_t *next = csk_gate_next(gate);
    if (late) EXPECT(next == NULL || next->thread != identity_of(1));
    csk_queue_unlock(&gate->queue_lock);
}
CLIENT_LATE(gate_late_and_passed, .threads = { tells_and_passes, low_1, low_2 }, .check = others_first,
            .without_time = true, .preemptions = 1)

/* Its deadline passes before it is told, and it finds itself passed over. */
static void timed_1(void) {
    explore_wait(&shared->flags[0], 1);
    if (csk_gate_timedlock(gate, 0, explore_now() + 20000) != 0) return;
    enter_as(1);
    unlock();
}
static void lets_it_time_out(void) {
    lock(0);
    explore_set(&shared->flags[0], 1);
    explore_wait_asleep(1);
    explore_set(&shared->flags[1], 1);
    explore_wait_asleep(2);
    let_pass(30000);
    unlock();
    for (int i = 0; i < 2; i++) {
        lock(9);
        let_pass(GATE_LATE_NS + 5000);
        unlock();
    }
}
static void nobody_is_lost(void) {
    EXPECT_EQUAL(gate->lost_grants, 0);
    expect_idle(shared->entered);
}
CLIENT(gate_late_and_timed, .setup = make_late_compact, .invariant = is_published,
       .threads = { lets_it_time_out, timed_1, low_2 }, .check = nobody_is_lost, .preemptions = 2)

/* It was accepted, so the closing waiter comes after it. */
static void is_closed(csk_waiter_t *waiter, void *context, int status) {
    (void)context;
    EXPECT_EQUAL(status, 0);
    EXPECT_EQUAL(csk_gate_holder(gate), CSK_GATE_NOBODY);
    EXPECT_EQUAL(shared->entered, 2);
    EXPECT_EQUAL(waiter->status, 0);
    shared->called = 1;
    explore_free(gate, sizeof *gate);
}
static void low_2_closes(void) {
    low_2();
    EXPECT_EQUAL(csk_gate_close(gate, &shared->waiters[3], is_closed, NULL), 0);
}
static void was_closed(void) {
    EXPECT_EQUAL(shared->called, 1);
    others_first();
}
CLIENT(gate_late_and_closed, .setup = make_late_compact, .is_late = is_told,
       .threads = { leaves_two, low_1, low_2_closes }, .check = was_closed, .preemptions = 1)
