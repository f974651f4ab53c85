/* timer_race_test.c: many timers at once, cancelling against firing, and how late timers are. */
#include <csynckernel/csynckernel.h>

#include "test.h"

enum { MANY = 100000 };
static struct timed {
    csk_timer_t timer;
    int64_t deadline;
} many[MANY];
static int fired, wrong;

static void note(csk_timer_t *timer, void *context) {
    struct timed *timed = context;
    if (csk_now() < timed->deadline || timer != &timed->timer) ADD(&wrong, 1);
    ADD(&fired, 1);
}

static void a_hundred_thousand_timers_fire_or_are_cancelled(void) {
    uint64_t random = test_seed(3);
    int cancelled = 0;
    for (int i = 0; i < MANY; i++) {
        many[i].deadline = csk_deadline_after((int64_t)test_random_below(&random, 100000000));
        CHECK_STATUS(csk_timer_start(&many[i].timer, many[i].deadline, note, &many[i]), 0);
    }
    for (int i = 0; i < MANY; i += 3) {
        int status = csk_timer_cancel(&many[i].timer);
        CHECK(status == 0 || status == ENOENT);
        cancelled += status == 0;
    }
    wait_until(LOAD(&fired) == MANY - cancelled);
    CHECK_EQ(wrong, 0);
    for (int i = 0; i < MANY; i++) CHECK_STATUS(csk_timer_cancel(&many[i].timer), ENOENT);
}

/* A function that starts its timer again and goes on: cancelling took the timer out and returned while it ran. */
struct repeating {
    csk_timer_t timer;
    int runs, inside;
};

static void repeat(csk_timer_t *timer, void *context) {
    struct repeating *repeating = context;
    CHECK_STATUS(csk_timer_start(timer, csk_deadline_after(1000000000), repeat, context), 0);
    STORE(&repeating->inside, 1);
    ADD(&repeating->runs, 1);
    for (int i = 0; i < 100; i++) sched_yield();
    STORE(&repeating->inside, 0);
}

static void cancel_waits_for_a_function_that_has_started_its_timer_again(void) {
    for (int i = 0; i < 200; i++) {
        struct repeating *repeating = calloc(1, sizeof *repeating);
        CHECK_STATUS(csk_timer_start(&repeating->timer, csk_now(), repeat, repeating), 0);
        wait_until(LOAD(&repeating->runs) == 1);
        CHECK_STATUS(csk_timer_cancel(&repeating->timer), 0);
        CHECK_EQ(LOAD(&repeating->inside), 0);
        free(repeating);
    }
}

/* From a function other timers can be cancelled without waiting, the own one too. */
static csk_timer_t victim;
static int done;

static void never(csk_timer_t *timer, void *context) {
    (void)timer;
    (void)context;
    CHECK(!"a cancelled timer fired");
}

static void cancel_others(csk_timer_t *timer, void *context) {
    (void)context;
    CHECK_STATUS(csk_timer_cancel(&victim), 0);
    CHECK_STATUS(csk_timer_cancel(timer), ENOENT);
    STORE(&done, 1);
}

static void a_function_may_cancel_timers(void) {
    csk_timer_t timer = { .context = NULL };
    CHECK_STATUS(csk_timer_start(&victim, csk_deadline_after(INT64_C(600000000000)), never, NULL), 0);
    CHECK_STATUS(csk_timer_start(&timer, INT64_MIN, cancel_others, NULL), 0);
    wait_until(LOAD(&done));
    CHECK_STATUS(csk_timer_cancel(&timer), ENOENT);
}

static void note_lateness(csk_timer_t *timer, void *context) {
    (void)timer;
    STORE((int64_t *)context, csk_now());
}

static int by_value(const void *a, const void *b) {
    int64_t left = *(const int64_t *)a, right = *(const int64_t *)b;
    return (left > right) - (left < right);
}

/* No bound: how late depends on the machine. The poller yields, so that on a busy one this says what a timer thread
 * gets. */
static void lateness_is_printed(void) {
    int64_t late[101];
    for (int i = 0; i < 101; i++) {
        csk_timer_t timer = { .context = NULL };
        int64_t fired_ns = 0, deadline = csk_deadline_after(500000);
        CHECK_STATUS(csk_timer_start(&timer, deadline, note_lateness, &fired_ns), 0);
        wait_until(LOAD(&fired_ns) != 0);
        csk_timer_cancel(&timer);
        late[i] = fired_ns - deadline;
        CHECK_GE(late[i], 0);
    }
    qsort(late, 101, sizeof late[0], by_value);
    printf("median %.1f us late ", (double)late[50] / 1e3);
}

TEST_MAIN(TEST(a_hundred_thousand_timers_fire_or_are_cancelled),
          TEST(cancel_waits_for_a_function_that_has_started_its_timer_again), TEST(a_function_may_cancel_timers),
          TEST(lateness_is_printed))
