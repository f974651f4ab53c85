/* rwlock_memory_test.c: there is no memory for the record of who reads. The reader enters all the same, alone. */
#include "rwlock_fixture.h"

#include "child.h"
#include "record_memory.h"

#if !TEST_IS_SANITIZED
static int no_memory;

void *aligned_alloc(size_t alignment, size_t size) {
    if (LOAD(&no_memory)) return NULL;
    return allocate_record(alignment, size);
}

typedef struct {
    csk_rwlock_t *lock;
    int reading, writing; /* what the other thread's tries are to return */
} others_t;

static void *try_to_enter(void *context) {
    const others_t *others = context;
    int status = csk_rwlock_tryrdlock(others->lock);
    CHECK_STATUS(status, others->reading);
    if (status == 0) CHECK_STATUS(csk_rwlock_unlock(others->lock), 0);
    status = csk_rwlock_trywrlock(others->lock);
    CHECK_STATUS(status, others->writing);
    if (status == 0) CHECK_STATUS(csk_rwlock_unlock(others->lock), 0);
    CHECK_STATUS(csk_rwlock_unlock(others->lock), EPERM);
    return NULL;
}
static void others_get(csk_rwlock_t *lock, int reading, int writing) {
    in_another_thread(try_to_enter, &(others_t){ lock, reading, writing });
}

static void leave_levels(csk_rwlock_t *lock) {
    others_get(lock, EBUSY, EBUSY);
    CHECK_STATUS(csk_rwlock_tryupgrade(lock), EDEADLK);
    csk_rwlock_leave_read(lock);
    CHECK_STATUS(csk_rwlock_unlock(lock), 0);
    CHECK(csk_rwlock_is_reading(lock));
    others_get(lock, EBUSY, EBUSY);
    csk_rwlock_leave_read(lock);
    CHECK(!csk_rwlock_is_reading(lock));
    CHECK_STATUS(csk_rwlock_unlock(lock), EPERM);
}

/* For a thread that has no free place to note a read in. */
static void *read_without_memory(void *context) {
    csk_rwlock_t *lock = context;
    STORE(&no_memory, 1);
    CHECK_STATUS(csk_rwlock_rdlock(lock), 0);
    CHECK(csk_rwlock_is_reading(lock) && !csk_rwlock_is_writing(lock));
    CHECK_STATUS(csk_rwlock_tryrdlock(lock), 0);
    CHECK_STATUS(csk_rwlock_timedrdlock(lock, csk_deadline_after(1000000)), 0);
    CHECK_STATUS(csk_rwlock_wrlock(lock), EDEADLK);
    CHECK_STATUS(csk_rwlock_trywrlock(lock), EDEADLK);
    CHECK_STATUS(csk_rwlock_downgrade(lock), EPERM);
    CHECK_STATUS(csk_rwlock_adopt(lock, CSK_RWLOCK_WRITE), EDEADLK);
    CHECK_STATUS(csk_rwlock_destroy(lock), EBUSY);
    leave_levels(lock);
    others_get(lock, 0, 0);
    CHECK_STATUS(csk_rwlock_wrlock(lock), 0);
    CHECK_STATUS(csk_rwlock_downgrade(lock), 0);
    CHECK(csk_rwlock_is_reading(lock) && !csk_rwlock_is_writing(lock));
    CHECK_STATUS(csk_rwlock_timedupgrade(lock, CSK_NEVER), 0);
    CHECK(csk_rwlock_is_writing(lock) && !csk_rwlock_is_reading(lock));
    CHECK_STATUS(csk_rwlock_downgrade(lock), 0);
    CHECK_STATUS(csk_rwlock_unlock(lock), 0);
    CHECK_STATUS(csk_rwlock_unlock(lock), EPERM);
    STORE(&no_memory, 0);
    CHECK_STATUS(csk_rwlock_rdlock(lock), 0);
    others_get(lock, 0, EBUSY);
    CHECK_STATUS(csk_rwlock_unlock(lock), 0);
    return NULL;
}

/* Others read, and have their records. */
static void *read_among_others_without_memory(void *context) {
    csk_rwlock_t *lock = context;
    visitor_t visitor;
    let_in_visitor(&visitor, lock, READS);
    STORE(&no_memory, 1);
    CHECK_STATUS(csk_rwlock_tryrdlock(lock), EBUSY);
    CHECK_STATUS(csk_rwlock_timedrdlock(lock, csk_deadline_after(2000000)), ETIMEDOUT);
    CHECK(!csk_rwlock_is_reading(lock));
    CHECK_STATUS(csk_rwlock_unlock(lock), EPERM);
    STORE(&visitor.leave, 1);
    CHECK_STATUS(csk_rwlock_rdlock(lock), 0);
    join_thread(visitor.thread);
    others_get(lock, EBUSY, EBUSY);
    csk_rwlock_leave_read(lock);
    STORE(&no_memory, 0);
    return NULL;
}

