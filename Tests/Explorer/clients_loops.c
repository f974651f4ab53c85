/* clients_loops.c: threads that spin for a moment, beside somebody who goes on only once they have given that up.
 * Without the bound of the loop (loops.mutants) the two would wait for each other. */
#include "csynckernel/await.h"
#include "csynckernel/name.h"
#include "csynckernel/pqueue.h"
#include "csynckernel/rwlock.h"
#include "gate_fixture.h"
#include "internal.h"
#include "pool/pool.h"
#include "readwrite/rwlock_queue.h"
#include "thread/name.h"
#include "wait/waits.h"

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

/* Without a deadline too the reader parks in the end. */
static void passes_and_writes_until_it_sleeps(void) {
    EXPECT_EQUAL(csk_rwlock_wrlock(rwlock), 0);
    explore_set(&shared->flags[HOLDS], 1);
    explore_point();
    EXPECT_EQUAL(csk_rwlock_unlock(rwlock), 0);
    EXPECT_EQUAL(csk_rwlock_wrlock(rwlock), 0);
    explore_wait_asleep(1);
    EXPECT_EQUAL(csk_rwlock_unlock(rwlock), 0);
}
static void reads(void) {
    explore_wait(&shared->flags[HOLDS], 1);
    EXPECT_EQUAL(csk_rwlock_rdlock(rwlock), 0);
    EXPECT_EQUAL(csk_rwlock_unlock(rwlock), 0);
}
CLIENT(rwlock_watch_parks, .setup = make_rwlock, .threads = { passes_and_writes_until_it_sleeps, reads },
       .preemptions = 1)

/* ---- A predicate ------------------------------------------------------------------------------------------------- */

/* Who puts comes once the other sleeps: one that stands in the list, or comes again before it does. */
enum { ASKED = HOLDS, ITEMS };

static bool some(void *unused) {
    (void)unused;
    explore_set(&shared->flags[ASKED], 1);
    return __atomic_load_n(&shared->flags[ITEMS], __ATOMIC_RELAXED) != 0;
}
static void awaits_some(void) {
    lock(0);
    EXPECT_EQUAL(csk_gate_await(gate, 0, some, NULL, CSK_NEVER), 0);
    section();
    unlock();
}
static void locks_when_some(void) {
    EXPECT_EQUAL(csk_gate_lock_when(gate, 0, some, NULL, CSK_NEVER), 0);
    section();
    unlock();
}
static void puts_for_a_sleeper(void) {
    explore_wait(&shared->flags[ASKED], 1);
    explore_wait_asleep(0);
    lock(0);
    __atomic_store_n(&shared->flags[ITEMS], 1, __ATOMIC_RELAXED);
    section();
    unlock();
}
static void idle_after_2(void) { expect_idle(2); }
CLIENT(await_yields_and_parks, .setup = make_compact, .invariant = is_published,
       .threads = { awaits_some, puts_for_a_sleeper }, .check = idle_after_2, .preemptions = 1)
CLIENT(await_again_ends, .setup = make_compact, .invariant = is_published,
       .threads = { locks_when_some, puts_for_a_sleeper }, .check = idle_after_2, .preemptions = 1)

/* ---- Internal locks ---------------------------------------------------------------------------------------------- */

static struct {
    uint32_t lock, holds, gave_up;
    csk_pqueue_t queue;
    csk_gate_t named;
} * locks;

static void make_locks(void) {
    locks = explore_allocate(sizeof *locks);
    EXPECT_EQUAL(csk_pqueue_init(&locks->queue, 0), 0);
    EXPECT_EQUAL(csk_name(&locks->named, "named"), 0);
}

/* The kernel's holders never wait for those that come. Here one does, since it shows that they park. */
static void holds_queue_lock(void) {
    EXPECT(!csk_queue_lock(&locks->lock));
    explore_set(&locks->holds, 1);
    explore_wait_asleep(1);
    csk_queue_unlock(&locks->lock);
}
static void takes_queue_lock(void) {
    explore_wait(&locks->holds, 1);
    EXPECT(!csk_queue_lock(&locks->lock));
    csk_queue_unlock(&locks->lock);
}
CLIENT(heap_lock_is_parked_for, .setup = make_locks, .threads = { holds_queue_lock, takes_queue_lock },
       .preemptions = 1)

static void holds_mutex(void) {
    pthread_mutex_lock(&locks->queue.mutex);
    explore_set(&locks->holds, 1);
    explore_wait_asleep(1);
    pthread_mutex_unlock(&locks->queue.mutex);
}
static void takes_mutex(void) {
    explore_wait(&locks->holds, 1);
    EXPECT_EQUAL(csk_pqueue_count(&locks->queue), 0);
}
CLIENT(pqueue_mutex_is_waited_for, .setup = make_locks, .threads = { holds_mutex, takes_mutex }, .preemptions = 2)

/* The live view takes a lock until a time. */
static void holds_until_it_gives_up(void) {
    EXPECT(!csk_queue_lock(&locks->lock));
    explore_set(&locks->holds, 1);
    explore_wait(&locks->gave_up, 1);
    csk_queue_unlock(&locks->lock);
}
static void tries_for_a_while(void) {
    explore_wait(&locks->holds, 1);
    int64_t until_ns = explore_now() + 100000;
    EXPECT(!csk_waits_try_lock(NULL, &locks->lock, until_ns));
    EXPECT(explore_now() >= until_ns);
    explore_set(&locks->gave_up, 1);
}
CLIENT(waits_gives_up_a_lock, .setup = make_locks, .threads = { holds_until_it_gives_up, tries_for_a_while },
       .preemptions = 2)

/* A fork has the names while it is under way, and what the program does before it may wait for a reader. */
static void holds_names_until_it_gives_up(void) {
    kernel_hold_names();
    explore_set(&locks->holds, 1);
    explore_wait(&locks->gave_up, 1);
    kernel_let_go_of_names();
}
static bool goes_on(void *until_ns) {
    uint32_t tries = 0;
    return csk_waits_may_try(NULL, &tries, *(int64_t *)until_ns);
}
static void asks_for_a_while(void) {
    char name[16];
    explore_wait(&locks->holds, 1);
    int64_t until_ns = explore_now() + 100000;
    EXPECT(!csk_name_try_of(&locks->named, CSK_OBJECT_GATE, name, sizeof name, goes_on, &until_ns));
    EXPECT(explore_now() >= until_ns && name[0] == 0);
    explore_set(&locks->gave_up, 1);
}
CLIENT(name_gives_up_a_mutex, .setup = make_locks, .threads = { holds_names_until_it_gives_up, asks_for_a_while },
       .preemptions = 2)
