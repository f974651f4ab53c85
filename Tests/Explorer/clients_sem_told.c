/* clients_sem_told.c: a thread is told that there are as many permits as it asks for. Others may take them before it
 * comes, as long as it is patient; more permits let it in at once. */
#include "late_fixture.h"
#include "sem_fixture.h"

static void takes(void) { wait_for(0, 1); }
static void takes_two(void) { wait_for(0, 2); }
static void takes_timed(void) { wait_until_20_us(0, 1); }

/* ---- It does not come -------------------------------------------------------------------------------------------- */

/* Thread 1 is late from the moment at which it is told, while it is parked; not once it was granted its permits. */
static bool is_told(int thread, const void *word) { return is_late_with(thread, word, WORD_TRY); }
static void make_late(void) {
    make_empty();
    was_late = false;
}
static void make_late_limited(void) {
    make_with(0, (csk_sem_attr_t){ .bypass_limit = 2 });
    was_late = false;
}
#define CLIENT_LATE(name, maker, ...) \
    CLIENT_SEM(name, maker, .check = is_conserved, .invariant = is_published, .is_late = is_told, __VA_ARGS__)

static int fast_or(int status) { return policy == CSK_SEM_FAST ? 0 : status; }
static void try_and_give_back(int32_t priority, uint32_t permits) {
    int status = csk_sem_trywait(sem, priority, permits);
    EXPECT_EQUAL(status, fast_or(EBUSY));
    if (status == 0) EXPECT_EQUAL(csk_sem_post(sem, permits), 0);
}

/* Who asks for as much passes it, and a higher rank; not who asks for less, or has a lower rank. */
static void passes_who_was_told(void) {
    explore_wait_asleep(1);
    signal_some(2);
    EXPECT_EQUAL(csk_sem_waiting(sem), policy == CSK_SEM_FAST);
    EXPECT_EQUAL(csk_sem_trywait(sem, 0, 1), EBUSY);
    EXPECT_EQUAL(csk_sem_timedwait(sem, 0, 1, 0), ETIMEDOUT);
    EXPECT_EQUAL(csk_sem_trywait(sem, 0, 3), EBUSY);
    EXPECT_EQUAL(csk_sem_trywait(sem, -1, 2), EBUSY);
    for (int i = 0; i < 2; i++) try_and_give_back(0, 2);
    try_and_give_back(HIGH, 1);
    if (policy == CSK_SEM_FAST) {
        EXPECT_EQUAL(csk_sem_wait(sem, 0, 2), 0);
        EXPECT_EQUAL(csk_sem_trywait(sem, 0, 2), EBUSY);
        EXPECT_EQUAL(csk_sem_post(sem, 2), 0);
    }
}
CLIENT_LATE(sem_told_is_passed, make_late, .threads = { passes_who_was_told, takes_two }, .preemptions = 2)

/* A callback comes, and queues behind it. What is more than it was told of lets it in, and then the callback. */
static void gives_more_than_it_was_told_of(void) {
    explore_wait_asleep(1);
    signal_some(1);
    queue_async(0, 0, 1, CSK_NEVER, note);
    EXPECT_EQUAL(shared->called, 0);
    signal_some(1);
    EXPECT_EQUAL(shared->called, 1);
    EXPECT_EQUAL(csk_sem_waiting(sem), 0);
}
CLIENT_LATE(sem_told_and_given_more, make_late, .threads = { gives_more_than_it_was_told_of, takes }, .preemptions = 2)

/* As many as may have passed it: it is handed the next. */
static void passes_as_often_as_may_be(void) {
    explore_wait_asleep(1);
    signal_some(1);
    for (int i = 0; i < 2; i++) try_and_give_back(0, 1);
    EXPECT_EQUAL(csk_sem_waiting(sem), 0);
    EXPECT_EQUAL(csk_sem_trywait(sem, HIGH, 1), EBUSY);
}
CLIENT_LATE(sem_told_and_passed_too_often, make_late_limited, .threads = { passes_as_often_as_may_be, takes },
            .preemptions = 2)