static uint32_t sections_ended;

static void read_in_a_section(csk_rwlock_work_t *work, void *context, int status) {
    (void)work;
    csk_rwlock_t *lock = context;
    CHECK_STATUS(status, 0);
    CHECK(csk_rwlock_is_reading(lock));
    CHECK_STATUS(csk_rwlock_unlock(lock), 0);
    ADD(&sections_ended, 1);
}

/* The worker has never read. It has to wait for who reads, and is called with the lock all the same. */
static void read_on_a_worker_without_memory(csk_rwlock_t *lock) {
    csk_rwlock_work_t work = { .context = NULL };
    uint32_t ended = LOAD(&sections_ended);
    CHECK_STATUS(csk_rwlock_rdlock(lock), 0);
    STORE(&no_memory, 1);
    CHECK_STATUS(csk_rwlock_enqueue(lock, &work, CSK_RWLOCK_READ, CSK_NEVER, read_in_a_section, lock), 0);
    wait_until(csk_rwlock_waiting(lock) == 1);
    CHECK_EQ(LOAD(&sections_ended), ended);
    CHECK_STATUS(csk_rwlock_unlock(lock), 0);
    wait_until(LOAD(&sections_ended) == ended + 1);
    STORE(&no_memory, 0);
}

static void note_grant(csk_waiter_t *waiter, void *context, int status) {
    (void)waiter;
    STORE((int *)context, status);
}

static void *adopt_without_memory(void *lock) {
    STORE(&no_memory, 1);
    CHECK_STATUS(csk_rwlock_adopt(lock, CSK_RWLOCK_READ), ENOMEM);
    STORE(&no_memory, 0);
    CHECK_STATUS(csk_rwlock_adopt(lock, CSK_RWLOCK_READ), 0);
    CHECK_STATUS(csk_rwlock_unlock(lock), 0);
    return NULL;
}

/* Where the checker of lock order is told of read-write locks, one place of a thread's first record is never free. */
#ifdef CSK_LOCK_ORDER
enum { PLACES = READS_IN_RECORD - 1 };
#else
enum { PLACES = READS_IN_RECORD };
#endif

/* Each of these runs in a child, in which no record exists that could be used again. */
static csk_rwlock_t the_lock;
static void without_any_record(void *form) {
    CHECK_STATUS(csk_rwlock_init(&the_lock, form), 0);
    in_another_thread(read_without_memory, &the_lock);
    check_free(&the_lock);
}
static void with_a_full_record(void *form) {
    static csk_rwlock_t others[PLACES];
    CHECK_STATUS(csk_rwlock_init(&the_lock, form), 0);
    for (int i = 0; i < PLACES; i++) {
        CHECK_STATUS(csk_rwlock_init(&others[i], form), 0);
        CHECK_STATUS(csk_rwlock_rdlock(&others[i]), 0);
    }
    read_without_memory(&the_lock);
    check_free(&the_lock);
    for (int i = 0; i < PLACES; i++) CHECK_STATUS(csk_rwlock_unlock(&others[i]), 0);
    for (int i = 0; i < PLACES; i++) check_free(&others[i]);
}
static void among_others(void *form) {
    CHECK_STATUS(csk_rwlock_init(&the_lock, form), 0);
    in_another_thread(read_among_others_without_memory, &the_lock);
    check_free(&the_lock);
}
static void on_a_worker(void *form) {
    CHECK_STATUS(csk_rwlock_init(&the_lock, form), 0);
    read_on_a_worker_without_memory(&the_lock);
    check_free(&the_lock);
}
static void adopting(void *form) {
    csk_waiter_t waiter = { .word = 0 };
    int status = -1;
    CHECK_STATUS(csk_rwlock_init(&the_lock, form), 0);
    CHECK_STATUS(csk_rwlock_lock_async(&the_lock, &waiter, CSK_RWLOCK_READ, CSK_NEVER, note_grant, &status), 0);
    CHECK_STATUS(status, 0);
    in_another_thread(adopt_without_memory, &the_lock);
    check_free(&the_lock);
}

static void without_memory_for_a_record_a_reader_is_alone(void) {
    FOR_EACH_FORM(form) {
        in_a_child(without_any_record, (void *)form);
        in_a_child(with_a_full_record, (void *)form);
        in_a_child(among_others, (void *)form);
        in_a_child(on_a_worker, (void *)form);
    }
    FOR_EACH_UNBIASED_FORM(form) in_a_child(adopting, (void *)form);
}
#else
static void without_memory_for_a_record_a_reader_is_alone(void) { printf("not with a sanitizer; "); }
#endif

TEST_MAIN(TEST(without_memory_for_a_record_a_reader_is_alone))
