/* rwlock_async_test.c: asynchronous waiters at the read-write lock: one order with threads, cancellation, deadlines,
 * adoption.
 *
 * More than 400 lines: each promise is a short test with the same waiters. */
#include "rwlock_fixture.h"

static int order[32], order_count;
static int calls, last_status;

static void note_call(csk_waiter_t *waiter, void *context, int status) {
    (void)waiter;
    (void)context;
    STORE(&last_status, status);
    ADD(&calls, 1);
}

static void *adopt_and_leave(void *context) {
    csk_rwlock_t *lock = context;
    int mode = csk_rwlock_adopt(lock, CSK_RWLOCK_READ) == 0 ? CSK_RWLOCK_READ : CSK_RWLOCK_WRITE;
    if (mode == CSK_RWLOCK_WRITE) CHECK_STATUS(csk_rwlock_adopt(lock, CSK_RWLOCK_WRITE), 0);
    CHECK_EQ(csk_rwlock_is_reading(lock), mode == CSK_RWLOCK_READ);
    CHECK_EQ(csk_rwlock_is_writing(lock), mode == CSK_RWLOCK_WRITE);
    CHECK_STATUS(csk_rwlock_adopt(lock, CSK_RWLOCK_READ), EDEADLK);
    CHECK_STATUS(csk_rwlock_adopt(lock, CSK_RWLOCK_WRITE), EDEADLK);
    CHECK_STATUS(csk_rwlock_unlock(lock), 0);
    return NULL;
}

static void a_free_lock_is_granted_at_once(void) {
    FOR_EACH_UNBIASED_FORM(form) {
        csk_rwlock_t lock;
        csk_waiter_t waiter = { .word = 0 };
        make(&lock, form);
        for (int mode = CSK_RWLOCK_READ; mode <= CSK_RWLOCK_WRITE; mode++) {
            calls = 0;
            CHECK_STATUS(csk_rwlock_lock_async(&lock, &waiter, mode, CSK_NEVER, note_call, NULL), 0);
            CHECK_EQ(calls, 1);
            CHECK_STATUS(last_status, 0);
            CHECK(!csk_rwlock_is_reading(&lock) && !csk_rwlock_is_writing(&lock));
            CHECK_STATUS(csk_rwlock_cancel(&lock, &waiter), ENOENT);
            CHECK_STATUS(csk_rwlock_trywrlock(&lock), EBUSY);
            CHECK_STATUS(csk_rwlock_tryrdlock(&lock), mode == CSK_RWLOCK_READ ? 0 : EBUSY);
            if (mode == CSK_RWLOCK_READ) CHECK_STATUS(csk_rwlock_unlock(&lock), 0);
            CHECK_STATUS(csk_rwlock_destroy(&lock), EBUSY);
            in_another_thread(adopt_and_leave, &lock);
        }
        check_free(&lock);
    }
}

