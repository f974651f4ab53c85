/* fork_storm_test.c: forks, again and again, amid threads that hammer everything the kernel has: each child begins
 * afresh, and uses everything itself. CSK_TEST_FORKS in the environment says how often. */
#include "child.h"

#ifndef CSK_WITHOUT_LIBURCU
#include <urcu/urcu-memb.h>
#endif

#include "fork_storm.h"

enum { HAMMERS = 6 };

static objects_t of_parent;
static uint32_t stop, uses;
/* They sleep while a child lives, which would else mostly wait for a processor. */
static uint32_t rest;
/* In the last eighth of the forks. */
static uint32_t is_late;

/* ThreadSanitizer counts the parent's threads as alive in the child, and takes new ones with their ids for duplicates:
 * children there have one thread. */
#ifdef __SANITIZE_THREAD__
const char *__tsan_default_options(void);
const char *__tsan_default_options(void) { return "die_after_fork=0"; }
static const bool children_have_threads = false;
#else
static const bool children_have_threads = true;
#endif

static int forks(void) {
    const char *chosen = getenv("CSK_TEST_FORKS");
    return chosen != NULL ? atoi(chosen) : TEST_ROUNDS(300);
}

/* ---- What goes on in the parent ---------------------------------------------------------------------------------- */

static void *hammer(void *context) {
    uint64_t random = test_seed((uint64_t)(intptr_t)context);
    while (!LOAD(&stop)) {
        use(&of_parent, (int)test_random_below(&random, USES), &random);
        ADD(&uses, 1);
        while (LOAD(&rest) && !LOAD(&stop)) nanosleep(&(struct timespec){ .tv_nsec = 100000 }, NULL);
    }
    return NULL;
}

#ifndef CSK_WITHOUT_LIBURCU
/* ---- Another user of liburcu ----------------------------------------------------------------------------------------
 *
 * Of another flavour, with the fork handlers that liburcu asks for, and inside synchronize_rcu at many a fork. */
static uint32_t grace_periods;
static pthread_t foreign;

static void *reclaim_by_memb(void *unused) {
    urcu_memb_register_thread();
    while (!LOAD(&stop)) {
        urcu_memb_read_lock();
        /* Once there is a thread for call_rcu, liburcu's handler waits for it at each fork, 10 ms most times. */
        if (LOAD(&is_late)) urcu_memb_call_rcu(calloc(1, sizeof(struct rcu_head)), (void (*)(struct rcu_head *))free);
        urcu_memb_read_unlock();
        urcu_memb_synchronize_rcu();
        ADD(&grace_periods, 1);
        while (LOAD(&rest) && !LOAD(&stop)) nanosleep(&(struct timespec){ .tv_nsec = 100000 }, NULL);
    }
    urcu_memb_unregister_thread();
    return unused;
}

/* A child can't use this flavour: where a thread of the parent was inside synchronize_rcu, its lock is never given
 * back, and its lists are half changed. So the child leaves it alone, liburcu's handler for the child included, which
 * starts a thread that uses both. */
static bool is_child_of_memb;

static void before_fork_of_memb(void) {
    if (!is_child_of_memb) urcu_memb_call_rcu_before_fork();
}
static void after_fork_of_memb_in_parent(void) {
    if (!is_child_of_memb) urcu_memb_call_rcu_after_fork_parent();
}
static void after_fork_of_memb_in_child(void) { is_child_of_memb = true; }

static void begin_memb(void) {
    CHECK_EQ(pthread_atfork(before_fork_of_memb, after_fork_of_memb_in_parent, after_fork_of_memb_in_child), 0);
    foreign = start_thread(reclaim_by_memb, NULL);
}
static void end_memb(void) {
    join_thread(foreign);
    CHECK_GE(LOAD(&grace_periods), 1);
}
#else
static void begin_memb(void) {}
static void end_memb(void) {}
#endif

/* ---- What a child does ------------------------------------------------------------------------------------------- */

enum { CHILD_THREADS = 2, CHILD_ROUNDS = 20 };

struct fresh {
    objects_t objects;
    long inside, entered;
    uint32_t next, popped;
    csk_pqueue_item_t items[CHILD_THREADS][CHILD_ROUNDS];
};

/* The gates, the mutex and the locks, one in the other. */
static void enter_all(struct fresh *fresh) {
    for (int i = 0; i < POLICIES; i++) CHECK_STATUS(csk_gate_lock(&fresh->objects.gates[i], 0), 0);
    CHECK_STATUS(csk_mutex_lock(&fresh->objects.mutex), 0);
    for (int i = 0; i < LOCKS; i++) CHECK_STATUS(csk_rwlock_wrlock(&fresh->objects.locks[i]), 0);
    CHECK_EQ(++fresh->inside, 1);
    fresh->entered++;
    fresh->inside--;
    for (int i = LOCKS - 1; i >= 0; i--) CHECK_STATUS(csk_rwlock_unlock(&fresh->objects.locks[i]), 0);
    CHECK_STATUS(csk_mutex_unlock(&fresh->objects.mutex), 0);
    for (int i = POLICIES - 1; i >= 0; i--) CHECK_STATUS(csk_gate_unlock(&fresh->objects.gates[i]), 0);
}

