/* clients_workqueue_told.c: waits without a thread at a work queue while somebody is told of waits. Who finds that it
 * has to wait leaves the lock, and comes back prepared: by then there may be room, or nothing left to wait for. */
#include "csynckernel/inspect.h"
#include "explorer.h"
#include "pool/pool.h"
#include "queue/workqueue.h"

enum { JOBS = 3, WAITS = 2 };

typedef struct {
    csk_workqueue_wait_t wait;
    int status; /* what the call returned; -1 before it has */
    uint32_t told;
    bool given_up;
} told_t;

static struct {
    csk_workqueue_t queue;
    csk_work_t jobs[JOBS];
    told_t waits[WAITS];
    uint32_t calls[JOBS];
} * shared;

static void make_narrow(void) {
    shared = explore_allocate(sizeof *shared);
    for (int i = 0; i < WAITS; i++) shared->waits[i].status = -1;
    EXPECT_EQUAL(csk_workqueue_init(&shared->queue, &(csk_workqueue_attr_t){ .capacity = 1 }), 0);
    EXPECT_EQUAL(csk_pool_prepare(), 0);
    csk_inspect_callbacks(true);
}

static void runs(csk_work_t *work, int status) {
    EXPECT_EQUAL(status, 0);
    shared->calls[work - shared->jobs]++;
}
static void is_told(csk_workqueue_wait_t *wait) {
    told_t *told = wait->context;
    EXPECT(!told->given_up);
    EXPECT(wait->status == 0 || wait->status == ESHUTDOWN);
    if (wait->status == ESHUTDOWN) told->status = ESHUTDOWN;
    explore_set(&told->told, told->told + 1);
}

static int ask(int index, int job) {
    told_t *told = &shared->waits[index];
    int status = csk_workqueue_submit_when_room(&shared->queue, csk_rank(0, CSK_PLACE_BACK), &shared->jobs[job], 0,
                                                runs, &told->wait, is_told, told);
    EXPECT(status == 0 || status == EINPROGRESS || status == ESHUTDOWN);
    if (status != EINPROGRESS) told->told = 1;
    if (told->status != ESHUTDOWN)
        told->status = status == EINPROGRESS ? 0 : status; /* it may have been told already */
    return status;
}
static void asks_twice(void) {
    ask(0, 0);
    ask(1, 1);
    for (int i = 0; i < WAITS; i++) explore_wait(&shared->waits[i].told, 1);
}
static void asks_and_gives_up(void) {
    asks_twice();
    told_t *told = &shared->waits[1];
    told->told = 0;
    if (told->status == ESHUTDOWN || ask(1, 2) != EINPROGRESS) {
        told->told = 1;
        return;
    }
    if (csk_workqueue_wait_cancel(&shared->queue, &told->wait) != 0) return;
    EXPECT_EQUAL(told->told, 0);
    told->given_up = true;
    told->told = 1;
}
static void queues_one(void) {
    int status = csk_workqueue_enqueue(&shared->queue, &shared->jobs[2], runs);
    EXPECT(status == 0 || status == ESHUTDOWN);
}
static void shuts_down(void) { csk_workqueue_shutdown(&shared->queue, false); }

static void drains(void) {
    told_t *told = &shared->waits[0];
    queues_one();
    csk_workqueue_drain_async(&shared->queue, &told->wait, is_told, told);
    explore_wait(&told->told, 1);
    EXPECT_EQUAL(shared->calls[2], 1);
}
static void asks_and_drains(void) {
    ask(1, 1);
    told_t *told = &shared->waits[0];
    csk_workqueue_drain_async(&shared->queue, &told->wait, is_told, told);
    if (csk_workqueue_wait_cancel(&shared->queue, &told->wait) == 0) {
        EXPECT_EQUAL(told->told, 0);
        told->given_up = true;
        told->told = 1;
    }
}
static void drains_by_another(void) {
    queues_one();
    EXPECT_EQUAL(csk_workqueue_drain(&shared->queue, CSK_NEVER), 0);
    EXPECT_EQUAL(shared->calls[2], 1);
}

static void each_was_told_once(void) {
    for (int i = 0; i < WAITS; i++)
        if (shared->waits[i].status != -1) EXPECT_EQUAL(shared->waits[i].told, 1);
    EXPECT(shared->queue.rooms == NULL && shared->queue.drains == NULL);
    EXPECT_EQUAL(shared->queue.waiting, 0);
}
static void all_ran(void) {
    each_was_told_once();
    for (int i = 0; i < JOBS; i++) EXPECT_EQUAL(shared->calls[i], 1);
}
static void within_capacity(void) { EXPECT(shared->queue.waiting - shared->queue.beyond <= 1); }

CLIENT(workqueue_told_room, .setup = make_narrow, .threads = { asks_twice, queues_one }, .check = all_ran,
       .invariant = within_capacity)
CLIENT(workqueue_told_room_given_up, .setup = make_narrow, .threads = { asks_and_gives_up },
       .check = each_was_told_once, .invariant = within_capacity)
CLIENT(workqueue_told_room_shut_down, .setup = make_narrow, .threads = { asks_twice, queues_one, shuts_down },
       .check = each_was_told_once)
CLIENT(workqueue_told_drain, .setup = make_narrow, .threads = { drains }, .check = each_was_told_once)
CLIENT(workqueue_told_drain_given_up, .setup = make_narrow, .threads = { asks_and_drains, drains_by_another },
       .check = each_was_told_once)
