/* clients_await_passed.c: who waits for a predicate, with a priority that nobody named, is overtaken so often and no
 * more, and comes in vain so often and no more. It counts from a number just below the limit. */
#include "csynckernel/await.h"

#include "gate_fixture.h"
#include "lock/gate_await.h"

enum { LOW = -3, HIGH = 7, IS_IN_VAIN = 3 };

static uint32_t items(void) { return __atomic_load_n(&shared->flags[0], __ATOMIC_RELAXED); }
static void set_items(uint32_t count) { __atomic_store_n(&shared->flags[0], count, __ATOMIC_RELAXED); }

/* flags[1]: how many have come; flags[2]: how often thread 1 has asked, which it does when it comes,
 * when it leaves the gate to wait, and when it has come again; flags[3]: others may take too. */
static bool some(void *unused) {
    (void)unused;
    if (explore_thread() == 1) explore_set(&shared->flags[2], shared->flags[2] + 1);
    return items() >= 1;
}
static bool some_for_all(void *unused) {
    (void)unused;
    return items() >= 1 && __atomic_load_n(&shared->flags[3], __ATOMIC_RELAXED);
}
static void takes_item(int who) {
    EXPECT(items() >= 1);
    set_items(items() - 1);
    enter_as(who);
    explore_set(&shared->flags[4], shared->entered);
}
/* As the next of those that come. */
static void awaits(int who, csk_rank_t rank, csk_gate_predicate_t predicate) {
    explore_wait(&shared->flags[1], (uint32_t)who - 1);
    lock(0);
    explore_set(&shared->flags[1], (uint32_t)who);
    EXPECT_EQUAL(csk_gate_await_ranked(gate, rank, predicate, NULL, CSK_NEVER), 0);
    takes_item(who);
    unlock();
}
/* Called by the holder, when only thread 1 waits below. */
static void one_pass_is_left(void) {
    csk_gate_condition_t *at = csk_gate_conditions(gate)->first;
    while (at->behind != NULL) at = at->behind;
    at->passed = CSK_BYPASS_UNNAMED - 1;
}
static void puts_one(void) {
    lock(0);
    set_items(items() + 1);
    unlock();
}

static void low_1(void) { awaits(1, csk_rank(LOW, CSK_PLACE_UNNAMED), some); }
static void named_1(void) { awaits(1, csk_rank(LOW, CSK_PLACE_BACK), some); }
static void high_2(void) { awaits(2, csk_rank(HIGH, CSK_PLACE_BACK), some_for_all); }
static void high_3(void) { awaits(3, csk_rank(HIGH, CSK_PLACE_BACK), some_for_all); }

static void check_order(int count, const int *order) {
    EXPECT(csk_gate_conditions(gate) == NULL);
    expect_order(count, order);
    expect_idle((uint32_t)count);
}

/* Two words have too many schedules for all with a preemption. */
#define CLIENT_PASSED(name, ...)                                                                            \
    CLIENT(name##_fast, .setup = make_fast, .invariant = is_published, __VA_ARGS__, .preemptions = 0)       \
    CLIENT(name##_compact, .setup = make_compact, .invariant = is_published, __VA_ARGS__, .preemptions = 1) \
    CLIENT(name##_strict, .setup = make_strict, .invariant = is_published, __VA_ARGS__, .preemptions = 1)

/* Two of a higher priority came later. One goes before it, and then it is the next. */
static void puts_three(void) {
    explore_wait(&shared->flags[1], 3);
    lock(0);
    one_pass_is_left();
    explore_set(&shared->flags[3], 1);
    unlock();
    for (uint32_t i = 1; i <= 3; i++) {
        puts_one();
        explore_wait(&shared->flags[4], i);
    }
}
static void goes_second(void) { check_order(3, (int[]){ 2, 1, 3 }); }
static void goes_last(void) { check_order(3, (int[]){ 2, 3, 1 }); }
CLIENT_PASSED(await_overtaken, .threads = { puts_three, low_1, high_2, high_3 }, .check = goes_second)
CLIENT_FAST_COMPACT_STRICT(await_overtaken_named, .threads = { puts_three, named_1, high_2, high_3 },
                           .check = goes_last, .preemptions = 0)

/* It was true, but one that need not wait for a predicate came before it, and took what there was. After that it is the
 * next, before one of a higher priority. */
static void takes_before(void) {
    explore_wait(&shared->flags[5], 1);
    lock(HIGH);
    takes_item(9);
    unlock();
}
static void lets_one_come_in_vain(void) {
    explore_wait(&shared->flags[1], 2);
    lock(0);
    one_pass_is_left();
    explore_set(&shared->flags[5], 1);
    await_waiting(1);
    set_items(1);
    unlock();
    explore_wait(&shared->flags[2], IS_IN_VAIN);
    lock(0);
    explore_set(&shared->flags[3], 1);
    set_items(1);
    unlock();
    explore_wait(&shared->flags[4], 2);
    puts_one();
}
static void goes_before_the_high_one(void) { check_order(3, (int[]){ 9, 1, 2 }); }
CLIENT_PASSED(await_in_vain, .threads = { lets_one_come_in_vain, low_1, high_2, takes_before },
              .check = goes_before_the_high_one)
