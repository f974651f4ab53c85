/* gate_grant_test.c: grants to asynchronous waiters in depth: provisional ones and their grace, bypass among callbacks,
 * long chains. */
#include <csynckernel/csynckernel.h>

#include "gate_fixture.h"

static const int64_t ms = 1000000;

struct called {
    int times, status;
    int64_t at_ns;
};

static void note(csk_waiter_t *waiter, void *context, int status) {
    (void)waiter;
    struct called *called = context;
    called->status = status;
    called->at_ns = csk_now();
    ADD(&called->times, 1);
}

static void lock_adoptable(csk_gate_t *gate, csk_waiter_t *waiter, int32_t priority, struct called *called) {
    CHECK_STATUS(
        csk_gate_lock_async_ranked(gate, csk_rank(priority, CSK_PLACE_BACK), waiter, true, CSK_NEVER, note, called), 0);
}

static void an_unadopted_grant_is_kept_while_nobody_waits(void) {
    for (uint32_t policy = 0; policy < 3; policy++) {
        csk_gate_t gate;
        csk_waiter_t waiter = { .word = 0 };
        struct called called = { 0 };
        make(&gate, policy, 0);
        lock_adoptable(&gate, &waiter, 0, &called);
        CHECK_EQ(called.times, 1);
        int64_t until = csk_deadline_after(3 * ms); /* time has to pass, nothing is waited for */
        while (csk_now() < until) sched_yield();
        CHECK_STATUS(csk_gate_lock_async(&gate, 0, &waiter, CSK_NEVER, note, &called), EBUSY);
        CHECK_STATUS(csk_gate_adopt(&gate, &waiter), 0);
        CHECK_STATUS(csk_gate_adopt(&gate, &waiter), EINVAL);
        CHECK(csk_gate_is_mine(&gate));
        CHECK_STATUS(csk_gate_unlock(&gate), 0);
        CHECK_STATUS(csk_gate_destroy(&gate), 0);
    }
}

/* Whoever looks whether the holder has ended looks twice, and takes the gate not to have changed hands if nobody has
 * come in between. One that lost its grant and queues again has come, though it keeps its place. */
static void a_waiter_that_queues_again_counts_as_an_arrival(void) {
    for (uint32_t policy = 0; policy < 3; policy++) {
        csk_gate_t gate;
        csk_waiter_t lost = { .word = 0 }, other = { .word = 0 };
        struct called lost_called = { 0 }, other_called = { 0 };
        make(&gate, policy, 0);
        lock_adoptable(&gate, &lost, 0, &lost_called);
        CHECK_STATUS(csk_gate_lock_async(&gate, 0, &other, CSK_NEVER, note, &other_called), 0);
        wait_until(LOAD(&other_called.times) == 1);
        int64_t arrivals = gate.next_ticket;
        CHECK_STATUS(csk_gate_relock_async(&gate, &lost), 0);
        CHECK_GE(gate.next_ticket, arrivals + 1);
        CHECK_STATUS(csk_gate_unlock(&gate), 0);
        CHECK_EQ(LOAD(&lost_called.times), 2);
        CHECK_STATUS(csk_gate_adopt(&gate, &lost), 0);
        CHECK_STATUS(csk_gate_unlock(&gate), 0);
        CHECK_STATUS(csk_gate_destroy(&gate), 0);
    }
}

