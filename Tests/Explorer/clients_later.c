/* clients_later.c: what functions of waiters leave for later: it runs on their thread, once that is as free as any, in
 * order. */
#include "gate_fixture.h"

/* A function of a waiter leaves the call, which knows nothing but its own memory. */
static csk_gate_later_t *make_later(void (*function)(csk_gate_later_t *)) {
    csk_gate_later_t *later = explore_allocate(sizeof *later);
    later->function = function;
    return later;
}
static void was_called_later(csk_gate_later_t *later, int who) {
    explore_free(later, sizeof *later);
    enter_as(who);
}

/* ---- From a function --------------------------------------------------------------------------------------------- */

/* What it is granted is called at once, so that it may wait for that. */
static void tells(csk_waiter_t *waiter, void *context, int status) {
    (void)waiter, (void)context;
    EXPECT_EQUAL(status, 0);
    enter_as(2);
    unlock();
    explore_set(&shared->flags[0], 1);
}
static void waits_for_a_function(csk_gate_later_t *later) {
    explore_free(later, sizeof *later);
    lock(0);
    enter_as(1);
    unlock();
    EXPECT_EQUAL(csk_gate_lock_async(gate, 0, &shared->waiters[1], CSK_NEVER, tells, NULL), 0);
    explore_wait(&shared->flags[0], 1);
    shared->called++;
}
static void leaves_a_call(csk_waiter_t *waiter, void *context, int status) {
    (void)waiter, (void)context;
    EXPECT_EQUAL(status, 0);
    EXPECT(csk_gate_call_later(make_later(waits_for_a_function)));
    EXPECT_EQUAL(shared->called, 0);
    enter_as(0);
    unlock();
}
static void queues_who_leaves_a_call(void) {
    EXPECT_EQUAL(csk_gate_lock_async(gate, 0, &shared->waiters[0], CSK_NEVER, leaves_a_call, NULL), 0);
    EXPECT_EQUAL(shared->called, 1);
}
static void in_three_steps(void) {
    expect_idle(3);
    expect_order(3, (int[]){ 0, 1, 2 });
}
CLIENT_FAST_COMPACT_STRICT(later_is_free_to_wait, .threads = { queues_who_leaves_a_call }, .check = in_three_steps,
                           .preemptions = 1)

/* Two calls in order, each of which frees its memory. The second leaves a third, which is called at once: the thread is
 * free there. */
static void is_third(csk_gate_later_t *later) { was_called_later(later, 3); }
static void is_second(csk_gate_later_t *later) {
    EXPECT(csk_gate_call_later(make_later(is_third)));
    was_called_later(later, 2);
}
static void is_first(csk_gate_later_t *later) { was_called_later(later, 1); }
static void leaves_two_calls(csk_waiter_t *waiter, void *context, int status) {
    (void)waiter, (void)context;
    EXPECT_EQUAL(status, 0);
    EXPECT(csk_gate_call_later(make_later(is_first)));
    EXPECT(csk_gate_call_later(make_later(is_second)));
    EXPECT_EQUAL(shared->entered, 0);
}
static void queues_who_leaves_two_calls(void) {
    EXPECT_EQUAL(csk_gate_lock_async(gate, 0, &shared->waiters[0], CSK_NEVER, leaves_two_calls, NULL), 0);
    EXPECT_EQUAL(shared->entered, 3);
    unlock();
}
static void each_in_its_turn(void) {
    expect_idle(3);
    expect_order(3, (int[]){ 1, 3, 2 });
}
CLIENT_FAST_COMPACT_STRICT(later_calls_in_order, .threads = { queues_who_leaves_two_calls }, .check = each_in_its_turn,
                           .preemptions = 1)

/* ---- In a queue -------------------------------------------------------------------------------------------------- */

/* A thread that stands in the queue finds the gate free and grants it, so it calls the function: the call must be made
 * on another thread, since it waits for that one. */
static void comes_behind_whoever_called(csk_gate_later_t *later) {
    was_called_later(later, 0);
    unlock();
    once(-5, 2);
}
static void leaves_a_call_or_hands_it_on(csk_waiter_t *waiter, void *context, int status) {
    (void)waiter, (void)context;
    EXPECT_EQUAL(status, 0);
    if (!csk_gate_call_later(make_later(comes_behind_whoever_called))) shared->called = 1;
    explore_set(&shared->flags[2], 1);
}
static void holds(void) {
    lock(0);
    explore_set(&shared->flags[1], 1);
    enter_as(3);
    unlock();
}
static void queues_the_call(void) {
    explore_wait(&shared->flags[1], 1);
    EXPECT_EQUAL(csk_gate_lock_async(gate, 9, &shared->waiters[0], CSK_NEVER, leaves_a_call_or_hands_it_on, NULL), 0);
}
static void stands_in_the_queue(void) {
    explore_wait(&shared->flags[1], 1);
    once(0, 1);
}
static void calls_what_was_handed_on(void) {
    explore_wait(&shared->flags[2], 1);
    if (shared->called) comes_behind_whoever_called(make_later(NULL));
}
static void idle_after_four(void) { expect_idle(4); }
CLIENT_FAST_COMPACT_STRICT(later_is_refused_in_a_queue,
                           .threads = { holds, queues_the_call, stands_in_the_queue, calls_what_was_handed_on },
                           .check = idle_after_four, .preemptions = 2)

/* The first of two calls stands in the queue, and performs a function there: the second does not run within. */
static void stands_in_the_queue_later(csk_gate_later_t *later) {
    explore_free(later, sizeof *later);
    shared->called = 1;
    lock(0);
    shared->called = 2;
    enter_as(1);
    unlock();
}
static void comes_when_that_is_inside(csk_gate_later_t *later) {
    explore_free(later, sizeof *later);
    EXPECT_EQUAL(shared->called, 2);
}
static void leaves_two_calls_and_the_gate(csk_waiter_t *waiter, void *context, int status) {
    (void)waiter, (void)context;
    EXPECT_EQUAL(status, 0);
    EXPECT(csk_gate_call_later(make_later(stands_in_the_queue_later)));
    EXPECT(csk_gate_call_later(make_later(comes_when_that_is_inside)));
    enter_as(0);
    explore_set(&shared->flags[1], 1);
    unlock();
}
static void queues_who_leaves_two_calls_and_the_gate(void) {
    EXPECT_EQUAL(csk_gate_lock_async(gate, 0, &shared->waiters[0], CSK_NEVER, leaves_two_calls_and_the_gate, NULL), 0);
}
static void is_performed(csk_waiter_t *waiter, void *context, int status) {
    (void)waiter, (void)context;
    EXPECT_EQUAL(status, 0);
    enter_as(2);
    unlock();
}
static void queues_what_is_performed(void) {
    explore_wait(&shared->flags[1], 1);
    EXPECT_EQUAL(csk_gate_lock_async(gate, 9, &shared->waiters[1], CSK_NEVER, is_performed, NULL), 0);
}
static void enters_in_between(void) {
    explore_wait(&shared->flags[1], 1);
    once(0, 3);
}
CLIENT_FAST_COMPACT_STRICT(later_calls_wait_for_each_other,
                           .threads = { queues_who_leaves_two_calls_and_the_gate, queues_what_is_performed,
                                        enters_in_between },
                           .check = idle_after_four, .preemptions = 2)