static void what_cannot_be_done_is_refused_and_changes_nothing(void) {
    csk_rwlock_t lock, biased;
    csk_waiter_t waiter = { .word = 0 };
    make(&lock, &forms[0]);
    make(&biased, &forms[2]);
    calls = 0;
    CHECK_STATUS(csk_rwlock_lock_async(&lock, &waiter, 2, CSK_NEVER, note_call, NULL), EINVAL);
    CHECK_STATUS(csk_rwlock_lock_async(&lock, &waiter, -1, CSK_NEVER, note_call, NULL), EINVAL);
    CHECK_STATUS(csk_rwlock_lock_async(&lock, &waiter, CSK_RWLOCK_READ, CSK_NEVER, NULL, NULL), EINVAL);
    CHECK_STATUS(csk_rwlock_lock_async(&biased, &waiter, CSK_RWLOCK_READ, CSK_NEVER, note_call, NULL), ENOTSUP);
    CHECK_STATUS(csk_rwlock_lock_async(&biased, &waiter, CSK_RWLOCK_WRITE, CSK_NEVER, note_call, NULL), ENOTSUP);
    CHECK_STATUS(csk_rwlock_adopt(&lock, CSK_RWLOCK_READ), EINVAL);
    CHECK_STATUS(csk_rwlock_adopt(&lock, CSK_RWLOCK_WRITE), EINVAL);
    CHECK_STATUS(csk_rwlock_adopt(&lock, 2), EINVAL);
    CHECK_STATUS(csk_rwlock_adopt(&lock, -1), EINVAL);
    CHECK_STATUS(csk_rwlock_cancel(&lock, &waiter), ENOENT);
    CHECK_STATUS(csk_rwlock_wrlock(&lock), 0);
    CHECK_STATUS(csk_rwlock_lock_async(&lock, &waiter, CSK_RWLOCK_WRITE, CSK_NEVER, note_call, NULL), 0);
    CHECK_STATUS(csk_rwlock_lock_async(&lock, &waiter, CSK_RWLOCK_WRITE, CSK_NEVER, note_call, NULL), EBUSY);
    CHECK_STATUS(csk_rwlock_lock_async(&lock, &waiter, CSK_RWLOCK_READ, 0, note_call, NULL), EBUSY);
    CHECK_EQ(csk_rwlock_waiting(&lock), 1);
    CHECK_EQ(calls, 0);
    CHECK_STATUS(csk_rwlock_unlock(&lock), 0);
    CHECK_EQ(calls, 1);
    CHECK_STATUS(csk_rwlock_unlock(&lock), 0); /* nobody has adopted it: any thread may leave it */
    check_free(&lock);
    check_free(&biased);
}

static void *adopts_no_read(void *lock) {
    CHECK_STATUS(csk_rwlock_adopt(lock, CSK_RWLOCK_READ), EINVAL);
    CHECK_STATUS(csk_rwlock_adopt(lock, CSK_RWLOCK_WRITE), EINVAL);
    return NULL;
}

/* Once a stranger could adopt what a thread had locked for itself; by its unlock a writer then came in beside that
 * thread. */
static void only_what_was_granted_to_a_waiter_can_be_adopted(void) {
    FOR_EACH_FORM(form) {
        csk_rwlock_t lock;
        make(&lock, form);
        CHECK_STATUS(csk_rwlock_rdlock(&lock), 0);
        in_another_thread(adopts_no_read, &lock);
        if (!form->reader_bias) {
            csk_waiter_t waiter = { .word = 0 };
            CHECK_STATUS(csk_rwlock_lock_async(&lock, &waiter, CSK_RWLOCK_READ, CSK_NEVER, note_call, NULL), 0);
            in_another_thread(adopt_and_leave, &lock);
            in_another_thread(adopts_no_read, &lock);
        }
        CHECK_STATUS(csk_rwlock_unlock(&lock), 0);
        CHECK_STATUS(csk_rwlock_wrlock(&lock), 0);
        in_another_thread(adopts_no_read, &lock);
        CHECK_STATUS(csk_rwlock_unlock(&lock), 0);
        check_free(&lock);
    }
}

/* ---- Order ------------------------------------------------------------------------------------------------------- */

static void note_and_leave(csk_waiter_t *waiter, void *context, int status) {
    csk_rwlock_t *lock = waiter->rwlock;
    int number = (int)(intptr_t)context;
    CHECK_STATUS(status, 0);
    CHECK_STATUS(csk_rwlock_adopt(lock, number >= 100 ? CSK_RWLOCK_WRITE : CSK_RWLOCK_READ), 0);
    order[ADD(&order_count, 1) - 1] = number;
    CHECK_STATUS(csk_rwlock_unlock(lock), 0);
}

static void *write_and_note(void *lock) {
    CHECK_STATUS(csk_rwlock_wrlock(lock), 0);
    order[ADD(&order_count, 1) - 1] = 1000;
    CHECK_STATUS(csk_rwlock_unlock(lock), 0);
    return NULL;
}

