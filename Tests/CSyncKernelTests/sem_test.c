/* sem_test.c: what the semaphore promises: counts, order, weights, deadlines, asynchronous waiters, changes of the
 * size, refusals. */
#include <csynckernel/csynckernel.h>

#include "sem_fixture.h"

enum { LOW = -3, HIGH = 7 };
static const int64_t hour_ns = INT64_C(3600000000000);

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

/* Of what the tests below make that are asked in each policy. */
static uint32_t policy;
static void make(csk_sem_t *sem, uint32_t permits, uint32_t most) {
    csk_sem_attr_t attr = { .most = most, .policy = policy };
    CHECK_STATUS(csk_sem_init_attr(sem, permits, &attr), 0);
}
#define IN_EACH_POLICY(name)                                                         \
    static void name(void) {                                                         \
        for (policy = CSK_SEM_FAST; policy <= CSK_SEM_STRICT; policy++) name##_in(); \
    }

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
static void note_call(csk_waiter_t *waiter, void *context, int status) {
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
    CHECK_STATUS(csk_sem_post(&sem, 5), 0);
    CHECK_STATUS(csk_sem_trywait(&sem, 0, 6), EBUSY);
    CHECK_STATUS(csk_sem_timedwait(&sem, 0, 4, 0), 0);
    check_idle(&sem, 1);
}

static void zero_filled_memory_is_a_semaphore_without_permits(void) {
    static csk_sem_t sem;
    csk_sem_t other = CSK_SEM_INITIALIZER;
    CHECK_EQ(memcmp(&sem, &other, sizeof sem), 0);
    CHECK_STATUS(csk_sem_trywait(&sem, 0, 1), EBUSY);
    CHECK_STATUS(csk_sem_post(&sem, CSK_SEM_MAX), 0);
    CHECK_EQ(csk_sem_permits(&sem), CSK_SEM_MAX);
    CHECK_STATUS(csk_sem_wait(&sem, 0, CSK_SEM_MAX), 0);
    check_idle(&sem, 0);
}

static void what_cannot_be_done_is_refused_and_changes_nothing(void) {
    csk_sem_t sem;
    csk_waiter_t waiter = { .word = 0 };
    CHECK_STATUS(csk_sem_init(&sem, 3, 2), EINVAL);
    CHECK_STATUS(csk_sem_init(&sem, (uint32_t)CSK_SEM_MAX + 1, 0), EINVAL);
    CHECK_STATUS(csk_sem_init(&sem, 0, (uint32_t)CSK_SEM_MAX + 1), EINVAL);
    CHECK_STATUS(csk_sem_init_attr(&sem, 1, &(csk_sem_attr_t){ .policy = CSK_SEM_STRICT + 1 }), EINVAL);
    CHECK_STATUS(csk_sem_init(&sem, 1, 2), 0);
    for (int waits = 0; waits < 2; waits++) {
        calls = 0;
        if (waits) CHECK_STATUS(csk_sem_wait_async(&sem, back(0), &waiter, 2, CSK_NEVER, note_call, NULL), 0);
        csk_waiter_t other = { .word = 0 };
        CHECK_STATUS(csk_sem_wait(&sem, 0, 0), EINVAL);
        CHECK_STATUS(csk_sem_wait(&sem, 0, 3), EINVAL);
        CHECK_STATUS(csk_sem_wait(&sem, 0, UINT32_MAX), EINVAL);
        CHECK_STATUS(csk_sem_trywait(&sem, 0, 0), EINVAL);
        CHECK_STATUS(csk_sem_trywait(&sem, 0, 3), EINVAL);
        CHECK_STATUS(csk_sem_timedwait(&sem, 0, 3, 0), EINVAL);
        CHECK_STATUS(csk_sem_wait_ranked(&sem, INT64_MAX, 2, 0), EINVAL);
        CHECK_STATUS(csk_sem_wait_ranked(&sem, INT64_MIN, 2, CSK_NEVER), EINVAL);
        CHECK_STATUS(csk_sem_post(&sem, 0), EINVAL);
        CHECK_STATUS(csk_sem_post(&sem, 2), EOVERFLOW);
        CHECK_STATUS(csk_sem_post(&sem, UINT32_MAX), EOVERFLOW);
        CHECK_STATUS(csk_sem_resize(&sem, 3), EINVAL);
        CHECK_STATUS(csk_sem_wait_async(&sem, back(0), &other, 1, CSK_NEVER, NULL, NULL), EINVAL);
        CHECK_STATUS(csk_sem_wait_async(&sem, back(0), &other, 0, CSK_NEVER, note_call, NULL), EINVAL);
        CHECK_STATUS(csk_sem_wait_async(&sem, back(0), &other, 3, CSK_NEVER, note_call, NULL), EINVAL);
        CHECK_STATUS(csk_sem_wait_async(&sem, INT64_MAX, &other, 1, CSK_NEVER, note_call, NULL), EINVAL);
        CHECK_STATUS(csk_sem_cancel(&sem, &other), ENOENT);
        if (waits) {
            CHECK_STATUS(csk_sem_wait_async(&sem, back(0), &waiter, 1, CSK_NEVER, note_call, NULL), EBUSY);
            CHECK_STATUS(csk_sem_destroy(&sem), EBUSY);
        }
        CHECK_EQ(calls, 0);
        CHECK_EQ(csk_sem_permits(&sem), 1);
        CHECK_EQ(csk_sem_waiting(&sem), waits);
    }
    CHECK_STATUS(csk_sem_post(&sem, 1), 0);
    CHECK_EQ(calls, 1);
    check_idle(&sem, 0);
}

