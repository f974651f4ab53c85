/* clients_gate.c: the gate entered by threads. */
#include "gate_fixture.h"

/* ---- Mutual exclusion, and nobody left asleep -------------------------------------------------------------------- */

static void first(void) { once(0, 0); }
static void second(void) { once(0, 1); }
static void third(void) { once(0, 2); }
static void twice_0(void) { once(0, 0), once(0, 0); }
static void twice_1(void) { once(0, 1), once(0, 1); }
static void idle_after_2(void) { expect_idle(2); }
static void idle_after_3(void) { expect_idle(3); }
static void idle_after_4(void) { expect_idle(4); }

CLIENT_FAST_COMPACT_STRICT(gate_two, .threads = { first, second }, .check = idle_after_2, .preemptions = 2)
CLIENT_FAST_COMPACT_STRICT(gate_three, .threads = { first, second, third }, .check = idle_after_3, .preemptions = 1)
CLIENT_FAST_COMPACT_STRICT(gate_twice, .threads = { twice_0, twice_1 }, .check = idle_after_4, .preemptions = 2)
CLIENT_FAST_COMPACT_STRICT(gate_spurious, .threads = { first, second }, .check = idle_after_2, .preemptions = 2,
                           .spurious = 1)
static void twice_high(void) { once(1, 2), once(1, 2); }
static void idle_after_6(void) { expect_idle(6); }
CLIENT_FAST_COMPACT_STRICT(gate_three_twice, .threads = { twice_0, twice_1, twice_high }, .check = idle_after_6)
CLIENT(gate_three_undecided, .setup = make_undecided, .threads = { first, second, third }, .check = idle_after_3)
CLIENT(gate_two_undecided, .setup = make_undecided, .threads = { first, second }, .check = idle_after_2,
       .preemptions = 2)
CLIENT(gate_two_without_membarrier, .setup = make_undecided, .threads = { first, second }, .check = idle_after_2,
       .preemptions = 2, .without_membarrier = true)

/* The end of a scope: it does not ask who holds the gate. */
static void scoped(int32_t priority, int who) {
    lock(priority);
    enter_as(who);
    csk_gate_leave(gate);
}
static void first_scoped(void) { scoped(0, 0); }
static void second_scoped(void) { scoped(0, 1); }
static void third_scoped(void) { scoped(1, 2); }
CLIENT_FAST_COMPACT_STRICT(gate_leave, .threads = { first_scoped, second_scoped }, .check = idle_after_2,
                           .preemptions = 2)
CLIENT_FAST_COMPACT_STRICT(gate_leave_three, .threads = { first_scoped, second_scoped, third_scoped },
                           .check = idle_after_3)

/* Thread 1 holds the gate twice while thread 0 comes: the second time until thread 0 is in the queue. Where thread 0
 * has taken the gate by a look, it stays away before each look when it comes again, and yet spins no longer. */
static void comes_twice(void) {
    explore_wait(&shared->flags[0], 1);
    once(0, 0);
    explore_set(&shared->flags[1], 1);
    explore_wait(&shared->flags[2], 1);
    once(0, 0);
}
static void holds_twice(void) {
    lock(0);
    explore_set(&shared->flags[0], 1);
    enter_as(1);
    unlock();
    explore_wait(&shared->flags[1], 1);
    lock(0);
    explore_set(&shared->flags[2], 1);
    await_waiting(1);
    enter_as(1);
    unlock();
}
CLIENT_FAST_COMPACT_STRICT(gate_away, .threads = { comes_twice, holds_twice }, .check = idle_after_4, .preemptions = 1)

/* ---- Errors ------------------------------------------------------------------------------------------------------ */

static void stranger(void) {
    int status = csk_gate_unlock(gate);
    EXPECT_EQUAL(status, EPERM);
}
static void enters_again(void) {
    lock(0);
    EXPECT_EQUAL(csk_gate_lock(gate, 0), EDEADLK);
    EXPECT_EQUAL(csk_gate_timedlock(gate, 9, explore_now() + 1000), EDEADLK);
    EXPECT_EQUAL(csk_gate_trylock(gate, 0), EBUSY);
    section();
    unlock();
}
CLIENT_FAST_COMPACT_STRICT(gate_foreign_unlock, .threads = { first, second, stranger }, .check = idle_after_2,
                           .preemptions = 1)
