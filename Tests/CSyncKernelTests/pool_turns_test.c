/* pool_turns_test.c: what happens to workers that nobody needs any more, and that one turn in 64 is for the lower
 * levels. The pool's source is a part of this program, which has no other: its times can be set. */
#include "pool/pool.c"

#include <csynckernel/csynckernel.h>

#include "test.h"

static uint32_t go, begun, ran, held;

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

/* Urgent and background items come as fast as they are taken. A normal one never ran: each 64th turn was for the lowest
 * level that waited. */
enum { ALWAYS = 8 };
static uint32_t ends;
typedef struct {
    csk_pool_item_t item;
    uint64_t taken; /* how many items had been taken when this one began */
} timed_t;
static void comes_again(csk_pool_item_t *item) {
    if (!LOAD(&ends)) CHECK_STATUS(csk_pool_post(item, comes_again), 0);
    else ADD(&ran, 1);
}
static uint64_t taken_so_far(void) {
    csk_queue_lock(&csk_pool.lock);
    uint64_t taken = csk_pool.taken;
    csk_queue_unlock(&csk_pool.lock);
    return taken;
}
static void notes_its_turn(csk_pool_item_t *item) {
    ((timed_t *)item)->taken = taken_so_far();
    ADD(&begun, 1);
}
static void each_level_has_its_turn_while_the_others_keep_coming(void) {
    static csk_pool_item_t always[2 * ALWAYS];
    enum { TURNS = 64 * (CSK_POOL_LEVELS - 1) };
    for (int level = 0; level < CSK_POOL_LEVELS; level++) {
        STORE(&begun, 0);
        STORE(&ran, 0);
        STORE(&ends, 0);
        for (int i = 0; i < 2 * ALWAYS; i++) {
            always[i].level = (uint32_t)(level + 1 + i % 2) % CSK_POOL_LEVELS;
            CHECK_STATUS(csk_pool_post(&always[i], comes_again), 0);
        }
        static timed_t rare;
        rare = (timed_t){ .item.level = (uint32_t)level };
        uint64_t before = taken_so_far();
        CHECK_STATUS(csk_pool_post(&rare.item, notes_its_turn), 0);
        wait_until(LOAD(&begun) == 1);
        /* Others may take items between the two looks at the count and what they are about. */
        CHECK(rare.taken - before <= TURNS + 2 * CSK_POOL_WORKERS_MAX);
        STORE(&ends, 1);
        wait_until(LOAD(&ran) == 2 * ALWAYS);
    }
}

/* ---- Workers that nobody needs ----------------------------------------------------------------------------------- */

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t released = PTHREAD_COND_INITIALIZER;
static bool may_end;

static void block(csk_pool_item_t *item) {
    (void)item;
    pthread_mutex_lock(&lock);
    while (!may_end) pthread_cond_wait(&released, &lock);
    pthread_mutex_unlock(&lock);
    ADD(&ran, 1);
}

static void release_all(csk_pool_item_t *item) {
    (void)item;
    pthread_mutex_lock(&lock);
    may_end = true;
    pthread_cond_broadcast(&released);
    pthread_mutex_unlock(&lock);
}

static void block_many(void) {
    enum { COUNT = 100 };
    static csk_pool_item_t items[COUNT], last;
    may_end = false;
    STORE(&ran, 0);
    for (int i = 0; i < COUNT; i++) CHECK_STATUS(csk_pool_post(&items[i], block), 0);
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
          TEST(workers_end_when_nobody_has_needed_them_for_a_while))
