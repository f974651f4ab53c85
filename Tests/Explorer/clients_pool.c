/* clients_pool.c: the pool, and writes that run on it. */
#include "csynckernel/rwlock.h"
#include "explorer.h"

static struct {
    csk_pool_item_t items[3];
    csk_rwlock_t lock;
    csk_rwlock_write_t writes[3];
    csk_rwlock_work_t alone;
    uint32_t done, flags[3], inside, entered;
    int order[3];
} *shared;

static void make(void) {
    csk_rwlock_attr_t attr = { .policy = CSK_RWLOCK_STRICT };
    shared = explore_allocate(sizeof *shared);
    EXPECT_EQUAL(csk_rwlock_init(&shared->lock, &attr), 0);
}

static void counts(csk_pool_item_t *item) {
    (void)item;
    explore_point();
    explore_set(&shared->done, __atomic_fetch_add(&shared->inside, 1, __ATOMIC_SEQ_CST) + 1);
}
static void post(int index, csk_pool_function_t function) { EXPECT_EQUAL(csk_pool_post(&shared->items[index], function), 0); }
static void posts_and_waits(void) {
    post(0, counts);
    explore_wait(&shared->done, 1);
}
static void posts_two(void) {
    post(0, counts);
    post(1, counts);
}
static void posts_third(void) { post(2, counts); }
static void all_ran(void) { EXPECT_EQUAL(shared->inside, 3); }
static void nothing_is_left(void) { EXPECT_EQUAL(csk_pool_queued(), 0); }
CLIENT(pool_one, .setup = make, .threads = { posts_and_waits }, .check = nothing_is_left, .preemptions = 2)
CLIENT(pool_three, .setup = make, .threads = { posts_two, posts_third }, .check = all_ran, .preemptions = 1)

/* Two functions that wait for a third one: another worker comes for it. */
static void waits_for_third(csk_pool_item_t *item) {
    (void)item;
    explore_wait(&shared->flags[0], 1);
}
static void is_third(csk_pool_item_t *item) {
    (void)item;
    explore_set(&shared->flags[0], 1);
}
static void posts_blocking(void) {
    post(0, waits_for_third);
    post(1, waits_for_third);
    post(2, is_third);
    explore_wait(&shared->flags[0], 1);
}
CLIENT(pool_blocked_workers, .setup = make, .threads = { posts_blocking }, .check = nothing_is_left)

static void enters(int index) {
    EXPECT(csk_rwlock_is_writing(&shared->lock));
    EXPECT_EQUAL(__atomic_load_n(&shared->inside, __ATOMIC_RELAXED), 0);
    __atomic_store_n(&shared->inside, 1, __ATOMIC_RELAXED);
    shared->order[shared->entered++] = index;
    __atomic_store_n(&shared->inside, 0, __ATOMIC_RELAXED);
    EXPECT_EQUAL(csk_rwlock_finish_write(&shared->lock), 0);
}
static void writes(csk_rwlock_write_t *write) { enters((int)(write - shared->writes)); }
static void writes_alone(csk_rwlock_work_t *work, void *context, int status) {
    EXPECT(work == &shared->alone);
    EXPECT_EQUAL(status, 0);
    enters(*(const int *)context);
}
static void enqueue(int index) { EXPECT_EQUAL(csk_rwlock_enqueue_write(&shared->lock, &shared->writes[index], writes), 0); }
static void enqueue_alone(void) {
    static const int index = 1;
    EXPECT_EQUAL(csk_rwlock_enqueue(&shared->lock, &shared->alone, CSK_RWLOCK_WRITE, CSK_NEVER, writes_alone, (void *)&index), 0);
}
static void enqueues_three(void) {
    enqueue(0);
    enqueue(1);
    enqueue(2);
}
static void reads(void) {
    EXPECT_EQUAL(csk_rwlock_rdlock(&shared->lock), 0);
    EXPECT_EQUAL(__atomic_load_n(&shared->inside, __ATOMIC_RELAXED), 0);
    EXPECT_EQUAL(csk_rwlock_unlock(&shared->lock), 0);
}
static void writes_here(void) {
    EXPECT_EQUAL(csk_rwlock_wrlock(&shared->lock), 0);
    EXPECT_EQUAL(__atomic_load_n(&shared->inside, __ATOMIC_RELAXED), 0);
    EXPECT_EQUAL(csk_rwlock_unlock(&shared->lock), 0);
}
static void in_order(void) {
    EXPECT_EQUAL(shared->entered, 3);
    for (int i = 0; i < 3; i++) EXPECT_EQUAL(shared->order[i], i);
    EXPECT_EQUAL(csk_rwlock_destroy(&shared->lock), 0);
}
static void enqueues_both_ways(void) {
    enqueue(0);
    enqueue_alone();
    enqueue(2);
}
/* Those that stand in the queue as one are all before the read that came after them. */
static void reads_after_three(void) {
    enqueues_three();
    EXPECT_EQUAL(csk_rwlock_rdlock(&shared->lock), 0);
    EXPECT_EQUAL(shared->entered, 3);
    EXPECT_EQUAL(csk_rwlock_unlock(&shared->lock), 0);
}
CLIENT(pool_writes_as_one, .setup = make, .threads = { reads_after_three, writes_here }, .check = in_order)
CLIENT(pool_writes_both_ways, .setup = make, .threads = { enqueues_both_ways, writes_here }, .check = in_order)
CLIENT(pool_writes_in_order, .setup = make, .threads = { enqueues_three }, .check = in_order)
CLIENT(pool_writes_and_others, .setup = make, .threads = { enqueues_three, reads, writes_here }, .check = in_order)

/* The order of one thread's calls: read after the write it enqueued, write after the read. */
static void reads_what_it_wrote(void) {
    enqueue(0);
    EXPECT_EQUAL(csk_rwlock_rdlock(&shared->lock), 0);
    EXPECT_EQUAL(shared->entered, 1);
    enqueue(1);
    EXPECT_EQUAL(shared->entered, 1);
    EXPECT_EQUAL(csk_rwlock_unlock(&shared->lock), 0);
    enqueue(2);
}
CLIENT(pool_reads_between_writes, .setup = make, .threads = { reads_what_it_wrote }, .check = in_order)