CLIENT_FAST_COMPACT_STRICT(gate_re_entry, .threads = { enters_again, second }, .check = idle_after_2, .preemptions = 2)

static void never(csk_waiter_t *waiter, void *context, int status) {
    (void)waiter, (void)context;
    explore_fail("a refused waiter's function was called with %d", status);
}
static void bad_ranks(void) {
    const csk_rank_t bad[] = { csk_rank(INT32_MIN, CSK_PLACE_LAST) - 1, INT64_MIN, INT64_MAX, (csk_rank_t)1 << 40 };
    explore_wait((const uint32_t *)&gate->held, 1);
    for (int i = 0; i < 4; i++) {
        EXPECT_EQUAL(csk_gate_lock_ranked(gate, bad[i], CSK_NEVER), EINVAL);
        EXPECT_EQUAL(csk_gate_lock_async_ranked(gate, bad[i], &shared->waiters[0], false, CSK_NEVER, never, NULL),
                     EINVAL);
    }
    explore_set(&shared->flags[0], 1);
}
static void holds_until_told(void) {
    lock(0);
    explore_wait(&shared->flags[0], 1);
    section();
    unlock();
}
static void idle_after_1(void) { expect_idle(1); }
CLIENT_FAST_COMPACT_STRICT(gate_bad_rank, .threads = { holds_until_told, bad_ranks }, .check = idle_after_1,
                           .preemptions = 2)

/* ---- Trying ------------------------------------------------------------------------------------------------------ */

static void tries(void) {
    int status = csk_gate_trylock(gate, 0);
    EXPECT(status == 0 || status == EBUSY);
    if (status != 0) return;
    section();
    unlock();
}
static void idle_after_some(void) { expect_idle(shared->count); }
CLIENT_FAST_COMPACT_STRICT(gate_try, .threads = { first, second, tries }, .check = idle_after_some, .preemptions = 1)

/* ---- Deadlines --------------------------------------------------------------------------------------------------- */

static void timed(int32_t priority) {
    int64_t deadline = explore_now() + 20000;
    int status = csk_gate_timedlock(gate, priority, deadline);
    if (status == ETIMEDOUT) EXPECT(explore_now() >= deadline);
    else EXPECT_EQUAL(status, 0);
    if (status != 0) return;
    section();
    unlock();
}
static void timed_low(void) { timed(0); }
static void timed_high(void) { timed(5); }
CLIENT_FAST_COMPACT_STRICT(gate_timeout_or_grant, .threads = { first, timed_low }, .check = idle_after_some,
                           .preemptions = 2)
CLIENT_FAST_COMPACT_STRICT(gate_timeout_of_the_next, .threads = { first, timed_high, second }, .check = idle_after_some,
                           .preemptions = 1)
CLIENT_FAST_COMPACT_STRICT(gate_timeout_of_the_designated, .threads = { twice_0, timed_low, second },
                           .check = idle_after_some, .preemptions = 1)
CLIENT_FAST_COMPACT_STRICT(gate_two_timeouts, .threads = { first, timed_high, timed_low }, .check = idle_after_some,
                           .preemptions = 1)

static void holds_for_ever(void) {
    lock(0);
    explore_wait(&shared->flags[0], 1);
    unlock();
}
static void must_time_out(void) {
    explore_wait((const uint32_t *)&gate->held, 1);
    int64_t deadline = explore_now() + 20000;
    EXPECT_EQUAL(csk_gate_timedlock(gate, 0, deadline), ETIMEDOUT);
    EXPECT(explore_now() >= deadline);
    explore_set(&shared->flags[0], 1);
}
CLIENT_FAST_COMPACT_STRICT(gate_times_out_of_a_held_gate, .threads = { holds_for_ever, must_time_out },
                           .preemptions = 2)

/* ---- Order ------------------------------------------------------------------------------------------------------- */