static void threads_and_functions_wait_in_one_order(void) {
    static const int numbers[] = { 1, 2, 100, 3, 1000, 4, 101, 102, 5, 6 };
    enum { COUNT = sizeof numbers / sizeof numbers[0] };
    FOR_EACH_UNBIASED_FORM(form) {
        csk_rwlock_t lock;
        csk_waiter_t waiters[COUNT];
        pthread_t thread = pthread_self();
        make(&lock, form);
        memset(waiters, 0, sizeof waiters);
        order_count = 0;
        CHECK_STATUS(csk_rwlock_wrlock(&lock), 0);
        for (int i = 0; i < COUNT; i++) {
            if (numbers[i] == 1000) {
                thread = start_thread(write_and_note, &lock);
            } else {
                int mode = numbers[i] >= 100 ? CSK_RWLOCK_WRITE : CSK_RWLOCK_READ;
                CHECK_STATUS(csk_rwlock_lock_async(&lock, &waiters[i], mode, CSK_NEVER, note_and_leave,
                                                   (void *)(intptr_t)numbers[i]),
                             0);
            }
            wait_until(csk_rwlock_waiting(&lock) == (uint32_t)i + 1);
        }
        CHECK_STATUS(csk_rwlock_destroy(&lock), EBUSY);
        CHECK_STATUS(csk_rwlock_unlock(&lock), 0);
        join_thread(thread);
        wait_until(LOAD(&order_count) == COUNT);
        for (int i = 0; i < COUNT; i++) CHECK_EQ(order[i], numbers[i]);
        check_free(&lock);
    }
}

static void readers_in_a_row_are_granted_together_and_count(void) {
    enum { RUN = 20 };
    FOR_EACH_UNBIASED_FORM(form) {
        csk_rwlock_t lock;
        csk_waiter_t waiters[RUN], writer = { .word = 0 };
        make(&lock, form);
        memset(waiters, 0, sizeof waiters);
        CHECK_STATUS(csk_rwlock_wrlock(&lock), 0);
        calls = 0;
        for (int i = 0; i < RUN; i++)
            CHECK_STATUS(csk_rwlock_lock_async(&lock, &waiters[i], CSK_RWLOCK_READ, CSK_NEVER, note_call, NULL), 0);
        CHECK_STATUS(csk_rwlock_lock_async(&lock, &writer, CSK_RWLOCK_WRITE, CSK_NEVER, note_call, NULL), 0);
        CHECK_STATUS(csk_rwlock_unlock(&lock), 0);
        CHECK_EQ(calls, RUN);
        CHECK_STATUS(csk_rwlock_tryrdlock(&lock), EBUSY);
        for (int i = 0; i < RUN; i++) {
            CHECK_EQ(calls, RUN);
            in_another_thread(adopt_and_leave, &lock);
        }
        CHECK_EQ(calls, RUN + 1);
        in_another_thread(adopt_and_leave, &lock);
        check_free(&lock);
    }
}

/* Whose function is called while another's runs would count two inside. */
enum { CHAIN = 100000 };
static int chained, running;

static void count_and_leave(csk_waiter_t *waiter, void *context, int status) {
    CHECK_STATUS(status, 0);
    CHECK_EQ(++running, 1);
    CHECK_EQ((intptr_t)context, chained++);
    if (chained % 3 == 0) CHECK_STATUS(csk_rwlock_adopt(waiter->rwlock, CSK_RWLOCK_READ), 0);
    CHECK_STATUS(csk_rwlock_unlock(waiter->rwlock), 0);
    running--;
}

static void *leave_a_long_chain(void *context) {
    csk_rwlock_t *lock = context;
    csk_waiter_t *waiters = calloc(CHAIN, sizeof *waiters);
    CHECK(waiters != NULL);
    chained = 0;
    CHECK_STATUS(csk_rwlock_wrlock(lock), 0);
    for (intptr_t i = 0; i < CHAIN; i++) {
        int mode = i % 3 == 2 ? CSK_RWLOCK_READ : CSK_RWLOCK_WRITE;
        CHECK_STATUS(csk_rwlock_lock_async(lock, &waiters[i], mode, CSK_NEVER, count_and_leave, (void *)i), 0);
    }
    CHECK_EQ(csk_rwlock_waiting(lock), CHAIN);
    CHECK_STATUS(csk_rwlock_unlock(lock), 0);
    CHECK_EQ(chained, CHAIN);
    free(waiters);
    return NULL;
}

