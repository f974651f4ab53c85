/* gate_async_test.c: asynchronous waiters: one order with threads, cancellation, deadlines, provisional grants,
 * closing. */
#include <csynckernel/csynckernel.h>

#include "test.h"

static int order[16], order_count;
static int calls, last_status;

static void note_call(csk_waiter_t *waiter, void *context, int status) {
    (void)waiter;
    (void)context;
    STORE(&last_status, status);
    ADD(&calls, 1);
}

static void note_and_leave(csk_waiter_t *waiter, void *context, int status) {
    CHECK_STATUS(status, 0);
    order[order_count++] = (int)(intptr_t)context;
    CHECK_STATUS(csk_gate_unlock(waiter->gate), 0);
}

static void a_free_gate_is_granted_at_once(void) {
    csk_gate_t gate = CSK_GATE_INITIALIZER;
    csk_waiter_t waiter = { .word = 0 };
    calls = 0;
    CHECK_STATUS(csk_gate_lock_async(&gate, 0, &waiter, CSK_NEVER, NULL, NULL), EINVAL);
    CHECK_STATUS(csk_gate_lock_async(&gate, 0, &waiter, CSK_NEVER, note_call, NULL), 0);
    CHECK_EQ(calls, 1);
    CHECK_STATUS(last_status, 0);
    CHECK_STATUS(csk_gate_trylock(&gate, 0), EBUSY);
    CHECK_STATUS(csk_gate_unlock(&gate), 0);
    CHECK_STATUS(csk_gate_cancel(&gate, &waiter), ENOENT);
}

static void *lock_and_note(void *context) {
    csk_gate_t *gate = context;
    CHECK_STATUS(csk_gate_lock(gate, 5), 0);
    order[order_count++] = 100;
    CHECK_STATUS(csk_gate_unlock(gate), 0);
    return NULL;
}

static void threads_and_callbacks_wait_in_one_order(void) {
    for (uint32_t policy = 0; policy < 3; policy++) {
        csk_gate_t gate;
        csk_gate_attr_t attr = { .policy = policy };
        csk_waiter_t waiters[4];
        memset(waiters, 0, sizeof waiters);
        csk_gate_init(&gate, &attr);
        order_count = 0;
        CHECK_STATUS(csk_gate_lock(&gate, 0), 0);
        CHECK_STATUS(csk_gate_lock_async(&gate, 1, &waiters[0], CSK_NEVER, note_and_leave, (void *)0), 0);
        pthread_t thread = start_thread(lock_and_note, &gate);
        wait_until(csk_gate_waiting(&gate) == 2);
        CHECK_STATUS(csk_gate_lock_async(&gate, 9, &waiters[1], CSK_NEVER, note_and_leave, (void *)1), 0);
        CHECK_STATUS(csk_gate_lock_async(&gate, 5, &waiters[2], CSK_NEVER, note_and_leave, (void *)2), 0);
        CHECK_STATUS(csk_gate_lock_async(&gate, INT32_MIN, &waiters[3], CSK_NEVER, note_and_leave, (void *)3), 0);
        CHECK_STATUS(csk_gate_lock_async(&gate, 0, &waiters[3], CSK_NEVER, note_and_leave, NULL), EBUSY);
        CHECK_STATUS(csk_gate_unlock(&gate), 0);
        join_thread(thread);
        wait_until(csk_gate_waiting(&gate) == 0 && csk_gate_trylock(&gate, INT32_MIN) == 0);
        int expected[] = { 1, 100, 2, 0, 3 };
        for (int i = 0; i < 5; i++) CHECK_EQ(order[i], expected[i]);
        CHECK_STATUS(csk_gate_unlock(&gate), 0);
    }
}

enum { CHAIN = 100000 };
static int chained;

static void count_and_leave(csk_waiter_t *waiter, void *context, int status) {
    (void)context;
    CHECK_STATUS(status, 0);
    CHECK_EQ(waiter->node.ticket, ++chained + 1);
    CHECK_STATUS(csk_gate_unlock(waiter->gate), 0);
}

static void *leave_a_long_chain(void *context) {
    csk_gate_t *gate = context;
    csk_waiter_t *waiters = calloc(CHAIN + 1, sizeof *waiters);
    CHECK_STATUS(csk_gate_lock_async(gate, 0, &waiters[CHAIN], CSK_NEVER, note_call, NULL), 0);
    for (int i = 0; i < CHAIN; i++)
        CHECK_STATUS(csk_gate_lock_async(gate, 0, &waiters[i], CSK_NEVER, count_and_leave, NULL), 0);
    CHECK_EQ(csk_gate_waiting(gate), CHAIN);
    CHECK_STATUS(csk_gate_unlock(gate), 0);
    CHECK_EQ(chained, CHAIN);
    free(waiters);
    return NULL;
}

