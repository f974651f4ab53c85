/* clients_workqueue_nest.c: works that are refused, whose functions queue and drop others; and drains that begin
 * before, meanwhile and after. */
#include "explorer.h"
#include "pool/pool.h"
#include "queue/workqueue.h"

enum { JOBS = 4, DRAINS = 2 };

typedef struct {
    csk_work_t work;
    uint32_t calls;
    int again; /* how often its function queues it again */
} job_t;

typedef struct {
    csk_workqueue_wait_t wait;
    uint32_t told;
} drain_t;

static struct {
    csk_workqueue_t queue;
    job_t jobs[JOBS];
    drain_t drains[DRAINS];
    uint32_t depth[EXPLORE_THREADS + 8]; /* of functions, by thread */
    uint32_t queued, called, flag;
} * shared;

static void make_with(csk_workqueue_attr_t attr) {
    shared = explore_allocate(sizeof *shared);
    EXPECT_EQUAL(csk_workqueue_init(&shared->queue, &attr), 0);
    EXPECT_EQUAL(csk_pool_prepare(), 0);
}
static void make_dropping(void) {
    make_with((csk_workqueue_attr_t){ .capacity = 1, .when_full = CSK_WORKQUEUE_DROP_OLDEST });
}
static void make_serial(void) {
    make_with((csk_workqueue_attr_t){ .width = 1 });
    EXPECT_EQUAL(csk_workqueue_suspend(&shared->queue), 0);
}

static void count(uint32_t *counter) { __atomic_fetch_add(counter, 1, __ATOMIC_RELAXED); }

static void runs(csk_work_t *work, int status);
static void queue_it(job_t *job) {
    count(&shared->queued);
    EXPECT_EQUAL(csk_workqueue_enqueue(&shared->queue, &job->work, runs), 0);
}
static void runs(csk_work_t *work, int status) {
    job_t *job = (job_t *)work;
    EXPECT_EQUAL(shared->depth[explore_thread()]++, 0);
    job->calls++;
    count(&shared->called);
    if (status == ECANCELED && job->again-- > 0) queue_it(job);
    shared->depth[explore_thread()]--;
}

/* ---- Dropped works that come again ------------------------------------------------------------------------------- */

static void queues_two(int first) {
    for (int i = first; i < first + 2; i++) {
        shared->jobs[i].again = 1;
        queue_it(&shared->jobs[i]);
    }
}
static void queues_0_1(void) { queues_two(0); }
static void queues_2_3(void) { queues_two(2); }
static void drains(void) { EXPECT_EQUAL(csk_workqueue_drain(&shared->queue, CSK_NEVER), 0); }
static void all_were_called(void) {
    EXPECT_EQUAL(shared->called, shared->queued);
    EXPECT_EQUAL(csk_workqueue_destroy(&shared->queue), 0);
}
CLIENT(workqueue_dropped_again, .setup = make_dropping, .threads = { queues_0_1, queues_2_3, drains },
       .check = all_were_called)
CLIENT(workqueue_dropped_again_alone, .setup = make_dropping, .threads = { queues_0_1, drains },
       .check = all_were_called, .preemptions = 1)

/* ---- Drains beside works that are refused ------------------------------------------------------------------------ */

/* What it waited for was told before. */
static void is_drained(csk_workqueue_wait_t *wait) {
    drain_t *drain = (drain_t *)wait;
    EXPECT_EQUAL(shared->depth[explore_thread()]++, 0);
    EXPECT(shared->called >= (uintptr_t)wait->context);
    drain->told++;
    shared->depth[explore_thread()]--;
}
static void drain_by(drain_t *drain, uint32_t queued) {
    csk_workqueue_drain_async(&shared->queue, &drain->wait, is_drained, (void *)(uintptr_t)queued);
}
/* The first drain waits for two of three works, of which the one of the higher rank comes last. */
static void queues_and_shuts_down(void) {
    for (int i = 0; i < 2; i++) queue_it(&shared->jobs[i]);
    drain_by(&shared->drains[0], 2);
    count(&shared->queued);
    EXPECT_EQUAL(csk_workqueue_submit(&shared->queue, csk_rank(5, CSK_PLACE_BACK), &shared->jobs[2].work, 0, CSK_NEVER,
                                      runs),
                 0);
    explore_set(&shared->flag, 1);
    csk_workqueue_shutdown(&shared->queue, true);
}
static void drains_meanwhile(void) {
    explore_wait(&shared->flag, 1);
    drain_by(&shared->drains[1], 3);
}
static void each_was_told(void) {
    all_were_called();
    for (int i = 0; i < DRAINS; i++) EXPECT_EQUAL(shared->drains[i].told, 1);
}
CLIENT(workqueue_shut_beside_drains, .setup = make_serial, .threads = { queues_and_shuts_down, drains_meanwhile },
       .check = each_was_told, .preemptions = 2)

/* The function of a drain begins another one, of a queue that is idle. */
static void drains_once_more(csk_workqueue_wait_t *wait) {
    is_drained(wait);
    shared->depth[explore_thread()]++;
    drain_by(&shared->drains[1], 0);
    shared->depth[explore_thread()]--;
}
static void drains_twice(void) {
    csk_workqueue_drain_async(&shared->queue, &shared->drains[0].wait, drains_once_more, NULL);
}
CLIENT(workqueue_drains_in_a_drain, .setup = make_serial, .threads = { drains_twice }, .check = each_was_told)
