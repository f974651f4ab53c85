/* clients_rwlock_late.c: a reader that was told to come, or was let in, has no processor, and none for as long as
 * others are there. No other reader waits for it. */
#include "base/report.h"
#include "base/platform.h"
#include "late_fixture.h"
#include "readwrite/rwlock_queue.h"
#include "rwlock_fixture.h"

static csk_rwlock_t *lock;
static struct {
    protected_t data;
    uint32_t flags[3], entered;
    int order[8];
    int64_t called_ns; /* not before that */
    csk_waiter_t waiters[2];
    uint32_t granted;
} * shared;

/* Thread 1 is late from the moment at which it is told while it is parked; under STRICT, where nobody is told to try,
 * from the moment at which it is let in. */
static bool is_answered(int thread, const void *word) {
    return is_late_with(thread, word, lock->policy == CSK_RWLOCK_STRICT ? WORD_GRANTED : WORD_TRY);
}
/* Who has waited for readers for a second reports it. */
static void says_nothing(const csk_event_t *event) { (void)event; }

static void make_with(uint32_t policy) {
    csk_rwlock_attr_t attr = { .policy = policy };
    lock = explore_allocate(sizeof *lock);
    shared = explore_allocate(sizeof *shared);
    EXPECT_EQUAL(csk_rwlock_init(lock, &attr), 0);
    csk_set_reporter(says_nothing);
    was_late = false;
}
static void make_fast(void) { make_with(CSK_RWLOCK_FAST); }
static void make_strict(void) { make_with(CSK_RWLOCK_STRICT); }

/* Whenever the queue lock is free, the word says what is in the queue, and nobody is left who could enter. */
static void is_published(void) {
    if (lock->queue_lock != csk_process_mark()) return;
    const csk_waiter_t *first = lock->first;
    uint64_t flags = 0;
    if (first != NULL) {
        flags = RW_WAITERS | (lock->coming ? RW_COMING : 0);
        if (csk_rwlock_is_handed_over(lock, first)) flags |= RW_HAND_OVER;
        EXPECT(lock->coming || csk_rwlock_entered(lock->state & ~RW_FLAGS, first->mode, first->thread) == 0);
    }
    EXPECT_EQUAL(lock->state & RW_FLAGS, flags);
}
#define CLIENT_LATE(name, make, ...) \
    CLIENT(name, .setup = make, .invariant = is_published, .is_late = is_answered, __VA_ARGS__)

static void reads_as(int who) {
    EXPECT_EQUAL(csk_rwlock_rdlock(lock), 0);
    read_protected(&shared->data);
    shared->order[shared->entered++] = who;
    EXPECT_EQUAL(csk_rwlock_unlock(lock), 0);
}
static void await_waiting(uint32_t count) {
    explore_wait(&lock->waiting, count);
    csk_rwlock_lock_queue(lock);
    csk_queue_unlock(&lock->queue_lock);
}
static void reads_first(void) {
    explore_wait(&shared->flags[0], 1);
    reads_as(1);
}
static void reads_second(void) {
    explore_wait(&shared->flags[1], 1);
    reads_as(2);
}
static void reads_third(void) {
    explore_wait(&shared->flags[1], 1);
    reads_as(3);
}
static void all_came(uint32_t count) {
    EXPECT_EQUAL(shared->entered, count);
    if (was_late) EXPECT_EQUAL(shared->order[count - 1], 1);
    EXPECT_EQUAL(csk_rwlock_waiting(lock), 0);
    EXPECT_EQUAL(lock->state, 0);
    EXPECT_EQUAL(csk_rwlock_destroy(lock), 0);
    csk_set_reporter(NULL);
}
static void two_came(void) { all_came(2); }
static void three_came(void) { all_came(3); }

/* A writer leaves, and readers stand behind the late one. Under STRICT all of them are let in; otherwise the first is
 * told. */
static void writes_before(uint32_t readers) {
    EXPECT_EQUAL(csk_rwlock_wrlock(lock), 0);
    explore_set(&shared->flags[0], 1);
    await_waiting(1);
    if (readers > 1) explore_set(&shared->flags[1], 1);
    await_waiting(readers);
    write_protected(&shared->data);
    shared->called_ns = explore_now();
    EXPECT_EQUAL(csk_rwlock_unlock(lock), 0);
}
/* Whether nobody can have been passed over yet. */
static bool is_early(void) { return explore_now() - shared->called_ns < RW_PASSED_OVER_NS; }
static void writes_before_two(void) { writes_before(2); }
static void writes_before_three(void) { writes_before(3); }
CLIENT_LATE(rwlock_late_before_a_reader, make_fast, .threads = { writes_before_two, reads_first, reads_second },
            .check = two_came, .preemptions = 1)