static void a_hundred_thousand_functions_in_a_chain_need_no_stack(void) {
    FOR_EACH_UNBIASED_FORM(form) {
        csk_rwlock_t lock;
        make(&lock, form);
        in_another_thread(leave_a_long_chain, &lock);
        check_free(&lock);
    }
}

/* ---- The end of a wait ------------------------------------------------------------------------------------------- */

static void deadlines_and_cancellation_end_a_wait(void) {
    FOR_EACH_UNBIASED_FORM(form) {
        csk_rwlock_t lock;
        csk_waiter_t waiter = { .word = 0 };
        make(&lock, form);
        CHECK_STATUS(csk_rwlock_wrlock(&lock), 0);
        for (int mode = CSK_RWLOCK_READ; mode <= CSK_RWLOCK_WRITE; mode++) {
            calls = 0;
            int64_t deadline_ns = csk_deadline_after(2000000);
            CHECK_STATUS(csk_rwlock_lock_async(&lock, &waiter, mode, deadline_ns, note_call, NULL), 0);
            wait_until(LOAD(&calls) == 1);
            CHECK_GE(csk_now(), deadline_ns);
            CHECK_STATUS(last_status, ETIMEDOUT);
            CHECK_STATUS(csk_rwlock_lock_async(&lock, &waiter, mode, INT64_MIN, note_call, NULL), 0);
            wait_until(LOAD(&calls) == 2);
            CHECK_STATUS(last_status, ETIMEDOUT);
            CHECK_STATUS(csk_rwlock_lock_async(&lock, &waiter, mode, csk_deadline_after(INT64_C(3600000000000)),
                                               note_call, NULL),
                         0);
            CHECK_STATUS(csk_rwlock_cancel(&lock, &waiter), 0);
            CHECK_EQ(calls, 3);
            CHECK_STATUS(last_status, ECANCELED);
            CHECK_STATUS(csk_rwlock_cancel(&lock, &waiter), ENOENT);
            CHECK_EQ(csk_rwlock_waiting(&lock), 0);
        }
        CHECK_STATUS(csk_rwlock_unlock(&lock), 0);
        check_free(&lock);
    }
}

static void a_free_lock_is_granted_though_the_deadline_has_passed(void) {
    csk_rwlock_t lock;
    csk_waiter_t waiter = { .word = 0 };
    make(&lock, &forms[0]);
    calls = 0;
    CHECK_STATUS(csk_rwlock_lock_async(&lock, &waiter, CSK_RWLOCK_WRITE, INT64_MIN, note_call, NULL), 0);
    CHECK_EQ(calls, 1);
    CHECK_STATUS(last_status, 0);
    CHECK_STATUS(csk_rwlock_unlock(&lock), 0);
    check_free(&lock);
}

static void a_writer_that_is_cancelled_lets_in_the_readers_behind_it(void) {
    FOR_EACH_UNBIASED_FORM(form) {
        csk_rwlock_t lock;
        csk_waiter_t writer = { .word = 0 }, reader = { .word = 0 };
        visitor_t thread;
        make(&lock, form);
        CHECK_STATUS(csk_rwlock_rdlock(&lock), 0);
        calls = 0;
        CHECK_STATUS(csk_rwlock_lock_async(&lock, &writer, CSK_RWLOCK_WRITE, CSK_NEVER, note_call, NULL), 0);
        CHECK_STATUS(csk_rwlock_lock_async(&lock, &reader, CSK_RWLOCK_READ, CSK_NEVER, note_call, NULL), 0);
        call_visitor(&thread, &lock, READS);
        wait_until(csk_rwlock_waiting(&lock) == 3);
        CHECK_EQ(calls, 0);
        CHECK_STATUS(csk_rwlock_cancel(&lock, &writer), 0);
        CHECK_EQ(calls, 2);
        CHECK_STATUS(last_status, 0);
        wait_until(LOAD(&thread.inside));
        send_away(&thread);
        in_another_thread(adopt_and_leave, &lock);
        CHECK_STATUS(csk_rwlock_unlock(&lock), 0);
        check_free(&lock);
    }
}

