/* clients_order.c: gates and mutexes that are ordered. What the checker would be told is counted by thread. */
#include "base/ordering.h"
#include "csynckernel/cond.h"
#include "csynckernel/mutex.h"
#include "gate_fixture.h"

#include <string.h>

/* By thread, and first those of what runs before and after the threads. */
static struct told { int comes, entered, leaves; } told[1 + EXPLORE_THREADS + 6];
static int begun;
static struct told *mine(void) { return &told[1 + explore_thread()]; }

static void note_coming(const void *object, uint32_t kind) { (void)object, (void)kind, mine()->comes++; }
static void note_entry(const void *object, uint32_t kind) { (void)object, (void)kind, mine()->entered++; }
static void note_exit(const void *object) { (void)object, mine()->leaves++; }
static void note_begin(const void *object) { (void)object, begun++; }
static void never(const void *object, uint32_t kind) {
    (void)object, (void)kind;
    EXPECT(!"an object that is not ordered");
}
static const csk_ordering_t checker = { note_coming, note_entry, note_exit, never, note_begin };

static void begin(void) {
    memset(told, 0, sizeof told);
    begun = 0;
    csk_ordering = &checker;
}
static int sum_of_entries(void) {
    int sum = 0;
    for (int i = 0; i < 1 + EXPLORE_THREADS + 6; i++) sum += told[i].entered;
    return sum;
}
/* Each thread has left what it has entered. */
static void expect_told(int entries) {
    int entered = sum_of_entries();
    EXPECT_EQUAL(entered, entries);
    for (int i = 0; i < 1 + EXPLORE_THREADS + 6; i++) EXPECT_EQUAL(told[i].leaves, told[i].entered);
    EXPECT_EQUAL(begun, 1);
}

/* ---- Gates ------------------------------------------------------------------------------------------------------- */