CLIENT_LATE(rwlock_late_before_two, make_fast,
            .threads = { writes_before_three, reads_first, reads_second, reads_third }, .check = three_came)
CLIENT_LATE(rwlock_late_among_readers, make_strict,
            .threads = { writes_before_three, reads_first, reads_second, reads_third }, .check = three_came)

/* A writer comes behind it when it was told. Once that has left, newcomers are not barred by who is late. */
static void writes_as(int who) {
    EXPECT_EQUAL(csk_rwlock_wrlock(lock), 0);
    write_protected(&shared->data);
    shared->order[shared->entered++] = who;
    EXPECT_EQUAL(csk_rwlock_unlock(lock), 0);
}
static void passes(void) {
    int status = csk_rwlock_trywrlock(lock);
    EXPECT(status == 0 || !was_late);
    if (status == 0) EXPECT_EQUAL(csk_rwlock_unlock(lock), 0);
}
static void writes_second(void) {
    explore_wait(&shared->flags[1], 1);
    writes_as(2);
    passes();
}
static void stays_until_it_came(int first) {
    explore_set(&shared->flags[1], 1);
    csk_platform_park(&shared->flags[2], 0, explore_now() + 10000);
    csk_rwlock_lock_queue(lock);
    if (lock->waiting == 2 && is_early()) {
        const csk_waiter_t *reader = lock->first->mode == RW_READ ? lock->first : lock->last;
        if (csk_load(&reader->word, CSK_RELAXED) == WORD_TRY) EXPECT_EQUAL(lock->first->mode, first);
    }
    csk_queue_unlock(&lock->queue_lock);
    EXPECT_EQUAL(csk_rwlock_unlock(lock), 0);
}
static void writes_and_passes(void) {
    writes_before(1);
    EXPECT_EQUAL(csk_rwlock_wrlock(lock), 0);
    stays_until_it_came(RW_READ);
}
CLIENT_LATE(rwlock_late_before_a_writer, make_fast, .threads = { writes_and_passes, reads_first, writes_second },
            .check = two_came, .preemptions = 1)

/* A writer that comes while others read stands before it, and does not wait for it. */
static void writes_and_reads(void) {
    writes_before(1);
    EXPECT_EQUAL(csk_rwlock_rdlock(lock), 0);
    stays_until_it_came(RW_WRITE);
}
CLIENT_LATE(rwlock_late_behind_a_writer, make_fast, .threads = { writes_and_reads, reads_first, writes_second },
            .check = two_came, .preemptions = 1)

/* A callback behind it gets in once another waiter comes, after a time. */
static void is_granted(csk_waiter_t *waiter, void *context, int status) {
    (void)waiter, (void)context;
    EXPECT_EQUAL(status, 0);
    write_protected(&shared->data);
    shared->granted++;
    EXPECT_EQUAL(csk_rwlock_unlock(lock), 0);
}
static void queues(int index) {
    csk_waiter_t *waiter = &shared->waiters[index];
    EXPECT_EQUAL(csk_rwlock_lock_async(lock, waiter, CSK_RWLOCK_WRITE, CSK_NEVER, is_granted, NULL), 0);
}
static void lets_a_callback_in(void) {
    EXPECT_EQUAL(csk_rwlock_wrlock(lock), 0);
    explore_set(&shared->flags[0], 1);
    await_waiting(1);
    queues(0);
    EXPECT_EQUAL(csk_rwlock_unlock(lock), 0);
    int64_t late_ns = explore_now() + RW_PASSED_OVER_NS;
    while (explore_now() < late_ns) csk_platform_park(&shared->flags[2], 0, late_ns);
    EXPECT_EQUAL(csk_rwlock_wrlock(lock), 0);
    explore_set(&shared->flags[1], 1);
    csk_platform_park(&shared->flags[2], 0, explore_now() + 10000);
    csk_rwlock_lock_queue(lock);
    bool one_came = lock->waiting == 3;
    csk_queue_unlock(&lock->queue_lock);
    EXPECT_EQUAL(csk_rwlock_unlock(lock), 0);
    if (one_came && was_late) EXPECT(shared->granted != 0);
}
static void queues_second(void) {
    explore_wait(&shared->flags[1], 1);
    queues(1);
    shared->order[shared->entered++] = 2;
}
static void came_with_callbacks(uint32_t count) {
    EXPECT_EQUAL(shared->granted, count);
    two_came();
}
static void came_with_one(void) { came_with_callbacks(1); }
static void came_with_two(void) { came_with_callbacks(2); }
CLIENT_LATE(rwlock_late_before_a_callback, make_fast, .threads = { lets_a_callback_in, reads_first, writes_second },
            .check = came_with_one, .preemptions = 1)
