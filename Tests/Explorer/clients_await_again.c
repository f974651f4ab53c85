/* clients_await_again.c: threads that wait for a predicate and come again before they stand in the list: they find what
 * they wait for, keep their time of arrival, and do not come again where that would change the order. Each yields once
 * here (build.py). */
#include "csynckernel/await.h"

#include "gate_fixture.h"
#include "lock/gate_await.h"

enum { ITEMS, ASKED, QUEUED, STANDS, ARRIVED };
static uint32_t items(void) { return __atomic_load_n(&shared->flags[ITEMS], __ATOMIC_RELAXED); }
static void set_items(uint32_t count) { __atomic_store_n(&shared->flags[ITEMS], count, __ATOMIC_RELAXED); }
static bool some(void *unused) {
    (void)unused;
    EXPECT(csk_gate_is_mine(gate));
    return items() >= 1;
}
static void put(uint32_t count) {
    lock(0);
    set_items(items() + count);
    section();
    unlock();
}
static void puts_one(void) { put(1); }
static void nothing_is_left(void) {
    EXPECT_EQUAL(items(), 0);
    EXPECT(csk_gate_conditions(gate) == NULL);
    expect_idle(shared->count);
}

/* ---- It finds what it waits for ---------------------------------------------------------------------------------- */

static void takes(void) {
    EXPECT_EQUAL(csk_gate_lock_when(gate, 0, some, NULL, CSK_NEVER), 0);
    EXPECT(csk_gate_is_mine(gate) && items() >= 1);
    set_items(items() - 1);
    section();
    unlock();
}
CLIENT(await_again_two_fast, .setup = make_fast, .invariant = is_published,
       .threads = { takes, takes, puts_one, puts_one }, .check = nothing_is_left)
CLIENT(await_again_two_compact, .setup = make_compact, .invariant = is_published,
       .threads = { takes, takes, puts_one, puts_one }, .check = nothing_is_left)

/* Each takes what the other puts: whoever comes again changes what the other one waits for, too. */
static bool none(void *unused) {
    (void)unused;
    return items() == 0;
}
static void puts_into_room(void) {
    for (int i = 0; i < 2; i++) {
        EXPECT_EQUAL(csk_gate_lock_when(gate, 0, none, NULL, CSK_NEVER), 0);
        EXPECT_EQUAL(items(), 0);
        set_items(1);
        section();
        unlock();
    }
}
static void takes_both(void) {
    takes();
    takes();
}
CLIENT(await_again_buffer_fast, .setup = make_fast, .invariant = is_published,
       .threads = { takes_both, puts_into_room }, .check = nothing_is_left)
CLIENT(await_again_buffer_compact, .setup = make_compact, .invariant = is_published,
       .threads = { takes_both, puts_into_room }, .check = nothing_is_left, .preemptions = 1)

/* It is not among those that wait while it comes again, so the gate may be closed then. */
static bool never_and_says_so(void *unused) {
    (void)unused;
    explore_set(&shared->flags[ASKED], 1);
    return items() != 0;
}
static void takes_or_is_refused(void) {
    int status = csk_gate_lock_when(gate, 0, never_and_says_so, NULL, CSK_NEVER);
    EXPECT(status == 0 || status == ESHUTDOWN);
    EXPECT_EQUAL(csk_gate_is_mine(gate), status == 0);
    shared->flags[STANDS] = status == ESHUTDOWN;
    if (status == 0) unlock();
}
static void is_closed(csk_waiter_t *waiter, void *context, int status) {
    (void)waiter, (void)context;
    EXPECT_EQUAL(status, 0);
    shared->called++;
}
static void closes_or_puts(void) {
    explore_wait(&shared->flags[ASKED], 1);
    int status = csk_gate_close(gate, &shared->waiters[0], is_closed, NULL);
    EXPECT(status == 0 || status == EBUSY);
    shared->flags[QUEUED] = status == 0;
    if (status != 0) puts_one();
}
static void closed_or_idle(void) {
    EXPECT_EQUAL(shared->called, shared->flags[QUEUED]);
    EXPECT_EQUAL(shared->flags[STANDS], shared->flags[QUEUED]);
    EXPECT(csk_gate_conditions(gate) == NULL);
    EXPECT_EQUAL(csk_gate_destroy(gate), 0);
}
CLIENT(await_again_or_closed, .setup = make_compact, .threads = { takes_or_is_refused, closes_or_puts },
       .check = closed_or_idle, .preemptions = 1)

/* The callback is let in by the thread that leaves in order to come again. What it leaves for later must not run there:
 * the thread is in the middle of a call. */
