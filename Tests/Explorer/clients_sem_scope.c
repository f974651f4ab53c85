/* clients_sem_scope.c: whoever waits pins the task that was the last to begin a scope, and raises it. Permits have no
 * owner, so others may signal meanwhile. */
#include "sem_holder_fixture.h"

#include "base/hooks.h"

static void make_scoped(uint32_t permits, uint32_t most) {
    csk_scoped_sem_t *scoped = explore_allocate(sizeof *scoped);
    make_of_tasks(&scoped->held.placed.sem, permits, most);
    csk_scoped_sem_begin(scoped);
}
static void make_one_of_one(void) { make_scoped(1, 1); }
static void make_one_of_three(void) { make_scoped(1, 3); }
static void make_two_of_two(void) { make_scoped(2, 2); }
static void make_four_of_four(void) { make_scoped(4, 4); }

static csk_scoped_sem_t *scoped(void) { return (csk_scoped_sem_t *)(void *)sem; }
static void is_over_and_known(void) {
    EXPECT_EQUAL(csk_sem_pins(sem), 0);
    EXPECT_EQUAL(scoped()->scope, 0);
    is_conserved();
}

static void end_scope_of(int thread) {
    shared->taken--;
    EXPECT_EQUAL(csk_sem_end_scope(sem, number_of(thread), 1), 0);
}
/* Where others have signalled what they had not taken, there may be no room for the permit. */
static void end_scope(void) {
    shared->taken--;
    int status = csk_sem_end_scope(sem, number_of(me()), 1);
    EXPECT(status == 0 || status == EOVERFLOW);
    if (status != 0) shared->given--;
}
static void end_scope_for_good(void) {
    end_scope();
    tasks->has_left[me()] = true;
}

static void take_for_a_scope(void) {
    EXPECT(csk_sem_take_fast(sem, 1));
    shared->taken++;
    csk_sem_begin_scope(sem, number_of(me()));
}
static void is_in_a_scope(void) {
    take_for_a_scope();
    explore_set(&shared->flags[0], 1);
    explore_point();
    end_scope_for_good();
}
static void waits_for_a_scope(void) {
    explore_wait(&shared->flags[0], 1);
    waits(0, HIGH);
    begin();
    end_scope_for_good();
}
CLIENT(sem_scope_is_raised, .setup = make_one_of_one, .threads = { is_in_a_scope, waits_for_a_scope },
       .check = is_over_and_known, .invariant = is_published_or_pinned, .preemptions = 3)

/* Neither scope ends while it is raised, whichever began last. */
static void is_in_another_scope(void) {
    wait_for(0, 1);
    csk_sem_begin_scope(sem, number_of(me()));
    end_scope_for_good();
}
CLIENT(sem_scope_of_two, .setup = make_two_of_two, .threads = { is_in_a_scope, is_in_another_scope, waits_for_a_scope },
       .check = is_unpinned, .invariant = is_published_or_pinned, .preemptions = 2)

/* One that has taken nothing lets the waiter in, while that raises the task that has the permit. */
static void signals_what_it_has_not(void) {
    explore_wait(&shared->flags[0], 1);
    signal_some(1);
}
CLIENT(sem_scope_and_a_stranger, .setup = make_one_of_three,
       .threads = { is_in_a_scope, waits_for_a_scope, signals_what_it_has_not }, .check = is_over_and_known,
       .invariant = is_published_or_pinned, .preemptions = 2)

/* It fills the semaphore too, so the scope's end finds no room for its permit: it waits for whoever raises it all the
 * same. */
static void waits_and_is_granted_by_others(void) {
    explore_wait(&shared->flags[0], 1);
    waits(0, HIGH);
}
static void fills(void) {
    explore_wait(&shared->flags[0], 1);
    for (int i = 0; i < 2; i++)
        if (csk_sem_post(sem, 1) == 0) shared->given++;
}
CLIENT(sem_scope_ends_without_room, .setup = make_one_of_one,
       .threads = { is_in_a_scope, waits_and_is_granted_by_others, fills }, .check = is_unpinned,
       .invariant = is_published_or_pinned, .preemptions = 2)

