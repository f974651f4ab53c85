/* sem_holder_test.c: a semaphore of one permit notes who has it, while somebody wants to know. */
#include <csynckernel/csynckernel.h>

#include "child.h"
#include "test.h"

static csk_held_sem_t held;
static csk_sem_t *const sem = &held.placed.sem;

static void make(uint32_t permits) {
    CHECK_STATUS(csk_sem_init(sem, permits, 0), 0);
    csk_held_sem_begin_noting(&held);
}
static void make_noting(void) {
    csk_inspect_callbacks(true);
    make(1);
}
static void end(int32_t permits) {
    CHECK_EQ(csk_sem_waiting(sem), 0);
    CHECK_EQ(csk_sem_permits(sem), permits);
    CHECK_STATUS(csk_sem_destroy(sem), 0);
    csk_inspect_callbacks(false);
}
static uint64_t this_thread(void) { return CSK_SEM_HELD_BY_THREAD | (uint32_t)csk_thread_id(); }

static uint64_t id_of_waiter;
static uint32_t may_leave;

static void *wait_and_signal(void *unused) {
    (void)unused;
    STORE(&id_of_waiter, this_thread());
    CHECK_STATUS(csk_sem_wait(sem, 0, 1), 0);
    wait_until(LOAD(&may_leave));
    CHECK_STATUS(csk_sem_post(sem, 1), 0);
    return NULL;
}
static pthread_t queue_waiter(void) {
    STORE(&may_leave, 0);
    pthread_t thread = start_thread(wait_and_signal, NULL);
    wait_until(csk_sem_waiting(sem) == 1);
    return thread;
}
static void let_leave(pthread_t thread) {
    STORE(&may_leave, 1);
    join_thread(thread);
}
static void *signal_one(void *unused) {
    (void)unused;
    CHECK_STATUS(csk_sem_post(sem, 1), 0);
    return NULL;
}

/* ---- Tests ------------------------------------------------------------------------------------------------------- */

static void nothing_is_noted_unless_somebody_wants_to_know(void) {
    make(1);
    CHECK(csk_sem_take_fast(sem, 1));
    CHECK_EQ(csk_sem_holder(sem), 0);
    CHECK_STATUS(csk_sem_post(sem, 1), 0);
    CHECK_STATUS(csk_sem_destroy(sem), 0);
    csk_inspect_callbacks(true);
    make(2);
    CHECK_STATUS(csk_sem_wait(sem, 0, 1), 0);
    CHECK_EQ(csk_sem_holder(sem), 0);
    CHECK_STATUS(csk_sem_post(sem, 1), 0);
    end(2);
}

static void whoever_takes_the_permit_is_its_holder(void) {
    make_noting();
    CHECK_EQ(csk_sem_holder(sem), 0);
    CHECK_STATUS(csk_sem_wait(sem, 0, 1), 0);
    CHECK_EQ(csk_sem_holder(sem), this_thread());
    CHECK_STATUS(csk_sem_trywait(sem, 0, 1), EBUSY);
    CHECK_STATUS(csk_sem_timedwait(sem, 0, 1, csk_deadline_after(1000000)), ETIMEDOUT);
    CHECK_EQ(csk_sem_holder(sem), this_thread());
    CHECK_STATUS(csk_sem_post(sem, 1), 0);
    CHECK_EQ(csk_sem_holder(sem), 0);
    CHECK_STATUS(csk_sem_trywait(sem, 0, 1), 0);
    CHECK_EQ(csk_sem_holder(sem), this_thread());
    /* It is handed over. */
    pthread_t thread = queue_waiter();
    CHECK_EQ(csk_sem_holder(sem), this_thread());
    CHECK_STATUS(csk_sem_post(sem, 1), 0);
    CHECK_EQ(csk_sem_holder(sem), LOAD(&id_of_waiter));
    let_leave(thread);
    CHECK_EQ(csk_sem_holder(sem), 0);
    end(1);
}

static uint64_t task;
static uint64_t current_task(void) { return task; }

static void note_status(csk_waiter_t *waiter, void *context, int status) {
    (void)waiter;
    *(int *)context = 1000 + status;
}
static void wait_as(uint64_t number, csk_waiter_t *waiter, int *ended) {
    csk_deadlock_suspend(number);
    CHECK_STATUS(csk_sem_wait_async(sem, csk_rank(0, CSK_PLACE_BACK), waiter, 1, CSK_NEVER, note_status, ended), 0);
    csk_deadlock_suspend(0);
}
static void a_task_is_the_holder_whatever_thread_it_is_on(void) {
    csk_waiter_t waiters[2] = { 0 };
    int ended[2] = { 0 };
    csk_deadlock_know_tasks(current_task, NULL);
    make_noting();
    task = 71;
    CHECK_STATUS(csk_sem_wait(sem, 0, 1), 0);
    CHECK_EQ(csk_sem_holder(sem), 71);
    task = 0;
    wait_as(72, &waiters[0], &ended[0]);
    CHECK_EQ(ended[0], 0);
    task = 71;
    CHECK_STATUS(csk_sem_post(sem, 1), 0);
    CHECK_EQ(ended[0], 1000);
    CHECK_EQ(csk_sem_holder(sem), 72);
    task = 72;
    CHECK_STATUS(csk_sem_post(sem, 1), 0);
    task = 0;
    wait_as(73, &waiters[1], &ended[1]);
    CHECK_EQ(ended[1], 1000);
    CHECK_EQ(csk_sem_holder(sem), 73);
    task = 73;
    CHECK_STATUS(csk_sem_post(sem, 1), 0);
    task = 0;
    csk_deadlock_know_tasks(NULL, NULL);
    CHECK_STATUS(csk_sem_wait(sem, 0, 1), 0);
    CHECK_EQ(csk_sem_holder(sem), this_thread());
    CHECK_STATUS(csk_sem_post(sem, 1), 0);
    end(1);
}

