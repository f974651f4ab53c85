/* thread_end_test.c: functions that end the threads of the library on which they run. Another thread takes the place,
 * and nobody waits for what the function was part of. */
#include <csynckernel/csynckernel.h>
#include <string.h>

#include "base/platform.h"
#include "test.h"

static uint32_t reports;
static const char *wanted;
static void count_reports(const csk_event_t *event) {
    if (event->kind != CSK_EVENT_THREAD_ENDED_BY_WORK) return;
    CHECK_STATUS(event->status, ECANCELED);
    CHECK(event->object == NULL);
    CHECK(strcmp(event->name, wanted) == 0);
    ADD(&reports, 1);
}
static void begin(const char *name) {
    wanted = name;
    STORE(&reports, 0);
    csk_set_reporter(count_reports);
}
static void expect_reports(uint32_t count) {
    wait_until(LOAD(&reports) == count);
    csk_set_reporter(NULL);
}

/* ---- A thread that lasts ----------------------------------------------------------------------------------------- */

enum { ENDS = 3 };
static uint32_t runs, mends, leaves;
static void ends_thrice(void *unused) {
    CHECK(unused == NULL);
    if (ADD(&runs, 1) <= ENDS) pthread_exit(NULL);
}
static void mend(void) { ADD(&mends, 1); }
static void leave(void) { ADD(&leaves, 1); }
static const csk_lasting_thread_t lasting = { ends_thrice, "csk-lasting", mend, leave };

static void a_thread_that_lasts_is_replaced_each_time(void) {
    begin("csk-lasting");
    CHECK_STATUS(csk_platform_start_lasting_thread(&lasting), 0);
    expect_reports(ENDS);
    wait_until(LOAD(&leaves) == ENDS && LOAD(&runs) == ENDS + 1);
    CHECK_EQ(LOAD(&mends), ENDS);
}

/* ---- Timers ------------------------------------------------------------------------------------------------------ */

static uint32_t fired, granted;
static csk_gate_t gate = CSK_GATE_INITIALIZER;
static csk_waiter_t waiter;

static void ends_its_thread(csk_timer_t *timer, void *context) {
    (void)timer, (void)context;
    ADD(&fired, 1);
    pthread_exit(NULL);
}
static void fires(csk_timer_t *timer, void *context) {
    (void)timer, (void)context;
    ADD(&fired, 1);
}
/* It grants the gate to a waiter, whose function is called once the timer's has ended. */
static void unlocks_and_ends(csk_timer_t *timer, void *context) {
    CHECK_STATUS(csk_gate_unlock(&gate), 0);
    CHECK_EQ(LOAD(&granted), 0);
    ends_its_thread(timer, context);
}
static void is_granted(csk_waiter_t *ended, void *context, int status) {
    (void)ended, (void)context;
    CHECK_STATUS(status, 0);
    CHECK_STATUS(csk_gate_unlock(&gate), 0);
    ADD(&granted, 1);
}

static void other_timers_go_on(void) {
    static csk_timer_t timers[4];
    begin("csk-timer");
    STORE(&fired, 0);
    for (int i = 0; i < 3; i++) {
        CHECK_STATUS(csk_timer_start(&timers[i], csk_deadline_after(1000000), ends_its_thread, NULL), 0);
        CHECK_STATUS(csk_timer_start(&timers[3], csk_deadline_after(2000000), fires, NULL), 0);
        wait_until(LOAD(&fired) == 2 * (uint32_t)(i + 1));
        CHECK_STATUS(csk_timer_cancel(&timers[i]), ENOENT); /* it does not wait for the one that has ended */
    }
    expect_reports(3);
}

static void what_a_timer_has_granted_is_called(void) {
    static csk_timer_t timer;
    begin("csk-timer");
    STORE(&fired, 0);
    CHECK_STATUS(csk_gate_lock(&gate, 0), 0);
    CHECK_STATUS(csk_gate_disown(&gate), 0);
    CHECK_STATUS(csk_gate_lock_async(&gate, 0, &waiter, CSK_NEVER, is_granted, NULL), 0);
    CHECK_STATUS(csk_timer_start(&timer, csk_deadline_after(1000000), unlocks_and_ends, NULL), 0);
    expect_reports(1);
    wait_until(LOAD(&granted) == 1);
    CHECK_STATUS(csk_timer_cancel(&timer), ENOENT);
    CHECK_STATUS(csk_gate_destroy(&gate), 0);
}

/* A function of a waiter that runs on the timers' thread ends it, behind which another one is to be called. */
static uint32_t timed_out;
static void times_out(csk_waiter_t *ended, void *context, int status) {
    (void)ended, (void)context;
    CHECK_STATUS(status, ETIMEDOUT);
    if (ADD(&timed_out, 1) == 1) pthread_exit(NULL);
}
static void deadlines_of_others_pass(void) {
    static csk_waiter_t waiters[2];
    begin("csk-timer");
    CHECK_STATUS(csk_gate_lock(&gate, 0), 0);
    for (int i = 0; i < 2; i++)
        CHECK_STATUS(csk_gate_lock_async(&gate, 0, &waiters[i], csk_deadline_after(1000000), times_out, NULL), 0);
    wait_until(LOAD(&timed_out) == 2);
    expect_reports(1);
    CHECK_STATUS(csk_gate_unlock(&gate), 0);
    CHECK_STATUS(csk_gate_destroy(&gate), 0);
}

/* Functions that end the thread one after the other: each is called, and one other thread takes the place. */
static csk_gate_t gates[3];
static void is_granted_and_ends(csk_waiter_t *ended, void *context, int status) {
    (void)ended;
    CHECK_STATUS(status, 0);
    CHECK_STATUS(csk_gate_unlock(context), 0);
    ADD(&granted, 1);
    pthread_exit(NULL);
}
static void unlocks_all(csk_timer_t *timer, void *context) {
    (void)timer, (void)context;
    for (int i = 0; i < 3; i++) CHECK_STATUS(csk_gate_unlock(&gates[i]), 0);
}
static void functions_may_end_the_thread_one_after_the_other(void) {
    static csk_timer_t timer, next;
    static csk_waiter_t waiters[3];
    begin("csk-timer");
    STORE(&granted, 0);
    STORE(&fired, 0);
    for (int i = 0; i < 3; i++) {
        CHECK_STATUS(csk_gate_lock(&gates[i], 0), 0);
        CHECK_STATUS(csk_gate_disown(&gates[i]), 0);
        CHECK_STATUS(csk_gate_lock_async(&gates[i], 0, &waiters[i], CSK_NEVER, is_granted_and_ends, &gates[i]), 0);
    }
    CHECK_STATUS(csk_timer_start(&timer, csk_deadline_after(1000000), unlocks_all, NULL), 0);
    wait_until(LOAD(&granted) == 3);
    expect_reports(1);
    CHECK_STATUS(csk_timer_start(&next, csk_deadline_after(1000000), fires, NULL), 0);
    wait_until(LOAD(&fired) == 1);
    for (int i = 0; i < 3; i++) CHECK_STATUS(csk_gate_destroy(&gates[i]), 0);
}

TEST_MAIN(TEST(a_thread_that_lasts_is_replaced_each_time), TEST(other_timers_go_on),
          TEST(what_a_timer_has_granted_is_called), TEST(deadlines_of_others_pass),
          TEST(functions_may_end_the_thread_one_after_the_other))
