/* clients_work_end.c: works that end their thread (pthread_exit): the next ones run, and nobody waits for what is
 * gone. */
#include "csynckernel/observe.h"
#include "csynckernel/rwlock.h"
#include "csynckernel/workqueue.h"
#include "explorer.h"
#include "internal.h"
#include "pool/pool.h"

enum { WORKS = 3 };

static struct {
    csk_pool_item_t items[WORKS];
    csk_workqueue_t queue;
    csk_work_t works[WORKS];
    csk_rwlock_t lock;
    csk_rwlock_write_t writes[WORKS];
    uint32_t inside, begun, ended, reports;
} * shared;

static void note(const csk_event_t *event) {
    EXPECT_EQUAL(event->kind, CSK_EVENT_THREAD_ENDED_BY_WORK);
    __atomic_fetch_add(&shared->reports, 1, __ATOMIC_SEQ_CST);
}
static void make(uint32_t width) {
    csk_workqueue_attr_t attr = { .width = width };
    shared = explore_allocate(sizeof *shared);
    csk_set_reporter(note);
    EXPECT_EQUAL(csk_workqueue_init(&shared->queue, &attr), 0);
    EXPECT_EQUAL(csk_rwlock_init(&shared->lock, &(csk_rwlock_attr_t){ .policy = CSK_RWLOCK_STRICT }), 0);
    EXPECT_EQUAL(csk_pool_prepare(), 0);
}
static void make_serial(void) { make(1); }
static void make_wide(void) { make(2); }

/* Nothing else runs until it has ended or its thread has; the first ends its thread. */
static void enter_and_end(bool is_first) {
    EXPECT_EQUAL(__atomic_exchange_n(&shared->inside, 1, __ATOMIC_SEQ_CST), 0);
    __atomic_fetch_add(&shared->begun, 1, __ATOMIC_SEQ_CST);
    __atomic_exchange_n(&shared->inside, 0, __ATOMIC_SEQ_CST);
    if (is_first) kernel_end_worker();
    explore_set(&shared->ended, __atomic_fetch_add(&shared->ended, 1, __ATOMIC_SEQ_CST) + 1);
}

/* ---- Items of the pool ------------------------------------------------------------------------------------------- */

static void run_item(csk_pool_item_t *item) {
    __atomic_fetch_add(&shared->begun, 1, __ATOMIC_SEQ_CST);
    if (item == &shared->items[0]) kernel_end_worker();
    explore_set(&shared->ended, 1);
}
static void posts_two(void) {
    EXPECT_EQUAL(csk_pool_post(&shared->items[0], run_item), 0);
    EXPECT_EQUAL(csk_pool_post(&shared->items[1], run_item), 0);
}
static void item_ran(void) {
    EXPECT_EQUAL(shared->begun, 2);
    EXPECT_EQUAL(shared->ended, 1);
    EXPECT_EQUAL(shared->reports, 1);
    EXPECT_EQUAL(kernel_workers_ended, 1);
    EXPECT_EQUAL(csk_pool_queued(), 0);
}
CLIENT(work_end_item, .setup = make_serial, .threads = { posts_two }, .check = item_ran, .preemptions = 2)

/* ---- Works of a queue -------------------------------------------------------------------------------------------- */

static void run_work(csk_work_t *work, int status) {
    EXPECT_EQUAL(status, 0);
    enter_and_end(work == &shared->works[0]);
}
static void enqueues_two(void) {
    for (int i = 0; i < 2; i++) EXPECT_EQUAL(csk_workqueue_enqueue(&shared->queue, &shared->works[i], run_work), 0);
}
static void enqueues_third(void) {
    EXPECT_EQUAL(csk_workqueue_enqueue(&shared->queue, &shared->works[2], run_work), 0);
}
static void drains(void) {
    EXPECT_EQUAL(csk_workqueue_enqueue(&shared->queue, &shared->works[0], run_work), 0);
    EXPECT_EQUAL(csk_workqueue_drain(&shared->queue, CSK_NEVER), 0);
    EXPECT_EQUAL(shared->begun, 1);
}
static void queue_is_at_rest(void) {
    EXPECT_EQUAL(shared->begun, shared->ended + 1);
    EXPECT_EQUAL(shared->reports, 1);
    EXPECT_EQUAL(csk_workqueue_waiting(&shared->queue) + csk_workqueue_running(&shared->queue), 0);
    EXPECT_EQUAL(shared->queue.state & ~(UINT64_C(1) << 51), 0); /* all but SHUT */
    EXPECT_EQUAL(csk_workqueue_destroy(&shared->queue), 0);
}
static void three_ran(void) {
    EXPECT_EQUAL(shared->begun, 3);
    queue_is_at_rest();
}
static void enqueues_barriers(void) {
    for (int i = 0; i < 2; i++)
        EXPECT_EQUAL(csk_workqueue_submit(&shared->queue, 0, &shared->works[i], CSK_WORK_BARRIER, CSK_NEVER, run_work),
                     0);
}
CLIENT(work_end_serial, .setup = make_serial, .threads = { enqueues_two, enqueues_third }, .check = three_ran)
CLIENT(work_end_drain, .setup = make_serial, .threads = { drains }, .check = queue_is_at_rest, .preemptions = 1)
CLIENT(work_end_barrier, .setup = make_wide, .threads = { enqueues_barriers }, .check = queue_is_at_rest)

/* ---- Writes of a lock -------------------------------------------------------------------------------------------- */

static void write_once(csk_rwlock_write_t *write) {
    EXPECT(csk_rwlock_is_writing(&shared->lock));
    EXPECT_EQUAL(__atomic_exchange_n(&shared->inside, 1, __ATOMIC_SEQ_CST), 0);
    __atomic_fetch_add(&shared->begun, 1, __ATOMIC_SEQ_CST);
    __atomic_exchange_n(&shared->inside, 0, __ATOMIC_SEQ_CST);
    if (write == &shared->writes[0]) kernel_end_worker();
    explore_set(&shared->ended, __atomic_fetch_add(&shared->ended, 1, __ATOMIC_SEQ_CST) + 1);
    EXPECT_EQUAL(csk_rwlock_finish_write(&shared->lock), 0);
}
static void enqueues_writes(void) {
    for (int i = 0; i < 2; i++)
        EXPECT_EQUAL(csk_rwlock_enqueue_write(&shared->lock, &shared->writes[i], write_once), 0);
}
static void writes_here(void) {
    EXPECT_EQUAL(csk_rwlock_wrlock(&shared->lock), 0);
    EXPECT_EQUAL(__atomic_load_n(&shared->inside, __ATOMIC_RELAXED), 0);
    EXPECT_EQUAL(csk_rwlock_unlock(&shared->lock), 0);
}
static void lock_is_free(void) {
    EXPECT_EQUAL(shared->begun, 2);
    EXPECT_EQUAL(shared->ended, 1);
    EXPECT_EQUAL(shared->reports, 1);
    EXPECT_EQUAL(csk_rwlock_destroy(&shared->lock), 0);
}
CLIENT(work_end_write, .setup = make_serial, .threads = { enqueues_writes, writes_here }, .check = lock_is_free)
