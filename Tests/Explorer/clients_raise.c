/* clients_raise.c: waiters of the gate that are given a higher rank: alone, in the lanes of queues and of executors,
 * and where they wait for predicates. clients_gate_late.c has one that is raised above a thread that is late. */
#include "lane_fixture.h"

#include "csynckernel/await.h"
#include "lock/gate_await.h"

static int raise_to(int index, int32_t priority) {
    int status = csk_gate_raise(gate, csk_rank(priority, CSK_PLACE_BACK), &shared->waiters[index]);
    EXPECT(status == 0 || status == ENOENT);
    return status;
}

/* ---- Without a lane ---------------------------------------------------------------------------------------------- */

/* flags[2]: the leaver has seen that the raise was over, by flags[1]. */
static void queues_two_and_leaves(void) {
    lock(0);
    queue_plain(0, 1);
    queue_plain(1, 0);
    explore_set(&shared->flags[0], 1);
    shared->flags[2] = __atomic_load_n(&shared->flags[1], __ATOMIC_ACQUIRE);
    unlock();
}
static void raises_the_second(void) {
    explore_wait(&shared->flags[0], 1);
    raise_to(1, 2);
    raise_to(0, 0); /* that is lower */
    __atomic_store_n(&shared->flags[1], 1, __ATOMIC_RELEASE);
}
static void raised_first(void) {
    expect_idle(2);
    if (shared->flags[2]) expect_order(2, (int[]){ 11, 10 });
}
CLIENT_FAST_COMPACT_STRICT(async_raised_beside_a_leaver, .threads = { queues_two_and_leaves, raises_the_second },
                           .check = raised_first, .preemptions = 2)

/* It is cancelled at the same time, and a thread stands above it until then. */
static void is_let_in_or_cancelled(csk_waiter_t *waiter, void *context, int status) {
    if (status == 0) works(waiter, context, status);
    else shared->called++;
}
static void queues_one_below_a_thread(void) {
    lock(0);
    EXPECT_EQUAL(csk_gate_lock_async(gate, -1, &shared->waiters[0], CSK_NEVER, is_let_in_or_cancelled, NULL), 0);
    explore_set(&shared->flags[0], 1);
    unlock();
    raise_to(0, 1);
}
static void thread_above(void) {
    explore_wait(&shared->flags[0], 1);
    once(0, 1);
}
static void cancels_one(void) {
    explore_wait(&shared->flags[0], 1);
    csk_gate_cancel(gate, &shared->waiters[0]);
}
static void idle_after_some(void) { expect_idle(2 - shared->called); }
CLIENT_FAST_COMPACT_STRICT(async_raised_or_cancelled,
                           .threads = { queues_one_below_a_thread, thread_above, cancels_one },
                           .check = idle_after_some, .preemptions = 1)

/* The closing waiter stays behind all others. */
static void raises_the_closer(void) {
    lock(0);
    queue_plain(0, 0);
    close_after(1);
    EXPECT_EQUAL(raise_to(3, 5), ENOENT);
    unlock();
    EXPECT_EQUAL(shared->flags[3], 1);
}
CLIENT_FAST_COMPACT_STRICT(close_is_not_raised, .threads = { raises_the_closer }, .preemptions = 1)

/* ---- In a lane --------------------------------------------------------------------------------------------------- */

static void works_behind_the_lane(csk_waiter_t *waiter, void *context, int status) {
    EXPECT(csk_gate_has_lost_grants(gate) || shared->blocks >= 1);
    works(waiter, context, status);
}
static void raises_the_second_of_its_lane(void) {
    lock(0);
    queue(0, 0);
    queue(1, 0);
    EXPECT_EQUAL(csk_gate_lock_async(gate, 3, &shared->waiters[2], CSK_NEVER, works_behind_the_lane, NULL), 0);
    EXPECT_EQUAL(raise_to(1, 5), 0);
    unlock();
}
static void serves_two(void) { serve(2); }
static void second_before_first(void) {
    expect_idle(3);
    int last = 12;
    for (uint32_t i = 0; i < 3; i++) {
        if (shared->order[i] == 12) continue;
        EXPECT(shared->order[i] < last);
        last = shared->order[i];
    }
}
CLIENT_FAST_COMPACT_STRICT(lane_raised_shows, .threads = { raises_the_second_of_its_lane, serves_two },
                           .check = second_before_first, .preemptions = 1)

/* It is raised while its queue begins the one before it. */
static void queues_two_and_says_so(void) {
    queues_two();
    explore_set(&shared->flags[0], 1);
}
static void raises_beside_the_queue(void) {
    explore_wait(&shared->flags[0], 1);
    raise_to(1, 5);
}
static void idle_after_two(void) { expect_idle(2); }
CLIENT_FAST_COMPACT_STRICT(lane_raised_beside_its_queue,
                           .threads = { queues_two_and_says_so, serves_two, raises_beside_the_queue },
                           .check = idle_after_two, .preemptions = 1)