/* The one that raises signals before it is done, as a function of its user's may: it waits for nobody. */
static void signals_while_it_raises(void) {
    take_for_a_scope();
    queue_async(0, HIGH, 1, CSK_NEVER, note);
    EXPECT_EQUAL(csk_sem_pin_holder(sem, HIGH), number_of(me()));
    signal_some(1);
    EXPECT_EQUAL(shared->called, 1);
    EXPECT_EQUAL(csk_sem_resize(sem, 2), 0);
    shared->given++;
    csk_sem_unpin_holder(sem);
    end_scope();
}
CLIENT(sem_scope_who_raises_may_signal, .setup = make_one_of_three, .threads = { signals_while_it_raises },
       .check = is_over_and_known, .invariant = is_published_or_pinned, .preemptions = 1)

/* A scope is raised for each that is more urgent, and again once somebody was let in; one that ended is not, nor does
 * its end hide a later one. */
static void cancel(int index) {
    EXPECT_EQUAL(csk_sem_cancel(sem, &shared->waiters[index]), 0);
    shared->status[index] = 0;
}
static void tells_each_scope(void) {
    EXPECT(csk_sem_take_fast(sem, 1));
    shared->taken++;
    queue_async(0, 1, 1, CSK_NEVER, note);
    EXPECT_EQUAL(raise_holder(1), 0); /* nobody knows who has the permit, and nobody will */
    csk_sem_begin_scope(sem, number_of(me()));
    EXPECT_EQUAL(raise_holder(1), number_of(me()));
    EXPECT_EQUAL(raise_holder(1), 0);
    EXPECT_EQUAL(raise_holder(HIGH), number_of(me()));
    queue_async(1, 1, 1, CSK_NEVER, note);
    signal_some(1);
    EXPECT_EQUAL(raise_holder(1), 0); /* the first was let in, and begins no scope; the second finds who was told */
    EXPECT_EQUAL(raise_holder(HIGH + 1), number_of(me()));
    EXPECT_EQUAL(csk_sem_begin_holding(sem, number_of(1)), CSK_SEM_NOBODY_URGENT); /* they are not counted */
    end_scope();
    EXPECT_EQUAL(scoped()->scope, number_of(1));
    queue_async(2, 1, 1, CSK_NEVER, note);
    EXPECT_EQUAL(raise_holder(1), number_of(1));
    cancel(2);
    end_scope_of(1);
    give_back(1);
}
CLIENT(sem_scope_each_is_told, .setup = make_one_of_three, .threads = { tells_each_scope }, .check = is_over_and_known,
       .invariant = is_published_or_pinned, .preemptions = 1)

/* It notes its holder too, and stops to do so while the scope is pinned and nobody waits: others that come now may not
 * miss the queue lock. */
static void make_noting_one(void) {
    csk_told.of_works.each[TOLD_WORK_BY_PROGRAM] = 1;
    make_one_of_three();
}
static void shows_that_it_is_no_lock(void) {
    EXPECT_EQUAL(sem->notes, SEM_NOTES);
    wait_for(0, 1);
    queue_async(0, HIGH, 1, CSK_NEVER, note);
    EXPECT_EQUAL(raise_holder(HIGH), 0); /* whom the semaphore notes may be gone */
    csk_sem_begin_scope(sem, number_of(me()));
    EXPECT_EQUAL(csk_sem_pin_holder(sem, HIGH), number_of(me()));
    cancel(0);
    explore_set(&shared->flags[0], 1);
    signal_some(2);
    csk_sem_unpin_holder(sem);
    end_scope();
}
static void takes_what_there_is(void) {
    explore_wait(&shared->flags[0], 1);
    if (csk_sem_trywait(sem, 0, 1) == 0) shared->taken++;
}
static void is_over_and_no_lock(void) {
    EXPECT_EQUAL(sem->notes, SEM_NOTES_NEVER);
    is_over_and_known();
}
CLIENT(sem_scope_is_no_lock, .setup = make_noting_one, .threads = { shows_that_it_is_no_lock, takes_what_there_is },
       .check = is_over_and_no_lock, .preemptions = 2)

