/* clients_async.c: asynchronous waiters: grants, deadlines, cancellation, adoption, closing.
 *
 * More than 400 lines: the clients share the functions of their waiters and the record of what these saw. */
#include "gate_fixture.h"

/* ---- Functions of waiters ---------------------------------------------------------------------------------------- */

static int index_of(const csk_waiter_t *waiter) { return (int)(waiter - shared->waiters); }

static void was_called(csk_waiter_t *waiter, int status) {
    int index = index_of(waiter);
    EXPECT_EQUAL(shared->status[index], 0);
    shared->status[index] = status + 1000; /* 1000: called with 0 */
    shared->called++;
}
/* Works and leaves at once. */
static void works(csk_waiter_t *waiter, void *context, int status) {
    (void)context;
    was_called(waiter, status);
    if (status != 0) return;
    enter_as(10 + index_of(waiter));
    unlock();
    explore_set(&shared->flags[4 + index_of(waiter)], 1);
}
/* Leaves the gate to another thread, which flag 4 + index tells. */
static void passes_on(csk_waiter_t *waiter, void *context, int status) {
    (void)context;
    was_called(waiter, status);
    explore_set(&shared->flags[4 + index_of(waiter)], 1);
}
static void queue(int index, int32_t priority, int64_t deadline, csk_waiter_function_t function) {
    EXPECT_EQUAL(csk_gate_lock_async(gate, priority, &shared->waiters[index], deadline, function, NULL), 0);
}
static void first(void) { once(0, 0); }
static void second(void) { once(0, 1); }
static void queues_0(void) { queue(0, 0, CSK_NEVER, works); }
static void queues_1(void) { queue(1, 0, CSK_NEVER, works); }
static void idle_after_1(void) { expect_idle(1); }
static void idle_after_2(void) { expect_idle(2); }
static void idle_after_3(void) { expect_idle(3); }
static void idle_after_some(void) { expect_idle(shared->count); }

CLIENT_FAST_COMPACT_STRICT(async_and_thread, .threads = { first, queues_0 }, .check = idle_after_2, .preemptions = 2)
CLIENT_FAST_COMPACT_STRICT(async_two, .threads = { queues_0, queues_1 }, .check = idle_after_2, .preemptions = 2)
CLIENT_FAST_COMPACT_STRICT(async_two_and_thread, .threads = { queues_0, queues_1, first }, .check = idle_after_3,
                           .preemptions = 1)

/* A callback of higher rank comes while a leaver has told a thread to come. */
static void queues_high(void) { queue(0, 9, CSK_NEVER, works); }
CLIENT_FAST_COMPACT_STRICT(async_above_the_designated, .threads = { first, second, queues_high }, .check = idle_after_3,
                           .preemptions = 1)

static void queues_0_passing(void) {
    queue(0, 0, CSK_NEVER, passes_on);
    explore_wait(&shared->flags[4], 1);
    section();
    unlock();
}
CLIENT_FAST_COMPACT_STRICT(async_left_elsewhere, .threads = { first, queues_0_passing, second }, .check = idle_after_3,
                           .preemptions = 1)

/* ---- A long chain on one thread, the gate taken again from the function ------------------------------------------ */

static void queues_again(csk_waiter_t *waiter, void *context, int status) {
    (void)context;
    EXPECT_EQUAL(status, 0);
    section();
    bool more = shared->called++ < 2;
    /* While it still has the gate: the next grant comes when it leaves, after this function has returned. */
    if (more) EXPECT_EQUAL(csk_gate_lock_async(gate, 0, waiter, CSK_NEVER, queues_again, NULL), 0);
    unlock();
}
static void queues_again_0(void) { queue(0, 0, CSK_NEVER, queues_again); }
static void idle_after_4(void) { expect_idle(4); }
CLIENT_FAST_COMPACT_STRICT(async_again_from_function, .threads = { queues_again_0, first }, .check = idle_after_4,
                           .preemptions = 1)

/* ---- The waiter's memory goes with its function ------------------------------------------------------------------ */

