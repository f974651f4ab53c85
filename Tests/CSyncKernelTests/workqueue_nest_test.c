/* workqueue_nest_test.c: functions of work queues that lead to further functions: they don't nest, and the queue is not
 * locked for as long as many of them take. */
#include "queue/workqueue.h"
#include "test.h"

enum { MANY = 200000 };

static uint32_t depth, deepest, calls;
static void begin_call(void) {
    if (++depth > deepest) deepest = depth;
    calls++;
}

static csk_workqueue_t make(int32_t when_full, uint32_t capacity) {
    csk_workqueue_t queue;
    CHECK_STATUS(csk_workqueue_init(&queue, &(csk_workqueue_attr_t){ .capacity = capacity, .when_full = when_full }),
                 0);
    CHECK_STATUS(csk_workqueue_suspend(&queue), 0);
    depth = deepest = calls = 0;
    return queue;
}

/* ---- Dropped works ----------------------------------------------------------------------------------------------- */

typedef struct {
    csk_work_t work;
    csk_workqueue_t *queue;
} retried_t;

/* It comes again, and so drops another one. */
static void retries(csk_work_t *work, int status) {
    if (status != ECANCELED) return;
    begin_call();
    if (calls < MANY) CHECK_STATUS(csk_workqueue_enqueue(((retried_t *)work)->queue, work, retries), 0);
    depth--;
}

static void works_that_drop_each_other_do_not_nest(void) {
    csk_workqueue_t queue = make(CSK_WORKQUEUE_DROP_OLDEST, 4);
    retried_t retried[5];
    for (int i = 0; i < 5; i++) {
        retried[i] = (retried_t){ .queue = &queue };
        CHECK_STATUS(csk_workqueue_enqueue(&queue, &retried[i].work, retries), 0);
    }
    CHECK_EQ(calls, MANY);
    CHECK_EQ(deepest, 1);
    CHECK_EQ((csk_load(&queue.state, CSK_RELAXED) & STATE_PINS) / STATE_PIN_ONE, 0);
    CHECK_STATUS(csk_workqueue_resume(&queue), 0);
    CHECK_STATUS(csk_workqueue_drain(&queue, CSK_NEVER), 0);
    CHECK_STATUS(csk_workqueue_destroy(&queue), 0);
}

/* A drain that began before waits until the one that is dropped inside was told too. */
static uint32_t drained_after;
static void notes_calls(csk_workqueue_wait_t *wait) {
    (void)wait;
    drained_after = calls;
}
static void begins_a_drain(csk_work_t *work, int status) {
    static csk_workqueue_wait_t wait;
    if (status != ECANCELED) return;
    begin_call();
    retried_t *retried = (retried_t *)work;
    if (calls == 1) {
        csk_workqueue_drain_async(retried->queue, &wait, notes_calls, NULL);
        CHECK_STATUS(csk_workqueue_enqueue(retried->queue, work, begins_a_drain), 0);
    }
    depth--;
}
static void drains_wait_for_works_that_are_dropped_by_others(void) {
    csk_workqueue_t queue = make(CSK_WORKQUEUE_DROP_OLDEST, 1);
    retried_t retried[2];
    drained_after = 0;
    for (int i = 0; i < 2; i++) {
        retried[i] = (retried_t){ .queue = &queue };
        CHECK_STATUS(csk_workqueue_enqueue(&queue, &retried[i].work, begins_a_drain), 0);
    }
    CHECK_EQ(calls, 2);
    CHECK_EQ(drained_after, 2); /* the drain waited for the dropped two, and not for what came after it */
    CHECK_STATUS(csk_workqueue_resume(&queue), 0);
    CHECK_STATUS(csk_workqueue_drain(&queue, CSK_NEVER), 0);
    CHECK_STATUS(csk_workqueue_destroy(&queue), 0);
}

/* ---- Drains ------------------------------------------------------------------------------------------------------ */

