/* clients_lane_clocks.c: the deadlines and the graces of lanes: what is granted and does not begin is taken back in
 * time, not before, and no clock outlives its waiter. */
#include "lane_fixture.h"

static const int64_t grace_ns = 1000000; /* the first of a waiter */

static void queues_one(void) { queue(0, 0); }
static void serves_one_late(void) { serve_when_passed(1); }
static void idle_after_two(void) { expect_idle(2); }
static void idle_after_three(void) { expect_idle(3); }

/* ---- Deadlines --------------------------------------------------------------------------------------------------- */

/* It was granted at once, and had no clock; then it was passed, and its queue does not come until it has failed. */
static void queues_one_timed(void) { queue_timed(0, 0, explore_now() + 5 * grace_ns); }
static void comes_after_the_failure(void) {
    explore_wait(&shared->called, 1);
    csk_waiter_t *none;
    EXPECT_EQUAL(csk_gate_begin(gate, &shared->lane, &none), EAGAIN);
    EXPECT_EQUAL(csk_gate_begin(gate, &shared->lane, &none), EINVAL);
}
static void idle_after_one(void) { expect_idle(1); }
CLIENT_FAST_COMPACT_STRICT(lane_times_out_after_it_was_passed,
                           .threads = { queues_one_timed, comes_after_the_failure, thread_behind_grant },
                           .check = idle_after_one, .preemptions = 1)

/* Whoever hears that a grant was lost knows what the lane's function had done before to keep the lane in place. */
static void keeps_and_dispatches(csk_gate_lane_t *lane, void *context) {
    explore_set(&shared->flags[1], 1);
    __atomic_store_n(&shared->flags[2], 1, __ATOMIC_RELAXED);
    is_dispatched(lane, context);
}
static void fails_if_it_is_kept(csk_waiter_t *waiter, void *context, int status) {
    EXPECT_EQUAL(__atomic_load_n(&shared->flags[2], __ATOMIC_RELAXED), 1);
    failed(waiter, context, status);
}
static void queues_one_that_is_kept(void) {
    shared->lane.function = keeps_and_dispatches;
    EXPECT_EQUAL(csk_gate_lock_lane(gate, csk_rank(0, CSK_PLACE_BACK), &shared->waiters[0], &shared->lane,
                                    explore_now() + 5 * grace_ns, fails_if_it_is_kept, NULL),
                 0);
}
static void comes_while_it_is_kept(void) {
    explore_wait(&shared->flags[1], 1);
    once(0, 1);
}
CLIENT_FAST_COMPACT_STRICT(lane_is_kept_before_a_loss,
                           .threads = { queues_one_that_is_kept, comes_after_the_failure, comes_while_it_is_kept },
                           .check = idle_after_one, .preemptions = 1)

/* Another began with its grant, and goes on until the first has failed. */
static void queues_timed_then_high(void) {
    queue_timed(0, 0, explore_now() + 5 * grace_ns);
    queue(1, 5);
    explore_set(&shared->flags[0], 1);
}
static void goes_on_until_the_other_fails(void) {
    explore_wait(&shared->flags[0], 1);
    csk_waiter_t *begun;
    EXPECT_EQUAL(csk_gate_begin(gate, &shared->lane, &begun), 0);
    EXPECT(begun == &shared->waiters[1]);
    explore_wait(&shared->called, 1);
    enter_as(11);
    unlock();
}
CLIENT_FAST_COMPACT_STRICT(lane_times_out_after_another_began,
                           .threads = { queues_timed_then_high, goes_on_until_the_other_fails },
                           .check = idle_after_one, .preemptions = 1)

/* ---- What has begun is its caller's again: no clock runs in it any more ------------------------------------------ */

