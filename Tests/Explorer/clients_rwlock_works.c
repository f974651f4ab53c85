/* clients_rwlock_works.c: what threads find of enqueued sections that are not theirs: writes that have not begun, and
 * a work that is queued again. */
#include "csynckernel/rwlock.h"
#include "explorer.h"
#include "pool/pool.h"

static struct {
    csk_rwlock_t lock;
    csk_rwlock_write_t writes[3];
    csk_rwlock_work_t work;
    uint32_t counted, ran, busy;
} * shared;

static void make(void) {
    shared = explore_allocate(sizeof *shared);
    EXPECT_EQUAL(csk_rwlock_init(&shared->lock, NULL), 0);
    EXPECT_EQUAL(csk_pool_prepare(), 0);
}

/* The first write stays inside until somebody has counted what waits behind it. */
static void writes(csk_rwlock_write_t *write) {
    if (write == &shared->writes[0]) explore_wait(&shared->counted, 1);
    EXPECT_EQUAL(csk_rwlock_finish_write(&shared->lock), 0);
}
static void enqueue(int index) {
    EXPECT_EQUAL(csk_rwlock_enqueue_write(&shared->lock, &shared->writes[index], writes), 0);
}
static void enqueues_first(void) { enqueue(0); }
static void enqueues_two(void) {
    enqueue(1);
    enqueue(2);
}
static void counts(void) {
    EXPECT(csk_rwlock_waiting(&shared->lock) <= 3);
    explore_set(&shared->counted, 1);
}
static void none_waits(void) { EXPECT_EQUAL(csk_rwlock_waiting(&shared->lock), 0); }
CLIENT(rwlock_writes_are_counted, .setup = make, .threads = { enqueues_first, enqueues_two, counts },
       .check = none_waits)

/* Either it is in use, or who enqueues it again comes after all that its run has read of it. */
static void runs(csk_rwlock_work_t *work, void *context, int status) {
    (void)work, (void)context;
    EXPECT_EQUAL(status, 0);
    EXPECT_EQUAL(csk_rwlock_unlock(&shared->lock), 0);
    __atomic_fetch_add(&shared->ran, 1, __ATOMIC_RELAXED);
}
static void enqueues_work(void) {
    int status = csk_rwlock_enqueue(&shared->lock, &shared->work, CSK_RWLOCK_READ, CSK_NEVER, runs, NULL);
    EXPECT(status == 0 || status == EBUSY);
    if (status == EBUSY) __atomic_fetch_add(&shared->busy, 1, __ATOMIC_RELAXED);
}
static void all_ran(void) { EXPECT_EQUAL(shared->ran + shared->busy, 2); }
/* A call that is refused gives the work back, too. */
static void is_refused(void) {
    int status = csk_rwlock_enqueue(&shared->lock, &shared->work, CSK_RWLOCK_READ + CSK_RWLOCK_WRITE + 1, CSK_NEVER,
                                    runs, NULL);
    EXPECT(status == EINVAL || status == EBUSY);
    __atomic_fetch_add(&shared->busy, 1, __ATOMIC_RELAXED);
}
CLIENT(rwlock_work_is_queued_after_a_refusal, .setup = make, .threads = { is_refused, enqueues_work }, .check = all_ran)
CLIENT(rwlock_work_is_queued_again, .setup = make, .threads = { enqueues_work, enqueues_work }, .check = all_ran)