/* Somebody else has signalled, more was signalled than was taken, or the size was changed. */
static void what_is_no_lock_has_no_holder(void) {
    make_noting();
    CHECK_STATUS(csk_sem_wait(sem, 0, 1), 0);
    join_thread(start_thread(signal_one, NULL));
    CHECK_EQ(csk_sem_holder(sem), 0);
    CHECK_STATUS(csk_sem_wait(sem, 0, 1), 0);
    CHECK_EQ(csk_sem_holder(sem), 0);
    pthread_t thread = queue_waiter();
    CHECK_EQ(csk_sem_holder(sem), 0);
    CHECK_STATUS(csk_sem_post(sem, 1), 0);
    let_leave(thread);
    end(1);
    for (int form = 0; form < 4; form++) {
        make_noting();
        thread = 0;
        if (form == 0) CHECK_STATUS(csk_sem_post(sem, 1), 0);
        if (form == 1) CHECK_STATUS(csk_sem_post(sem, 2), 0);
        if (form == 2) CHECK_STATUS(csk_sem_resize(sem, 2), 0);
        /* With somebody in the queue the flag stays, and the waiter is served. */
        if (form == 3) {
            CHECK_STATUS(csk_sem_wait(sem, 0, 1), 0);
            thread = queue_waiter();
            CHECK_STATUS(csk_sem_post(sem, 2), 0);
        }
        CHECK_STATUS(csk_sem_wait(sem, 0, 1), 0);
        CHECK_EQ(csk_sem_holder(sem), 0);
        CHECK_STATUS(csk_sem_post(sem, 1), 0);
        if (form == 3) let_leave(thread);
        end(form == 1 ? 3 : 2);
    }
}

static void one_that_was_there_before_begins_when_somebody_must_wait(void) {
    make(1);
    CHECK_STATUS(csk_sem_wait(sem, 0, 1), 0);
    csk_inspect_callbacks(true);
    pthread_t thread = queue_waiter();
    /* Who has it was not noted. */
    CHECK_EQ(csk_sem_holder(sem), 0);
    CHECK_STATUS(csk_sem_post(sem, 1), 0);
    CHECK_EQ(csk_sem_holder(sem), LOAD(&id_of_waiter));
    let_leave(thread);
    CHECK_STATUS(csk_sem_wait(sem, 0, 1), 0);
    CHECK_EQ(csk_sem_holder(sem), this_thread());
    CHECK_STATUS(csk_sem_post(sem, 1), 0);
    end(1);
}

static void it_ends_when_nobody_wants_to_know_any_more(void) {
    make_noting();
    CHECK(!csk_sem_take_fast(sem, 1));
    CHECK_STATUS(csk_sem_wait(sem, 0, 1), 0);
    csk_inspect_callbacks(false);
    CHECK_STATUS(csk_sem_post(sem, 1), 0);
    CHECK(csk_sem_take_fast(sem, 1));
    CHECK_EQ(csk_sem_holder(sem), 0);
    csk_inspect_callbacks(true);
    pthread_t thread = queue_waiter();
    CHECK_STATUS(csk_sem_post(sem, 1), 0);
    CHECK_EQ(csk_sem_holder(sem), LOAD(&id_of_waiter));
    let_leave(thread);
    end(1);
}

static void check_child(void *wants_to_know) {
    if (wants_to_know == NULL) csk_inspect_callbacks(false);
    CHECK_EQ(csk_sem_permits(sem), 0);
    CHECK_STATUS(csk_sem_post(sem, 1), 0);
    CHECK_EQ(csk_sem_holder(sem), 0);
    /* While it notes, no call is made inline. */
    CHECK_EQ(csk_sem_take_fast(sem, 1), wants_to_know == NULL);
    if (wants_to_know != NULL) CHECK_STATUS(csk_sem_wait(sem, 0, 1), 0);
    CHECK_EQ(csk_sem_holder(sem), wants_to_know != NULL ? this_thread() : 0);
    CHECK_STATUS(csk_sem_post(sem, 1), 0);
    CHECK_STATUS(csk_sem_destroy(sem), 0);
}
static void a_child_knows_no_holder(void) {
    make_noting();
    CHECK_STATUS(csk_sem_wait(sem, 0, 1), 0);
    in_a_child(check_child, NULL);
    in_a_child(check_child, sem);
    CHECK_STATUS(csk_sem_post(sem, 1), 0);
    end(1);
}

static void note_in_child(void *unused) {
    (void)unused;
    csk_inspect_callbacks(true);
    for (int round = 0; round < 2; round++) {
        CHECK_STATUS(csk_sem_wait(sem, 0, 1), 0);
        CHECK_EQ(csk_sem_holder(sem), this_thread());
        CHECK_STATUS(csk_sem_post(sem, 1), 0);
        CHECK_EQ(csk_sem_holder(sem), 0);
        make(1);
    }
    end(1);
}
/* The first call at a semaphore that was made in the child once took it for the parent's, and ended its noting. */
static void a_child_notes_holders_of_its_own(void) {
    make_noting();
    in_a_child(note_in_child, NULL);
    end(1);
}

TEST_MAIN(TEST(a_child_knows_no_holder), TEST(a_child_notes_holders_of_its_own),
          TEST(nothing_is_noted_unless_somebody_wants_to_know), TEST(whoever_takes_the_permit_is_its_holder),
          TEST(a_task_is_the_holder_whatever_thread_it_is_on), TEST(what_is_no_lock_has_no_holder),
          TEST(one_that_was_there_before_begins_when_somebody_must_wait),
          TEST(it_ends_when_nobody_wants_to_know_any_more))