/* Once the difference was added whatever was free: a semaphore for one had two. */
static void a_change_of_the_size_never_makes_too_many(void) {
    csk_sem_t sem;
    CHECK_STATUS(csk_sem_init(&sem, 0, 1), 0);
    CHECK_STATUS(csk_sem_post(&sem, 1), 0);
    CHECK_STATUS(csk_sem_resize(&sem, 1), EOVERFLOW);
    CHECK_EQ(csk_sem_permits(&sem), 1);
    CHECK_STATUS(csk_sem_wait(&sem, 0, 1), 0);
    CHECK_STATUS(csk_sem_resize(&sem, 1), 0);
    check_idle(&sem, 1);
}

/* ---- Order and weights ------------------------------------------------------------------------------------------- */

static void threads_and_functions_wait_by_priority_and_then_arrival_in(void) {
    static int numbers[] = { 0, 1, 2, 3, 4, 5, 6 };
    csk_sem_t sem;
    visitor_t visitors[4];
    csk_waiter_t waiters[3] = { { .word = 0 } };
    make(&sem, 0, 0);
    order_count = 0;
    queue_visitor(&visitors[0], &sem, back(0), 1, 0);
    CHECK_STATUS(csk_sem_wait_async(&sem, back(HIGH), &waiters[0], 1, CSK_NEVER, note_call, &numbers[1]), 0);
    queue_visitor(&visitors[1], &sem, back(LOW), 1, 2);
    queue_visitor(&visitors[2], &sem, csk_rank(0, CSK_PLACE_FRONT), 1, 3);
    CHECK_STATUS(csk_sem_wait_async(&sem, back(0), &waiters[1], 1, CSK_NEVER, note_call, &numbers[4]), 0);
    CHECK_STATUS(
        csk_sem_wait_async(&sem, csk_rank(0, CSK_PLACE_LAST), &waiters[2], 1, CSK_NEVER, note_call, &numbers[5]), 0);
    queue_visitor(&visitors[3], &sem, back(HIGH), 1, 6);
    for (uint32_t i = 1; i <= 7; i++) {
        CHECK_STATUS(csk_sem_post(&sem, 1), 0);
        wait_until(LOAD(&order_count) == i);
    }
    static const int expected[] = { 1, 6, 3, 0, 4, 5, 2 };
    for (int i = 0; i < 4; i++) check_visited(&visitors[i], 0);
    for (int i = 0; i < 7; i++) CHECK_EQ(order[i], expected[i]);
    check_idle(&sem, 0);
}
IN_EACH_POLICY(threads_and_functions_wait_by_priority_and_then_arrival)

static void a_large_request_bars_its_own_priority_and_lower_ones_in(void) {
    csk_sem_t sem;
    visitor_t large, small, urgent;
    make(&sem, 2, 0);
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
    CHECK_STATUS(csk_sem_post(&sem, 1), 0);
    CHECK_STATUS(csk_sem_post(&sem, 1), 0);
    check_visited(&urgent, 0);
    CHECK_STATUS(csk_sem_post(&sem, 3), 0);
    CHECK_EQ(csk_sem_waiting(&sem), 2);
    CHECK_STATUS(csk_sem_post(&sem, 2), 0);
    check_visited(&large, 0);
    check_visited(&small, 0);
    CHECK_EQ(order[0], 3);
    check_idle(&sem, 0);
}
IN_EACH_POLICY(a_large_request_bars_its_own_priority_and_lower_ones)