struct race {
    csk_rwlock_t lock;
    csk_waiter_t waiter;
    int mode, round, rounds, granted, cancelled, ended, said_cancelled;
};

static void end_race(csk_waiter_t *waiter, void *context, int status) {
    struct race *race = context;
    if (status == 0) {
        race->granted++;
        CHECK_STATUS(csk_rwlock_adopt(waiter->rwlock, race->mode), 0);
        CHECK_STATUS(csk_rwlock_unlock(waiter->rwlock), 0);
    } else if (status == ECANCELED) {
        race->cancelled++;
    } else {
        CHECK_STATUS(status, ETIMEDOUT);
    }
    ADD(&race->ended, 1);
}

static void *cancel_each(void *context) {
    struct race *race = context;
    for (int i = 1; i <= race->rounds; i++) {
        wait_until(LOAD(&race->round) >= i);
        /* It may meet this round or, when that was quick, a later one. */
        if (csk_rwlock_cancel(&race->lock, &race->waiter) == 0) race->said_cancelled++;
        wait_until(LOAD(&race->ended) >= i);
    }
    return NULL;
}

static void of_grant_cancel_and_deadline_exactly_one_wins(void) {
    FOR_EACH_UNBIASED_FORM(form) {
        struct race race = { .rounds = 10000 / TEST_SLOWDOWN };
        make(&race.lock, form);
        pthread_t thread = start_thread(cancel_each, &race);
        for (int i = 1; i <= race.rounds; i++) {
            CHECK_STATUS(csk_rwlock_wrlock(&race.lock), 0);
            int64_t deadline_ns = i % 3 == 0 ? csk_deadline_after(3000) : CSK_NEVER;
            race.mode = i % 2 ? CSK_RWLOCK_READ : CSK_RWLOCK_WRITE;
            CHECK_STATUS(csk_rwlock_lock_async(&race.lock, &race.waiter, race.mode, deadline_ns, end_race, &race), 0);
            STORE(&race.round, i);
            if (i % 2) sched_yield();
            CHECK_STATUS(csk_rwlock_unlock(&race.lock), 0);
            wait_until(LOAD(&race.ended) == i);
        }
        join_thread(thread);
        CHECK_EQ(race.cancelled, race.said_cancelled);
        check_free(&race.lock);
    }
}

/* ---- Adoption that is refused ------------------------------------------------------------------------------------ */

static csk_rwlock_t read_twice;
static uint32_t refusals, sections, keeps_reading;

static void begin_to_read(csk_pool_item_t *item) {
    (void)item;
    CHECK_STATUS(csk_rwlock_rdlock(&read_twice), 0);
    STORE(&keeps_reading, 1);
}

static void stop_reading(csk_pool_item_t *item) {
    (void)item;
    if (csk_rwlock_is_reading(&read_twice)) {
        CHECK_STATUS(csk_rwlock_unlock(&read_twice), 0);
        STORE(&keeps_reading, 0);
    }
    wait_until(!LOAD(&keeps_reading));
    ADD(&sections, 1);
}

static void read_or_be_refused(csk_rwlock_work_t *work, void *context, int status) {
    (void)work, (void)context;
    if (status != 0) {
        CHECK_STATUS(status, EDEADLK);
        ADD(&refusals, 1);
    } else {
        /* Other sections need other workers, of which one still reads. */
        wait_until(LOAD(&refusals) != 0);
        CHECK_STATUS(csk_rwlock_unlock(&read_twice), 0);
    }
    ADD(&sections, 1);
}