/* The queue has lost its grant, and comes after the raise. */
static void raises_when_passed(void) {
    is_passed();
    EXPECT_EQUAL(raise_to(1, 5), 0);
    explore_set(&shared->flags[1], 1);
}
static void serves_after_the_raise(void) {
    explore_wait(&shared->flags[1], 1);
    serve(2);
}
static void second_begins_first(void) {
    expect_idle(3);
    EXPECT_EQUAL(shared->order[0], 1);
    EXPECT_EQUAL(shared->order[1], 11);
}
static void queues_two_and_raises_when_passed(void) {
    queues_two();
    raises_when_passed();
}
CLIENT_FAST_COMPACT_STRICT(lane_raised_while_it_is_stalled,
                           .threads = { queues_two_and_raises_when_passed, serves_after_the_raise,
                                        thread_behind_grant },
                           .check = second_begins_first, .preemptions = 1)

/* A task has the grant, and does not come: the one that is raised above it need not wait for it. */
static void suspends_two_and_raises(void) {
    suspend(0, 0);
    suspend(1, 0);
    EXPECT_EQUAL(raise_to(1, 5), 0);
    go_on(1);
    explore_set(&shared->flags[0], 1);
}
static void goes_on_0_late(void) {
    explore_wait(&shared->flags[0], 1);
    go_on(0);
}
static void raised_task_first(void) {
    expect_idle(2);
    expect_order(2, (int[]){ 11, 10 });
}
CLIENT_FAST_COMPACT_STRICT(lane_task_raised_above_the_granted, .threads = { suspends_two_and_raises, goes_on_0_late },
                           .check = raised_task_first, .preemptions = 2)

/* The grant was lost to a thread, and its task has not come. */
static void raises_past_a_loss(void) {
    suspend(0, 0);
    suspend(1, 0);
    is_passed();
    EXPECT_EQUAL(raise_to(1, 5), 0);
    go_on(1);
    explore_set(&shared->flags[1], 1);
}
static void goes_on_0_after_it(void) {
    explore_wait(&shared->flags[1], 1);
    go_on(0);
}
static void all_in_order(void) {
    expect_idle(3);
    expect_order(3, (int[]){ 1, 11, 10 });
}
CLIENT_FAST_COMPACT_STRICT(lane_task_raised_past_a_loss,
                           .threads = { raises_past_a_loss, goes_on_0_after_it, thread_behind_task },
                           .check = all_in_order, .preemptions = 1)

/* ---- Where it waits for a predicate ------------------------------------------------------------------------------ */

static csk_gate_condition_t *conditions;
static void make_watched_fast(void) {
    make_fast();
    conditions = explore_allocate(2 * sizeof *conditions);
}
static void make_watched_compact(void) {
    make_compact();
    conditions = explore_allocate(2 * sizeof *conditions);
}
#define CLIENT_WATCHED(name, ...)                                                           \
    CLIENT(name##_fast, .setup = make_watched_fast, .invariant = is_published, __VA_ARGS__) \
    CLIENT(name##_compact, .setup = make_watched_compact, .invariant = is_published, __VA_ARGS__)

static uint32_t items(void) { return __atomic_load_n(&shared->flags[3], __ATOMIC_RELAXED); }
static void set_items(uint32_t count) { __atomic_store_n(&shared->flags[3], count, __ATOMIC_RELAXED); }
static bool some(void *unused) {
    (void)unused;
    return items() >= 1;
}
static bool never(void *unused) {
    (void)unused;
    return false;
}
static void takes_one(csk_waiter_t *waiter, void *context, int status) {
    (void)context;
    EXPECT_EQUAL(status, 0);
    EXPECT_EQUAL(items(), 1);
    set_items(0);
    enter_as(10 + (int)(waiter - shared->waiters));
    unlock();
}
static void is_found(csk_gate_condition_t *found, void *context, int status) {
    (void)context;
    if (status != 0) return;
    csk_waiter_t *waiter = &shared->waiters[found - conditions];
    EXPECT_EQUAL(
        csk_gate_lock_async_ranked(gate, csk_gate_condition_rank(found), waiter, false, CSK_NEVER, takes_one, NULL), 0);
}
static void watch(int index, int32_t priority, csk_gate_predicate_t predicate) {
    EXPECT_EQUAL(csk_gate_watch(gate, csk_rank(priority, CSK_PLACE_BACK), &conditions[index], predicate, NULL, is_found,
                                NULL),
                 0);
}
static void raise_the_second_watch(void) {
    int status = csk_gate_raise_watch(gate, csk_rank(2, CSK_PLACE_BACK), &conditions[1]);
    EXPECT(status == 0 || status == ENOENT);
}
static void second_was_found(void) {
    EXPECT_EQUAL(csk_gate_unwatch(gate, &conditions[0]), 0);
    expect_idle(1);
    expect_order(1, (int[]){ 11 });
}

/* Both predicates are true, and the one that is raised is found. */
static void watches_two_and_raises(void) {
    lock(0);
    watch(0, 1, some);
    watch(1, 0, some);
    raise_the_second_watch();
    set_items(1);
    unlock();
}
CLIENT_WATCHED(await_watch_raised, .threads = { watches_two_and_raises }, .check = second_was_found, .preemptions = 1)

/* It moves past the one that is being asked, and is asked all the same. */
static void watches_two(void) {
    lock(0);
    watch(0, 1, never);
    watch(1, 0, some);
    set_items(1);
    explore_set(&shared->flags[0], 1);
    unlock();
}
static void raises_a_watch(void) {
    explore_wait(&shared->flags[0], 1);
    raise_the_second_watch();
}
CLIENT_WATCHED(await_watch_raised_beside_a_leaver, .threads = { watches_two, raises_a_watch },
               .check = second_was_found, .preemptions = 2)