/* Among those of its new rank it stands where it arrived. */
static void a_waiter_that_is_raised_goes_first(void) {
    csk_sem_t sem;
    static csk_waiter_t waiters[3];
    static const int32_t priorities[] = { LOW, 0, HIGH };
    static int numbers[] = { 0, 1, 2 };
    CHECK_STATUS(csk_sem_init(&sem, 0, 0), 0);
    order_count = 0;
    calls = 0;
    for (int i = 0; i < 3; i++)
        CHECK_STATUS(csk_sem_wait_async(&sem, back(priorities[i]), &waiters[i], 1, CSK_NEVER, note_call, &numbers[i]),
                     0);
    CHECK_STATUS(csk_sem_raise(&sem, INT64_MIN, &waiters[0]), EINVAL);
    CHECK_STATUS(csk_sem_raise(&sem, csk_rank(HIGH, CSK_PLACE_UNNAMED), &waiters[0]), EINVAL);
    CHECK_STATUS(csk_sem_raise(&sem, back(LOW), &waiters[2]), 0); /* that is lower */
    CHECK_STATUS(csk_sem_raise(&sem, back(HIGH), &waiters[0]), 0);
    CHECK_STATUS(csk_sem_raise(&sem, back(INT32_MIN), &waiters[0]), 0);
    CHECK_STATUS(csk_sem_raise(&sem, csk_rank(INT32_MIN, CSK_PLACE_LAST), &waiters[0]), 0);
    CHECK_STATUS(csk_sem_post(&sem, 2), 0);
    CHECK_EQ(order[0], 0);
    CHECK_EQ(order[1], 2);
    CHECK_STATUS(csk_sem_raise(&sem, front(INT32_MAX), &waiters[1]), 0); /* the highest rank that there is */
    CHECK_STATUS(csk_sem_raise(&sem, front(INT32_MAX) + 1, &waiters[1]), EINVAL);
    CHECK_STATUS(csk_sem_post(&sem, 1), 0);
    CHECK_EQ(order[2], 1);
    CHECK_STATUS(csk_sem_raise(&sem, back(HIGH), &waiters[0]), ENOENT);
    check_idle(&sem, 0);
}

static void one_signal_serves_as_many_as_it_can_in(void) {
    csk_sem_t sem;
    visitor_t threads[3];
    csk_waiter_t waiters[3] = { { .word = 0 } };
    make(&sem, 0, 0);
    calls = 0;
    order_count = 0;
    for (int i = 0; i < 3; i++) {
        queue_visitor(&threads[i], &sem, back(0), 2, i);
        CHECK_STATUS(csk_sem_wait_async(&sem, back(0), &waiters[i], 1, CSK_NEVER, note_call, NULL), 0);
    }
    CHECK_STATUS(csk_sem_post(&sem, 8), 0);
    CHECK_EQ(calls, 2);
    /* The last thread comes for its permits. */
    if (policy == CSK_SEM_FAST) wait_until(csk_sem_waiting(&sem) == 1);
    CHECK_EQ(csk_sem_waiting(&sem), 1);
    CHECK_EQ(csk_sem_permits(&sem), 0);
    for (int i = 0; i < 3; i++) check_visited(&threads[i], 0);
    CHECK_STATUS(csk_sem_post(&sem, 2), 0);
    CHECK_EQ(calls, 3);
    check_idle(&sem, 1);
}
IN_EACH_POLICY(one_signal_serves_as_many_as_it_can)

/* ---- The end of a wait ------------------------------------------------------------------------------------------- */

static void no_wait_ends_early_in(void) {
    csk_sem_t sem;
    make(&sem, 1, 0);
    for (int i = 0; i < 20; i++) {
        int64_t deadline_ns = csk_deadline_after(i * INT64_C(100000));
        CHECK_STATUS(csk_sem_timedwait(&sem, 0, 2, deadline_ns), ETIMEDOUT);
        CHECK_GE(csk_now(), deadline_ns);
    }
    CHECK_STATUS(csk_sem_timedwait(&sem, 0, 2, INT64_MIN), ETIMEDOUT);
    check_idle(&sem, 1);
}
IN_EACH_POLICY(no_wait_ends_early)

static void deadlines_and_cancellation_end_a_wait_in(void) {
    csk_sem_t sem;
    csk_waiter_t waiter = { .word = 0 };
    make(&sem, 1, 0);
    calls = 0;
    int64_t deadline_ns = csk_deadline_after(2000000);
    CHECK_STATUS(csk_sem_wait_async(&sem, back(0), &waiter, 2, deadline_ns, note_call, NULL), 0);
    wait_until(LOAD(&calls) == 1);
    CHECK_GE(csk_now(), deadline_ns);
    CHECK_STATUS(last_status, ETIMEDOUT);
    CHECK_STATUS(csk_sem_wait_async(&sem, back(0), &waiter, 2, INT64_MIN, note_call, NULL), 0);
    wait_until(LOAD(&calls) == 2);
    CHECK_STATUS(last_status, ETIMEDOUT);
    CHECK_STATUS(csk_sem_wait_async(&sem, back(0), &waiter, 2, csk_deadline_after(hour_ns), note_call, NULL), 0);
    CHECK_STATUS(csk_sem_cancel(&sem, &waiter), 0);
    CHECK_EQ(calls, 3);
    CHECK_STATUS(last_status, ECANCELED);
    CHECK_STATUS(csk_sem_cancel(&sem, &waiter), ENOENT);
    CHECK_STATUS(csk_sem_wait_async(&sem, back(0), &waiter, 1, INT64_MIN, note_call, NULL), 0);
    CHECK_EQ(calls, 4);
    CHECK_STATUS(last_status, 0);
    check_idle(&sem, 0);
}
IN_EACH_POLICY(deadlines_and_cancellation_end_a_wait)

