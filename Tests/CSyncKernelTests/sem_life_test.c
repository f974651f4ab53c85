/* sem_life_test.c: the semaphore among many: races of grant, deadline and cancellation, long chains of functions, the
 * memory of a semaphore that its last wait frees, a crowd, a child of fork. */
#include <csynckernel/csynckernel.h>

#include "child.h"
#include "sem_fixture.h"

static const int64_t hour_ns = INT64_C(3600000000000);

static int calls;

/* ---- Races ------------------------------------------------------------------------------------------------------- */

struct race {
    csk_sem_t sem;
    csk_waiter_t waiter;
    int round, rounds, granted, cancelled, ended, said_cancelled;
};

static void end_race(csk_waiter_t *waiter, void *context, int status) {
    struct race *race = context;
    (void)waiter;
    if (status == 0) race->granted++;
    else if (status == ECANCELED) race->cancelled++;
    else CHECK_STATUS(status, ETIMEDOUT);
    ADD(&race->ended, 1);
}

static void *cancel_each(void *context) {
    struct race *race = context;
    for (int i = 1; i <= race->rounds; i++) {
        wait_until(LOAD(&race->round) >= i);
        /* It may meet this round or, when that was quick, a later one. */
        if (csk_sem_cancel(&race->sem, &race->waiter) == 0) race->said_cancelled++;
        wait_until(LOAD(&race->ended) >= i);
    }
    return NULL;
}

static void of_grant_cancel_and_deadline_exactly_one_wins(void) {
    struct race race = { .rounds = 10000 / TEST_SLOWDOWN };
    pthread_t thread = start_thread(cancel_each, &race);
    for (int i = 1; i <= race.rounds; i++) {
        int64_t deadline_ns = i % 3 == 0 ? csk_deadline_after(3000) : CSK_NEVER;
        CHECK_STATUS(csk_sem_wait_async(&race.sem, back(0), &race.waiter, 1, deadline_ns, end_race, &race), 0);
        STORE(&race.round, i);
        if (i % 2) sched_yield();
        CHECK_STATUS(csk_sem_post(&race.sem, 1), 0);
        wait_until(LOAD(&race.ended) == i);
        /* The signal's permit is free unless the waiter has it. */
        if (csk_sem_permits(&race.sem) > 0) CHECK_STATUS(csk_sem_trywait(&race.sem, 0, 1), 0);
        else race.granted--;
    }
    join_thread(thread);
    CHECK_EQ(race.granted, 0);
    CHECK_EQ(race.cancelled, race.said_cancelled);
    check_idle(&race.sem, 0);
}

/* ---- Functions --------------------------------------------------------------------------------------------------- */

enum { CHAIN = 100000 };
static int chained, running;

static void count_and_signal(csk_waiter_t *waiter, void *context, int status) {
    CHECK_STATUS(status, 0);
    CHECK_EQ(++running, 1);
    CHECK_EQ((intptr_t)context, chained++);
    CHECK_STATUS(csk_sem_post((csk_sem_t *)waiter->object, 1), 0);
    running--;
}

static void *signal_a_long_chain(void *context) {
    csk_sem_t *sem = context;
    csk_waiter_t *waiters = calloc(CHAIN, sizeof *waiters);
    CHECK(waiters != NULL);
    chained = 0;
    for (intptr_t i = 0; i < CHAIN; i++)
        CHECK_STATUS(csk_sem_wait_async(sem, back(0), &waiters[i], 1, CSK_NEVER, count_and_signal, (void *)i), 0);
    CHECK_EQ(csk_sem_waiting(sem), CHAIN);
    CHECK_STATUS(csk_sem_post(sem, 1), 0);
    CHECK_EQ(chained, CHAIN);
    /* All at once. */
    chained = 0;
    CHECK_STATUS(csk_sem_wait(sem, 0, 1), 0);
    for (intptr_t i = 0; i < CHAIN; i++)
        CHECK_STATUS(csk_sem_wait_async(sem, back(0), &waiters[i], 1, CSK_NEVER, count_and_signal, (void *)i), 0);
    CHECK_STATUS(csk_sem_post(sem, CHAIN), 0);
    CHECK_EQ(chained, CHAIN);
    free(waiters);
    return NULL;
}

static void a_hundred_thousand_functions_in_a_chain_need_no_stack(void) {
    csk_sem_t sem = CSK_SEM_INITIALIZER;
    join_thread(start_thread(signal_a_long_chain, &sem));
    check_idle(&sem, CHAIN);
}

/* ---- Memory ------------------------------------------------------------------------------------------------------ */

enum { FREED_ROUNDS = 20000 };
static csk_sem_t *handed;
static uint32_t permits_at_once;