CLIENT_LATE(rwlock_late_before_two_callbacks, make_fast, .threads = { lets_a_callback_in, reads_first, queues_second },
            .check = came_with_two, .preemptions = 1)

/* No thread is let in while it sleeps, and would be late as a holder. */
static bool is_let_in(int thread, const void *word) { return is_late_with(thread, word, WORD_GRANTED); }
static void came_by_themselves(void) {
    EXPECT(!was_late || !is_early());
    was_late = false;
    three_came();
}
CLIENT(rwlock_readers_let_themselves_in, .setup = make_fast, .invariant = is_published, .is_late = is_let_in,
       .threads = { writes_before_three, reads_second, reads_first, reads_third }, .check = came_by_themselves)

/* The late one writes, and a reader stands behind it, and a writer. */
static void writes_first(void) {
    explore_wait(&shared->flags[0], 1);
    writes_as(1);
}
static void writes_third(void) {
    explore_wait(&shared->flags[1], 1);
    writes_as(3);
}
CLIENT_LATE(rwlock_late_writer, make_fast, .threads = { writes_before_three, writes_first, reads_second, writes_third },
            .check = three_came)

CLIENT_LATE(rwlock_late_writer_bars_nobody, make_fast, .threads = { writes_before_two, writes_first, writes_second },
            .check = two_came, .preemptions = 1)

/* It comes once it was passed over, while others come and go. */
static bool is_late_for_a_while(int thread, const void *word) { return !shared->flags[2] && is_answered(thread, word); }
static void come_and_go(void) {
    explore_wait(&shared->entered, 1);
    EXPECT_EQUAL(csk_rwlock_wrlock(lock), 0);
    explore_set(&shared->flags[2], 1);
    EXPECT_EQUAL(csk_rwlock_unlock(lock), 0);
    writes_as(4);
}
static void comes_and_goes(void) {
    writes_before(2);
    come_and_go();
}
static void three_came_in_any_order(void) {
    was_late = false;
    three_came();
}
CLIENT(rwlock_late_comes_back, .setup = make_fast, .invariant = is_published, .is_late = is_late_for_a_while,
       .threads = { comes_and_goes, reads_first, reads_second }, .check = three_came_in_any_order, .preemptions = 1)
CLIENT(rwlock_late_writer_comes_back, .setup = make_fast, .invariant = is_published, .is_late = is_late_for_a_while,
       .threads = { comes_and_goes, writes_first, reads_second }, .check = three_came_in_any_order, .preemptions = 1)

/* Its deadline has passed when it comes back. */
static void reads_first_in_time(void) {
    explore_wait(&shared->flags[0], 1);
    int status = csk_rwlock_timedrdlock(lock, explore_now() + 20000);
    EXPECT(status == 0 || status == ETIMEDOUT);
    if (status == 0) read_protected(&shared->data);
    if (status == 0) EXPECT_EQUAL(csk_rwlock_unlock(lock), 0);
    shared->order[shared->entered++] = 1;
}
static void comes_beside_one_that_is_timed(void) {
    EXPECT_EQUAL(csk_rwlock_wrlock(lock), 0);
    explore_set(&shared->flags[0], 1);
    explore_set(&shared->flags[1], 1);
    csk_platform_park(&shared->flags[2], 0, explore_now() + 10000);
    EXPECT_EQUAL(csk_rwlock_unlock(lock), 0);
    come_and_go();
}
CLIENT(rwlock_late_and_timed, .setup = make_fast, .invariant = is_published, .is_late = is_late_for_a_while,
       .threads = { comes_beside_one_that_is_timed, reads_first_in_time, reads_second },
       .check = three_came_in_any_order, .preemptions = 1)