/* Thread 0 holds the gate until `queued` wait, who come one after the other by flags. */
static void release_after(uint32_t queued) {
    lock(0);
    for (uint32_t i = 1; i <= queued; i++) {
        explore_set(&shared->flags[i], 1);
        await_waiting(i);
    }
    unlock();
}
static void release_after_2(void) { release_after(2); }
static void release_after_3(void) { release_after(3); }
static void nth(int n, csk_rank_t rank) {
    explore_wait(&shared->flags[n], 1);
    EXPECT_EQUAL(csk_gate_lock_ranked(gate, rank, CSK_NEVER), 0);
    enter_as(n);
    unlock();
}
static void low_1(void) { nth(1, csk_rank(-3, CSK_PLACE_BACK)); }
static void high_2(void) { nth(2, csk_rank(INT32_MAX, CSK_PLACE_BACK)); }
static void low_3(void) { nth(3, csk_rank(-3, CSK_PLACE_BACK)); }
static void front_1(void) { nth(1, csk_rank(0, CSK_PLACE_FRONT)); }
static void front_2(void) { nth(2, csk_rank(0, CSK_PLACE_FRONT)); }
static void order_2_1(void) { expect_order(2, (int[]){ 2, 1 }); }
static void order_2_1_3(void) { expect_order(3, (int[]){ 2, 1, 3 }); }
CLIENT_FAST_COMPACT_STRICT(gate_by_priority, .threads = { release_after_2, low_1, high_2 }, .check = order_2_1,
                           .preemptions = 1)
CLIENT_FAST_COMPACT_STRICT(gate_by_arrival, .threads = { release_after_3, low_1, high_2, low_3 }, .check = order_2_1_3)
CLIENT_FAST_COMPACT_STRICT(gate_last_in_front, .threads = { release_after_2, front_1, front_2 }, .check = order_2_1,
                           .preemptions = 1)

/* A limit of 1: the first, of low priority, may be passed once. */
static void high_3(void) { nth(3, csk_rank(7, CSK_PLACE_BACK)); }
static void order_2_1_3_limited(void) { expect_order(3, (int[]){ 2, 1, 3 }); }
static void make_limited_fast(void) { make_gate(CSK_GATE_FAST, 1, 0); }
static void make_limited_compact(void) { make_gate(CSK_GATE_COMPACT, 1, 0); }
static void make_limited_strict(void) { make_gate(CSK_GATE_STRICT, 1, 0); }
CLIENT(gate_bypass_limit_fast, .setup = make_limited_fast, .threads = { release_after_3, low_1, high_2, high_3 },
       .check = order_2_1_3_limited)
CLIENT(gate_bypass_limit_compact, .setup = make_limited_compact, .threads = { release_after_3, low_1, high_2, high_3 },
       .check = order_2_1_3_limited)
CLIENT(gate_bypass_limit_strict, .setup = make_limited_strict, .threads = { release_after_3, low_1, high_2, high_3 },
       .check = order_2_1_3_limited)

/* A limit of 2, and each waiter's own count: the third has been passed once when the first, passed twice, has gone. */
static void make_twice_limited_fast(void) { make_gate(CSK_GATE_FAST, 2, 0); }
static void make_twice_limited_strict(void) { make_gate(CSK_GATE_STRICT, 2, 0); }
static void release_after_5(void) { release_after(5); }
static void high_4(void) { nth(4, csk_rank(INT32_MAX, CSK_PLACE_BACK)); }
static void high_5(void) { nth(5, csk_rank(INT32_MAX, CSK_PLACE_BACK)); }
static void each_its_own_count(void) { expect_order(5, (int[]){ 2, 4, 1, 5, 3 }); }
CLIENT(gate_bypass_counts_fast, .setup = make_twice_limited_fast,
       .threads = { release_after_5, low_1, high_2, low_3, high_4, high_5 }, .check = each_its_own_count)
CLIENT(gate_bypass_counts_strict, .setup = make_twice_limited_strict,
       .threads = { release_after_5, low_1, high_2, low_3, high_4, high_5 }, .check = each_its_own_count)

