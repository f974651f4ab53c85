/* clients_workqueue_emptied.c: a shutdown that cancels more works than it takes out under the lock at once, which is
 * two here (CSK_WORK_PIECE). Nothing begins while the lock is free in between, and drains wait for all of them.
 *
 * After each step it is checked how many works were taken out since the lock was free. */
#include "explorer.h"
#include "pool/pool.h"
#include "queue/workqueue.h"

enum { JOBS = 6, PLAIN = 5, STAYS = 5, PIECE = 2 };

typedef struct {
    csk_work_t work;
    uint32_t accepted, calls;
    int status;
} job_t;

static struct {
    csk_workqueue_t queue;
    job_t jobs[JOBS];
    uint32_t flags[2];
    int listed; /* as many as stood in the queue when the lock was last free, or were sorted since */
} * shared;

static void make(void) {
    shared = explore_allocate(sizeof *shared);
    EXPECT_EQUAL(csk_workqueue_init(&shared->queue, NULL), 0);
    EXPECT_EQUAL(csk_pool_prepare(), 0);
}
static void make_suspended(void) {
    make();
    EXPECT_EQUAL(csk_workqueue_suspend(&shared->queue), 0);
}

EXPLORE_UNSEEN static void takes_out_a_piece_at_once(void) {
    int listed = 0;
    for (int i = 0; i < JOBS; i++) listed += shared->jobs[i].work.place >= PLACE_FIRST;
    bool is_free = (shared->queue.lock & QUEUE_LOCK_STATES) == 0;
    if (is_free || listed > shared->listed) shared->listed = listed;
    EXPECT(shared->listed - listed <= PIECE);
}

static void runs(csk_work_t *work, int status) {
    job_t *job = (job_t *)work;
    job->calls++;
    job->status = status;
    /* What came before it has run. */
    for (int i = 0; status == 0 && job != &shared->jobs[STAYS] && &shared->jobs[i] != job; i++)
        EXPECT(!shared->jobs[i].accepted || (shared->jobs[i].calls == 1 && shared->jobs[i].status == 0));
}
static void queue_one(int index) {
    shared->jobs[index].accepted = 1;
    int status = csk_workqueue_enqueue(&shared->queue, &shared->jobs[index].work, runs);
    EXPECT(status == 0 || status == ESHUTDOWN);
    if (status != 0) shared->jobs[index].accepted = 0;
}
static void queue_plain(void) {
    for (int i = 0; i < PLAIN; i++) queue_one(i);
}
static void all_called(void) {
    for (int i = 0; i < JOBS; i++) EXPECT_EQUAL(shared->jobs[i].calls, shared->jobs[i].accepted);
    EXPECT_EQUAL(shared->jobs[STAYS].status, 0);
    EXPECT_EQUAL(shared->queue.waiting, 0);
    EXPECT_EQUAL(shared->queue.running, 0);
    EXPECT_EQUAL(shared->queue.suspended, 0);
}
#define CLIENT_EMPTIED(name, make, ...) \
    CLIENT(name, .setup = make, .check = all_called, .invariant = takes_out_a_piece_at_once, __VA_ARGS__)

static void queues_and_cancels(void) {
    queue_plain();
    explore_set(&shared->flags[0], 1);
    csk_workqueue_shutdown(&shared->queue, true);
}

/* The worker comes for more of them meanwhile, and for one that stays. */
static void queues_one_that_stays(void) {
    explore_wait(&shared->flags[0], 1);
    shared->jobs[STAYS].accepted = 1;
    csk_work_t *work = &shared->jobs[STAYS].work;
    EXPECT_EQUAL(csk_workqueue_submit(&shared->queue, csk_workqueue_rank(&shared->queue), work, CSK_WORK_OWN_TURN,
                                      CSK_NEVER, runs),
                 0);
}
CLIENT_EMPTIED(workqueue_emptied, make, .threads = { queues_and_cancels, queues_one_that_stays })

/* A drain that begins meanwhile waits for all of them. */
static void drains(void) {
    explore_wait(&shared->flags[0], 1);
    EXPECT_EQUAL(csk_workqueue_drain(&shared->queue, CSK_NEVER), 0);
    for (int i = 0; i < PLAIN; i++) EXPECT_EQUAL(shared->jobs[i].calls, 1);
}
CLIENT_EMPTIED(workqueue_emptied_beside_a_drain, make, .threads = { queues_and_cancels, drains })

/* A suspension ends meanwhile. */
static void resumes(void) {
    explore_wait(&shared->flags[0], 1);
    EXPECT_EQUAL(csk_workqueue_resume(&shared->queue), 0);
}
CLIENT_EMPTIED(workqueue_emptied_and_resumed, make_suspended, .threads = { queues_and_cancels, resumes })

/* Two cancel all. */
static void cancels(void) {
    explore_wait(&shared->flags[0], 1);
    csk_workqueue_shutdown(&shared->queue, true);
}
CLIENT_EMPTIED(workqueue_emptied_by_two, make, .threads = { queues_and_cancels, cancels, queues_one_that_stays })

/* One of them is taken out by its owner, or is refused: not both. */
static void takes_one_out(void) {
    explore_wait(&shared->flags[0], 1);
    int status = csk_workqueue_cancel(&shared->queue, &shared->jobs[PLAIN - 1].work);
    EXPECT(status == 0 || status == ENOENT);
    if (status == 0) shared->jobs[PLAIN - 1].accepted = 0;
}
CLIENT_EMPTIED(workqueue_emptied_and_taken_out, make_suspended, .threads = { queues_and_cancels, takes_one_out })