static csk_waiter_t **loose(void) { return (csk_waiter_t **)shared->waiters; }
static void fails_and_frees(csk_waiter_t *waiter, void *context, int status) {
    failed(waiter, context, status);
    explore_free(waiter, sizeof *waiter);
}
static void queues_loose(void) {
    lock(0);
    shared->lane.function = is_dispatched;
    csk_waiter_t *waiter = explore_allocate(sizeof *waiter);
    EXPECT_EQUAL(csk_gate_lock_lane(gate, csk_rank(0, CSK_PLACE_BACK), waiter, &shared->lane,
                                    explore_now() + 5 * grace_ns, fails_and_frees, NULL),
                 0);
    unlock();
}
/* Until it has begun or failed. */
static void begins_and_frees(void) {
    csk_waiter_t *begun;
    for (uint32_t news = 1, done = 0; !done; news++) {
        explore_wait(&shared->flags[6], news);
        done = __atomic_load_n(&shared->called, __ATOMIC_RELAXED);
        int status = csk_gate_begin(gate, &shared->lane, &begun);
        EXPECT(status == 0 || status == EAGAIN || (status == EINVAL && done));
        if (status != 0) continue;
        explore_free(begun, sizeof *begun);
        section();
        unlock();
        done = 1;
    }
}
static void resumes_loose(csk_waiter_t *waiter, void *context, int status) {
    (void)waiter, (void)context;
    EXPECT_EQUAL(status, 0);
    explore_set(&shared->flags[4], shared->flags[4] + 1);
}
static void suspends_loose(void) {
    *loose() = explore_allocate(sizeof **loose());
    EXPECT_EQUAL(csk_gate_lock_lane(gate, csk_rank(0, CSK_PLACE_BACK), *loose(), &shared->lane, CSK_NEVER,
                                    resumes_loose, NULL),
                 0);
}
static void adopts_and_frees(void) {
    for (uint32_t round = 1;; round++) {
        explore_wait(&shared->flags[4], round);
        int status = csk_gate_adopt(gate, *loose());
        if (status == 0) break;
        EXPECT_EQUAL(csk_gate_relock_async(gate, *loose()), 0);
    }
    explore_free(*loose(), sizeof **loose());
    section();
    unlock();
}
static void sleep_ns(int64_t ns) {
    csk_gate_t other = CSK_GATE_INITIALIZER;
    EXPECT_EQUAL(csk_gate_trylock(&other, 0), 0);
    EXPECT_EQUAL(csk_gate_disown(&other), 0);
    EXPECT_EQUAL(csk_gate_timedlock(&other, 0, explore_now() + ns), ETIMEDOUT);
}
static void waits_a_while(void) {
    lock(0);
    section();
    unlock();
    /* Somebody sleeps for a later time, so that time can pass once all is done. */
    sleep_ns(INT64_C(10000000000));
}
static void idle_after_some(void) { expect_idle(shared->count); }
CLIENT_FAST_COMPACT_STRICT(lane_begun_and_freed, .threads = { queues_loose, begins_and_frees, waits_a_while },
                           .check = idle_after_some)
CLIENT_FAST_COMPACT_STRICT(lane_task_adopts_and_frees, .threads = { suspends_loose, adopts_and_frees, waits_a_while },
                           .check = idle_after_two)

/* ---- Graces ------------------------------------------------------------------------------------------------------ */

/* The grace may end before the lane's function was called, and whatever a grant is taken back for waits until it
 * was. */
CLIENT_FAST_COMPACT_STRICT(lane_grace_ends_before_its_function, .threads = { queues_one, serves_one_late, thread_once },
                           .check = idle_after_two, .preemptions = 2)

