/* clients_sem_note.c: a semaphore of one permit notes who has it, begins that, and ends it. */
#include "sem_fixture.h"

#include "base/hooks.h"
#include "wait/waits.h"

static uint64_t acts_as[EXPLORE_THREADS];
static uint64_t me(void) {
    uint64_t task = acts_as[explore_thread()];
    return task != 0 ? task : (uint64_t)explore_thread() + 1;
}

static void make_held(bool at_once) {
    csk_held_sem_t *held = explore_allocate(sizeof *held);
    sem = &held->placed.sem;
    shared = explore_allocate(sizeof *shared);
    shared->given = 1;
    csk_waits_current_task = me;
    EXPECT_EQUAL(csk_sem_init(sem, 1, 0), 0);
    csk_told.of_works.each[TOLD_WORK_BY_PROGRAM] = at_once;
    csk_held_sem_begin_noting(held);
    csk_told.of_works.each[TOLD_WORK_BY_PROGRAM] = 1;
}
static void make_noting(void) { make_held(true); }
/* It begins when somebody has to wait. */
static void make_before(void) { make_held(false); }

/* While it notes its holder the flag is set, and nobody has what is free. */
static void is_noted(void) {
    if (sem->queue_lock != csk_process_mark()) return;
    const csk_waiter_t *first = csk_sem_first(sem);
    EXPECT_EQUAL(sem->state & SEM_WAITERS, csk_sem_is_busy(sem));
    EXPECT(first == NULL || first->permits > csk_sem_free_in(sem->state));
    EXPECT(csk_sem_free_in(sem->state) == 0 || csk_sem_holder(sem) == 0);
}
static void is_free(void) {
    EXPECT_EQUAL(csk_sem_waiting(sem), 0);
    EXPECT_EQUAL(csk_sem_holder(sem), 0);
    EXPECT_EQUAL(csk_sem_permits(sem) + shared->taken, shared->given);
    EXPECT_EQUAL(csk_sem_destroy(sem), 0);
}
static void is_free_and_notes(void) {
    EXPECT_EQUAL(sem->notes, SEM_NOTES);
    is_free();
}
static void is_free_and_no_lock(void) {
    EXPECT_EQUAL(sem->notes, SEM_NOTES_NEVER);
    EXPECT_EQUAL(sem->state & SEM_WAITERS, 0);
    is_free();
}

static void enters_as_holder(void) {
    wait_for(0, 1);
    EXPECT_EQUAL(csk_sem_holder(sem), me());
    section();
    EXPECT_EQUAL(csk_sem_holder(sem), me());
    give_back(1);
}
CLIENT(sem_note_two, .setup = make_noting, .threads = { enters_as_holder, enters_as_holder },
       .check = is_free_and_notes, .invariant = is_noted, .preemptions = 2)
CLIENT(sem_note_three, .setup = make_noting, .threads = { enters_as_holder, enters_as_holder, enters_as_holder },
       .check = is_free_and_notes, .invariant = is_noted, .preemptions = 1)

/* Who had it when that began is not known, and whoever comes then is. */
static void enters(void) {
    wait_for(0, 1);
    uint64_t holder = csk_sem_holder(sem);
    EXPECT(holder == 0 || holder == me());
    section();
    holder = csk_sem_holder(sem);
    EXPECT(holder == 0 || holder == me());
    give_back(1);
}
static void holder_follows_who_waited(void) {
    await_waiting(1);
    give_back(1);
}
static void takes_before(void) {
    make_before();
    EXPECT(csk_sem_take_fast(sem, 1));
    shared->taken++;
}
CLIENT(sem_note_begins, .setup = make_before, .threads = { enters, enters }, .check = is_free, .invariant = is_noted,
       .preemptions = 2)
CLIENT(sem_note_begins_with_a_waiter, .setup = takes_before, .threads = { enters_as_holder, holder_follows_who_waited },
       .check = is_free_and_notes, .invariant = is_noted, .preemptions = 2)

static void tries_as_holder(void) {
    int status = csk_sem_trywait(sem, 0, 1);
    EXPECT(status == 0 || status == EBUSY);
    if (status != 0) return;
    shared->taken++;
    EXPECT_EQUAL(csk_sem_holder(sem), me());
    give_back(1);
}
static void waits_20_us_as_holder(void) {
    if (!wait_until_20_us(0, 1)) return;
    EXPECT_EQUAL(csk_sem_holder(sem), me());
    give_back(1);
}
CLIENT(sem_note_tries, .setup = make_noting, .threads = { tries_as_holder, waits_20_us_as_holder, enters_as_holder },
       .check = is_free_and_notes, .invariant = is_noted, .preemptions = 1)

/* Another gives back, or more than was taken: from then on nobody is the holder. */
static void gives(void) { signal_some(1); }
static void gives_two(void) { signal_some(2); }
static void takes(void) { wait_for(0, 1); }
static void takes_two(void) { wait_for(0, 2); }
CLIENT(sem_note_of_no_lock, .setup = make_noting, .threads = { gives, takes, takes }, .check = is_free_and_no_lock,
       .invariant = is_noted, .preemptions = 1)