/* One that had to wait begins a scope while a more urgent one comes to wait: one of the two sees the other. */
static void is_in_a_scope_until_one_waits(void) {
    take_for_a_scope();
    explore_set(&shared->flags[0], 1);
    await_waiting(1);
    end_scope();
}
static void begins_when_it_is_let_in(void) {
    explore_wait(&shared->flags[0], 1);
    waits(0, 1);
    begin();
    explore_wait(&shared->flags[2], 1);
    EXPECT(tasks->raised[me()] >= HIGH);
    end_scope();
}
static void comes_meanwhile(void) {
    explore_wait(&shared->called, 1);
    comes(1, HIGH);
    raise_holder(HIGH);
    explore_set(&shared->flags[2], 1);
}
CLIENT(sem_scope_begins_while_another_comes, .setup = make_one_of_one,
       .threads = { is_in_a_scope_until_one_waits, begins_when_it_is_let_in, comes_meanwhile }, .check = is_unpinned,
       .invariant = is_published_or_pinned, .preemptions = 2)

/* The end of a scope hides none that begins just then. */
static void ends_while_another_begins(void) {
    take_for_a_scope();
    explore_set(&shared->flags[0], 1);
    end_scope();
    explore_set(&shared->flags[1], 1);
}
static void begins_while_another_ends(void) {
    explore_wait(&shared->flags[0], 1);
    take_for_a_scope();
    explore_wait(&shared->flags[1], 1);
    EXPECT_EQUAL(scoped()->scope, number_of(me()));
    end_scope();
}
CLIENT(sem_scope_is_not_hidden, .setup = make_two_of_two,
       .threads = { ends_while_another_begins, begins_while_another_ends }, .check = is_over_and_known,
       .invariant = is_published_or_pinned, .preemptions = 2)

/* What one was told of is not what a later one was told of. */
static void begin_scope_of(int thread) {
    EXPECT_EQUAL(csk_sem_trywait(sem, HIGH + 1, 1), 0); /* past all who wait */
    shared->taken++;
    csk_sem_begin_scope(sem, number_of(thread));
}
static void tells_a_later_one(void) {
    take_for_a_scope();
    queue_async(0, HIGH, 4, CSK_NEVER, note);
    EXPECT_EQUAL(raise_holder(HIGH), number_of(me()));
    begin_scope_of(1);
    queue_async(1, HIGH, 4, CSK_NEVER, note);
    EXPECT_EQUAL(raise_holder(HIGH), number_of(1));
    cancel(0);
    cancel(1);
    end_scope_of(1);
    end_scope();
}
CLIENT(sem_scope_later_one_is_told, .setup = make_four_of_four, .threads = { tells_a_later_one },
       .check = is_over_and_known, .invariant = is_published_or_pinned, .preemptions = 1)

/* The thread that pins a task runs another, as a handler of the first one's may: that one leaves, and meanwhile nobody
 * else is pinned. */
static void runs_another_while_it_raises(void) {
    take_for_a_scope();
    queue_async(0, HIGH, 4, CSK_NEVER, note);
    EXPECT_EQUAL(csk_sem_pin_holder(sem, HIGH), number_of(me()));
    begin_scope_of(1);
    EXPECT_EQUAL(csk_sem_pin_holder(sem, HIGH + 1), CSK_SEM_HOLDER_NOT_TOLD);
    end_scope_of(1);
    csk_sem_unpin_holder(sem);
    cancel(0);
    end_scope();
}
CLIENT(sem_scope_who_raises_may_run_another, .setup = make_four_of_four, .threads = { runs_another_while_it_raises },
       .check = is_over_and_known, .invariant = is_published_or_pinned, .preemptions = 1)

