/* gate_lane_test.c: lanes: waiters that are performed on one queue or executor begin in order, whoever passes them
 * meanwhile.
 *
 * More than 400 lines: all tests share the gate with its lane and waiters, and what these were called for. */
#include <csynckernel/csynckernel.h>
#include <csynckernel/lanes.h>

#include "gate_fixture.h"

static const int64_t ms = 1000000;

struct called {
    int times, status;
};
static void note(csk_waiter_t *waiter, void *context, int status) {
    (void)waiter;
    struct called *called = context;
    called->status = status;
    ADD(&called->times, 1);
}
static void let_time_pass(int64_t ns) {
    int64_t until = csk_deadline_after(ns);
    while (csk_now() < until) sched_yield();
}

enum { COUNT = 4 };
struct fixture {
    csk_gate_t gate;
    csk_gate_lane_t lane;
    csk_waiter_t waiters[COUNT], other;
    struct called called[COUNT], other_called;
    int blocks;
};

static void is_dispatched(csk_gate_lane_t *lane, void *context) {
    struct fixture *f = context;
    csk_gate_lane_taken(&f->gate, lane);
    ADD(&f->blocks, 1);
}
static void set_up(struct fixture *f, uint32_t policy, uint32_t bypass_limit, bool is_queue) {
    memset(f, 0, sizeof *f);
    make(&f->gate, policy, bypass_limit);
    if (is_queue) f->lane = (csk_gate_lane_t){ .function = is_dispatched, .context = f };
}
static int lock_waiter(struct fixture *f, int index, int32_t priority, int64_t deadline_ns) {
    return csk_gate_lock_lane(&f->gate, csk_rank(priority, CSK_PLACE_BACK), &f->waiters[index], &f->lane, deadline_ns,
                              note, &f->called[index]);
}
static void expect_begin(struct fixture *f, int index) {
    csk_waiter_t *begun = NULL;
    CHECK_STATUS(csk_gate_begin(&f->gate, &f->lane, &begun), 0);
    CHECK_EQ(begun - f->waiters, index);
    CHECK(csk_gate_is_mine(&f->gate));
}
/* Another, without a lane, waits until it has the gate. */
static void let_another_pass(struct fixture *f) {
    CHECK_STATUS(csk_gate_lock_async(&f->gate, 0, &f->other, CSK_NEVER, note, &f->other_called), 0);
    wait_until(LOAD(&f->other_called.times) == 1);
}

static void a_busy_queues_waiters_begin_in_order_though_others_pass(void) {
    for (uint32_t policy = 0; policy < 3; policy++) {
        struct fixture f;
        set_up(&f, policy, 0, true);
        for (int i = 0; i < COUNT; i++) CHECK_STATUS(lock_waiter(&f, i, 0, CSK_NEVER), 0);
        CHECK_EQ(f.blocks, 1);
        CHECK_EQ(csk_gate_waiting(&f.gate), COUNT - 1);
        let_another_pass(&f);
        CHECK_EQ(csk_gate_waiting(&f.gate), COUNT);
        CHECK_STATUS(csk_gate_unlock(&f.gate), 0);
        /* Nothing of the lane is granted until its queue comes: no second block. */
        CHECK_EQ(LOAD(&f.blocks), 1);
        for (int i = 0; i < COUNT; i++) {
            expect_begin(&f, i);
            CHECK_STATUS(csk_gate_unlock(&f.gate), 0);
            CHECK_EQ(f.blocks, i + 2 < COUNT ? i + 2 : COUNT);
        }
        csk_waiter_t *none;
        CHECK_STATUS(csk_gate_begin(&f.gate, &f.lane, &none), EINVAL);
        CHECK_STATUS(csk_gate_destroy(&f.gate), 0);
    }
}

