/* inspect_pool_test.c: what a view does while it has the pool's lock, for which all posts and workers wait. The view's
 * part for the pool is a part of this program, so that it can see that. */
#include "inspect_fixture.h"

#include "observe/inspect.h"
#include "pool/pool_state.h"

static bool has_pool;
static uint32_t read_beside_pool;

static bool try_pool(const csk_wait_record_t *record, uint32_t *lock, int64_t until_ns) {
    return has_pool = csk_waits_try_or_take_over(record, lock, until_ns);
}
static void leave_pool(uint32_t *lock) {
    has_pool = false;
    csk_queue_unlock(lock);
}
static void look_at_queue(csk_look_t *look, csk_inspected_object_t *object, int64_t until_ns) {
    CHECK(!has_pool);
    read_beside_pool++;
    csk_look_at_workqueue(look, object, until_ns);
}

#define csk_waits_try_or_take_over try_pool
#define csk_queue_unlock leave_pool
#define csk_look_at_workqueue look_at_queue
#include "observe/inspect_pool.c"
#undef csk_look_at_workqueue

static uint32_t holds = 1, ended;
static void hold(csk_pool_item_t *item) {
    (void)item;
    wait_until(!LOAD(&holds));
    ADD(&ended, 1);
}
static void nothing(csk_work_t *work, int status) { (void)work, (void)status; }

/* All workers are busy, and queues wait for one, each with works in its inbox: of more than one piece, of less. */
static void no_queue_is_read_while_the_pool_waits(void) {
    enum { WORKERS = 2, QUEUES = 3, MOST = 3 * CSK_LOOK_PIECE };
    static const int64_t counts[QUEUES] = { 1, CSK_LOOK_PIECE, MOST };
    static csk_pool_item_t items[WORKERS];
    static csk_workqueue_t queues[QUEUES];
    static csk_work_t works[QUEUES][MOST];
    csk_set_reporter(NULL);
    CHECK_STATUS(csk_pool_configure(&(csk_pool_attr_t){ .least = WORKERS, .most = WORKERS }), 0);
    for (int i = 0; i < WORKERS; i++) CHECK_STATUS(csk_pool_post(&items[i], hold), 0);
    wait_until(csk_pool_queued() == 0);
    for (int i = 0; i < QUEUES; i++)
        for (int64_t n = 0; n < counts[i]; n++)
            CHECK_STATUS(csk_workqueue_enqueue(&queues[i], &works[i][n], nothing), 0);
    for (int i = 0; i < QUEUES; i++) {
        const csk_inspected_object_t *object = look_for(&queues[i], CSK_OBJECT_WORKQUEUE);
        CHECK(object != NULL);
        CHECK(object->flags & CSK_INSPECT_POSTED);
        CHECK(!(object->flags & (CSK_INSPECT_BUSY | CSK_INSPECT_AT_LEAST)));
        CHECK_EQ(object->count, counts[i]);
    }
    CHECK_GE(read_beside_pool, QUEUES);
    STORE(&holds, 0);
    wait_until(LOAD(&ended) == WORKERS);
    for (int i = 0; i < QUEUES; i++) {
        CHECK_STATUS(csk_workqueue_drain(&queues[i], CSK_NEVER), 0);
        CHECK_STATUS(csk_workqueue_destroy(&queues[i]), 0);
    }
}

TEST_MAIN(TEST(no_queue_is_read_while_the_pool_waits))
