/* gate_test.c: threads at the gate: status codes, order among waiters, deadlines, hand-over, bypass. */
#include <csynckernel/csynckernel.h>

#include "gate_fixture.h"

static const uint32_t policies[] = { CSK_GATE_FAST, CSK_GATE_COMPACT, CSK_GATE_STRICT };
#define FOR_EACH_POLICY(policy)                   \
    for (size_t index_ = 0; index_ < 3; index_++) \
        for (uint32_t policy = policies[index_], once_ = 1; once_; once_ = 0)

static void zero_filled_memory_is_a_free_gate(void) {
    csk_gate_t gate;
    memset(&gate, 0, sizeof gate);
    CHECK_STATUS(csk_gate_unlock(&gate), EPERM);
    CHECK_STATUS(csk_gate_lock(&gate, 0), 0);
    CHECK(csk_gate_is_mine(&gate));
    CHECK_STATUS(csk_gate_unlock(&gate), 0);
    CHECK_STATUS(csk_gate_destroy(&gate), 0);
}

static void an_unknown_policy_and_too_long_a_grace_are_refused(void) {
    csk_gate_t gate;
    csk_gate_attr_t attr = { .policy = 3 };
    CHECK_STATUS(csk_gate_init(&gate, &attr), EINVAL);
    attr = (csk_gate_attr_t){ .grace_us = (uint32_t)INT32_MAX + 1 };
    CHECK_STATUS(csk_gate_init(&gate, &attr), EINVAL);
    attr.grace_us--;
    CHECK_STATUS(csk_gate_init(&gate, &attr), 0);
    CHECK_STATUS(csk_gate_init(&gate, NULL), 0);
}

static void *unlock_of_another(void *gate) {
    CHECK_STATUS(csk_gate_unlock(gate), EPERM);
    CHECK_STATUS(csk_gate_disown(gate), EPERM);
    CHECK_STATUS(csk_gate_trylock(gate, INT32_MAX), EBUSY);
    return NULL;
}

static void mistakes_are_reported_and_change_nothing(void) {
    FOR_EACH_POLICY(policy) {
        csk_gate_t gate;
        make(&gate, policy, 0);
        CHECK_STATUS(csk_gate_unlock(&gate), EPERM);
        CHECK_STATUS(csk_gate_lock(&gate, 0), 0);
        CHECK_STATUS(csk_gate_lock(&gate, 0), EDEADLK);
        CHECK_STATUS(csk_gate_timedlock(&gate, 0, csk_deadline_after(1000)), EDEADLK);
        CHECK_STATUS(csk_gate_trylock(&gate, 0), EBUSY);
        CHECK_STATUS(csk_gate_destroy(&gate), EBUSY);
        join_thread(start_thread(unlock_of_another, &gate));
        CHECK_STATUS(csk_gate_unlock(&gate), 0);
        CHECK_STATUS(csk_gate_unlock(&gate), EPERM);
        CHECK_STATUS(csk_gate_trylock(&gate, 0), 0);
        CHECK_STATUS(csk_gate_unlock(&gate), 0);
        CHECK_STATUS(csk_gate_destroy(&gate), 0);
    }
}

static void *unlock_it(void *gate) {
    CHECK_STATUS(csk_gate_unlock(gate), 0);
    return NULL;
}

static void a_disowned_gate_is_held_until_any_thread_unlocks_it(void) {
    FOR_EACH_POLICY(policy) {
        csk_gate_t gate;
        make(&gate, policy, 0);
        CHECK_STATUS(csk_gate_lock(&gate, 0), 0);
        CHECK_STATUS(csk_gate_disown(&gate), 0);
        CHECK(!csk_gate_is_mine(&gate));
        CHECK_STATUS(csk_gate_timedlock(&gate, 0, csk_deadline_after(1000)), ETIMEDOUT);
        join_thread(start_thread(unlock_it, &gate));
        CHECK_STATUS(csk_gate_lock(&gate, 0), 0);
        CHECK_STATUS(csk_gate_unlock(&gate), 0);
    }
}

