/* clients_lane_rows.c: waiters that come in order stand behind each other in their lane's heap. Whoever comes before
 * them, leaves the row or stands elsewhere, they begin in order. */
#include "lane_fixture.h"

/* A higher rank comes behind a row. */
static void queues_a_row_then_high(void) {
    lock(0);
    for (int i = 0; i < 3; i++) queue(i, 0);
    queue(3, 5);
    unlock();
}
static void serves_four(void) { serve(4); }
static void high_then_the_row(void) {
    expect_idle(4);
    expect_order(4, (int[]){ 13, 10, 11, 12 });
}
CLIENT_FAST_COMPACT_STRICT(lane_row_and_higher, .threads = { queues_a_row_then_high, serves_four },
                           .check = high_then_the_row, .preemptions = 1)

/* One in the middle of a row is cancelled, while the queue begins, or before. */
static void queues_a_row_and_cancels(void) {
    lock(0);
    for (int i = 0; i < 4; i++) queue(i, 0);
    unlock();
    int status = csk_gate_cancel(gate, &shared->waiters[2]);
    EXPECT(status == 0 || status == ENOENT);
}
static void what_is_left_of_the_row(void) {
    expect_idle(shared->count);
    EXPECT_EQUAL(shared->count + shared->called, 4);
    for (uint32_t i = 1; i < shared->entered; i++) EXPECT(shared->order[i] > shared->order[i - 1]);
}
CLIENT_FAST_COMPACT_STRICT(lane_row_loses_one, .threads = { queues_a_row_and_cancels, serves_four },
                           .check = what_is_left_of_the_row, .preemptions = 1)

/* The one before it waits in another lane: waiters[0] and [1] in the first, the others in the second. */
static csk_gate_lane_t *lane_at(int index) { return index == 0 ? &shared->lane : &shared->spares[0]; }
static void is_dispatched_in(csk_gate_lane_t *lane, void *context) {
    (void)context;
    csk_gate_lane_taken(gate, lane);
    __atomic_fetch_add(&shared->flags[lane == lane_at(1)], 1, __ATOMIC_RELEASE);
    __atomic_fetch_add(&shared->flags[6], 1, __ATOMIC_RELAXED);
}
static uint32_t begin_in(int index) {
    csk_waiter_t *begun;
    int status = csk_gate_begin(gate, lane_at(index), &begun);
    if (status == EAGAIN) return 0;
    EXPECT_EQUAL(status, 0);
    EXPECT((begun - shared->waiters) / 2 == index);
    enter_as(10 + (int)(begun - shared->waiters));
    unlock();
    return 1;
}
static void two_lanes(void) {
    lock(0);
    for (int i = 0; i < 4; i++) {
        lane_at(i / 2)->function = is_dispatched_in;
        EXPECT_EQUAL(csk_gate_lock_lane(gate, csk_rank(0, CSK_PLACE_BACK), &shared->waiters[i], lane_at(i / 2),
                                        CSK_NEVER, failed, NULL),
                     0);
    }
    unlock();
    for (uint32_t performed = 0, news = 0, begun[2] = { 0 }; performed < 4;) {
        explore_wait(&shared->flags[6], ++news);
        for (int i = 0; i < 2; i++)
            for (; __atomic_load_n(&shared->flags[i], __ATOMIC_ACQUIRE) > begun[i]; begun[i]++)
                performed += begin_in(i);
    }
}
static void each_lane_in_order(void) {
    expect_idle(4);
    int last[2] = { 0 };
    for (uint32_t i = 0; i < shared->entered; i++) {
        int *of_lane = &last[shared->order[i] >= 12];
        EXPECT(shared->order[i] > *of_lane);
        *of_lane = shared->order[i];
    }
}
CLIENT_FAST_COMPACT_STRICT(lane_row_of_each_lane, .threads = { two_lanes }, .check = each_lane_in_order,
                           .preemptions = 0)

/* The one before it is a task that has lost its grant. */
static void suspends_one_and_another_later(void) {
    suspend(0, 0);
    is_passed();
    suspend(1, 0);
    explore_set(&shared->flags[1], 1);
    go_on(1);
}
static void goes_on_last(void) {
    explore_wait(&shared->flags[1], 1);
    go_on(0);
}
static void tasks_by_arrival(void) {
    expect_idle(3);
    expect_order(3, (int[]){ 1, 10, 11 });
}
CLIENT_FAST_COMPACT_STRICT(lane_row_behind_a_lost_one,
                           .threads = { suspends_one_and_another_later, goes_on_last, thread_behind_task },
                           .check = tasks_by_arrival, .preemptions = 1)
