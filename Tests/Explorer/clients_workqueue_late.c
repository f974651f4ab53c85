/* clients_workqueue_late.c: a thread that waits at a work queue was answered, and has no processor, and none for as
 * long as others are there. Works, other callers, and drains go on. */
#include "late_fixture.h"
#include "pool/pool.h"
#include "queue/workqueue.h"
#include "wait/spin_park.h"

enum { JOBS = 4 };
static struct {
    csk_workqueue_t queue;
    csk_work_t works[JOBS];
    uint32_t done, flags[2], entered, never;
    int order[4];
} * shared;

/* Thread 1 is late once it has an answer. */
static bool is_answered(int thread, const void *word) {
    return is_late_if(is_first_at_its_own(thread, word) && *(const uint32_t *)word >= CSK_WORD_ANSWER);
}
static void make_with(csk_workqueue_attr_t attr) {
    shared = explore_allocate(sizeof *shared);
    EXPECT_EQUAL(csk_workqueue_init(&shared->queue, &attr), 0);
    EXPECT_EQUAL(csk_pool_prepare(), 0);
    was_late = false;
}
static void make_serial(void) { make_with((csk_workqueue_attr_t){ .width = 1 }); }
static void make_wide(void) { make_with((csk_workqueue_attr_t){ .width = 2 }); }
static void make_narrow(void) { make_with((csk_workqueue_attr_t){ .capacity = 1 }); }
#define CLIENT_LATE(name, make, ...) CLIENT(name, .setup = make, .is_late = is_answered, __VA_ARGS__)

static void runs(csk_work_t *work, int status) {
    (void)work;
    EXPECT_EQUAL(status, 0);
    __atomic_fetch_add(&shared->done, 1, __ATOMIC_SEQ_CST);
}
static void blocks(csk_work_t *work, int status) {
    explore_wait(&shared->flags[0], 1);
    runs(work, status);
}
static void queue_as(int index, csk_work_function_t function) {
    EXPECT_EQUAL(csk_workqueue_enqueue(&shared->queue, &shared->works[index], function), 0);
}
/* Time passes where nobody else can go on. */
static void until_asleep(void) { csk_platform_park(&shared->never, 0, explore_now() + 10000); }
static void came(int who) { shared->order[shared->entered++] = who; }
static void late_was_last(void) {
    EXPECT_EQUAL(shared->entered, 3);
    if (was_late) EXPECT_EQUAL(shared->order[2], 1);
    EXPECT_EQUAL(shared->queue.running, 0);
    EXPECT_EQUAL(shared->queue.waiting, 0);
}

/* Two drain, and a third one after them. */
static void drain_as(int who) {
    explore_wait(&shared->flags[1], 1);
    EXPECT_EQUAL(csk_workqueue_drain(&shared->queue, CSK_NEVER), 0);
    came(who);
}
static void drains_1(void) { drain_as(1); }
static void drains_2(void) { drain_as(2); }
static void works_and_drains(void) {
    queue_as(0, blocks);
    explore_set(&shared->flags[1], 1);
    until_asleep();
    explore_set(&shared->flags[0], 1);
    explore_wait(&shared->done, 1);
    queue_as(1, runs);
    EXPECT_EQUAL(csk_workqueue_drain(&shared->queue, CSK_NEVER), 0);
    came(0);
}
CLIENT_LATE(workqueue_late_in_drain, make_serial, .threads = { works_and_drains, drains_1, drains_2 },
            .check = late_was_last)

/* Two wait for room. The work of the late one has its place, and runs. */
static void ask_as(int who) {
    explore_wait(&shared->flags[1], 1);
    queue_as(who, runs);
    came(who);
}
static void asks_1(void) { ask_as(1); }
static void asks_2(void) { ask_as(2); }
static void fills_and_works(void) {
    queue_as(0, blocks);
    explore_set(&shared->flags[1], 1);
    until_asleep();
    explore_set(&shared->flags[0], 1);
    explore_wait(&shared->done, 3);
    came(0);
}
CLIENT_LATE(workqueue_late_for_room, make_narrow, .threads = { fills_and_works, asks_1, asks_2 },
            .check = late_was_last)

/* It has its turn at a queue of two. Works and another caller have the other one. */
static void in_turn(void *context) { (void)context; }
static void sync_as(int who) {
    explore_wait(&shared->flags[1], 1);
    EXPECT_EQUAL(csk_workqueue_sync(&shared->queue, csk_workqueue_rank(&shared->queue), 0, CSK_NEVER, in_turn, NULL),
                 0);
    came(who);
}
static void calls_1(void) { sync_as(1); }
static void calls_2(void) { sync_as(2); }
static void works_beside_callers(void) {
    queue_as(0, blocks);
    queue_as(1, blocks);
    explore_set(&shared->flags[1], 1);
    until_asleep();
    explore_set(&shared->flags[0], 1);
    explore_wait(&shared->done, 2);
    queue_as(2, runs);
    explore_wait(&shared->done, 3);
    came(0);
}
CLIENT_LATE(workqueue_late_in_its_turn, make_wide, .threads = { works_beside_callers, calls_1, calls_2 },
            .check = late_was_last)
