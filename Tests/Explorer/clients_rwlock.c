/* clients_rwlock.c: the read-write lock.
 *
 * More than 400 lines: all clients share the lock, the record of who is inside and what is checked of it. */
#include "explorer.h"
#include "readwrite/rwlock_queue.h"
#include "rwlock_fixture.h"

static csk_rwlock_t *lock;
static struct {
    protected_t data;
    uint32_t writes, reads;
    uint32_t flags[4], entered, called;
    int order[8];
    csk_waiter_t waiters[2];
    uint64_t state_before; /* the invariant's: the word, when nobody had the queue lock */
    bool queue_was_free;
    uint32_t waiting_before; /* the same of `waiting` */
    const csk_waiter_t *head_before;
    bool coming_before, head_is_kept; /* nobody may pass `head_before` any more */
} * shared;

static void make_with(uint32_t policy, uint32_t bias) {
    csk_rwlock_attr_t attr = { .policy = policy, .reader_bias = bias };
    lock = explore_allocate(sizeof *lock);
    shared = explore_allocate(sizeof *shared);
    EXPECT_EQUAL(csk_rwlock_init(lock, &attr), 0);
    /* The first read of a biased lock turns the bias on. */
    EXPECT_EQUAL(csk_rwlock_rdlock(lock), 0);
    EXPECT_EQUAL(csk_rwlock_unlock(lock), 0);
    lock->reads_until_bias = bias ? 1 : 0;
}
static void make_fast(void) { make_with(CSK_RWLOCK_FAST, 0); }
static void make_strict(void) { make_with(CSK_RWLOCK_STRICT, 0); }
static void make_biased(void) { make_with(CSK_RWLOCK_FAST, 1); }

/* Whoever entered with this step, without the queue lock, was a newcomer; but for a biased reader that counts itself to
 * upgrade. */
static bool newcomer_entered(void) {
    uint64_t before = shared->state_before & ~RW_FLAGS, now = lock->state & ~RW_FLAGS;
    if (lock->reader_bias && !(now & RW_WRITER)) return false;
    return (before == 0 && now != 0) || (!(before & RW_WRITER) && !(now & RW_WRITER) && now > before);
}

static bool stands_in_queue(const csk_waiter_t *waiter) {
    const csk_waiter_t *other = lock->first;
    while (other != NULL && other != waiter) other = other->newer;
    return other != NULL;
}

/* Once nobody may pass the waiter that stands first, but for one that upgrades, nobody may as long as it waits. That
 * begins at the latest when it has found the lock taken, or a writer has come behind it while it was on its way. Nor
 * does any waiter stand before it then. One that upgrades stands first. */
static void head_stays_kept(bool writer_came) {
    const csk_waiter_t *head = lock->first;
    if (head != NULL && head->mode == RW_UPGRADE) head = head->newer;
    for (const csk_waiter_t *other = head; other != NULL; other = other->newer) EXPECT(other->mode != RW_UPGRADE);
    if (shared->head_is_kept && head != shared->head_before) EXPECT(!stands_in_queue(shared->head_before));
    bool gave_up = shared->coming_before && !lock->coming, shows = head == lock->first;
    if (head == NULL || head != shared->head_before) shared->head_is_kept = false;
    else if (gave_up || writer_came) shared->head_is_kept = true;
    if (shared->head_is_kept && shows) EXPECT(lock->state & RW_HAND_OVER);
    if (head != NULL && shows && (lock->state & RW_HAND_OVER)) shared->head_is_kept = true;
    shared->head_before = head;
    shared->coming_before = lock->coming;
}

/* Whenever the queue lock is free: the word says what is in the queue, nobody is left who could enter, and nobody has
 * passed where that is forbidden. */