static void a_queues_own_waiters_start_no_grace(void) {
    struct fixture f;
    set_up(&f, CSK_GATE_FAST, 0, true);
    for (int i = 0; i < COUNT; i++) CHECK_STATUS(lock_waiter(&f, i, 0, CSK_NEVER), 0);
    let_time_pass(5 * ms);
    expect_begin(&f, 0);
    for (int i = 1; i < COUNT; i++) {
        bool goes_on = false;
        CHECK_STATUS(csk_gate_unlock_lane(&f.gate, &f.lane, 0, &goes_on), 0);
        CHECK(goes_on);
        CHECK_STATUS(csk_gate_unlock(&f.gate), EPERM);
        expect_begin(&f, i);
    }
    bool goes_on = true;
    CHECK_STATUS(csk_gate_unlock_lane(&f.gate, &f.lane, 0, &goes_on), 0);
    CHECK(!goes_on);
    CHECK_STATUS(csk_gate_unlock_lane(&f.gate, &f.lane, 0, &goes_on), EPERM);
    CHECK_EQ(f.blocks, 1);
    CHECK_STATUS(csk_gate_destroy(&f.gate), 0);
}

static void a_higher_rank_that_comes_before_the_queue_begins_first(void) {
    for (uint32_t limit = 0; limit < 2; limit++) {
        struct fixture f;
        set_up(&f, CSK_GATE_FAST, limit, true);
        CHECK_STATUS(lock_waiter(&f, 0, 0, csk_deadline_after(3600 * 1000 * ms)), 0);
        CHECK_STATUS(lock_waiter(&f, 1, 5, CSK_NEVER), 0);
        expect_begin(&f, 1);
        CHECK_STATUS(csk_gate_cancel(&f.gate, &f.waiters[1]), ENOENT);
        CHECK_STATUS(lock_waiter(&f, 2, 7, CSK_NEVER), 0);
        CHECK_STATUS(csk_gate_unlock(&f.gate), 0);
        /* One has passed the first, which the limit makes next: no rank counts then. */
        CHECK_STATUS(lock_waiter(&f, 3, 9, CSK_NEVER), 0);
        int order[2][3] = { { 3, 2, 0 }, { 0, 3, 2 } };
        for (int i = 0; i < 3; i++) {
            expect_begin(&f, order[limit][i]);
            CHECK_STATUS(csk_gate_unlock(&f.gate), 0);
        }
        CHECK_STATUS(csk_gate_destroy(&f.gate), 0);
    }
}

static void waiters_of_a_queue_that_does_not_come_time_out_and_can_be_cancelled(void) {
    for (uint32_t policy = 0; policy < 3; policy++) {
        struct fixture f;
        csk_waiter_t closing = { .word = 0 };
        struct called closed = { 0 };
        set_up(&f, policy, 0, true);
        CHECK_STATUS(lock_waiter(&f, 0, 0, csk_deadline_after(5 * ms)), 0);
        CHECK_STATUS(lock_waiter(&f, 1, 0, CSK_NEVER), 0);
        let_another_pass(&f);
        CHECK_STATUS(csk_gate_close(&f.gate, &closing, note, &closed), 0);
        CHECK_STATUS(csk_gate_unlock(&f.gate), 0);
        wait_until(LOAD(&f.called[0].times) == 1);
        CHECK_STATUS(f.called[0].status, ETIMEDOUT);
        CHECK_EQ(LOAD(&closed.times), 0);
        CHECK_STATUS(csk_gate_cancel(&f.gate, &f.waiters[1]), 0);
        CHECK_STATUS(f.called[1].status, ECANCELED);
        /* The lane is empty: nobody waits for its queue any more. */
        CHECK_EQ(closed.times, 1);
        csk_waiter_t *none;
        CHECK_STATUS(csk_gate_begin(&f.gate, &f.lane, &none), EAGAIN);
        CHECK_STATUS(csk_gate_begin(&f.gate, &f.lane, &none), EINVAL);
        CHECK_STATUS(csk_gate_destroy(&f.gate), 0);
    }
}