/* Each grace is twice the one before, never shorter, and the waiter comes back at its old place. */
static void each_grace_is_twice_the_last_and_the_place_is_kept(void) {
    for (uint32_t policy = 0; policy < 3; policy++) {
        csk_gate_t gate;
        csk_waiter_t slow = { .word = 0 }, others[4];
        struct called slow_called = { 0 }, other_called[4] = { { 0 } };
        memset(others, 0, sizeof others);
        make(&gate, policy, 0);
        lock_adoptable(&gate, &slow, 0, &slow_called);
        for (int i = 0; i < 3; i++) {
            int64_t grace = ms << i;
            CHECK_STATUS(csk_gate_lock_async(&gate, 0, &others[i], CSK_NEVER, note, &other_called[i]), 0);
            wait_until(LOAD(&other_called[i].times) == 1);
            CHECK_GE(other_called[i].at_ns - slow.granted_ns, grace);
            CHECK_STATUS(csk_gate_adopt(&gate, &slow), EAGAIN);
            CHECK_STATUS(csk_gate_destroy(&gate), EBUSY);
            /* Somebody of the same priority who came later must not be served before it. */
            if (i == 2) CHECK_STATUS(csk_gate_lock_async(&gate, 0, &others[3], CSK_NEVER, note, &other_called[3]), 0);
            CHECK_STATUS(csk_gate_relock_async(&gate, &slow), 0);
            CHECK_STATUS(csk_gate_unlock(&gate), 0);
            CHECK_EQ(slow_called.times, i + 2);
        }
        CHECK_EQ(LOAD(&other_called[3].times), 0);
        CHECK_STATUS(csk_gate_adopt(&gate, &slow), 0);
        CHECK_STATUS(csk_gate_unlock(&gate), 0);
        CHECK_EQ(other_called[3].times, 1);
        CHECK_STATUS(csk_gate_unlock(&gate), 0);
        CHECK_STATUS(csk_gate_destroy(&gate), 0);
    }
}

/* However long ago the grant was made, the queue has its time from when somebody else waits. */
static void a_grace_begins_when_somebody_else_waits(void) {
    for (uint32_t policy = 0; policy < 3; policy++) {
        csk_gate_t gate;
        csk_waiter_t slow = { .word = 0 }, other = { .word = 0 };
        struct called slow_called = { 0 }, other_called = { 0 };
        make(&gate, policy, 0);
        lock_adoptable(&gate, &slow, 0, &slow_called);
        int64_t until = csk_deadline_after(3 * ms); /* time has to pass, nothing is waited for */
        while (csk_now() < until) sched_yield();
        int64_t came_ns = csk_now();
        CHECK_STATUS(csk_gate_lock_async(&gate, 0, &other, CSK_NEVER, note, &other_called), 0);
        wait_until(LOAD(&other_called.times) == 1);
        CHECK_GE(other_called.at_ns - came_ns, ms);
        CHECK_STATUS(csk_gate_forget(&gate, &slow), 0);
        CHECK_STATUS(csk_gate_unlock(&gate), 0);
        CHECK_STATUS(csk_gate_destroy(&gate), 0);
    }
}

static void closing_waits_for_lost_grants(void) {
    for (uint32_t policy = 0; policy < 3; policy++) {
        for (int forgotten = 0; forgotten < 2; forgotten++) {
            csk_gate_t gate;
            csk_waiter_t slow = { .word = 0 }, other = { .word = 0 }, closing = { .word = 0 };
            struct called slow_called = { 0 }, other_called = { 0 }, closed = { 0 };
            make(&gate, policy, 0);
            lock_adoptable(&gate, &slow, 0, &slow_called);
            CHECK_STATUS(csk_gate_lock_async(&gate, 0, &other, CSK_NEVER, note, &other_called), 0);
            wait_until(LOAD(&other_called.times) == 1);
            CHECK_STATUS(csk_gate_close(&gate, &closing, note, &closed), 0);
            CHECK_STATUS(csk_gate_unlock(&gate), 0);
            CHECK_EQ(closed.times, 0);
            CHECK_STATUS(csk_gate_trylock(&gate, 0), ESHUTDOWN);
            CHECK_STATUS(csk_gate_destroy(&gate), EBUSY);
            if (forgotten) {
                CHECK_STATUS(csk_gate_forget(&gate, &slow), 0);
                CHECK_STATUS(csk_gate_forget(&gate, &slow), EINVAL);
            } else {
                CHECK_STATUS(csk_gate_relock_async(&gate, &slow), 0);
                CHECK_EQ(slow_called.times, 2);
                CHECK_EQ(closed.times, 0);
                CHECK_STATUS(csk_gate_adopt(&gate, &slow), 0);
                CHECK_STATUS(csk_gate_unlock(&gate), 0);
            }
            CHECK_EQ(closed.times, 1);
            CHECK_STATUS(closed.status, 0);
            CHECK_STATUS(csk_gate_destroy(&gate), 0);
        }
    }
}

/* ---- Bypass ------------------------------------------------------------------------------------------------------ */

