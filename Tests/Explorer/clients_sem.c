/* clients_sem.c: threads at the semaphore: handing over, weights, priorities, deadlines, changes of the size, too many
 * permits, memory that goes with the last wait. */
#include "sem_fixture.h"

/* ---- Waiting and signalling -------------------------------------------------------------------------------------- */

static void enters_and_leaves(void) {
    wait_for(0, 1);
    section();
    give_back(1);
}
CLIENT_SEM(sem_two, make_one, .threads = { enters_and_leaves, enters_and_leaves }, .check = is_conserved,
           .invariant = is_published, .preemptions = 3)
CLIENT_SEM(sem_three, make_one, .threads = { enters_and_leaves, enters_and_leaves, enters_and_leaves },
           .check = is_conserved, .invariant = is_published, .preemptions = 1)
CLIENT_SEM(sem_spurious, make_one, .threads = { enters_and_leaves, enters_and_leaves }, .check = is_conserved,
           .invariant = is_published, .preemptions = 2, .spurious = 2)

static void gives_data(void) {
    __atomic_store_n(&shared->data, 7, __ATOMIC_RELAXED);
    signal_some(1);
}
static void gives(void) { signal_some(1); }
static void gives_two(void) { signal_some(2); }
static void gives_twice(void) {
    signal_some(1);
    signal_some(1);
}
static void takes(void) { wait_for(0, 1); }
static void takes_two(void) { wait_for(0, 2); }
static void takes_data(void) {
    wait_for(0, 1);
    EXPECT_EQUAL(__atomic_load_n(&shared->data, __ATOMIC_RELAXED), 7);
}
CLIENT_SEM(sem_hands_over, make_empty, .threads = { gives_data, takes_data }, .check = is_conserved,
           .invariant = is_published, .preemptions = 3, .spurious = 1)
CLIENT_SEM(sem_hands_over_two, make_empty, .threads = { gives_two, takes, takes }, .check = is_conserved,
           .invariant = is_published, .preemptions = 1)
CLIENT_SEM(sem_two_signals_two_waits, make_empty, .threads = { gives, gives, takes_two }, .check = is_conserved,
           .invariant = is_published, .preemptions = 2)
CLIENT_SEM(sem_takes_two_of_two_signals, make_two, .threads = { gives, takes_two, takes }, .check = is_conserved,
           .invariant = is_published, .preemptions = 1)

/* One signal lets in three, each of whom stands on its own stack. */
static void gives_three_to_three(void) {
    await_waiting(3);
    signal_some(3);
}
CLIENT_SEM(sem_one_signal_serves_three, make_empty, .threads = { gives_three_to_three, takes, takes, takes },
           .check = is_conserved, .invariant = is_published, .preemptions = 1)

/* ---- Order ------------------------------------------------------------------------------------------------------- */

/* The large request stands first. Who comes later with the same priority, or a lower one, does not pass it, though
 * there is a permit; a higher one does. */
static void tries_past_a_large_one(void) {
    await_waiting(1);
    EXPECT_EQUAL(csk_sem_permits(sem), 1);
    EXPECT_EQUAL(csk_sem_trywait(sem, 0, 1), EBUSY);
    EXPECT_EQUAL(csk_sem_trywait(sem, -1, 1), EBUSY);
    EXPECT_EQUAL(csk_sem_trywait(sem, HIGH, 2), EBUSY);
    EXPECT_EQUAL(csk_sem_timedwait(sem, 0, 1, 0), ETIMEDOUT);
    EXPECT_EQUAL(csk_sem_trywait(sem, HIGH, 1), 0);
    shared->taken++;
    give_back(1);
    wait_for(HIGH, 1);
    EXPECT_EQUAL(csk_sem_waiting(sem), 1);
    give_back(1);
    signal_some(1);
}
CLIENT_SEM(sem_a_large_one_bars_its_own_rank, make_one, .threads = { takes_two, tries_past_a_large_one },
           .check = is_conserved, .invariant = is_published, .preemptions = 1)

static void notes_its_turn(int who, int32_t priority, uint32_t permits) {
    wait_for(priority, permits);
    shared->order[shared->served++] = who;
    give_back(permits);
}
/* Each comes when those before it wait. The one permit goes from one to the next. */
static void first_low(void) {
    await_waiting(1);
    notes_its_turn(1, 0, 1);
}
static void then_low(void) {
    await_waiting(2);
    notes_its_turn(2, 0, 1);
}
static void then_high(void) {
    await_waiting(3);
    notes_its_turn(3, HIGH, 1);
}
static void queues_lowest_and_gives(void) {
    EXPECT_EQUAL(csk_sem_wait_async(sem, csk_rank(-1, CSK_PLACE_BACK), &shared->waiters[0], 1, CSK_NEVER, note, NULL),
                 0);
    await_waiting(4);
    signal_some(1);
}
static void by_rank_then_arrival(void) {
    static const int order[] = { 3, 1, 2, 10 };
    for (int i = 0; i < 4; i++) EXPECT_EQUAL(shared->order[i], order[i]);
    is_conserved();
}
CLIENT_SEM(sem_order, make_empty, .threads = { queues_lowest_and_gives, first_low, then_low, then_high },
           .check = by_rank_then_arrival, .invariant = is_published, .preemptions = 1)

