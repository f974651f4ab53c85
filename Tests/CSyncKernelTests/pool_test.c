/* pool_test.c: items run once, urgent ones first and background ones too, and workers come for those that block. */
#include <csynckernel/csynckernel.h>

#include "pool_fixture.h"

typedef struct {
    csk_pool_item_t item;
    int name;
    uint32_t runs;
} task_t;

static uint32_t go;
static int names[4096];

static void run_task(csk_pool_item_t *item) {
    task_t *task = (task_t *)item;
    uint32_t place = ADD(&ran, 1) - 1;
    names[place % 4096] = task->name;
    ADD(&task->runs, 1);
}

static void post(task_t *task, int name, uint32_t level) {
    task->name = name;
    task->item.level = level;
    CHECK_STATUS(csk_pool_post(&task->item, run_task), 0);
}

static void each_item_runs_once(void) {
    enum { COUNT = 20000 / TEST_SLOWDOWN };
    static task_t tasks[COUNT];
    STORE(&ran, 0);
    for (int i = 0; i < COUNT; i++) post(&tasks[i], i, (uint32_t)i % CSK_POOL_LEVELS);
    wait_until(LOAD(&ran) == COUNT);
    for (int i = 0; i < COUNT; i++) {
        wait_until(LOAD(&tasks[i].runs) != 0); /* the last ones may have counted for `ran` only */
        CHECK_EQ(LOAD(&tasks[i].runs), 1);
    }
    CHECK_EQ(csk_pool_queued(), 0);
    CHECK_GE(csk_pool_workers(), 2);
}

static void bad_input_is_refused(void) {
    task_t task = { .name = 0 };
    CHECK_STATUS(csk_pool_post(&task.item, NULL), EINVAL);
    task.item.level = CSK_POOL_LEVELS;
    CHECK_STATUS(csk_pool_post(&task.item, run_task), EINVAL);
    task.item.level = UINT32_MAX;
    CHECK_STATUS(csk_pool_post(&task.item, run_task), EINVAL);
    CHECK_EQ(task.runs, 0);
}

/* ---- Levels ------------------------------------------------------------------------------------------------------ */

static uint32_t held;

/* Keeps a worker, so that what is posted meanwhile stands in the pool's lists. */
static void hold(csk_pool_item_t *item) {
    (void)item;
    ADD(&held, 1);
    wait_until(LOAD(&go));
    ADD(&held, -1);
}

static void hold_workers(csk_pool_item_t *items, uint32_t count) {
    STORE(&go, 0);
    for (uint32_t i = 0; i < count; i++) {
        items[i] = (csk_pool_item_t){ .level = CSK_POOL_URGENT };
        CHECK_STATUS(csk_pool_post(&items[i], hold), 0);
    }
    wait_until(LOAD(&held) == count);
}

static void urgent_items_come_before_normal_and_background_ones(void) {
    /* All workers that the pool may have by itself: they run, so it starts no more than these. */
    enum { EACH = 100 };
    static csk_pool_item_t holders[CSK_POOL_WORKERS_MAX];
    static task_t tasks[3 * EACH];
    hold_workers(holders, CSK_POOL_WORKERS_MAX);
    STORE(&ran, 0);
    for (int i = 0; i < EACH; i++) {
        post(&tasks[3 * i], 0, CSK_POOL_BACKGROUND);
        post(&tasks[3 * i + 1], 1, CSK_POOL_NORMAL);
        post(&tasks[3 * i + 2], 2, CSK_POOL_URGENT);
    }
    CHECK_EQ(csk_pool_queued(), 3 * EACH);
    STORE(&go, 1);
    for (int i = 0; i < 3 * EACH; i++) wait_until(LOAD(&tasks[i].runs) == 1);
    /* Among the first hundred mostly urgent ones, though 64 workers note them in no strict order, and one in 64 comes
     * from below. */
    int urgent = 0, background = 0;
    for (int i = 0; i < EACH; i++) urgent += names[i] == 2;
    for (int i = 2 * EACH; i < 3 * EACH; i++) background += names[i] == 0;
    CHECK_GE(urgent, EACH / 2);
    CHECK_GE(background, EACH / 2);
    wait_until(LOAD(&held) == 0);
}

static void run_endless(csk_pool_item_t *item) {
    if (!LOAD(&go)) CHECK_STATUS(csk_pool_post(item, run_endless), 0);
    else ADD(&ran, 1);
}

static void the_lowest_level_is_served_however_much_is_urgent(void) {
    static task_t low, more[8];
    STORE(&go, 0);
    STORE(&ran, 0);
    for (int i = 0; i < 8; i++) {
        more[i].item.level = CSK_POOL_URGENT;
        CHECK_STATUS(csk_pool_post(&more[i].item, run_endless), 0);
    }
    post(&low, 0, CSK_POOL_BACKGROUND);
    wait_until(LOAD(&low.runs) == 1);
    STORE(&go, 1);
    wait_until(LOAD(&ran) == 9);
}

/* ---- Workers that block ------------------------------------------------------------------------------------------ */

static void spin_then_block(csk_pool_item_t *item) {
    (void)item;
    wait_until(LOAD(&go));
    block();
}

static void workers_come_for_those_that_block(void) {
    enum { COUNT = 100 };
    static csk_pool_item_t items[COUNT], last;
    may_end = false;
    STORE(&ran, 0);
    for (int i = 0; i < COUNT; i++) CHECK_STATUS(csk_pool_post(&items[i], block_at_once), 0);
    CHECK_STATUS(csk_pool_post(&last, release_all), 0); /* the last in order: after all of them have begun */
    wait_until(LOAD(&ran) == COUNT);
    CHECK_GE(csk_pool_workers(), COUNT);
}

/* While as many run as may, no other is started; then all of them go to sleep, and what they wait for stands in the
 * queue. */
static void workers_come_when_those_that_ran_go_to_sleep(void) {
    enum { COUNT = CSK_POOL_WORKERS_MAX + 20 };
    static csk_pool_item_t items[COUNT], last;
    may_end = false;
    STORE(&ran, 0);
    STORE(&go, 0);
    for (int i = 0; i < COUNT; i++) CHECK_STATUS(csk_pool_post(&items[i], spin_then_block), 0);
    CHECK_STATUS(csk_pool_post(&last, release_all), 0);
    wait_until(csk_pool_workers() >= CSK_POOL_WORKERS_MAX);
    int64_t resigned_ns = csk_deadline_after(20000000); /* by then the pool has found that enough run */
    wait_until(csk_now() >= resigned_ns);
    STORE(&go, 1);
    wait_until(LOAD(&ran) == COUNT);
}

TEST_MAIN(TEST(each_item_runs_once), TEST(bad_input_is_refused),
          TEST(urgent_items_come_before_normal_and_background_ones),
          TEST(the_lowest_level_is_served_however_much_is_urgent), TEST(workers_come_for_those_that_block),
          TEST(workers_come_when_those_that_ran_go_to_sleep))