static void *signal_what_is_handed(void *unused) {
    (void)unused;
    for (int i = 0; i < FREED_ROUNDS / TEST_SLOWDOWN; i++) {
        csk_sem_t *sem;
        wait_until((sem = __atomic_exchange_n(&handed, NULL, __ATOMIC_SEQ_CST)) != NULL);
        CHECK_STATUS(csk_sem_post(sem, LOAD(&permits_at_once)), 0);
    }
    return NULL;
}

/* sem_post could touch the semaphore after the wait that it had ended (glibc's bug 13690). */
static void a_semaphore_is_freed_while_the_signal_that_ended_its_last_wait_still_returns(void) {
    STORE(&permits_at_once, 1);
    pthread_t thread = start_thread(signal_what_is_handed, NULL);
    for (int i = 0; i < FREED_ROUNDS / TEST_SLOWDOWN; i++) {
        csk_sem_t *sem = calloc(1, sizeof *sem);
        csk_sem_attr_t attr = { .policy = (uint32_t)i / 4 % 2 };
        CHECK_STATUS(csk_sem_init_attr(sem, 0, &attr), 0);
        STORE(&handed, sem);
        if (i % 4 == 0) sched_yield();
        CHECK_STATUS(csk_sem_wait(sem, 0, 1), 0);
        CHECK_STATUS(csk_sem_destroy(sem), 0);
        memset(sem, 0xDD, sizeof *sem);
        free(sem);
    }
    join_thread(thread);
}

static void free_waiter_and_semaphore(csk_waiter_t *waiter, void *context, int status) {
    csk_sem_t *sem = context;
    CHECK_STATUS(status, 0);
    memset(waiter, 0xDD, sizeof *waiter);
    free(waiter);
    CHECK_STATUS(csk_sem_destroy(sem), 0);
    memset(sem, 0xDD, sizeof *sem);
    free(sem);
    ADD(&calls, 1);
}

static void a_function_frees_its_waiter_and_the_semaphore(void) {
    STORE(&permits_at_once, 2);
    calls = 0;
    pthread_t thread = start_thread(signal_what_is_handed, NULL);
    for (int i = 0; i < FREED_ROUNDS / TEST_SLOWDOWN; i++) {
        csk_sem_t *sem = calloc(1, sizeof *sem);
        csk_waiter_t *waiter = calloc(1, sizeof *waiter);
        STORE(&handed, sem);
        if (i % 4 == 0) sched_yield();
        CHECK_STATUS(csk_sem_wait_async(sem, back(0), waiter, 2, i % 2 ? CSK_NEVER : csk_deadline_after(hour_ns),
                                        free_waiter_and_semaphore, sem),
                     0);
        wait_until(LOAD(&calls) == i + 1);
    }
    join_thread(thread);
}

/* ---- Many at once ------------------------------------------------------------------------------------------------ */

enum { CROWD = 8, PERMITS = 4, TURNS = 20000 };

typedef struct {
    csk_waiter_t waiter;
    uint32_t busy, permits;
} request_t;

static struct {
    csk_sem_t sem;
    request_t requests[CROWD];
    int64_t inside; /* permits that somebody has */
} crowd;

static void leave(uint32_t permits) {
    CHECK_GE(__atomic_fetch_sub(&crowd.inside, permits, __ATOMIC_RELAXED), permits);
    CHECK_STATUS(csk_sem_post(&crowd.sem, permits), 0);
}
static void enter_and_leave(uint32_t permits) {
    CHECK_LE(__atomic_add_fetch(&crowd.inside, permits, __ATOMIC_RELAXED), PERMITS);
    leave(permits);
}
static void end_request(csk_waiter_t *waiter, void *context, int status) {
    request_t *request = context;
    (void)waiter;
    if (status == 0) enter_and_leave(request->permits);
    else CHECK(status == ETIMEDOUT || status == ECANCELED);
    STORE(&request->busy, 0);
}

static void *take_turns(void *number) {
    uint64_t random = test_seed((uint64_t)(uintptr_t)number);
    for (int i = 0; i < TURNS / TEST_SLOWDOWN; i++) {
        uint32_t permits = 1 + (uint32_t)test_random_below(&random, PERMITS), idle = 0;
        int32_t priority = (int32_t)test_random_below(&random, 3);
        int64_t deadline_ns = test_random_below(&random, 2)
                                  ? CSK_NEVER
                                  : csk_deadline_after((int64_t)test_random_below(&random, 20000));
        request_t *request = &crowd.requests[test_random_below(&random, CROWD)];
        switch (test_random_below(&random, 4)) {
        case 0:
            if (csk_sem_trywait(&crowd.sem, priority, permits) == 0) enter_and_leave(permits);
            break;
        case 1:
            if (!__atomic_compare_exchange_n(&request->busy, &idle, 1, 0, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST)) break;
            request->permits = permits;
            CHECK_STATUS(csk_sem_wait_async(&crowd.sem, back(priority), &request->waiter, permits, deadline_ns,
                                            end_request, request),
                         0);
            break;
        case 2: csk_sem_cancel(&crowd.sem, &request->waiter); break;
        default:
            if (csk_sem_timedwait(&crowd.sem, priority, permits, deadline_ns) == 0) enter_and_leave(permits);
        }
    }
    return NULL;
}

