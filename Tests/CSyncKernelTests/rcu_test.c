/* rcu_test.c: sections and levels, threads that come and go, what is reclaimed when, the limit, misuse. */
#include <csynckernel/csynckernel.h>
#include <limits.h>

#include "rcu_fixture.h"

static void *leave_a_section_open(void *unused) {
    CHECK_STATUS(csk_rcu_read_lock(), 0);
    return unused;
}
static void *do_nothing(void *unused) { return unused; }

/* It comes first: the library may have asked the system for nothing yet. Later threads have the memory of the one that
 * has ended. */
static void an_open_section_ends_with_its_thread_where_no_key_is_left(void) {
    pthread_key_t keys[PTHREAD_KEYS_MAX];
    int count = 0;
    while (count < PTHREAD_KEYS_MAX && pthread_key_create(&keys[count], NULL) == 0) count++;
    join_thread(start_thread(leave_a_section_open, NULL));
    for (int i = 0; i < 2; i++) join_thread(start_thread(do_nothing, NULL));
    CHECK_STATUS(csk_rcu_barrier(), 0);
    while (count > 0) pthread_key_delete(keys[--count]);
}

static void sections_have_levels(void) {
    CHECK(!csk_rcu_is_reading());
    CHECK_STATUS(csk_rcu_read_unlock(), EPERM);
    for (int level = 0; level < 100; level++) CHECK_STATUS(csk_rcu_read_lock(), 0);
    for (int level = 0; level < 100; level++) {
        CHECK(csk_rcu_is_reading());
        CHECK_STATUS(csk_rcu_read_unlock(), 0);
    }
    CHECK(!csk_rcu_is_reading());
    CHECK_STATUS(csk_rcu_read_unlock(), EPERM);
    CHECK_STATUS(csk_rcu_barrier(), 0);
}

/* As after so many calls. Without membarrier nobody else knows where the word is. */
static void a_level_too_many_is_refused(void) {
    CHECK_STATUS(csk_rcu_read_lock(), 0);
    unsigned long *word = csk_rcu_levels;
    if (word != NULL) {
        unsigned long before = LOAD(word);
        STORE(word, before | UINT32_MAX);
        CHECK_STATUS(csk_rcu_read_lock(), EAGAIN);
        STORE(word, before);
    }
    CHECK_STATUS(csk_rcu_read_unlock(), 0);
    CHECK(!csk_rcu_is_reading());
}

static void ask_inside(csk_rcu_node_t *node) {
    int *statuses = node->context;
    statuses[0] = csk_rcu_barrier();
    STORE(&statuses[1], 1);
}

static void waiting_for_oneself_is_refused(void) {
    CHECK_STATUS(csk_rcu_read_lock(), 0);
    CHECK_STATUS(csk_rcu_barrier(), EDEADLK);
    CHECK_STATUS(csk_rcu_read_unlock(), 0);
    int statuses[2] = { 0 };
    csk_rcu_node_t node = { .context = statuses };
    CHECK_STATUS(csk_rcu_retire(&node, NULL), EINVAL);
    CHECK_STATUS(csk_rcu_retire(&node, ask_inside), 0);
    CHECK_STATUS(csk_rcu_barrier(), 0);
    CHECK_EQ(LOAD(&statuses[1]), 1);
    CHECK_STATUS(statuses[0], EDEADLK);
    CHECK_STATUS(csk_rcu_set_limit(0), EINVAL);
}

struct reader {
    int inside, leave;
};

static void *read_until_told(void *context) {
    struct reader *reader = context;
    CHECK_STATUS(csk_rcu_read_lock(), 0);
    STORE(&reader->inside, 1);
    wait_until(LOAD(&reader->leave));
    CHECK_STATUS(csk_rcu_read_unlock(), 0);
    return NULL;
}

static pthread_t start_reader(struct reader *reader) {
    *reader = (struct reader){ 0, 0 };
    pthread_t thread = start_thread(read_until_told, reader);
    wait_until(LOAD(&reader->inside));
    return thread;
}

static void *run_barrier(void *passed) {
    CHECK_STATUS(csk_rcu_barrier(), 0);
    STORE((int *)passed, 1);
    return NULL;
}

