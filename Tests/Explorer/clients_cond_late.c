/* clients_cond_late.c: a thread that was signalled at a condition variable, and told to try for its gate, has no
 * processor, and none for as long as others are there. Those that were signalled with it, or after it, go on. Under
 * STRICT it has the gate by then, and is waited for. */
#include "csynckernel/cond.h"

#include "gate_fixture.h"
#include "late_fixture.h"

static csk_cond_t *cond;
static bool is_told(int thread, const void *word) { return shared->flags[1] && is_late_with(thread, word, WORD_TRY); }
static void with_cond(void) {
    cond = explore_allocate(sizeof *cond);
    EXPECT_EQUAL(csk_cond_init(cond, gate), 0);
    was_late = false;
}
static void make_cond_fast(void) { make_fast(), with_cond(); }
static void make_cond_compact(void) { make_compact(), with_cond(); }
#define CLIENT_LATE(name, ...)                                                                               \
    CLIENT(name##_fast, .setup = make_cond_fast, .invariant = is_published, .is_late = is_told, __VA_ARGS__) \
    CLIENT(name##_compact, .setup = make_cond_compact, .invariant = is_published, .is_late = is_told, __VA_ARGS__)

static bool may_go(void) { return __atomic_load_n(&shared->flags[0], __ATOMIC_RELAXED) != 0; }
static void waits_as(int32_t priority, int who) {
    lock(priority);
    while (!may_go()) EXPECT_EQUAL(csk_cond_wait(cond, priority), 0);
    enter_as(who);
    unlock();
}
/* The first in order. */
static void waits_1(void) { waits_as(5, 1); }
static void waits_2(void) { waits_as(0, 2); }
static void waits_3(void) { waits_as(0, 3); }
static void lets_go(void) {
    lock(0);
    explore_set(&shared->flags[1], 1); /* all stand in the condition variable */
    __atomic_store_n(&shared->flags[0], 1, __ATOMIC_RELAXED);
}
static void await_waiting_at_cond(uint32_t count) { explore_wait(&cond->waiting, count); }

static void came(uint32_t count) {
    EXPECT_EQUAL(shared->entered, count);
    if (was_late) EXPECT_EQUAL(shared->order[count - 1], 1);
    EXPECT_EQUAL(csk_cond_destroy(cond), 0);
    expect_idle(shared->count);
}
static void two_came(void) { came(2); }
static void three_came(void) { came(3); }

static void broadcasts_to(uint32_t count) {
    await_waiting_at_cond(count);
    lets_go();
    EXPECT_EQUAL(csk_cond_broadcast(cond), 0);
    unlock();
}
static void broadcasts_to_two(void) { broadcasts_to(2); }
static void broadcasts_to_three(void) { broadcasts_to(3); }
CLIENT_LATE(cond_late_of_two, .threads = { broadcasts_to_two, waits_1, waits_2 }, .check = two_came)
CLIENT_LATE(cond_late_of_three, .threads = { broadcasts_to_three, waits_1, waits_2, waits_3 }, .check = three_came)

/* Each is signalled by itself, by a thread without the gate. */
static void signals_two(void) {
    await_waiting_at_cond(2);
    lets_go();
    unlock();
    EXPECT_EQUAL(csk_cond_signal(cond), 0);
    EXPECT_EQUAL(csk_cond_signal(cond), 0);
}
CLIENT_LATE(cond_late_and_signalled_again, .threads = { signals_two, waits_1, waits_2 }, .check = two_came)
