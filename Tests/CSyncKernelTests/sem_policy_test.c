/* sem_policy_test.c: what the policies of a semaphore promise: under STRICT no waiter of one's own priority is passed;
 * under FAST a sleeping thread may be, by a request that is no smaller, and gets its permits all the same. */
#include <csynckernel/csynckernel.h>

#include "sem_fixture.h"

static void *take_two(void *sem) {
    CHECK_STATUS(csk_sem_wait(sem, 0, 2), 0);
    return NULL;
}

/* Two permits come for a thread that waits, and this thread tries to be faster. Returns whether it was. */
static bool passes(uint32_t policy, uint32_t permits) {
    csk_sem_t sem;
    CHECK_STATUS(csk_sem_init_attr(&sem, 0, &(csk_sem_attr_t){ .policy = policy }), 0);
    pthread_t thread = start_thread(take_two, &sem);
    wait_until(csk_sem_waiting(&sem) == 1);
    CHECK_STATUS(csk_sem_post(&sem, 2), 0);
    bool passed = csk_sem_trywait(&sem, 0, permits) == 0;
    if (passed) {
        CHECK_EQ(csk_sem_waiting(&sem), 1);
        CHECK_STATUS(csk_sem_post(&sem, permits), 0);
    }
    join_thread(thread);
    check_idle(&sem, 0);
    return passed;
}

static void a_strict_one_hands_over(void) {
    for (int i = 0; i < 50; i++) CHECK(!passes(CSK_SEM_STRICT, 2));
}
static void a_fast_one_may_be_passed_by_a_request_that_is_no_smaller(void) {
    for (int i = 0; i < 50; i++) CHECK(!passes(CSK_SEM_FAST, 1));
    wait_until(passes(CSK_SEM_FAST, 2));
}

static uint32_t is_over;
static void *keep_taking(void *sem) {
    while (!LOAD(&is_over)) {
        CHECK_STATUS(csk_sem_wait(sem, 0, 1), 0);
        CHECK_STATUS(csk_sem_post(sem, 1), 0);
    }
    return NULL;
}
static void whoever_is_passed_gets_its_permit(void) {
    csk_sem_t sem;
    pthread_t threads[3];
    CHECK_STATUS(csk_sem_init(&sem, 1, 1), 0);
    STORE(&is_over, 0);
    for (int i = 0; i < 3; i++) threads[i] = start_thread(keep_taking, &sem);
    for (int i = 0; i < 100; i++) {
        CHECK_STATUS(csk_sem_wait(&sem, 0, 1), 0);
        sched_yield();
        CHECK_STATUS(csk_sem_post(&sem, 1), 0);
    }
    STORE(&is_over, 1);
    for (int i = 0; i < 3; i++) join_thread(threads[i]);
    check_idle(&sem, 1);
}

/* What knows its holder hands its permit over, whatever it was made with. */
static void one_that_knows_its_holder_is_strict(void) {
    csk_held_sem_t held;
    csk_sem_t *sem = &held.placed.sem;
    for (int i = 0; i < 50; i++) {
        CHECK_STATUS(csk_sem_init(sem, 0, 0), 0);
        csk_held_sem_begin(&held);
        pthread_t thread = start_thread(take_two, sem);
        wait_until(csk_sem_waiting(sem) == 1);
        CHECK_STATUS(csk_sem_post(sem, 2), 0);
        CHECK_EQ(csk_sem_waiting(sem), 0);
        CHECK_STATUS(csk_sem_trywait(sem, 0, 2), EBUSY);
        join_thread(thread);
        check_idle(sem, 0);
    }
}

TEST_MAIN(TEST(a_strict_one_hands_over), TEST(a_fast_one_may_be_passed_by_a_request_that_is_no_smaller),
          TEST(whoever_is_passed_gets_its_permit), TEST(one_that_knows_its_holder_is_strict))
