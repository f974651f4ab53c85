/* pool_turns_test.c: what happens to workers that nobody needs any more, and that one turn in 64 is for the lower
 * levels. The pool's source is a part of this program, which has no other: its times can be set. */
#include "pool/pool.c"

#include <csynckernel/csynckernel.h>
#include <signal.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "late.h"
#include "pool_fixture.h"

static uint32_t go, begun, held;

/* ---- Turns ------------------------------------------------------------------------------------------------------- */

enum { URGENT = 200 };
static uint32_t places[URGENT + 1]; /* of each item: how many ran before it */

typedef struct {
    csk_pool_item_t item;
    int number;
} task_t;

static void run_task(csk_pool_item_t *item) {
    places[((task_t *)item)->number] = ADD(&begun, 1) - 1;
    ADD(&ran, 1);
}

static void hold(csk_pool_item_t *item) {
    uint32_t number = ADD(&held, 1);
    (void)item;
    wait_until(LOAD(&go) >= number);
    ADD(&held, -1);
}

/* All workers that run at once are held, and one of them is let go: it takes the items one by one. */
static void one_turn_in_64_is_for_background_work(void) {
    static csk_pool_item_t holders[CSK_POOL_WORKERS_MAX];
    static task_t tasks[URGENT + 1];
    for (uint32_t i = 0; i < CSK_POOL_WORKERS_MAX; i++) {
        holders[i].level = CSK_POOL_URGENT;
        CHECK_STATUS(csk_pool_post(&holders[i], hold), 0);
    }
    wait_until(LOAD(&held) == CSK_POOL_WORKERS_MAX);
    for (int i = 0; i <= URGENT; i++) {
        tasks[i] = (task_t){ .item.level = i == URGENT ? CSK_POOL_BACKGROUND : CSK_POOL_URGENT, .number = i };
        CHECK_STATUS(csk_pool_post(&tasks[i].item, run_task), 0);
    }
    STORE(&go, 1);
    wait_until(LOAD(&ran) == URGENT + 1);
    CHECK(places[URGENT] < turn_of_lower);
    for (int i = 1; i < URGENT; i++) CHECK(places[i - 1] < places[i]);
    STORE(&go, CSK_POOL_WORKERS_MAX);
    wait_until(LOAD(&held) == 0);
}

/* Items of the other levels come back as soon as they are taken. A normal one was never taken: each 64th turn was for
 * the lowest level that waited. No worker sees these items, since all of it happens under the lock. */
static void put(csk_pool_item_t *item) {
    csk_pool_queue_t *level = &csk_pool.levels[item->level];
    item->next = NULL;
    if (level->first != NULL) level->last->next = item;
    else level->first = item;
    level->last = item;
    count_queued(1);
}
static void each_level_has_its_turn_while_the_others_keep_coming(void) {
    enum { TURNS = 64 * (CSK_POOL_LEVELS - 1) };
    csk_queue_lock(&csk_pool.lock);
    for (uint32_t start = 0; start < 2 * TURNS * CSK_POOL_LEVELS; start++) {
        csk_pool_item_t items[CSK_POOL_LEVELS];
        uint32_t rare = start % CSK_POOL_LEVELS, turns = 0;
        for (uint32_t level = 0; level < CSK_POOL_LEVELS; level++) {
            items[level].level = level;
            put(&items[level]);
        }
        for (csk_pool_item_t *item; (item = take()) != &items[rare]; turns++) put(item);
        CHECK(turns < TURNS);
        while (take() != NULL) {}
    }
    csk_queue_unlock(&csk_pool.lock);
}

/* ---- A worker that was told to look, and is late ---------------------------------------------------------------- */

static uint32_t count_idle(void) {
    uint32_t count = 0;
    csk_queue_lock(&csk_pool.lock);
    for (const csk_pool_worker_t *worker = csk_pool.idle; worker != NULL; worker = worker->next_idle) count++;
    csk_queue_unlock(&csk_pool.lock);
    return count;
}
static void counts(csk_pool_item_t *item) {
    (void)item;
    ADD(&ran, 1);
}
/* The one that is called first is in a handler of a signal, and another one sleeps. Both items began after the handler:
 * nobody else was called, and nothing was watched. */
static void a_worker_that_is_late_keeps_no_other_asleep(void) {
    static csk_pool_item_t items[4];
    prepare_handler();
    STORE(&go, 0);
    for (int i = 0; i < 2; i++) CHECK_STATUS(csk_pool_post(&items[i], hold), 0);
    wait_until(LOAD(&held) == 2);
    STORE(&go, 2);
    wait_until(LOAD(&held) == 0 && count_idle() == csk_pool_workers());
    csk_queue_lock(&csk_pool.lock);
    int32_t late = csk_pool.idle->look.thread_id;
    csk_queue_unlock(&csk_pool.lock);
    CHECK_STATUS(syscall(SYS_tgkill, getpid(), late, SIGPROF), 0);
    wait_until(LOAD(&is_in_handler));
    STORE(&ran, 0);
    for (int i = 2; i < 4; i++) CHECK_STATUS(csk_pool_post(&items[i], counts), 0);
    wait_until(LOAD(&ran) == 2);
    csk_queue_lock(&csk_pool.lock);
    for (const csk_pool_worker_t *worker = csk_pool.idle; worker != NULL; worker = worker->next_idle)
        CHECK(worker->look.thread_id != late); /* it was called, and has not come */
    csk_queue_unlock(&csk_pool.lock);
    STORE(&may_leave_handler, 1);
}

/* ---- Workers that nobody needs ----------------------------------------------------------------------------------- */

static void block_many(void) {
    enum { COUNT = 100 };
    static csk_pool_item_t items[COUNT], last;
    may_end = false;
    STORE(&ran, 0);
    for (int i = 0; i < COUNT; i++) CHECK_STATUS(csk_pool_post(&items[i], block_at_once), 0);
    CHECK_STATUS(csk_pool_post(&last, release_all), 0);
    wait_until(LOAD(&ran) == COUNT);
}

/* Down to as many as the pool keeps, however many there were; and others come again when they are needed. */
static void workers_end_when_nobody_has_needed_them_for_a_while(void) {
    STORE(&csk_pool.idle_ns, 1000000);
    for (int round = 0; round < 3; round++) {
        block_many();
        wait_until(csk_pool_workers() == csk_pool.wanted);
    }
    STORE(&csk_pool.idle_ns, 10000000000);
    block_many();
    CHECK(csk_pool_workers() > csk_pool.wanted);
}

TEST_MAIN(TEST(one_turn_in_64_is_for_background_work), TEST(each_level_has_its_turn_while_the_others_keep_coming),
          TEST(a_worker_that_is_late_keeps_no_other_asleep), TEST(workers_end_when_nobody_has_needed_them_for_a_while))
