/* clients_lane.c: lanes: a queue's and an executor's waiters begin in order, and nobody is left asleep or forgotten. */
#include "lane_fixture.h"

static void serves_two(void) { serve(2); }
static void serves_late(void) { serve_when_passed(2); }
/* 10 before 11, wherever the thread's 1 is. */
static void in_order(uint32_t count) {
    expect_idle(count);
    int last = 0;
    for (uint32_t i = 0; i < shared->entered; i++) {
        if (shared->order[i] < 10) continue;
        EXPECT(shared->order[i] > last);
        last = shared->order[i];
    }
}
static void two_in_order(void) { in_order(2); }
static void three_in_order(void) { in_order(3); }

CLIENT_FAST_COMPACT_STRICT(lane_two, .threads = { queues_two, serves_two }, .check = two_in_order, .preemptions = 2)
CLIENT_FAST_COMPACT_STRICT(lane_and_thread, .threads = { queues_two, serves_two, thread_once }, .check = three_in_order,
                           .preemptions = 1)
/* The queue comes only when the thread has passed: the grant was taken back. */
CLIENT_FAST_COMPACT_STRICT(lane_passed, .threads = { queues_two, serves_late, thread_behind_grant },
                           .check = three_in_order, .preemptions = 1)

/* A higher rank that comes before the queue does begins first. */
static void queues_low_then_high(void) {
    queue(0, 0);
    queue(1, 5);
    explore_set(&shared->flags[0], 1);
}
static void high_first(void) {
    expect_idle(2);
    expect_order(2, (int[]){ 11, 10 });
}
CLIENT_FAST_COMPACT_STRICT(lane_higher_first, .threads = { queues_low_then_high, serves_late }, .check = high_first,
                           .preemptions = 2)

/* A waiter of a queue that does not come times out, or is cancelled, or begins: one of these, and the others go on. */
static void queues_timed_and_plain(void) {
    queue_timed(0, 0, explore_now() + 2000000);
    queue(1, 0);
}
static void cancels_first(void) {
    explore_wait(&shared->blocks, 1);
    int status = csk_gate_cancel(gate, &shared->waiters[0]);
    EXPECT(status == 0 || status == ENOENT);
}
static void idle_after_what_began(void) { in_order(shared->count); }
CLIENT_FAST_COMPACT_STRICT(lane_timeout, .threads = { queues_timed_and_plain, serves_late, thread_behind_grant },
                           .check = idle_after_what_began)
CLIENT_FAST_COMPACT_STRICT(lane_cancel, .threads = { queues_two, serves_late, thread_behind_grant, cancels_first },
                           .check = idle_after_what_began)

/* The closer comes after a lane that waits for its queue. */
static void queues_two_and_closes(void) {
    queues_two();
    explore_wait(&shared->flags[0], 1);
    close_after(3);
}
static void closed_in_the_end(void) { EXPECT_EQUAL(shared->flags[3], 1); }
CLIENT_FAST_COMPACT_STRICT(lane_close, .threads = { queues_two_and_closes, serves_late, thread_behind_grant },
                           .check = closed_in_the_end, .preemptions = 1)

/* The lane's last is cancelled just when the thread that passed it leaves: the closer, which did not show so far, is
 * next. */
static void queues_one(void) { queue(0, 0); }
static void cancels_one_that_was_passed(void) {
    is_passed();
    EXPECT_EQUAL(csk_gate_cancel(gate, &shared->waiters[0]), 0);
}
static void passes_and_closes(void) {
    lock(0);
    close_after(0);
    explore_set(&shared->flags[0], 1);
    unlock();
}
static void passes_a_block_and_closes(void) {
    explore_wait(&shared->blocks, 1);
    passes_and_closes();
}
CLIENT_FAST_COMPACT_STRICT(lane_close_while_its_last_is_cancelled,
                           .threads = { queues_one, cancels_one_that_was_passed, passes_a_block_and_closes },
                           .check = closed_in_the_end, .preemptions = 1)

/* ---- Executors --------------------------------------------------------------------------------------------------- */

static void suspends_two(void) {
    suspend(0, 0);
    suspend(1, 0);
    go_on(1);
}
static void goes_on_0(void) { go_on(0); }
static void goes_on_0_late(void) {
    explore_wait(&shared->flags[0], 1);
    go_on(0);
}
CLIENT_FAST_COMPACT_STRICT(lane_tasks, .threads = { suspends_two, goes_on_0 }, .check = two_in_order, .preemptions = 2)
CLIENT_FAST_COMPACT_STRICT(lane_tasks_passed, .threads = { suspends_two, goes_on_0_late, thread_behind_task },
                           .check = three_in_order, .preemptions = 1)
static void suspends_low_then_high(void) {
    suspend(0, 0);
    suspend(1, 5);
    explore_set(&shared->flags[0], 1);
    go_on(1);
}
CLIENT_FAST_COMPACT_STRICT(lane_task_of_higher_rank, .threads = { suspends_low_then_high, goes_on_0_late },
                           .check = high_first, .preemptions = 2)

/* One that lost its grant, or has it, gives it up. */
static void forgets_0(void) {
    explore_wait(&shared->flags[0], 1);
    EXPECT_EQUAL(csk_gate_forget(gate, &shared->waiters[0]), 0);
}
CLIENT_FAST_COMPACT_STRICT(lane_task_forgets, .threads = { suspends_two, forgets_0, thread_behind_task },
                           .check = two_in_order, .preemptions = 1)
/* It has the grant still, perhaps: the next is the gate's choice. */
static void forgets_0_at_once(void) {
    explore_wait(&shared->flags[4], 1);
    EXPECT_EQUAL(csk_gate_forget(gate, &shared->waiters[0]), 0);
}
CLIENT_FAST_COMPACT_STRICT(lane_task_forgets_its_grant,
                           .threads = { suspends_two, forgets_0_at_once, thread_behind_task }, .check = two_in_order,
                           .preemptions = 1)
/* The loss is forgotten just when the thread that passed it leaves: the closer, which did not show so far, is next. */
static void suspends_one(void) { suspend(0, 0); }
static void passes_a_task_and_closes(void) {
    explore_wait(&shared->flags[4], 1);
    passes_and_closes();
}
CLIENT_FAST_COMPACT_STRICT(lane_close_while_a_loss_is_forgotten,
                           .threads = { suspends_one, forgets_0, passes_a_task_and_closes }, .check = closed_in_the_end,
                           .preemptions = 1)

/* The one of lower rank has the grant and does not come: the higher one need not wait for it. */
static void suspends_low_then_goes_on_high(void) {
    suspend(0, 0);
    suspend(1, 5);
    go_on(1);
    explore_set(&shared->flags[0], 1);
}
CLIENT_FAST_COMPACT_STRICT(lane_task_does_not_wait_for_a_lower_one,
                           .threads = { suspends_low_then_goes_on_high, goes_on_0_late }, .check = high_first,
                           .preemptions = 2)
