/* rwlock_test.c: threads at the read-write lock: status codes, nesting, deadlines, order, changing sides.
 *
 * More than 400 lines: each promise to threads is a short test, and all use the same few threads and locks. */
#include "rwlock_fixture.h"

#include "readwrite/reads.h"

static void zero_filled_memory_is_a_free_lock(void) {
    static csk_rwlock_t initialized = CSK_RWLOCK_INITIALIZER;
    csk_rwlock_t filled;
    memset(&filled, 0, sizeof filled);
    csk_rwlock_t *locks[] = { &initialized, &filled };
    for (int i = 0; i < 2; i++) {
        CHECK_STATUS(csk_rwlock_unlock(locks[i]), EPERM);
        CHECK_STATUS(csk_rwlock_rdlock(locks[i]), 0);
        CHECK(csk_rwlock_is_reading(locks[i]) && !csk_rwlock_is_writing(locks[i]));
        CHECK_STATUS(csk_rwlock_unlock(locks[i]), 0);
        CHECK_STATUS(csk_rwlock_wrlock(locks[i]), 0);
        CHECK(!csk_rwlock_is_reading(locks[i]) && csk_rwlock_is_writing(locks[i]));
        CHECK_STATUS(csk_rwlock_unlock(locks[i]), 0);
        check_free(locks[i]);
    }
}

static void an_unknown_policy_is_refused(void) {
    csk_rwlock_t lock;
    csk_rwlock_attr_t attr = { .policy = 2 };
    CHECK_STATUS(csk_rwlock_init(&lock, &attr), EINVAL);
    attr.policy = UINT32_MAX;
    CHECK_STATUS(csk_rwlock_init(&lock, &attr), EINVAL);
    CHECK_STATUS(csk_rwlock_init(&lock, NULL), 0);
    check_free(&lock);
}

/* ---- Who holds what ---------------------------------------------------------------------------------------------- */

static void *holds_nothing_of_it(void *context) {
    csk_rwlock_t *lock = context;
    CHECK(!csk_rwlock_is_reading(lock) && !csk_rwlock_is_writing(lock));
    CHECK_STATUS(csk_rwlock_unlock(lock), EPERM);
    CHECK_STATUS(csk_rwlock_downgrade(lock), EPERM);
    CHECK_STATUS(csk_rwlock_timedupgrade(lock, CSK_NEVER), EPERM);
    CHECK_STATUS(csk_rwlock_tryupgrade(lock), EPERM);
    CHECK_STATUS(csk_rwlock_trywrlock(lock), EBUSY);
    CHECK_STATUS(csk_rwlock_destroy(lock), EBUSY);
    return NULL;
}

static void *reads_beside(void *lock) {
    CHECK_STATUS(csk_rwlock_tryrdlock(lock), 0);
    CHECK_STATUS(csk_rwlock_unlock(lock), 0);
    return NULL;
}

static void *may_not_read(void *lock) {
    CHECK_STATUS(csk_rwlock_tryrdlock(lock), EBUSY);
    return NULL;
}

static void a_writer_that_locks_again_is_told_so(void) {
    FOR_EACH_FORM(form) {
        csk_rwlock_t lock;
        make(&lock, form);
        CHECK_STATUS(csk_rwlock_wrlock(&lock), 0);
        CHECK_STATUS(csk_rwlock_wrlock(&lock), EDEADLK);
        CHECK_STATUS(csk_rwlock_rdlock(&lock), EDEADLK);
        CHECK_STATUS(csk_rwlock_trywrlock(&lock), EDEADLK);
        CHECK_STATUS(csk_rwlock_tryrdlock(&lock), EDEADLK);
        CHECK_STATUS(csk_rwlock_timedwrlock(&lock, csk_deadline_after(1000)), EDEADLK);
        CHECK_STATUS(csk_rwlock_timedrdlock(&lock, 0), EDEADLK);
        CHECK_STATUS(csk_rwlock_timedupgrade(&lock, CSK_NEVER), EPERM);
        CHECK_STATUS(csk_rwlock_tryupgrade(&lock), EPERM);
        CHECK_STATUS(csk_rwlock_destroy(&lock), EBUSY);
        in_another_thread(holds_nothing_of_it, &lock);
        in_another_thread(may_not_read, &lock);
        CHECK(csk_rwlock_is_writing(&lock) && !csk_rwlock_is_reading(&lock));
        CHECK_STATUS(csk_rwlock_unlock(&lock), 0);
        check_free(&lock);
    }
}

