/* clients_sem_async.c: asynchronous waiters at the semaphore: grants, deadlines, cancellation, memory that goes with
 * the function. */
#include "sem_fixture.h"

/* ---- Granted by a signal ----------------------------------------------------------------------------------------- */

static void gives(void) { signal_some(1); }
static void gives_two(void) { signal_some(2); }
static void takes(void) { wait_for(0, 1); }
static void queues(void) { queue_async(0, 0, 1, CSK_NEVER, note); }

static void notes_data(csk_waiter_t *waiter, void *context, int status) {
    EXPECT_EQUAL(__atomic_load_n(&shared->data, __ATOMIC_RELAXED), 7);
    note(waiter, context, status);
}
static void gives_data(void) {
    __atomic_store_n(&shared->data, 7, __ATOMIC_RELAXED);
    signal_some(1);
}
static void queues_for_data(void) { queue_async(0, 0, 1, CSK_NEVER, notes_data); }
static void was_granted(void) {
    EXPECT_EQUAL(shared->called, 1);
    EXPECT_EQUAL(shared->status[0], 1000);
    is_conserved();
}
CLIENT_SEM(sem_async_hands_over, make_empty, .threads = { gives_data, queues_for_data }, .check = was_granted,
           .invariant = is_published, .preemptions = 3)
CLIENT_SEM(sem_async_and_thread, make_empty, .threads = { gives_two, queues, takes }, .check = was_granted,
           .invariant = is_published, .preemptions = 1)

/* A waiter is raised above the one before it while a permit comes, which one of the two gets. */
static void queues_two_and_raises(void) {
    queue_async(0, 1, 1, CSK_NEVER, note);
    queue_async(1, 0, 1, CSK_NEVER, note);
    explore_set(&shared->flags[0], 1);
    int status = csk_sem_raise(sem, csk_rank(2, CSK_PLACE_BACK), &shared->waiters[1]);
    EXPECT(status == 0 || status == ENOENT);
    shared->flags[1] = 1;
}
static void gives_beside_a_raise(void) {
    explore_wait(&shared->flags[0], 1);
    bool was_raised = shared->flags[1];
    signal_some(1);
    EXPECT(!was_raised || shared->order[0] == 11);
    signal_some(1);
}
CLIENT_SEM(sem_raised_beside_signals, make_empty, .threads = { queues_two_and_raises, gives_beside_a_raise },
           .check = is_conserved, .invariant = is_published, .preemptions = 2)

/* The first asks for more than there is. Who is raised above it is served at once, and cancelled at the same time or
 * not. */
static void raises_above_a_large_one(void) {
    queue_async(0, 1, 2, CSK_NEVER, note);
    queue_async(1, 0, 1, CSK_NEVER, note);
    explore_set(&shared->flags[0], 1);
    EXPECT_EQUAL(csk_sem_raise(sem, csk_rank(0, CSK_PLACE_BACK), &shared->waiters[0]), 0); /* that is lower */
    int status = csk_sem_raise(sem, csk_rank(2, CSK_PLACE_BACK), &shared->waiters[1]);
    EXPECT(status == 0 || status == ENOENT);
    if (status == 0) EXPECT_EQUAL(shared->status[1], 1000);
    signal_some(1 + (status == 0 ? 1 : 0));
}
static void cancels_the_small_one(void) {
    explore_wait(&shared->flags[0], 1);
    csk_sem_cancel(sem, &shared->waiters[1]);
}
CLIENT_SEM(sem_raised_above_a_large_one, make_one, .threads = { raises_above_a_large_one, cancels_the_small_one },
           .check = is_conserved, .invariant = is_published, .preemptions = 2)

/* One signal serves three functions, in order, before it returns. */
static void queues_three(void) {
    for (int i = 0; i < 3; i++) queue_async(i, 0, 1, CSK_NEVER, note);
    explore_set(&shared->flags[0], 1);
}
static void gives_three(void) {
    explore_wait(&shared->flags[0], 1);
    signal_some(3);
    for (int i = 0; i < 3; i++) EXPECT_EQUAL(shared->order[i], 10 + i);
}
CLIENT_SEM(sem_async_one_signal_serves_three, make_empty, .threads = { gives_three, queues_three },
           .check = is_conserved, .invariant = is_published, .preemptions = 1)

