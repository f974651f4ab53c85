/* sem_test.c: what the semaphore promises: counts, order, weights, deadlines, asynchronous waiters, changes of the
 * size, refusals, the memory of a semaphore that its last wait frees, a child of fork. */
#include <csynckernel/csynckernel.h>

#include "child.h"
#include "test.h"

enum { LOW = -3, HIGH = 7 };
static const int64_t hour_ns = INT64_C(3600000000000);

static csk_rank_t back(int32_t priority) { return csk_rank(priority, CSK_PLACE_BACK); }

static void check_idle(csk_sem_t *sem, int32_t permits) {
    CHECK_EQ(csk_sem_waiting(sem), 0);
    CHECK_EQ(csk_sem_permits(sem), permits);
    CHECK_STATUS(csk_sem_destroy(sem), 0);
}

/* A thread that waits, and says what came of it. */
typedef struct {
    csk_sem_t *sem;
    csk_rank_t rank;
    uint32_t permits;
    int64_t deadline_ns;
    int number, status;
    uint32_t ended;
    pthread_t thread;
} visitor_t;

static int order[16];
static uint32_t order_count;

static void *visit(void *context) {
    visitor_t *visitor = context;
    visitor->status = csk_sem_wait_ranked(visitor->sem, visitor->rank, visitor->permits, visitor->deadline_ns);
    if (visitor->status == 0) order[ADD(&order_count, 1) - 1] = visitor->number;
    STORE(&visitor->ended, 1);
    return NULL;
}

/* It stands in the queue on return. */
static void queue_visitor(visitor_t *visitor, csk_sem_t *sem, csk_rank_t rank, uint32_t permits, int number) {
    uint32_t before = csk_sem_waiting(sem);
    *visitor = (visitor_t){ .sem = sem, .rank = rank, .permits = permits, .deadline_ns = CSK_NEVER, .number = number };
    visitor->thread = start_thread(visit, visitor);
    wait_until(csk_sem_waiting(sem) == before + 1);
}
static void check_visited(visitor_t *visitor, int status) {
    join_thread(visitor->thread);
    CHECK_STATUS(visitor->status, status);
}

static int calls, last_status;
static void note_call(csk_gate_waiter_t *waiter, void *context, int status) {
    (void)waiter;
    if (context != NULL) order[ADD(&order_count, 1) - 1] = *(int *)context;
    last_status = status;
    ADD(&calls, 1);
}

/* ---- Counts ------------------------------------------------------------------------------------------------------ */

static void waits_take_what_signals_add(void) {
    csk_sem_t sem;
    CHECK_STATUS(csk_sem_init(&sem, 3, 0), 0);
    CHECK_STATUS(csk_sem_wait(&sem, 0, 1), 0);
    CHECK_STATUS(csk_sem_trywait(&sem, 0, 2), 0);
    CHECK_STATUS(csk_sem_trywait(&sem, HIGH, 1), EBUSY);
    CHECK_EQ(csk_sem_permits(&sem), 0);
    CHECK_STATUS(csk_sem_signal(&sem, 5), 0);
    CHECK_STATUS(csk_sem_trywait(&sem, 0, 6), EBUSY);
    CHECK_STATUS(csk_sem_timedwait(&sem, 0, 4, 0), 0);
    check_idle(&sem, 1);
}

static void zero_filled_memory_is_a_semaphore_without_permits(void) {
    static csk_sem_t sem;
    csk_sem_t other = CSK_SEM_INITIALIZER;
    CHECK_EQ(memcmp(&sem, &other, sizeof sem), 0);
    CHECK_STATUS(csk_sem_trywait(&sem, 0, 1), EBUSY);
    CHECK_STATUS(csk_sem_signal(&sem, CSK_SEM_MAX), 0);
    CHECK_EQ(csk_sem_permits(&sem), CSK_SEM_MAX);
    CHECK_STATUS(csk_sem_wait(&sem, 0, CSK_SEM_MAX), 0);
    check_idle(&sem, 0);
}