enum { HIGH = 12 };
static int order[HIGH + 2], order_count;

struct arrivals {
    csk_gate_t gate;
    csk_waiter_t low[2], high[HIGH];
    int arrived;
};

static void note_and_leave(csk_waiter_t *waiter, void *context, int status);

static void arrive(struct arrivals *arrivals) {
    if (arrivals->arrived == HIGH) return;
    csk_waiter_t *next = &arrivals->high[arrivals->arrived++];
    CHECK_STATUS(csk_gate_lock_async(&arrivals->gate, 7, next, CSK_NEVER, note_and_leave, arrivals), 0);
}

/* Each that leaves is followed by another of the high ones, so that one of them waits always. */
static void note_and_leave(csk_waiter_t *waiter, void *context, int status) {
    struct arrivals *arrivals = context;
    CHECK_STATUS(status, 0);
    order[order_count++] = waiter == &arrivals->low[0] ? -1 : waiter == &arrivals->low[1] ? -2 : 1;
    arrive(arrivals);
    CHECK_STATUS(csk_gate_unlock(waiter->gate), 0);
}

static void low_waiters_are_passed_exactly_so_often(void) {
    static struct arrivals arrivals;
    for (uint32_t policy = 0; policy < 3; policy++) {
        for (uint32_t limit = 0; limit <= 3; limit++) {
            memset(&arrivals, 0, sizeof arrivals);
            make(&arrivals.gate, policy, limit);
            order_count = 0;
            CHECK_STATUS(csk_gate_lock(&arrivals.gate, 0), 0);
            for (int i = 0; i < 2; i++)
                CHECK_STATUS(csk_gate_lock_async(&arrivals.gate, -5 - i, &arrivals.low[i], CSK_NEVER, note_and_leave,
                                                 &arrivals),
                             0);
            arrive(&arrivals);
            CHECK_STATUS(csk_gate_unlock(&arrivals.gate), 0);
            CHECK_EQ(order_count, HIGH + 2);
            /* Both were passed by the same ones, so both are due; 0 is strict priority: after all the others. */
            uint32_t first = limit == 0 ? HIGH : limit;
            for (uint32_t i = 0; i < first; i++) CHECK_EQ(order[i], 1);
            CHECK_EQ(order[first], -1);
            CHECK_EQ(order[first + 1], -2);
            CHECK_STATUS(csk_gate_destroy(&arrivals.gate), 0);
        }
    }
}

/* ---- Chains ------------------------------------------------------------------------------------------------------ */

static int chain_left, depth;

static void queue_again(csk_waiter_t *waiter, void *context, int status) {
    CHECK_STATUS(status, 0);
    CHECK_EQ(++depth, 1);
    csk_waiter_t *other = context;
    if (--chain_left > 0) CHECK_STATUS(csk_gate_lock_async(waiter->gate, 0, other, CSK_NEVER, queue_again, waiter), 0);
    CHECK_STATUS(csk_gate_unlock(waiter->gate), 0);
    depth--;
}

static void *run_chain(void *context) {
    csk_waiter_t pair[2];
    memset(pair, 0, sizeof pair);
    chain_left = TEST_ROUNDS(1000000);
    CHECK_STATUS(csk_gate_lock_async(context, 0, &pair[0], CSK_NEVER, queue_again, &pair[1]), 0);
    CHECK_EQ(chain_left, 0);
    return NULL;
}

static void a_million_grants_in_a_row_never_recurse(void) {
    for (uint32_t policy = 0; policy < 3; policy++) {
        csk_gate_t gate;
        make(&gate, policy, 0);
        join_thread(start_thread(run_chain, &gate));
        CHECK_STATUS(csk_gate_destroy(&gate), 0);
    }
}

TEST_MAIN(TEST(an_unadopted_grant_is_kept_while_nobody_waits), TEST(a_waiter_that_queues_again_counts_as_an_arrival),
          TEST(each_grace_is_twice_the_last_and_the_place_is_kept), TEST(a_grace_begins_when_somebody_else_waits),
          TEST(closing_waits_for_lost_grants), TEST(low_waiters_are_passed_exactly_so_often),
          TEST(a_million_grants_in_a_row_never_recurse))