static void a_task_gives_its_grant_up_to_a_higher_rank_only(void) {
    for (uint32_t policy = 0; policy < 3; policy++) {
        struct fixture f;
        set_up(&f, policy, 0, false);
        CHECK_STATUS(lock_waiter(&f, 0, 0, CSK_NEVER), 0);
        CHECK_STATUS(lock_waiter(&f, 1, 0, CSK_NEVER), 0);
        CHECK_EQ(f.called[0].times, 1);
        CHECK_STATUS(csk_gate_adopt(&f.gate, &f.waiters[1]), EINVAL);
        CHECK_STATUS(lock_waiter(&f, 2, 5, CSK_NEVER), 0);
        CHECK_STATUS(csk_gate_adopt(&f.gate, &f.waiters[0]), EAGAIN);
        CHECK_STATUS(csk_gate_relock_async(&f.gate, &f.waiters[0]), 0);
        CHECK_EQ(f.called[2].times, 1);
        CHECK_STATUS(csk_gate_adopt(&f.gate, &f.waiters[2]), 0);
        CHECK_STATUS(csk_gate_unlock(&f.gate), 0);
        CHECK_EQ(f.called[0].times, 2);
        CHECK_STATUS(csk_gate_adopt(&f.gate, &f.waiters[0]), 0);
        CHECK_STATUS(csk_gate_unlock(&f.gate), 0);
        CHECK_STATUS(csk_gate_adopt(&f.gate, &f.waiters[1]), 0);
        CHECK_STATUS(csk_gate_unlock(&f.gate), 0);
        CHECK_STATUS(csk_gate_destroy(&f.gate), 0);
    }
}

static void a_task_that_lost_its_grant_comes_before_the_later_ones_of_its_executor(void) {
    for (uint32_t policy = 0; policy < 3; policy++) {
        for (int forgotten = 0; forgotten < 2; forgotten++) {
            struct fixture f;
            set_up(&f, policy, 0, false);
            CHECK_STATUS(lock_waiter(&f, 0, 0, CSK_NEVER), 0);
            CHECK_STATUS(lock_waiter(&f, 1, 0, CSK_NEVER), 0);
            let_another_pass(&f);
            CHECK(csk_gate_has_lost_grants(&f.gate));
            CHECK_STATUS(csk_gate_cancel(&f.gate, &f.waiters[0]), ENOENT);
            CHECK_STATUS(csk_gate_unlock(&f.gate), 0);
            /* A free gate, and yet none of the executor's but a higher rank may have it. */
            CHECK_EQ(f.called[1].times, 0);
            CHECK_STATUS(lock_waiter(&f, 2, 5, CSK_NEVER), 0);
            CHECK_EQ(f.called[2].times, 1);
            CHECK_STATUS(csk_gate_adopt(&f.gate, &f.waiters[2]), 0);
            CHECK_STATUS(csk_gate_unlock(&f.gate), 0);
            CHECK_EQ(f.called[1].times, 0);
            CHECK_STATUS(csk_gate_adopt(&f.gate, &f.waiters[0]), EAGAIN);
            if (forgotten) CHECK_STATUS(csk_gate_forget(&f.gate, &f.waiters[0]), 0);
            else {
                CHECK_STATUS(csk_gate_relock_async(&f.gate, &f.waiters[0]), 0);
                CHECK_EQ(f.called[0].times, 2);
                CHECK_EQ(f.called[1].times, 0);
                CHECK_STATUS(csk_gate_adopt(&f.gate, &f.waiters[0]), 0);
                CHECK_STATUS(csk_gate_unlock(&f.gate), 0);
            }
            CHECK_EQ(f.called[1].times, 1);
            CHECK_STATUS(csk_gate_forget(&f.gate, &f.waiters[1]), 0);
            CHECK_STATUS(csk_gate_trylock(&f.gate, 0), 0);
            CHECK_STATUS(csk_gate_unlock(&f.gate), 0);
            CHECK_STATUS(csk_gate_destroy(&f.gate), 0);
        }
    }
}