static void what_cannot_be_done_is_refused_and_changes_nothing(void) {
    csk_sem_t sem;
    csk_gate_waiter_t waiter = { .word = 0 };
    CHECK_STATUS(csk_sem_init(&sem, 3, 2), EINVAL);
    CHECK_STATUS(csk_sem_init(&sem, (uint32_t)CSK_SEM_MAX + 1, 0), EINVAL);
    CHECK_STATUS(csk_sem_init(&sem, 0, (uint32_t)CSK_SEM_MAX + 1), EINVAL);
    CHECK_STATUS(csk_sem_init(&sem, 1, 2), 0);
    for (int waits = 0; waits < 2; waits++) {
        calls = 0;
        if (waits) CHECK_STATUS(csk_sem_wait_async(&sem, &waiter, back(0), 2, CSK_NEVER, note_call, NULL), 0);
        csk_gate_waiter_t other = { .word = 0 };
        CHECK_STATUS(csk_sem_wait(&sem, 0, 0), EINVAL);
        CHECK_STATUS(csk_sem_wait(&sem, 0, 3), EINVAL);
        CHECK_STATUS(csk_sem_wait(&sem, 0, UINT32_MAX), EINVAL);
        CHECK_STATUS(csk_sem_trywait(&sem, 0, 0), EINVAL);
        CHECK_STATUS(csk_sem_trywait(&sem, 0, 3), EINVAL);
        CHECK_STATUS(csk_sem_timedwait(&sem, 0, 3, 0), EINVAL);
        CHECK_STATUS(csk_sem_wait_ranked(&sem, INT64_MAX, 2, 0), EINVAL);
        CHECK_STATUS(csk_sem_wait_ranked(&sem, INT64_MIN, 2, CSK_NEVER), EINVAL);
        CHECK_STATUS(csk_sem_signal(&sem, 0), EINVAL);
        CHECK_STATUS(csk_sem_signal(&sem, 2), EOVERFLOW);
        CHECK_STATUS(csk_sem_signal(&sem, UINT32_MAX), EOVERFLOW);
        CHECK_STATUS(csk_sem_resize(&sem, 3), EINVAL);
        CHECK_STATUS(csk_sem_wait_async(&sem, &other, back(0), 1, CSK_NEVER, NULL, NULL), EINVAL);
        CHECK_STATUS(csk_sem_wait_async(&sem, &other, back(0), 0, CSK_NEVER, note_call, NULL), EINVAL);
        CHECK_STATUS(csk_sem_wait_async(&sem, &other, back(0), 3, CSK_NEVER, note_call, NULL), EINVAL);
        CHECK_STATUS(csk_sem_wait_async(&sem, &other, INT64_MAX, 1, CSK_NEVER, note_call, NULL), EINVAL);
        CHECK_STATUS(csk_sem_cancel(&sem, &other), EBUSY);
        if (waits) {
            CHECK_STATUS(csk_sem_wait_async(&sem, &waiter, back(0), 1, CSK_NEVER, note_call, NULL), EBUSY);
            CHECK_STATUS(csk_sem_destroy(&sem), EBUSY);
        }
        CHECK_EQ(calls, 0);
        CHECK_EQ(csk_sem_permits(&sem), 1);
        CHECK_EQ(csk_sem_waiting(&sem), waits);
    }
    CHECK_STATUS(csk_sem_signal(&sem, 1), 0);
    CHECK_EQ(calls, 1);
    check_idle(&sem, 0);
}

/* Once the difference was added whatever was free: a semaphore for one had two. */
static void a_change_of_the_size_never_makes_too_many(void) {
    csk_sem_t sem;
    CHECK_STATUS(csk_sem_init(&sem, 0, 1), 0);
    CHECK_STATUS(csk_sem_signal(&sem, 1), 0);
    CHECK_STATUS(csk_sem_resize(&sem, 1), EOVERFLOW);
    CHECK_EQ(csk_sem_permits(&sem), 1);
    CHECK_STATUS(csk_sem_wait(&sem, 0, 1), 0);
    CHECK_STATUS(csk_sem_resize(&sem, 1), 0);
    check_idle(&sem, 1);
}

