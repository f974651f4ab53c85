/* clients_rwlock_sections.c: sections on workers at a lock with reader bias. A worker that writes waits for the readers
 * that are not in the word. */
#include "explorer.h"
#include "readwrite/rwlock_queue.h"

enum { READERS = EXPLORE_THREADS + 6 }; /* the threads of the client, and the pool's */

static csk_rwlock_t *lock;
static struct {
    uint32_t reading[READERS], writing; /* what the lock protects */
    uint32_t done, status[2];
    csk_rwlock_work_t works[2];
} * shared;

static void make(void) {
    csk_rwlock_attr_t attr = { .reader_bias = 1 };
    lock = explore_allocate(sizeof *lock);
    shared = explore_allocate(sizeof *shared);
    EXPECT_EQUAL(csk_rwlock_init(lock, &attr), 0);
    EXPECT_EQUAL(csk_rwlock_rdlock(lock), 0); /* turns the bias on */
    EXPECT_EQUAL(csk_rwlock_unlock(lock), 0);
    lock->reads_until_bias = 1;
}

static void read_section(void) {
    uint32_t *reading = &shared->reading[explore_thread()];
    __atomic_store_n(reading, 1, __ATOMIC_RELAXED);
    EXPECT_EQUAL(__atomic_load_n(&shared->writing, __ATOMIC_RELAXED), 0);
    __atomic_store_n(reading, 0, __ATOMIC_RELAXED);
}
static void write_section(void) {
    EXPECT_EQUAL(__atomic_load_n(&shared->writing, __ATOMIC_RELAXED), 0);
    __atomic_store_n(&shared->writing, 1, __ATOMIC_RELAXED);
    for (int i = 0; i < READERS; i++) EXPECT_EQUAL(__atomic_load_n(&shared->reading[i], __ATOMIC_RELAXED), 0);
    __atomic_store_n(&shared->writing, 0, __ATOMIC_RELAXED);
}
static void reads(void) {
    EXPECT_EQUAL(csk_rwlock_rdlock(lock), 0);
    read_section();
    csk_rwlock_leave_read(lock);
}
static void writes(void) {
    EXPECT_EQUAL(csk_rwlock_wrlock(lock), 0);
    write_section();
    EXPECT_EQUAL(csk_rwlock_unlock(lock), 0);
}

static void runs(csk_rwlock_work_t *work, void *context, int status) {
    int index = (int)(work - shared->works);
    if (status == 0) {
        if (context != NULL) write_section();
        else read_section();
        EXPECT_EQUAL(csk_rwlock_unlock(lock), 0);
    }
    EXPECT_EQUAL(shared->status[index], 0);
    shared->status[index] = 1000 + (uint32_t)status;
    __atomic_fetch_add(&shared->done, 1, __ATOMIC_SEQ_CST);
}
static void enqueue(int index, int mode, int64_t deadline) {
    EXPECT_EQUAL(csk_rwlock_enqueue(lock, &shared->works[index], mode, deadline, runs,
                                    mode == CSK_RWLOCK_WRITE ? shared : NULL),
                 0);
}
static void enqueues_a_write(void) {
    enqueue(0, CSK_RWLOCK_WRITE, CSK_NEVER);
    explore_wait(&shared->done, 1);
}
static void enqueues_both(void) {
    enqueue(0, CSK_RWLOCK_WRITE, CSK_NEVER);
    enqueue(1, CSK_RWLOCK_READ, CSK_NEVER);
    explore_wait(&shared->done, 2);
}
static void enqueues_a_timed_write(void) {
    enqueue(0, CSK_RWLOCK_WRITE, explore_now() + 20000);
    explore_wait(&shared->done, 1);
}
static void enqueues_and_cancels(void) {
    enqueue(0, CSK_RWLOCK_WRITE, CSK_NEVER);
    int status = csk_rwlock_cancel(lock, &shared->works[0].waiter);
    EXPECT(status == 0 || status == ENOENT);
    explore_wait(&shared->done, 1);
    EXPECT_EQUAL(shared->status[0], status == 0 ? 1000 + ECANCELED : 1000);
}
static void is_idle(void) {
    EXPECT_EQUAL(csk_rwlock_trywrlock(lock), 0);
    EXPECT_EQUAL(csk_rwlock_unlock(lock), 0);
    EXPECT_EQUAL(csk_rwlock_destroy(lock), 0);
}
static void ran(void) {
    EXPECT_EQUAL(shared->status[0], 1000);
    is_idle();
}
static void both_ran(void) {
    EXPECT_EQUAL(shared->status[1], 1000);
    ran();
}
static void ran_or_was_late(void) {
    EXPECT(shared->status[0] == 1000 || shared->status[0] == 1000 + ETIMEDOUT);
    is_idle();
}
CLIENT(rwlock_section_waits_for_biased_readers, .setup = make, .threads = { enqueues_a_write, reads }, .check = ran)
CLIENT(rwlock_section_reads_and_writes, .setup = make, .threads = { enqueues_both, reads, writes }, .check = both_ran)
CLIENT(rwlock_section_is_late_for_biased_readers, .setup = make, .threads = { enqueues_a_timed_write, reads, reads },
       .check = ran_or_was_late)
CLIENT(rwlock_section_is_cancelled_at_a_biased_lock, .setup = make, .threads = { enqueues_and_cancels, reads },
       .check = is_idle)

static void reads_until_it_is_late(void) {
    EXPECT_EQUAL(csk_rwlock_rdlock(lock), 0);
    enqueue(0, CSK_RWLOCK_WRITE, explore_now() + 20000);
    explore_wait(&shared->done, 1);
    EXPECT_EQUAL(shared->status[0], 1000 + ETIMEDOUT);
    EXPECT_EQUAL(csk_rwlock_unlock(lock), 0);
}
CLIENT(rwlock_section_gives_up_among_biased_readers, .setup = make, .threads = { reads_until_it_is_late },
       .check = is_idle)

/* Readers that come behind a section that writes stand behind it: it waits for a writer, and the bias is on. */
static void writes_while_one_is_queued(void) {
    EXPECT_EQUAL(csk_rwlock_rdlock(lock), 0);
    csk_read_t *read = csk_reads_find(lock);
    EXPECT(read->biased == 0);
    enqueue(0, CSK_RWLOCK_WRITE, CSK_NEVER);
    EXPECT_EQUAL(__atomic_load_n(&lock->bias, __ATOMIC_RELAXED), BIAS_REVOKING);
    EXPECT_EQUAL(csk_rwlock_unlock(lock), 0);
    explore_wait(&shared->done, 1);
}
static void make_that_counts_once(void) {
    make();
    lock->bias = BIAS_OFF;
}
CLIENT(rwlock_section_stops_the_bias, .setup = make_that_counts_once, .threads = { writes_while_one_is_queued },
       .check = ran)
