/* timer_test.c: never early, in order, cancelled for good. */
#include <csynckernel/csynckernel.h>

#include "test.h"

enum { MANY = 2000 };
static struct {
    csk_timer_t timer;
    int64_t deadline;
} many[MANY];
static int fired, out_of_order;
static int64_t last_deadline;

static void note_fired(csk_timer_t *timer, void *context) {
    int64_t deadline = *(int64_t *)context;
    CHECK_GE(csk_now(), deadline);
    if (deadline < last_deadline) out_of_order++;
    last_deadline = deadline;
    (void)timer;
    ADD(&fired, 1);
}

static uint32_t timer_thread_is_held, timer_thread_may_go_on;

static void hold_the_timer_thread(csk_timer_t *timer, void *context) {
    (void)timer, (void)context;
    STORE(&timer_thread_is_held, 1);
    wait_until(LOAD(&timer_thread_may_go_on));
}

/* Only timers that were started before the first of them is due fire in the order of their deadlines. So none fires
 * until all are started, however long that takes. */
static void timers_fire_in_order_and_never_early(void) {
    static csk_timer_t holder;
    uint64_t random = test_seed(1);
    CHECK_STATUS(csk_timer_start(&holder, 0, hold_the_timer_thread, NULL), 0);
    wait_until(LOAD(&timer_thread_is_held));
    int64_t base = csk_deadline_after(20000000);
    for (int i = 0; i < MANY; i++) {
        many[i].deadline = base + (int64_t)(test_random(&random) % 20000000);
        CHECK_STATUS(csk_timer_start(&many[i].timer, many[i].deadline, note_fired, &many[i].deadline), 0);
    }
    CHECK_STATUS(csk_timer_start(&many[0].timer, 0, note_fired, NULL), EBUSY);
    CHECK_EQ(LOAD(&fired), 0);
    STORE(&timer_thread_may_go_on, 1);
    wait_until(LOAD(&fired) == MANY);
    CHECK_EQ(out_of_order, 0);
    CHECK_STATUS(csk_timer_cancel(&many[0].timer), ENOENT);
}

/* Where so many take longer to start than the first has time, those above are all due. This one is not. */
static void a_timer_that_the_thread_sleeps_for_is_not_early(void) {
    for (int i = 0; i < 20; i++) {
        STORE(&fired, 0);
        many[0].deadline = last_deadline = csk_deadline_after(2000000);
        CHECK_STATUS(csk_timer_start(&many[0].timer, many[0].deadline, note_fired, &many[0].deadline), 0);
        wait_until(LOAD(&fired) == 1);
        CHECK_STATUS(csk_timer_cancel(&many[0].timer), ENOENT);
    }
}

static void must_not_fire(csk_timer_t *timer, void *context) {
    (void)timer;
    (void)context;
    CHECK(!"a cancelled timer fired");
}

static void a_cancelled_timer_does_not_fire(void) {
    csk_timer_t timer = { 0 };
    CHECK_STATUS(csk_timer_start(&timer, 0, NULL, NULL), EINVAL);
    CHECK_STATUS(csk_timer_cancel(&timer), ENOENT);
    for (int i = 0; i < 1000; i++) {
        CHECK_STATUS(csk_timer_start(&timer, csk_deadline_after(INT64_C(3600000000000)), must_not_fire, NULL), 0);
        CHECK_STATUS(csk_timer_cancel(&timer), 0);
    }
}

struct raced {
    csk_timer_t timer;
    int state;
};

static void touch(csk_timer_t *timer, void *context) {
    (void)timer;
    struct raced *raced = context;
    STORE(&raced->state, 1);
    sched_yield();
    STORE(&raced->state, 2);
}

static void cancel_waits_for_a_function_that_runs(void) {
    for (int i = 0; i < 5000 / TEST_SLOWDOWN; i++) {
        struct raced *raced = calloc(1, sizeof *raced);
        CHECK_STATUS(csk_timer_start(&raced->timer, csk_now(), touch, raced), 0);
        if (i % 2) sched_yield();
        int status = csk_timer_cancel(&raced->timer), state = LOAD(&raced->state);
        if (status == 0) CHECK_EQ(state, 0);
        else CHECK_EQ(state, 2);
        free(raced);
    }
}

static int chain_left = 1000;

static void start_again(csk_timer_t *timer, void *context) {
    CHECK_STATUS(csk_timer_cancel(timer), ENOENT);
    if (ADD(&chain_left, -1) > 0) CHECK_STATUS(csk_timer_start(timer, csk_now(), start_again, context), 0);
}

static void a_function_may_start_its_timer_again(void) {
    static csk_timer_t timer;
    CHECK_STATUS(csk_timer_start(&timer, csk_now(), start_again, NULL), 0);
    wait_until(LOAD(&chain_left) == 0);
}

TEST_MAIN(TEST(timers_fire_in_order_and_never_early), TEST(a_timer_that_the_thread_sleeps_for_is_not_early),
          TEST(a_cancelled_timer_does_not_fire), TEST(cancel_waits_for_a_function_that_runs),
          TEST(a_function_may_start_its_timer_again))
