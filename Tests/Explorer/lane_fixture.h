/* lane_fixture.h: what the clients of lanes share: a lane of a queue, which comes once for each block, or of an
 * executor. */
#ifndef EXPLORER_LANE_FIXTURE_H
#define EXPLORER_LANE_FIXTURE_H

#include "gate_fixture.h"

/* ---- Queues ------------------------------------------------------------------------------------------------------ */

static inline void is_dispatched(csk_gate_lane_t *lane, void *context) {
    (void)context;
    csk_gate_lane_taken(gate, lane);
    explore_set(&shared->blocks, shared->blocks + 1);
    __atomic_fetch_add(&shared->flags[6], 1, __ATOMIC_RELAXED);
}
static inline void failed(csk_waiter_t *waiter, void *context, int status) {
    (void)waiter, (void)context;
    EXPECT(status == ETIMEDOUT || status == ECANCELED);
    __atomic_fetch_add(&shared->called, 1, __ATOMIC_RELAXED);
    __atomic_fetch_add(&shared->flags[6], 1, __ATOMIC_RELAXED);
}
static inline void queue_timed(int index, int32_t priority, int64_t deadline_ns) {
    shared->lane.function = is_dispatched;
    EXPECT_EQUAL(csk_gate_lock_lane(gate, csk_rank(priority, CSK_PLACE_BACK), &shared->waiters[index], &shared->lane,
                                    deadline_ns, failed, NULL),
                 0);
}
static inline void queue(int index, int32_t priority) { queue_timed(index, priority, CSK_NEVER); }

/* The queue: comes once for each block, until so many were performed or have failed. What it does before it leaves the
 * gate, and between that and the next begin where it goes on, may be nothing. */
static inline void serve_and(uint32_t count, void (*before_it_leaves)(void), void (*before_it_goes_on)(void)) {
    uint32_t blocks = 0, performed = 0, news = 0;
    while (performed + __atomic_load_n(&shared->called, __ATOMIC_RELAXED) < count) {
        explore_wait(&shared->flags[6], ++news);
        bool goes_on = __atomic_load_n(&shared->blocks, __ATOMIC_RELAXED) > blocks;
        if (goes_on) blocks++;
        while (goes_on) {
            csk_waiter_t *waiter;
            int status = csk_gate_begin(gate, &shared->lane, &waiter);
            goes_on = false;
            if (status == EAGAIN) break;
            EXPECT_EQUAL(status, 0);
            EXPECT(csk_gate_is_mine(gate));
            enter_as(10 + (int)(waiter - shared->waiters));
            performed++;
            if (before_it_leaves != NULL) before_it_leaves();
            EXPECT_EQUAL(csk_gate_unlock_lane(gate, &shared->lane, 0, &goes_on), 0);
            if (goes_on && before_it_goes_on != NULL) before_it_goes_on();
        }
    }
}
static inline void serve(uint32_t count) { serve_and(count, NULL, NULL); }
static inline void is_passed(void) { explore_wait(&shared->flags[0], 1); }
static inline void serve_when_passed(uint32_t count) {
    is_passed();
    serve(count);
}

/* ---- Executors --------------------------------------------------------------------------------------------------- */

static inline void is_resumed(csk_waiter_t *waiter, void *context, int status) {
    (void)context;
    EXPECT_EQUAL(status, 0);
    uint32_t *flag = &shared->flags[4 + (waiter - shared->waiters)];
    explore_set(flag, *flag + 1);
}
static inline void suspend(int index, int32_t priority) {
    EXPECT_EQUAL(csk_gate_lock_lane(gate, csk_rank(priority, CSK_PLACE_BACK), &shared->waiters[index], &shared->lane,
                                    CSK_NEVER, is_resumed, NULL),
                 0);
}
static inline void go_on(int index) {
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

/* ---- Others ------------------------------------------------------------------------------------------------------ */

static inline void thread_once(void) {
    once(0, 1);
    explore_set(&shared->flags[0], 1);
}
static inline void thread_behind_grant(void) {
    explore_wait(&shared->blocks, 1);
    thread_once();
}
static inline void thread_behind_task(void) {
    explore_wait(&shared->flags[4], 1);
    thread_once();
}
static inline void queues_two(void) {
    queue(0, 0);
    queue(1, 0);
}
/* A waiter without a lane: works, and leaves at once. */
static inline void works(csk_waiter_t *waiter, void *context, int status) {
    (void)context;
    EXPECT_EQUAL(status, 0);
    enter_as(10 + (int)(waiter - shared->waiters));
    unlock();
}
static inline void queue_plain(int index, int32_t priority) {
    EXPECT_EQUAL(csk_gate_lock_async(gate, priority, &shared->waiters[index], CSK_NEVER, works, NULL), 0);
}
/* The closing waiter comes when so many have been inside. */
static inline void is_closed(csk_waiter_t *waiter, void *context, int status) {
    (void)waiter, (void)context;
    EXPECT_EQUAL(status, 0);
    EXPECT_EQUAL(shared->flags[3]++, 0);
    EXPECT_EQUAL(shared->count, shared->flags[7]);
}
static inline void close_after(uint32_t count) {
    shared->flags[7] = count;
    EXPECT_EQUAL(csk_gate_close(gate, &shared->waiters[3], is_closed, NULL), 0);
}

#endif
