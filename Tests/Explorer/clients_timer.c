/* clients_timer.c: the timer thread. */
#include "csynckernel/timer.h"

#include "explorer.h"

static struct { uint32_t fired, released; int64_t deadline; csk_timer_t timer, other; } *shared;

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
    if (shared->fired++ < 2) csk_timer_start(timer, explore_now() + 1000, starts_again, context);
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
CLIENT(timer_two_starters, .setup = make, .threads = { starts_and_waits, starts_other }, .check = fired_once, .preemptions = 2)

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