/* ---- Order and weights ------------------------------------------------------------------------------------------- */

static void threads_and_functions_wait_by_priority_and_then_arrival(void) {
    static int numbers[] = { 0, 1, 2, 3, 4, 5, 6 };
    csk_sem_t sem = CSK_SEM_INITIALIZER;
    visitor_t visitors[4];
    csk_gate_waiter_t waiters[3] = { { .word = 0 } };
    order_count = 0;
    queue_visitor(&visitors[0], &sem, back(0), 1, 0);
    CHECK_STATUS(csk_sem_wait_async(&sem, &waiters[0], back(HIGH), 1, CSK_NEVER, note_call, &numbers[1]), 0);
    queue_visitor(&visitors[1], &sem, back(LOW), 1, 2);
    queue_visitor(&visitors[2], &sem, csk_rank(0, CSK_PLACE_FRONT), 1, 3);
    CHECK_STATUS(csk_sem_wait_async(&sem, &waiters[1], back(0), 1, CSK_NEVER, note_call, &numbers[4]), 0);
    CHECK_STATUS(
        csk_sem_wait_async(&sem, &waiters[2], csk_rank(0, CSK_PLACE_LAST), 1, CSK_NEVER, note_call, &numbers[5]), 0);
    queue_visitor(&visitors[3], &sem, back(HIGH), 1, 6);
    for (uint32_t i = 1; i <= 7; i++) {
        CHECK_STATUS(csk_sem_signal(&sem, 1), 0);
        wait_until(LOAD(&order_count) == i);
    }
    static const int expected[] = { 1, 6, 3, 0, 4, 5, 2 };
    for (int i = 0; i < 4; i++) check_visited(&visitors[i], 0);
    for (int i = 0; i < 7; i++) CHECK_EQ(order[i], expected[i]);
    check_idle(&sem, 0);
}

static void a_large_request_bars_its_own_priority_and_lower_ones(void) {
    csk_sem_t sem;
    visitor_t large, small, urgent;
    CHECK_STATUS(csk_sem_init(&sem, 2, 0), 0);
    order_count = 0;
    queue_visitor(&large, &sem, back(0), 4, 1);
    queue_visitor(&small, &sem, back(0), 1, 2);
    CHECK_STATUS(csk_sem_trywait(&sem, 0, 1), EBUSY);
    CHECK_STATUS(csk_sem_trywait(&sem, LOW, 1), EBUSY);
    CHECK_STATUS(csk_sem_timedwait(&sem, LOW, 1, csk_deadline_after(100000)), ETIMEDOUT);
    CHECK_STATUS(csk_sem_trywait(&sem, HIGH, 3), EBUSY);
    CHECK_STATUS(csk_sem_trywait(&sem, HIGH, 1), 0);
    CHECK_STATUS(csk_sem_wait(&sem, HIGH, 1), 0);
    CHECK_EQ(csk_sem_permits(&sem), 0);
    queue_visitor(&urgent, &sem, back(HIGH), 2, 3);
    CHECK_STATUS(csk_sem_signal(&sem, 1), 0);
    CHECK_STATUS(csk_sem_signal(&sem, 1), 0);
    check_visited(&urgent, 0);
    CHECK_STATUS(csk_sem_signal(&sem, 3), 0);
    CHECK_EQ(csk_sem_waiting(&sem), 2);
    CHECK_STATUS(csk_sem_signal(&sem, 2), 0);
    check_visited(&large, 0);
    check_visited(&small, 0);
    CHECK_EQ(order[0], 3);
    check_idle(&sem, 0);
}

