/* spin_park_test.c: when a thread spins before it parks, and what workers learn from how that ended. */
#include <csynckernel/csynckernel.h>

#include "test.h"

#include "pool/pool_state.h"
#include "wait/queue_lock.h"
#include "wait/spin_park.h"

static void a_thread_that_spins_in_vain_parks_at_once(void) {
    csk_spin_habit_t habit = { 0 };
    for (int i = 0; i < CSK_SPIN_VAIN; i++) {
        CHECK(csk_spin_pays(&habit));
        csk_spin_learn(&habit, false);
    }
    for (int round = 0; round < 3; round++) {
        for (int i = 1; i < CSK_SPIN_SKIPS; i++) CHECK(!csk_spin_pays(&habit));
        CHECK(csk_spin_pays(&habit)); /* one more try, in vain again */
        csk_spin_learn(&habit, false);
    }
}

static void one_try_that_pays_brings_spinning_back(void) {
    csk_spin_habit_t habit = { 0 };
    for (int i = 0; i < 2 * CSK_SPIN_VAIN; i++) csk_spin_learn(&habit, false);
    while (!csk_spin_pays(&habit)) {}
    csk_spin_learn(&habit, true);
    for (int i = 0; i < CSK_SPIN_VAIN; i++) {
        CHECK(csk_spin_pays(&habit));
        csk_spin_learn(&habit, false);
    }
    CHECK(!csk_spin_pays(&habit));
}

static void a_long_spin_that_is_in_vain_is_tried_again_seldom(void) {
    csk_spin_habit_t habit = { 0 };
    for (int i = 0; i < CSK_SPIN_VAIN; i++) csk_spin_learn(&habit, false);
    for (int round = 0; round < 3; round++) {
        for (int i = 1; i < CSK_SPIN_SKIPS_LONG; i++) CHECK(!csk_spin_pays_each(&habit, CSK_SPIN_SKIPS_LONG));
        CHECK(csk_spin_pays_each(&habit, CSK_SPIN_SKIPS_LONG));
        csk_spin_learn(&habit, false);
    }
}

/* ---- Who learns what --------------------------------------------------------------------------------------------- */

static void with_one_worker(void) {
    static const csk_pool_attr_t attr = { .least = 1, .most = 1 };
    CHECK_STATUS(csk_pool_configure(&attr), 0);
}

static uint32_t vain;

static void see_habit(csk_work_t *work, int status) {
    (void)work;
    CHECK_STATUS(status, 0);
    vain = csk_pool_frame->lingers.vain;
}

/* Who destroys a queue waits until its worker has gone, and so has learned. */
static void a_worker_learns_that_nothing_came_to_its_queue(void) {
    with_one_worker();
    for (uint32_t round = 0; round <= CSK_SPIN_VAIN + 1; round++) {
        csk_workqueue_t queue = { .width = 1 };
        csk_work_t work = { .kind = 0 };
        CHECK_STATUS(csk_workqueue_enqueue(&queue, &work, see_habit), 0);
        CHECK_STATUS(csk_workqueue_drain(&queue, CSK_NEVER), 0);
        CHECK_STATUS(csk_workqueue_destroy(&queue), 0);
        CHECK_EQ(vain, round < CSK_SPIN_VAIN ? round : CSK_SPIN_VAIN);
    }
}

static uint32_t ran;

static void count(csk_pool_item_t *item) {
    (void)item;
    ADD(&ran, 1);
}

/* A worker sets its word anew under the pool's lock. */
static bool is_parked(const csk_pool_worker_t *worker) {
    csk_queue_lock(&csk_pool.lock);
    bool parked = LOAD(&worker->word) == CSK_WORD_PARKED;
    csk_queue_unlock(&csk_pool.lock);
    return parked;
}

static void an_idle_worker_learns_that_nothing_came_soon(void) {
    csk_pool_item_t item = { .level = CSK_POOL_NORMAL };
    wait_until(LOAD(&csk_pool.all) != NULL);
    csk_pool_worker_t *worker = LOAD(&csk_pool.all);
    for (uint32_t round = 1; round <= CSK_SPIN_VAIN; round++) {
        wait_until(is_parked(worker));
        CHECK_STATUS(csk_pool_post(&item, count), 0);
        wait_until(LOAD(&ran) == round);
    }
    wait_until(is_parked(worker));
    CHECK_EQ(worker->spins.vain, CSK_SPIN_VAIN);
}

TEST_MAIN(TEST(a_thread_that_spins_in_vain_parks_at_once), TEST(one_try_that_pays_brings_spinning_back),
          TEST(a_long_spin_that_is_in_vain_is_tried_again_seldom), TEST(a_worker_learns_that_nothing_came_to_its_queue),
          TEST(an_idle_worker_learns_that_nothing_came_soon))
