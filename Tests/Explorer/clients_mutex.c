/* clients_mutex.c: the recursive mutex. */
#include "csynckernel/mutex.h"

#include "explorer.h"

static csk_mutex_t *mutex;
static struct { uint32_t inside, count, references; } * shared;

static void make(uint32_t references) {
    mutex = explore_allocate(sizeof *mutex);
    shared = explore_allocate(sizeof *shared);
    shared->references = references;
}
static void make_zeroed(void) { make(2); }
static void make_initialized(void) {
    make(2);
    EXPECT_EQUAL(csk_mutex_init(mutex), 0);
}
static void make_for_three(void) { make(3); }

static void section(void) {
    EXPECT_EQUAL(__atomic_load_n(&shared->inside, __ATOMIC_RELAXED), 0);
    __atomic_store_n(&shared->inside, 1, __ATOMIC_RELAXED);
    __atomic_store_n(&shared->count, __atomic_load_n(&shared->count, __ATOMIC_RELAXED) + 1, __ATOMIC_RELAXED);
    __atomic_store_n(&shared->inside, 0, __ATOMIC_RELAXED);
}
static void locks(void) {
    EXPECT_EQUAL(csk_mutex_lock(mutex), 0);
    section();
    EXPECT_EQUAL(csk_mutex_unlock(mutex), 0);
}
static void recurses(void) {
    EXPECT_EQUAL(csk_mutex_lock(mutex), 0);
    EXPECT_EQUAL(csk_mutex_lock(mutex), 0);
    EXPECT_EQUAL(csk_mutex_trylock(mutex), 0);
    section();
    EXPECT_EQUAL(csk_mutex_unlock(mutex), 0);
    EXPECT_EQUAL(csk_mutex_unlock(mutex), 0);
    section();
    EXPECT_EQUAL(csk_mutex_unlock(mutex), 0);
}
static void tries(void) {
    int status = csk_mutex_trylock(mutex);
    EXPECT(status == 0 || status == EBUSY);
    if (status != 0) return;
    section();
    EXPECT_EQUAL(csk_mutex_unlock(mutex), 0);
}
static void timed(void) {
    int64_t deadline = explore_now() + 20000;
    int status = csk_mutex_timedlock(mutex, deadline);
    if (status == ETIMEDOUT) EXPECT(explore_now() >= deadline);
    else EXPECT_EQUAL(status, 0);
    if (status != 0) return;
    section();
    EXPECT_EQUAL(csk_mutex_unlock(mutex), 0);
}
static void stranger(void) { EXPECT_EQUAL(csk_mutex_unlock(mutex), EPERM); }
static void is_idle(void) {
    EXPECT_EQUAL(csk_mutex_trylock(mutex), 0);
    EXPECT_EQUAL(csk_mutex_unlock(mutex), 0);
    EXPECT_EQUAL(csk_mutex_destroy(mutex), 0);
}
static void drops(void) {
    EXPECT_EQUAL(csk_mutex_lock(mutex), 0);
    section();
    bool last = --shared->references == 0;
    EXPECT_EQUAL(csk_mutex_unlock(mutex), 0);
    if (!last) return;
    EXPECT_EQUAL(csk_mutex_destroy(mutex), 0);
    explore_free(mutex, sizeof *mutex);
}

CLIENT(mutex_two, .setup = make_zeroed, .threads = { locks, locks }, .check = is_idle, .preemptions = 3)
CLIENT(mutex_two_initialized, .setup = make_initialized, .threads = { locks, locks }, .check = is_idle,
       .preemptions = 2)
CLIENT(mutex_three, .setup = make_zeroed, .threads = { locks, locks, locks }, .check = is_idle, .preemptions = 1)
CLIENT(mutex_recursive, .setup = make_zeroed, .threads = { recurses, locks }, .check = is_idle, .preemptions = 2)
CLIENT(mutex_try, .setup = make_zeroed, .threads = { locks, tries, recurses }, .check = is_idle, .preemptions = 1)
CLIENT(mutex_timed, .setup = make_zeroed, .threads = { locks, timed, timed }, .check = is_idle, .preemptions = 1)
CLIENT(mutex_foreign_unlock, .setup = make_zeroed, .threads = { locks, locks, stranger }, .check = is_idle,
       .preemptions = 1)
CLIENT(mutex_last_frees, .setup = make_zeroed, .threads = { drops, drops }, .preemptions = 3)
CLIENT(mutex_last_frees_three, .setup = make_for_three, .threads = { drops, drops, drops }, .preemptions = 1)
/* A thread has its number from its first lock, and enters by the inline path from its second on. */
static void locks_twice(void) {
    locks();
    locks();
}
CLIENT(mutex_twice, .setup = make_zeroed, .threads = { locks_twice, locks_twice }, .check = is_idle, .preemptions = 2)
CLIENT(mutex_spurious, .setup = make_zeroed, .threads = { locks, locks }, .check = is_idle, .preemptions = 2,
       .spurious = 2)
