/* clients_sem_late.c: a thread that was granted permits, or told of them, has no processor, and none for as long as
 * others are there. What was granted is its own, what it was told of is free. Nobody else waits for it: neither those
 * that the same signal serves, nor those behind it. */
#include "late_fixture.h"
#include "sem_fixture.h"

/* Thread 1 is late from the moment at which it is granted its permits, or told, while it is parked. */
static bool is_answered(int thread, const void *word) {
    return is_late_if(is_first_at_its_own(thread, word) && *(const uint32_t *)word >= WORD_TRY);
}
static void make_late(void) {
    make_empty();
    was_late = false;
}
#define CLIENT_LATE(name, ...) \
    CLIENT_SEM(name, make_late, .invariant = is_published, .is_late = is_answered, __VA_ARGS__)

static void notes_its_turn(int who) {
    wait_for(0, 1);
    shared->order[shared->served++] = who;
}
/* Thread 1 stands first. */
static void is_first(void) {
    wait_for(HIGH, 1);
    shared->order[shared->served++] = 1;
}
static void is_second(void) {
    wait_for(0, 1);
    explore_set(&shared->flags[2], 1);
    shared->order[shared->served++] = 2;
}
static void is_third(void) { notes_its_turn(3); }
static void late_was_last(void) {
    EXPECT_EQUAL(shared->served, 3);
    if (was_late) EXPECT_EQUAL(shared->order[2], 1);
    is_conserved();
}

/* One signal serves all three. */
static void serves_three(void) {
    await_waiting(3);
    signal_some(3);
}
CLIENT_LATE(sem_late_of_three, .threads = { serves_three, is_first, is_second, is_third }, .check = late_was_last,
            .preemptions = 1)

/* The next signals serve who stands behind it, and then whoever comes. */
static void serves_one_by_one(void) {
    await_waiting(2);
    signal_some(1);
    signal_some(1);
    if (policy == CSK_SEM_FAST) explore_wait(&shared->flags[2], 1); /* the second was told, and comes */
    EXPECT(csk_sem_waiting(sem) == 0);
    EXPECT(csk_sem_trywait(sem, HIGH, 1) == EBUSY);
    signal_some(1);
    notes_its_turn(4);
}
CLIENT_LATE(sem_late_before_others, .threads = { serves_one_by_one, is_first, is_second }, .check = late_was_last,
            .preemptions = 1)

/* Its deadline passes when it has its permit. It keeps that, and nobody else is told again. */
static void may_be_too_late(void) {
    if (wait_until_20_us(HIGH, 1)) shared->order[shared->served++] = 1;
}
static void serves_two_timed(void) {
    explore_wait_asleep(1);
    explore_wait_asleep(2);
    signal_some(2);
    for (int64_t end = explore_now() + 30000; explore_now() < end;) explore_pause("until its deadline has passed");
}
static void second_was_served(void) {
    EXPECT(shared->served >= 1);
    if (was_late) EXPECT_EQUAL(shared->order[0], 2);
    if (was_late) EXPECT_EQUAL(shared->served, 2);
    is_conserved();
}
CLIENT_LATE(sem_late_and_timed, .threads = { serves_two_timed, may_be_too_late, is_second }, .check = second_was_served,
            .preemptions = 1)

/* Who unlocks the queue wakes thread 1, which does not come. */
static bool is_woken_at_the_queue(int thread, const void *word) {
    if (thread != 1 || word != &sem->queue_lock) return false;
    was_late = was_late || sem->queue_lock != QUEUE_LOCK_CONTENDED;
    return was_late;
}
static void make_with_one_that_waits(void) {
    make_late();
    queue_async(0, 0, 1, CSK_NEVER, note);
}
static void counts(void) {
    EXPECT_EQUAL(csk_sem_waiting(sem), 1);
    EXPECT_EQUAL(csk_sem_waiting(sem), 1);
}
CLIENT_SEM(sem_late_at_the_queue, make_with_one_that_waits, .is_late = is_woken_at_the_queue,
           .threads = { counts, counts, counts }, .preemptions = 2)