/* Of two that come to the front of one priority, the later one stands first. */
static void fronts_and_last(void) {
    static const csk_rank_t places[] = { CSK_PLACE_BACK, CSK_PLACE_LAST, CSK_PLACE_FRONT, CSK_PLACE_FRONT };
    static const int order[] = { 13, 12, 10, 11 };
    for (int i = 0; i < 4; i++)
        EXPECT_EQUAL(
            csk_sem_wait_async(sem, csk_rank(0, (int)places[i]), &shared->waiters[i], 1, CSK_NEVER, note, NULL), 0);
    signal_some(4);
    for (int i = 0; i < 4; i++) EXPECT_EQUAL(shared->order[i], order[i]);
}
CLIENT_SEM(sem_places, make_empty, .threads = { fronts_and_last }, .check = is_conserved, .invariant = is_published,
           .preemptions = 1)

/* ---- Limits ------------------------------------------------------------------------------------------------------ */

static void make_limited(void) { make_with(0, (csk_sem_attr_t){ .bypass_limit = 1 }); }
static void make_limited_one(void) { make_with(1, (csk_sem_attr_t){ .bypass_limit = 1 }); }
/* Two of a higher rank come behind a low one, and only the first of them goes before it. */
static void gives_when_two_wait(void) {
    await_waiting(2);
    signal_some(1);
}
static void goes_first(void) {
    await_waiting(1);
    wait_for(HIGH, 1);
    shared->order[shared->served++] = 3;
    await_waiting(2);
    give_back(1);
}
static void comes_when_one_has_passed(void) {
    explore_wait(&shared->served, 1);
    notes_its_turn(4, HIGH, 1);
}
static void is_low(void) { notes_its_turn(1, 0, 1); }
static void low_was_second(void) {
    static const int order[] = { 3, 1, 4 };
    for (int i = 0; i < 3; i++) EXPECT_EQUAL(shared->order[i], order[i]);
    is_conserved();
}
CLIENT_SEM(sem_bypass_limit, make_limited,
           .threads = { gives_when_two_wait, is_low, goes_first, comes_when_one_has_passed }, .check = low_was_second,
           .invariant = is_published, .preemptions = 1)

/* Who need not wait passes a large request once. */
static void passes_once(void) {
    int status = csk_sem_wait_async(sem, csk_rank(0, CSK_PLACE_BACK), &shared->waiters[0], 2, CSK_NEVER, note, NULL);
    EXPECT_EQUAL(status, 0);
    EXPECT_EQUAL(csk_sem_trywait(sem, HIGH, 1), 0);
    EXPECT_EQUAL(csk_sem_post(sem, 1), 0);
    EXPECT_EQUAL(csk_sem_trywait(sem, HIGH, 1), EBUSY);
    signal_some(1);
}
CLIENT_SEM(sem_passed_once, make_limited_one, .threads = { passes_once }, .check = is_conserved,
           .invariant = is_published, .preemptions = 1)

/* The pass that makes a small request the head serves it, though a large one of a higher rank and a named priority
 * still waits: by a try, and by a wait that stands in the queue for a moment. */
enum { PASSES = CSK_BYPASS_UNNAMED };
static void make_for_passes(void) { make(PASSES + 2, 0); }
static void queue_large_and_small(void) {
    csk_rank_t large = csk_rank(1, CSK_PLACE_BACK), small = csk_rank(0, CSK_PLACE_UNNAMED);
    EXPECT_EQUAL(csk_sem_wait_async(sem, large, &shared->waiters[0], PASSES + 3, CSK_NEVER, note, NULL), 0);
    EXPECT_EQUAL(csk_sem_wait_async(sem, small, &shared->waiters[1], 1, CSK_NEVER, note, NULL), 0);
}
static void give_all_back(void) {
    EXPECT_EQUAL(shared->status[1], 1000);
    EXPECT_EQUAL(csk_sem_post(sem, PASSES), 0);
    signal_some(2);
}
static void one_pass_too_many_by_a_try(void) {
    queue_large_and_small();
    for (int i = 0; i < PASSES; i++) EXPECT_EQUAL(csk_sem_trywait(sem, HIGH, 1), 0);
    give_all_back();
}
static void one_pass_too_many_by_a_wait(void) {
    queue_large_and_small();
    for (int i = 0; i < PASSES; i++) EXPECT_EQUAL(csk_sem_wait(sem, HIGH, 1), 0);
    give_all_back();
}
CLIENT_SEM(sem_served_by_a_try, make_for_passes, .threads = { one_pass_too_many_by_a_try }, .check = is_conserved,
           .invariant = is_published, .preemptions = 1)
