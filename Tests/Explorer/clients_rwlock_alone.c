/* clients_rwlock_alone.c: readers that get no record, and so read alone. */
#include "explorer.h"
#include "readwrite/rwlock_queue.h"
#include "rwlock_fixture.h"

/* kernel_reads.c */
extern uint32_t kernel_records_left;

static csk_rwlock_t *lock;
static struct {
    protected_t data;
    uint32_t flags[2];
} * shared;

static void make_with(uint32_t policy, uint32_t bias, uint32_t records) {
    csk_rwlock_attr_t attr = { .policy = policy, .reader_bias = bias };
    lock = explore_allocate(sizeof *lock);
    shared = explore_allocate(sizeof *shared);
    EXPECT_EQUAL(csk_rwlock_init(lock, &attr), 0);
    if (bias) lock->bias = BIAS_ON;
    kernel_records_left = records;
}
static void make_fast(void) { make_with(CSK_RWLOCK_FAST, 0, 1); }
static void make_strict(void) { make_with(CSK_RWLOCK_STRICT, 0, 1); }
static void make_biased(void) { make_with(CSK_RWLOCK_FAST, 1, 1); }
static void make_fast_without(void) { make_with(CSK_RWLOCK_FAST, 0, 0); }
static void make_biased_without(void) { make_with(CSK_RWLOCK_FAST, 1, 0); }
#define CLIENT_ALL_FORMS(name, ...)                          \
    CLIENT(name##_fast, .setup = make_fast, __VA_ARGS__)     \
    CLIENT(name##_strict, .setup = make_strict, __VA_ARGS__) \
    CLIENT(name##_biased, .setup = make_biased, __VA_ARGS__)

static void read_section(void) { read_protected(&shared->data); }
static void write_section(void) { write_protected(&shared->data); }
static void unlock(void) { EXPECT_EQUAL(csk_rwlock_unlock(lock), 0); }
static void reads(void) {
    EXPECT_EQUAL(csk_rwlock_rdlock(lock), 0);
    read_section();
    csk_rwlock_leave_read(lock);
}
static void writes(void) {
    EXPECT_EQUAL(csk_rwlock_wrlock(lock), 0);
    write_section();
    unlock();
}
static void is_idle(void) {
    EXPECT_EQUAL(csk_rwlock_waiting(lock), 0);
    EXPECT_EQUAL(shared->data.left, shared->data.right);
    EXPECT_EQUAL(csk_rwlock_trywrlock(lock), 0);
    EXPECT_EQUAL(csk_rwlock_unlock(lock), 0);
    EXPECT_EQUAL(csk_rwlock_destroy(lock), 0);
}

/* One of the readers gets the only record. */
CLIENT_ALL_FORMS(rwlock_alone, .threads = { reads, writes, reads }, .check = is_idle, .preemptions = 1)
CLIENT_ALL_FORMS(rwlock_alone_four, .threads = { reads, writes, reads, reads }, .check = is_idle)

/* Once more by the same thread, with a writer waiting in between. */
static void reads_nested(void) {
    EXPECT_EQUAL(csk_rwlock_rdlock(lock), 0);
    explore_set(&shared->flags[0], 1);
    explore_wait(&lock->waiting, 1);
    EXPECT(csk_rwlock_is_reading(lock) && !csk_rwlock_is_writing(lock));
    EXPECT_EQUAL(csk_rwlock_rdlock(lock), 0);
    EXPECT_EQUAL(csk_rwlock_tryrdlock(lock), 0);
    EXPECT_EQUAL(csk_rwlock_wrlock(lock), EDEADLK);
    EXPECT_EQUAL(csk_rwlock_tryupgrade(lock), EDEADLK);
    csk_rwlock_leave_read(lock);
    unlock();
    read_section();
    csk_rwlock_leave_read(lock);
    EXPECT_EQUAL(csk_rwlock_unlock(lock), EPERM);
}
static void writes_behind(void) {
    explore_wait(&shared->flags[0], 1);
    writes();
}
CLIENT(rwlock_alone_nested_fast, .setup = make_fast_without, .threads = { reads_nested, writes_behind },
       .check = is_idle, .preemptions = 1)
CLIENT(rwlock_alone_nested_biased, .setup = make_biased_without, .threads = { reads_nested, writes_behind },
       .check = is_idle, .preemptions = 1)

static void reads_timed(void) {
    int64_t deadline = explore_now() + 20000;
    int status = csk_rwlock_timedrdlock(lock, deadline);
    if (status == ETIMEDOUT) EXPECT(explore_now() >= deadline);
    else EXPECT_EQUAL(status, 0);
    if (status != 0) return;
    read_section();
    unlock();
}
static void tries(void) {
    int status = csk_rwlock_tryrdlock(lock);
    if (status == 0) read_section(), unlock();
    else EXPECT_EQUAL(status, EBUSY);
}
CLIENT_ALL_FORMS(rwlock_alone_timed, .threads = { reads_timed, writes, reads }, .check = is_idle, .preemptions = 1)
CLIENT_ALL_FORMS(rwlock_alone_tried, .threads = { tries, writes, tries }, .check = is_idle, .preemptions = 1)

/* Nobody writes between a write and the read that follows it, nor between that read and its upgrade. */
static void changes_sides(void) {
    EXPECT_EQUAL(csk_rwlock_wrlock(lock), 0);
    write_section();
    uint32_t wrote = __atomic_load_n(&shared->data.left, __ATOMIC_RELAXED);
    EXPECT_EQUAL(csk_rwlock_downgrade(lock), 0);
    EXPECT_EQUAL(csk_rwlock_downgrade(lock), EPERM);
    read_section();
    EXPECT_EQUAL(csk_rwlock_tryupgrade(lock), 0);
    EXPECT_EQUAL(__atomic_load_n(&shared->data.left, __ATOMIC_RELAXED), wrote);
    EXPECT(csk_rwlock_is_writing(lock));
    write_section();
    unlock();
}
CLIENT(rwlock_alone_on_both_sides_fast, .setup = make_fast_without, .threads = { changes_sides, reads, writes },
       .check = is_idle, .preemptions = 1)
CLIENT(rwlock_alone_on_both_sides_biased, .setup = make_biased_without, .threads = { changes_sides, reads, writes },
       .check = is_idle, .preemptions = 1)

/* A section that reads stands before one that writes. Its worker gets no record, gives its grant back, and waits: the
 * write that is granted then runs on another worker. */
static csk_rwlock_work_t *sections;
static void runs_section(csk_rwlock_work_t *work, void *context, int status) {
    EXPECT_EQUAL(status, 0);
    if (context != NULL) write_section();
    else read_section();
    unlock();
    explore_set(&shared->flags[work - sections], 1);
}
static void make_with_sections(void) {
    make_fast_without();
    sections = explore_allocate(2 * sizeof *sections);
}
static void queues_a_read_and_a_write(void) {
    EXPECT_EQUAL(csk_rwlock_wrlock(lock), 0);
    EXPECT_EQUAL(csk_rwlock_enqueue(lock, &sections[0], CSK_RWLOCK_READ, CSK_NEVER, runs_section, NULL), 0);
    EXPECT_EQUAL(csk_rwlock_enqueue(lock, &sections[1], CSK_RWLOCK_WRITE, CSK_NEVER, runs_section, lock), 0);
    unlock();
    for (int i = 0; i < 2; i++) explore_wait(&shared->flags[i], 1);
}
CLIENT(rwlock_alone_section_before_a_write, .setup = make_with_sections, .threads = { queues_a_read_and_a_write },
       .check = is_idle)
