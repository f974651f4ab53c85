/* clients_rwlock_later.c: a thread that comes out of the read-write lock's queue lets a callback in beside it. What
 * that function leaves for later may wait for the lock, so it must not run on a thread that is still in its call. */
#include "explorer.h"
#include "readwrite/rwlock_queue.h"

static csk_rwlock_t *lock;
static struct {
    uint32_t held, done;
    csk_gate_later_t *handed_on;
    uint32_t written;
    csk_waiter_t waiter;
} * shared;

static void make_with(uint32_t policy) {
    csk_rwlock_attr_t attr = { .policy = policy };
    lock = explore_allocate(sizeof *lock);
    shared = explore_allocate(sizeof *shared);
    EXPECT_EQUAL(csk_rwlock_init(lock, &attr), 0);
}
static void make_fast(void) { make_with(CSK_RWLOCK_FAST); }
static void make_strict(void) { make_with(CSK_RWLOCK_STRICT); }

static void writes_later(csk_gate_later_t *later) {
    explore_free(later, sizeof *later);
    EXPECT_EQUAL(csk_rwlock_wrlock(lock), 0);
    shared->written++;
    EXPECT_EQUAL(csk_rwlock_unlock(lock), 0);
}
static void leaves_a_write_or_hands_it_on(csk_waiter_t *waiter, void *context, int status) {
    (void)waiter, (void)context;
    EXPECT_EQUAL(status, 0);
    EXPECT_EQUAL(csk_rwlock_adopt(lock, CSK_RWLOCK_READ), 0);
    EXPECT_EQUAL(csk_rwlock_unlock(lock), 0);
    csk_gate_later_t *later = explore_allocate(sizeof *later);
    later->function = writes_later;
    if (!csk_gate_call_later(later)) shared->handed_on = later;
    explore_set(&shared->done, 1);
}

static void holds(void) {
    EXPECT_EQUAL(csk_rwlock_wrlock(lock), 0);
    explore_set(&shared->held, 1);
    EXPECT_EQUAL(csk_rwlock_unlock(lock), 0);
}
static void reads(void) {
    explore_wait(&shared->held, 1);
    EXPECT_EQUAL(csk_rwlock_rdlock(lock), 0);
    EXPECT_EQUAL(csk_rwlock_unlock(lock), 0);
}
static void queues_the_call(void) {
    explore_wait(&shared->held, 1);
    int status = csk_rwlock_lock_async(lock, &shared->waiter, CSK_RWLOCK_READ, CSK_NEVER, leaves_a_write_or_hands_it_on,
                                       NULL);
    EXPECT_EQUAL(status, 0);
}
static void writes_what_was_handed_on(void) {
    explore_wait(&shared->done, 1);
    if (shared->handed_on != NULL) writes_later(shared->handed_on);
}
static void written_once(void) {
    EXPECT_EQUAL(shared->written, 1);
    EXPECT_EQUAL(csk_rwlock_destroy(lock), 0);
}
CLIENT(rwlock_later_is_refused_in_a_queue_fast, .setup = make_fast,
       .threads = { holds, reads, queues_the_call, writes_what_was_handed_on }, .check = written_once, .preemptions = 2)
CLIENT(rwlock_later_is_refused_in_a_queue_strict, .setup = make_strict,
       .threads = { holds, reads, queues_the_call, writes_what_was_handed_on }, .check = written_once, .preemptions = 2)