/* ---- It comes ---------------------------------------------------------------------------------------------------- */

#define CLIENT_TOLD(name, ...) \
    CLIENT_SEM(name, make_empty, .check = is_conserved, .invariant = is_published, __VA_ARGS__)

/* What was written before the permit was given is read after it was taken: by who was told, or by who passes it. */
static void gives_data(void) {
    __atomic_store_n(&shared->data, 7, __ATOMIC_RELAXED);
    signal_some(1);
}
static void takes_data(void) {
    wait_for(0, 1);
    EXPECT_EQUAL(__atomic_load_n(&shared->data, __ATOMIC_RELAXED), 7);
    give_back(1);
}
CLIENT_TOLD(sem_told_hands_over, .threads = { gives_data, takes_data }, .preemptions = 2)
CLIENT_TOLD(sem_told_hands_over_twice, .threads = { gives_data, takes_data, takes_data }, .preemptions = 1)

/* It is told, and granted its permit while it comes; or its deadline has passed by then. */
static void gives_twice(void) {
    explore_wait_asleep(1);
    signal_some(1);
    signal_some(1);
}
static void gives_one_by_one(void) {
    await_waiting(2);
    signal_some(1);
    signal_some(1);
}
CLIENT_TOLD(sem_told_and_granted, .threads = { gives_one_by_one, takes, takes }, .preemptions = 1)
CLIENT_TOLD(sem_told_and_granted_or_timed_out, .threads = { gives_twice, takes_timed, takes_timed }, .preemptions = 1)

/* As many are free as may be, and it was told of these: they are its, and the next go to who stands behind it. */
static void make_for_one(void) { make(0, 1); }
static void gives_one_more(void) {
    await_waiting(2);
    signal_some(1);
    bool passed = csk_sem_trywait(sem, 0, 1) == 0;
    EXPECT_EQUAL(csk_sem_post(sem, 2), EOVERFLOW);
    if (passed) EXPECT_EQUAL(csk_sem_post(sem, 1), 0);
    signal_some(1);
}
CLIENT_SEM(sem_told_of_as_many_as_may_be, make_for_one, .check = is_conserved, .invariant = is_published,
           .threads = { gives_one_more, takes, takes }, .preemptions = 1)

/* A higher rank comes while it does. */
static void comes_above(void) {
    explore_wait(&shared->flags[0], 1);
    wait_for(HIGH, 1);
}
static void gives_to_one_and_to_another(void) {
    await_waiting(1);
    explore_set(&shared->flags[0], 1);
    signal_some(1);
    signal_some(1);
}
CLIENT_TOLD(sem_told_and_overtaken, .threads = { gives_to_one_and_to_another, takes, comes_above }, .preemptions = 1)

/* A callback that asks for more comes above it. From then on it takes nothing that the callback waits for. */
static void queues_above_and_gives(void) {
    explore_wait_asleep(1);
    signal_some(1);
    queue_async(0, HIGH, 2, CSK_NEVER, note);
    bool both_wait = csk_sem_waiting(sem) == 2;
    signal_some(1);
    EXPECT(!both_wait || shared->called == 1);
    signal_some(1);
}
CLIENT_TOLD(sem_told_and_barred, .threads = { queues_above_and_gives, takes }, .preemptions = 2)

/* It was passed, and has waited for so long that it is patient no more: the next permit is handed to it. */
static void passes_who_has_waited_long(void) {
    await_waiting(1);
    for (int64_t end = explore_now() + 1000000; explore_now() < end;) explore_pause("until it has waited for long");
    signal_some(1);
    if (csk_sem_trywait(sem, 0, 1) != 0) return;
    explore_wait_asleep(1); /* it has come in vain */
    EXPECT_EQUAL(csk_sem_post(sem, 1), 0);
    EXPECT_EQUAL(csk_sem_trywait(sem, 0, 1), EBUSY);
    EXPECT_EQUAL(csk_sem_waiting(sem), 0);
}
CLIENT_TOLD(sem_told_and_impatient, .threads = { passes_who_has_waited_long, takes }, .preemptions = 2)