/* A worker that still reads the lock can't be given it once more. What it gave back stayed to be adopted by whoever
 * came. */
static void a_read_that_a_worker_cannot_adopt_is_given_back(void) {
    static csk_rwlock_work_t works[64];
    csk_pool_item_t item = { .level = CSK_POOL_NORMAL };
    CHECK_STATUS(csk_pool_post(&item, begin_to_read), 0);
    wait_until(LOAD(&keeps_reading));
    for (int i = 0; i < 64; i++)
        CHECK_STATUS(csk_rwlock_enqueue(&read_twice, &works[i], CSK_RWLOCK_READ, CSK_NEVER, read_or_be_refused, NULL),
                     0);
    wait_until(LOAD(&sections) == 64);
    CHECK_STATUS(csk_rwlock_adopt(&read_twice, CSK_RWLOCK_READ), EINVAL);
    CHECK_STATUS(csk_rwlock_trywrlock(&read_twice), EBUSY);
    /* Each that is not the one waits for it. */
    static csk_pool_item_t items[64];
    for (int i = 0; i < 64; i++) CHECK_STATUS(csk_pool_post(&items[i], stop_reading), 0);
    wait_until(LOAD(&sections) == 128);
    CHECK_STATUS(csk_rwlock_trywrlock(&read_twice), 0);
    CHECK_STATUS(csk_rwlock_unlock(&read_twice), 0);
    CHECK_STATUS(csk_rwlock_destroy(&read_twice), 0);
}

static csk_rwlock_t of_writes;

static void finish_and_count(csk_rwlock_write_t *write) {
    (void)write;
    CHECK_STATUS(csk_rwlock_finish_write(&of_writes), 0);
    ADD(&calls, 1);
}

/* Writes that are next to each other stand in the queue as one. They count as many as they are, until they begin. */
static void writes_in_a_row_count_until_they_begin(void) {
    FOR_EACH_UNBIASED_FORM(form) {
        csk_rwlock_write_t writes[3];
        make(&of_writes, form);
        calls = 0;
        CHECK_STATUS(csk_rwlock_wrlock(&of_writes), 0);
        for (int i = 0; i < 3; i++) {
            CHECK_STATUS(csk_rwlock_enqueue_write(&of_writes, &writes[i], finish_and_count), 0);
            CHECK_EQ(csk_rwlock_waiting(&of_writes), i + 1);
        }
        CHECK_STATUS(csk_rwlock_unlock(&of_writes), 0);
        wait_until(LOAD(&calls) == 3);
        check_free(&of_writes);
    }
}

/* ---- A section that is queued twice ------------------------------------------------------------------------------ */

static csk_rwlock_t of_sections;
static csk_rwlock_work_t section;

static void end_second(csk_rwlock_work_t *work, void *context, int status) {
    CHECK(work == &section && context == &of_sections);
    CHECK_STATUS(status, 0);
    CHECK_STATUS(csk_rwlock_unlock(&of_sections), 0);
    ADD(&calls, 100);
}

static int enqueue_second(void) {
    return csk_rwlock_enqueue(&of_sections, &section, CSK_RWLOCK_WRITE, CSK_NEVER, end_second, &of_sections);
}

static void end_first(csk_rwlock_work_t *work, void *context, int status) {
    CHECK(work == &section && context == &calls);
    if (status == 0) CHECK_STATUS(csk_rwlock_unlock(&of_sections), 0);
    STORE(&last_status, status);
    CHECK_STATUS(enqueue_second(), 0); /* from its function on it may be queued again */
    ADD(&calls, 1);
}

static int enqueue_first(int64_t deadline) {
    return csk_rwlock_enqueue(&of_sections, &section, CSK_RWLOCK_WRITE, deadline, end_first, &calls);
}