static void *use_fresh(void *context) {
    struct fresh *fresh = context;
    uint32_t me = ADD(&fresh->next, 1) - 1;
    for (int i = 0; i < CHILD_ROUNDS; i++) {
        csk_pqueue_item_t *item;
        enter_all(fresh);
        CHECK_STATUS(csk_pqueue_push(&fresh->objects.ordered, i % 3, &fresh->items[me][i]), 0);
        CHECK_STATUS(csk_pqueue_pop(&fresh->objects.ordered, &item), 0);
        ADD(&fresh->popped, 1);
    }
    return NULL;
}

/* The permits that the parent's threads had are missing; never more. */
static void know_the_semaphore(void) {
    CHECK_EQ(csk_sem_waiting(&of_parent.sem), 0);
    CHECK_GE(csk_sem_permits(&of_parent.sem), 0);
    CHECK_STATUS(csk_sem_post(&of_parent.sem, PERMITS), 0);
}

/* What the parent's threads held is made anew; its queues, timers, workers and slots need nothing. */
static void use_the_parents(uint64_t *random) {
    make_locks(&of_parent);
    know_the_semaphore();
    for (int which = 0; which < USES; which++) use(&of_parent, which, random);
}

static void grow_up_alone(struct fresh *fresh) {
    csk_tls_slot_t slot;
    enter_all(fresh);
    make_locks(&of_parent);
    know_the_semaphore();
    for (int i = 0; i < POLICIES; i++) CHECK_STATUS(csk_gate_trylock(&of_parent.gates[i], 0), 0);
    for (int i = 0; i < QUEUES; i++)
        CHECK_EQ(csk_workqueue_waiting(&of_parent.queues[i]) + csk_workqueue_running(&of_parent.queues[i]), 0);
    CHECK_STATUS(csk_tls_open(&slot, "storm.0", NULL), 0);
    read_snapshot(&of_parent.snapshot);
}

static void grow_up(void *context) {
    static struct fresh fresh;
    pthread_t threads[CHILD_THREADS];
    intptr_t number = (intptr_t)context;
    uint64_t random = test_seed((uint64_t)number);
    memset(&fresh, 0, sizeof fresh); /* a grandchild inherits its parent's */
    make_objects(&fresh.objects);
    if (!children_have_threads) {
        grow_up_alone(&fresh);
        return;
    }
    for (int i = 0; i < CHILD_THREADS; i++) threads[i] = start_thread(use_fresh, &fresh);
    use_the_parents(&random);
    if (number % 10 == 0) in_a_child(grow_up, (void *)(number + 1));
    for (int i = 0; i < CHILD_THREADS; i++) join_thread(threads[i]);
    CHECK_EQ(fresh.entered, CHILD_THREADS * CHILD_ROUNDS);
    CHECK_EQ(fresh.popped, CHILD_THREADS * CHILD_ROUNDS);
    CHECK_EQ(csk_pqueue_waiting(&fresh.objects.ordered), 0);
    end_objects(&fresh.objects);
}

static void children_of_a_busy_process_begin_afresh(void) {
    pthread_t threads[HAMMERS];
    uint64_t random = test_seed(99);
    int count = forks();
    alarm(TEST_WATCHDOG_S + (unsigned)count / 20);
    make_objects(&of_parent);
    change_snapshot(&of_parent.snapshot, &random);
    for (intptr_t i = 0; i < HAMMERS; i++) threads[i] = start_thread(hammer, (void *)i);
    if (children_have_threads) begin_memb();
    for (intptr_t i = 0; i < count; i++) {
        if (i >= count - count / 8) STORE(&is_late, 1);
        uint32_t before = LOAD(&uses), wanted = 1 + (uint32_t)test_random_below(&random, 4 * HAMMERS);
        STORE(&rest, 0);
        wait_until(LOAD(&uses) - before >= wanted);
        pid_t child = start_child(grow_up, (void *)(i % 100));
        STORE(&rest, 1);
        int status = wait_for_child(child);
        CHECK(WIFEXITED(status));
        CHECK_EQ(WEXITSTATUS(status), 0);
    }
    STORE(&stop, 1);
    for (int i = 0; i < HAMMERS; i++) join_thread(threads[i]);
    if (children_have_threads) end_memb();
    end_objects(&of_parent);
}

TEST_MAIN(TEST(children_of_a_busy_process_begin_afresh))
