/* clients_lane_order.c: who is next where lanes stand among others: the lane's first stands for it, and a bypass limit
 * passes over those that can't be granted. */
#include "lane_fixture.h"

static void serves_one(void) { serve(1); }
static void serves_two(void) { serve(2); }
static void serves_three(void) { serve(3); }
static void serves_one_late(void) { serve_when_passed(1); }
static void serves_two_late(void) { serve_when_passed(2); }

/* The highest of a lane stands for it, though a lower one came first: what lies between the two must wait. */
static void works_behind_the_lane(csk_waiter_t *waiter, void *context, int status) {
    EXPECT(csk_gate_has_lost_grants(gate) || shared->blocks >= 1);
    works(waiter, context, status);
}
static void queues_low_middle_high(void) {
    lock(0);
    queue(0, 0);
    EXPECT_EQUAL(csk_gate_lock_async(gate, 3, &shared->waiters[2], CSK_NEVER, works_behind_the_lane, NULL), 0);
    queue(1, 5);
    unlock();
}
static void idle_after_three(void) { expect_idle(3); }
CLIENT_FAST_COMPACT_STRICT(lane_is_shown_by_its_highest, .threads = { queues_low_middle_high, serves_two },
                           .check = idle_after_three, .preemptions = 1)

/* Who stood for the lane is cancelled: the next one does. */
static void queues_two_and_cancels_the_first(void) {
    lock(0);
    queue(0, 0);
    queue(1, 0);
    EXPECT_EQUAL(csk_gate_cancel(gate, &shared->waiters[0]), 0);
    unlock();
}
static void only_the_second(void) {
    expect_idle(1);
    expect_order(1, (int[]){ 11 });
}
CLIENT_FAST_COMPACT_STRICT(lane_shows_the_next_of_a_cancelled,
                           .threads = { queues_two_and_cancels_the_first, serves_two }, .check = only_the_second,
                           .preemptions = 1)

/* The queue comes after its grant was lost, and somebody of higher rank waits: the gate may be free for a moment, but
 * is not the lane's. */
static void passes_and_lets_a_higher_come(void) {
    explore_wait(&shared->blocks, 1);
    lock(0);
    explore_set(&shared->flags[1], 1);
    await_waiting(2);
    enter_as(1);
    explore_set(&shared->flags[0], 1);
    unlock();
}
static void higher_thread(void) {
    explore_wait(&shared->flags[1], 1);
    once(9, 2);
}
static void queues_one(void) { queue(0, 0); }
static void after_the_higher(void) {
    expect_idle(3);
    expect_order(3, (int[]){ 1, 2, 10 });
}
CLIENT_FAST_COMPACT_STRICT(lane_back_behind_a_higher_rank,
                           .threads = { queues_one, serves_one_late, passes_and_lets_a_higher_come, higher_thread },
                           .check = after_the_higher, .preemptions = 1)

/* ---- Under a bypass limit ---------------------------------------------------------------------------------------- */

static void make_limited(void) { make_gate(CSK_GATE_FAST, 1, 0); }
#define CLIENT_LIMITED(name, ...) CLIENT(name, .setup = make_limited, .invariant = is_published, __VA_ARGS__)

/* The second begins before the first, which nobody passes again: neither another that stands for the lane, nor one that
 * outranks it when the queue comes. */
static void queues_one_below_two(void) {
    lock(0);
    queue(0, 0);
    queue(1, 5);
    queue(2, 5);
    unlock();
}
static void passed_only_once(void) {
    expect_idle(3);
    expect_order(3, (int[]){ 11, 10, 12 });
}
CLIENT_LIMITED(lane_limit_against_its_own, .threads = { queues_one_below_two, serves_three }, .check = passed_only_once,
               .preemptions = 2)

