/* clients_workqueue_pieces.c: an inbox that is longer than what a look moves under the lock at once, which is two works
 * here (CSK_WORK_PIECE). Whoever needs all of it lets the lock go in between, and all that was promised holds.
 *
 * After each step it is checked how many works were moved since the lock was free. */
#include "csynckernel/workqueue.h"
#include "explorer.h"
#include "pool/pool.h"
#include "queue/workqueue.h"

enum { JOBS = 8, PIECE = 2, NOBODY = -1 };

typedef struct {
    csk_work_t work;
    uint32_t accepted, calls;
} job_t;

static struct {
    csk_workqueue_t queue;
    job_t jobs[JOBS];
    uint32_t done, begun;
    int first;                 /* the job that comes before the others, once it is queued */
    uint32_t told;             /* its queueing has returned */
    bool due[EXPLORE_THREADS]; /* it had when the thread's last work ended */
    int64_t arrivals;          /* as many as had been moved when the lock was last free */
} * shared;

static void make_with(csk_workqueue_attr_t attr) {
    shared = explore_allocate(sizeof *shared);
    shared->first = NOBODY;
    EXPECT_EQUAL(csk_workqueue_init(&shared->queue, &attr), 0);
    EXPECT_EQUAL(csk_pool_prepare(), 0);
}
static void make_serial(void) { make_with((csk_workqueue_attr_t){ .width = 1 }); }
static void make_wide(void) { make_with((csk_workqueue_attr_t){ .width = 2 }); }

/* A number of arrival is given to each work that is moved, and to one more where works are refused. */
EXPLORE_UNSEEN static void moves_a_piece_at_once(void) {
    if ((shared->queue.lock & QUEUE_LOCK_STATES) == 0) shared->arrivals = shared->queue.arrivals;
    EXPECT(shared->queue.arrivals - shared->arrivals <= PIECE + 1);
}

/* What comes first has been taken by somebody before a thread takes another work, if it was due then. */
static void runs(csk_work_t *work, int status) {
    job_t *job = (job_t *)work, *first = shared->first != NOBODY ? &shared->jobs[shared->first] : NULL;
    if (first != NULL && shared->due[explore_thread()]) EXPECT(first->work.place == PLACE_NOWHERE);
    EXPECT_EQUAL(status, 0);
    __atomic_fetch_add(&job->calls, 1, __ATOMIC_RELAXED);
    shared->due[explore_thread()] = __atomic_load_n(&shared->told, __ATOMIC_SEQ_CST) != 0;
    explore_set(&shared->done, shared->done + 1);
}
static void queue_ranked(int index, csk_rank_t rank) {
    csk_work_t *work = &shared->jobs[index].work;
    EXPECT_EQUAL(csk_workqueue_submit(&shared->queue, rank, work, 0, CSK_NEVER, runs), 0);
    shared->jobs[index].accepted = 1;
}
static void queue_own(int from, int to) {
    for (int i = from; i <= to; i++) queue_ranked(i, csk_rank(0, CSK_PLACE_BACK));
}
static void queue_first(int index, csk_rank_t rank) {
    queue_ranked(index, rank);
    shared->first = index;
    __atomic_store_n(&shared->told, 1, __ATOMIC_SEQ_CST);
}
static void all_called(void) {
    for (int i = 0; i < JOBS; i++) EXPECT_EQUAL(shared->jobs[i].calls, shared->jobs[i].accepted);
    EXPECT_EQUAL(shared->queue.running, 0);
    EXPECT_EQUAL(shared->queue.waiting, 0);
}

/* ---- Those that need all of it ----------------------------------------------------------------------------------- */

static void queues_and_drains(void) {
    queue_own(0, 4);
    EXPECT_EQUAL(csk_workqueue_drain(&shared->queue, CSK_NEVER), 0);
    for (int i = 0; i <= 4; i++) EXPECT_EQUAL(shared->jobs[i].calls, 1);
}
static void queues_5_to_7(void) { queue_own(5, 7); }
CLIENT(workqueue_pieces_drained, .setup = make_serial, .threads = { queues_and_drains, queues_5_to_7 },
       .check = all_called, .invariant = moves_a_piece_at_once)
CLIENT(workqueue_wide_pieces_drained, .setup = make_wide, .threads = { queues_and_drains, queues_5_to_7 },
       .check = all_called, .invariant = moves_a_piece_at_once)

/* Nothing begins meanwhile: each is found and taken out, by whoever comes second as well. */
static void make_suspended(void) {
    make_serial();
    EXPECT_EQUAL(csk_workqueue_suspend(&shared->queue), 0);
}
static void take_out(int index) {
    EXPECT_EQUAL(csk_workqueue_cancel(&shared->queue, &shared->jobs[index].work), 0);
    shared->jobs[index].accepted = 0;
}
static void queues_and_takes_out(void) {
    queue_own(0, 3);
    take_out(3);
    explore_wait(&shared->begun, 1);
    EXPECT_EQUAL(csk_workqueue_resume(&shared->queue), 0);
}
static void queues_others_and_takes_out(void) {
    queue_own(4, 7);
    take_out(7);
    EXPECT(csk_workqueue_waiting(&shared->queue) >= 3);
    explore_set(&shared->begun, 1);
}
CLIENT(workqueue_pieces_taken_out, .setup = make_suspended,
       .threads = { queues_and_takes_out, queues_others_and_takes_out }, .check = all_called,
       .invariant = moves_a_piece_at_once)

