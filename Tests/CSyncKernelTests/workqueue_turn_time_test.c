/* workqueue_turn_time_test.c: a queue whose works take long gives its worker to others in time. The pool has one
 * worker, so this program has tests of turns alone. */
#include <csynckernel/csynckernel.h>

#include "test.h"

enum { WORKS = 64 };
static csk_workqueue_t busy = CSK_WORKQUEUE_INITIALIZER(), other = CSK_WORKQUEUE_INITIALIZER();
static csk_work_t works[WORKS], one;
static uint32_t ran, other_ran, ran_before, is_queued, has_begun;

/* Each takes 2 ms: longer than a turn. */
static void takes_long(csk_work_t *work, int status) {
    (void)work;
    CHECK_STATUS(status, 0);
    STORE(&has_begun, 1);
    if (LOAD(&ran) == 0) wait_until(LOAD(&is_queued));
    int64_t end_ns = csk_deadline_after(2000000);
    while (csk_now() < end_ns) {}
    ADD(&ran, 1);
}
static void notes_its_turn(csk_work_t *work, int status) {
    (void)work;
    CHECK_STATUS(status, 0);
    STORE(&ran_before, LOAD(&ran));
    STORE(&other_ran, 1);
}

/* As many short works go before: the worker looks anew from when it sees that others wait. */
static void ends_at_once(csk_work_t *work, int status) {
    (void)work;
    CHECK_STATUS(status, 0);
}

/* Others used to wait for 128 works, however long each took. The worker sees after the first that the other queue
 * waits, and after the second that it has waited for longer than a turn. */
static void a_queue_whose_works_take_long_gives_way_in_time(void) {
    CHECK_STATUS(csk_pool_configure(&(csk_pool_attr_t){ .least = 1, .most = 1 }), 0);
    for (int i = 0; i < WORKS; i++) CHECK_STATUS(csk_workqueue_enqueue(&busy, &works[i], takes_long), 0);
    CHECK_STATUS(csk_workqueue_enqueue(&other, &one, notes_its_turn), 0);
    STORE(&is_queued, 1);
    wait_until(LOAD(&other_ran));
    CHECK_EQ(LOAD(&ran_before), 2);
    CHECK_STATUS(csk_workqueue_drain(&busy, CSK_NEVER), 0);
    CHECK_EQ(LOAD(&ran), WORKS);
    CHECK_STATUS(csk_workqueue_drain(&other, CSK_NEVER), 0);
}

/* The other queue comes in the first of the long works, which is the 21st of its turn. */
static void long_works_behind_short_ones_give_way_as_soon(void) {
    enum { SHORT = 20 };
    static csk_work_t short_ones[SHORT];
    STORE(&ran, 0);
    STORE(&other_ran, 0);
    STORE(&is_queued, 0);
    STORE(&has_begun, 0);
    CHECK_STATUS(csk_workqueue_suspend(&busy), 0);
    for (int i = 0; i < SHORT; i++) CHECK_STATUS(csk_workqueue_enqueue(&busy, &short_ones[i], ends_at_once), 0);
    for (int i = 0; i < WORKS; i++) CHECK_STATUS(csk_workqueue_enqueue(&busy, &works[i], takes_long), 0);
    CHECK_STATUS(csk_workqueue_resume(&busy), 0);
    wait_until(LOAD(&has_begun));
    CHECK_STATUS(csk_workqueue_enqueue(&other, &one, notes_its_turn), 0);
    STORE(&is_queued, 1);
    wait_until(LOAD(&other_ran));
    CHECK_EQ(LOAD(&ran_before), 2);
    CHECK_STATUS(csk_workqueue_drain(&busy, CSK_NEVER), 0);
    CHECK_STATUS(csk_workqueue_drain(&other, CSK_NEVER), 0);
    CHECK_STATUS(csk_workqueue_destroy(&busy), 0);
    CHECK_STATUS(csk_workqueue_destroy(&other), 0);
}

TEST_MAIN(TEST(a_queue_whose_works_take_long_gives_way_in_time), TEST(long_works_behind_short_ones_give_way_as_soon))
