/* clients_lane.c: lanes: a queue's and an executor's waiters begin in order, and nobody is left asleep or forgotten. */
#include "gate_fixture.h"

static void is_dispatched(csk_gate_lane_t *lane, void *context) {
    (void)context;
    csk_gate_lane_taken(gate, lane);
    explore_set(&shared->blocks, shared->blocks + 1);
    __atomic_fetch_add(&shared->flags[6], 1, __ATOMIC_RELAXED);
}
static void failed(csk_gate_waiter_t *waiter, void *context, int status) {
    (void)waiter, (void)context;
    EXPECT(status == ETIMEDOUT || status == ECANCELED);
    __atomic_fetch_add(&shared->called, 1, __ATOMIC_RELAXED);
    __atomic_fetch_add(&shared->flags[6], 1, __ATOMIC_RELAXED);
}
static void queue_timed(int index, int32_t priority, int64_t deadline_ns) {
    shared->lane.function = is_dispatched;
    EXPECT_EQUAL(csk_gate_lock_lane(gate, &shared->waiters[index], csk_rank(priority, CSK_PLACE_BACK), deadline_ns, &shared->lane, failed, NULL), 0);
}
static void queue(int index, int32_t priority) { queue_timed(index, priority, CSK_NEVER); }

/* The queue: comes once for each block, until so many were performed or have failed. */
static void serve(uint32_t count) {
    uint32_t blocks = 0, performed = 0, news = 0;
    while (performed + __atomic_load_n(&shared->called, __ATOMIC_RELAXED) < count) {
        explore_wait(&shared->flags[6], ++news);
        bool goes_on = __atomic_load_n(&shared->blocks, __ATOMIC_RELAXED) > blocks;
        if (goes_on) blocks++;
        while (goes_on) {
            csk_gate_waiter_t *waiter;
            int status = csk_gate_begin(gate, &shared->lane, &waiter);
            goes_on = false;
            if (status == EAGAIN) break;
            EXPECT_EQUAL(status, 0);
            EXPECT(csk_gate_is_mine(gate));
            enter_as(10 + (int)(waiter - shared->waiters));
            performed++;
            EXPECT_EQUAL(csk_gate_unlock_lane(gate, &shared->lane, &goes_on), 0);
        }
    }
}
static void queues_two(void) {
    queue(0, 0);
    queue(1, 0);
}
static void serves_two(void) { serve(2); }
static void serves_late(void) {
    explore_wait(&shared->flags[0], 1);
    serve(2);
}
static void thread_once(void) {
    once(0, 1);
    explore_set(&shared->flags[0], 1);
}
static void thread_behind_grant(void) {
    explore_wait(&shared->blocks, 1);
    thread_once();
}
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
CLIENT_FAST_COMPACT_STRICT(lane_and_thread, .threads = { queues_two, serves_two, thread_once }, .check = three_in_order, .preemptions = 1)
/* The queue comes only when the thread has passed: the grant was taken back. */
CLIENT_FAST_COMPACT_STRICT(lane_passed, .threads = { queues_two, serves_late, thread_behind_grant }, .check = three_in_order, .preemptions = 1)

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
CLIENT_FAST_COMPACT_STRICT(lane_higher_first, .threads = { queues_low_then_high, serves_late }, .check = high_first, .preemptions = 2)

/* A waiter of a queue that does not come times out, or is cancelled, or begins: one of these, and the others go on. */
static void queues_timed_and_plain(void) {
    queue_timed(0, 0, explore_now() + 2000000);
    queue(1, 0);
}
static void cancels_first(void) {
    explore_wait(&shared->blocks, 1);
    int status = csk_gate_cancel(gate, &shared->waiters[0]);
    EXPECT(status == 0 || status == EBUSY);
}
static void idle_after_what_began(void) { in_order(shared->count); }
CLIENT_FAST_COMPACT_STRICT(lane_timeout, .threads = { queues_timed_and_plain, serves_late, thread_behind_grant }, .check = idle_after_what_began)
CLIENT_FAST_COMPACT_STRICT(lane_cancel, .threads = { queues_two, serves_late, thread_behind_grant, cancels_first }, .check = idle_after_what_began)

/* The closer comes after a lane that waits for its queue. */
static void is_closed(csk_gate_waiter_t *waiter, void *context, int status) {
    (void)waiter, (void)context;
    EXPECT_EQUAL(status, 0);
    EXPECT_EQUAL(shared->flags[3]++, 0);
    EXPECT_EQUAL(shared->entered, 3);
}
static void queues_two_and_closes(void) {
    queues_two();
    explore_wait(&shared->flags[0], 1);
    EXPECT_EQUAL(csk_gate_close(gate, &shared->waiters[3], is_closed, NULL), 0);
}
static void closed_in_the_end(void) { EXPECT_EQUAL(shared->flags[3], 1); }
CLIENT_FAST_COMPACT_STRICT(lane_close, .threads = { queues_two_and_closes, serves_late, thread_behind_grant }, .check = closed_in_the_end, .preemptions = 1)

/* ---- Executors ------------------------------------------------------------------------------------------------------------ */

static void is_resumed(csk_gate_waiter_t *waiter, void *context, int status) {
    (void)context;
    EXPECT_EQUAL(status, 0);
    uint32_t *flag = &shared->flags[4 + (waiter - shared->waiters)];
    explore_set(flag, *flag + 1);
}
static void suspend(int index, int32_t priority) {
    EXPECT_EQUAL(csk_gate_lock_lane(gate, &shared->waiters[index], csk_rank(priority, CSK_PLACE_BACK), CSK_NEVER, &shared->lane, is_resumed, NULL), 0);
}
static void go_on(int index) {
    for (uint32_t round = 1;; round++) {
        explore_wait(&shared->flags[4 + index], round);
        int status = csk_gate_adopt(gate, &shared->waiters[index]);
        if (status == 0) break;
        EXPECT_EQUAL(status, EAGAIN);
        EXPECT_EQUAL(csk_gate_relock_async(gate, &shared->waiters[index]), 0);
    }
    EXPECT(csk_gate_is_mine(gate));
    enter_as(10 + index);
    unlock();
}
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
static void thread_behind_task(void) {
    explore_wait(&shared->flags[4], 1);
    thread_once();
}
CLIENT_FAST_COMPACT_STRICT(lane_tasks, .threads = { suspends_two, goes_on_0 }, .check = two_in_order, .preemptions = 2)
CLIENT_FAST_COMPACT_STRICT(lane_tasks_passed, .threads = { suspends_two, goes_on_0_late, thread_behind_task }, .check = three_in_order, .preemptions = 1)
static void suspends_low_then_high(void) {
    suspend(0, 0);
    suspend(1, 5);
    explore_set(&shared->flags[0], 1);
    go_on(1);
}
CLIENT_FAST_COMPACT_STRICT(lane_task_of_higher_rank, .threads = { suspends_low_then_high, goes_on_0_late }, .check = high_first, .preemptions = 2)

/* One that lost its grant, or has it, gives it up. */
static void forgets_0(void) {
    explore_wait(&shared->flags[0], 1);
    EXPECT_EQUAL(csk_gate_forget(gate, &shared->waiters[0]), 0);
}
CLIENT_FAST_COMPACT_STRICT(lane_task_forgets, .threads = { suspends_two, forgets_0, thread_behind_task }, .check = two_in_order, .preemptions = 1)