static void frees_itself(csk_waiter_t *waiter, void *context, int status) {
    (void)context;
    explore_free(waiter, sizeof *waiter);
    shared->called++;
    if (status != 0) return;
    section();
    unlock();
}
static void queues_freed(int64_t deadline) {
    csk_waiter_t *waiter = explore_allocate(sizeof *waiter);
    EXPECT_EQUAL(csk_gate_lock_async(gate, 0, waiter, deadline, frees_itself, NULL), 0);
}
static void queues_freed_for_ever(void) { queues_freed(CSK_NEVER); }
static void queues_freed_timed(void) { queues_freed(explore_now() + 20000); }
CLIENT_FAST_COMPACT_STRICT(async_freed_by_function, .threads = { first, queues_freed_for_ever }, .check = idle_after_2,
                           .preemptions = 2)
CLIENT_FAST_COMPACT_STRICT(async_freed_after_deadline, .threads = { first, queues_freed_timed },
                           .check = idle_after_some, .preemptions = 1)

/* ---- Deadlines and cancellation ---------------------------------------------------------------------------------- */

static void queues_timed(void) { queue(0, 0, explore_now() + 20000, works); }
static void holds_until_called(void) {
    lock(0);
    explore_wait(&shared->called, 1);
    unlock();
}
static void queues_timed_behind(void) {
    explore_wait((const uint32_t *)&gate->held, 1);
    queue(0, 0, explore_now() + 20000, works);
}
static void has_timed_out(void) {
    EXPECT_EQUAL(shared->called, 1);
    EXPECT_EQUAL(shared->status[0], 1000 + ETIMEDOUT);
    expect_idle(0);
}
static void called_once(void) {
    EXPECT_EQUAL(shared->called, 1);
    int status = shared->status[0] - 1000;
    EXPECT(status == 0 || status == ETIMEDOUT || status == ECANCELED);
    expect_idle(shared->count);
}
static void cancels(void) {
    int status = csk_gate_cancel(gate, &shared->waiters[0]);
    EXPECT(status == 0 || status == ENOENT);
}
CLIENT_FAST_COMPACT_STRICT(async_deadline_or_grant, .threads = { first, queues_timed }, .check = called_once,
                           .preemptions = 1)
CLIENT_FAST_COMPACT_STRICT(async_deadline, .threads = { holds_until_called, queues_timed_behind },
                           .check = has_timed_out, .preemptions = 1)
CLIENT_FAST_COMPACT_STRICT(async_cancel_or_grant, .threads = { first, queues_0, cancels }, .check = called_once,
                           .preemptions = 1)
CLIENT_FAST_COMPACT_STRICT(async_cancel_or_deadline, .threads = { holds_until_called, queues_timed_behind, cancels },
                           .check = called_once)
CLIENT_FAST_COMPACT_STRICT(async_cancel_in_the_middle, .threads = { first, second, queues_0, cancels },
                           .check = called_once)

/* ---- Order among threads and callbacks --------------------------------------------------------------------------- */

static void releases(void) {
    lock(0);
    explore_set(&shared->flags[1], 1);
    await_waiting(1);
    explore_set(&shared->flags[2], 1);
    await_waiting(2);
    explore_set(&shared->flags[3], 1);
    await_waiting(3);
    unlock();
}
static void low_callback(void) {
    explore_wait(&shared->flags[1], 1);
    queue(0, -5, CSK_NEVER, works);
}
static void middle_thread(void) {
    explore_wait(&shared->flags[2], 1);
    once(0, 1);
}
static void high_callback(void) {
    explore_wait(&shared->flags[3], 1);
    queue(1, 5, CSK_NEVER, works);
}
static void in_order(void) { expect_order(3, (int[]){ 11, 1, 10 }); }
CLIENT_FAST_COMPACT_STRICT(async_one_order, .threads = { releases, low_callback, middle_thread, high_callback },
                           .check = in_order)

/* ---- Provisional grants ------------------------------------------------------------------------------------------ */

