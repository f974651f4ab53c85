/* clients_cond.c: condition variables of the gate: no signal is lost, each ends one wait, deadlines, order, memory that
 * goes after a broadcast, and children of fork.
 * More than 400 lines: the clients share the items, who takes and who puts them, and what is checked at the end. */
#include "csynckernel/cond.h"

#include "gate_fixture.h"

static csk_cond_t *cond;
static csk_mutex_t *mutex;

static void with_cond(void) {
    cond = explore_allocate(sizeof *cond);
    EXPECT_EQUAL(csk_cond_init(cond, gate), 0);
}
static void make_cond_fast(void) { make_fast(), with_cond(); }
static void make_cond_compact(void) { make_compact(), with_cond(); }
static void make_cond_strict(void) { make_strict(), with_cond(); }

/* One client for each form of the gate. */
#define CLIENT_COND(name, ...)                                                                 \
    CLIENT(name##_fast, .setup = make_cond_fast, .invariant = is_published, __VA_ARGS__)       \
    CLIENT(name##_compact, .setup = make_cond_compact, .invariant = is_published, __VA_ARGS__) \
    CLIENT(name##_strict, .setup = make_cond_strict, .invariant = is_published, __VA_ARGS__)

/* Items that the gate protects. */
static uint32_t items(void) { return __atomic_load_n(&shared->flags[0], __ATOMIC_RELAXED); }
static void set_items(uint32_t count) { __atomic_store_n(&shared->flags[0], count, __ATOMIC_RELAXED); }

static void nothing_is_left(void) {
    EXPECT_EQUAL(items(), 0);
    EXPECT_EQUAL(csk_cond_waiting(cond), 0);
    EXPECT_EQUAL(csk_cond_destroy(cond), 0);
    expect_idle(shared->count);
}

/* ---- No signal is lost, and each ends one wait ------------------------------------------------------------------- */

static void takes_as(int32_t priority, int who) {
    lock(priority);
    while (items() == 0) EXPECT_EQUAL(csk_cond_wait(cond, priority), 0);
    set_items(items() - 1);
    enter_as(who);
    unlock();
}
static void takes(void) { takes_as(0, 1); }
static void puts_inside(void) {
    lock(0);
    set_items(items() + 1);
    EXPECT_EQUAL(csk_cond_signal(cond), 0);
    section();
    unlock();
}
static void puts_outside(void) {
    lock(0);
    set_items(items() + 1);
    section();
    unlock();
    EXPECT_EQUAL(csk_cond_signal(cond), 0);
}
static void puts_two(void) {
    lock(0);
    set_items(items() + 2);
    EXPECT_EQUAL(csk_cond_broadcast(cond), 0);
    section();
    unlock();
}
static void comes_by(void) {
    lock(0);
    section();
    unlock();
}
CLIENT_COND(cond_signal_inside, .threads = { takes, puts_inside }, .check = nothing_is_left, .preemptions = 1)
CLIENT_COND(cond_signal_outside, .threads = { takes, puts_outside }, .check = nothing_is_left, .preemptions = 1,
            .spurious = 1)
CLIENT_COND(cond_signal_beside_others, .threads = { takes, puts_outside, comes_by }, .check = nothing_is_left,
            .preemptions = 1)
CLIENT_COND(cond_two_signals, .threads = { takes, takes, puts_inside, puts_outside }, .check = nothing_is_left,
            .preemptions = 0)
CLIENT_COND(cond_broadcast, .threads = { takes, takes, puts_two }, .check = nothing_is_left, .preemptions = 1)

/* ---- Deadlines --------------------------------------------------------------------------------------------------- */

/* It holds the gate whether it was signalled or not. If it was, the item is its. */
static void takes_in_time(void) {
    int64_t deadline = explore_now() + 20000;
    int status = 0;
    lock(0);
    while (items() == 0 && status == 0) status = csk_cond_timedwait(cond, 0, deadline);
    EXPECT(status == 0 || status == ETIMEDOUT);
    EXPECT(status == 0 || explore_now() >= deadline);
    EXPECT(csk_gate_is_mine(gate));
    if (items() != 0) set_items(items() - 1);
    section();
    unlock();
}
static void may_be_left(void) {
    set_items(0);
    nothing_is_left();
}
CLIENT_COND(cond_deadline, .threads = { takes_in_time, puts_inside }, .check = may_be_left, .preemptions = 1)
CLIENT_COND(cond_deadline_beside_others, .threads = { takes_in_time, puts_outside, comes_by }, .check = may_be_left,
            .preemptions = 1)

/* One signal for two that wait. The one with a deadline goes first, and passes the signal on if it has got it. */
static void waits_for_signal(bool has_deadline) {
    lock(0);
    if (!has_deadline) __atomic_store_n(&shared->flags[2], 1, __ATOMIC_RELAXED);
    int status = csk_cond_wait_ranked(cond, csk_rank(has_deadline, CSK_PLACE_BACK),
                                      has_deadline ? explore_now() + 20000 : CSK_NEVER);
    if (status == 0) shared->flags[1]++;
    else EXPECT_EQUAL(status, ETIMEDOUT);
    if (status == 0 && has_deadline) EXPECT_EQUAL(csk_cond_signal(cond), 0);
    section();
    unlock();
}
static void waits_long(void) { waits_for_signal(false); }
static void waits_shortly(void) { waits_for_signal(true); }
static void signals_once(void) {
    explore_wait(&shared->flags[2], 1);
    comes_by(); /* by now the first waits */
    EXPECT_EQUAL(csk_cond_signal(cond), 0);
}
static void the_signal_arrived(void) {
    EXPECT(shared->flags[1] == 1 || shared->flags[1] == 2);
    nothing_is_left();
}
CLIENT_COND(cond_signal_beside_deadline, .threads = { waits_long, waits_shortly, signals_once },
            .check = the_signal_arrived, .preemptions = 1)

/* ---- Order ------------------------------------------------------------------------------------------------------- */

static void notes_its_turn(int32_t priority, int who) {
    lock(priority);
    EXPECT_EQUAL(csk_cond_wait(cond, priority), 0);
    enter_as(who);
    unlock();
}
static void first_low(void) { notes_its_turn(-1, 1); }
static void then_normal(void) {
    explore_wait(&cond->waiting, 1);
    notes_its_turn(0, 2);
}
static void then_normal_again(void) {
    explore_wait(&cond->waiting, 2);
    notes_its_turn(0, 3);
}
static void then_normal_at_last(void) {
    explore_wait(&cond->waiting, 3);
    notes_its_turn(0, 4);
}
static void signals_each(void) {
    explore_wait(&cond->waiting, 4);
    lock(9);
    for (uint32_t left = 4; left-- > 0;) {
        EXPECT_EQUAL(csk_cond_signal(cond), 0);
        EXPECT_EQUAL(csk_cond_waiting(cond), left);
    }
    unlock();
}
static void went_by_priority(void) {
    expect_order(4, (const int[]){ 2, 3, 4, 1 });
    nothing_is_left();
}
CLIENT_COND(cond_order, .threads = { first_low, then_normal, then_normal_again, then_normal_at_last, signals_each },
            .check = went_by_priority, .preemptions = 0)

/* Those that are signalled together stand in the gate's queue before one that comes to it later. */
static void first_normal(void) { notes_its_turn(0, 1); }
static void broadcasts_before_one_comes(void) {
    explore_wait(&cond->waiting, 2);
    lock(9);
    EXPECT_EQUAL(csk_cond_broadcast(cond), 0);
    explore_set(&shared->flags[0], 1);
    await_waiting(3);
    unlock();
}
static void comes_after_the_broadcast(void) {
    explore_wait(&shared->flags[0], 1);
    lock(0);
    enter_as(3);
    unlock();
}
static void the_broadcast_came_first(void) {
    expect_order(3, (const int[]){ 1, 2, 3 });
    EXPECT_EQUAL(csk_cond_waiting(cond), 0);
}
CLIENT_COND(cond_order_after_broadcast,
            .threads = { first_normal, then_normal, broadcasts_before_one_comes, comes_after_the_broadcast },
            .check = the_broadcast_came_first)

/* Two in front, of which the last to arrive comes first, and two by arrival: a broadcast leaves them in their order. */
static void waits_at(int place, int who, uint32_t after) {
    explore_wait(&cond->waiting, after);
    lock(0);
    EXPECT_EQUAL(csk_cond_wait_ranked(cond, csk_rank(0, place), CSK_NEVER), 0);
    enter_as(who);
    unlock();
}
static void first_in_front(void) { waits_at(CSK_PLACE_FRONT, 1, 0); }
static void first_behind(void) { waits_at(CSK_PLACE_BACK, 2, 1); }
static void second_in_front(void) { waits_at(CSK_PLACE_FRONT, 3, 2); }
static void second_behind(void) { waits_at(CSK_PLACE_BACK, 4, 3); }
static void signals_all(void) {
    explore_wait(&cond->waiting, 4);
    lock(9);
    EXPECT_EQUAL(csk_cond_broadcast(cond), 0);
    unlock();
}
static void went_by_place(void) {
    expect_order(4, (const int[]){ 3, 1, 2, 4 });
    nothing_is_left();
}
CLIENT_COND(cond_broadcast_in_order,
            .threads = { first_in_front, first_behind, second_in_front, second_behind, signals_all },
            .check = went_by_place, .preemptions = 0)

/* Who is signalled stands behind those that wait for the gate at its priority already. */
static void make_cond_late(uint32_t policy) {
    make_gate(policy, 0, 0);
    gate->next_ticket = 100;
    with_cond();
}
static void make_cond_late_compact(void) { make_cond_late(CSK_GATE_COMPACT); }
static void make_cond_late_strict(void) { make_cond_late(CSK_GATE_STRICT); }
static void waits_first(void) { notes_its_turn(0, 1); }
static void comes_for_gate(void) {
    explore_wait(&shared->flags[3], 1);
    once(0, 2);
}
static void signals_behind(void) {
    explore_wait(&cond->waiting, 1);
    lock(9);
    __atomic_store_n(&shared->flags[3], 1, __ATOMIC_RELAXED);
    await_waiting(1);
    EXPECT_EQUAL(csk_cond_signal(cond), 0);
    unlock();
}
static void went_by_arrival(void) {
    expect_order(2, (const int[]){ 2, 1 });
    nothing_is_left();
}
CLIENT(cond_behind_the_queue_compact, .setup = make_cond_late_compact, .invariant = is_published,
       .threads = { waits_first, comes_for_gate, signals_behind }, .check = went_by_arrival, .preemptions = 1)
CLIENT(cond_behind_the_queue_strict, .setup = make_cond_late_strict, .invariant = is_published,
       .threads = { waits_first, comes_for_gate, signals_behind }, .check = went_by_arrival, .preemptions = 1)

/* ---- Callbacks --------------------------------------------------------------------------------------------------- */

/* The callback is let in by the thread that begins to wait. What it leaves for later must not run there. */
static void puts_and_leaves(csk_waiter_t *waiter, void *context, int status) {
    static csk_gate_later_t later;
    (void)waiter, (void)context;
    EXPECT_EQUAL(status, 0);
    EXPECT(!csk_gate_call_later(&later));
    set_items(items() + 1);
    EXPECT_EQUAL(csk_cond_signal(cond), 0);
    section();
    unlock();
}
static void notes_a_later_call(csk_gate_later_t *later) {
    (void)later;
    shared->called++;
}
static void lets_a_callback_in(void) {
    static csk_gate_later_t afterwards = { .function = notes_a_later_call };
    lock(0);
    EXPECT_EQUAL(csk_gate_lock_async(gate, 0, &shared->waiters[0], CSK_NEVER, puts_and_leaves, NULL), 0);
    while (items() == 0) EXPECT_EQUAL(csk_cond_wait(cond, 0), 0);
    set_items(items() - 1);
    section();
    unlock();
    EXPECT(csk_gate_call_later(&afterwards));
    EXPECT_EQUAL(shared->called, 1);
}
CLIENT_COND(cond_lets_a_callback_in, .threads = { lets_a_callback_in }, .check = nothing_is_left, .preemptions = 1)

static void notes_the_close(csk_waiter_t *waiter, void *context, int status) {
    (void)waiter, (void)context;
    EXPECT_EQUAL(status, 0);
    shared->called++;
}
static void waits_at_a_closed_gate(void) {
    lock(0);
    EXPECT_EQUAL(csk_gate_close(gate, &shared->waiters[0], notes_the_close, NULL), 0);
    EXPECT_EQUAL(csk_cond_wait(cond, 0), ESHUTDOWN);
    EXPECT(!csk_gate_is_mine(gate));
}
static void it_was_closed(void) {
    EXPECT_EQUAL(shared->called, 1);
    EXPECT_EQUAL(csk_cond_destroy(cond), 0);
    EXPECT_EQUAL(csk_gate_destroy(gate), 0);
}
CLIENT_COND(cond_of_closed_gate, .threads = { waits_at_a_closed_gate }, .check = it_was_closed, .preemptions = 1)

/* ---- Misuse, memory, levels -------------------------------------------------------------------------------------- */

static void is_refused(void) {
    EXPECT_EQUAL(csk_cond_wait(cond, 0), EPERM);
    lock(0);
    EXPECT_EQUAL(csk_cond_wait_ranked(cond, INT64_MAX, CSK_NEVER), EINVAL);
    EXPECT_EQUAL(csk_cond_timedwait(cond, 0, 0), ETIMEDOUT);
    EXPECT(csk_gate_is_mine(gate));
    EXPECT_EQUAL(csk_cond_signal(cond), 0);
    section();
    unlock();
}
CLIENT_COND(cond_misuse, .threads = { is_refused, comes_by }, .check = nothing_is_left, .preemptions = 1)

/* Nobody touches the condition variable once all were signalled. */
static void takes_until_it_goes(void) {
    lock(0);
    if (items() == 0) EXPECT_EQUAL(csk_cond_wait(cond, 0), 0);
    section();
    unlock();
}
static void frees_cond(void) {
    lock(0);
    set_items(1);
    EXPECT_EQUAL(csk_cond_broadcast(cond), 0);
    EXPECT_EQUAL(csk_cond_destroy(cond), 0);
    explore_free(cond, sizeof *cond);
    unlock();
}
static void gate_is_idle(void) { expect_idle(shared->count); }
CLIENT_COND(cond_goes_after_broadcast, .threads = { takes_until_it_goes, frees_cond }, .check = gate_is_idle,
            .preemptions = 1)

static void is_busy_while_somebody_waits(void) {
    explore_wait(&cond->waiting, 1);
    lock(0);
    EXPECT_EQUAL(csk_cond_destroy(cond), EBUSY);
    set_items(1);
    EXPECT_EQUAL(csk_cond_signal(cond), 0);
    unlock();
}
CLIENT_COND(cond_busy, .threads = { takes, is_busy_while_somebody_waits }, .check = nothing_is_left, .preemptions = 1)

static void make_cond_of_mutex(void) {
    make_fast();
    cond = explore_allocate(sizeof *cond);
    mutex = explore_allocate(sizeof *mutex);
    EXPECT_EQUAL(csk_cond_init_mutex(cond, mutex), 0);
}
static void takes_twice(void) {
    EXPECT_EQUAL(csk_mutex_lock(mutex), 0);
    EXPECT_EQUAL(csk_mutex_lock(mutex), 0);
    while (items() == 0) EXPECT_EQUAL(csk_cond_wait(cond, 0), 0);
    set_items(0);
    section();
    EXPECT_EQUAL(csk_mutex_unlock(mutex), 0);
    EXPECT_EQUAL(csk_mutex_unlock(mutex), 0);
    EXPECT_EQUAL(csk_mutex_unlock(mutex), EPERM);
}
static void puts_by_mutex(void) {
    EXPECT_EQUAL(csk_mutex_lock(mutex), 0);
    section();
    set_items(1);
    EXPECT_EQUAL(csk_cond_signal(cond), 0);
    EXPECT_EQUAL(csk_mutex_unlock(mutex), 0);
}
static void mutex_is_idle(void) {
    EXPECT_EQUAL(csk_cond_destroy(cond), 0);
    EXPECT_EQUAL(csk_mutex_destroy(mutex), 0);
}
CLIENT(cond_of_mutex, .setup = make_cond_of_mutex, .threads = { takes_twice, puts_by_mutex }, .check = mutex_is_idle,
       .preemptions = 2)

/* Threads that have their numbers already enter and leave a mutex of zero-filled memory by its inline calls, so that a
 * wait is the first to decide its form. */
static csk_mutex_t *other_mutex;
static void make_cond_of_fresh_mutex(void) {
    make_cond_of_mutex();
    other_mutex = explore_allocate(sizeof *other_mutex);
}
static void waits_at_fresh_mutex(void) {
    EXPECT_EQUAL(csk_mutex_lock(other_mutex), 0);
    EXPECT_EQUAL(csk_mutex_unlock(other_mutex), 0);
    EXPECT_EQUAL(csk_mutex_lock(mutex), 0);
    EXPECT_EQUAL(csk_cond_timedwait(cond, 0, 0), ETIMEDOUT);
    section();
    EXPECT_EQUAL(csk_mutex_unlock(mutex), 0);
}
CLIENT(cond_of_fresh_mutex, .setup = make_cond_of_fresh_mutex,
       .threads = { waits_at_fresh_mutex, waits_at_fresh_mutex }, .check = mutex_is_idle, .preemptions = 1)

/* ---- fork -------------------------------------------------------------------------------------------------------- */

/* The thread that waits does so in the parent, where the signal never comes. */
static void waits_in_parent(void) {
    lock(0);
    EXPECT_EQUAL(csk_cond_timedwait(cond, 0, explore_now() + 20000), ETIMEDOUT);
    unlock();
}
static void forks_beside_who_waits(void) {
    explore_fork();
    EXPECT_EQUAL(csk_cond_waiting(cond), 0);
    EXPECT_EQUAL(csk_cond_signal(cond), 0);
    if (csk_gate_trylock(gate, 0) == 0) {
        EXPECT_EQUAL(csk_cond_timedwait(cond, 0, 0), ETIMEDOUT);
        unlock();
    }
    EXPECT_EQUAL(csk_cond_destroy(cond), 0);
}
CLIENT(cond_fork_fast, .setup = make_cond_fast, .threads = { waits_in_parent, forks_beside_who_waits },
       .preemptions = 2)
CLIENT(cond_fork_compact, .setup = make_cond_compact, .threads = { waits_in_parent, forks_beside_who_waits },
       .preemptions = 2)