static void a_reader_that_asks_for_the_write_lock_is_told_so(void) {
    FOR_EACH_FORM(form) {
        csk_rwlock_t lock;
        make(&lock, form);
        CHECK_STATUS(csk_rwlock_rdlock(&lock), 0);
        CHECK_STATUS(csk_rwlock_wrlock(&lock), EDEADLK);
        CHECK_STATUS(csk_rwlock_trywrlock(&lock), EDEADLK);
        CHECK_STATUS(csk_rwlock_timedwrlock(&lock, INT64_MIN), EDEADLK);
        CHECK_STATUS(csk_rwlock_downgrade(&lock), EPERM);
        CHECK_STATUS(csk_rwlock_destroy(&lock), EBUSY);
        in_another_thread(holds_nothing_of_it, &lock);
        in_another_thread(reads_beside, &lock);
        CHECK(csk_rwlock_is_reading(&lock) && !csk_rwlock_is_writing(&lock));
        CHECK_STATUS(csk_rwlock_unlock(&lock), 0);
        check_free(&lock);
    }
}

static void reads_nest_and_only_the_last_level_leaves(void) {
    FOR_EACH_FORM(form) {
        csk_rwlock_t lock;
        make(&lock, form);
        for (int i = 0; i < 1000; i++) {
            int64_t deadline_ns = i % 2 ? CSK_NEVER : INT64_MIN;
            CHECK_STATUS(i % 3 ? csk_rwlock_timedrdlock(&lock, deadline_ns) : csk_rwlock_tryrdlock(&lock), 0);
        }
        for (int i = 0; i < 1000; i++) {
            if (i % 100 == 0 || i == 999) in_another_thread(holds_nothing_of_it, &lock);
            CHECK(csk_rwlock_is_reading(&lock));
            CHECK_STATUS(csk_rwlock_unlock(&lock), 0);
        }
        CHECK(!csk_rwlock_is_reading(&lock));
        check_free(&lock);
    }
}

/* Inline, but where the checker of lock order is told of read-write locks, and at a lock whose bias needs a membarrier
 * that the system refuses. */
static bool enters_read(csk_rwlock_t *lock) {
#ifdef CSK_LOCK_ORDER
    bool is_inline = false;
#else
    bool is_inline = !lock->reader_bias || csk_platform_has_membarrier();
#endif
    return is_inline ? csk_rwlock_enter_read(lock) : !csk_rwlock_enter_read(lock) && csk_rwlock_rdlock(lock) == 0;
}

static void the_end_of_a_scope_leaves_one_level_in_whatever_order_locks_are_left(void) {
    FOR_EACH_FORM(form) {
        csk_rwlock_t lock, other;
        make(&lock, form);
        make(&other, form);
        CHECK_STATUS(csk_rwlock_rdlock(&other), 0); /* gives the thread its record */
        csk_rwlock_leave_read(&other);
        CHECK(enters_read(&lock));
        CHECK(!csk_rwlock_enter_read(&lock) && !csk_rwlock_enter_read(&other)); /* the thread reads already */
        CHECK_STATUS(csk_rwlock_rdlock(&lock), 0);
        CHECK_STATUS(csk_rwlock_rdlock(&other), 0);
        csk_rwlock_leave_read(&lock);
        CHECK(csk_rwlock_is_reading(&lock) && csk_rwlock_is_reading(&other));
        csk_rwlock_leave_read(&lock);
        CHECK(!csk_rwlock_is_reading(&lock) && csk_rwlock_is_reading(&other));
        csk_rwlock_leave_read(&other);
        check_free(&lock);
        check_free(&other);
        CHECK_STATUS(csk_rwlock_wrlock(&lock), 0);
        CHECK(!csk_rwlock_enter_read(&lock));
        CHECK_STATUS(csk_rwlock_unlock(&lock), 0);
        CHECK_STATUS(csk_rwlock_unlock(&lock), EPERM);
    }
}