/* The worker that adopts is stuck behind a thread that waits for the same gate: only the end of the grace helps. */
static void adoptable_0(void) {
    EXPECT_EQUAL(csk_gate_lock_async_ranked(gate, csk_rank(3, CSK_PLACE_BACK), &shared->waiters[0], true, CSK_NEVER,
                                            passes_on, NULL),
                 0);
}
static void adopts(void) {
    for (uint32_t round = 1;; round++) {
        explore_wait(&shared->called, round);
        int status = csk_gate_adopt(gate, &shared->waiters[0]);
        if (status == 0) break;
        EXPECT_EQUAL(status, EAGAIN);
        shared->status[0] = 0;
        EXPECT_EQUAL(csk_gate_relock_async(gate, &shared->waiters[0]), 0);
    }
    EXPECT(csk_gate_is_mine(gate));
    enter_as(10);
    unlock();
}
static void adopts_after_thread(void) {
    explore_wait(&shared->flags[0], 1);
    adopts();
}
static void waits_behind_grant(void) {
    explore_wait(&shared->called, 1);
    once(0, 1);
    explore_set(&shared->flags[0], 1);
}
static void forgets(void) {
    explore_wait(&shared->called, 1);
    explore_wait(&shared->flags[0], 1);
    EXPECT_EQUAL(csk_gate_adopt(gate, &shared->waiters[0]), EAGAIN);
    EXPECT_EQUAL(csk_gate_forget(gate, &shared->waiters[0]), 0);
    EXPECT_EQUAL(csk_gate_forget(gate, &shared->waiters[0]), EINVAL);
}
CLIENT_FAST_COMPACT_STRICT(adopt_or_lose, .threads = { adoptable_0, adopts, first }, .check = idle_after_2,
                           .preemptions = 1)
CLIENT_FAST_COMPACT_STRICT(adopt_behind_thread, .threads = { adoptable_0, adopts_after_thread, waits_behind_grant },
                           .check = idle_after_2, .preemptions = 1)
CLIENT_FAST_COMPACT_STRICT(adopt_lost_and_forgotten, .threads = { adoptable_0, forgets, waits_behind_grant },
                           .check = idle_after_1, .preemptions = 1)

/* Whoever has the gate after the grace stays for longer than another: what was taken back is pending no more, and
 * nothing is taken from that one. */
static void stays_inside(void) {
    explore_wait(&shared->called, 1);
    lock(0);
    EXPECT_EQUAL(shared->inside++, 0);
    explore_set(&shared->flags[1], 1);
    csk_platform_park(&shared->flags[2], 0, explore_now() + 10000000);
    shared->inside--;
    unlock();
    explore_set(&shared->flags[0], 1);
}
static void comes_behind(void) {
    explore_wait(&shared->flags[1], 1);
    once(0, 1);
}
CLIENT_FAST_COMPACT_STRICT(adopt_lost_to_one_that_stays, .threads = { adoptable_0, stays_inside, comes_behind },
                           .preemptions = 1)

/* ---- Closing ----------------------------------------------------------------------------------------------------- */