static void one_signal_serves_as_many_as_it_can(void) {
    csk_sem_t sem = CSK_SEM_INITIALIZER;
    visitor_t threads[3];
    csk_gate_waiter_t waiters[3] = { { .word = 0 } };
    calls = 0;
    order_count = 0;
    for (int i = 0; i < 3; i++) {
        queue_visitor(&threads[i], &sem, back(0), 2, i);
        CHECK_STATUS(csk_sem_wait_async(&sem, &waiters[i], back(0), 1, CSK_NEVER, note_call, NULL), 0);
    }
    CHECK_STATUS(csk_sem_signal(&sem, 8), 0);
    CHECK_EQ(calls, 2);
    CHECK_EQ(csk_sem_waiting(&sem), 1);
    CHECK_EQ(csk_sem_permits(&sem), 0);
    for (int i = 0; i < 3; i++) check_visited(&threads[i], 0);
    CHECK_STATUS(csk_sem_signal(&sem, 2), 0);
    CHECK_EQ(calls, 3);
    check_idle(&sem, 1);
}

/* ---- The end of a wait ------------------------------------------------------------------------------------------- */

static void no_wait_ends_early(void) {
    csk_sem_t sem;
    CHECK_STATUS(csk_sem_init(&sem, 1, 0), 0);
    for (int i = 0; i < 20; i++) {
        int64_t deadline_ns = csk_deadline_after(i * INT64_C(100000));
        CHECK_STATUS(csk_sem_timedwait(&sem, 0, 2, deadline_ns), ETIMEDOUT);
        CHECK_GE(csk_now(), deadline_ns);
    }
    CHECK_STATUS(csk_sem_timedwait(&sem, 0, 2, INT64_MIN), ETIMEDOUT);
    check_idle(&sem, 1);
}

static void deadlines_and_cancellation_end_a_wait(void) {
    csk_sem_t sem;
    csk_gate_waiter_t waiter = { .word = 0 };
    CHECK_STATUS(csk_sem_init(&sem, 1, 0), 0);
    calls = 0;
    int64_t deadline_ns = csk_deadline_after(2000000);
    CHECK_STATUS(csk_sem_wait_async(&sem, &waiter, back(0), 2, deadline_ns, note_call, NULL), 0);
    wait_until(LOAD(&calls) == 1);
    CHECK_GE(csk_now(), deadline_ns);
    CHECK_STATUS(last_status, ETIMEDOUT);
    CHECK_STATUS(csk_sem_wait_async(&sem, &waiter, back(0), 2, INT64_MIN, note_call, NULL), 0);
    wait_until(LOAD(&calls) == 2);
    CHECK_STATUS(last_status, ETIMEDOUT);
    CHECK_STATUS(csk_sem_wait_async(&sem, &waiter, back(0), 2, csk_deadline_after(hour_ns), note_call, NULL), 0);
    CHECK_STATUS(csk_sem_cancel(&sem, &waiter), 0);
    CHECK_EQ(calls, 3);
    CHECK_STATUS(last_status, ECANCELED);
    CHECK_STATUS(csk_sem_cancel(&sem, &waiter), EBUSY);
    CHECK_STATUS(csk_sem_wait_async(&sem, &waiter, back(0), 1, INT64_MIN, note_call, NULL), 0);
    CHECK_EQ(calls, 4);
    CHECK_STATUS(last_status, 0);
    check_idle(&sem, 0);
}

static void *wait_for_many(void *sem) {
    CHECK_STATUS(csk_sem_timedwait(sem, HIGH, 9, csk_deadline_after(2000000)), ETIMEDOUT);
    return NULL;
}

