/* rwlock_life_test.c: threads that end, processes that fork: what becomes of the records of who reads. */
#include "rwlock_fixture.h"

#include "child.h"
#include "record_memory.h"

static uint64_t records_made;
#if !TEST_IS_SANITIZED
void *aligned_alloc(size_t alignment, size_t size) {
    ADD(&records_made, 1);
    return allocate_record(alignment, size);
}
#endif

static csk_rwlock_t locks_of_all[FORMS];

static void *read_each_once(void *context) {
    (void)context;
    for (int i = 0; i < FORMS; i++) CHECK_STATUS(csk_rwlock_rdlock(&locks_of_all[i]), 0);
    for (int i = 0; i < FORMS; i++) CHECK_STATUS(csk_rwlock_unlock(&locks_of_all[i]), 0);
    return NULL;
}

static void a_hundred_thousand_threads_that_read_once_leave_nothing_behind(void) {
    for (int i = 0; i < FORMS; i++) make(&locks_of_all[i], &forms[i]);
    in_another_thread(read_each_once, NULL);
    uint64_t before = records_made;
    for (int i = 0; i < 100000 / (TEST_SLOWDOWN * TEST_SLOWDOWN); i++) in_another_thread(read_each_once, NULL);
    CHECK_EQ(records_made, before);
    for (int i = 0; i < FORMS; i++) check_free(&locks_of_all[i]);
}

/* How many records a writer looks at: those of the list that the caller's record stands in. */
static int records_looked_at(void) {
    const csk_reads_t *record = csk_my_reads;
    int count = 0;
    while (record->previous != NULL) record = record->previous;
    for (; record != NULL; record = record->next) count++;
    return count;
}

static uint32_t readers_began, readers_may_end;

static void *read_beside_others(void *context) {
    csk_rwlock_t *lock = context;
    CHECK_STATUS(csk_rwlock_rdlock(lock), 0);
    ADD(&readers_began, 1);
    wait_until(LOAD(&readers_may_end));
    CHECK_STATUS(csk_rwlock_unlock(lock), 0);
    return NULL;
}

static void a_writer_looks_at_the_records_of_threads_that_live(void) {
    enum { THREADS = 100 };
    csk_rwlock_t lock;
    pthread_t threads[THREADS];
    make(&lock, &forms[FORMS - 1]);
    CHECK_STATUS(csk_rwlock_rdlock(&lock), 0);
    CHECK_STATUS(csk_rwlock_unlock(&lock), 0);
    int before = records_looked_at();
    for (int i = 0; i < THREADS; i++) threads[i] = start_thread(read_beside_others, &lock);
    wait_until(LOAD(&readers_began) == THREADS);
    CHECK_EQ(records_looked_at(), before + THREADS);
    STORE(&readers_may_end, 1);
    for (int i = 0; i < THREADS; i++) join_thread(threads[i]);
    CHECK_EQ(records_looked_at(), before);
    in_another_thread(read_each_once, NULL);
    CHECK_EQ(records_looked_at(), before);
    check_free(&lock);
}

/* ---- A thread that ends while it reads --------------------------------------------------------------------------- */

static void *read_and_end(void *context) {
    csk_rwlock_t *lock = context;
    CHECK_STATUS(csk_rwlock_rdlock(lock), 0);
    CHECK_STATUS(csk_rwlock_rdlock(lock), 0);
    return NULL;
}

/* In a thread that may have the same stack and would have the same record. */
static void *finds_it_read(void *context) {
    csk_rwlock_t *lock = context, other;
    CHECK(!csk_rwlock_is_reading(lock));
    CHECK_STATUS(csk_rwlock_unlock(lock), EPERM);
    for (int form = 0; form < FORMS; form++) {
        make(&other, &forms[form]);
        CHECK_STATUS(csk_rwlock_rdlock(&other), 0);
        CHECK_STATUS(csk_rwlock_trywrlock(lock), EBUSY);
        CHECK_STATUS(csk_rwlock_timedwrlock(lock, csk_deadline_after(1000)), ETIMEDOUT);
        CHECK_STATUS(csk_rwlock_destroy(lock), EBUSY);
        CHECK_STATUS(csk_rwlock_tryrdlock(lock), 0);
        CHECK_STATUS(csk_rwlock_unlock(lock), 0);
        CHECK_STATUS(csk_rwlock_unlock(&other), 0);
        check_free(&other);
    }
    return NULL;
}

