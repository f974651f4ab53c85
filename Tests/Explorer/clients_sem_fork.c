/* clients_sem_fork.c: a thread forks at any step of others at the semaphore, and goes on alone with what permits there
 * are. */
#include "sem_fixture.h"

/* Before a wait and after a signal. Together with `given` and `taken` they say what a child may find. */
static struct { int64_t asked, added; } * known;

static void make_known(uint32_t permits) {
    make(permits, 0);
    known = explore_allocate(sizeof *known);
    known->added = permits;
}
static void make_known_empty(void) { make_known(0); }
static void make_known_one(void) { make_known(1); }

static void takes(void) {
    known->asked++;
    wait_for(0, 1);
}
static void takes_two_timed(void) {
    known->asked += 2;
    wait_until_20_us(1, 2);
}
static void gives(void) {
    signal_some(1);
    known->added++;
}
static void gives_two(void) {
    signal_some(2);
    known->added += 2;
}

/* Nobody waits in the child, and it takes each permit that there is, once. */
static void uses_it_alone(void) {
    int64_t least = known->added - known->asked, most = shared->given - shared->taken, found = csk_sem_permits(sem);
    EXPECT(least <= found && found <= most);
    EXPECT_EQUAL(csk_sem_waiting(sem), 0);
    for (; found > 0; found--) EXPECT_EQUAL(csk_sem_trywait(sem, 0, 1), 0);
    EXPECT_EQUAL(csk_sem_trywait(sem, HIGH, 1), EBUSY);
    EXPECT_EQUAL(csk_sem_timedwait(sem, 0, 1, explore_now() + 3000), ETIMEDOUT);
    EXPECT_EQUAL(csk_sem_post(sem, 2), 0);
    EXPECT_EQUAL(csk_sem_wait(sem, 0, 2), 0);
    EXPECT_EQUAL(csk_sem_permits(sem), 0);
    EXPECT_EQUAL(csk_sem_destroy(sem), 0);
}
static void fork_here(void) {
    explore_fork();
    shared->is_child = 1;
}
static void forks(void) {
    fork_here();
    uses_it_alone();
}
CLIENT_SEM(fork_beside_sem, make_known_empty, .threads = { forks, gives_two, takes }, .preemptions = 1)
CLIENT_SEM(fork_beside_sem_with_a_large_wait, make_known_one, .threads = { forks, gives, takes_two_timed },
           .preemptions = 1)

/* The child begins with something else than a look at who waits. */
static void forks_and_gives(void) {
    fork_here();
    int64_t found = csk_sem_permits(sem);
    EXPECT_EQUAL(csk_sem_post(sem, 1), 0);
    EXPECT_EQUAL(csk_sem_permits(sem), found + 1);
    EXPECT(csk_sem_take_fast(sem, (uint32_t)found + 1));
}
static void forks_and_tries(void) {
    fork_here();
    int64_t found = csk_sem_permits(sem);
    EXPECT_EQUAL(csk_sem_trywait(sem, -1, 1), found > 0 ? 0 : EBUSY);
}
static void forks_and_waits(void) {
    fork_here();
    uint32_t found = (uint32_t)csk_sem_permits(sem);
    EXPECT_EQUAL(csk_sem_timedwait(sem, -1, found + 1, explore_now() + 3000), ETIMEDOUT);
    if (found > 0) EXPECT_EQUAL(csk_sem_wait(sem, -1, found), 0);
}
CLIENT_SEM(fork_beside_sem_and_signal, make_known_one, .threads = { forks_and_gives, takes, takes_two_timed },
           .preemptions = 1)
CLIENT_SEM(fork_beside_sem_and_try, make_known_one, .threads = { forks_and_tries, gives, takes_two_timed },
           .preemptions = 1)
CLIENT_SEM(fork_beside_sem_and_wait, make_known_one, .threads = { forks_and_waits, gives, takes_two_timed },
           .preemptions = 1)

/* The size and what is free change together, or not at all. */
static void resizes(void) { EXPECT_EQUAL(csk_sem_resize(sem, 3), 0); }
static void waits_in_vain(void) { EXPECT(!wait_until_20_us(0, 8)); }
static void forks_and_resizes(void) {
    fork_here();
    EXPECT_EQUAL(csk_sem_resize(sem, 5), 0);
    EXPECT_EQUAL(csk_sem_permits(sem), 5);
}
CLIENT_SEM(fork_beside_a_resize_of_sem, make_known_one, .threads = { forks_and_resizes, resizes, waits_in_vain },
           .preemptions = 1)

/* A waiter of the parent is idle in the child, where its function is not called for what the parent asked. */
static void is_called(csk_waiter_t *waiter, void *context, int status) {
    (void)waiter, (void)status;
    EXPECT_EQUAL(shared->is_child, context != NULL);
    shared->called++;
}
static void queues(void) {
    known->asked++;
    EXPECT_EQUAL(csk_sem_wait_async(sem, csk_rank(0, CSK_PLACE_BACK), &shared->waiters[0], 1, explore_now() + 4000,
                                    is_called, NULL),
                 0);
}
static void forks_and_cancels(void) {
    fork_here();
    EXPECT_EQUAL(csk_sem_cancel(sem, &shared->waiters[0]), ENOENT);
    uint32_t before = shared->called;
    EXPECT_EQUAL(
        csk_sem_wait_async(sem, csk_rank(0, CSK_PLACE_BACK), &shared->waiters[0], 1, CSK_NEVER, is_called, shared), 0);
    EXPECT_EQUAL(csk_sem_post(sem, 1), 0);
    EXPECT_EQUAL(shared->called, before + 1);
    EXPECT_EQUAL(csk_sem_waiting(sem), 0);
}
CLIENT_SEM(fork_with_a_callback_of_sem, make_known_empty, .threads = { forks_and_cancels, queues }, .preemptions = 2)

/* The parent's waiters, and how often they were overtaken, say nothing of who goes next in the child. */
static void make_known_limited(void) {
    make_with(0, (csk_sem_attr_t){ .bypass_limit = 1 });
    known = explore_allocate(sizeof *known);
}
static void gives_and_passes(void) {
    signal_some(1);
    int status = csk_sem_trywait(sem, HIGH, 1);
    EXPECT(status == 0 || status == EBUSY);
}
static void forks_and_is_passed_once(void) {
    fork_here();
    for (int32_t found = csk_sem_permits(sem); found > 0; found--) EXPECT_EQUAL(csk_sem_trywait(sem, HIGH, 1), 0);
    queue_async(0, 0, 2, CSK_NEVER, note);
    EXPECT_EQUAL(csk_sem_post(sem, 1), 0);
    EXPECT_EQUAL(csk_sem_trywait(sem, HIGH, 1), 0);
    EXPECT_EQUAL(csk_sem_post(sem, 1), 0);
    EXPECT_EQUAL(csk_sem_trywait(sem, HIGH, 1), EBUSY);
    EXPECT_EQUAL(csk_sem_post(sem, 1), 0);
    EXPECT_EQUAL(shared->called, 1);
    EXPECT_EQUAL(csk_sem_waiting(sem), 0);
}
CLIENT_SEM(fork_beside_limited_sem, make_known_limited,
           .threads = { forks_and_is_passed_once, takes_two_timed, gives_and_passes }, .preemptions = 1)