static void *read_for_ever(void *context) {
    csk_rwlock_t *lock = context;
    CHECK_STATUS(csk_rwlock_timedrdlock(lock, csk_deadline_after(1000)), ETIMEDOUT);
    CHECK_STATUS(csk_rwlock_timedrdlock(lock, 0), ETIMEDOUT);
    CHECK_STATUS(csk_rwlock_tryrdlock(lock), EBUSY);
    return NULL;
}

static void a_reader_reads_once_more_though_a_writer_waits_and_others_do_not(void) {
    FOR_EACH_FORM(form) {
        csk_rwlock_t lock;
        visitor_t writer;
        make(&lock, form);
        CHECK_STATUS(csk_rwlock_rdlock(&lock), 0);
        call_visitor(&writer, &lock, WRITES);
        wait_until(csk_rwlock_waiting(&lock) == 1);
        in_another_thread(read_for_ever, &lock);
        for (int i = 0; i < 10; i++) CHECK_STATUS(csk_rwlock_rdlock(&lock), 0);
        CHECK_STATUS(csk_rwlock_tryrdlock(&lock), 0);
        for (int i = 0; i < 12; i++) {
            CHECK(!LOAD(&writer.inside));
            CHECK_STATUS(csk_rwlock_unlock(&lock), 0);
        }
        wait_until(LOAD(&writer.inside));
        in_another_thread(holds_nothing_of_it, &lock);
        send_away(&writer);
        check_free(&lock);
    }
}

/* What ThreadSanitizer is to judge: a reader that enters without the word has a writer's changes from the bias alone.
 * The flag orders nothing. */
struct late_reader {
    csk_rwlock_t lock;
    int data, go;
};

static void *read_when_told(void *context) {
    struct late_reader *reader = context;
    wait_until(__atomic_load_n(&reader->go, __ATOMIC_RELAXED));
    CHECK_STATUS(csk_rwlock_rdlock(&reader->lock), 0);
    CHECK_EQ(reader->data, 1);
    CHECK_STATUS(csk_rwlock_unlock(&reader->lock), 0);
    return NULL;
}

static void a_reader_sees_what_was_written_before_the_bias_came_back(void) {
    FOR_EACH_FORM(form) {
        struct late_reader reader = { .data = 0 };
        make(&reader.lock, form);
        pthread_t thread = start_thread(read_when_told, &reader);
        CHECK_STATUS(csk_rwlock_wrlock(&reader.lock), 0);
        reader.data = 1;
        CHECK_STATUS(csk_rwlock_unlock(&reader.lock), 0);
        for (int i = 0; i < 1000010; i++) {
            CHECK_STATUS(csk_rwlock_rdlock(&reader.lock), 0);
            CHECK_STATUS(csk_rwlock_unlock(&reader.lock), 0);
        }
        __atomic_store_n(&reader.go, 1, __ATOMIC_RELAXED);
        join_thread(thread);
        check_free(&reader.lock);
    }
}

/* ---- Many locks at once ------------------------------------------------------------------------------------------ */

enum { MANY = 300 };
static csk_rwlock_t many[MANY];

static void *finds_all_read(void *context) {
    (void)context;
    for (int i = 0; i < MANY; i++) {
        CHECK_STATUS(csk_rwlock_trywrlock(&many[i]), EBUSY);
        CHECK_STATUS(csk_rwlock_unlock(&many[i]), EPERM);
        CHECK_STATUS(csk_rwlock_tryrdlock(&many[i]), 0);
    }
    for (int i = 0; i < MANY; i++) CHECK_STATUS(csk_rwlock_unlock(&many[i]), 0);
    return NULL;
}

