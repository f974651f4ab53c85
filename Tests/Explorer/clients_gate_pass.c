/* clients_gate_pass.c: a task that runs enters before one that was granted the gate and has yet to be started. That one
 * is passed so often (GATE_PASSES), keeps its place, and is called no second time.
 *
 * More than 400 lines: each state of gate_lane.h's table is left in each of its ways, by one client for each. */
#include "csynckernel/await.h"
#include "lane_fixture.h"

/* Two sections of a task, so that the gate knows that they are brief. */
static void become_brief(void) {
    for (int i = 0; i < 2; i++) {
        EXPECT_EQUAL(csk_gate_trylock_keyed(gate, csk_rank(0, CSK_PLACE_BACK), NULL, 0), 0);
        EXPECT_EQUAL(csk_gate_unlock(gate), 0);
    }
}
static void make_fast_and_brief(void) {
    make_fast();
    become_brief();
}
static void make_compact_and_brief(void) {
    make_compact();
    become_brief();
}
static void make_strict_and_brief(void) {
    make_strict();
    become_brief();
}
static void make_limited_and_brief(void) {
    make_gate(CSK_GATE_FAST, 1, 0);
    become_brief();
}
#define CLIENT_FAST_COMPACT(name, ...)                                                        \
    CLIENT(name##_fast, .setup = make_fast_and_brief, .invariant = is_published, __VA_ARGS__) \
    CLIENT(name##_compact, .setup = make_compact_and_brief, .invariant = is_published, __VA_ARGS__)

/* For what one thread does in order: no grace ends meanwhile. */
#define CLIENT_IN_ORDER(name, does, checks) \
    CLIENT_FAST_COMPACT(name, .threads = { does }, .check = checks, .preemptions = 0, .without_time = true)

static bool passes_of(int32_t priority, csk_gate_lanes_t *lanes, uint64_t key) {
    int status = csk_gate_trylock_keyed(gate, csk_rank(priority, CSK_PLACE_BACK), lanes, key);
    EXPECT(status == 0 || status == EBUSY);
    return status == 0;
}
static bool passes(int32_t priority) { return passes_of(priority, NULL, 0); }
static void enter_and_leave(int who) {
    enter_as(who);
    unlock();
}
static void tries_once(int32_t priority, int who) {
    if (passes(priority)) enter_and_leave(who);
}
static void relock(int index) { EXPECT_EQUAL(csk_gate_relock_async(gate, &shared->waiters[index]), 0); }
static int adopt(int index) { return csk_gate_adopt(gate, &shared->waiters[index]); }
static uint32_t calls_of(int index) { return shared->flags[4 + index]; }
/* So many tasks of one rank wait. The first is granted, and does not begin. */
static void grants_one_of(int count) {
    lock(0);
    for (int i = 0; i < count; i++) suspend(i, 0);
    unlock();
    EXPECT_EQUAL(calls_of(0), 1);
}
static void idle_after_some(void) { expect_idle(shared->count); }

/* ---- One thread: what is done in each state ---------------------------------------------------------------------- */

/* Has the first that was granted be passed as often as it may be, but once. */
static void passes_but_once(void) {
    for (int i = 1; i < GATE_PASSES; i++) {
        EXPECT(passes(0));
        unlock();
    }
}
/* A task is passed so often at each wait, though it comes in vain in between. */
static void passes_each(void) {
    grants_one_of(2);
    passes_but_once();
    EXPECT(passes(0));
    EXPECT_EQUAL(csk_gate_waiting(gate), 2);
    EXPECT_EQUAL(csk_gate_cancel(gate, &shared->waiters[0]), ENOENT);
    EXPECT_EQUAL(csk_gate_raise(gate, csk_rank(5, CSK_PLACE_BACK), &shared->waiters[0]), ENOENT);
    EXPECT_EQUAL(adopt(0), EAGAIN);
    enter_and_leave(1);
    EXPECT_EQUAL(calls_of(0), 1); /* it is on its way still */
    EXPECT(!passes(0));
    EXPECT_EQUAL(adopt(0), 0);
    enter_and_leave(10);
    passes_but_once();
    EXPECT(passes(0));
    EXPECT_EQUAL(adopt(1), EAGAIN);
    relock(1);
    EXPECT_EQUAL(csk_gate_relock_async(gate, &shared->waiters[1]), EINVAL);
    EXPECT_EQUAL(calls_of(1), 1);
    enter_and_leave(2);
    EXPECT_EQUAL(calls_of(1), 2);
    EXPECT(!passes(0));
    EXPECT_EQUAL(adopt(1), 0);
    enter_and_leave(11);
    /* Another wait of the first. */
    lock(0);
    suspend(0, 0);
    unlock();
    EXPECT(passes(0));
    enter_and_leave(3);
    EXPECT_EQUAL(adopt(0), 0);
    enter_and_leave(10);
}
static void in_turns(void) {
    expect_idle(6);
    expect_order(6, (int[]){ 1, 10, 2, 11, 3, 10 });
}
CLIENT_IN_ORDER(pass_each_so_often, passes_each, in_turns)

/* The rank decides: of those that wait behind the granted one too. A higher one passes each time. */
static void passes_by_rank(void) {
    lock(0);
    suspend(0, 1);
    unlock();
    EXPECT(!passes(0));
    for (int i = 0; i <= GATE_PASSES; i++) {
        EXPECT(passes(2));
        enter_and_leave(2);
    }
    queue_plain(2, 3);
    EXPECT(!passes(2));
    go_on(0);
}
static void higher_each_time(void) {
    expect_idle(GATE_PASSES + 3);
    for (int i = 0; i <= GATE_PASSES; i++) EXPECT_EQUAL(shared->order[i], 2);
}
CLIENT_IN_ORDER(pass_by_rank, passes_by_rank, higher_each_time)

/* Under STRICT none passes. */
static void passes_nobody(void) {
    grants_one_of(1);
    EXPECT(!passes(0) && !passes(9));
    EXPECT_EQUAL(adopt(0), 0);
    enter_and_leave(10);
    EXPECT(passes(0));
    enter_and_leave(1);
}
static void one_after_the_other(void) {
    expect_idle(2);
    expect_order(2, (int[]){ 10, 1 });
}
CLIENT(pass_not_at_a_strict_gate, .setup = make_strict_and_brief, .invariant = is_published,
       .threads = { passes_nobody }, .check = one_after_the_other, .preemptions = 0, .without_time = true)

/* Nor one that was granted the gate at once, since it runs; */
static void passes_none_that_runs(void) {
    suspend(0, 0);
    EXPECT(!passes(0));
    EXPECT_EQUAL(adopt(0), 0);
    enter_and_leave(10);
}
static void only_that_one(void) {
    expect_idle(1);
    expect_order(1, (int[]){ 10 });
}
CLIENT_IN_ORDER(pass_none_that_runs, passes_none_that_runs, only_that_one)

/* nor where the section before was long; */
static void passes_none_after_a_long_section(void) {
    grants_one_of(1);
    EXPECT_EQUAL(adopt(0), 0);
    uint32_t word = 0;
    csk_platform_park(&word, 0, explore_now() + 10000);
    suspend(1, 0);
    enter_and_leave(10);
    EXPECT(!passes(0));
    int64_t now_ns = explore_now();
    EXPECT_EQUAL(adopt(1), 0);
    enter_and_leave(11);
    lock(0);
    suspend(2, 0);
    unlock();
    bool passed = passes(0);
    EXPECT(passed || explore_now() != now_ns);
    if (passed) enter_and_leave(1);
    EXPECT_EQUAL(adopt(2), 0);
    enter_and_leave(12);
}
static void after_a_brief_one(void) {
    expect_idle(shared->count);
    EXPECT(shared->order[0] == 10 && shared->order[1] == 11);
}
CLIENT_FAST_COMPACT(pass_none_after_a_long_section, .threads = { passes_none_after_a_long_section },
                    .check = after_a_brief_one, .preemptions = 0)

/* nor at a gate that is closed; */
static void passes_none_at_a_closed_gate(void) {
    grants_one_of(1);
    close_after(1);
    EXPECT(!passes(9));
    EXPECT_EQUAL(adopt(0), 0);
    enter_and_leave(10);
    EXPECT_EQUAL(shared->flags[3], 1);
}
static void nothing(void) {}
CLIENT_IN_ORDER(pass_none_at_a_closed_gate, passes_none_at_a_closed_gate, nothing)

/* nor a queue's; */
static void passes_no_queue(void) {
    lock(0);
    queue(0, 0);
    unlock();
    EXPECT(!passes(0));
    csk_waiter_t *begun;
    EXPECT_EQUAL(csk_gate_begin(gate, &shared->lane, &begun), 0);
    enter_and_leave(10);
}
CLIENT_IN_ORDER(pass_no_queue, passes_no_queue, only_that_one)

/* nor one without a lane, whose owner may know no other EAGAIN than that of a grace. */
static void is_granted_or_works(csk_waiter_t *waiter, void *context, int status) {
    (void)waiter, (void)context;
    EXPECT_EQUAL(status, 0);
}
static void passes_none_without_a_lane(void) {
    lock(0);
    EXPECT_EQUAL(csk_gate_lock_async_ranked(gate, csk_rank(0, CSK_PLACE_BACK), &shared->waiters[0], true, CSK_NEVER,
                                            is_granted_or_works, NULL),
                 0);
    unlock();
    EXPECT(!passes(0));
    EXPECT_EQUAL(adopt(0), 0);
    enter_and_leave(10);
}
CLIENT_IN_ORDER(pass_none_without_a_lane, passes_none_without_a_lane, only_that_one)

/* Where an executor runs its tasks in order, none passes another one of it. */
static void suspend_keyed(int index, uint64_t key) {
    csk_gate_lane_t *spare = &shared->spares[index];
    EXPECT_EQUAL(csk_gate_lock_keyed(gate, csk_rank(0, CSK_PLACE_BACK), &shared->waiters[index], &shared->lanes, key,
                                     false, &spare, CSK_NEVER, is_resumed, NULL),
                 0);
}
static void passes_others_only(void) {
    lock(0);
    suspend_keyed(0, 1);
    unlock();
    EXPECT(!passes_of(0, &shared->lanes, 1) && !passes_of(9, &shared->lanes, 1));
    EXPECT(passes_of(0, &shared->lanes, 22)); /* in the same list */
    suspend_keyed(1, 22);
    enter_and_leave(1);
    EXPECT(!passes_of(9, &shared->lanes, 22)); /* the one that waits */
    go_on(0);
    go_on(1);
}
static void others_first(void) {
    expect_idle(3);
    EXPECT_EQUAL(shared->order[0], 1);
}
CLIENT_IN_ORDER(pass_none_of_its_executor, passes_others_only, others_first)

/* One that goes after a predicate keeps its grant, since the predicate is true now. */
static bool is_true(void *context) { return *(uint32_t *)context != 0; }
static void suspends_first(csk_gate_condition_t *condition, void *context, int status) {
    (void)condition, (void)context;
    EXPECT_EQUAL(status, 0);
    suspend(0, 0);
}
static void passes_none_of_a_predicate(void) {
    csk_gate_condition_t *condition = explore_allocate(sizeof *condition);
    lock(0);
    EXPECT_EQUAL(csk_gate_watch(gate, csk_rank(0, CSK_PLACE_BACK), condition, is_true, &shared->flags[0],
                                suspends_first, NULL),
                 0);
    shared->flags[0] = 1;
    unlock();
    EXPECT(!passes(0));
    EXPECT_EQUAL(adopt(0), 0);
    enter_and_leave(10);
}
CLIENT_IN_ORDER(pass_none_of_a_predicate, passes_none_of_a_predicate, only_that_one)

/* The limit's choice keeps its grant, and each that passes counts for those that wait. */
static void passes_none_beyond_the_limit(void) {
    lock(0);
    suspend(0, 0);
    suspend(1, 5);
    unlock();
    EXPECT(passes(5));
    EXPECT_EQUAL(adopt(1), EAGAIN);
    relock(1);
    enter_and_leave(1);
    EXPECT_EQUAL(calls_of(0), 1); /* it was passed, and goes next */
    EXPECT(!passes(9));
    EXPECT_EQUAL(adopt(0), 0);
    enter_and_leave(10);
    EXPECT_EQUAL(adopt(1), 0);
    enter_and_leave(11);
}
static void passed_once(void) {
    expect_idle(3);
    expect_order(3, (int[]){ 1, 10, 11 });
}
CLIENT(pass_none_beyond_the_limit, .setup = make_limited_and_brief, .invariant = is_published,
       .threads = { passes_none_beyond_the_limit }, .check = passed_once, .preemptions = 0, .without_time = true)

/* ---- A grant that was lost --------------------------------------------------------------------------------------- */

/* None passes a task that has lost its grant; nor one that the limit makes next, though another has the grant. */
static void comes_back_beside_a_grant(void) {
    suspend(0, 0);
    lock(0);
    enter_as(1);
    EXPECT_EQUAL(csk_gate_lock_lane(gate, csk_rank(5, CSK_PLACE_BACK), &shared->waiters[1], &shared->spares[0],
                                    CSK_NEVER, is_resumed, NULL),
                 0);
    unlock();
    EXPECT_EQUAL(calls_of(1), 1);
    EXPECT(!passes(9)); /* a grant was lost */
    EXPECT_EQUAL(adopt(0), EAGAIN);
    relock(0);
    EXPECT(!passes(9)); /* it was passed as often as the limit has it */
    go_on(1);
    explore_wait(&shared->flags[4], 2);
    go_on(0);
}
static void idle_after_three(void) { expect_idle(3); }
CLIENT(pass_none_that_comes_back, .setup = make_limited_and_brief, .invariant = is_published,
       .threads = { comes_back_beside_a_grant }, .check = idle_after_three, .preemptions = 0)
static void passes_a_free_gate_beside_no_loss(void) {
    suspend(0, 0);
    once(0, 1);
    EXPECT(!passes(0));
    EXPECT_EQUAL(adopt(0), EAGAIN);
    EXPECT_EQUAL(csk_gate_forget(gate, &shared->waiters[0]), 0);
    EXPECT(passes(0));
    enter_and_leave(2);
}
static void forgotten(void) {
    expect_idle(2);
    expect_order(2, (int[]){ 1, 2 });
}
CLIENT_FAST_COMPACT(pass_none_that_has_lost, .threads = { passes_a_free_gate_beside_no_loss }, .check = forgotten,
                    .preemptions = 0)

/* ---- Several threads --------------------------------------------------------------------------------------------- */

/* The task comes at any moment of a taking. */
static void grants_and_passes(void) {
    lock(0);
    suspend(0, 0);
    unlock();
    tries_once(0, 1);
}
static void goes_on_0(void) { go_on(0); }
CLIENT_FAST_COMPACT(pass_and_adopt, .threads = { grants_and_passes, goes_on_0 }, .check = idle_after_some,
                    .preemptions = 1)

/* Of several that come, so many pass the first that waits. Each waits for its turn in the end. */
static void comes_and_waits(int index) {
    tries_once(0, 1);
    suspend(index, 0);
    go_on(index);
}
static void second(void) {
    explore_wait(&shared->flags[4], 1);
    comes_and_waits(1);
}
static void third(void) {
    explore_wait(&shared->flags[4], 1);
    for (int i = 0; i < GATE_PASSES; i++) tries_once(0, 1);
}
static void grants_and_goes_on(void) {
    lock(0);
    suspend(0, 0);
    unlock();
    go_on(0);
}
static void first_was_passed_so_often(void) {
    expect_idle(shared->count);
    for (int i = 0; shared->order[i] != 10; i++) EXPECT(i < GATE_PASSES);
}
CLIENT_FAST_COMPACT(pass_of_two, .threads = { grants_and_goes_on, second, third }, .check = first_was_passed_so_often,
                    .preemptions = 1)

/* The task gives up when it finds its grant taken. */
static void gives_up_if_it_is_passed(void) {
    explore_wait(&shared->flags[4], 1);
    if (adopt(0) == 0) {
        enter_and_leave(10);
        return;
    }
    EXPECT_EQUAL(csk_gate_forget(gate, &shared->waiters[0]), 0);
    EXPECT_EQUAL(csk_gate_forget(gate, &shared->waiters[0]), EINVAL);
}
static void grants_and_passes_with_another(void) {
    lock(0);
    suspend(0, 0);
    suspend(1, 0);
    unlock();
    tries_once(0, 1);
    go_on(1);
}
CLIENT_FAST_COMPACT(pass_and_forget, .threads = { grants_and_passes_with_another, gives_up_if_it_is_passed },
                    .check = idle_after_some, .preemptions = 1)

/* A cancellation, or a deadline, finds the task waiting, before its grant or after it has come in vain, or it is too
 * late. The function is called once for each wait. */
static void ends_or_is_resumed(csk_waiter_t *waiter, void *context, int status) {
    (void)waiter, (void)context;
    shared->status[0] = status;
    explore_set(&shared->flags[4], shared->flags[4] + 1);
}
static void suspends_one_that_may_end(int64_t deadline_ns) {
    lock(0);
    EXPECT_EQUAL(csk_gate_lock_lane(gate, csk_rank(0, CSK_PLACE_BACK), &shared->waiters[0], &shared->lane, deadline_ns,
                                    ends_or_is_resumed, NULL),
                 0);
    unlock();
    tries_once(0, 1);
}
static void suspends_one(void) { suspends_one_that_may_end(CSK_NEVER); }
static void suspends_one_timed(void) { suspends_one_that_may_end(explore_now() + 5000); }
static void goes_on_unless_it_ends(void) {
    for (uint32_t round = 1;; round++) {
        explore_wait(&shared->flags[4], round);
        EXPECT_EQUAL(calls_of(0), round);
        if (shared->status[0] != 0) return;
        if (adopt(0) == 0) break;
        relock(0);
    }
    enter_and_leave(10);
}
static void cancels(void) {
    int status = csk_gate_cancel(gate, &shared->waiters[0]);
    EXPECT(status == 0 || status == ENOENT);
}
CLIENT_FAST_COMPACT(pass_or_cancel, .threads = { suspends_one, goes_on_unless_it_ends, cancels },
                    .check = idle_after_some, .preemptions = 1)
CLIENT_FAST_COMPACT(pass_or_deadline, .threads = { suspends_one_timed, goes_on_unless_it_ends },
                    .check = idle_after_some, .preemptions = 1)

/* The closer comes after the task that was passed. */
static void passes_and_closes(void) {
    grants_one_of(1);
    bool passed = passes(0);
    if (passed) enter_as(1);
    close_after(passed ? 2 : 1);
    if (passed) unlock();
}
static void closed_in_the_end(void) { EXPECT_EQUAL(shared->flags[3], 1); }
CLIENT_FAST_COMPACT(pass_and_close, .threads = { passes_and_closes, goes_on_0 }, .check = closed_in_the_end,
                    .preemptions = 1)

/* A task of higher rank comes before the one that was passed finds out. */
static void passes_and_queues_a_higher(void) {
    grants_one_of(1);
    bool passed = passes(0);
    suspend(1, 5);
    if (passed) enter_and_leave(1);
    go_on(1);
}
CLIENT_FAST_COMPACT(pass_and_higher, .threads = { passes_and_queues_a_higher, goes_on_0 }, .check = idle_after_some,
                    .preemptions = 1)

/* A free gate is the higher rank's that waits. */
static void leaves_to_a_higher(void) {
    lock(0);
    explore_set(&shared->flags[0], 1);
    await_waiting(1);
    unlock();
    if (!passes(0)) return;
    EXPECT_EQUAL(csk_gate_waiting(gate), 0);
    enter_and_leave(1);
}
static void higher_thread(void) {
    explore_wait(&shared->flags[0], 1);
    once(5, 2);
}
CLIENT_FAST_COMPACT(pass_no_higher_thread, .threads = { leaves_to_a_higher, higher_thread }, .check = idle_after_some,
                    .preemptions = 1)

/* What is looked for does not come: the section lasts until those that look for its end have given up. */
static void takes_and_stays(void) {
    grants_one_of(1);
    bool passed = passes(9);
    explore_set(&shared->flags[0], passed ? 1 : 2);
    if (!passed) return;
    explore_wait(&shared->flags[1], 2);
    enter_and_leave(1);
}
static void gives_up_with(int looks) {
    explore_wait(&shared->flags[0], 1);
    if (shared->flags[0] == 1 && looks == 0) EXPECT(!passes(9));
    if (shared->flags[0] == 1 && looks == 1) EXPECT_EQUAL(adopt(0), EAGAIN);
    __atomic_fetch_add(&shared->flags[1], 1, __ATOMIC_RELAXED);
}
static void looks_in_vain(void) { gives_up_with(0); }
static void comes_in_vain(void) {
    gives_up_with(1);
    if (shared->flags[0] == 1) relock(0);
    explore_wait(&shared->flags[4], shared->flags[0] == 1 ? 2 : 1);
    for (uint32_t round = shared->flags[4]; adopt(0) != 0; explore_wait(&shared->flags[4], ++round)) relock(0);
    enter_and_leave(10);
}
CLIENT_FAST_COMPACT(pass_in_vain, .threads = { takes_and_stays, looks_in_vain, comes_in_vain },
                    .check = idle_after_some, .preemptions = 1)

/* A thread waits behind both. */
static void waits_behind(void) {
    explore_wait(&shared->flags[4], 1);
    once(0, 2);
}
CLIENT_FAST_COMPACT(pass_before_a_thread, .threads = { grants_and_passes, goes_on_0, waits_behind },
                    .check = idle_after_some, .preemptions = 1)