/* One signal serves threads and functions. */
static void queues_with_threads(void) {
    queue_async(0, 0, 1, CSK_NEVER, note);
    await_waiting(3);
    signal_some(3);
}
CLIENT_SEM(sem_async_one_signal_serves_both, make_empty, .threads = { queues_with_threads, takes, takes },
           .check = was_granted, .invariant = is_published, .preemptions = 1)

static void notes_and_gives_back(csk_waiter_t *waiter, void *context, int status) {
    note(waiter, context, status);
    EXPECT_EQUAL(status, 0);
    section();
    give_back(1);
}
static void queues_0(void) { queue_async(0, 0, 1, CSK_NEVER, notes_and_gives_back); }
static void queues_1(void) { queue_async(1, 0, 1, CSK_NEVER, notes_and_gives_back); }
static void enters_and_leaves(void) {
    wait_for(0, 1);
    section();
    give_back(1);
}
CLIENT_SEM(sem_async_chain, make_one, .threads = { queues_0, queues_1, enters_and_leaves }, .check = is_conserved,
           .invariant = is_published, .preemptions = 1)

/* A function queues its own waiter again. */
static void queues_again(csk_waiter_t *waiter, void *context, int status) {
    (void)context;
    EXPECT_EQUAL(status, 0);
    section();
    bool more = shared->called++ < 2;
    if (more)
        EXPECT_EQUAL(csk_sem_wait_async(sem, csk_rank(0, CSK_PLACE_BACK), waiter, 1, CSK_NEVER, queues_again, NULL), 0);
    EXPECT_EQUAL(csk_sem_post(sem, 1), 0);
}
static void queues_again_0(void) { queue_async(0, 0, 1, CSK_NEVER, queues_again); }
CLIENT_SEM(sem_async_again_from_function, make_one, .threads = { queues_again_0, enters_and_leaves },
           .check = is_conserved, .invariant = is_published, .preemptions = 2)

/* A waiter in use is refused, and stays as it was. */
static void is_refused_and_granted(void) {
    queues();
    EXPECT_EQUAL(csk_sem_wait_async(sem, csk_rank(0, CSK_PLACE_BACK), &shared->waiters[0], 2, CSK_NEVER, note, NULL),
                 EBUSY);
    EXPECT_EQUAL(csk_sem_waiting(sem), 1);
    explore_set(&shared->flags[0], 1);
    explore_wait(&shared->called, 1);
    EXPECT_EQUAL(csk_sem_cancel(sem, &shared->waiters[0]), ENOENT);
}
static void gives_to_a_waiter(void) {
    explore_wait(&shared->flags[0], 1);
    signal_some(1);
}
CLIENT_SEM(sem_async_in_use, make_empty, .threads = { is_refused_and_granted, gives_to_a_waiter }, .check = was_granted,
           .invariant = is_published, .preemptions = 2)

/* ---- Deadlines and cancellation ---------------------------------------------------------------------------------- */

static void queues_timed(void) { queue_async(0, 0, 1, explore_now() + 20000, note); }
static void called_once(void) {
    EXPECT_EQUAL(shared->called, 1);
    int status = shared->status[0] - 1000;
    EXPECT(status == 0 || status == ETIMEDOUT || status == ECANCELED);
    is_conserved();
}
CLIENT_SEM(sem_async_deadline_or_grant, make_empty, .threads = { gives, queues_timed }, .check = called_once,
           .invariant = is_published, .preemptions = 2)

static void queues_and_cancels(void) {
    queues();
    int status = csk_sem_cancel(sem, &shared->waiters[0]);
    EXPECT(status == 0 || status == ENOENT);
    shared->flags[1] = status == 0 ? 1000 + ECANCELED : 1000;
}
static void as_the_cancel_said(void) {
    EXPECT_EQUAL(shared->status[0], shared->flags[1]);
    called_once();
}
CLIENT_SEM(sem_async_cancel_or_grant, make_empty, .threads = { gives, queues_and_cancels }, .check = as_the_cancel_said,
           .invariant = is_published, .preemptions = 3)

