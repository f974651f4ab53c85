/* clients_lanes.c: lanes that are found by a key: each queue and executor has one of its own, and an idle one becomes
 * another's. */
#include "lane_fixture.h"

static const int64_t grace_ns = 1000000;
/* Two that stand in one list. */
static const uint64_t keys[2] = { 1, 22 };

/* ---- Queues: the one of keys[i] performs waiters[i], and comes once ---------------------------------------------- */

static void is_dispatched_by_key(csk_gate_lane_t *lane, void *context) {
    EXPECT(context == shared);
    int index = lane->key == keys[1];
    csk_gate_lane_taken(gate, lane);
    explore_set(&shared->flags[4 + index], shared->flags[4 + index] + 1);
}
static void set_up_lanes(void) {
    shared->lanes.function = is_dispatched_by_key;
    shared->lanes.context = shared;
}
static void queue_keyed(int index, int64_t deadline_ns) {
    set_up_lanes();
    csk_gate_lane_t *spare = NULL;
    csk_rank_t rank = csk_rank(0, CSK_PLACE_BACK);
    int status = csk_gate_lock_keyed(gate, rank, &shared->waiters[index], &shared->lanes, keys[index], true, &spare,
                                     deadline_ns, failed, NULL);
    if (status == 0) return;
    EXPECT_EQUAL(status, ENOBUFS);
    spare = &shared->spares[index];
    EXPECT_EQUAL(csk_gate_lock_keyed(gate, rank, &shared->waiters[index], &shared->lanes, keys[index], true, &spare,
                                     deadline_ns, failed, NULL),
                 0);
}
static csk_gate_lane_t *lane_of(int index) {
    csk_gate_lane_t *lane = shared->waiters[index].lane;
    EXPECT(lane->key == keys[index]);
    return lane;
}
static void perform_keyed(int index) {
    for (uint32_t round = 1;; round++) {
        explore_wait(&shared->flags[4 + index], round);
        csk_waiter_t *waiter;
        csk_gate_lane_t *lane = lane_of(index);
        int status = csk_gate_begin(gate, lane, &waiter);
        if (status == EAGAIN) continue;
        EXPECT_EQUAL(status, 0);
        EXPECT(waiter == &shared->waiters[index]);
        enter_as(10 + index);
        bool goes_on;
        EXPECT_EQUAL(csk_gate_unlock_lane(gate, lane, keys[index], &goes_on), 0);
        EXPECT(!goes_on);
        return;
    }
}
static void first_queue(void) {
    queue_keyed(0, CSK_NEVER);
    perform_keyed(0);
}
static void second_queue(void) {
    queue_keyed(1, CSK_NEVER);
    perform_keyed(1);
}
static void idle_after_two(void) { expect_idle(2); }
CLIENT_FAST_COMPACT_STRICT(lanes_of_two_queues, .threads = { first_queue, second_queue }, .check = idle_after_two,
                           .preemptions = 1)

/* One queue after the other: they use one lane. */
static void one_after_the_other(void) {
    first_queue();
    csk_gate_lane_t *lane = lane_of(0);
    second_queue();
    EXPECT(lane_of(1) == lane);
    EXPECT(csk_gate_lanes_take(&shared->lanes) == lane);
    EXPECT(csk_gate_lanes_take(&shared->lanes) == NULL);
}
CLIENT_FAST_COMPACT_STRICT(lanes_one_after_the_other, .threads = { one_after_the_other }, .check = idle_after_two,
                           .preemptions = 0)

/* The lane's waiter has timed out while its queue did not come: the lane is still that queue's, which owes a begin. */
static void queues_timed_and_comes_late(void) {
    queue_keyed(0, explore_now() + 5 * grace_ns);
    csk_gate_lane_t *lane = lane_of(0);
    explore_wait(&shared->flags[1], 1);
    csk_waiter_t *none;
    EXPECT_EQUAL(csk_gate_begin(gate, lane, &none), EAGAIN);
}
static void second_queue_after_the_failure(void) {
    explore_wait(&shared->called, 1);
    second_queue();
    explore_set(&shared->flags[1], 1);
}
CLIENT_FAST_COMPACT_STRICT(lanes_of_a_queue_that_owes_a_begin,
                           .threads = { queues_timed_and_comes_late, thread_behind_task,
                                        second_queue_after_the_failure },
                           .check = idle_after_two, .preemptions = 1)

/* ---- Executors --------------------------------------------------------------------------------------------------- */

static void suspend_keyed(int index) {
    csk_gate_lane_t *spare = &shared->spares[index];
    EXPECT_EQUAL(csk_gate_lock_keyed(gate, csk_rank(0, CSK_PLACE_BACK), &shared->waiters[index], &shared->lanes,
                                     keys[index], false, &spare, CSK_NEVER, is_resumed, NULL),
                 0);
}
/* A task that has lost its grant keeps its lane: a task of another executor need not wait for it. */
static void suspends_and_comes_last(void) {
    suspend_keyed(0);
    explore_wait(&shared->flags[1], 1);
    go_on(0);
}
static void other_executor_behind_the_loss(void) {
    explore_wait(&shared->flags[0], 1);
    suspend_keyed(1);
    go_on(1);
    explore_set(&shared->flags[1], 1);
}
static void idle_after_three(void) { expect_idle(3); }
CLIENT_FAST_COMPACT_STRICT(lanes_of_an_executor_whose_task_was_passed,
                           .threads = { suspends_and_comes_last, thread_behind_task, other_executor_behind_the_loss },
                           .check = idle_after_three, .preemptions = 1)

/* A queue and an executor may have the same number. */
static void suspends_with_the_queues_key(void) {
    set_up_lanes();
    csk_gate_lane_t *spare = &shared->spares[1];
    EXPECT_EQUAL(csk_gate_lock_keyed(gate, csk_rank(0, CSK_PLACE_BACK), &shared->waiters[1], &shared->lanes, keys[0],
                                     false, &spare, CSK_NEVER, is_resumed, NULL),
                 0);
    go_on(1);
}
CLIENT_FAST_COMPACT_STRICT(lanes_of_one_number, .threads = { first_queue, suspends_with_the_queues_key },
                           .check = idle_after_two, .preemptions = 1)