static void is_closed(csk_waiter_t *waiter, void *context, int status) {
    (void)waiter, (void)context;
    EXPECT_EQUAL(status, 0);
    EXPECT_EQUAL(shared->flags[3]++, 0);
    EXPECT_EQUAL(shared->inside, 0);
    EXPECT_EQUAL(csk_gate_destroy(gate), 0);
}
static void closes(void) {
    EXPECT_EQUAL(csk_gate_close(gate, &shared->waiters[3], is_closed, NULL), 0);
    EXPECT_EQUAL(csk_gate_cancel(gate, &shared->waiters[3]), ENOENT);
    EXPECT_EQUAL(csk_gate_lock(gate, 9), ESHUTDOWN);
}
static void enters_or_is_refused(void) {
    int status = csk_gate_lock(gate, 0);
    if (status == ESHUTDOWN) return;
    EXPECT_EQUAL(status, 0);
    EXPECT_EQUAL(shared->flags[3], 0);
    section();
    unlock();
}
static void queues_or_is_refused(void) {
    int status = csk_gate_lock_async(gate, 0, &shared->waiters[0], CSK_NEVER, works, NULL);
    EXPECT(status == 0 || status == ESHUTDOWN);
}
static void is_closed_for_good(void) {
    EXPECT_EQUAL(shared->flags[3], 1);
    EXPECT_EQUAL(csk_gate_lock(gate, 0), ESHUTDOWN);
}
static void frees_gate(csk_waiter_t *waiter, void *context, int status) {
    (void)waiter, (void)context;
    EXPECT_EQUAL(status, 0);
    EXPECT_EQUAL(csk_gate_destroy(gate), 0);
    explore_free(gate, sizeof *gate);
    shared->called++;
}
static void frees_gate_of_timed(csk_waiter_t *waiter, void *context, int status) {
    (void)waiter, (void)context;
    EXPECT_EQUAL(status, 0);
    if (shared->flags[1]) explore_free(gate, sizeof *gate);
}
static void holds_then_leaves(void) {
    lock(0);
    explore_set(&shared->flags[0], 1);
    section();
    unlock();
}
static void closes_held(void) {
    explore_wait(&shared->flags[0], 1);
    EXPECT_EQUAL(csk_gate_close(gate, &shared->waiters[3], frees_gate, NULL), 0);
}
static void was_freed(void) { EXPECT_EQUAL(shared->called, 1); }
CLIENT_FAST_COMPACT_STRICT(close_and_thread, .threads = { closes, enters_or_is_refused }, .check = is_closed_for_good,
                           .preemptions = 2)
CLIENT_FAST_COMPACT_STRICT(close_and_two, .threads = { closes, enters_or_is_refused, queues_or_is_refused },
                           .preemptions = 1)
CLIENT(close_frees_compact, .setup = make_compact, .threads = { holds_then_leaves, closes_held }, .check = was_freed,
       .preemptions = 2)
CLIENT(close_frees_strict, .setup = make_strict, .threads = { holds_then_leaves, closes_held }, .check = was_freed,
       .preemptions = 2)
/* A FAST gate must outlive all calls of it, the closer's own among them, which may look again after the closing
 * function has been called. So the last of the two calls and that function frees it. */
static void drop_closed(void) {
    explore_order(&shared->flags[1]);
    if (--shared->flags[1] != 0) return;
    EXPECT_EQUAL(csk_gate_destroy(gate), 0);
    explore_free(gate, sizeof *gate);
    shared->called++;
}
static void is_closed_and_drops(csk_waiter_t *waiter, void *context, int status) {
    (void)waiter, (void)context;
    EXPECT_EQUAL(status, 0);
    drop_closed();
}
static void leaves_and_drops(void) {
    holds_then_leaves();
    drop_closed();
}
static void closes_and_drops(void) {
    explore_wait(&shared->flags[0], 1);
    EXPECT_EQUAL(csk_gate_close(gate, &shared->waiters[3], is_closed_and_drops, NULL), 0);
    drop_closed();
}
static void make_counted_fast(void) { make_fast(), shared->flags[1] = 3; }
CLIENT(close_last_frees_fast, .setup = make_counted_fast, .threads = { leaves_and_drops, closes_and_drops },
       .check = was_freed, .preemptions = 2)

/* A thread that was accepted before the close times out just when the leaver designates it. In one word the closing
 * function may free the gate all the same. */
static void closes_behind_timed(void) {
    lock(0);
    explore_set(&shared->flags[0], 1);
    explore_point();
    EXPECT_EQUAL(csk_gate_close(gate, &shared->waiters[3], frees_gate_of_timed, NULL), 0);
    shared->flags[1] = csk_gate_waiting(gate) == 2; /* the other one has been accepted, or will not come any more */
    section();
    unlock();
}
static void waits_beside_close(void) {
    explore_wait(&shared->flags[0], 1);
    int status = csk_gate_timedlock(gate, 0, explore_now() + 20000);
    EXPECT(status == 0 || status == ETIMEDOUT || status == ESHUTDOWN);
    if (status != 0) return;
    section();
    unlock();
}
CLIENT(close_frees_beside_timed_compact, .setup = make_compact, .threads = { closes_behind_timed, waits_beside_close },
       .preemptions = 2)