static void cancels(void) {
    explore_wait(&shared->flags[0], 1);
    int status = csk_sem_cancel(sem, &shared->waiters[0]);
    EXPECT(status == 0 || status == ENOENT);
}
static void queues_timed_and_tells(void) {
    queues_timed();
    explore_set(&shared->flags[0], 1);
}
CLIENT_SEM(sem_async_cancel_deadline_or_grant, make_empty, .threads = { gives, cancels, queues_timed_and_tells },
           .check = called_once, .invariant = is_published, .preemptions = 1)

/* A large request stands first, and leaves: whoever stands behind it gets the permit. */
static void queues_large_and_cancels(void) {
    queue_async(0, HIGH, 2, CSK_NEVER, note);
    EXPECT_EQUAL(csk_sem_cancel(sem, &shared->waiters[0]), 0);
    EXPECT_EQUAL(shared->status[0], 1000 + ECANCELED);
}
CLIENT_SEM(sem_async_cancel_of_a_large_one_serves, make_one, .threads = { queues_large_and_cancels, takes },
           .check = is_conserved, .invariant = is_published, .preemptions = 2)
static void queues_large_timed(void) { queue_async(0, HIGH, 2, explore_now() + 20000, note); }
static void queues_behind(void) {
    queue_async(1, 0, 1, CSK_NEVER, note);
    explore_wait(&shared->called, 2);
}
static void timed_out_and_granted(void) {
    EXPECT_EQUAL(shared->status[0], 1000 + ETIMEDOUT);
    EXPECT_EQUAL(shared->status[1], 1000);
    is_conserved();
}
CLIENT_SEM(sem_async_timeout_of_a_large_one_serves, make_one, .threads = { queues_large_timed, queues_behind },
           .check = timed_out_and_granted, .invariant = is_published, .preemptions = 2)

/* ---- Memory that goes with the function -------------------------------------------------------------------------- */

static void frees_itself(csk_waiter_t *waiter, void *context, int status) {
    (void)context;
    if (status == 0) shared->taken += waiter->permits;
    shared->called++;
    explore_free(waiter, sizeof *waiter);
}
static void queue_freed(int64_t deadline, csk_waiter_function_t function) {
    shared->freed = explore_allocate(sizeof *shared->freed);
    EXPECT_EQUAL(csk_sem_wait_async(sem, csk_rank(0, CSK_PLACE_BACK), shared->freed, 1, deadline, function, NULL), 0);
}
static void queues_freed(void) { queue_freed(CSK_NEVER, frees_itself); }
static void queues_freed_timed(void) { queue_freed(explore_now() + 20000, frees_itself); }
CLIENT_SEM(sem_async_freed_by_function, make_empty, .threads = { gives, queues_freed }, .check = is_conserved,
           .invariant = is_published, .preemptions = 3)
CLIENT_SEM(sem_async_freed_after_deadline, make_empty, .threads = { gives, queues_freed_timed }, .check = is_conserved,
           .invariant = is_published, .preemptions = 2)

/* With the permit, the semaphore is gone too. */
static void frees_both(csk_waiter_t *waiter, void *context, int status) {
    (void)context;
    explore_free(waiter, sizeof *waiter);
    if (status != 0) return;
    EXPECT_EQUAL(csk_sem_destroy(sem), 0);
    explore_free(sem, sizeof *sem);
}
static void queues_both_freed(void) { queue_freed(CSK_NEVER, frees_both); }
static void queues_both_freed_timed(void) { queue_freed(explore_now() + 20000, frees_both); }
CLIENT_SEM(sem_async_frees_both, make_empty, .threads = { gives, queues_both_freed }, .preemptions = 3)
CLIENT_SEM(sem_async_frees_both_or_times_out, make_empty, .threads = { gives, queues_both_freed_timed },
           .preemptions = 2)