/* ---- Raised ------------------------------------------------------------------------------------------------------ */

/* The last comes first, also where it stood in the inbox until then. */
static void raise_to_first(int index) {
    int status = csk_workqueue_raise(&shared->queue, csk_rank(5, CSK_PLACE_BACK), &shared->jobs[index].work);
    EXPECT(status == 0 || status == ENOENT);
    if (status != 0) return;
    shared->first = index;
    __atomic_store_n(&shared->told, 1, __ATOMIC_SEQ_CST);
}
static void queues_and_raises(void) {
    queue_own(0, 3);
    raise_to_first(3);
    explore_wait(&shared->begun, 1);
    EXPECT_EQUAL(csk_workqueue_resume(&shared->queue), 0);
}
static void queues_others(void) {
    queue_own(4, 6);
    explore_set(&shared->begun, 1);
}
static void first_was_raised(void) {
    EXPECT_EQUAL(shared->first, 3);
    all_called();
}
CLIENT(workqueue_pieces_raised, .setup = make_suspended, .threads = { queues_and_raises, queues_others },
       .check = first_was_raised, .invariant = moves_a_piece_at_once)

static void queues_and_raises_the_last(void) {
    queue_own(0, 2);
    raise_to_first(2);
}
static void queues_two_more(void) { queue_own(4, 5); }
CLIENT(workqueue_raised_beside_its_worker, .setup = make_serial,
       .threads = { queues_and_raises_the_last, queues_two_more }, .check = all_called)
CLIENT(workqueue_wide_raised_beside_its_worker, .setup = make_wide,
       .threads = { queues_and_raises_the_last, queues_two_more }, .check = all_called)

/* ---- Shut down --------------------------------------------------------------------------------------------------- */

/* What was accepted runs, and what the shutdown has not found is refused to whoever queued it. */
static void queues_until_refused(void) {
    for (int i = 5; i < JOBS; i++) {
        int status = csk_workqueue_enqueue(&shared->queue, &shared->jobs[i].work, runs);
        EXPECT(status == 0 || status == ESHUTDOWN);
        shared->jobs[i].accepted = status == 0;
    }
}
static void queues_and_shuts_down(void) {
    queue_own(0, 3);
    csk_workqueue_shutdown(&shared->queue, false);
    EXPECT_EQUAL(csk_workqueue_enqueue(&shared->queue, &shared->jobs[4].work, runs), ESHUTDOWN);
}
CLIENT(workqueue_pieces_shut_down, .setup = make_serial, .threads = { queues_and_shuts_down, queues_until_refused },
       .check = all_called, .invariant = moves_a_piece_at_once)

/* ---- What comes first -------------------------------------------------------------------------------------------- */

static void queues_the_first_last(void) {
    queue_own(0, 3);
    queue_first(4, csk_rank(1, CSK_PLACE_BACK));
}
CLIENT(workqueue_pieces_urgent, .setup = make_serial, .threads = { queues_the_first_last, queues_5_to_7 },
       .check = all_called, .invariant = moves_a_piece_at_once)
CLIENT(workqueue_wide_pieces_urgent, .setup = make_wide, .threads = { queues_the_first_last, queues_5_to_7 },
       .check = all_called, .invariant = moves_a_piece_at_once)

/* What has the queue's own priority comes before a piece of lower ones. */
static void queues_lower_ones(void) {
    for (int i = 0; i < 4; i++) queue_ranked(i, csk_rank(0, CSK_PLACE_LAST));
    queue_first(4, csk_rank(0, CSK_PLACE_BACK));
}
CLIENT(workqueue_pieces_own_before_lower, .setup = make_serial, .threads = { queues_lower_ones }, .check = all_called,
       .invariant = moves_a_piece_at_once)

/* Another thread has sorted when the worker clears what says that something is urgent. */
static void queues_three_and_resumes(void) {
    queue_own(0, 2);
    EXPECT_EQUAL(csk_workqueue_resume(&shared->queue), 0);
}
static void queues_urgent_and_looks_between(void) {
    queue_ranked(3, csk_rank(1, CSK_PLACE_BACK));
    EXPECT(csk_workqueue_waiting(&shared->queue) <= 4);
    queue_first(4, csk_rank(2, CSK_PLACE_BACK));
}
CLIENT(workqueue_urgent_beside_a_look, .setup = make_suspended,
       .threads = { queues_three_and_resumes, queues_urgent_and_looks_between }, .check = all_called,
       .invariant = moves_a_piece_at_once)