static void what_an_ended_thread_read_is_read_still(void) {
    FOR_EACH_FORM(form) {
        csk_rwlock_t lock;
        make(&lock, form);
        in_another_thread(read_and_end, &lock);
        for (int i = 0; i < 3; i++) in_another_thread(finds_it_read, &lock);
        CHECK_STATUS(csk_rwlock_init(&lock, form), 0);
        in_another_thread(read_each_once, NULL);
        check_free(&lock);
    }
}

/* Where locks that mark their readers are made anew, what marked the old ones is used again. There are more of these
 * than the tests before have left unused. */
static void records_of_ended_threads_are_used_again(void) {
    enum { ENDED = 1000 };
    csk_rwlock_t lock;
    make(&lock, &forms[FORMS - 1]);
    uint64_t before = records_made;
    for (int i = 0; i < ENDED; i++) {
        in_another_thread(read_and_end, &lock);
        CHECK_STATUS(csk_rwlock_init(&lock, &forms[FORMS - 1]), 0);
    }
    CHECK_LE(records_made - before, 1);
    check_free(&lock);
}

/* Once a lock that was initialized anew left the mark of its old self in the caller's record: nobody could write, and
 * an unlock took away a reader that the word did not count. A child that reads what another thread of the parent read
 * meets this. */
static void a_lock_that_is_initialized_anew_is_read_by_nobody(void) {
    FOR_EACH_FORM(form) {
        csk_rwlock_t lock;
        make(&lock, form);
        CHECK_STATUS(csk_rwlock_rdlock(&lock), 0);
        CHECK_STATUS(csk_rwlock_init(&lock, form), 0);
        CHECK(!csk_rwlock_is_reading(&lock));
        check_free(&lock);
        CHECK_STATUS(csk_rwlock_rdlock(&lock), 0);
        CHECK_STATUS(csk_rwlock_unlock(&lock), 0);
        check_free(&lock);
    }
}

/* What a thread that has ended read of an earlier lock keeps nobody out of a later one at the same place, whichever
 * forms the locks in between had. One without bias leaves the marks where they are, and none looks at them before they
 * are forgotten. */
static void a_lock_at_the_place_of_one_that_is_read_for_ever_is_free(void) {
    FOR_EACH_FORM(earlier) {
        FOR_EACH_FORM(later) {
            csk_rwlock_t lock;
            make(&lock, earlier);
            in_another_thread(read_and_end, &lock);
            CHECK_STATUS(csk_rwlock_destroy(&lock), EBUSY);
            make(&lock, later);
            check_free(&lock);
            FOR_EACH_FORM(last) {
                make(&lock, last);
                check_free(&lock);
            }
        }
    }
}

/* ---- fork -------------------------------------------------------------------------------------------------------- */

static csk_rwlock_t busy[FORMS];
static int stop;
static uint32_t has_read;

static void *keep_busy(void *context) {
    uint64_t random = test_seed((uint64_t)(uintptr_t)context);
    CHECK_STATUS(csk_rwlock_rdlock(&busy[0]), 0);
    CHECK_STATUS(csk_rwlock_unlock(&busy[0]), 0);
    ADD(&has_read, 1);
    while (!LOAD(&stop)) {
        csk_rwlock_t *lock = &busy[test_random_below(&random, FORMS)];
        CHECK_STATUS(test_random_below(&random, 8) ? csk_rwlock_rdlock(lock) : csk_rwlock_wrlock(lock), 0);
        CHECK_STATUS(csk_rwlock_unlock(lock), 0);
    }
    return NULL;
}

struct counter {
    csk_rwlock_t *lock;
    long count;
};

static void *count(void *context) {
    struct counter *counter = context;
    for (int i = 0; i < 2000; i++) {
        CHECK_STATUS(csk_rwlock_wrlock(counter->lock), 0);
        counter->count++;
        CHECK_STATUS(csk_rwlock_downgrade(counter->lock), 0);
        CHECK_STATUS(csk_rwlock_unlock(counter->lock), 0);
        for (int j = 0; j < 4; j++) {
            CHECK_STATUS(csk_rwlock_rdlock(counter->lock), 0);
            CHECK_GE(counter->count, i + 1);
            CHECK_STATUS(csk_rwlock_unlock(counter->lock), 0);
        }
    }
    return NULL;
}