/* Until its lane's function was called, which takes long, a granted waiter can't fail: it holds the lane. */
static void works_and_delays_others(csk_waiter_t *waiter, void *context, int status) {
    works(waiter, context, status);
    sleep_ns(20 * grace_ns);
}
static void is_dispatched_before_it_fails(csk_gate_lane_t *lane, void *context) {
    EXPECT_EQUAL(shared->called, 0);
    is_dispatched(lane, context);
}
static void queues_one_behind_a_slow_function(void) {
    lock(0);
    shared->lane.function = is_dispatched_before_it_fails;
    EXPECT_EQUAL(csk_gate_lock_async(gate, 9, &shared->waiters[1], CSK_NEVER, works_and_delays_others, NULL), 0);
    EXPECT_EQUAL(csk_gate_lock_lane(gate, csk_rank(0, CSK_PLACE_BACK), &shared->waiters[0], &shared->lane,
                                    explore_now() + 5 * grace_ns, failed, NULL),
                 0);
    unlock();
}
static void serves_one(void) { serve(1); }
CLIENT_FAST_COMPACT_STRICT(lane_is_held_until_its_function,
                           .threads = { queues_one_behind_a_slow_function, serves_one, thread_once },
                           .check = idle_after_some, .preemptions = 1)

/* The queue has a whole grace once the lane's function was called. */
static void enters_after_a_grace(void) {
    lock(-5);
    EXPECT(shared->noted_ns == 0 || explore_now() >= shared->noted_ns + grace_ns);
    enter_as(1);
    explore_set(&shared->flags[0], 1);
    unlock();
}
static void is_dispatched_late(csk_gate_lane_t *lane, void *context) {
    if (__atomic_load_n(&lane->due, __ATOMIC_RELAXED) == 2) shared->noted_ns = explore_now();
    is_dispatched(lane, context);
}
static void queues_one_dispatched_late(void) {
    shared->lane.function = is_dispatched_late;
    EXPECT_EQUAL(csk_gate_lock_lane(gate, csk_rank(0, CSK_PLACE_BACK), &shared->waiters[0], &shared->lane, CSK_NEVER,
                                    failed, NULL),
                 0);
}
CLIENT_FAST_COMPACT_STRICT(lane_grace_begins_anew,
                           .threads = { queues_one_dispatched_late, serves_one_late, enters_after_a_grace },
                           .check = idle_after_two, .preemptions = 2)

/* A waiter's second grant has a grace of its own, though the first one's clock runs still, since another began in its
 * place. */
static void queues_low_then_high(void) {
    queue(0, 0);
    queue(1, 5);
    explore_set(&shared->flags[1], 1);
}
static void notes_when_unless_passed(void) {
    if (__atomic_load_n(&shared->flags[0], __ATOMIC_RELAXED) == 0) shared->noted_ns = explore_now();
}
static void begins_the_high_and_waits_with_the_low(void) {
    explore_wait(&shared->flags[1], 1);
    serve_and(2, notes_when_unless_passed, is_passed);
}
CLIENT_FAST_COMPACT_STRICT(lane_second_grant_has_its_own_grace,
                           .threads = { queues_low_then_high, begins_the_high_and_waits_with_the_low,
                                        enters_after_a_grace },
                           .check = idle_after_three, .preemptions = 1)

/* A lane that goes on without its function does not begin, after all: it is passed like others. */
static void begins_one_and_waits_with_the_next(void) { serve_and(2, NULL, is_passed); }
CLIENT_FAST_COMPACT_STRICT(lane_goes_on_and_is_passed,
                           .threads = { queues_two, begins_one_and_waits_with_the_next, thread_behind_grant },
                           .check = idle_after_three, .preemptions = 1)

/* It gave up after another of its lane had come before it and the clock had taken its grant: no clock runs in it. */
static void gives_up_for_another(void) {
    suspends_loose();
    suspend(1, 5);
    uint32_t word = 0;
    csk_platform_park(&word, 0, explore_now() + grace_ns / 2 * 3);
    EXPECT_EQUAL(csk_gate_adopt(gate, *loose()), EAGAIN);
    EXPECT_EQUAL(csk_gate_forget(gate, *loose()), 0);
    explore_free(*loose(), sizeof **loose());
    csk_platform_park(&word, 0, explore_now() + 5 * grace_ns);
    go_on(1);
}
CLIENT_FAST_COMPACT_STRICT(lane_gives_up_after_the_clock, .threads = { gives_up_for_another }, .check = idle_after_one,
                           .preemptions = 1)