CLIENT_SEM(sem_served_by_a_wait, make_for_passes, .threads = { one_pass_too_many_by_a_wait }, .check = is_conserved,
           .invariant = is_published, .preemptions = 1)

/* One may wait. Of three that come, those are refused that find another one there. */
static void make_with_room_for_one(void) { make_with(0, (csk_sem_attr_t){ .waiters_limit = 1 }); }
static void one_waits(void) {
    is_published();
    EXPECT(sem->waiting <= 1);
}
static void may_be_refused(void) {
    int status = csk_sem_wait(sem, 0, 1);
    if (status == EUSERS) return;
    EXPECT_EQUAL(status, 0);
    shared->taken++;
    give_back(1);
}
CLIENT_SEM(sem_waiters_limit, make_with_room_for_one,
           .threads = { may_be_refused, may_be_refused, may_be_refused, gives }, .check = is_conserved,
           .invariant = one_waits, .preemptions = 1)

/* ---- Deadlines --------------------------------------------------------------------------------------------------- */

static void takes_timed(void) { wait_until_20_us(0, 1); }
static void takes_two_timed(void) { wait_until_20_us(0, 2); }
CLIENT_SEM(sem_timeout_or_grant, make_empty, .threads = { gives, takes_timed }, .check = is_conserved,
           .invariant = is_published, .preemptions = 3)
CLIENT_SEM(sem_two_timeouts_or_grant, make_empty, .threads = { gives, takes_timed, takes_timed }, .check = is_conserved,
           .invariant = is_published, .preemptions = 1)
CLIENT_SEM(sem_timeout_or_grant_of_two, make_empty, .threads = { gives, gives, takes_two_timed }, .check = is_conserved,
           .invariant = is_published, .preemptions = 2)

/* Who stands first and gives up lets in whoever stands behind it. */
static void takes_two_in_vain(void) { EXPECT(!wait_until_20_us(HIGH, 2)); }
CLIENT_SEM(sem_timeout_of_a_large_one_serves, make_one, .threads = { takes_two_in_vain, takes }, .check = is_conserved,
           .invariant = is_published, .preemptions = 2)

/* Nothing comes. */
static void takes_in_vain(void) { EXPECT(!wait_until_20_us(0, 1)); }
CLIENT_SEM(sem_in_vain, make_empty, .threads = { takes_in_vain, takes_in_vain }, .check = is_conserved,
           .invariant = is_published, .preemptions = 1, .spurious = 1)

/* ---- How many there are ------------------------------------------------------------------------------------------ */

/* The size goes down while somebody has permits out, and up again: to one more than there were. */
static void resizes(void) {
    EXPECT_EQUAL(csk_sem_resize(sem, 0), 0);
    EXPECT_EQUAL(csk_sem_resize(sem, 3), 0);
    shared->given += 1;
}
static void takes_and_returns(void) {
    wait_for(0, 1);
    give_back(1);
}
static void takes_two_and_returns(void) {
    wait_for(HIGH, 2);
    give_back(2);
}
CLIENT_SEM(sem_resize_beside_waits, make_two, .threads = { resizes, takes_and_returns, takes_two_and_returns },
           .check = is_conserved, .invariant = is_published, .preemptions = 2)
static void grows_by_one(void) {
    shared->given++;
    EXPECT_EQUAL(csk_sem_resize(sem, 1), 0);
}
CLIENT_SEM(sem_resize_serves, make_empty, .threads = { grows_by_one, takes }, .check = is_conserved,
           .invariant = is_published, .preemptions = 2)
CLIENT_SEM(sem_resize_beside_a_signal, make_empty, .threads = { grows_by_one, gives, takes_two }, .check = is_conserved,
           .invariant = is_published, .preemptions = 2)

/* A size that is taken back before anybody waits leaves a debt. */
static void shrinks_with_one_out(void) {
    wait_for(0, 1);
    EXPECT_EQUAL(csk_sem_resize(sem, 0), 0);
    shared->given -= 2;
    EXPECT(csk_sem_permits(sem) <= 0);
    give_back(1);
}
static void tries_one(void) {
    int status = csk_sem_trywait(sem, 0, 1);
    EXPECT(status == 0 || status == EBUSY);
    if (status != 0) return;
    shared->taken++;
    give_back(1);
}
CLIENT_SEM(sem_resize_leaves_a_debt, make_two, .threads = { shrinks_with_one_out, tries_one }, .check = is_conserved,
           .invariant = is_published, .preemptions = 3)