CLIENT(close_frees_beside_timed_strict, .setup = make_strict, .threads = { closes_behind_timed, waits_beside_close },
       .preemptions = 2)

/* ---- What only misuse, closing or bad luck with the clock shows -------------------------------------------------- */

/* The grant comes when a thread waits already: its clock starts at once. */
static void holds_for_two(void) {
    lock(0);
    explore_set(&shared->flags[1], 1);
    await_waiting(2);
    unlock();
}
static void adoptable_when_held(void) {
    explore_wait(&shared->flags[1], 1);
    adoptable_0();
}
static void thread_behind(void) {
    explore_wait(&shared->flags[1], 1);
    once(0, 1);
    explore_set(&shared->flags[0], 1);
}
CLIENT_FAST_COMPACT_STRICT(adopt_contended_from_the_start,
                           .threads = { holds_for_two, adoptable_when_held, thread_behind, adopts_after_thread },
                           .check = idle_after_2)

/* After the adoption the waiter's memory is the caller's: no clock may still run in it. */
static csk_waiter_t **loose(void) { return (csk_waiter_t **)shared->waiters; }
static void is_granted(csk_waiter_t *waiter, void *context, int status) {
    (void)waiter, (void)context;
    EXPECT_EQUAL(status, 0);
    explore_set(&shared->called, shared->called + 1);
}
static void queues_loose(void) {
    *loose() = explore_allocate(sizeof **loose());
    EXPECT_EQUAL(
        csk_gate_lock_async_ranked(gate, csk_rank(3, CSK_PLACE_BACK), *loose(), true, CSK_NEVER, is_granted, NULL), 0);
}
static void adopts_and_frees(void) {
    for (uint32_t round = 1;; round++) {
        explore_wait(&shared->called, round);
        int status = csk_gate_adopt(gate, *loose());
        if (status == 0) break;
        EXPECT_EQUAL(csk_gate_relock_async(gate, *loose()), 0);
    }
    explore_free(*loose(), sizeof **loose());
    section();
    unlock();
}
static void waits_a_while(void) {
    lock(0);
    section();
    unlock();
    /* Somebody sleeps for a later time, so that time can pass once all is done. */
    csk_gate_t other = CSK_GATE_INITIALIZER;
    EXPECT_EQUAL(csk_gate_trylock(&other, 0), 0);
    EXPECT_EQUAL(csk_gate_disown(&other), 0);
    EXPECT_EQUAL(csk_gate_timedlock(&other, 0, explore_now() + INT64_C(10000000000)), ETIMEDOUT);
}
CLIENT_FAST_COMPACT_STRICT(adopt_and_free, .threads = { queues_loose, adopts_and_frees, waits_a_while },
                           .check = idle_after_2)

/* A stranger can't leave for a waiter whose grant is provisional, nor for a thread. */
static void strangers(void) {
    for (int i = 0; i < 3; i++) EXPECT_EQUAL(csk_gate_unlock(gate), EPERM);
}
CLIENT_FAST_COMPACT_STRICT(adopt_among_strangers, .threads = { adoptable_0, adopts, first, strangers },
                           .check = idle_after_2)

/* The closer comes after those who lost a grant, whether they come back or give up. */
static void closes_after_loss(void) {
    explore_wait(&shared->flags[0], 1);
    EXPECT_EQUAL(csk_gate_close(gate, &shared->waiters[3], is_closed, NULL), 0);
}
static void adopts_before_closer(void) {
    explore_wait(&shared->flags[0], 1);
    for (uint32_t round = 1;; round++) {
        explore_wait(&shared->called, round);
        int status = csk_gate_adopt(gate, &shared->waiters[0]);
        if (status == 0) break;
        EXPECT_EQUAL(status, EAGAIN);
        EXPECT_EQUAL(shared->flags[3], 0);
        shared->status[0] = 0;
        EXPECT_EQUAL(csk_gate_relock_async(gate, &shared->waiters[0]), 0);
    }
    EXPECT_EQUAL(shared->flags[3], 0);
    section();
    unlock();
}
static void closed_in_the_end(void) { EXPECT_EQUAL(shared->flags[3], 1); }
CLIENT_FAST_COMPACT_STRICT(close_after_a_lost_grant,
                           .threads = { adoptable_0, adopts_before_closer, waits_behind_grant, closes_after_loss },
                           .check = closed_in_the_end)