static void check_use(csk_rwlock_t *lock) {
    struct counter counter = { lock, 0 };
    pthread_t threads[3];
    for (int i = 0; i < 3; i++) threads[i] = start_thread(count, &counter);
    for (int i = 0; i < 3; i++) join_thread(threads[i]);
    CHECK_EQ(counter.count, 6000);
    check_free(lock);
}

/* What this thread holds at the fork: `read` twice, `written`, `shared` together with another thread. */
struct held {
    csk_rwlock_t read[FORMS], written[FORMS], shared[FORMS];
};

static void check_child(void *context) {
    struct held *held = context;
    for (int i = 0; i < FORMS; i++) {
        CHECK(csk_rwlock_is_reading(&held->read[i]));
        CHECK_STATUS(csk_rwlock_wrlock(&held->read[i]), EDEADLK);
        CHECK_STATUS(csk_rwlock_unlock(&held->read[i]), 0);
        CHECK_STATUS(csk_rwlock_trywrlock(&held->read[i]), EDEADLK);
        CHECK_STATUS(csk_rwlock_unlock(&held->read[i]), 0);
        CHECK_STATUS(csk_rwlock_unlock(&held->read[i]), EPERM);
        check_use(&held->read[i]);
        CHECK(csk_rwlock_is_writing(&held->written[i]));
        CHECK_STATUS(csk_rwlock_wrlock(&held->written[i]), EDEADLK);
        CHECK_STATUS(csk_rwlock_unlock(&held->written[i]), 0);
        check_use(&held->written[i]);
        CHECK_STATUS(csk_rwlock_init(&held->shared[i], &forms[i]), 0);
        CHECK(!csk_rwlock_is_reading(&held->shared[i]));
        check_use(&held->shared[i]);
        CHECK_STATUS(csk_rwlock_init(&busy[i], &forms[i]), 0);
        check_use(&busy[i]);
    }
}

static void a_child_holds_what_its_thread_held_and_makes_the_rest_anew(void) {
#ifdef __SANITIZE_THREAD__
    /* It counts the parent's threads as alive in the child, and takes new ones with their ids for duplicates. */
    printf("not under ThreadSanitizer; ");
    return;
#endif
    static struct held held;
    visitor_t others[FORMS];
    pthread_t threads[3];
    for (int i = 0; i < FORMS; i++) {
        make(&busy[i], &forms[i]);
        make(&held.read[i], &forms[i]);
        make(&held.written[i], &forms[i]);
        make(&held.shared[i], &forms[i]);
        let_in_visitor(&others[i], &held.shared[i], READS);
        for (int level = 0; level < 2; level++) CHECK_STATUS(csk_rwlock_rdlock(&held.read[i]), 0);
        CHECK_STATUS(csk_rwlock_wrlock(&held.written[i]), 0);
        CHECK_STATUS(csk_rwlock_rdlock(&held.shared[i]), 0);
    }
    for (intptr_t i = 0; i < 3; i++) threads[i] = start_thread(keep_busy, (void *)i);
#ifdef __SANITIZE_ADDRESS__
    /* Its allocator stays locked in a child if a thread was in it: each has started and allocated its record. */
    wait_until(LOAD(&has_read) == 3);
#endif
    for (int round = 0; round < 5; round++) in_a_child(check_child, &held);
    for (int i = 0; i < FORMS; i++) {
        for (int level = 0; level < 2; level++) CHECK_STATUS(csk_rwlock_unlock(&held.read[i]), 0);
        CHECK_STATUS(csk_rwlock_unlock(&held.written[i]), 0);
        CHECK_STATUS(csk_rwlock_unlock(&held.shared[i]), 0);
        send_away(&others[i]);
        check_free(&held.read[i]);
        check_free(&held.written[i]);
        check_free(&held.shared[i]);
    }
    STORE(&stop, 1);
    for (int i = 0; i < 3; i++) join_thread(threads[i]);
    for (int i = 0; i < FORMS; i++) check_free(&busy[i]);
}

TEST_MAIN(TEST(a_hundred_thousand_threads_that_read_once_leave_nothing_behind),
          TEST(a_writer_looks_at_the_records_of_threads_that_live), TEST(what_an_ended_thread_read_is_read_still),
          TEST(a_lock_at_the_place_of_one_that_is_read_for_ever_is_free), TEST(records_of_ended_threads_are_used_again),
          TEST(a_lock_that_is_initialized_anew_is_read_by_nobody),
          TEST(a_child_holds_what_its_thread_held_and_makes_the_rest_anew))