static void is_published(void) {
    bool queue_was_free = shared->queue_was_free;
    shared->queue_was_free = lock->queue_lock == 0;
    if (lock->queue_lock != 0) return;
    uint64_t before = shared->state_before & RW_FLAGS;
    if (queue_was_free) EXPECT(before == 0 || before == (RW_WAITERS | RW_COMING) || !newcomer_entered());
    shared->state_before = lock->state;
    /* A writer has come into the queue, whose first waiter is on its way. Nobody passes that one any more. */
    bool one_came = lock->waiting > shared->waiting_before;
    bool writer_came = one_came && lock->coming && lock->last->mode == RW_WRITE && lock->last->function == NULL;
    if (writer_came) EXPECT(lock->state & RW_HAND_OVER);
    shared->waiting_before = lock->waiting;
    head_stays_kept(writer_came);
    uint64_t flags = 0;
    if (lock->first != NULL) {
        /* A writer that is on its way is passed by nobody, nor is one that upgrades. */
        bool hand_over = lock->policy == CSK_RWLOCK_STRICT || lock->first->hand_over ||
                         lock->first->mode == RW_UPGRADE || (lock->coming && lock->first->mode == RW_WRITE);
        flags = RW_WAITERS | (lock->coming ? RW_COMING : 0) | (hand_over ? RW_HAND_OVER : 0);
        uint64_t thread = lock->first->function != NULL ? CSK_GATE_NOBODY : lock->first->thread;
        EXPECT(lock->coming || csk_rwlock_entered(lock->state & ~RW_FLAGS, lock->first->mode, thread) == 0);
    }
    EXPECT_EQUAL(lock->state & RW_FLAGS, flags);
}
#define CLIENT_ALL_FORMS(name, ...)                                                     \
    CLIENT(name##_fast, .setup = make_fast, .invariant = is_published, __VA_ARGS__)     \
    CLIENT(name##_strict, .setup = make_strict, .invariant = is_published, __VA_ARGS__) \
    CLIENT(name##_biased, .setup = make_biased, .invariant = is_published, __VA_ARGS__)
#define CLIENT_FAST_STRICT(name, ...)                                               \
    CLIENT(name##_fast, .setup = make_fast, .invariant = is_published, __VA_ARGS__) \
    CLIENT(name##_strict, .setup = make_strict, .invariant = is_published, __VA_ARGS__)

static void read_section(void) { read_protected(&shared->data); }
static void write_section(void) { write_protected(&shared->data); }
static void read_lock(void) { EXPECT_EQUAL(csk_rwlock_rdlock(lock), 0); }
static void write_lock(void) { EXPECT_EQUAL(csk_rwlock_wrlock(lock), 0); }
static void unlock(void) { EXPECT_EQUAL(csk_rwlock_unlock(lock), 0); }
/* The end of the scope leaves by the path that asks nothing; most other readers here leave by csk_rwlock_unlock. */
static void reads(void) {
    read_lock();
    read_section();
    csk_rwlock_leave_read(lock);
}
static void writes(void) {
    write_lock();
    write_section();
    unlock();
}
static void reads_twice(void) { reads(), reads(); }
static void is_idle(void) {
    EXPECT_EQUAL(csk_rwlock_waiting(lock), 0);
    EXPECT_EQUAL(shared->data.left, shared->data.right);
    EXPECT_EQUAL(csk_rwlock_trywrlock(lock), 0);
    EXPECT_EQUAL(csk_rwlock_unlock(lock), 0);
    EXPECT_EQUAL(csk_rwlock_destroy(lock), 0);
}
CLIENT_ALL_FORMS(rwlock_read_write, .threads = { reads, writes }, .check = is_idle, .preemptions = 2)
CLIENT_ALL_FORMS(rwlock_write_write, .threads = { writes, writes }, .check = is_idle, .preemptions = 2)
CLIENT_ALL_FORMS(rwlock_reads_write, .threads = { reads_twice, writes }, .check = is_idle, .preemptions = 2)
CLIENT_ALL_FORMS(rwlock_two_readers, .threads = { reads, reads, writes }, .check = is_idle, .preemptions = 1)
CLIENT_ALL_FORMS(rwlock_two_writers, .threads = { writes, writes, reads }, .check = is_idle, .preemptions = 1)
CLIENT_ALL_FORMS(rwlock_four, .threads = { writes, reads_twice, writes, reads_twice }, .check = is_idle)
CLIENT_ALL_FORMS(rwlock_spurious, .threads = { writes, reads, writes }, .check = is_idle, .spurious = 2)

/* kernel_reads.c */
uint32_t kernel_reads_looked_at(void);

/* A reader may have the record of one that has ended, and the writer finds it there. When all have ended, a writer
 * looks at the record of this thread alone. */
static void is_idle_and_alone(void) {
    is_idle();
    EXPECT(kernel_reads_looked_at() <= 1);
}
CLIENT(rwlock_readers_one_after_the_other, .setup = make_biased, .invariant = is_published,
       .threads = { reads, reads_twice, writes }, .check = is_idle_and_alone, .preemptions = 1)

/* ---- Deadlines --------------------------------------------------------------------------------------------------- */

static void reads_timed(void) {
    int64_t deadline = explore_now() + 20000;
    int status = csk_rwlock_timedrdlock(lock, deadline);
    if (status == ETIMEDOUT) EXPECT(explore_now() >= deadline);
    else EXPECT_EQUAL(status, 0);
    if (status != 0) return;
    read_section();
    unlock();
}
static void writes_timed(void) {
    int64_t deadline = explore_now() + 20000;
    int status = csk_rwlock_timedwrlock(lock, deadline);
    if (status == ETIMEDOUT) EXPECT(explore_now() >= deadline);
    else EXPECT_EQUAL(status, 0);
    if (status != 0) return;
    write_section();
    unlock();
}
static void tries(void) {
    int status = csk_rwlock_trywrlock(lock);
    if (status == 0) write_section(), unlock();
    else EXPECT_EQUAL(status, EBUSY);
    status = csk_rwlock_tryrdlock(lock);
    if (status == 0) read_section(), unlock();
    else EXPECT_EQUAL(status, EBUSY);
}
CLIENT_ALL_FORMS(rwlock_timed, .threads = { writes, reads_timed, writes_timed }, .check = is_idle, .preemptions = 1)
CLIENT_ALL_FORMS(rwlock_timed_readers, .threads = { reads_timed, writes_timed, reads_timed, writes }, .check = is_idle)
CLIENT_ALL_FORMS(rwlock_tries, .threads = { tries, writes, reads }, .check = is_idle, .preemptions = 1)

/* A reader that never ends: the writer's deadline fires, and later ones get in. */
static void reads_long(void) {
    read_lock();
    explore_set(&shared->flags[0], 1);
    explore_wait(&shared->flags[1], 1);
    read_section();
    unlock();
}
static void gives_up_writing(void) {
    explore_wait(&shared->flags[0], 1);
    int64_t deadline = explore_now() + 20000;
    EXPECT_EQUAL(csk_rwlock_timedwrlock(lock, deadline), ETIMEDOUT);
    EXPECT(explore_now() >= deadline);
    explore_set(&shared->flags[1], 1);
    writes();
}
CLIENT_ALL_FORMS(rwlock_long_reader, .threads = { reads_long, gives_up_writing, reads }, .check = is_idle,
                 .preemptions = 1)

/* ---- Order ------------------------------------------------------------------------------------------------------- */

static void await_waiting(uint32_t count) {
    explore_wait(&lock->waiting, count);
    EXPECT(csk_rwlock_waiting(lock) >= count);
}
static void enter_as(int who) {
    EXPECT(shared->entered < 8);
    shared->order[shared->entered++] = who;
}
static void holds_until_three_wait(void) {
    write_lock();
    explore_set(&shared->flags[0], 1);
    await_waiting(3);
    write_section();
    unlock();
}
static void second_writer(void) {
    explore_wait(&shared->flags[0], 1);
    write_lock();
    enter_as(1);
    write_section();
    unlock();
}
static void third_reader(void) {
    explore_wait(&shared->flags[0], 1);
    await_waiting(1);
    read_lock();
    enter_as(2);
    read_section();
    unlock();
}
static void fourth_writer(void) {
    explore_wait(&shared->flags[0], 1);
    await_waiting(2);
    write_lock();
    enter_as(3);
    write_section();
    unlock();
}
static void in_order(void) {
    EXPECT_EQUAL(shared->entered, 3);
    for (int i = 0; i < 3; i++) EXPECT_EQUAL(shared->order[i], i + 1);
    is_idle();
}
CLIENT_ALL_FORMS(rwlock_order, .threads = { holds_until_three_wait, second_writer, third_reader, fourth_writer },
                 .check = in_order)

/* A reader does not pass a writer that waits for another reader. */
static void reads_until_two_wait(void) {
    read_lock();
    explore_set(&shared->flags[0], 1);
    await_waiting(2);
    read_section();
    unlock();
}
static void reads_behind_writer(void) {
    explore_wait(&shared->flags[0], 1);
    await_waiting(1);
    reads();
}
static void writes_next(void) {
    explore_wait(&shared->flags[0], 1);
    writes();
}
CLIENT_FAST_STRICT(rwlock_reader_waits_behind_writer,
                   .threads = { reads_until_two_wait, writes_next, reads_behind_writer }, .check = is_idle,
                   .preemptions = 1)

/* Nor by the bias, which came back while the other read. */
static void make_biased_again(void) {
    make_biased();
    lock->bias = BIAS_OFF;
}
static void tries_behind_writer(void) {
    explore_wait(&shared->flags[0], 1);
    await_waiting(1);
    EXPECT_EQUAL(csk_rwlock_tryrdlock(lock), EBUSY);
    explore_set(&shared->flags[1], 1);
}
static void stays_until_one_has_tried(void) {
    explore_set(&shared->flags[0], 1);
    explore_wait(&shared->flags[1], 1);
    unlock();
}
static void reads_until_one_has_tried(void) {
    read_lock();
    EXPECT_EQUAL(__atomic_load_n(&lock->bias, __ATOMIC_RELAXED), BIAS_ON);
    stays_until_one_has_tried();
}
CLIENT(rwlock_bias_stops_for_a_writer, .setup = make_biased_again, .invariant = is_published,
       .threads = { reads_until_one_has_tried, writes_next, tries_behind_writer }, .check = is_idle, .preemptions = 1)

/* Nor by the bias that the reader brings back while the writer goes into the queue. */
static void reads_until_another_has_tried(void) {
    read_lock();
    stays_until_one_has_tried();
}
static void tries_behind_a_writer_if_any(void) {
    explore_wait(&shared->flags[0], 1);
    if (csk_rwlock_waiting(lock) == 1) EXPECT_EQUAL(csk_rwlock_tryrdlock(lock), EBUSY);
    explore_set(&shared->flags[1], 1);
}
CLIENT(rwlock_bias_does_not_come_back_before_a_writer, .setup = make_biased_again, .invariant = is_published,
       .threads = { reads_until_another_has_tried, writes, tries_behind_a_writer_if_any }, .check = is_idle,
       .preemptions = 1)

/* Readers that wait one behind the other enter together: each waits for the other inside. */
static void holds_until_two_wait(void) {
    write_lock();
    explore_set(&shared->flags[0], 1);
    await_waiting(2);
    write_section();
    unlock();
}
static void meets(int me) {
    explore_wait(&shared->flags[0], 1);
    read_lock();
    explore_set(&shared->flags[me], 1);
    explore_wait(&shared->flags[3 - me], 1);
    read_section();
    unlock();
}
static void meets_one(void) { meets(2); }
static void meets_two(void) { meets(1); }
CLIENT_ALL_FORMS(rwlock_readers_together, .threads = { holds_until_two_wait, meets_one, meets_two }, .check = is_idle,
                 .preemptions = 1)

/* Once more by the same thread, with a writer waiting in between. */
static void reads_nested(void) {
    read_lock();
    explore_set(&shared->flags[0], 1);
    await_waiting(1);
    read_lock();
    EXPECT_EQUAL(csk_rwlock_wrlock(lock), EDEADLK);
    read_section();
    csk_rwlock_leave_read(lock);
    read_section();
    csk_rwlock_leave_read(lock);
    EXPECT_EQUAL(csk_rwlock_unlock(lock), EPERM);
}
static void writes_behind(void) {
    explore_wait(&shared->flags[0], 1);
    write_lock();
    EXPECT_EQUAL(csk_rwlock_wrlock(lock), EDEADLK);
    EXPECT_EQUAL(csk_rwlock_rdlock(lock), EDEADLK);
    write_section();
    unlock();
}
CLIENT_FAST_STRICT(rwlock_nested, .threads = { reads_nested, writes_behind, reads }, .check = is_idle, .preemptions = 1)

/* ---- Changing sides ---------------------------------------------------------------------------------------------- */

static void upgrades(void) {
    read_lock();
    read_section();
    uint32_t seen = __atomic_load_n(&shared->data.left, __ATOMIC_RELAXED);
    int status = csk_rwlock_timedupgrade(lock, CSK_NEVER);
    if (status == 0) {
        EXPECT_EQUAL(__atomic_load_n(&shared->data.left, __ATOMIC_RELAXED), seen);
        write_section();
        shared->writes++;
    } else {
        EXPECT_EQUAL(status, EDEADLK);
        read_section();
        shared->reads++;
    }
    unlock();
}
static void one_upgraded(void) {
    EXPECT_EQUAL(shared->writes + shared->reads, 2);
    EXPECT(shared->writes >= 1);
    is_idle();
}
static void upgrades_timed(void) {
    read_lock();
    int64_t deadline = explore_now() + 20000;
    int status = csk_rwlock_timedupgrade(lock, deadline);
    if (status == ETIMEDOUT) EXPECT(explore_now() >= deadline);
    if (status == 0) write_section();
    else read_section();
    unlock();
}
static void tries_upgrade(void) {
    read_lock();
    int status = csk_rwlock_tryupgrade(lock);
    if (status == 0) {
        write_section();
    } else {
        EXPECT_EQUAL(status, EBUSY);
        read_section();
    }
    unlock();
}
static void downgrades(void) {
    write_lock();
    write_section();
    uint32_t wrote = __atomic_load_n(&shared->data.left, __ATOMIC_RELAXED);
    EXPECT_EQUAL(csk_rwlock_downgrade(lock), 0);
    EXPECT_EQUAL(csk_rwlock_downgrade(lock), EPERM);
    read_section();
    EXPECT_EQUAL(__atomic_load_n(&shared->data.left, __ATOMIC_RELAXED), wrote);
    unlock();
}
CLIENT_FAST_STRICT(rwlock_upgrade_two, .threads = { upgrades, upgrades }, .check = one_upgraded, .preemptions = 1)
CLIENT(rwlock_upgrade_two_biased, .setup = make_biased, .invariant = is_published, .threads = { upgrades, upgrades },
       .check = is_idle, .preemptions = 1)
CLIENT_ALL_FORMS(rwlock_upgrade_and_writer, .threads = { upgrades, writes, reads }, .check = is_idle, .preemptions = 1)
CLIENT_ALL_FORMS(rwlock_upgrade_among_readers, .threads = { upgrades, reads, reads_twice }, .check = is_idle)
CLIENT_ALL_FORMS(rwlock_upgrade_timed, .threads = { upgrades_timed, reads, writes }, .check = is_idle, .preemptions = 1)
CLIENT_ALL_FORMS(rwlock_upgrade_tried, .threads = { tries_upgrade, tries_upgrade, writes }, .check = is_idle,
                 .preemptions = 1)
CLIENT_ALL_FORMS(rwlock_downgrade, .threads = { downgrades, reads, writes }, .check = is_idle, .preemptions = 1)
CLIENT_ALL_FORMS(rwlock_sides, .threads = { downgrades, upgrades_timed, writes_timed, reads }, .check = is_idle)

/* The reader that came behind the waiting writer enters with the one who downgrades only if it stands first. */
static void downgrades_and_meets(void) {
    write_lock();
    explore_set(&shared->flags[0], 1);
    await_waiting(1);
    EXPECT_EQUAL(csk_rwlock_downgrade(lock), 0);
    explore_wait(&shared->flags[1], 1);
    unlock();
}
static void reads_behind(void) {
    explore_wait(&shared->flags[0], 1);
    read_lock();
    explore_set(&shared->flags[1], 1);
    read_section();
    unlock();
}
CLIENT_ALL_FORMS(rwlock_downgrade_takes_along, .threads = { downgrades_and_meets, reads_behind }, .check = is_idle,
                 .preemptions = 2)

/* A writer that comes then stands behind that reader, which may have been called before. */
static void downgrades_with(void) {
    explore_set(&shared->flags[2], 1);
    EXPECT_EQUAL(csk_rwlock_downgrade(lock), 0);
    explore_wait(&shared->flags[1], 1);
    unlock();
}
static void downgrades_before_a_writer(void) {
    write_lock();
    explore_set(&shared->flags[0], 1);
    await_waiting(1);
    downgrades_with();
}
static void calls_and_downgrades(void) {
    write_lock();
    explore_set(&shared->flags[0], 1);
    await_waiting(1);
    unlock();
    write_lock();
    downgrades_with();
}
static void writes_after_the_reader(void) {
    explore_wait(&shared->flags[2], 1);
    writes();
}
CLIENT_ALL_FORMS(rwlock_downgrade_before_a_writer,
                 .threads = { downgrades_before_a_writer, reads_behind, writes_after_the_reader }, .check = is_idle,
                 .preemptions = 1)
CLIENT_FAST_STRICT(rwlock_downgrade_beside_called,
                   .threads = { calls_and_downgrades, reads_behind, writes_after_the_reader }, .check = is_idle,
                   .preemptions = 1)

/* ---- The end of a lock ------------------------------------------------------------------------------------------- */

/* Without bias whoever leaves last may free the lock at once. */
static void last_frees(void) {
    if (__atomic_fetch_add(&shared->flags[0], 1, __ATOMIC_SEQ_CST) != 2) return;
    EXPECT_EQUAL(csk_rwlock_destroy(lock), 0);
    explore_free(lock, sizeof *lock);
}
static void writes_and_frees(void) {
    write_lock();
    bool last = __atomic_fetch_add(&shared->flags[1], 1, __ATOMIC_SEQ_CST) == 2;
    unlock();
    if (!last) return;
    EXPECT_EQUAL(csk_rwlock_destroy(lock), 0);
    explore_free(lock, sizeof *lock);
}
CLIENT(rwlock_last_frees_fast, .setup = make_fast, .threads = { writes_and_frees, writes_and_frees, writes_and_frees },
       .preemptions = 1)
CLIENT(rwlock_last_frees_strict, .setup = make_strict,
       .threads = { writes_and_frees, writes_and_frees, writes_and_frees }, .preemptions = 1)
static void reads_counted(void) {
    reads();
    last_frees();
}
static void writes_counted(void) {
    writes();
    last_frees();
}
CLIENT_FAST_STRICT(rwlock_all_leave, .threads = { reads_counted, writes_counted, reads_counted })

/* ---- Asynchronous waiters ---------------------------------------------------------------------------------------- */

static void is_granted(csk_waiter_t *waiter, void *context, int status) {
    (void)waiter, (void)context;
    shared->called++;
    if (status != 0) {
        EXPECT(status == ETIMEDOUT || status == ECANCELED);
        return;
    }
    if (waiter->mode == CSK_RWLOCK_WRITE) {
        write_section();
        unlock();
    } else {
        EXPECT_EQUAL(csk_rwlock_adopt(lock, CSK_RWLOCK_READ), 0);
        read_section();
        unlock();
    }
}
static void queue(int index, int mode, int64_t deadline) {
    EXPECT_EQUAL(csk_rwlock_lock_async(lock, &shared->waiters[index], mode, deadline, is_granted, NULL), 0);
}
static void queues_write(void) { queue(0, CSK_RWLOCK_WRITE, CSK_NEVER); }
static void queues_read(void) { queue(1, CSK_RWLOCK_READ, CSK_NEVER); }
static void queues_timed(void) { queue(0, CSK_RWLOCK_WRITE, explore_now() + 20000); }
static void cancels(void) {
    int status = csk_rwlock_cancel(lock, &shared->waiters[0]);
    EXPECT(status == 0 || status == ENOENT);
}
static void called_once(void) {
    EXPECT_EQUAL(shared->called, 1);
    is_idle();
}
static void called_twice(void) {
    EXPECT_EQUAL(shared->called, 2);
    is_idle();
}
CLIENT_FAST_STRICT(rwlock_async, .threads = { queues_write, writes, reads }, .check = called_once, .preemptions = 1)
CLIENT_FAST_STRICT(rwlock_async_both, .threads = { queues_write, queues_read, writes }, .check = called_twice,
                   .preemptions = 1)
CLIENT_FAST_STRICT(rwlock_async_cancelled, .threads = { queues_write, cancels, writes, reads }, .check = called_once)
CLIENT_FAST_STRICT(rwlock_async_deadline, .threads = { queues_timed, writes, reads, cancels }, .check = called_once)

/* Granted here, adopted and left elsewhere. */
static void passes_on(csk_waiter_t *waiter, void *context, int status) {
    (void)waiter, (void)context;
    EXPECT_EQUAL(status, 0);
    explore_set(&shared->called, 1);
}
static void queues_passing(void) {
    EXPECT_EQUAL(csk_rwlock_lock_async(lock, &shared->waiters[0], CSK_RWLOCK_WRITE, CSK_NEVER, passes_on, NULL), 0);
}
static void adopts(void) {
    explore_wait(&shared->called, 1);
    EXPECT_EQUAL(csk_rwlock_adopt(lock, CSK_RWLOCK_WRITE), 0);
    EXPECT_EQUAL(csk_rwlock_adopt(lock, CSK_RWLOCK_WRITE), EDEADLK);
    EXPECT(csk_rwlock_is_writing(lock));
    EXPECT_EQUAL(csk_rwlock_rdlock(lock), EDEADLK);
    write_section();
    unlock();
}
CLIENT_FAST_STRICT(rwlock_async_adopted, .threads = { queues_passing, adopts, reads, writes }, .check = called_once)

/* One unlock too many, while others come: it changes nothing. */
static void leaves_or_not(void) {
    explore_wait(&shared->called, 1);
    int status = csk_rwlock_unlock(lock);
    EXPECT(status == 0 || status == EPERM);
    __atomic_fetch_add(&shared->flags[0], status == 0, __ATOMIC_RELAXED);
}
static void left_once(void) {
    EXPECT_EQUAL(shared->flags[0], 1);
    called_once();
}
CLIENT_FAST_STRICT(rwlock_async_left_twice, .threads = { queues_passing, leaves_or_not, leaves_or_not, writes },
                   .check = left_once, .preemptions = 1)

/* A writer that waited while others read, and was called by the last of these, is not passed by a reader that comes
 * then. */
static void reads_until_a_writer_waits(void) {
    EXPECT_EQUAL(csk_rwlock_rdlock(lock), 0);
    explore_set(&shared->flags[0], 1);
    /* The flag stands in the word; before that the writer may still find the lock free. */
    explore_wait((const uint32_t *)&lock->state, (uint32_t)(RW_READER | RW_WAITERS));
    EXPECT_EQUAL(csk_rwlock_unlock(lock), 0);
    explore_set(&shared->flags[1], 1);
}
static void writes_while_one_reads(void) {
    explore_wait(&shared->flags[0], 1);
    EXPECT_EQUAL(csk_rwlock_wrlock(lock), 0);
    shared->entered = 1;
    unlock();
}
static void reads_after_the_writer(void) {
    explore_wait(&shared->flags[1], 1);
    EXPECT_EQUAL(csk_rwlock_rdlock(lock), 0);
    EXPECT_EQUAL(shared->entered, 1);
    unlock();
}
/* A writer that has come while one reads is not passed by a reader that comes then. */
static void reads_until_one_waits(void) {
    read_lock();
    explore_set(&shared->flags[0], 1);
    await_waiting(1);
    explore_set(&shared->flags[1], 1);
    unlock();
}
CLIENT_FAST_STRICT(rwlock_coming_writer,
                   .threads = { reads_until_one_waits, writes_while_one_reads, reads_after_the_writer },
                   .check = is_idle, .preemptions = 1)
/* One passes a reader that was woken. A writer that comes then stands behind that reader, and nobody passes any
 * more. */
static void writes_then_reads(void) {
    write_lock();
    explore_set(&shared->flags[0], 1);
    await_waiting(1);
    unlock();
    read_lock();
    explore_set(&shared->flags[1], 1);
    read_section();
    unlock();
}
static void reads_while_one_writes(void) {
    explore_wait(&shared->flags[0], 1);
    reads();
}
static void writes_while_the_other_reads(void) {
    explore_wait(&shared->flags[1], 1);
    writes();
}
CLIENT_FAST_STRICT(rwlock_writer_behind_woken,
                   .threads = { writes_then_reads, reads_while_one_writes, writes_while_the_other_reads },
                   .check = is_idle, .preemptions = 1)

/* One passes it to write, and it finds the lock taken. A writer that comes then stands behind it. */
static void writes_past_the_woken(void) {
    write_lock();
    explore_set(&shared->flags[0], 1);
    await_waiting(1);
    unlock();
    writes();
    explore_set(&shared->flags[1], 1);
}
CLIENT_FAST_STRICT(rwlock_writer_behind_passed,
                   .threads = { writes_past_the_woken, reads_while_one_writes, writes_while_the_other_reads },
                   .check = is_idle, .preemptions = 2)

/* One of two that have passed the woken reader waits to upgrade, in vain. */
static void passes_and_upgrades(void) {
    write_lock();
    explore_set(&shared->flags[0], 1);
    await_waiting(1);
    unlock();
    read_lock();
    explore_set(&shared->flags[1], 1);
    explore_wait(&shared->flags[2], 1);
    EXPECT_EQUAL(csk_rwlock_timedupgrade(lock, explore_now() + 20000), ETIMEDOUT);
    explore_set(&shared->flags[3], 1);
    unlock();
}
static void passes_and_stays(void) {
    explore_wait(&shared->flags[1], 1);
    read_lock();
    explore_set(&shared->flags[2], 1);
    explore_wait(&shared->flags[3], 1);
    unlock();
}
static void writes_behind_both(void) {
    explore_wait(&shared->flags[2], 1);
    writes();
}
CLIENT(rwlock_upgrade_beside_woken, .setup = make_fast, .invariant = is_published,
       .threads = { passes_and_upgrades, reads_while_one_writes, passes_and_stays, writes_behind_both },
       .check = is_idle, .preemptions = 1)

CLIENT_FAST_STRICT(rwlock_called_writer,
                   .threads = { reads_until_a_writer_waits, writes_while_one_reads, reads_after_the_writer },
                   .check = is_idle)