static void let_a_crowd_take_turns(uint32_t policy) {
    pthread_t threads[CROWD];
    csk_sem_attr_t attr = { .most = PERMITS, .policy = policy };
    CHECK_STATUS(csk_sem_init_attr(&crowd.sem, PERMITS, &attr), 0);
    for (uintptr_t i = 0; i < CROWD; i++) threads[i] = start_thread(take_turns, (void *)(i + 1));
    for (int i = 0; i < CROWD; i++) join_thread(threads[i]);
    for (int i = 0; i < CROWD; i++) wait_until(LOAD(&crowd.requests[i].busy) == 0);
    CHECK_EQ(crowd.inside, 0);
    check_idle(&crowd.sem, PERMITS);
}
static void no_permit_is_lost_or_doubled(void) {
    let_a_crowd_take_turns(CSK_SEM_FAST);
    let_a_crowd_take_turns(CSK_SEM_STRICT);
}

/* ---- A child of fork --------------------------------------------------------------------------------------------- */

static void fail_if_called(csk_waiter_t *waiter, void *context, int status) {
    (void)waiter, (void)context;
    CHECK_STATUS(status, ECANCELED);
    ADD(&calls, 1);
}

static void count_call(csk_waiter_t *waiter, void *context, int status) {
    (void)waiter, (void)context;
    CHECK_STATUS(status, 0);
    ADD(&calls, 1);
}

static void *wait_low(void *sem) {
    CHECK_STATUS(csk_sem_wait(sem, -3, 1), 0);
    return NULL;
}

/* A process of its own, which forks with a thread and a function that wait. */
static void fork_with_waiters(void *unused) {
    (void)unused;
    static csk_sem_t sem;
    static csk_waiter_t waiter;
    CHECK_STATUS(csk_sem_init(&sem, 3, 0), 0);
    CHECK_STATUS(csk_sem_wait_async(&sem, back(0), &waiter, 4, csk_deadline_after(hour_ns), fail_if_called, NULL), 0);
    pthread_t thread = start_thread(wait_low, &sem);
    wait_until(csk_sem_waiting(&sem) == 2);
    calls = 0;
    pid_t child = fork();
    CHECK(child >= 0);
    if (child == 0) {
        CHECK_EQ(csk_sem_permits(&sem), 3);
        CHECK_STATUS(csk_sem_trywait(&sem, -3, 1), 0);
        CHECK_EQ(csk_sem_waiting(&sem), 0);
        CHECK_STATUS(csk_sem_cancel(&sem, &waiter), ENOENT);
        CHECK_STATUS(csk_sem_wait_async(&sem, back(0), &waiter, 3, CSK_NEVER, count_call, NULL), 0);
        CHECK_EQ(calls, 0);
        CHECK_STATUS(csk_sem_post(&sem, 1), 0);
        CHECK_EQ(calls, 1);
        CHECK_STATUS(csk_sem_resize(&sem, 5), 0);
        CHECK_STATUS(csk_sem_timedwait(&sem, 0, 3, csk_deadline_after(100000)), ETIMEDOUT);
        check_idle(&sem, 2);
        _exit(0);
    }
    int status = wait_for_child(child);
    CHECK(WIFEXITED(status));
    CHECK_EQ(WEXITSTATUS(status), 0);
    CHECK_STATUS(csk_sem_cancel(&sem, &waiter), 0);
    CHECK_EQ(calls, 1);
    join_thread(thread);
    check_idle(&sem, 2);
}

static void a_child_has_the_free_permits_and_nobody_waits_there(void) { in_a_child(fork_with_waiters, NULL); }

TEST_MAIN(TEST(a_child_has_the_free_permits_and_nobody_waits_there),
          TEST(of_grant_cancel_and_deadline_exactly_one_wins),
          TEST(a_hundred_thousand_functions_in_a_chain_need_no_stack),
          TEST(a_semaphore_is_freed_while_the_signal_that_ended_its_last_wait_still_returns),
          TEST(a_function_frees_its_waiter_and_the_semaphore), TEST(no_permit_is_lost_or_doubled))