/* The worker that leaves the lock has the section from then on, and runs it once this function has returned. */
static void grant_to_section(csk_rwlock_work_t *work, void *context, int status) {
    (void)work, (void)context;
    CHECK_STATUS(status, 0);
    CHECK_STATUS(enqueue_first(CSK_NEVER), 0);
    CHECK_STATUS(enqueue_second(), EBUSY);
    CHECK_STATUS(csk_rwlock_unlock(&of_sections), 0);
    CHECK_EQ(csk_rwlock_waiting(&of_sections), 0);
    CHECK_STATUS(enqueue_second(), EBUSY);
    CHECK_STATUS(csk_rwlock_enqueue(&of_sections, &section, CSK_RWLOCK_READ, 0, end_second, NULL), EBUSY);
    CHECK_EQ(LOAD(&calls), 0);
}

/* Once the function and the context of a section that waited were replaced, though the call was refused; and one that
 * had been granted and had yet to run was accepted, and run twice. */
static void a_section_that_is_queued_twice_is_refused_and_stays_as_it_was(void) {
    FOR_EACH_UNBIASED_FORM(form) {
        static csk_rwlock_work_t before;
        make(&of_sections, form);
        STORE(&calls, 0);
        CHECK_STATUS(csk_rwlock_enqueue(&of_sections, &before, CSK_RWLOCK_WRITE, CSK_NEVER, grant_to_section, NULL), 0);
        wait_until(LOAD(&calls) == 101);
        CHECK_STATUS(last_status, 0);
        check_free(&of_sections);

        STORE(&calls, 0);
        CHECK_STATUS(csk_rwlock_wrlock(&of_sections), 0);
        CHECK_STATUS(enqueue_first(CSK_NEVER), 0);
        CHECK_STATUS(enqueue_second(), EBUSY);
        CHECK_EQ(csk_rwlock_waiting(&of_sections), 1);
        CHECK_STATUS(csk_rwlock_cancel(&of_sections, &section.waiter), 0);
        CHECK_EQ(LOAD(&calls), 1);
        CHECK_STATUS(last_status, ECANCELED);
        CHECK_STATUS(enqueue_second(), EBUSY);
        CHECK_STATUS(csk_rwlock_unlock(&of_sections), 0);
        wait_until(LOAD(&calls) == 101);
        check_free(&of_sections);
    }
}

static void refused(csk_rwlock_write_t *write) {
    (void)write;
    CHECK(false);
}

/* ---- Sections at a lock with reader bias ------------------------------------------------------------------------- */

static csk_rwlock_t of_biased;
static int of_readers;

static void begin_to_read_by_bias(void) {
    make(&of_biased, &forms[2]);
    STORE(&calls, 0);
    STORE(&of_readers, 0);
    CHECK_STATUS(csk_rwlock_rdlock(&of_biased), 0);
    CHECK_STATUS(csk_rwlock_unlock(&of_biased), 0);
    STORE(&of_readers, 1);
    CHECK_STATUS(csk_rwlock_rdlock(&of_biased), 0);
}

static void end_to_read(void) {
    STORE(&of_readers, 0);
    CHECK_STATUS(csk_rwlock_unlock(&of_biased), 0);
}

static void write_alone(csk_rwlock_work_t *work, void *context, int status) {
    (void)work, (void)context;
    if (status == 0) {
        CHECK(csk_rwlock_is_writing(&of_biased));
        CHECK_EQ(LOAD(&of_readers), 0);
        CHECK_STATUS(csk_rwlock_unlock(&of_biased), 0);
    }
    STORE(&last_status, status);
    ADD(&calls, 1);
}

static void read_beside(csk_rwlock_work_t *work, void *context, int status) {
    (void)work, (void)context;
    CHECK_STATUS(status, 0);
    CHECK(csk_rwlock_is_reading(&of_biased));
    CHECK_STATUS(csk_rwlock_unlock(&of_biased), 0);
    ADD(&calls, 1);
}