static void one_thread_reads_hundreds_of_locks_at_once(void) {
    uint64_t random = test_seed(1);
    for (int i = 0; i < MANY; i++) make(&many[i], &forms[i % FORMS]);
    for (int i = 0; i < MANY; i++)
        for (int level = 0; level <= i % 3; level++) CHECK_STATUS(csk_rwlock_rdlock(&many[i]), 0);
    in_another_thread(finds_all_read, NULL);
    int order[MANY];
    for (int i = 0; i < MANY; i++) {
        int place = (int)test_random_below(&random, (uint64_t)i + 1);
        order[i] = order[place];
        order[place] = i;
    }
    for (int i = 0; i < MANY; i++) {
        csk_rwlock_t *lock = &many[order[i]];
        CHECK_STATUS(csk_rwlock_wrlock(lock), EDEADLK);
        for (int level = 0; level <= order[i] % 3; level++) CHECK_STATUS(csk_rwlock_unlock(lock), 0);
        CHECK(!csk_rwlock_is_reading(lock));
    }
    for (int i = 0; i < MANY; i++) check_free(&many[i]);
}

/* One thread, many locks: each status is what a table of levels says. WRITING in the table: the write lock. */
enum { TABLE = 40, WRITING = -1 };

static void check_step(csk_rwlock_t *lock, int *levels, uint64_t *random) {
    bool reads = *levels > 0, writes = *levels == WRITING;
    switch (test_random_below(random, 8)) {
    case 0:
    case 1:
        CHECK_STATUS(test_random_below(random, 2) ? csk_rwlock_rdlock(lock) : csk_rwlock_tryrdlock(lock),
                     writes ? EDEADLK : 0);
        if (!writes) ++*levels;
        break;
    case 2:
        CHECK_STATUS(test_random_below(random, 2) ? csk_rwlock_wrlock(lock) : csk_rwlock_trywrlock(lock),
                     *levels != 0 ? EDEADLK : 0);
        if (*levels == 0) *levels = WRITING;
        break;
    case 3:
        CHECK_STATUS(csk_rwlock_downgrade(lock), writes ? 0 : EPERM);
        if (writes) *levels = 1;
        break;
    case 4:
        CHECK_STATUS(test_random_below(random, 2) ? csk_rwlock_tryupgrade(lock)
                                                  : csk_rwlock_timedupgrade(lock, CSK_NEVER),
                     !reads         ? EPERM
                     : *levels == 1 ? 0
                                    : EDEADLK);
        if (*levels == 1) *levels = WRITING;
        break;
    default:
        CHECK_STATUS(csk_rwlock_unlock(lock), *levels == 0 ? EPERM : 0);
        if (*levels > 0) --*levels;
        else *levels = 0;
    }
    CHECK_EQ(csk_rwlock_is_reading(lock), *levels > 0);
    CHECK_EQ(csk_rwlock_is_writing(lock), *levels == WRITING);
}

static void *follow_the_table(void *context) {
    static csk_rwlock_t locks[TABLE];
    int levels[TABLE] = { 0 };
    uint64_t random = test_seed((uint64_t)(uintptr_t)context);
    for (int i = 0; i < TABLE; i++) CHECK_STATUS(csk_rwlock_init(&locks[i], &forms[i % FORMS]), 0);
    for (int step = 0; step < 200000 / TEST_SLOWDOWN; step++) {
        int which = (int)test_random_below(&random, TABLE);
        check_step(&locks[which], &levels[which], &random);
    }
    for (int i = 0; i < TABLE; i++) {
        for (; levels[i] != 0; levels[i] -= levels[i] > 0 ? 1 : WRITING) CHECK_STATUS(csk_rwlock_unlock(&locks[i]), 0);
        check_free(&locks[i]);
    }
    return NULL;
}

static void each_status_is_what_a_table_of_levels_says(void) {
    for (intptr_t i = 0; i < 4; i++) in_another_thread(follow_the_table, (void *)i);
}

/* ---- Deadlines --------------------------------------------------------------------------------------------------- */

static const int64_t passed[] = { INT64_MIN, INT64_MIN + 1, -1, 0, 1 };
enum { PASSED = sizeof passed / sizeof passed[0] };

