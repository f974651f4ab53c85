/* clients_loops.c: threads that spin for a moment, beside somebody who goes on only once they have given that up.
 * Without the bound of the loop (loops_listed.py) the two would wait for each other. */
#include "gate_fixture.h"
#include "readwrite/rwlock_queue.h"

enum { HOLDS, HAS_GIVEN_UP };

/* The designated waiter finds the gate taken again, watches it, parks, and its deadline passes. */
static void passes_and_holds(void) {
    lock(0);
    explore_set(&shared->flags[HOLDS], 1);
    explore_point();
    unlock();
    lock(0);
    explore_wait(&shared->flags[HAS_GIVEN_UP], 1);
    section();
    unlock();
}
static void gives_up(void) {
    explore_wait(&shared->flags[HOLDS], 1);
    int status = csk_gate_timedlock(gate, 0, explore_now() + 100000);
    EXPECT(status == 0 || status == ETIMEDOUT);
    if (status == 0) unlock();
    explore_set(&shared->flags[HAS_GIVEN_UP], 1);
}
static void idle_after_1(void) { expect_idle(1); }
CLIENT(gate_watch_is_bounded_fast, .setup = make_fast, .invariant = is_published,
       .threads = { passes_and_holds, gives_up }, .check = idle_after_1, .preemptions = 1)
CLIENT(gate_watch_is_bounded_compact, .setup = make_compact, .invariant = is_published,
       .threads = { passes_and_holds, gives_up }, .check = idle_after_1, .preemptions = 1)

/* The same with a reader that waits for a read-write lock. */
static csk_rwlock_t *rwlock;

static void make_rwlock(void) {
    rwlock = explore_allocate(sizeof *rwlock);
    shared = explore_allocate(sizeof *shared);
    EXPECT_EQUAL(csk_rwlock_init(rwlock, &(csk_rwlock_attr_t){ .policy = CSK_RWLOCK_FAST }), 0);
}
static void passes_and_writes(void) {
    EXPECT_EQUAL(csk_rwlock_wrlock(rwlock), 0);
    explore_set(&shared->flags[HOLDS], 1);
    explore_point();
    EXPECT_EQUAL(csk_rwlock_unlock(rwlock), 0);
    EXPECT_EQUAL(csk_rwlock_wrlock(rwlock), 0);
    explore_wait(&shared->flags[HAS_GIVEN_UP], 1);
    EXPECT_EQUAL(csk_rwlock_unlock(rwlock), 0);
}
static void gives_up_reading(void) {
    explore_wait(&shared->flags[HOLDS], 1);
    int status = csk_rwlock_timedrdlock(rwlock, explore_now() + 100000);
    EXPECT(status == 0 || status == ETIMEDOUT);
    if (status == 0) EXPECT_EQUAL(csk_rwlock_unlock(rwlock), 0);
    explore_set(&shared->flags[HAS_GIVEN_UP], 1);
}
CLIENT(rwlock_watch_is_bounded, .setup = make_rwlock, .threads = { passes_and_writes, gives_up_reading },
       .preemptions = 1)
