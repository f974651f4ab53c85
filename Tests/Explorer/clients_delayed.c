/* clients_delayed.c: work at a time, against whoever cancels it. */
#include "csynckernel/delayed.h"
#include "explorer.h"
#include "base/platform.h"
#include "pool/pool.h"

/* So long that time ends after a few: a schedule that lets it pass for ever has an end. */
static const int64_t period_ns = INT64_MAX / 3;

static struct {
    csk_workqueue_t queue;
    csk_work_t first;
    csk_delayed_t delayed;
    uint32_t calls, last, flag;
    int64_t deadline;
} * shared;

static void make(void) {
    shared = explore_allocate(sizeof *shared);
    EXPECT_EQUAL(csk_pool_prepare(), 0);
}

static void rings(csk_work_t *work, int status) {
    EXPECT_EQUAL(shared->last, 0);
    if (status == 0) EXPECT(explore_now() >= shared->deadline);
    if (status != 0) EXPECT_EQUAL(status, ECANCELED);
    shared->last = status != 0;
    (void)work;
    explore_set(&shared->calls, shared->calls + 1);
}
static void start(int64_t every_ns) {
    shared->deadline = explore_now() + 5000;
    EXPECT_EQUAL(csk_delayed_start(&shared->delayed, &shared->queue, shared->deadline, every_ns, rings), 0);
}
/* Its memory goes with its only call, and the queue with it. */
static void rings_and_frees(csk_work_t *work, int status) {
    EXPECT_EQUAL(status, 0);
    explore_free(work, sizeof shared->delayed);
    explore_set(&shared->calls, 1);
}
static void runs(csk_work_t *work, int status) { (void)work, (void)status; }
static void starts_and_ends(void) {
    /* A worker may be there already when the time comes. */
    EXPECT_EQUAL(csk_workqueue_enqueue(&shared->queue, &shared->first, runs), 0);
    EXPECT_EQUAL(csk_delayed_start(&shared->delayed, &shared->queue, explore_now() + 1000, 0, rings_and_frees), 0);
    explore_wait(&shared->calls, 1);
    EXPECT_EQUAL(csk_workqueue_drain(&shared->queue, CSK_NEVER), 0);
    EXPECT_EQUAL(csk_workqueue_destroy(&shared->queue), 0);
    explore_free(&shared->queue, sizeof shared->queue);
}
CLIENT(delayed_ends_with_its_call, .setup = make, .threads = { starts_and_ends })

static void starts_and_cancels(void) {
    start(0);
    explore_point();
    int status = csk_delayed_cancel(&shared->delayed);
    if (status == 0) {
        EXPECT_EQUAL(shared->calls, 0);
        explore_free(&shared->delayed, sizeof shared->delayed);
        return;
    }
    EXPECT_EQUAL(status, ENOENT);
    explore_wait(&shared->calls, 1);
    EXPECT_EQUAL(csk_delayed_cancel(&shared->delayed), ENOENT);
}
CLIENT(delayed_cancel, .setup = make, .threads = { starts_and_cancels }, .preemptions = 1)

static void starts_periodic_and_cancels(void) {
    start(period_ns);
    explore_wait(&shared->calls, 1);
    int status = csk_delayed_cancel(&shared->delayed);
    if (status == 0) {
        /* No call comes or runs from here on. */
        uint32_t calls = shared->calls;
        explore_point();
        EXPECT_EQUAL(shared->calls, calls);
        EXPECT_EQUAL(shared->last, 0);
        explore_free(&shared->delayed, sizeof shared->delayed);
        shared->flag = 1;
        return;
    }
    EXPECT_EQUAL(status, EBUSY);
    EXPECT_EQUAL(csk_delayed_cancel(&shared->delayed), ENOENT);
    explore_wait(&shared->last, 1);
}
static void last_call_came(void) { EXPECT_EQUAL(shared->last + shared->flag, 1); }
CLIENT(delayed_periodic_cancel, .setup = make, .threads = { starts_periodic_and_cancels }, .check = last_call_came)

/* Cancelled by two at once, while it waits for its time or its turn: who is told that a last call follows gets it. */
static void starts_periodic_and_is_cancelled(void) {
    EXPECT_EQUAL(csk_workqueue_suspend(&shared->queue), 0);
    EXPECT_EQUAL(csk_delayed_start(&shared->delayed, &shared->queue, explore_now(), period_ns, rings), 0);
    explore_set(&shared->flag, 1);
}
static void cancels(void) {
    explore_wait(&shared->flag, 1);
    int status = csk_delayed_cancel(&shared->delayed);
    EXPECT(status == 0 || status == EBUSY || status == ENOENT);
    if (status == EBUSY) explore_wait(&shared->last, 1);
}
CLIENT(delayed_cancelled_by_two, .setup = make, .threads = { starts_periodic_and_is_cancelled, cancels, cancels })