/* One permit at most: of two signals beside a wait at least one counts. */
static void make_one_at_most(void) { make(0, 1); }
static void make_two_at_most(void) { make(0, 2); }
static void gives_if_there_is_room(void) {
    int status = csk_sem_post(sem, 1);
    EXPECT(status == 0 || status == EOVERFLOW);
    if (status == 0) shared->given++;
}
static void gives_two_if_there_is_room(void) {
    int status = csk_sem_post(sem, 2);
    EXPECT(status == 0 || status == EOVERFLOW);
    if (status == 0) shared->given += 2;
}
static void some_was_given(void) {
    EXPECT(shared->given >= 1);
    is_conserved();
}
CLIENT_SEM(sem_overflow, make_one_at_most, .threads = { gives_if_there_is_room, gives_if_there_is_room },
           .check = some_was_given, .invariant = is_published, .preemptions = 3)
CLIENT_SEM(sem_overflow_beside_a_wait, make_one_at_most,
           .threads = { gives_if_there_is_room, gives_if_there_is_room, takes }, .check = some_was_given,
           .invariant = is_published, .preemptions = 2)
CLIENT_SEM(sem_overflow_beside_a_large_wait, make_two_at_most,
           .threads = { gives_if_there_is_room, gives_two_if_there_is_room, takes_two_timed }, .check = some_was_given,
           .invariant = is_published, .preemptions = 2)

/* Whoever waits, a signal that would make too many is refused. */
static void gives_too_many_to_a_waiter(void) {
    await_waiting(1);
    EXPECT_EQUAL(csk_sem_post(sem, 2), EOVERFLOW);
    EXPECT_EQUAL(csk_sem_waiting(sem), 1);
    signal_some(1);
}
CLIENT_SEM(sem_overflow_with_a_waiter, make_one_at_most, .threads = { gives_too_many_to_a_waiter, takes },
           .check = is_conserved, .invariant = is_published, .preemptions = 1)

/* ---- Memory ------------------------------------------------------------------------------------------------------ */

static void destroys(void) {
    EXPECT_EQUAL(csk_sem_destroy(sem), 0);
    explore_free(sem, sizeof *sem);
}
static void takes_and_frees(void) {
    wait_for(0, 1);
    destroys();
}
CLIENT_SEM(sem_freed_by_the_last_wait, make_empty, .threads = { gives, takes_and_frees }, .preemptions = 3)

static void takes_two_and_frees(void) {
    wait_for(0, 2);
    destroys();
}
static void takes_twice_and_frees(void) {
    wait_for(0, 1);
    wait_for(0, 1);
    destroys();
}
CLIENT_SEM(sem_freed_after_two_signals, make_empty, .threads = { gives, gives, takes_two_and_frees }, .preemptions = 2)
CLIENT_SEM(sem_freed_after_two_waits, make_empty, .threads = { gives, gives, takes_twice_and_frees }, .preemptions = 2)
CLIENT_SEM(sem_freed_after_a_signal_of_two, make_empty, .threads = { gives_two, takes_twice_and_frees },
           .preemptions = 3)
CLIENT_SEM(sem_freed_after_a_resize, make_empty, .threads = { grows_by_one, takes_and_frees }, .preemptions = 3)
CLIENT_SEM(sem_freed_after_signals_in_a_row, make_empty, .threads = { gives_twice, takes_two_and_frees },
           .preemptions = 3)

/* The last of several drops it. */
static void make_for_two(void) {
    make_empty();
    shared->references = 2;
}
static void drops(void) {
    explore_order(&shared->references);
    if (--shared->references == 0) destroys();
}
static void takes_and_drops(void) {
    wait_for(0, 1);
    drops();
}
CLIENT_SEM(sem_freed_by_the_last_of_two, make_for_two, .threads = { gives_two, takes_and_drops, takes_and_drops },
           .preemptions = 2)

/* One gives up. If it does not, it passes the permit on. The signal may find that the only waiter has just left: it
 * must not touch the semaphore once the permit can be taken. */
static void gives_up_and_drops(void) {
    if (wait_until_20_us(HIGH, 1)) EXPECT_EQUAL(csk_sem_post(sem, 1), 0);
    drops();
}
static void takes_late_and_drops(void) {
    explore_wait(&shared->flags[0], 1);
    takes_and_drops();
}
static void gives_up_tells_and_drops(void) {
    bool got = wait_until_20_us(HIGH, 1);
    explore_set(&shared->flags[0], 1);
    if (got) EXPECT_EQUAL(csk_sem_post(sem, 1), 0);
    drops();
}
CLIENT_SEM(sem_freed_beside_a_timeout, make_for_two, .threads = { gives, gives_up_and_drops, takes_and_drops },
           .preemptions = 2)
CLIENT_SEM(sem_freed_after_a_timeout, make_for_two,
           .threads = { gives, gives_up_tells_and_drops, takes_late_and_drops }, .preemptions = 2)
