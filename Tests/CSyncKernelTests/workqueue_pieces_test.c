/* workqueue_pieces_test.c: how many works a look at a long inbox moves under the queue's lock.
 *
 * The test compiles the source itself, and counts where the lock is let go in the middle. The library's other sources
 * call these functions instead of those of the archive. */
#include "queue/workqueue.h"

#include "test.h"

static int64_t moved_before, most_moved;
static int holds;

/* How many of the queue's own priority stand in order: a shutdown that cancels takes them out. */
static int64_t listed_before, most_taken;
static void note_what_was_taken(const csk_workqueue_t *queue) {
    int64_t listed = 0;
    for (const csk_heap_node_t *node = queue->first; node != NULL; node = node->next) listed++;
    if (listed_before - listed > most_taken) most_taken = listed_before - listed;
    listed_before = listed;
}

static void note_what_was_moved(const csk_workqueue_t *queue) {
    note_what_was_taken(queue);
    int64_t moved = queue->arrivals - moved_before;
    if (moved > most_moved) most_moved = moved;
    moved_before = queue->arrivals;
    holds++;
}

static void let_go(csk_workqueue_t *queue) {
    note_what_was_moved(queue);
    csk_workqueue_unlock(queue);
}

#define csk_workqueue_unlock let_go
#include "queue/workqueue_order.c"
#include "queue/workqueue_refuse.c"
#undef csk_workqueue_unlock

enum { WORKS = 10000, HOLDS = WORKS / CSK_WORK_PIECE };
static csk_work_t works[WORKS];
static int ended;

static void ends(csk_work_t *work, int status) {
    (void)work;
    if (status == 0) __atomic_fetch_add(&ended, 1, __ATOMIC_RELAXED);
}
static void is_over_now(csk_workqueue_wait_t *wait) { (void)wait; }

/* A queue whose works stay in the inbox. */
static csk_workqueue_t *make_with_long_inbox(void) {
    csk_workqueue_t *queue;
    CHECK_EQ(csk_workqueue_create(&queue, NULL), 0);
    CHECK_EQ(csk_workqueue_suspend(queue), 0);
    for (int i = 0; i < WORKS; i++) {
        /* One in three has a lower rank. */
        if (i % 3 == 0)
            CHECK_EQ(csk_workqueue_submit(queue, csk_rank(-1, CSK_PLACE_BACK), &works[i], 0, CSK_NEVER, ends), 0);
        else CHECK_EQ(csk_workqueue_enqueue(queue, &works[i], ends), 0);
    }
    ended = holds = 0;
    moved_before = most_moved = listed_before = most_taken = 0;
    return queue;
}

static void check_pieces(csk_workqueue_t *queue, int at_least) {
    note_what_was_moved(queue);
    CHECK_EQ(most_moved, CSK_WORK_PIECE);
    CHECK_GE(holds, at_least);
}

static void end(csk_workqueue_t *queue) {
    CHECK_EQ(csk_workqueue_resume(queue), 0);
    CHECK_EQ(csk_workqueue_drain(queue, CSK_NEVER), 0);
    csk_workqueue_release(queue);
}

static void who_counts_moves_pieces(void) {
    csk_workqueue_t *queue = make_with_long_inbox();
    CHECK_EQ(csk_workqueue_waiting(queue), WORKS);
    check_pieces(queue, HOLDS);
    end(queue);
    CHECK_EQ(ended, WORKS);
}

static void who_takes_out_moves_pieces(void) {
    csk_workqueue_t *queue = make_with_long_inbox();
    CHECK_EQ(csk_workqueue_cancel(queue, &works[WORKS - 1]), 0);
    check_pieces(queue, HOLDS);
    /* What is sorted already is taken out without a look at the inbox. */
    csk_work_t other = { .kind = 0 };
    CHECK_EQ(csk_workqueue_enqueue(queue, &other, ends), 0);
    CHECK_EQ(csk_workqueue_cancel(queue, &works[0]), 0);
    CHECK_EQ(queue->waiting, WORKS - 2);
    end(queue);
    CHECK_EQ(ended, WORKS - 1);
}

static void who_drains_moves_pieces(void) {
    csk_workqueue_t *queue = make_with_long_inbox();
    csk_workqueue_wait_t wait;
    csk_workqueue_drain_async(queue, &wait, is_over_now, NULL);
    CHECK_EQ(wait.remaining, WORKS);
    check_pieces(queue, HOLDS);
    CHECK_EQ(csk_workqueue_wait_cancel(queue, &wait), 0);
    end(queue);
}

static void who_shuts_down_moves_pieces(void) {
    csk_workqueue_t *queue = make_with_long_inbox();
    csk_workqueue_shutdown(queue, false);
    CHECK_EQ(csk_workqueue_drain(queue, CSK_NEVER), 0);
    CHECK_EQ(ended, WORKS);
    CHECK(most_moved <= CSK_WORK_PIECE);
    csk_workqueue_release(queue);
}

static int refused;
static void is_refused(csk_work_t *work, int status) {
    (void)work;
    CHECK_STATUS(status, ECANCELED);
    refused++;
}
static void who_cancels_all_takes_out_pieces(void) {
    csk_workqueue_t *queue;
    CHECK_EQ(csk_workqueue_create(&queue, NULL), 0);
    CHECK_EQ(csk_workqueue_suspend(queue), 0);
    for (int i = 0; i < WORKS; i++) CHECK_EQ(csk_workqueue_enqueue(queue, &works[i], is_refused), 0);
    holds = 0;
    listed_before = most_taken = 0;
    csk_workqueue_shutdown(queue, true);
    CHECK_EQ(refused, WORKS);
    CHECK_EQ(most_taken, CSK_WORK_PIECE);
    CHECK_GE(holds, 2 * HOLDS); /* half of them to sort */
    CHECK_EQ(csk_workqueue_waiting(queue), 0);
    CHECK_EQ(csk_workqueue_drain(queue, CSK_NEVER), 0);
    csk_workqueue_release(queue);
}

/* A worker takes the first of a piece, and leaves the rest to the next look. */
static void first_looks(csk_work_t *work, int status) {
    csk_workqueue_t *queue = (csk_workqueue_t *)csk_workqueue_current();
    ends(work, status);
    if (work == &works[0]) CHECK_EQ(queue->waiting, CSK_WORK_PIECE - 1);
}
static void a_worker_takes_the_first_of_a_piece(void) {
    csk_workqueue_t *queue;
    CHECK_EQ(csk_workqueue_create(&queue, NULL), 0);
    CHECK_EQ(csk_workqueue_suspend(queue), 0);
    for (int i = 0; i < WORKS; i++) CHECK_EQ(csk_workqueue_enqueue(queue, &works[i], first_looks), 0);
    ended = 0;
    /* As who resumes, but without its own look. */
    csk_workqueue_lock(queue);
    csk_fetch_add(&queue->state, -STATE_SUSPEND_ONE, CSK_SEQ_CST);
    queue->suspended = 0;
    csk_workqueue_unlock(queue);
    csk_workqueue_activate(queue);
    while (__atomic_load_n(&ended, __ATOMIC_RELAXED) < WORKS) sched_yield();
    CHECK_EQ(csk_workqueue_drain(queue, CSK_NEVER), 0);
    csk_workqueue_release(queue);
}

TEST_MAIN(TEST(who_counts_moves_pieces), TEST(who_takes_out_moves_pieces), TEST(who_drains_moves_pieces),
          TEST(who_shuts_down_moves_pieces), TEST(who_cancels_all_takes_out_pieces),
          TEST(a_worker_takes_the_first_of_a_piece))