/* The barrier can't end before the section: what it waits for can't either. */
static void nothing_is_reclaimed_under_a_reader(void) {
    struct reader reader;
    pthread_t thread = start_reader(&reader);
    int freed = 0, passed = 0;
    for (int i = 0; i < 100; i++) retire_one(&freed);
    pthread_t waits = start_thread(run_barrier, &passed);
    for (int i = 0; i < 1000; i++) {
        sched_yield();
        CHECK_EQ(LOAD(&freed) + LOAD(&passed), 0);
    }
    CHECK_GE(csk_rcu_pending(), 100);
    STORE(&reader.leave, 1);
    join_thread(waits);
    CHECK_EQ(freed, 100);
    join_thread(thread);
    CHECK_EQ(csk_rcu_pending(), 0);
}

/* The barrier itself is nothing that is retired. */
static void nothing_is_pending_after_a_barrier(void) {
    int freed = 0;
    for (int i = 0; i < 1000; i++) {
        if (i % 2 == 0) retire_one(&freed);
        CHECK_STATUS(csk_rcu_barrier(), 0);
        CHECK_EQ(csk_rcu_pending(), 0);
    }
    CHECK_EQ(freed, 500);
}

static void retire_two(int *freed) {
    retire_one(freed);
    retire_one(freed);
}

/* Past the limit a call is slowed, for 10 ms; but it returns although the reader stays. A reader itself is not
 * slowed. */
static void the_limit_slows_and_never_hangs(void) {
    CHECK_STATUS(csk_rcu_set_limit(50), 0);
    struct reader reader;
    pthread_t thread = start_reader(&reader);
    int freed = 0;
    while (csk_rcu_pending() < 50) retire_one(&freed);
    int64_t begin = csk_now();
    retire_two(&freed);
    CHECK_GE(csk_now() - begin, 2 * 10000000);
    CHECK_EQ(LOAD(&freed), 0);
    STORE(&reader.leave, 1);
    join_thread(thread);
    CHECK_STATUS(csk_rcu_barrier(), 0);
    CHECK_EQ(freed, 52);
    CHECK_STATUS(csk_rcu_read_lock(), 0);
    for (int i = 0; i < 200; i++) retire_one(&freed);
    CHECK_STATUS(csk_rcu_read_unlock(), 0);
    CHECK_STATUS(csk_rcu_barrier(), 0);
    CHECK_EQ(freed, 252);
    CHECK_STATUS(csk_rcu_set_limit(32768), 0);
}

static uint64_t most_pending;

static void *retire_many(void *freed) {
    for (int i = 0; i < TEST_ROUNDS(50000); i++) {
        retire_one(freed);
        uint64_t pending = csk_rcu_pending();
        if (pending > LOAD(&most_pending)) STORE(&most_pending, pending);
    }
    return NULL;
}

static void the_backlog_is_bounded(void) {
    CHECK_STATUS(csk_rcu_set_limit(2000), 0);
    int freed = 0;
    pthread_t threads[4];
    for (int i = 0; i < 4; i++) threads[i] = start_thread(retire_many, &freed);
    for (int i = 0; i < 4; i++) join_thread(threads[i]);
    CHECK_STATUS(csk_rcu_barrier(), 0);
    CHECK_EQ(freed, 4 * TEST_ROUNDS(50000));
    /* Each of four threads may overstep by one for each 10 ms that a grace period takes longer; none does while nobody
     * reads. */
    CHECK_LE(most_pending, 2000 + 4 * 50);
    CHECK_STATUS(csk_rcu_set_limit(32768), 0);
}

/* ---- Threads ----------------------------------------------------------------------------------------------------- */

/* A thread that stayed registered, inside a section, would hold up all reclaiming. */
static void threads_come_and_go(void) {
    int freed = 0;
    for (int round = 0; round < TEST_ROUNDS(500); round++) {
        pthread_t threads[4];
        for (int i = 0; i < 4; i++) threads[i] = start_thread(read_once, NULL);
        retire_one(&freed);
        for (int i = 0; i < 4; i++) join_thread(threads[i]);
    }
    CHECK_STATUS(csk_rcu_barrier(), 0);
    CHECK_EQ(freed, TEST_ROUNDS(500));
}

