/* clients_watch.c: what one thread can tell about csk_gate_watch, csk_gate_unwatch and the gate around them: refusals,
 * order, and whose function is called when. */
#include "csynckernel/await.h"

#include "gate_fixture.h"

enum { WATCHERS = 3 };
static csk_gate_condition_t *conditions;
static void make_watched(void) {
    make_compact();
    conditions = explore_allocate(WATCHERS * sizeof *conditions);
}
static void make_watched_strict(void) {
    make_strict();
    conditions = explore_allocate(WATCHERS * sizeof *conditions);
}

/* The flags by number: what each waits for. */
static bool is_set(void *flag) {
    EXPECT(csk_gate_is_mine(gate));
    return *(uint32_t *)flag != 0;
}
static void is_found(csk_gate_condition_t *found, void *context, int status) {
    (void)context;
    shared->status[found - conditions] = status;
    shared->order[shared->entered++] = (int)(found - conditions);
}
static int watch(int number, uint32_t place) {
    return csk_gate_watch(gate, csk_rank(0, place), &conditions[number], is_set, &shared->flags[number], is_found,
                          NULL);
}
static void comes_by(void) {
    lock(9);
    section();
    unlock();
}

static void is_refused(void) {
    EXPECT_EQUAL(watch(0, CSK_PLACE_BACK), EPERM);
    EXPECT_EQUAL(csk_gate_unwatch(gate, &conditions[0]), ENOENT);
    lock(0);
    EXPECT_EQUAL(watch(0, CSK_PLACE_BACK), 0);
    EXPECT_EQUAL(watch(0, CSK_PLACE_BACK), EBUSY);
    unlock();
    expect_order(0, NULL);
    EXPECT_EQUAL(csk_gate_unwatch(gate, &conditions[0]), 0); /* after it was asked */
    expect_order(1, (const int[]){ 0 });
    EXPECT_EQUAL(shared->status[0], ECANCELED);
    lock(0);
    EXPECT_EQUAL(watch(0, CSK_PLACE_BACK), 0); /* it is free again */
    EXPECT_EQUAL(csk_gate_unwatch(gate, &conditions[0]), 0);
    unlock();
    expect_idle(0);
}
CLIENT(await_watch_refused, .setup = make_watched, .threads = { is_refused }, .preemptions = 1)

static void is_never_called(csk_waiter_t *waiter, void *context, int status) {
    (void)waiter, (void)context;
    EXPECT_EQUAL(status, 0);
}
static void watches_what_is_closed(void) {
    lock(0);
    EXPECT_EQUAL(csk_gate_close(gate, &shared->waiters[0], is_never_called, NULL), 0);
    EXPECT_EQUAL(watch(0, CSK_PLACE_BACK), ESHUTDOWN);
    EXPECT_EQUAL(csk_gate_unwatch(gate, &conditions[0]), ENOENT);
    unlock();
    EXPECT_EQUAL(csk_gate_destroy(gate), 0);
}
CLIENT(await_watch_closed, .setup = make_watched, .threads = { watches_what_is_closed }, .preemptions = 1)

static void goes_to_the_front(void) {
    lock(0);
    shared->flags[0] = shared->flags[1] = shared->flags[2] = 1;
    EXPECT_EQUAL(watch(0, CSK_PLACE_BACK), 0);
    EXPECT_EQUAL(watch(1, CSK_PLACE_FRONT), 0);
    EXPECT_EQUAL(watch(2, CSK_PLACE_FRONT), 0);
    unlock();
    comes_by();
    comes_by();
    expect_order(3, (const int[]){ 2, 1, 0 });
    expect_idle(2);
}
CLIENT(await_watch_places, .setup = make_watched, .threads = { goes_to_the_front }, .preemptions = 1)

