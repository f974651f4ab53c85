/* clients_sem_holder.c: whoever waits pins the task that has the permit, and raises it. A thread is a task here, with
 * its index and 16 as its number. */
#include "sem_fixture.h"

static struct tasks {
    bool has_left[EXPLORE_THREADS];  /* it has given its permit back for good: nobody may use it any more */
    int32_t raised[EXPLORE_THREADS]; /* to what */
} * tasks;

static uint64_t number_of(int thread) { return 16 + (uint64_t)thread; }
static int me(void) { return explore_thread(); }

static void make_held(uint32_t permits) {
    csk_held_sem_t *held = explore_allocate(sizeof *held);
    sem = &held->placed.sem;
    shared = explore_allocate(sizeof *shared);
    tasks = explore_allocate(sizeof *tasks);
    shared->given = permits;
    EXPECT_EQUAL(csk_sem_init(sem, permits, 1), 0);
    csk_held_sem_begin(held);
}
static void make_held_one(void) { make_held(1); }

/* The flag says whether a call has to come to the queue lock. */
static void is_published_or_pinned(void) {
    if (sem->queue_lock != csk_process_mark()) return;
    const csk_gate_waiter_t *first = csk_sem_first(sem);
    EXPECT_EQUAL(sem->state & SEM_WAITERS, first != NULL || csk_sem_pins(sem) != 0);
    EXPECT(first == NULL || first->permits > csk_sem_free_in(sem->state));
}
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

/* Returns what csk_sem_pin_holder did. */
static uint64_t raise_holder(uint8_t urgency) {
    uint64_t holder = csk_sem_pin_holder(sem, urgency);
    if (holder == 0 || holder == CSK_SEM_HOLDER_NOT_TOLD) return holder;
    int thread = (int)(holder - 16);
    EXPECT(thread >= 0 && thread < EXPLORE_THREADS && !tasks->has_left[thread]);
    explore_point();
    EXPECT(!tasks->has_left[thread]);
    if (tasks->raised[thread] < urgency) tasks->raised[thread] = urgency;
    csk_sem_unpin_holder(sem);
    return holder;
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

/* Waits as a task does: the rank is its urgency too. */
static void waits(int index, int32_t priority) {
    queue_async(index, priority, 1, CSK_NEVER, note);
    raise_holder((uint8_t)priority);
    explore_wait(&shared->called, 1);
}
static void begin(void) {
    csk_rank_t highest = csk_sem_begin_holding(sem, number_of(me()));
    if (highest != CSK_SEM_NOBODY_WAITS && tasks->raised[me()] < highest / 4)
        tasks->raised[me()] = (int32_t)(highest / 4);
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
/* Some were granted, and give nothing back. */
static void is_unpinned(void) { EXPECT_EQUAL(csk_sem_pins(sem), 0); }
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
    queue_async(1, HIGH, 1, CSK_NEVER, note);
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