static void *leave_open(void *unused) {
    for (int level = 0; level < 3; level++) CHECK_STATUS(csk_rcu_read_lock(), 0);
    return unused;
}

static void an_open_section_ends_with_its_thread(void) {
    join_thread(start_thread(leave_open, NULL));
    CHECK_STATUS(csk_rcu_barrier(), 0);
}

static pthread_key_t late_key;
static int late_reads;

/* Comes again in each round of destructors: before and after the thread was unregistered. */
static void read_late(void *left) {
    CHECK_STATUS(csk_rcu_read_lock(), 0);
    CHECK_STATUS(csk_rcu_read_lock(), 0);
    CHECK_STATUS(csk_rcu_read_unlock(), 0);
    CHECK(csk_rcu_is_reading());
    retire_one(&late_reads);
    CHECK_STATUS(csk_rcu_read_unlock(), 0);
    CHECK_STATUS(csk_rcu_read_unlock(), EPERM);
    if ((intptr_t)left > 1) pthread_setspecific(late_key, (void *)((intptr_t)left - 1));
}

/* What reads in one round is unregistered by liburcu in the next. ThreadSanitizer has forgotten the thread in the
 * last. */
#ifdef __SANITIZE_THREAD__
enum { LATE_ROUNDS = 2 };
#else
enum { LATE_ROUNDS = 3 };
#endif

static void *end_late(void *unused) {
    pthread_setspecific(late_key, (void *)(intptr_t)LATE_ROUNDS);
    read_once(NULL);
    return unused;
}

static void destructors_may_read_after_the_thread_was_unregistered(void) {
    CHECK_EQ(pthread_key_create(&late_key, read_late), 0);
    for (int i = 0; i < 20; i++) join_thread(start_thread(end_late, NULL));
    CHECK_STATUS(csk_rcu_barrier(), 0);
    CHECK_EQ(late_reads, 20 * LATE_ROUNDS);
    pthread_key_delete(late_key);
}

static void begin_late(void *unused) {
    (void)unused;
    CHECK_STATUS(csk_rcu_read_lock(), 0);
}
static void *end_in_a_late_section(void *unused) {
    pthread_setspecific(late_key, &late_key);
    return read_once(unused);
}
/* Our stage of the thread's end is over when the destructor runs. */
static void a_section_that_a_destructor_leaves_open_ends_with_its_thread(void) {
    CHECK_EQ(pthread_key_create(&late_key, begin_late), 0);
    for (int i = 0; i < 20; i++) join_thread(start_thread(end_in_a_late_section, NULL));
    CHECK_STATUS(csk_rcu_barrier(), 0);
    pthread_key_delete(late_key);
}

/* The function of a node ends the thread that reclaims. */
static void ends_its_thread(csk_rcu_node_t *node) {
    reclaim(node);
    pthread_exit(NULL);
}
static void what_is_retired_is_reclaimed_though_functions_end_their_thread(void) {
    enum { NODES = 20 };
    int freed = 0;
    for (int i = 0; i < NODES; i++) {
        csk_rcu_node_t *node = calloc(1, sizeof *node);
        node->context = &freed;
        CHECK_STATUS(csk_rcu_retire(node, i % 5 == 0 ? ends_its_thread : reclaim), 0);
    }
    CHECK_STATUS(csk_rcu_barrier(), 0);
    CHECK_EQ(LOAD(&freed), NODES);
    CHECK_EQ(csk_rcu_pending(), 0);
}

TEST_MAIN(TEST(an_open_section_ends_with_its_thread_where_no_key_is_left), TEST(sections_have_levels),
          TEST(a_level_too_many_is_refused), TEST(waiting_for_oneself_is_refused),
          TEST(nothing_is_reclaimed_under_a_reader), TEST(nothing_is_pending_after_a_barrier),
          TEST(the_limit_slows_and_never_hangs), TEST(the_backlog_is_bounded), TEST(threads_come_and_go),
          TEST(an_open_section_ends_with_its_thread), TEST(destructors_may_read_after_the_thread_was_unregistered),
          TEST(a_section_that_a_destructor_leaves_open_ends_with_its_thread),
          TEST(what_is_retired_is_reclaimed_though_functions_end_their_thread))