static void a_deadline_that_has_passed_tries_once(void) {
    FOR_EACH_FORM(form) {
        csk_rwlock_t lock;
        make(&lock, form);
        for (int i = 0; i < PASSED; i++) {
            CHECK_STATUS(csk_rwlock_timedwrlock(&lock, passed[i]), 0);
            CHECK_STATUS(csk_rwlock_downgrade(&lock), 0);
            CHECK_STATUS(csk_rwlock_timedupgrade(&lock, passed[i]), 0);
            CHECK_STATUS(csk_rwlock_unlock(&lock), 0);
            CHECK_STATUS(csk_rwlock_timedrdlock(&lock, passed[i]), 0);
            CHECK_STATUS(csk_rwlock_unlock(&lock), 0);
        }
        visitor_t visitor;
        let_in_visitor(&visitor, &lock, WRITES);
        for (int i = 0; i < PASSED; i++) {
            CHECK_STATUS(csk_rwlock_timedrdlock(&lock, passed[i]), ETIMEDOUT);
            CHECK_STATUS(csk_rwlock_timedwrlock(&lock, passed[i]), ETIMEDOUT);
        }
        send_away(&visitor);
        let_in_visitor(&visitor, &lock, READS);
        for (int i = 0; i < PASSED; i++) {
            CHECK_STATUS(csk_rwlock_timedwrlock(&lock, passed[i]), ETIMEDOUT);
            CHECK_STATUS(csk_rwlock_timedrdlock(&lock, passed[i]), 0);
            CHECK_STATUS(csk_rwlock_timedupgrade(&lock, passed[i]), ETIMEDOUT);
            CHECK(csk_rwlock_is_reading(&lock));
            CHECK_STATUS(csk_rwlock_unlock(&lock), 0);
        }
        send_away(&visitor);
        check_free(&lock);
    }
}

static void no_timeout_is_early(void) {
    FOR_EACH_FORM(form) {
        csk_rwlock_t lock;
        visitor_t visitor;
        make(&lock, form);
        for (int round = 0; round < 12; round++) {
            let_in_visitor(&visitor, &lock, round % 3 == 0 ? WRITES : READS);
            int64_t deadline_ns = csk_deadline_after(500000);
            switch (round % 3) {
            case 0: CHECK_STATUS(csk_rwlock_timedrdlock(&lock, deadline_ns), ETIMEDOUT); break;
            case 1: CHECK_STATUS(csk_rwlock_timedwrlock(&lock, deadline_ns), ETIMEDOUT); break;
            default:
                CHECK_STATUS(csk_rwlock_rdlock(&lock), 0);
                deadline_ns = csk_deadline_after(500000);
                CHECK_STATUS(csk_rwlock_timedupgrade(&lock, deadline_ns), ETIMEDOUT);
                CHECK(csk_now() >= deadline_ns && csk_rwlock_is_reading(&lock));
                CHECK_STATUS(csk_rwlock_unlock(&lock), 0);
            }
            CHECK_GE(csk_now(), deadline_ns);
            send_away(&visitor);
        }
        check_free(&lock);
    }
}

static void *write_until(void *context) {
    int64_t deadline_ns = csk_deadline_after(20000000);
    CHECK_STATUS(csk_rwlock_timedwrlock(context, deadline_ns), ETIMEDOUT);
    CHECK_GE(csk_now(), deadline_ns);
    return NULL;
}

static void a_writer_that_gives_up_lets_in_the_readers_behind_it(void) {
    FOR_EACH_FORM(form) {
        csk_rwlock_t lock;
        visitor_t readers[3];
        make(&lock, form);
        CHECK_STATUS(csk_rwlock_rdlock(&lock), 0);
        pthread_t writer = start_thread(write_until, &lock);
        wait_until(csk_rwlock_waiting(&lock) == 1);
        for (int i = 0; i < 3; i++) call_visitor(&readers[i], &lock, READS);
        for (int i = 0; i < 3; i++) wait_until(LOAD(&readers[i].inside));
        join_thread(writer);
        for (int i = 0; i < 3; i++) send_away(&readers[i]);
        CHECK_STATUS(csk_rwlock_unlock(&lock), 0);
        check_free(&lock);
    }
}