static void whoever_leaves_the_head_lets_in_those_behind(void) {
    csk_sem_t sem;
    visitor_t thread;
    csk_gate_waiter_t large = { .word = 0 }, small = { .word = 0 };
    CHECK_STATUS(csk_sem_init(&sem, 2, 0), 0);
    calls = 0;
    order_count = 0;
    CHECK_STATUS(csk_sem_wait_async(&sem, &large, back(HIGH), 9, CSK_NEVER, note_call, NULL), 0);
    queue_visitor(&thread, &sem, back(0), 1, 0);
    CHECK_STATUS(csk_sem_wait_async(&sem, &small, back(0), 1, CSK_NEVER, note_call, NULL), 0);
    CHECK_STATUS(csk_sem_cancel(&sem, &large), 0);
    CHECK_EQ(calls, 2);
    check_visited(&thread, 0);
    /* By the clock's thread, and by the thread that gives up. */
    for (int by_thread = 0; by_thread < 2; by_thread++) {
        pthread_t many = pthread_self();
        calls = by_thread;
        CHECK_STATUS(csk_sem_signal(&sem, 1), 0);
        int64_t deadline_ns = csk_deadline_after(2000000);
        if (by_thread) many = start_thread(wait_for_many, &sem);
        else CHECK_STATUS(csk_sem_wait_async(&sem, &large, back(HIGH), 9, deadline_ns, note_call, NULL), 0);
        CHECK_STATUS(csk_sem_wait_async(&sem, &small, back(0), 1, CSK_NEVER, note_call, NULL), 0);
        wait_until(LOAD(&calls) == 2);
        if (by_thread) join_thread(many);
    }
    check_idle(&sem, 0);
}

struct race {
    csk_sem_t sem;
    csk_gate_waiter_t waiter;
    int round, rounds, granted, cancelled, ended, said_cancelled;
};

static void end_race(csk_gate_waiter_t *waiter, void *context, int status) {
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
        CHECK_STATUS(csk_sem_wait_async(&race.sem, &race.waiter, back(0), 1, deadline_ns, end_race, &race), 0);
        STORE(&race.round, i);
        if (i % 2) sched_yield();
        CHECK_STATUS(csk_sem_signal(&race.sem, 1), 0);
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

static void count_and_signal(csk_gate_waiter_t *waiter, void *context, int status) {
    CHECK_STATUS(status, 0);
    CHECK_EQ(++running, 1);
    CHECK_EQ((intptr_t)context, chained++);
    CHECK_STATUS(csk_sem_signal((csk_sem_t *)waiter->object, 1), 0);
    running--;
}

static void *signal_a_long_chain(void *context) {
    csk_sem_t *sem = context;
    csk_gate_waiter_t *waiters = calloc(CHAIN, sizeof *waiters);
    CHECK(waiters != NULL);
    chained = 0;
    for (intptr_t i = 0; i < CHAIN; i++)
        CHECK_STATUS(csk_sem_wait_async(sem, &waiters[i], back(0), 1, CSK_NEVER, count_and_signal, (void *)i), 0);
    CHECK_EQ(csk_sem_waiting(sem), CHAIN);
    CHECK_STATUS(csk_sem_signal(sem, 1), 0);
    CHECK_EQ(chained, CHAIN);
    /* All at once. */
    chained = 0;
    CHECK_STATUS(csk_sem_wait(sem, 0, 1), 0);
    for (intptr_t i = 0; i < CHAIN; i++)
        CHECK_STATUS(csk_sem_wait_async(sem, &waiters[i], back(0), 1, CSK_NEVER, count_and_signal, (void *)i), 0);
    CHECK_STATUS(csk_sem_signal(sem, CHAIN), 0);
    CHECK_EQ(chained, CHAIN);
    free(waiters);
    return NULL;
}

static void a_hundred_thousand_functions_in_a_chain_need_no_stack(void) {
    csk_sem_t sem = CSK_SEM_INITIALIZER;
    join_thread(start_thread(signal_a_long_chain, &sem));
    check_idle(&sem, CHAIN);
}

/* ---- The size ---------------------------------------------------------------------------------------------------- */

static void the_size_grows_and_shrinks(void) {
    csk_sem_t sem;
    visitor_t visitor;
    CHECK_STATUS(csk_sem_init(&sem, 4, 10), 0);
    CHECK_STATUS(csk_sem_wait(&sem, 0, 3), 0);
    CHECK_STATUS(csk_sem_resize(&sem, 1), 0);
    CHECK_EQ(csk_sem_permits(&sem), -2);
    CHECK_STATUS(csk_sem_trywait(&sem, HIGH, 1), EBUSY);
    CHECK_STATUS(csk_sem_signal(&sem, 2), 0);
    CHECK_EQ(csk_sem_permits(&sem), 0);
    CHECK_STATUS(csk_sem_signal(&sem, 1), 0);
    CHECK_EQ(csk_sem_permits(&sem), 1);
    order_count = 0;
    queue_visitor(&visitor, &sem, back(0), 6, 0);
    CHECK_STATUS(csk_sem_resize(&sem, 0), 0);
    CHECK_EQ(csk_sem_permits(&sem), 0);
    CHECK_STATUS(csk_sem_resize(&sem, 5), 0);
    CHECK_EQ(csk_sem_waiting(&sem), 1);
    CHECK_STATUS(csk_sem_resize(&sem, 7), 0);
    check_visited(&visitor, 0);
    CHECK_STATUS(csk_sem_resize(&sem, 0), 0);
    CHECK_EQ(csk_sem_permits(&sem), -6);
    CHECK_STATUS(csk_sem_signal(&sem, 16), 0);
    CHECK_STATUS(csk_sem_signal(&sem, 1), EOVERFLOW);
    check_idle(&sem, 10);
    CHECK_STATUS(csk_sem_init(&sem, CSK_SEM_MAX, 0), 0);
    CHECK_STATUS(csk_sem_wait(&sem, 0, CSK_SEM_MAX), 0);
    CHECK_STATUS(csk_sem_resize(&sem, 0), 0);
    CHECK_EQ(csk_sem_permits(&sem), -CSK_SEM_MAX);
    CHECK_STATUS(csk_sem_signal(&sem, CSK_SEM_MAX), 0);
    CHECK_STATUS(csk_sem_resize(&sem, CSK_SEM_MAX), 0);
    check_idle(&sem, CSK_SEM_MAX);
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
        CHECK_STATUS(csk_sem_signal(sem, LOAD(&permits_at_once)), 0);
    }
    return NULL;
}