/* The limit holds against newcomers too, also against one that had looked at the queue before anybody stood in it. */
static void low_waiter(void) {
    explore_wait(&shared->flags[1], 1);
    once(-3, 1);
}
static void releases_to_newcomers(void) {
    lock(0);
    explore_set(&shared->flags[1], 1);
    await_waiting(1);
    explore_set(&shared->flags[0], 1);
    unlock();
}
static void early_newcomer(void) {
    explore_wait(&shared->flags[1], 1);
    /* It tries once, by the way of those that would wait, and never queues. */
    if (csk_gate_timedlock(gate, 7, 0) != 0) return;
    enter_as(2);
    unlock();
}
static void newcomer(void) {
    explore_wait(&shared->flags[0], 1);
    once(7, 3);
}
static void passed_once_at_most(void) { EXPECT(shared->order[0] == 1 || shared->order[1] == 1); }
CLIENT(gate_bypass_limit_newcomers_fast, .setup = make_limited_fast,
       .threads = { releases_to_newcomers, low_waiter, early_newcomer, newcomer }, .check = passed_once_at_most)
CLIENT(gate_bypass_limit_newcomers_compact, .setup = make_limited_compact,
       .threads = { releases_to_newcomers, low_waiter, early_newcomer, newcomer }, .check = passed_once_at_most)
CLIENT(gate_bypass_limit_newcomers_strict, .setup = make_limited_strict,
       .threads = { releases_to_newcomers, low_waiter, early_newcomer, newcomer }, .check = passed_once_at_most)

/* Nobody of lower rank passes one that is queued; under STRICT nobody of the same rank does either. */
static void announces_waiter(void) {
    lock(0);
    explore_set(&shared->flags[1], 1);
    await_waiting(1);
    explore_set(&shared->flags[0], 1);
    unlock();
}
static void waits_high(void) {
    explore_wait(&shared->flags[1], 1);
    once(5, 1);
}
static void comes_low(void) {
    explore_wait(&shared->flags[0], 1);
    once(0, 2);
}
static void comes_equal(void) {
    explore_wait(&shared->flags[0], 1);
    once(5, 2);
}
static void order_1_2(void) { expect_order(2, (int[]){ 1, 2 }); }
CLIENT_FAST_COMPACT_STRICT(gate_lower_newcomer, .threads = { announces_waiter, waits_high, comes_low },
                           .check = order_1_2, .preemptions = 1)
CLIENT(gate_strict_newcomer, .setup = make_strict, .threads = { announces_waiter, waits_high, comes_equal },
       .check = order_1_2, .preemptions = 1)

/* A designated waiter that is on its way when one of higher rank queues lets that one go first. */
static void designates_then_holds(void) {
    release_after(1);
    lock(9);
    bool still_waits = csk_gate_waiting(gate) == 1;
    explore_set(&shared->flags[2], 1);
    if (still_waits) {
        await_waiting(2);
        shared->flags[3] = 1;
    }
    unlock();
}
static void higher_first(void) {
    EXPECT_EQUAL(shared->entered, 2);
    if (shared->flags[3]) expect_order(2, (int[]){ 2, 1 });
}
CLIENT_FAST_COMPACT_STRICT(gate_above_the_designated, .threads = { designates_then_holds, low_1, high_2 },
                           .check = higher_first, .preemptions = 2)

/* ---- Leaving from another thread --------------------------------------------------------------------------------- */

static void disowns(void) {
    lock(0);
    section();
    EXPECT_EQUAL(csk_gate_disown(gate), 0);
    EXPECT(!csk_gate_is_mine(gate));
    explore_set(&shared->flags[0], 1);
    once(0, 0);
}
static void leaves_for_it(void) {
    explore_wait(&shared->flags[0], 1);
    unlock();
}
CLIENT_FAST_COMPACT_STRICT(gate_disown, .threads = { disowns, leaves_for_it, second }, .check = idle_after_3,
                           .preemptions = 1)