static void *wait_for_many(void *sem) {
    CHECK_STATUS(csk_sem_timedwait(sem, HIGH, 9, csk_deadline_after(2000000)), ETIMEDOUT);
    return NULL;
}

static void whoever_leaves_the_head_lets_in_those_behind_in(void) {
    csk_sem_t sem;
    visitor_t thread;
    csk_waiter_t large = { .word = 0 }, small = { .word = 0 };
    make(&sem, 2, 0);
    calls = 0;
    order_count = 0;
    CHECK_STATUS(csk_sem_wait_async(&sem, back(HIGH), &large, 9, CSK_NEVER, note_call, NULL), 0);
    queue_visitor(&thread, &sem, back(0), 1, 0);
    CHECK_STATUS(csk_sem_wait_async(&sem, back(0), &small, 1, CSK_NEVER, note_call, NULL), 0);
    CHECK_STATUS(csk_sem_cancel(&sem, &large), 0);
    CHECK_EQ(calls, 2);
    check_visited(&thread, 0);
    /* By the clock's thread, and by the thread that gives up. */
    for (int by_thread = 0; by_thread < 2; by_thread++) {
        pthread_t many = pthread_self();
        calls = by_thread;
        CHECK_STATUS(csk_sem_post(&sem, 1), 0);
        int64_t deadline_ns = csk_deadline_after(2000000);
        if (by_thread) many = start_thread(wait_for_many, &sem);
        else CHECK_STATUS(csk_sem_wait_async(&sem, back(HIGH), &large, 9, deadline_ns, note_call, NULL), 0);
        CHECK_STATUS(csk_sem_wait_async(&sem, back(0), &small, 1, CSK_NEVER, note_call, NULL), 0);
        wait_until(LOAD(&calls) == 2);
        if (by_thread) join_thread(many);
    }
    check_idle(&sem, 0);
}
IN_EACH_POLICY(whoever_leaves_the_head_lets_in_those_behind)

/* ---- The size ---------------------------------------------------------------------------------------------------- */

static void the_size_grows_and_shrinks_in(void) {
    csk_sem_t sem;
    visitor_t visitor;
    make(&sem, 4, 10);
    CHECK_STATUS(csk_sem_wait(&sem, 0, 3), 0);
    CHECK_STATUS(csk_sem_resize(&sem, 1), 0);
    CHECK_EQ(csk_sem_permits(&sem), -2);
    CHECK_STATUS(csk_sem_trywait(&sem, HIGH, 1), EBUSY);
    CHECK_STATUS(csk_sem_post(&sem, 2), 0);
    CHECK_EQ(csk_sem_permits(&sem), 0);
    CHECK_STATUS(csk_sem_post(&sem, 1), 0);
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
    CHECK_STATUS(csk_sem_post(&sem, 16), 0);
    CHECK_STATUS(csk_sem_post(&sem, 1), EOVERFLOW);
    check_idle(&sem, 10);
    make(&sem, CSK_SEM_MAX, 0);
    CHECK_STATUS(csk_sem_wait(&sem, 0, CSK_SEM_MAX), 0);
    CHECK_STATUS(csk_sem_resize(&sem, 0), 0);
    CHECK_EQ(csk_sem_permits(&sem), -CSK_SEM_MAX);
    CHECK_STATUS(csk_sem_post(&sem, CSK_SEM_MAX), 0);
    CHECK_STATUS(csk_sem_resize(&sem, CSK_SEM_MAX), 0);
    check_idle(&sem, CSK_SEM_MAX);
}
IN_EACH_POLICY(the_size_grows_and_shrinks)

TEST_MAIN(TEST(waits_take_what_signals_add), TEST(zero_filled_memory_is_a_semaphore_without_permits),
          TEST(what_cannot_be_done_is_refused_and_changes_nothing), TEST(a_change_of_the_size_never_makes_too_many),
          TEST(threads_and_functions_wait_by_priority_and_then_arrival),
          TEST(a_large_request_bars_its_own_priority_and_lower_ones), TEST(a_waiter_that_is_raised_goes_first),
          TEST(one_signal_serves_as_many_as_it_can),

          TEST(no_wait_ends_early), TEST(deadlines_and_cancellation_end_a_wait),
          TEST(whoever_leaves_the_head_lets_in_those_behind), TEST(the_size_grows_and_shrinks))