/* ---- Order ------------------------------------------------------------------------------------------------------- */

/* Those who are to be inside together; a writer is a group of its own. */
struct group {
    int size, inside, left;
};
struct guest {
    csk_rwlock_t *lock;
    char mode;
    int group;
};
static struct group groups[64];
static int groups_done;

static void *come_and_go(void *context) {
    struct guest *guest = context;
    struct group *group = &groups[guest->group];
    CHECK_STATUS(guest->mode == 'w' ? csk_rwlock_wrlock(guest->lock) : csk_rwlock_rdlock(guest->lock), 0);
    CHECK_EQ(LOAD(&groups_done), guest->group);
    ADD(&group->inside, 1);
    wait_until(LOAD(&group->inside) == group->size);
    if (ADD(&group->left, 1) == group->size) ADD(&groups_done, 1);
    CHECK_STATUS(csk_rwlock_unlock(guest->lock), 0);
    return NULL;
}

static void check_order(const csk_rwlock_attr_t *form, const char *arrivals) {
    csk_rwlock_t lock;
    struct guest guests[64];
    pthread_t threads[64];
    int count = (int)strlen(arrivals), group = -1;
    make(&lock, form);
    memset(groups, 0, sizeof groups);
    groups_done = 0;
    for (int i = 0; i < count; i++) {
        if (i == 0 || arrivals[i] == 'w' || arrivals[i - 1] == 'w') group++;
        guests[i] = (struct guest){ &lock, arrivals[i], group };
        groups[group].size++;
    }
    CHECK_STATUS(csk_rwlock_wrlock(&lock), 0);
    for (int i = 0; i < count; i++) {
        threads[i] = start_thread(come_and_go, &guests[i]);
        wait_until(csk_rwlock_waiting(&lock) == (uint32_t)i + 1);
    }
    CHECK_STATUS(csk_rwlock_destroy(&lock), EBUSY);
    CHECK_STATUS(csk_rwlock_unlock(&lock), 0);
    for (int i = 0; i < count; i++) join_thread(threads[i]);
    CHECK_EQ(groups_done, group + 1);
    check_free(&lock);
}

static void arrival_decides_and_readers_in_a_row_enter_together(void) {
    FOR_EACH_FORM(form) {
        check_order(form, "rrrrrrrrrr");
        check_order(form, "wwwwwwwwww");
        check_order(form, "rwrwrwrwrw");
        check_order(form, "wrrwrrrwwrwrrrrrrwwwrr");
        check_order(form, "rrwrrrrwrwwwrrrrrrrrrw");
    }
}

/* ---- Changing sides ---------------------------------------------------------------------------------------------- */

static void a_downgrade_lets_in_the_readers_next_in_order_and_no_writer(void) {
    FOR_EACH_FORM(form) {
        csk_rwlock_t lock;
        visitor_t readers[2], writer, late;
        make(&lock, form);
        CHECK_STATUS(csk_rwlock_wrlock(&lock), 0);
        visitor_t *arrivals[] = { &readers[0], &readers[1], &writer, &late };
        for (uint32_t i = 0; i < 4; i++) {
            call_visitor(arrivals[i], &lock, i == 2 ? WRITES : READS);
            wait_until(csk_rwlock_waiting(&lock) == i + 1);
        }
        CHECK_STATUS(csk_rwlock_downgrade(&lock), 0);
        CHECK(csk_rwlock_is_reading(&lock) && !csk_rwlock_is_writing(&lock));
        wait_until(LOAD(&readers[0].inside) && LOAD(&readers[1].inside));
        CHECK_EQ(csk_rwlock_waiting(&lock), 2);
        send_away(&readers[0]);
        send_away(&readers[1]);
        CHECK(!LOAD(&writer.inside) && !LOAD(&late.inside));
        CHECK_STATUS(csk_rwlock_unlock(&lock), 0);
        wait_until(LOAD(&writer.inside));
        CHECK(!LOAD(&late.inside));
        send_away(&writer);
        wait_until(LOAD(&late.inside));
        send_away(&late);
        check_free(&lock);
    }
}