/* Whoever finds it stopped by another, and knows that its time never comes, has the memory. */
static void starts_for_a_time_that_never_comes(void) {
    make();
    EXPECT_EQUAL(csk_delayed_start(&shared->delayed, &shared->queue, CSK_NEVER, 0, rings), 0);
}
static void cancels_or_frees(void) {
    int status = csk_delayed_cancel(&shared->delayed);
    if (status == 0) return;
    EXPECT_EQUAL(status, ENOENT);
    explore_free(&shared->delayed, sizeof shared->delayed);
}
CLIENT(delayed_freed_by_the_second_to_cancel, .setup = starts_for_a_time_that_never_comes,
       .threads = { cancels_or_frees, cancels_or_frees }, .preemptions = 1)

/* Dropped, and dropping, while it is cancelled. */
static void make_dropping(void) {
    make();
    EXPECT_EQUAL(csk_workqueue_init(&shared->queue,
                                    &(csk_workqueue_attr_t){ .capacity = 1, .when_full = CSK_WORKQUEUE_DROP_OLDEST }),
                 0);
}
static void starts_and_cancels_at_once(void) {
    start(period_ns);
    explore_set(&shared->flag, 1);
    explore_point();
    int status = csk_delayed_cancel(&shared->delayed);
    if (status == 0) {
        explore_free(&shared->delayed, sizeof shared->delayed);
        return;
    }
    EXPECT_EQUAL(status, EBUSY);
    explore_wait(&shared->last, 1);
}
static void queues_others(void) {
    static csk_work_t works[2];
    explore_wait(&shared->flag, 1);
    for (int i = 0; i < 2; i++) EXPECT_EQUAL(csk_workqueue_enqueue(&shared->queue, &works[i], runs), 0);
}
CLIENT(delayed_dropped, .setup = make_dropping, .threads = { starts_and_cancels_at_once, queues_others })

static void shuts_down(void) {
    explore_wait(&shared->flag, 1);
    csk_workqueue_shutdown(&shared->queue, true);
}
static void rings_until_refused(csk_work_t *work, int status) {
    (void)work;
    EXPECT_EQUAL(shared->last, 0);
    if (status != 0) EXPECT(status == ECANCELED || status == ESHUTDOWN);
    explore_set(&shared->calls, shared->calls + 1);
    if (status != 0) explore_set(&shared->last, 1);
}
static void starts_and_is_refused(void) {
    EXPECT_EQUAL(csk_delayed_start(&shared->delayed, &shared->queue, explore_now(), period_ns, rings_until_refused), 0);
    explore_set(&shared->flag, 1);
    explore_wait(&shared->calls, 1);
    int status = csk_delayed_cancel(&shared->delayed);
    if (status != 0) explore_wait(&shared->last, 1);
    EXPECT_EQUAL(csk_delayed_cancel(&shared->delayed), ENOENT);
    /* May be started anew while that call returns. */
    EXPECT_EQUAL(csk_delayed_start(&shared->delayed, &shared->queue, CSK_NEVER, 0, rings), 0);
    EXPECT_EQUAL(csk_delayed_cancel(&shared->delayed), 0);
}
CLIENT(delayed_shut_down, .setup = make, .threads = { starts_and_is_refused, shuts_down })

/* As soon as it counts as stopped, a function of another kind may take its place. */
static void rings_anew(csk_work_t *work, int status) {
    (void)work;
    EXPECT_EQUAL(status, 0);
    explore_set(&shared->last, 1);
}
static void rings_first(csk_work_t *work, int status) {
    (void)work;
    EXPECT_EQUAL(status, 0);
    explore_set(&shared->calls, shared->calls + 1);
}
static void starts_twice(void) {
    EXPECT_EQUAL(csk_delayed_start(&shared->delayed, &shared->queue, explore_now(), 0, rings_first), 0);
    int status;
    while ((status = csk_delayed_start(&shared->delayed, &shared->queue, explore_now(), 0, rings_anew)) == EBUSY)
        csk_platform_await_step(0);
    EXPECT_EQUAL(status, 0);
    explore_wait(&shared->last, 1);
    explore_wait(&shared->calls, 1);
}
CLIENT(delayed_started_anew, .setup = make, .threads = { starts_twice })