/* Whoever only tries keeps the gate, although somebody stands before it. */
static void notes_a_call(csk_waiter_t *waiter, void *context, int status) {
    (void)waiter, (void)context;
    EXPECT_EQUAL(status, 0);
    shared->called++;
    unlock();
}
static void tries(void) {
    lock(0);
    EXPECT_EQUAL(csk_gate_lock_async(gate, 9, &shared->waiters[0], CSK_NEVER, notes_a_call, NULL), 0);
    EXPECT_EQUAL(csk_gate_await(gate, 0, is_set, &shared->flags[0], 0), ETIMEDOUT);
    EXPECT_EQUAL(shared->called, 0);
    unlock();
    EXPECT_EQUAL(shared->called, 1);
    expect_idle(0);
}
CLIENT(await_tries, .setup = make_watched_strict, .threads = { tries }, .preemptions = 1)

/* The last was chosen, and its waiter passed, before the others were true. What the first one's function queues has the
 * first one's place; so the second is asked before the last enters. */
static void enters(csk_waiter_t *waiter, void *context, int status) {
    (void)context;
    EXPECT_EQUAL(status, 0);
    enter_as((int)(waiter - shared->waiters));
    unlock();
}
static void queues(csk_gate_condition_t *found, void *context, int status) {
    csk_waiter_t *waiter = &shared->waiters[found - conditions];
    (void)context;
    EXPECT_EQUAL(status, 0);
    EXPECT_EQUAL(csk_gate_lock_async(gate, 0, waiter, CSK_NEVER, enters, NULL), 0);
}
static void makes_all_true(csk_waiter_t *waiter, void *context, int status) {
    (void)waiter, (void)context;
    EXPECT_EQUAL(status, 0);
    shared->flags[0] = shared->flags[1] = 1;
    unlock();
}
static void queues_three(void) {
    csk_rank_t rank = csk_rank(0, CSK_PLACE_BACK);
    lock(0);
    for (int i = 0; i < WATCHERS; i++)
        EXPECT_EQUAL(csk_gate_watch(gate, rank, &conditions[i], is_set, &shared->flags[i], queues, NULL), 0);
    EXPECT_EQUAL(csk_gate_lock_async(gate, 9, &shared->waiters[WATCHERS], CSK_NEVER, makes_all_true, NULL), 0);
    shared->flags[WATCHERS - 1] = 1;
    unlock();
    expect_order(WATCHERS, (const int[]){ 0, 1, 2 });
    expect_idle(WATCHERS);
}
CLIENT(await_watch_keeps_its_place, .setup = make_watched, .threads = { queues_three }, .preemptions = 1)

/* Whoever holds the gate watches again with a condition that another thread has just given up: not before the call is
 * due no more. Another one that waits beside it is never called. */
static void counts_calls(csk_gate_condition_t *found, void *context, int status) {
    (void)context;
    EXPECT_EQUAL(status, ECANCELED);
    EXPECT_EQUAL(found - conditions, 0);
    __atomic_fetch_add(&shared->called, 1, __ATOMIC_RELAXED);
}
static int watch_counted(int number) {
    return csk_gate_watch(gate, csk_rank(-number, CSK_PLACE_BACK), &conditions[number], is_set, &shared->flags[number],
                          counts_calls, NULL);
}
static void watches_again(void) {
    lock(0);
    EXPECT_EQUAL(watch_counted(1), 0);
    for (int i = 0; i < 2; i++) {
        int status = watch_counted(0);
        if (status == 0) shared->count++;
        else EXPECT_EQUAL(status, EBUSY);
    }
    unlock();
    (void)csk_gate_unwatch(gate, &conditions[0]);
}
static void unwatches(void) { (void)csk_gate_unwatch(gate, &conditions[0]); }
static void each_was_called_once(void) { EXPECT_EQUAL(shared->called, shared->count); }
CLIENT(await_watch_again, .setup = make_watched, .threads = { watches_again, unwatches }, .check = each_was_called_once,
       .preemptions = 2)