static void make_ordered_fast(void) { begin(), make_fast(); }
static void make_ordered_compact(void) { begin(), make_compact(); }
static void make_ordered_strict(void) { begin(), make_strict(); }
static void make_ordered_undecided(void) {
    make_undecided();
    begin();
}
#define ORDERED(name, ...)                                                                        \
    CLIENT(name##_fast, .setup = make_ordered_fast, .invariant = is_published, __VA_ARGS__)       \
    CLIENT(name##_compact, .setup = make_ordered_compact, .invariant = is_published, __VA_ARGS__) \
    CLIENT(name##_strict, .setup = make_ordered_strict, .invariant = is_published, __VA_ARGS__)

static void first(void) { once(0, 0); }
static void second(void) { once(0, 1); }
static void third(void) { once(1, 2); }
static void first_scoped(void) {
    lock(0);
    enter_as(0);
    csk_gate_leave(gate);
}
/* The setup enters once. */
static void told_after_2(void) {
    expect_told(1 + 2);
    expect_idle(2);
}
static void told_after_3(void) {
    expect_told(1 + 3);
    expect_idle(3);
}
static void told_after_2_undecided(void) {
    expect_told(2);
    expect_idle(2);
}
ORDERED(order_two, .threads = { first_scoped, second }, .check = told_after_2, .preemptions = 2)
ORDERED(order_three, .threads = { first_scoped, second, third }, .check = told_after_3, .preemptions = 1)
CLIENT(order_two_undecided, .setup = make_ordered_undecided, .threads = { first, second },
       .check = told_after_2_undecided, .preemptions = 1)

static void timed(void) {
    int status = csk_gate_timedlock(gate, 0, explore_now() + 20000);
    EXPECT(status == 0 || status == ETIMEDOUT);
    if (status != 0) return;
    section();
    unlock();
}
static void tries(void) {
    int status = csk_gate_trylock(gate, 0);
    EXPECT(status == 0 || status == EBUSY);
    if (status != 0) return;
    section();
    unlock();
}
static void told_after_some(void) {
    expect_told(1 + (int)shared->count);
    expect_idle(shared->count);
}
CLIENT(order_timeout_or_grant_fast, .setup = make_ordered_fast, .invariant = is_published, .threads = { first, timed },
       .check = told_after_some, .preemptions = 1)
CLIENT(order_timeout_or_grant_compact, .setup = make_ordered_compact, .invariant = is_published,
       .threads = { first, timed, tries }, .check = told_after_some, .preemptions = 1)
CLIENT(order_timeout_or_grant_strict, .setup = make_ordered_strict, .invariant = is_published,
       .threads = { first, timed, tries }, .check = told_after_some, .preemptions = 1)

/* ---- Mutexes ----------------------------------------------------------------------------------------------------- */

static csk_mutex_t *mutex;
static uint32_t *references;

static void make_mutex(void) {
    mutex = explore_allocate(sizeof *mutex);
    shared = explore_allocate(sizeof *shared);
    references = explore_allocate(sizeof *references);
    *references = 2;
    begin();
}
static void make_mutex_ordered(void) {
    make_mutex();
    EXPECT_EQUAL(csk_mutex_init(mutex), 0);
}
static void locks(void) {
    EXPECT_EQUAL(csk_mutex_lock(mutex), 0);
    section();
    EXPECT_EQUAL(csk_mutex_unlock(mutex), 0);
}
static void recurses(void) {
    EXPECT_EQUAL(csk_mutex_lock(mutex), 0);
    EXPECT_EQUAL(csk_mutex_lock(mutex), 0);
    section();
    EXPECT_EQUAL(csk_mutex_unlock(mutex), 0);
    EXPECT_EQUAL(csk_mutex_unlock(mutex), 0);
}
static void is_idle(void) {
    EXPECT_EQUAL(shared->count, 2);
    EXPECT_EQUAL(csk_mutex_trylock(mutex), 0);
    EXPECT_EQUAL(csk_mutex_unlock(mutex), 0);
    EXPECT_EQUAL(csk_mutex_destroy(mutex), 0);
}
static void mutex_told_2(void) {
    expect_told(2);
    is_idle();
}
/* It is ordered once a thread has found it taken, so one exit without an entry may be told, and entries be missing. */
static void mutex_told_some(void) {
    for (int i = 0; i < 1 + EXPLORE_THREADS + 6; i++) EXPECT(told[i].leaves >= told[i].entered);
    is_idle();
}
static void drops(void) {
    EXPECT_EQUAL(csk_mutex_lock(mutex), 0);
    section();
    bool last = --*references == 0;
    EXPECT_EQUAL(csk_mutex_unlock(mutex), 0);
    if (!last) return;
    EXPECT_EQUAL(csk_mutex_destroy(mutex), 0);
    explore_free(mutex, sizeof *mutex);
}
CLIENT(order_mutex_two, .setup = make_mutex_ordered, .threads = { locks, recurses }, .check = mutex_told_2,
       .preemptions = 2)
CLIENT(order_mutex_becomes_ordered, .setup = make_mutex, .threads = { locks, recurses }, .check = mutex_told_some,
       .preemptions = 2)
CLIENT(order_mutex_last_frees, .setup = make_mutex_ordered, .threads = { drops, drops }, .preemptions = 3)

/* ---- Condition variables ----------------------------------------------------------------------------------------- */

static csk_cond_t *cond;

static void make_cond(void) {
    make_mutex_ordered();
    cond = explore_allocate(sizeof *cond);
    EXPECT_EQUAL(csk_cond_init_mutex(cond, mutex), 0);
}
static void waits(void) {
    EXPECT_EQUAL(csk_mutex_lock(mutex), 0);
    while (shared->flags[0] == 0) EXPECT_EQUAL(csk_cond_wait(cond, 0), 0);
    section();
    EXPECT_EQUAL(csk_mutex_unlock(mutex), 0);
}
static void signals(void) {
    EXPECT_EQUAL(csk_mutex_lock(mutex), 0);
    shared->flags[0] = 1;
    EXPECT_EQUAL(csk_cond_signal(cond), 0);
    section();
    EXPECT_EQUAL(csk_mutex_unlock(mutex), 0);
}
static void told_of_cond(void) {
    int entered = sum_of_entries();
    EXPECT(entered == 2 || entered == 3);
    expect_told(entered);
    is_idle();
}
CLIENT(order_cond, .setup = make_cond, .threads = { waits, signals }, .check = told_of_cond, .preemptions = 2)