/* The gate is granted to the first waiter, which has not begun. */
static void grant_first(struct fixture *f, int32_t priority) {
    CHECK_STATUS(csk_gate_lock(&f->gate, 0), 0);
    CHECK_STATUS(lock_waiter(f, 0, priority, csk_deadline_after(3600 * 1000 * ms)), 0);
    CHECK_STATUS(csk_gate_unlock(&f->gate), 0);
    CHECK_EQ(f->called[0].times, 1);
}
static int try_running(struct fixture *f, int32_t priority) {
    return csk_gate_trylock_keyed(&f->gate, csk_rank(priority, CSK_PLACE_BACK), NULL, 0);
}

static void a_running_task_of_higher_rank_passes_one_that_has_yet_to_be_started(void) {
    for (uint32_t policy = 0; policy < 3; policy++) {
        struct fixture f;
        set_up(&f, policy, 0, false);
        grant_first(&f, 0);
        CHECK_STATUS(try_running(&f, -1), EBUSY);
        CHECK_STATUS(csk_gate_trylock_keyed(&f.gate, INT64_MAX, NULL, 0), EINVAL);
        int taken = try_running(&f, 5);
        CHECK_STATUS(taken, policy == CSK_GATE_STRICT ? EBUSY : 0);
        if (taken == 0) {
            CHECK_EQ(csk_gate_waiting(&f.gate), 1);
            CHECK_STATUS(csk_gate_cancel(&f.gate, &f.waiters[0]), ENOENT);
            CHECK_STATUS(csk_gate_adopt(&f.gate, &f.waiters[0]), EAGAIN);
            CHECK_STATUS(lock_waiter(&f, 0, 0, CSK_NEVER), EBUSY);
            CHECK_STATUS(csk_gate_unlock(&f.gate), 0);
            CHECK_EQ(f.called[0].times, 1);
        }
        CHECK_STATUS(csk_gate_adopt(&f.gate, &f.waiters[0]), 0);
        CHECK_STATUS(try_running(&f, 5), EBUSY);
        CHECK_STATUS(csk_gate_unlock(&f.gate), 0);
        CHECK_STATUS(try_running(&f, -1), 0);
        CHECK_STATUS(csk_gate_unlock(&f.gate), 0);
        CHECK_STATUS(csk_gate_destroy(&f.gate), 0);
    }
}

/* A section is brief only where this thread does not lose its processor in it, and under a sanitizer or an emulator
 * perhaps none is. */
static void a_task_lets_few_of_its_rank_pass(void) {
    for (uint32_t policy = 0; policy < 2; policy++) {
        int most = 0;
        int64_t shortest_ns = INT64_MAX;
        for (int round = 0; most < 4 && round < 10000; round++) {
            int64_t began_ns = csk_now();
            struct fixture f;
            set_up(&f, policy, 0, false);
            CHECK_STATUS(try_running(&f, 0), 0);
            CHECK_STATUS(csk_gate_unlock(&f.gate), 0);
            grant_first(&f, 0);
            int passed = 0;
            for (; try_running(&f, 0) == 0; passed++) CHECK_STATUS(csk_gate_unlock(&f.gate), 0);
            CHECK(passed <= 4);
            if (passed > most) most = passed;
            int64_t lasted_ns = (csk_now() - began_ns) / (passed + 2);
            if (lasted_ns < shortest_ns) shortest_ns = lasted_ns;
            CHECK_STATUS(csk_gate_adopt(&f.gate, &f.waiters[0]), 0);
            CHECK_STATUS(csk_gate_unlock(&f.gate), 0);
            CHECK_EQ(f.called[0].times, 1);
            CHECK_STATUS(csk_gate_destroy(&f.gate), 0);
        }
        if (shortest_ns < 500) CHECK_EQ(most, 4);
    }
}