static void a_hundred_thousand_waiters_need_no_stack(void) {
    csk_gate_t gate = CSK_GATE_INITIALIZER;
    join_thread(start_thread(leave_a_long_chain, &gate));
    CHECK_STATUS(csk_gate_destroy(&gate), 0);
}

static void deadlines_and_cancellation_end_a_wait(void) {
    csk_gate_t gate = CSK_GATE_INITIALIZER;
    csk_waiter_t waiter = { .word = 0 };
    CHECK_STATUS(csk_gate_lock(&gate, 0), 0);
    calls = 0;
    int64_t deadline = csk_deadline_after(2000000);
    CHECK_STATUS(csk_gate_lock_async(&gate, 0, &waiter, deadline, note_call, NULL), 0);
    wait_until(LOAD(&calls) == 1);
    CHECK_GE(csk_now(), deadline);
    CHECK_STATUS(last_status, ETIMEDOUT);
    CHECK_STATUS(csk_gate_lock_async(&gate, 0, &waiter, csk_deadline_after(1000000000), note_call, NULL), 0);
    CHECK_STATUS(csk_gate_cancel(&gate, &waiter), 0);
    CHECK_EQ(calls, 2);
    CHECK_STATUS(last_status, ECANCELED);
    CHECK_EQ(csk_gate_waiting(&gate), 0);
    CHECK_STATUS(csk_gate_unlock(&gate), 0);
    CHECK_STATUS(csk_gate_destroy(&gate), 0);
}

struct race {
    csk_gate_t gate;
    csk_waiter_t waiter;
    int round, rounds, granted, ended;
};

static void end_race(csk_waiter_t *waiter, void *context, int status) {
    struct race *race = context;
    if (status == 0) {
        race->granted++;
        CHECK_STATUS(csk_gate_unlock(waiter->gate), 0);
    } else {
        CHECK(status == ECANCELED || status == ETIMEDOUT);
    }
    ADD(&race->ended, 1);
}

static void *cancel_each(void *context) {
    struct race *race = context;
    for (int i = 1; i <= race->rounds; i++) {
        wait_until(LOAD(&race->round) >= i);
        /* It may meet this round or, when that was quick, a later one. */
        csk_gate_cancel(&race->gate, &race->waiter);
        wait_until(LOAD(&race->ended) >= i);
    }
    return NULL;
}

static void of_grant_cancel_and_deadline_exactly_one_wins(void) {
    static struct race race;
    race.rounds = 20000 / TEST_SLOWDOWN;
    pthread_t thread = start_thread(cancel_each, &race);
    for (int i = 1; i <= race.rounds; i++) {
        CHECK_STATUS(csk_gate_lock(&race.gate, 0), 0);
        int64_t deadline = i % 3 == 0 ? csk_deadline_after(3000) : CSK_NEVER;
        CHECK_STATUS(csk_gate_lock_async(&race.gate, 0, &race.waiter, deadline, end_race, &race), 0);
        STORE(&race.round, i);
        if (i % 2) sched_yield();
        CHECK_STATUS(csk_gate_unlock(&race.gate), 0);
        wait_until(LOAD(&race.ended) == i);
    }
    join_thread(thread);
    CHECK_STATUS(csk_gate_trylock(&race.gate, 0), 0);
}

static void a_grant_that_nobody_adopts_goes_to_the_next_and_comes_back(void) {
    csk_gate_t gate = CSK_GATE_INITIALIZER;
    csk_waiter_t waiter = { .word = 0 };
    calls = 0;
    CHECK_STATUS(
        csk_gate_lock_async_ranked(&gate, csk_rank(9, CSK_PLACE_BACK), &waiter, true, CSK_NEVER, note_call, NULL), 0);
    CHECK_EQ(calls, 1);
    int64_t begin = csk_now();
    CHECK_STATUS(csk_gate_lock(&gate, 0), 0);
    CHECK_GE(csk_now() - begin, 900000);
    CHECK_STATUS(csk_gate_adopt(&gate, &waiter), EAGAIN);
    CHECK_STATUS(csk_gate_relock_async(&gate, &waiter), 0);
    CHECK_STATUS(csk_gate_relock_async(&gate, &waiter), EINVAL);
    CHECK_EQ(calls, 1);
    CHECK_STATUS(csk_gate_unlock(&gate), 0);
    wait_until(LOAD(&calls) == 2);
    CHECK_STATUS(csk_gate_adopt(&gate, &waiter), 0);
    CHECK(csk_gate_is_mine(&gate));
    CHECK_STATUS(csk_gate_lock(&gate, 0), EDEADLK);
    CHECK_STATUS(csk_gate_unlock(&gate), 0);
}