/* sem_post could touch the semaphore after the wait that it had ended (glibc's bug 13690). */
static void a_semaphore_is_freed_while_the_signal_that_ended_its_last_wait_still_returns(void) {
    STORE(&permits_at_once, 1);
    pthread_t thread = start_thread(signal_what_is_handed, NULL);
    for (int i = 0; i < FREED_ROUNDS / TEST_SLOWDOWN; i++) {
        csk_sem_t *sem = calloc(1, sizeof *sem);
        STORE(&handed, sem);
        if (i % 4 == 0) sched_yield();
        CHECK_STATUS(csk_sem_wait(sem, 0, 1), 0);
        CHECK_STATUS(csk_sem_destroy(sem), 0);
        memset(sem, 0xDD, sizeof *sem);
        free(sem);
    }
    join_thread(thread);
}

static void free_waiter_and_semaphore(csk_gate_waiter_t *waiter, void *context, int status) {
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
        csk_gate_waiter_t *waiter = calloc(1, sizeof *waiter);
        STORE(&handed, sem);
        if (i % 4 == 0) sched_yield();
        CHECK_STATUS(csk_sem_wait_async(sem, waiter, back(0), 2, i % 2 ? CSK_NEVER : csk_deadline_after(hour_ns),
                                        free_waiter_and_semaphore, sem),
                     0);
        wait_until(LOAD(&calls) == i + 1);
    }
    join_thread(thread);
}

/* ---- Many at once ------------------------------------------------------------------------------------------------ */

enum { CROWD = 8, PERMITS = 4, TURNS = 20000 };

typedef struct {
    csk_gate_waiter_t waiter;
    uint32_t busy, permits;
} request_t;

static struct {
    csk_sem_t sem;
    request_t requests[CROWD];
    int64_t inside; /* permits that somebody has */
} crowd;

