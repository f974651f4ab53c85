/* clients_workqueue_meet.c: a concurrent queue whose worker lets go of it while work comes that the work it takes
 * instead waits for: whoever queued the second saw that worker, and asked for no other. */
#include "explorer.h"
#include "pool/pool.h"
#include "queue/workqueue.h"

static struct {
    csk_workqueue_t queue;
    csk_work_t before, waits, is_waited_for;
    csk_pool_item_t other;
    int64_t since_ns;
    uint32_t ran, lingered, begun, has_come;
} * shared;

static void make(void) {
    shared = explore_allocate(sizeof *shared);
    EXPECT_EQUAL(csk_workqueue_init(&shared->queue, &(csk_workqueue_attr_t){ .width = 2 }), 0);
    EXPECT_EQUAL(csk_pool_prepare(), 0);
}
static void runs(csk_work_t *work, int status) {
    EXPECT_EQUAL(status, 0);
    explore_set(work == &shared->before ? &shared->ran : &shared->has_come, 1);
}
static void waits_for_the_other(csk_work_t *work, int status) {
    (void)work;
    EXPECT_EQUAL(status, 0);
    explore_set(&shared->begun, 1);
    explore_wait(&shared->has_come, 1);
}
static void runs_other(csk_pool_item_t *item) { (void)item; }
static void queue_one_that_waits(void) {
    EXPECT_EQUAL(csk_workqueue_enqueue(&shared->queue, &shared->waits, waits_for_the_other), 0);
}

/* The worker lingers; the first is sorted by its caller, so that it is not in the inbox; the second is. That it lingers
 * is told by the schedule: what the worker has done before comes by nothing. */
static void note_lingering(void) {
    if (!(shared->queue.state & STATE_LINGERS)) return;
    if (shared->since_ns == 0) shared->since_ns = explore_now();
    if (explore_now() > shared->since_ns) shared->lingered = 1; /* it has paused, and looks once more */
}
static void queues_as_the_worker_lingers(void) {
    EXPECT_EQUAL(csk_workqueue_enqueue(&shared->queue, &shared->before, runs), 0);
    explore_wait(&shared->lingered, 1);
    queue_one_that_waits();
    EXPECT(csk_workqueue_waiting(&shared->queue) <= 2); /* it sorts */
    explore_set(&shared->begun, 1);
}
static void queues_once_the_first_is_there(void) {
    explore_wait(&shared->begun, 1);
    EXPECT_EQUAL(csk_workqueue_enqueue(&shared->queue, &shared->is_waited_for, runs), 0);
    explore_wait(&shared->has_come, 1);
}
CLIENT(workqueue_meets_who_lingered, .setup = make, .invariant = note_lingering, .without_time = true,
       .threads = { queues_as_the_worker_lingers, queues_once_the_first_is_there })

/* The worker steps back for another item of the pool, since another worker is on its way; that one takes the first. */
static void queues_the_first_and_an_item(csk_work_t *work, int status) {
    runs(work, status);
    EXPECT_EQUAL(csk_pool_post(&shared->other, runs_other), 0);
    queue_one_that_waits();
}
static void queues_whose_worker_steps_back(void) {
    EXPECT_EQUAL(csk_workqueue_enqueue(&shared->queue, &shared->before, queues_the_first_and_an_item), 0);
    queues_once_the_first_is_there();
}
CLIENT(workqueue_meets_who_stepped_back, .setup = make, .without_time = true,
       .threads = { queues_whose_worker_steps_back })