static void a_closed_gate_serves_those_accepted_and_refuses_others(void) {
    for (uint32_t policy = 0; policy < 3; policy++) {
        csk_gate_t gate;
        csk_gate_attr_t attr = { .policy = policy };
        csk_waiter_t accepted = { .word = 0 }, closing = { .word = 0 }, late = { .word = 0 };
        csk_gate_init(&gate, &attr);
        order_count = calls = 0;
        CHECK_STATUS(csk_gate_lock(&gate, 0), 0);
        CHECK_STATUS(csk_gate_lock_async(&gate, INT32_MIN, &accepted, CSK_NEVER, note_and_leave, (void *)7), 0);
        CHECK_STATUS(csk_gate_close(&gate, &closing, note_call, NULL), 0);
        CHECK_STATUS(csk_gate_close(&gate, &late, note_call, NULL), ESHUTDOWN);
        CHECK_STATUS(csk_gate_lock_async(&gate, 0, &late, CSK_NEVER, note_call, NULL), ESHUTDOWN);
        CHECK_STATUS(csk_gate_cancel(&gate, &closing), ENOENT);
        CHECK_EQ(calls, 0);
        CHECK_STATUS(csk_gate_unlock(&gate), 0);
        CHECK_EQ(order_count, 1);
        CHECK_EQ(calls, 1);
        CHECK_STATUS(csk_gate_lock(&gate, 0), ESHUTDOWN);
        CHECK_STATUS(csk_gate_destroy(&gate), 0);
    }
}

/* Among those of its new rank it stands where it arrived. */
static void a_waiter_that_is_raised_goes_first(void) {
    for (uint32_t policy = 0; policy < 3; policy++) {
        csk_gate_t gate;
        csk_gate_attr_t attr = { .policy = policy };
        csk_waiter_t waiters[3], closing = { .word = 0 };
        static const int32_t priorities[] = { -1, 0, 1 };
        memset(waiters, 0, sizeof waiters);
        csk_gate_init(&gate, &attr);
        order_count = calls = 0;
        CHECK_STATUS(csk_gate_lock(&gate, 0), 0);
        for (intptr_t i = 0; i < 3; i++)
            CHECK_STATUS(csk_gate_lock_async(&gate, priorities[i], &waiters[i], CSK_NEVER, note_and_leave, (void *)i),
                         0);
        CHECK_STATUS(csk_gate_close(&gate, &closing, note_call, NULL), 0);
        CHECK_STATUS(csk_gate_raise(&gate, INT64_MIN, &waiters[0]), EINVAL);
        CHECK_STATUS(csk_gate_raise(&gate, csk_rank(1, CSK_PLACE_UNNAMED), &waiters[0]), EINVAL);
        CHECK_STATUS(csk_gate_raise(&gate, csk_rank(1, CSK_PLACE_BACK), &closing), ENOENT);
        CHECK_STATUS(csk_gate_raise(&gate, csk_rank(-1, CSK_PLACE_BACK), &waiters[2]), 0); /* that is lower */
        CHECK_STATUS(csk_gate_raise(&gate, csk_rank(1, CSK_PLACE_BACK), &waiters[0]), 0);
        CHECK_STATUS(csk_gate_unlock(&gate), 0);
        CHECK_EQ(order_count, 3);
        CHECK_EQ(order[0], 0);
        CHECK_EQ(order[1], 2);
        CHECK_EQ(order[2], 1);
        CHECK_STATUS(csk_gate_raise(&gate, csk_rank(1, CSK_PLACE_BACK), &waiters[0]), ENOENT);
        CHECK_EQ(calls, 1);
        CHECK_STATUS(csk_gate_destroy(&gate), 0);
    }
}

static void a_bypass_limit_is_exact(void) {
    for (uint32_t limit = 1; limit <= 3; limit++) {
        csk_gate_t gate;
        csk_gate_attr_t attr = { .policy = CSK_GATE_FAST, .bypass_limit = limit };
        csk_waiter_t low = { .word = 0 }, high[6];
        memset(high, 0, sizeof high);
        csk_gate_init(&gate, &attr);
        order_count = 0;
        CHECK_STATUS(csk_gate_lock(&gate, 0), 0);
        CHECK_STATUS(csk_gate_lock_async(&gate, -1, &low, CSK_NEVER, note_and_leave, (void *)-1), 0);
        for (intptr_t i = 0; i < 6; i++)
            CHECK_STATUS(csk_gate_lock_async(&gate, 1, &high[i], CSK_NEVER, note_and_leave, (void *)i), 0);
        CHECK_STATUS(csk_gate_unlock(&gate), 0);
        CHECK_EQ(order_count, 7);
        CHECK_EQ(order[limit], -1);
    }
}

TEST_MAIN(TEST(a_free_gate_is_granted_at_once), TEST(threads_and_callbacks_wait_in_one_order),
          TEST(a_hundred_thousand_waiters_need_no_stack), TEST(deadlines_and_cancellation_end_a_wait),
          TEST(of_grant_cancel_and_deadline_exactly_one_wins),
          TEST(a_grant_that_nobody_adopts_goes_to_the_next_and_comes_back),
          TEST(a_closed_gate_serves_those_accepted_and_refuses_others), TEST(a_waiter_that_is_raised_goes_first),
          TEST(a_bypass_limit_is_exact))