static void a_task_that_was_passed_waits_again_or_gives_up(void) {
    for (int gives_up = 0; gives_up < 2; gives_up++) {
        struct fixture f;
        set_up(&f, CSK_GATE_FAST, 0, false);
        grant_first(&f, 0);
        CHECK_STATUS(try_running(&f, 5), 0);
        CHECK_STATUS(csk_gate_adopt(&f.gate, &f.waiters[0]), EAGAIN);
        if (gives_up) {
            CHECK_STATUS(csk_gate_forget(&f.gate, &f.waiters[0]), 0);
            CHECK_STATUS(csk_gate_forget(&f.gate, &f.waiters[0]), EINVAL);
        } else {
            CHECK_STATUS(csk_gate_relock_async(&f.gate, &f.waiters[0]), 0);
            CHECK_STATUS(csk_gate_relock_async(&f.gate, &f.waiters[0]), EINVAL);
            CHECK_EQ(f.called[0].times, 1);
        }
        CHECK_EQ(csk_gate_waiting(&f.gate), !gives_up);
        CHECK_STATUS(csk_gate_unlock(&f.gate), 0);
        CHECK_EQ(f.called[0].times, gives_up ? 1 : 2);
        if (!gives_up) {
            CHECK_STATUS(csk_gate_adopt(&f.gate, &f.waiters[0]), 0);
            CHECK_STATUS(csk_gate_unlock(&f.gate), 0);
        }
        CHECK_STATUS(csk_gate_destroy(&f.gate), 0);
    }
}

/* Others take its grant again and again, each time before its grace has ended: that gives it no new one. */
static void a_task_that_never_comes_holds_up_nobody_though_others_take_its_grant(void) {
    for (uint32_t policy = 0; policy < 2; policy++) {
        struct fixture f;
        set_up(&f, policy, 0, false);
        grant_first(&f, 0);
        CHECK_STATUS(csk_gate_lock_async(&f.gate, 0, &f.other, CSK_NEVER, note, &f.other_called), 0);
        while (LOAD(&f.other_called.times) == 0)
            if (try_running(&f, 5) == 0) CHECK_STATUS(csk_gate_unlock(&f.gate), 0);
        CHECK_STATUS(csk_gate_adopt(&f.gate, &f.waiters[0]), EAGAIN);
        CHECK_STATUS(csk_gate_forget(&f.gate, &f.waiters[0]), 0);
        CHECK_STATUS(csk_gate_unlock(&f.gate), 0);
        CHECK_STATUS(csk_gate_destroy(&f.gate), 0);
    }
}

/* As many as wait come again and again; each waits as a task does where it can't enter at once. */
enum { RUNNERS = 4, SECTIONS = 20000 };
static struct {
    struct fixture f;
    long sum;
    int next;
} run;
static void *runs(void *unused) {
    (void)unused;
    int self = __atomic_fetch_add(&run.next, 1, __ATOMIC_RELAXED);
    for (int i = 0; i < SECTIONS; i++) {
        if (try_running(&run.f, 0) != 0) {
            int times = LOAD(&run.f.called[self].times);
            CHECK_STATUS(lock_waiter(&run.f, self, 0, CSK_NEVER), 0);
            for (;;) {
                while (LOAD(&run.f.called[self].times) == times) sched_yield();
                times++;
                if (csk_gate_adopt(&run.f.gate, &run.f.waiters[self]) == 0) break;
                CHECK_STATUS(csk_gate_relock_async(&run.f.gate, &run.f.waiters[self]), 0);
            }
        }
        run.sum++;
        CHECK_STATUS(csk_gate_unlock(&run.f.gate), 0);
    }
    return NULL;
}
static void of_tasks_that_pass_each_other_none_is_lost(void) {
    for (uint32_t policy = 0; policy < 3; policy++) {
        set_up(&run.f, policy, 0, false);
        run.sum = run.next = 0;
        pthread_t threads[RUNNERS];
        for (int i = 0; i < RUNNERS; i++) threads[i] = start_thread(runs, NULL);
        for (int i = 0; i < RUNNERS; i++) join_thread(threads[i]);
        CHECK_EQ(run.sum, RUNNERS * SECTIONS);
        CHECK_STATUS(csk_gate_destroy(&run.f.gate), 0);
    }
}