/* One that was passed while its queue was busy begins before a higher one of its lane that came meanwhile. */
static void passes_and_queues_a_higher(void) {
    explore_wait(&shared->blocks, 1);
    once(0, 1);
    queue(1, 5);
    explore_set(&shared->flags[0], 1);
}
static void passed_by_the_thread_only(void) {
    expect_idle(3);
    expect_order(3, (int[]){ 1, 10, 11 });
}
CLIENT_LIMITED(lane_limit_after_a_loss, .threads = { queues_one, serves_two_late, passes_and_queues_a_higher },
               .check = passed_by_the_thread_only, .preemptions = 1)

/* One that waits for its queue has been passed too often, and can't be granted. Behind it the limit looks at each by
 * its own count: at first none has been passed, then one. */
static void passes_and_queues_three(void) {
    explore_wait(&shared->blocks, 1);
    lock(0);
    enter_as(1);
    queue_plain(1, -5);
    queue_plain(2, 5);
    queue_plain(3, 5);
    unlock();
    EXPECT_EQUAL(shared->blocks, 1);
    explore_set(&shared->flags[0], 1);
}
static void low_after_one_of_the_higher(void) {
    expect_idle(5);
    expect_order(5, (int[]){ 1, 12, 11, 13, 10 });
}
CLIENT_LIMITED(lane_limit_behind_a_busy_queue, .threads = { queues_one, serves_one_late, passes_and_queues_three },
               .check = low_after_one_of_the_higher, .preemptions = 1)

/* The limit's choice has its grant, and only the closer waits: there is nobody whom the grant could go to. */
static void closes_behind_one_that_was_passed(void) {
    lock(0);
    queue(0, 0);
    queue_plain(1, 5);
    close_after(2);
    unlock();
}
static void closed(void) {
    EXPECT_EQUAL(shared->flags[3], 1);
    EXPECT_EQUAL(shared->blocks, 1);
}
CLIENT_LIMITED(lane_limit_and_closer, .threads = { closes_behind_one_that_was_passed, serves_one }, .check = closed,
               .preemptions = 2)

/* One that was passed has the grant, and others wait: the next is one of these. */
static void queues_between_two(void) {
    lock(0);
    queue(0, 0);
    queue_plain(1, 5);
    queue_plain(2, -5);
    unlock();
}
CLIENT_LIMITED(lane_limit_and_others, .threads = { queues_between_two, serves_one }, .check = idle_after_three,
               .preemptions = 1)

/* Two that lost their grants come back behind the closer, and pass it one after the other: it has no claim on the
 * limit. */
static void is_granted(csk_waiter_t *waiter, void *context, int status) {
    (void)context;
    EXPECT_EQUAL(status, 0);
    uint32_t *flag = &shared->flags[4 + (waiter - shared->waiters)];
    explore_set(flag, *flag + 1);
}
static void queue_adoptable(int index) {
    EXPECT_EQUAL(csk_gate_lock_async_ranked(gate, csk_rank(0, CSK_PLACE_BACK), &shared->waiters[index], true, CSK_NEVER,
                                            is_granted, NULL),
                 0);
}
static void adopts_after_losses(int index) {
    for (uint32_t round = 2;; round++) {
        explore_wait(&shared->flags[4 + index], round);
        int status = csk_gate_adopt(gate, &shared->waiters[index]);
        if (status == 0) break;
        EXPECT_EQUAL(status, EAGAIN);
        EXPECT_EQUAL(csk_gate_relock_async(gate, &shared->waiters[index]), 0);
    }
    enter_as(10 + index);
    unlock();
}
static void closes_before_two_come_back(void) {
    queue_adoptable(0);
    queue_adoptable(1);
    lock(0);
    close_after(2);
    for (int i = 0; i < 2; i++) {
        EXPECT_EQUAL(csk_gate_adopt(gate, &shared->waiters[i]), EAGAIN);
        EXPECT_EQUAL(csk_gate_relock_async(gate, &shared->waiters[i]), 0);
    }
    unlock();
    adopts_after_losses(0);
    adopts_after_losses(1);
}
static void closed_in_the_end(void) { EXPECT_EQUAL(shared->flags[3], 1); }
CLIENT_LIMITED(close_limit_counts_nobody_against_the_closer, .threads = { closes_before_two_come_back },
               .check = closed_in_the_end, .preemptions = 1)