static void leave(uint32_t permits) {
    CHECK_GE(__atomic_fetch_sub(&crowd.inside, permits, __ATOMIC_RELAXED), permits);
    CHECK_STATUS(csk_sem_signal(&crowd.sem, permits), 0);
}
static void enter_and_leave(uint32_t permits) {
    CHECK_LE(__atomic_add_fetch(&crowd.inside, permits, __ATOMIC_RELAXED), PERMITS);
    leave(permits);
}
static void end_request(csk_gate_waiter_t *waiter, void *context, int status) {
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
            CHECK_STATUS(csk_sem_wait_async(&crowd.sem, &request->waiter, back(priority), permits, deadline_ns,
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

static void no_permit_is_lost_or_doubled(void) {
    pthread_t threads[CROWD];
    CHECK_STATUS(csk_sem_init(&crowd.sem, PERMITS, PERMITS), 0);
    for (uintptr_t i = 0; i < CROWD; i++) threads[i] = start_thread(take_turns, (void *)(i + 1));
    for (int i = 0; i < CROWD; i++) join_thread(threads[i]);
    for (int i = 0; i < CROWD; i++) wait_until(LOAD(&crowd.requests[i].busy) == 0);
    CHECK_EQ(crowd.inside, 0);
    check_idle(&crowd.sem, PERMITS);
}

/* ---- A child of fork --------------------------------------------------------------------------------------------- */

static void fail_if_called(csk_gate_waiter_t *waiter, void *context, int status) {
    (void)waiter, (void)context;
    CHECK_STATUS(status, ECANCELED);
    ADD(&calls, 1);
}

/* A process of its own, which forks with a thread and a function that wait. */
static void fork_with_waiters(void *unused) {
    (void)unused;
    static csk_sem_t sem;
    static csk_gate_waiter_t waiter;
    visitor_t visitor;
    CHECK_STATUS(csk_sem_init(&sem, 3, 0), 0);
    CHECK_STATUS(csk_sem_wait_async(&sem, &waiter, back(0), 4, csk_deadline_after(hour_ns), fail_if_called, NULL), 0);
    queue_visitor(&visitor, &sem, back(LOW), 1, 0);
    calls = 0;
    pid_t child = fork();
    CHECK(child >= 0);
    if (child == 0) {
        CHECK_EQ(csk_sem_permits(&sem), 3);
        CHECK_STATUS(csk_sem_trywait(&sem, LOW, 1), 0);
        CHECK_EQ(csk_sem_waiting(&sem), 0);
        CHECK_STATUS(csk_sem_cancel(&sem, &waiter), EBUSY);
        CHECK_STATUS(csk_sem_wait_async(&sem, &waiter, back(0), 3, CSK_NEVER, note_call, NULL), 0);
        CHECK_EQ(calls, 0);
        CHECK_STATUS(csk_sem_signal(&sem, 1), 0);
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
    check_visited(&visitor, 0);
    check_idle(&sem, 2);
}

static void a_child_has_the_free_permits_and_nobody_waits_there(void) { in_a_child(fork_with_waiters, NULL); }

TEST_MAIN(TEST(a_child_has_the_free_permits_and_nobody_waits_there), TEST(waits_take_what_signals_add),
          TEST(zero_filled_memory_is_a_semaphore_without_permits),
          TEST(what_cannot_be_done_is_refused_and_changes_nothing), TEST(a_change_of_the_size_never_makes_too_many),
          TEST(threads_and_functions_wait_by_priority_and_then_arrival),
          TEST(a_large_request_bars_its_own_priority_and_lower_ones), TEST(one_signal_serves_as_many_as_it_can),
          TEST(no_wait_ends_early), TEST(deadlines_and_cancellation_end_a_wait),
          TEST(whoever_leaves_the_head_lets_in_those_behind), TEST(of_grant_cancel_and_deadline_exactly_one_wins),
          TEST(a_hundred_thousand_functions_in_a_chain_need_no_stack), TEST(the_size_grows_and_shrinks),
          TEST(a_semaphore_is_freed_while_the_signal_that_ended_its_last_wait_still_returns),
          TEST(a_function_frees_its_waiter_and_the_semaphore), TEST(no_permit_is_lost_or_doubled))