static void who_forgets_a_grant_leaves_the_choice_to_the_gate(void) {
    for (uint32_t policy = 0; policy < 3; policy++) {
        struct fixture f;
        set_up(&f, policy, 0, false);
        CHECK_STATUS(csk_gate_init(&f.gate, &(csk_gate_attr_t){ .policy = policy, .grace_us = 60000000 }), 0);
        CHECK_STATUS(lock_waiter(&f, 0, 20, CSK_NEVER), 0);
        CHECK_STATUS(csk_gate_lock_async(&f.gate, 10, &f.other, CSK_NEVER, note, &f.other_called), 0);
        CHECK_STATUS(lock_waiter(&f, 1, 30, CSK_NEVER), 0);
        CHECK_STATUS(csk_gate_adopt(&f.gate, &f.waiters[0]), EAGAIN);
        /* The one that came before it has gone by the time that it forgets. */
        CHECK_STATUS(lock_waiter(&f, 2, 0, CSK_NEVER), 0);
        CHECK_STATUS(csk_gate_cancel(&f.gate, &f.waiters[1]), 0);
        CHECK_STATUS(csk_gate_forget(&f.gate, &f.waiters[0]), 0);
        CHECK_EQ(f.other_called.times, 1);
        CHECK_EQ(f.called[2].times, 0);
        CHECK_STATUS(csk_gate_unlock(&f.gate), 0);
        CHECK_EQ(f.called[2].times, 1);
        CHECK_STATUS(csk_gate_adopt(&f.gate, &f.waiters[2]), 0);
        CHECK_STATUS(csk_gate_unlock(&f.gate), 0);
        CHECK_STATUS(csk_gate_destroy(&f.gate), 0);
    }
}

/* ---- Later ------------------------------------------------------------------------------------------------------- */

static csk_gate_t outer_gate;
static csk_waiter_t inner;
static csk_gate_later_t later;
static int later_calls, inner_calls;

static void inner_granted(csk_waiter_t *waiter, void *context, int status) {
    (void)waiter, (void)context, (void)status;
    inner_calls++;
    CHECK_STATUS(csk_gate_unlock(&outer_gate), 0);
}
static void run_later(csk_gate_later_t *call) {
    (void)call;
    later_calls++;
    /* As free as any thread: what it is granted here is called at once. */
    CHECK_STATUS(csk_gate_lock_async(&outer_gate, 0, &inner, CSK_NEVER, inner_granted, NULL), 0);
    CHECK_EQ(inner_calls, 1);
}
static void leaves_for_later(csk_waiter_t *waiter, void *context, int status) {
    (void)waiter, (void)context, (void)status;
    later.function = run_later;
    CHECK(csk_gate_call_later(&later));
    CHECK_EQ(later_calls, 0);
    CHECK_STATUS(csk_gate_unlock(&outer_gate), 0);
}
static void what_is_left_for_later_runs_outside_of_all_functions(void) {
    csk_waiter_t waiter = { .word = 0 };
    CHECK_STATUS(csk_gate_lock_async(&outer_gate, 0, &waiter, CSK_NEVER, leaves_for_later, NULL), 0);
    CHECK_EQ(later_calls, 1);
    CHECK_STATUS(csk_gate_destroy(&outer_gate), 0);
}

TEST_MAIN(TEST(a_busy_queues_waiters_begin_in_order_though_others_pass), TEST(a_queues_own_waiters_start_no_grace),
          TEST(a_higher_rank_that_comes_before_the_queue_begins_first),
          TEST(waiters_of_a_queue_that_does_not_come_time_out_and_can_be_cancelled),
          TEST(a_task_gives_its_grant_up_to_a_higher_rank_only),
          TEST(a_task_that_lost_its_grant_comes_before_the_later_ones_of_its_executor),
          TEST(a_running_task_of_higher_rank_passes_one_that_has_yet_to_be_started),
          TEST(a_task_lets_few_of_its_rank_pass), TEST(a_task_that_was_passed_waits_again_or_gives_up),
          TEST(a_task_that_never_comes_holds_up_nobody_though_others_take_its_grant),
          TEST(of_tasks_that_pass_each_other_none_is_lost), TEST(who_forgets_a_grant_leaves_the_choice_to_the_gate),
          TEST(what_is_left_for_later_runs_outside_of_all_functions))