/* Two pins: the end waits for both. */
static void ends_under_two_pins(void) {
    take_for_a_scope();
    explore_set(&shared->flags[0], 1);
    explore_wait(&shared->flags[1], 1);
    end_scope_for_good();
}
static void pins_twice(void) {
    explore_wait(&shared->flags[0], 1);
    queue_async(0, HIGH, 4, CSK_NEVER, note);
    EXPECT_EQUAL(csk_sem_pin_holder(sem, 1), number_of(0));
    EXPECT_EQUAL(csk_sem_pin_holder(sem, 2), number_of(0));
    explore_set(&shared->flags[1], 1);
    explore_wait(&sem->pins, SEM_PINS_AWAITED);
    csk_sem_unpin_holder(sem);
    explore_point();
    EXPECT(!tasks->has_left[0]);
    csk_sem_unpin_holder(sem);
}
CLIENT(sem_scope_under_two_pins, .setup = make_four_of_four, .threads = { ends_under_two_pins, pins_twice },
       .check = is_unpinned, .invariant = is_published_or_pinned, .preemptions = 2)

/* Tasks that come and go while somebody waits: nobody is pinned who has left. */
static void comes_and_goes(void) {
    for (int i = 0; i < 2; i++) {
        if (!csk_sem_take_fast(sem, 1)) continue;
        tasks->has_left[me()] = false;
        csk_sem_begin_scope(sem, number_of(me()));
        EXPECT_EQUAL(csk_sem_end_scope(sem, number_of(me()), 1), 0);
        tasks->has_left[me()] = true;
    }
}
static void raises_whoever_is_there(void) {
    queue_async(0, HIGH, 2, CSK_NEVER, note);
    raise_holder(HIGH);
    raise_holder(HIGH + 1);
    explore_wait(&shared->called, 1);
    give_back(2);
}
CLIENT(sem_scope_come_and_go, .setup = make_two_of_two,
       .threads = { comes_and_goes, comes_and_goes, raises_whoever_is_there }, .check = is_over_and_known,
       .invariant = is_published_or_pinned, .preemptions = 1)

/* Whoever has all permits may free the semaphore: the end of a scope does not touch it then. */
static void is_called(csk_waiter_t *waiter, void *context, int status) {
    (void)waiter, (void)context;
    EXPECT_EQUAL(status, 0);
    __atomic_store_n(&shared->called, 1, __ATOMIC_RELEASE);
}
static void is_in_a_scope_at_last(void) {
    take_for_a_scope();
    explore_set(&shared->flags[0], 1);
    end_scope();
}
static void frees_it(void) {
    explore_wait(&shared->flags[0], 1);
    queue_async(0, HIGH, 2, CSK_NEVER, is_called);
    raise_holder(HIGH);
    explore_wait(&shared->called, 1);
    explore_free(scoped(), sizeof(csk_scoped_sem_t));
}
static void is_gone(void) {}
CLIENT(sem_scope_freed_by_the_next, .setup = make_two_of_two, .threads = { is_in_a_scope_at_last, frees_it },
       .check = is_gone, .preemptions = 3)

/* In the child nobody is in a scope of the parent's. */
static void forks_in_a_scope(void) {
    take_for_a_scope();
    queue_async(0, HIGH, 1, CSK_NEVER, note);
    EXPECT_EQUAL(csk_sem_pin_holder(sem, HIGH), number_of(me()));
    explore_fork();
    shared->status[0] = 0;
    queue_async(0, HIGH, 1, CSK_NEVER, note);
    EXPECT_EQUAL(raise_holder(HIGH), 0);
    csk_sem_unpin_holder(sem);
    end_scope();
}
CLIENT(sem_scope_fork_while_pinned, .setup = make_one_of_one, .threads = { forks_in_a_scope }, .check = is_unpinned,
       .invariant = is_published_or_pinned, .preemptions = 1)
