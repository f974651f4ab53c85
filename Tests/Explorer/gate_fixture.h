/* gate_fixture.h: what the clients of the gate share: one gate, a section that loses counts unless it is exclusive and
 * ordered, and the order in which threads entered. */
#ifndef EXPLORER_GATE_FIXTURE_H
#define EXPLORER_GATE_FIXTURE_H

#include "explorer.h"
#include "lock/gate_queue.h"

static csk_gate_t *gate;
static struct shared {
    uint32_t inside, count;
    uint32_t flags[8]; /* what a client's threads tell each other */
    uint32_t entered;
    int order[16];
    uint32_t called; /* functions of asynchronous waiters */
    int status[8];   /* with which status, by waiter */
    csk_waiter_t waiters[8];
    csk_gate_lane_t lane;
    csk_gate_lanes_t lanes; /* and those that become its lanes, in the order in which they are needed */
    csk_gate_lane_t spares[2];
    uint32_t blocks;  /* dispatched for the lane */
    int64_t noted_ns; /* a time that one thread tells another */
} * shared;

static inline void make_gate(uint32_t policy, uint32_t bypass_limit, uint32_t grace_us) {
    csk_gate_attr_t attr = { .policy = policy, .bypass_limit = bypass_limit, .grace_us = grace_us };
    gate = explore_allocate(sizeof *gate);
    shared = explore_allocate(sizeof *shared);
    EXPECT_EQUAL(csk_gate_init(gate, &attr), 0);
    /* The first use decides the form; `make_undecided` leaves that to the threads. */
    EXPECT_EQUAL(csk_gate_trylock(gate, 0), 0);
    EXPECT_EQUAL(csk_gate_unlock(gate), 0);
}
__attribute__((unused)) static void make_undecided(void) {
    make_gate(CSK_GATE_FAST, 0, 0);
    gate->summary = 0;
}
__attribute__((unused)) static void make_fast(void) { make_gate(CSK_GATE_FAST, 0, 0); }
__attribute__((unused)) static void make_compact(void) { make_gate(CSK_GATE_COMPACT, 0, 0); }
__attribute__((unused)) static void make_strict(void) { make_gate(CSK_GATE_STRICT, 0, 0); }

/* Its effects go through the store buffers, like those of any code that a lock protects. */
static inline void section(void) {
    EXPECT_EQUAL(__atomic_load_n(&shared->inside, __ATOMIC_RELAXED), 0);
    __atomic_store_n(&shared->inside, 1, __ATOMIC_RELAXED);
    uint32_t before = __atomic_load_n(&shared->count, __ATOMIC_RELAXED);
    __atomic_store_n(&shared->count, before + 1, __ATOMIC_RELAXED);
    __atomic_store_n(&shared->inside, 0, __ATOMIC_RELAXED);
}
/* A section that says who was in it. Inside the gate only. */
static inline void enter_as(int who) {
    section();
    shared->order[shared->entered++] = who;
}
static inline void lock(int32_t priority) { EXPECT_EQUAL(csk_gate_lock(gate, priority), 0); }
static inline void unlock(void) { EXPECT_EQUAL(csk_gate_unlock(gate), 0); }
static inline void once(int32_t priority, int who) {
    lock(priority);
    enter_as(who);
    unlock();
}
/* Until so many wait, and whoever queued last has published it: the queue lock has been free since. */
static inline void await_waiting(uint32_t count) {
    explore_wait(&gate->waiting, count);
    EXPECT(csk_gate_waiting(gate) >= count);
}
/* The gate is free, nobody waits, it still works. */
static inline void expect_idle(uint32_t count) {
    EXPECT_EQUAL(shared->count, count);
    EXPECT_EQUAL(csk_gate_waiting(gate), 0);
    EXPECT_EQUAL(csk_gate_trylock(gate, 0), 0);
    EXPECT_EQUAL(csk_gate_unlock(gate), 0);
    EXPECT_EQUAL(csk_gate_destroy(gate), 0);
}
static inline void expect_order(int count, const int *order) {
    EXPECT_EQUAL(shared->entered, count);
    for (int i = 0; i < count; i++) EXPECT_EQUAL(shared->order[i], order[i]);
}

/* So many are under a limit, and the oldest is, if any. */
static inline void expect_limits(void) {
    const csk_waiter_t *oldest = csk_gate_oldest(gate), *at = oldest;
    uint32_t bounded = 0;
    do {
        if (at->arrival.is_bounded == CSK_ARRIVAL_BOUNDED) bounded++;
        at = csk_waiter_of_arrival(at->arrival.newer);
    } while (at != oldest);
    EXPECT_EQUAL(gate->bounded, bounded);
    EXPECT(bounded == 0 || oldest->arrival.is_bounded == CSK_ARRIVAL_BOUNDED);
}
/* Whenever the queue lock is free, the summary says what is in the queue, and so do the flags in the one word; who is
 * next waits. */
static inline void shows_the_queue(void) {
    if (gate->queue_lock != 0 || gate->summary == 0) return;
    const csk_waiter_t *next = csk_gate_next(gate);
    uint64_t flags = csk_gate_flags(gate, next);
    EXPECT_EQUAL(gate->summary & (GATE_WAITERS | GATE_DESIGNATED | GATE_HAND_OVER), flags);
    if (gate->summary & GATE_ONE_WORD) EXPECT_EQUAL(gate->held & HELD_FLAGS, flags >> 1);
    if (csk_gate_is_ordered(gate)) EXPECT_EQUAL(gate->summary >> GATE_RANK_SHIFT, GATE_RANK_MAX);
    else if (next != NULL && gate->bypass_limit == 0)
        EXPECT_EQUAL(gate->summary >> GATE_RANK_SHIFT, csk_gate_biased_rank(next->node.rank));
    EXPECT(next == NULL || next->function == NULL || next->state == WAITER_QUEUED);
}
__attribute__((unused)) static void is_published(void) {
    shows_the_queue();
    if (gate->queue_lock == 0 && gate->summary != 0 && csk_gate_next(gate) != NULL) expect_limits();
}

/* One client for each form of the gate. */
#define CLIENT_FAST_COMPACT_STRICT(name, ...)                                             \
    CLIENT(name##_fast, .setup = make_fast, .invariant = is_published, __VA_ARGS__)       \
    CLIENT(name##_compact, .setup = make_compact, .invariant = is_published, __VA_ARGS__) \
    CLIENT(name##_strict, .setup = make_strict, .invariant = is_published, __VA_ARGS__)

#endif