static void an_upgrade_among_other_readers_waits_and_on_any_error_goes_on_reading(void) {
    FOR_EACH_FORM(form) {
        csk_rwlock_t lock;
        visitor_t other;
        make(&lock, form);
        CHECK_STATUS(csk_rwlock_rdlock(&lock), 0);
        let_in_visitor(&other, &lock, READS);
        CHECK_STATUS(csk_rwlock_tryupgrade(&lock), EBUSY);
        CHECK_STATUS(csk_rwlock_timedupgrade(&lock, csk_deadline_after(1000000)), ETIMEDOUT);
        CHECK_STATUS(csk_rwlock_rdlock(&lock), 0);
        CHECK_STATUS(csk_rwlock_timedupgrade(&lock, CSK_NEVER), EDEADLK);
        CHECK_STATUS(csk_rwlock_tryupgrade(&lock), EDEADLK);
        CHECK_STATUS(csk_rwlock_unlock(&lock), 0);
        CHECK(csk_rwlock_is_reading(&lock));
        in_another_thread(reads_beside, &lock);
        send_away(&other);
        CHECK_STATUS(csk_rwlock_tryupgrade(&lock), 0);
        CHECK(csk_rwlock_is_writing(&lock) && !csk_rwlock_is_reading(&lock));
        in_another_thread(holds_nothing_of_it, &lock);
        CHECK_STATUS(csk_rwlock_unlock(&lock), 0);
        check_free(&lock);
    }
}

struct upgrader {
    csk_rwlock_t *lock;
    int reads, go, status, done, leave;
};

static void *upgrade_when_told(void *context) {
    struct upgrader *upgrader = context;
    CHECK_STATUS(csk_rwlock_rdlock(upgrader->lock), 0);
    STORE(&upgrader->reads, 1);
    wait_until(LOAD(&upgrader->go));
    STORE(&upgrader->status, csk_rwlock_timedupgrade(upgrader->lock, CSK_NEVER));
    STORE(&upgrader->done, 1);
    wait_until(LOAD(&upgrader->leave));
    CHECK_STATUS(csk_rwlock_unlock(upgrader->lock), 0);
    return NULL;
}

static pthread_t start_upgrader(struct upgrader *upgrader, csk_rwlock_t *lock) {
    *upgrader = (struct upgrader){ .lock = lock };
    pthread_t thread = start_thread(upgrade_when_told, upgrader);
    wait_until(LOAD(&upgrader->reads));
    return thread;
}

static void of_two_upgraders_the_second_is_told_and_the_first_goes_on(void) {
    FOR_EACH_FORM(form) {
        csk_rwlock_t lock;
        struct upgrader first;
        make(&lock, form);
        pthread_t thread = start_upgrader(&first, &lock);
        CHECK_STATUS(csk_rwlock_rdlock(&lock), 0);
        STORE(&first.go, 1);
        wait_until(csk_rwlock_waiting(&lock) == 1);
        CHECK_STATUS(csk_rwlock_timedupgrade(&lock, CSK_NEVER), EDEADLK);
        CHECK_STATUS(csk_rwlock_tryupgrade(&lock), EBUSY);
        CHECK(csk_rwlock_is_reading(&lock) && !LOAD(&first.done));
        in_another_thread(may_not_read, &lock);
        CHECK_STATUS(csk_rwlock_unlock(&lock), 0);
        wait_until(LOAD(&first.done));
        CHECK_STATUS(first.status, 0);
        in_another_thread(holds_nothing_of_it, &lock);
        STORE(&first.leave, 1);
        join_thread(thread);
        check_free(&lock);
    }
}

