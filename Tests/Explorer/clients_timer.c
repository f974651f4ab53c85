/* clients_timer.c: the timer thread. */
#include "csynckernel/gate.h"

#include "explorer.h"

static struct {
    uint32_t fired, released, inside;
    int64_t deadline;
    csk_timer_t timer, other;
    csk_gate_t gate;
    csk_waiter_t waiter;
} * shared;

static void make(void) { shared = explore_allocate(sizeof *shared); }

static void fires(csk_timer_t *timer, void *context) {
    (void)timer, (void)context;
    EXPECT(explore_now() >= shared->deadline);
    explore_set(&shared->fired, shared->fired + 1);
}
static void starts(void) {
    shared->deadline = explore_now() + 5000;
    EXPECT_EQUAL(csk_timer_start(&shared->timer, shared->deadline, fires, NULL), 0);
}
static void starts_and_waits(void) {
    starts();
    explore_wait(&shared->fired, 1);
}
static void fired_once(void) { EXPECT_EQUAL(shared->fired, 1); }
CLIENT(timer_fires, .setup = make, .threads = { starts_and_waits }, .check = fired_once, .preemptions = 2)

/* After the cancel has returned the function doesn't run, and has either run whole or not at all. */
static void is_slow(csk_timer_t *timer, void *context) {
    (void)timer, (void)context;
    EXPECT_EQUAL(shared->released, 0);
    explore_point();
    EXPECT_EQUAL(shared->released, 0);
    shared->fired++;
}
static void starts_and_cancels(void) {
    EXPECT_EQUAL(csk_timer_start(&shared->timer, explore_now() + 5000, is_slow, NULL), 0);
    explore_point();
    int status = csk_timer_cancel(&shared->timer);
    EXPECT(status == 0 || status == ENOENT);
    EXPECT_EQUAL(shared->fired, status == 0 ? 0 : 1);
    shared->released = 1;
    explore_free(&shared->timer, sizeof shared->timer);
}
CLIENT(timer_cancel_waits, .setup = make, .threads = { starts_and_cancels }, .preemptions = 3)

/* A function that starts its own timer again; the cancel after it is final all the same. */
static void starts_again(csk_timer_t *timer, void *context) {
    EXPECT_EQUAL(shared->released, 0);
    if (shared->fired++ < 2) EXPECT_EQUAL(csk_timer_start(timer, explore_now() + 1000, starts_again, context), 0);
    explore_point();
    EXPECT_EQUAL(shared->released, 0);
}
static void starts_repeating(void) {
    EXPECT_EQUAL(csk_timer_start(&shared->timer, explore_now() + 5000, starts_again, NULL), 0);
    explore_point();
    explore_point();
    csk_timer_cancel(&shared->timer);
    shared->released = 1;
}
CLIENT(timer_cancel_of_a_repeating_one, .setup = make, .threads = { starts_repeating }, .preemptions = 3)

/* Two threads find the timer thread missing. */
static void also_fires(csk_timer_t *timer, void *context) {
    (void)timer, (void)context;
    explore_set(&shared->released, 1);
}
static void starts_other(void) {
    EXPECT_EQUAL(csk_timer_start(&shared->other, explore_now() + 1000, also_fires, NULL), 0);
    explore_wait(&shared->released, 1);
}
CLIENT(timer_two_starters, .setup = make, .threads = { starts_and_waits, starts_other }, .check = fired_once,
       .preemptions = 2)

/* ... and start one: the functions run one after the other, and a cancel waits for its own. */
static void must_run_alone(csk_timer_t *timer, void *context) {
    (void)timer, (void)context;
    EXPECT_EQUAL(shared->inside++, 0);
    explore_point();
    EXPECT_EQUAL(--shared->inside, 0);
}
static void starts_first_alone(void) {
    EXPECT_EQUAL(csk_timer_start(&shared->timer, explore_now(), must_run_alone, NULL), 0);
}
static void starts_second_alone(void) {
    EXPECT_EQUAL(csk_timer_start(&shared->other, explore_now(), must_run_alone, NULL), 0);
}
CLIENT(timer_one_thread, .setup = make, .threads = { starts_first_alone, starts_second_alone }, .preemptions = 2)

/* What a timer's function grants runs once the timer no longer fires: it may wait for the thread that cancels the
 * timer. */
static void waits_for_canceller(csk_waiter_t *waiter, void *context, int status) {
    (void)waiter, (void)context;
    EXPECT_EQUAL(status, 0);
    explore_wait(&shared->released, 1);
    EXPECT_EQUAL(csk_gate_unlock(&shared->gate), 0);
}
static void unlocks_gate(csk_timer_t *timer, void *context) {
    (void)timer, (void)context;
    EXPECT_EQUAL(csk_gate_unlock(&shared->gate), 0);
}
static void cancels_and_releases(void) {
    EXPECT_EQUAL(csk_gate_lock(&shared->gate, 0), 0);
    EXPECT_EQUAL(csk_gate_disown(&shared->gate), 0);
    EXPECT_EQUAL(csk_gate_lock_async(&shared->gate, 0, &shared->waiter, CSK_NEVER, waits_for_canceller, NULL), 0);
    EXPECT_EQUAL(csk_timer_start(&shared->timer, explore_now(), unlocks_gate, NULL), 0);
    bool cancelled = csk_timer_cancel(&shared->timer) == 0;
    explore_set(&shared->released, 1);
    if (cancelled) unlocks_gate(NULL, NULL);
}
CLIENT(timer_cancel_while_the_granted_runs, .setup = make, .threads = { cancels_and_releases }, .preemptions = 3)

/* An earlier deadline wakes the thread that sleeps for a later one. */
static void starts_late_then_early(void) {
    shared->deadline = 0;
    EXPECT_EQUAL(csk_timer_start(&shared->other, explore_now() + INT64_C(1000000000000), fires, NULL), 0);
    explore_point();
    EXPECT_EQUAL(csk_timer_start(&shared->timer, explore_now(), also_fires, NULL), 0);
    explore_wait(&shared->released, 1);
    EXPECT_EQUAL(csk_timer_cancel(&shared->other), shared->fired == 0 ? 0 : ENOENT);
}
CLIENT(timer_earlier_deadline, .setup = make, .threads = { starts_late_then_early }, .preemptions = 2)

static void busy(void) {
    EXPECT_EQUAL(csk_timer_start(&shared->timer, CSK_NEVER, fires, NULL), 0);
    EXPECT_EQUAL(csk_timer_start(&shared->timer, 0, fires, NULL), EBUSY);
    EXPECT_EQUAL(csk_timer_cancel(&shared->timer), 0);
    EXPECT_EQUAL(csk_timer_cancel(&shared->timer), ENOENT);
}
CLIENT(timer_busy, .setup = make, .threads = { busy }, .preemptions = 2)