static void drains_again(csk_workqueue_wait_t *wait) {
    begin_call();
    if (calls < MANY) csk_workqueue_drain_async(wait->context, wait, drains_again, wait->context);
    depth--;
}
static void drains_of_an_idle_queue_do_not_nest(void) {
    csk_workqueue_t queue = make(CSK_WORKQUEUE_WAIT, 0);
    csk_workqueue_wait_t wait = { 0 };
    csk_workqueue_drain_async(&queue, &wait, drains_again, &queue);
    CHECK_EQ(calls, MANY);
    CHECK_EQ(deepest, 1);
    CHECK_STATUS(csk_workqueue_resume(&queue), 0);
    CHECK_STATUS(csk_workqueue_destroy(&queue), 0);
}

/* ---- Many works, many drains ------------------------------------------------------------------------------------- */

/* Works of three ranks come between drains: each drain waits for those that came before it, however they end. */
static uint32_t told, drained;
static void counts_told(csk_work_t *work, int status) {
    (void)work;
    CHECK_STATUS(status, ECANCELED);
    told++;
}
static void counts_drained(csk_workqueue_wait_t *wait) {
    CHECK_EQ(told, *(const uint32_t *)wait->context);
    drained++;
}
static void each_drain_waits_for_all_works_that_are_refused(void) {
    enum { WORKS = 1000, DRAINS = 100 };
    static csk_work_t works[WORKS];
    static csk_workqueue_wait_t drains[DRAINS];
    uint32_t all = WORKS;
    csk_workqueue_t queue = make(CSK_WORKQUEUE_WAIT, 0);
    told = drained = 0;
    for (uint32_t i = 0; i < WORKS; i++) {
        csk_rank_t rank = csk_rank((int32_t)(i * 7 % 3), CSK_PLACE_BACK);
        CHECK_STATUS(csk_workqueue_submit(&queue, rank, &works[i], 0, CSK_NEVER, counts_told), 0);
        if (i % (WORKS / DRAINS) == 0)
            csk_workqueue_drain_async(&queue, &drains[i / (WORKS / DRAINS)], counts_drained, &all);
    }
    csk_workqueue_shutdown(&queue, true);
    CHECK_EQ(told, WORKS);
    CHECK_EQ(drained, DRAINS);
    CHECK_STATUS(csk_workqueue_destroy(&queue), 0);
}

/* The first of the works is told before all others: another thread gets the queue meanwhile, and its drain waits for
 * those that are not told yet, however many were accounted for. */
static csk_workqueue_t *shut;
static uint32_t seen_drained;
static void sees_drained(csk_workqueue_wait_t *wait) {
    (void)wait;
    seen_drained = told;
}
static void drains_when_told(csk_work_t *work, int status) {
    static csk_workqueue_wait_t wait;
    if (told == 0) csk_workqueue_drain_async(shut, &wait, sees_drained, NULL);
    counts_told(work, status);
}
static void a_drain_that_begins_meanwhile_waits_for_the_rest(void) {
    enum { WORKS = 200 };
    static csk_work_t works[WORKS];
    csk_workqueue_t queue = make(CSK_WORKQUEUE_WAIT, 0);
    shut = &queue;
    told = seen_drained = 0;
    for (uint32_t i = 0; i < WORKS; i++) CHECK_STATUS(csk_workqueue_enqueue(&queue, &works[i], drains_when_told), 0);
    csk_workqueue_shutdown(&queue, true);
    CHECK_EQ(seen_drained, WORKS);
    CHECK_STATUS(csk_workqueue_destroy(&queue), 0);
}

TEST_MAIN(TEST(works_that_drop_each_other_do_not_nest), TEST(drains_wait_for_works_that_are_dropped_by_others),
          TEST(drains_of_an_idle_queue_do_not_nest), TEST(each_drain_waits_for_all_works_that_are_refused),
          TEST(a_drain_that_begins_meanwhile_waits_for_the_rest))