static bool some_once_another_has_queued(void *unused) {
    explore_set(&shared->flags[ASKED], 1);
    explore_wait(&shared->flags[QUEUED], 1);
    return some(unused);
}
static void puts_and_leaves(csk_waiter_t *waiter, void *context, int status) {
    static csk_gate_later_t later;
    (void)waiter, (void)context;
    EXPECT_EQUAL(status, 0);
    EXPECT_EQUAL(explore_thread(), 0);
    EXPECT(!csk_gate_call_later(&later));
    set_items(items() + 1);
    section();
    unlock();
}
static void lets_a_callback_in(void) {
    EXPECT_EQUAL(csk_gate_lock_when(gate, 0, some_once_another_has_queued, NULL, CSK_NEVER), 0);
    set_items(items() - 1);
    section();
    unlock();
}
static void queues_a_callback(void) {
    explore_wait(&shared->flags[ASKED], 1);
    EXPECT_EQUAL(csk_gate_lock_async(gate, 0, &shared->waiters[0], CSK_NEVER, puts_and_leaves, NULL), 0);
    explore_set(&shared->flags[QUEUED], 1);
}
CLIENT(await_again_lets_a_callback_in, .setup = make_compact, .threads = { lets_a_callback_in, queues_a_callback },
       .check = nothing_is_left, .preemptions = 0)

/* ---- Order ------------------------------------------------------------------------------------------------------- */

/* Whoever came first stands before those that arrived while it came again. Its predicate is asked for the second time
 * by itself, and it holds the gate from then on until it stands in the list. */
static bool some_and_counts(void *unused) {
    uint32_t asked = __atomic_add_fetch(&shared->flags[ASKED], 1, __ATOMIC_RELAXED);
    if (asked == 2) __atomic_fetch_add(&shared->flags[STANDS], 1, __ATOMIC_RELAXED);
    return some(unused);
}
static void takes_as(csk_gate_predicate_t predicate, int32_t priority, int who) {
    EXPECT_EQUAL(csk_gate_lock_when(gate, priority, predicate, NULL, CSK_NEVER), 0);
    EXPECT(items() >= 1);
    enter_as(who); /* and leaves the item to the other */
    unlock();
}
static void comes_first(void) { takes_as(some_and_counts, 0, 1); }
static void comes_then(void) {
    explore_wait(&shared->flags[ASKED], 1);
    lock(0);
    __atomic_fetch_add(&shared->flags[STANDS], 1, __ATOMIC_RELAXED);
    EXPECT_EQUAL(csk_gate_await(gate, 0, some, NULL, CSK_NEVER), 0);
    enter_as(2);
    unlock();
}
static void puts_for_both(void) {
    explore_wait(&shared->flags[STANDS], 2);
    put(1);
}
static void went_in_order(void) {
    expect_order(2, (const int[]){ 1, 2 });
    set_items(0);
    nothing_is_left();
}
CLIENT(await_again_keeps_its_arrival_fast, .setup = make_fast, .invariant = is_published,
       .threads = { comes_first, comes_then, puts_for_both }, .check = went_in_order)
CLIENT(await_again_keeps_its_arrival_compact, .setup = make_compact, .invariant = is_published,
       .threads = { comes_first, comes_then, puts_for_both }, .check = went_in_order)

/* An urgent thread stands in the list at once, and so does any at a strict gate: whoever comes once there is an item
 * can't have it before that one. Who puts it knows by a visit that the first has left the gate. */
static bool some_and_says_so(void *unused) {
    explore_set(&shared->flags[ARRIVED], 1);
    return some(unused);
}
static void arrives_urgently(void) { takes_as(some_and_says_so, 1, 1); }
static void arrives(void) { takes_as(some_and_says_so, 0, 1); }
static void puts_after(void) {
    explore_wait(&shared->flags[ARRIVED], 1);
    put(0);
    put(1);
    explore_set(&shared->flags[QUEUED], 1);
}
static void arrives_after(void) {
    explore_wait(&shared->flags[QUEUED], 1);
    takes_as(some, 0, 2);
}
/* A yield may take a time slice, so a thread with a deadline stands in the list at once. */
static void takes_in_time(void) {
    int64_t deadline = explore_now() + 20000;
    int status = csk_gate_lock_when(gate, 0, some, NULL, deadline);
    EXPECT(status == 0 || (status == ETIMEDOUT && explore_now() >= deadline));
    EXPECT_EQUAL(csk_gate_is_mine(gate), status == 0);
    if (status == 0) unlock();
}
static void is_idle(void) {
    set_items(0);
    nothing_is_left();
}
CLIENT(await_again_not_in_time, .setup = make_compact, .invariant = is_published, .threads = { takes_in_time },
       .check = is_idle, .preemptions = 1)

CLIENT(await_again_not_urgent, .setup = make_compact, .invariant = is_published,
       .threads = { arrives_urgently, arrives_after, puts_after }, .check = went_in_order)
CLIENT(await_again_not_strict, .setup = make_strict, .invariant = is_published,
       .threads = { arrives, arrives_after, puts_after }, .check = went_in_order)