static void check_section_waits_for_readers(void) {
    static csk_rwlock_work_t writes, reads;
    begin_to_read_by_bias();
    CHECK_STATUS(csk_rwlock_enqueue(&of_biased, &reads, CSK_RWLOCK_READ, CSK_NEVER, read_beside, NULL), 0);
    wait_until(LOAD(&calls) == 1);
    CHECK_STATUS(csk_rwlock_enqueue(&of_biased, &writes, CSK_RWLOCK_WRITE, CSK_NEVER, write_alone, NULL), 0);
    CHECK_STATUS(csk_rwlock_enqueue(&of_biased, &reads, CSK_RWLOCK_READ, CSK_NEVER, read_beside, NULL), 0);
    CHECK_EQ(LOAD(&calls), 1);
    end_to_read();
    wait_until(LOAD(&calls) == 3);
    CHECK_STATUS(last_status, 0);
    check_free(&of_biased);
}

static void a_section_of_a_biased_lock_waits_for_readers_that_it_does_not_count(void) {
    check_section_waits_for_readers();
}

/* A reader of two locks leaves by another path, which took the section's lock for one that nobody holds. */
static void a_section_of_a_biased_lock_waits_for_a_reader_of_two_locks(void) {
    csk_rwlock_t other = CSK_RWLOCK_INITIALIZER;
    CHECK_STATUS(csk_rwlock_rdlock(&other), 0);
    check_section_waits_for_readers();
    CHECK_STATUS(csk_rwlock_unlock(&other), 0);
}

static void a_section_of_a_biased_lock_times_out_among_its_readers(void) {
    static csk_rwlock_work_t writes;
    begin_to_read_by_bias();
    int64_t deadline = csk_deadline_after(2000000);
    CHECK_STATUS(csk_rwlock_enqueue(&of_biased, &writes, CSK_RWLOCK_WRITE, deadline, write_alone, NULL), 0);
    wait_until(LOAD(&calls) == 1);
    CHECK_STATUS(last_status, ETIMEDOUT);
    CHECK(csk_now() >= deadline);
    end_to_read();
    check_free(&of_biased);
}

static void a_section_that_was_refused_may_be_queued(void) {
    static csk_rwlock_write_t write;
    csk_rwlock_t biased;
    make(&of_sections, &forms[0]);
    make(&biased, &forms[2]);
    STORE(&calls, 0);
    CHECK_STATUS(csk_rwlock_enqueue(&of_sections, &section, 2, CSK_NEVER, end_first, NULL), EINVAL);
    CHECK_STATUS(csk_rwlock_enqueue_write(&biased, &write, refused), ENOTSUP);
    CHECK_STATUS(enqueue_second(), 0);
    wait_until(LOAD(&calls) == 100);
    check_free(&of_sections);
    check_free(&biased);
}

TEST_MAIN(
    TEST(a_section_that_is_queued_twice_is_refused_and_stays_as_it_was), TEST(a_section_that_was_refused_may_be_queued),
    TEST(a_section_of_a_biased_lock_waits_for_readers_that_it_does_not_count),
    TEST(a_section_of_a_biased_lock_waits_for_a_reader_of_two_locks),
    TEST(a_section_of_a_biased_lock_times_out_among_its_readers), TEST(writes_in_a_row_count_until_they_begin),
    TEST(a_read_that_a_worker_cannot_adopt_is_given_back), TEST(a_free_lock_is_granted_at_once),
    TEST(what_cannot_be_done_is_refused_and_changes_nothing), TEST(only_what_was_granted_to_a_waiter_can_be_adopted),
    TEST(threads_and_functions_wait_in_one_order), TEST(readers_in_a_row_are_granted_together_and_count),
    TEST(a_hundred_thousand_functions_in_a_chain_need_no_stack), TEST(deadlines_and_cancellation_end_a_wait),
    TEST(a_free_lock_is_granted_though_the_deadline_has_passed),
    TEST(a_writer_that_is_cancelled_lets_in_the_readers_behind_it), TEST(of_grant_cancel_and_deadline_exactly_one_wins))