static void recursion_counts_levels(void) {
    FOR_EACH_POLICY(policy) {
        csk_gate_t gate;
        make(&gate, policy, 0);
        CHECK_STATUS(csk_gate_unlock_recursive(&gate), EPERM);
        for (int i = 0; i < 5; i++) CHECK_STATUS(csk_gate_lock_recursive(&gate, 0, CSK_NEVER), 0);
        for (int i = 0; i < 5; i++) {
            CHECK(csk_gate_is_mine(&gate));
            CHECK_STATUS(csk_gate_unlock_recursive(&gate), 0);
        }
        CHECK_STATUS(csk_gate_unlock_recursive(&gate), EPERM);
    }
}

/* ---- Order ------------------------------------------------------------------------------------------------------- */

struct waiter {
    csk_gate_t *gate;
    csk_rank_t rank;
    int number;
};
static int entered[600], entered_count;

static void *enter_and_note(void *context) {
    struct waiter *waiter = context;
    CHECK_STATUS(csk_gate_lock_ranked(waiter->gate, waiter->rank, CSK_NEVER), 0);
    entered[entered_count++] = waiter->number;
    CHECK_STATUS(csk_gate_unlock(waiter->gate), 0);
    return NULL;
}

/* Queues threads of these ranks one after the other behind a holder, lets them go, and checks the order of their
 * entries. */
static void check_order(uint32_t policy, const csk_rank_t *ranks, const int *expected, int count) {
    csk_gate_t gate;
    make(&gate, policy, 0);
    static struct waiter waiters[600];
    pthread_t threads[600];
    entered_count = 0;
    CHECK_STATUS(csk_gate_lock(&gate, 0), 0);
    for (int i = 0; i < count; i++) {
        waiters[i] = (struct waiter){ &gate, ranks[i], i };
        threads[i] = start_thread(enter_and_note, &waiters[i]);
        wait_until(csk_gate_waiting(&gate) == (uint32_t)i + 1);
    }
    CHECK_STATUS(csk_gate_destroy(&gate), EBUSY);
    CHECK_STATUS(csk_gate_unlock(&gate), 0);
    for (int i = 0; i < count; i++) join_thread(threads[i]);
    for (int i = 0; i < count; i++) CHECK_EQ(entered[i], expected[i]);
    CHECK_STATUS(csk_gate_destroy(&gate), 0);
}

static void highest_to_the_front_lowest_to_the_back(void) {
    csk_rank_t high = csk_rank(INT32_MAX, CSK_PLACE_FRONT), low = csk_rank(INT32_MIN, CSK_PLACE_LAST);
    csk_rank_t ranks[] = { high, low, high, low, high, low };
    int expected[] = { 4, 2, 0, 1, 3, 5 };
    FOR_EACH_POLICY(policy) check_order(policy, ranks, expected, 6);
}

static void priorities_order_and_arrival_decides_within_one(void) {
    csk_rank_t ranks[] = {
        csk_rank(0, CSK_PLACE_BACK),         csk_rank(INT32_MIN, CSK_PLACE_BACK), csk_rank(INT32_MAX, CSK_PLACE_BACK),
        csk_rank(INT32_MIN, CSK_PLACE_LAST), csk_rank(0, CSK_PLACE_BACK),         csk_rank(INT32_MAX, CSK_PLACE_FRONT),
        csk_rank(-1, CSK_PLACE_BACK),        csk_rank(INT32_MAX, CSK_PLACE_BACK), csk_rank(INT32_MIN, CSK_PLACE_BACK),
    };
    int expected[] = { 5, 2, 7, 0, 4, 6, 1, 8, 3 };
    FOR_EACH_POLICY(policy) check_order(policy, ranks, expected, 9);
}

static void five_hundred_threads_wait_in_order(void) {
    static csk_rank_t ranks[500];
    static int expected[500];
    int next = 0;
    for (int i = 0; i < 500; i++) ranks[i] = csk_rank(i % 5, CSK_PLACE_BACK);
    for (int priority = 4; priority >= 0; priority--)
        for (int i = priority; i < 500; i += 5) expected[next++] = i;
    check_order(CSK_GATE_FAST, ranks, expected, 500);
}