/* One unlock too many, while others come: it changes nothing. */
static void disowns_alone(void) {
    lock(0);
    section();
    EXPECT_EQUAL(csk_gate_disown(gate), 0);
    explore_set(&shared->flags[0], 1);
}
static void leaves_or_not(void) {
    explore_wait(&shared->flags[0], 1);
    int status = csk_gate_unlock(gate);
    EXPECT(status == 0 || status == EPERM);
    __atomic_fetch_add(&shared->flags[1], status == 0, __ATOMIC_RELAXED);
}
static void left_once(void) {
    EXPECT_EQUAL(shared->flags[1], 1);
    expect_idle(2);
}
CLIENT_FAST_COMPACT_STRICT(gate_disowned_and_left_twice,
                           .threads = { disowns_alone, leaves_or_not, leaves_or_not, second }, .check = left_once,
                           .preemptions = 1)

/* ---- Freed as soon as it is unlocked: the one-word forms --------------------------------------------------------- */

static void make_shared_compact(void) { make_compact(), shared->flags[0] = 2; }
static void make_shared_strict(void) { make_strict(), shared->flags[0] = 2; }
static void make_shared_compact_3(void) { make_compact(), shared->flags[0] = 3; }
static void make_shared_strict_3(void) { make_strict(), shared->flags[0] = 3; }
static void drop_reference(bool timed_out) {
    if (timed_out) lock(0);
    bool last = --shared->flags[0] == 0;
    unlock();
    if (!last) return;
    EXPECT_EQUAL(csk_gate_destroy(gate), 0);
    explore_free(gate, sizeof *gate);
}
static void drops_without_destroying(void) {
    lock(0);
    section();
    bool last = --shared->flags[0] == 0;
    unlock();
    if (last) explore_free(gate, sizeof *gate);
}
static void drops(void) {
    lock(0);
    section();
    drop_reference(false);
}
static void drops_timed(void) {
    int status = csk_gate_timedlock(gate, 0, explore_now() + 20000);
    if (status == 0) section();
    drop_reference(status != 0);
}
CLIENT(gate_last_frees_compact, .setup = make_shared_compact, .threads = { drops, drops }, .preemptions = 3)
CLIENT(gate_last_frees_strict, .setup = make_shared_strict, .threads = { drops, drops }, .preemptions = 3)
CLIENT(gate_last_frees_at_once_compact, .setup = make_shared_compact,
       .threads = { drops_without_destroying, drops_without_destroying }, .preemptions = 2)
CLIENT(gate_last_frees_at_once_strict, .setup = make_shared_strict,
       .threads = { drops_without_destroying, drops_without_destroying }, .preemptions = 2)
CLIENT(gate_last_frees_three_compact, .setup = make_shared_compact_3, .threads = { drops, drops, drops },
       .preemptions = 1)
CLIENT(gate_last_frees_three_strict, .setup = make_shared_strict_3, .threads = { drops, drops, drops },
       .preemptions = 1)
CLIENT(gate_last_frees_timed_compact, .setup = make_shared_compact, .threads = { drops, drops_timed }, .preemptions = 2)
CLIENT(gate_last_frees_timed_strict, .setup = make_shared_strict, .threads = { drops, drops_timed }, .preemptions = 2)

/* ---- Hand-over: a waiter that was passed for long asks for it, and may be gone when it comes --------------------- */

static void four_times(void) { once(0, 0), once(0, 0), once(0, 0), once(0, 0); }
static void timed_same(void) { timed(0); }
CLIENT_FAST_COMPACT_STRICT(gate_hand_over, .threads = { four_times, second, third }, .check = idle_after_6)
CLIENT_FAST_COMPACT_STRICT(gate_hand_over_timed, .threads = { four_times, timed_same, second, third },
                           .check = idle_after_some)
CLIENT_FAST_COMPACT_STRICT(gate_hand_over_two_timed, .threads = { four_times, timed_same, timed_high, second },
                           .check = idle_after_some)
static void thrice_0(void) { once(0, 0), once(0, 0), once(0, 0); }
static void thrice_1(void) { once(0, 1), once(0, 1), once(0, 1); }
CLIENT_FAST_COMPACT_STRICT(gate_hand_over_five, .threads = { thrice_0, thrice_1, timed_same, second, third },
                           .check = idle_after_some)
