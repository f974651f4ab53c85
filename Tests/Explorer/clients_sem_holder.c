/* clients_sem_holder.c: whoever waits pins the task that has the permit, and raises it. */
#include "sem_holder_fixture.h"

static void make_held(uint32_t permits) {
    csk_held_sem_t *held = explore_allocate(sizeof *held);
    make_of_tasks(&held->placed.sem, permits, 1);
    csk_held_sem_begin(held);
}
static void make_held_one(void) { make_held(1); }

static void is_over(void) {
    EXPECT_EQUAL(csk_sem_pins(sem), 0);
    EXPECT_EQUAL(csk_sem_holder(sem), 0);
    is_conserved();
}

static void leave(void) {
    csk_sem_set_holder(sem, 0);
    give_back(1);
}
static void leave_for_good(void) {
    leave();
    tasks->has_left[me()] = true;
}

/* Takes the permit by a step of its own, and says so later. */
static void holds_for_good(void) {
    EXPECT(csk_sem_take_fast(sem, 1));
    shared->taken++;
    csk_sem_set_holder(sem, number_of(me()));
    explore_set(&shared->flags[0], 1);
    explore_point();
    leave_for_good();
}

static void waits_and_raises(void) {
    explore_wait(&shared->flags[0], 1);
    waits(0, HIGH);
    begin();
    section();
    leave_for_good();
}
CLIENT(sem_holder_is_raised, .setup = make_held_one, .threads = { holds_for_good, waits_and_raises }, .check = is_over,
       .invariant = is_published_or_pinned, .preemptions = 3)

/* The one that raises is cancelled meanwhile, so nobody waits while the holder is pinned. */
static void cancels(void) {
    explore_wait(&shared->flags[0], 1);
    csk_sem_cancel(sem, &shared->waiters[0]);
}
static void waits_and_may_be_cancelled(void) {
    explore_wait(&shared->flags[0], 1);
    waits(0, HIGH);
    if (shared->status[0] != 1000) return;
    begin();
    leave_for_good();
}
CLIENT(sem_holder_is_raised_and_nobody_waits, .setup = make_held_one,
       .threads = { holds_for_good, waits_and_may_be_cancelled, cancels }, .check = is_over,
       .invariant = is_published_or_pinned, .preemptions = 2)

/* Two raise it: the second only where it is more urgent. */
static void waits_low(void) {
    queue_async(1, 1, 1, CSK_NEVER, note);
    raise_holder(1);
}
static void raises_again(void) {
    explore_wait(&shared->flags[0], 1);
    waits_low();
    explore_wait(&shared->flags[1], 1);
}
static void waits_high(void) {
    explore_wait(&shared->flags[0], 1);
    queue_async(0, HIGH, 1, CSK_NEVER, note);
    bool is_first = raise_holder(HIGH) != 0;
    if (is_first && !tasks->has_left[0]) EXPECT(tasks->raised[0] >= HIGH || csk_sem_holder(sem) == 0);
    explore_set(&shared->flags[1], 1);
}
CLIENT(sem_holder_is_raised_by_two, .setup = make_held_one, .threads = { holds_for_good, waits_high, raises_again },
       .check = is_unpinned, .invariant = is_published_or_pinned, .preemptions = 1)

/* One that had to wait begins to hold while another comes to wait, which is more urgent: one of the two sees the
 * other. */
static void holds_until_one_waits(void) {
    EXPECT(csk_sem_take_fast(sem, 1));
    shared->taken++;
    csk_sem_set_holder(sem, number_of(me()));
    explore_set(&shared->flags[0], 1);
    await_waiting(1);
    leave();
}
static void is_granted_and_begins(void) {
    explore_wait(&shared->flags[0], 1);
    waits(0, 1);
    begin();
    explore_wait(&shared->flags[2], 1);
    EXPECT(tasks->raised[me()] >= HIGH);
    leave();
}
static void comes_meanwhile(void) {
    explore_wait(&shared->called, 1); /* the first was granted */
    comes(1, HIGH);
    EXPECT(raise_holder(HIGH) != CSK_SEM_HOLDER_NOT_TOLD); /* it sees for itself, or has said who it is */
    explore_set(&shared->flags[2], 1);
}
CLIENT(sem_holder_begins_while_another_comes, .setup = make_held_one,
       .threads = { holds_until_one_waits, is_granted_and_begins, comes_meanwhile }, .check = is_unpinned,
       .invariant = is_published_or_pinned, .preemptions = 2)

/* Each holder is told, however the one before it was; and told again only of who is more urgent. */
static void waits_and_leaves(int index, int32_t priority, uint64_t wanted) {
    queue_async(index, priority, 1, CSK_NEVER, note);
    EXPECT_EQUAL(raise_holder((uint8_t)priority), wanted);
    EXPECT_EQUAL(csk_sem_cancel(sem, &shared->waiters[index]), 0);
    shared->status[index] = 0;
}
static void tells_each_holder(void) {
    for (int round = 0; round < 2; round++) {
        EXPECT(csk_sem_take_fast(sem, 1));
        shared->taken++;
        waits_and_leaves(0, HIGH, CSK_SEM_HOLDER_NOT_TOLD);
        csk_sem_set_holder(sem, number_of(me()));
        queue_async(1, 1, 1, CSK_NEVER, note);
        EXPECT_EQUAL(raise_holder(1), number_of(me()));
        EXPECT_EQUAL(raise_holder(1), 0);
        waits_and_leaves(0, HIGH, number_of(me()));
        waits_and_leaves(0, HIGH, 0);
        EXPECT_EQUAL(csk_sem_cancel(sem, &shared->waiters[1]), 0);
        shared->status[1] = 0;
        EXPECT_EQUAL(raise_holder(HIGH + 1), 0); /* nobody waits */
        leave();
    }
}
CLIENT(sem_holder_each_is_told, .setup = make_held_one, .threads = { tells_each_holder }, .check = is_over,
       .invariant = is_published_or_pinned, .preemptions = 1)

/* The child has the permit's holder, and none of the parent's pins. */
static void forks_while_pinned(void) {
    EXPECT(csk_sem_take_fast(sem, 1));
    shared->taken++;
    csk_sem_set_holder(sem, number_of(me()));
    queue_async(0, HIGH, 1, CSK_NEVER, note);
    EXPECT_EQUAL(csk_sem_pin_holder(sem, HIGH), number_of(me()));
    explore_fork();
    leave();
    csk_sem_unpin_holder(sem);
}
CLIENT(sem_holder_fork_while_pinned, .setup = make_held_one, .threads = { forks_while_pinned }, .check = is_over,
       .invariant = is_published_or_pinned, .preemptions = 1)