static void *try_low_and_high(void *context) {
    csk_gate_t *gate = context;
    CHECK_STATUS(csk_gate_trylock(gate, INT32_MAX), EBUSY);
    CHECK_STATUS(csk_gate_timedlock(gate, 0, INT64_MIN), ETIMEDOUT);
    CHECK_STATUS(csk_gate_timedlock(gate, 0, 0), ETIMEDOUT);
    return NULL;
}

static void a_deadline_that_has_passed_tries_once(void) {
    FOR_EACH_POLICY(policy) {
        csk_gate_t gate;
        make(&gate, policy, 0);
        CHECK_STATUS(csk_gate_timedlock(&gate, 0, INT64_MIN), 0);
        join_thread(start_thread(try_low_and_high, &gate));
        CHECK_EQ(csk_gate_waiting(&gate), 0);
        CHECK_STATUS(csk_gate_unlock(&gate), 0);
    }
}

static void *time_out_ten_times(void *context) {
    for (int i = 0; i < 10; i++) {
        int64_t deadline = csk_deadline_after(1000000);
        CHECK_STATUS(csk_gate_timedlock(context, 0, deadline), ETIMEDOUT);
        CHECK_GE(csk_now(), deadline);
    }
    return NULL;
}

static void no_timeout_is_early(void) {
    FOR_EACH_POLICY(policy) {
        csk_gate_t gate;
        make(&gate, policy, 0);
        CHECK_STATUS(csk_gate_lock(&gate, 0), 0);
        join_thread(start_thread(time_out_ten_times, &gate));
        CHECK_STATUS(csk_gate_unlock(&gate), 0);
        CHECK_STATUS(csk_gate_destroy(&gate), 0);
    }
}

/* A waiter whose deadline and whose grant come together: it has the gate exactly when it is told so. */
struct race {
    csk_gate_t gate;
    int64_t deadline;
    int rounds, granted, ready;
};

static void *race_deadlines(void *context) {
    struct race *race = context;
    for (int i = 0; i < race->rounds; i++) {
        wait_until(LOAD(&race->ready) == i + 1);
        int status = csk_gate_timedlock(&race->gate, 0, csk_deadline_after(3000 + i % 4000));
        if (status == 0) {
            race->granted++;
            CHECK_STATUS(csk_gate_unlock(&race->gate), 0);
        } else {
            CHECK_STATUS(status, ETIMEDOUT);
        }
        STORE(&race->ready, -(i + 1));
    }
    return NULL;
}

static void of_grant_and_timeout_exactly_one_wins(void) {
    FOR_EACH_POLICY(policy) {
        struct race race = { .rounds = TEST_ROUNDS(20000) };
        make(&race.gate, policy, 0);
        pthread_t thread = start_thread(race_deadlines, &race);
        for (int i = 0; i < race.rounds; i++) {
            CHECK_STATUS(csk_gate_lock(&race.gate, 0), 0);
            STORE(&race.ready, i + 1);
            int64_t until = csk_deadline_after(5000);
            while (csk_now() < until) {}
            CHECK_STATUS(csk_gate_unlock(&race.gate), 0);
            wait_until(LOAD(&race.ready) == -(i + 1));
        }
        join_thread(thread);
        CHECK_EQ(csk_gate_waiting(&race.gate), 0);
        CHECK_STATUS(csk_gate_trylock(&race.gate, 0), 0);
    }
}

TEST_MAIN(TEST(zero_filled_memory_is_a_free_gate), TEST(an_unknown_policy_and_too_long_a_grace_are_refused),
          TEST(mistakes_are_reported_and_change_nothing), TEST(a_disowned_gate_is_held_until_any_thread_unlocks_it),
          TEST(recursion_counts_levels), TEST(highest_to_the_front_lowest_to_the_back),
          TEST(priorities_order_and_arrival_decides_within_one), TEST(five_hundred_threads_wait_in_order),
          TEST(a_deadline_that_has_passed_tries_once), TEST(no_timeout_is_early),
          TEST(of_grant_and_timeout_exactly_one_wins))