CLIENT_FAST_COMPACT_STRICT(close_after_a_forgotten_grant,
                           .threads = { adoptable_0, forgets, waits_behind_grant, closes_after_loss },
                           .check = closed_in_the_end)
/* The closer does not show while a grant is lost, and shows again just when the holder leaves. */
static void closes_inside(void) {
    explore_wait(&shared->called, 1);
    lock(0);
    EXPECT_EQUAL(csk_gate_close(gate, &shared->waiters[3], is_closed, NULL), 0);
    explore_set(&shared->flags[0], 1);
    unlock();
}
CLIENT_FAST_COMPACT_STRICT(close_while_a_loss_is_forgotten, .threads = { adoptable_0, forgets, closes_inside },
                           .check = closed_in_the_end, .preemptions = 1)
CLIENT_FAST_COMPACT_STRICT(close_while_a_loss_is_relocked,
                           .threads = { adoptable_0, adopts_before_closer, closes_inside }, .check = closed_in_the_end,
                           .preemptions = 1)
/* With nobody else waiting, a provisional grant is not taken back for the closer. */
static void closes_pending(void) {
    explore_wait(&shared->called, 1);
    EXPECT_EQUAL(csk_gate_close(gate, &shared->waiters[3], is_closed, NULL), 0);
    explore_set(&shared->flags[0], 1);
}
static void is_not_robbed_by_closer(void) {
    explore_wait(&shared->flags[0], 1);
    EXPECT_EQUAL(csk_gate_adopt(gate, &shared->waiters[0]), 0);
    section();
    unlock();
}
CLIENT_FAST_COMPACT_STRICT(close_behind_a_pending_grant,
                           .threads = { adoptable_0, is_not_robbed_by_closer, closes_pending },
                           .check = closed_in_the_end, .preemptions = 1)

/* Functions run one after the other on a thread, however they are chained; a waiter whose function is due is in use. */
static void does_not_nest(csk_waiter_t *waiter, void *context, int status) {
    (void)context;
    was_called(waiter, status);
    EXPECT_EQUAL(shared->flags[7], 0);
    shared->flags[7] = 1;
    section();
    unlock();
    explore_point();
    shared->flags[7] = 0;
}
static void queues_three(void) {
    lock(0);
    for (int i = 0; i < 3; i++) queue(i, 0, CSK_NEVER, does_not_nest);
    unlock();
    EXPECT_EQUAL(shared->called, 3);
}
CLIENT_FAST_COMPACT_STRICT(async_chain, .threads = { queues_three }, .check = idle_after_3, .preemptions = 1)

static void counts(csk_waiter_t *waiter, void *context, int status) {
    (void)waiter, (void)context;
    __atomic_fetch_add(&shared->called, 1, __ATOMIC_RELAXED);
    if (status == 0) {
        section();
        unlock();
    }
}
static void queues_it_again(void) {
    int status = csk_gate_lock_async(gate, 0, &shared->waiters[0], CSK_NEVER, counts, NULL);
    EXPECT(status == 0 || status == EBUSY);
    shared->flags[2] = status == 0;
}
static void queues_unless_busy(void) {
    int status = csk_gate_lock_async(gate, 0, &shared->waiters[0], CSK_NEVER, counts, NULL);
    EXPECT(status == 0 || status == EBUSY);
    shared->flags[1] = status == 0;
}
static void each_call_once(void) { EXPECT_EQUAL(shared->called, shared->flags[1] + shared->flags[2]); }
CLIENT_FAST_COMPACT_STRICT(async_queued_while_due, .threads = { queues_unless_busy, queues_it_again, cancels, first },
                           .check = each_call_once)