static void an_upgrade_goes_before_every_waiter(void) {
    FOR_EACH_FORM(form) {
        csk_rwlock_t lock;
        struct upgrader upgrader;
        visitor_t writer, reader;
        make(&lock, form);
        pthread_t thread = start_upgrader(&upgrader, &lock);
        CHECK_STATUS(csk_rwlock_rdlock(&lock), 0);
        call_visitor(&writer, &lock, WRITES);
        wait_until(csk_rwlock_waiting(&lock) == 1);
        call_visitor(&reader, &lock, READS);
        wait_until(csk_rwlock_waiting(&lock) == 2);
        STORE(&upgrader.go, 1);
        if (marks_its_readers(form)) {
            /* The writer waits for these very readers. */
            wait_until(LOAD(&upgrader.done));
            CHECK_STATUS(upgrader.status, EDEADLK);
        } else {
            wait_until(csk_rwlock_waiting(&lock) == 3);
        }
        CHECK_STATUS(csk_rwlock_unlock(&lock), 0);
        wait_until(LOAD(&upgrader.done));
        if (!marks_its_readers(form)) CHECK_STATUS(upgrader.status, 0);
        CHECK(!LOAD(&writer.inside) && !LOAD(&reader.inside));
        STORE(&upgrader.leave, 1);
        join_thread(thread);
        wait_until(LOAD(&writer.inside));
        CHECK(!LOAD(&reader.inside));
        send_away(&writer);
        wait_until(LOAD(&reader.inside));
        send_away(&reader);
        check_free(&lock);
    }
}

/* A writer that waits for a reader for long says nothing of what the bias is worth. */
static void the_bias_comes_back_after_a_million_reads_at_most(void) {
    FOR_EACH_FORM(form) {
        if (!marks_its_readers(form)) continue;
        csk_rwlock_t lock;
        visitor_t reader, writer;
        make(&lock, form);
        let_in_visitor(&reader, &lock, READS);
        call_visitor(&writer, &lock, WRITES);
        wait_until(csk_rwlock_waiting(&lock) == 1);
        int64_t until_ns = csk_deadline_after(2000000);
        wait_until(csk_now() >= until_ns);
        send_away(&reader);
        wait_until(LOAD(&writer.inside));
        CHECK_LE(LOAD(&lock.reads_until_bias), 1000000);
        send_away(&writer);
        check_free(&lock);
    }
}

/* As after so many calls. */
static void a_level_too_many_is_refused(void) {
    FOR_EACH_FORM(form) {
        csk_rwlock_t lock;
        make(&lock, form);
        CHECK_STATUS(csk_rwlock_rdlock(&lock), 0);
        csk_reads_find(&lock)->levels = UINT32_MAX;
        CHECK_STATUS(csk_rwlock_rdlock(&lock), EAGAIN);
        CHECK_STATUS(csk_rwlock_tryrdlock(&lock), EAGAIN);
        csk_reads_find(&lock)->levels = 1;
        CHECK_STATUS(csk_rwlock_unlock(&lock), 0);
        check_free(&lock);
    }
}

TEST_MAIN(TEST(zero_filled_memory_is_a_free_lock), TEST(an_unknown_policy_is_refused),
          TEST(a_writer_that_locks_again_is_told_so), TEST(a_reader_that_asks_for_the_write_lock_is_told_so),
          TEST(reads_nest_and_only_the_last_level_leaves),
          TEST(the_end_of_a_scope_leaves_one_level_in_whatever_order_locks_are_left),
          TEST(a_reader_reads_once_more_though_a_writer_waits_and_others_do_not),
          TEST(a_reader_sees_what_was_written_before_the_bias_came_back),
          TEST(one_thread_reads_hundreds_of_locks_at_once), TEST(each_status_is_what_a_table_of_levels_says),
          TEST(a_level_too_many_is_refused), TEST(the_bias_comes_back_after_a_million_reads_at_most),
          TEST(a_deadline_that_has_passed_tries_once), TEST(no_timeout_is_early),
          TEST(a_writer_that_gives_up_lets_in_the_readers_behind_it),
          TEST(arrival_decides_and_readers_in_a_row_enter_together),
          TEST(a_downgrade_lets_in_the_readers_next_in_order_and_no_writer),
          TEST(an_upgrade_among_other_readers_waits_and_on_any_error_goes_on_reading),
          TEST(of_two_upgraders_the_second_is_told_and_the_first_goes_on), TEST(an_upgrade_goes_before_every_waiter))