CLIENT(sem_note_of_several, .setup = make_noting, .threads = { gives_two, takes, takes_two },
       .check = is_free_and_no_lock, .invariant = is_noted, .preemptions = 1)
static void takes_one_and_gives_two(void) {
    wait_for(0, 1);
    shared->taken--;
    shared->given++;
    EXPECT_EQUAL(csk_sem_post(sem, 2), 0);
}
CLIENT(sem_note_of_more_than_was_taken, .setup = make_noting, .threads = { takes_one_and_gives_two, enters },
       .check = is_free_and_no_lock, .invariant = is_noted, .preemptions = 2)
static void resizes(void) {
    shared->given++;
    EXPECT_EQUAL(csk_sem_resize(sem, 2), 0);
}
CLIENT(sem_note_of_another_size, .setup = make_noting, .threads = { resizes, takes, takes },
       .check = is_free_and_no_lock, .invariant = is_noted, .preemptions = 1)

/* It stays as large as it was, and one of them finds the flag gone. */
static void resizes_to_one(void) { EXPECT_EQUAL(csk_sem_resize(sem, 1), 0); }
CLIENT(sem_note_of_the_same_size, .setup = make_noting, .threads = { enters, resizes_to_one, enters },
       .check = is_free_and_no_lock, .invariant = is_noted, .preemptions = 1)
/* Also where it is not known who has the permit. */
static void resizes_to_one_while_another_waits(void) {
    await_waiting(1);
    resizes_to_one();
    give_back(1);
}
CLIENT(sem_note_of_the_same_size_without_holder, .setup = takes_before,
       .threads = { enters, resizes_to_one_while_another_waits }, .check = is_free_and_no_lock, .invariant = is_noted,
       .preemptions = 2)

/* Nobody wants to know any more. */
static void nobody_asks(void) { __atomic_store_n(&csk_told.of_works.each[TOLD_WORK_BY_PROGRAM], 0, __ATOMIC_RELAXED); }
CLIENT(sem_note_ends, .setup = make_noting, .threads = { enters, nobody_asks, enters }, .check = is_free,
       .invariant = is_noted, .preemptions = 1)

/* A function is called for a task. */
static void is_called_as(csk_waiter_t *waiter, void *context, int status) {
    EXPECT_EQUAL(csk_sem_holder(sem), context != NULL ? 77 : 0);
    note(waiter, context, status);
    acts_as[explore_thread()] = 77;
    give_back(1);
    acts_as[explore_thread()] = 0;
}
static void queues_as(uint64_t task) {
    csk_waits_suspend(task);
    EXPECT_EQUAL(csk_sem_wait_async(sem, csk_rank(0, CSK_PLACE_BACK), &shared->waiters[0], 1, CSK_NEVER, is_called_as,
                                    task != 0 ? shared : NULL),
                 0);
    csk_waits_suspend(0);
}
static void queues_as_a_task(void) { queues_as(77); }
static void queues_as_nobody(void) { queues_as(0); }
static void was_called(void) {
    EXPECT_EQUAL(shared->called, 1);
    is_free_and_notes();
}
CLIENT(sem_note_of_a_task, .setup = make_noting, .threads = { queues_as_a_task, enters_as_holder }, .check = was_called,
       .invariant = is_noted, .preemptions = 2)
CLIENT(sem_note_of_a_function, .setup = make_noting, .threads = { queues_as_nobody, enters_as_holder },
       .check = was_called, .invariant = is_noted, .preemptions = 1)

/* ---- Memory, and a fork ------------------------------------------------------------------------------------------ */

static void takes_and_frees(void) {
    wait_for(0, 1);
    EXPECT_EQUAL(csk_sem_destroy(sem), 0);
    explore_free(sem, sizeof(csk_held_sem_t));
}
static void make_taken(void) {
    make_noting();
    wait_for(0, 1);
    csk_sem_set_holder(sem, 1); /* of the first thread */
}
CLIENT(sem_note_freed_by_the_last_wait, .setup = make_taken, .threads = { gives, takes_and_frees }, .preemptions = 2)
static void make_taken_by_another(void) {
    make_taken();
    csk_sem_set_holder(sem, 99);
}
CLIENT(sem_note_freed_as_no_lock, .setup = make_taken_by_another, .threads = { gives, takes_and_frees },
       .preemptions = 2)

/* Nobody of the parent is its holder. */
static void forks_and_uses_it(void) {
    explore_fork();
    shared->is_child = 1;
    csk_told.of_works.each[TOLD_WORK_BY_PROGRAM] = 0;
    if (csk_sem_permits(sem) == 0) EXPECT_EQUAL(csk_sem_post(sem, 1), 0);
    EXPECT_EQUAL(csk_sem_wait(sem, 0, 1), 0);
    EXPECT_EQUAL(csk_sem_holder(sem), 0);
    EXPECT_EQUAL(csk_sem_trywait(sem, 0, 1), EBUSY);
    EXPECT_EQUAL(csk_sem_post(sem, 1), 0);
    EXPECT(csk_sem_take_fast(sem, 1));
}
CLIENT(fork_beside_sem_note, .setup = make_noting, .threads = { forks_and_uses_it, enters_as_holder }, .preemptions = 2)
