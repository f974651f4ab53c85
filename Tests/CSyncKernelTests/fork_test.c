/* fork_test.c: the child of a process with many threads goes on with what its thread held, and with everything
 * fresh. */
#include <csynckernel/csynckernel.h>

#include <sys/wait.h>

#include "test.h"

static csk_gate_t busy = CSK_GATE_INITIALIZER;
static int stop, parent_fired, child_fired;

static void *keep_busy(void *context) {
    while (!LOAD(&stop)) {
        CHECK_STATUS(csk_gate_lock(&busy, (int32_t)(intptr_t)context), 0);
        CHECK_STATUS(csk_gate_unlock(&busy), 0);
    }
    return NULL;
}

static void fire(csk_timer_t *timer, void *context) {
    (void)timer;
    ADD((int *)context, 1);
}

static void note_status(csk_gate_waiter_t *waiter, void *context, int status) {
    (void)waiter;
    STORE((int *)context, status);
}

struct counter {
    csk_gate_t *gate;
    long count;
};

static void *count(void *context) {
    struct counter *counter = context;
    for (int i = 0; i < 5000; i++) {
        CHECK_STATUS(csk_gate_lock(counter->gate, 0), 0);
        counter->count++;
        CHECK_STATUS(csk_gate_unlock(counter->gate), 0);
    }
    return NULL;
}

static void check_child(csk_gate_t *held, csk_mutex_t *mutex, csk_timer_t *of_parent) {
    alarm(TEST_WATCHDOG_S);
    CHECK_STATUS(csk_gate_lock(held, 0), EDEADLK);
    CHECK_STATUS(csk_gate_unlock(held), 0);
    CHECK_STATUS(csk_mutex_unlock(mutex), 0);
    CHECK_STATUS(csk_mutex_destroy(mutex), 0);

    csk_gate_t fresh = CSK_GATE_INITIALIZER;
    struct counter counters[2] = { { &fresh, 0 }, { held, 0 } };
    pthread_t threads[4];
    for (int i = 0; i < 4; i++) threads[i] = start_thread(count, &counters[i % 2]);
    for (int i = 0; i < 4; i++) join_thread(threads[i]);
    for (int i = 0; i < 2; i++) CHECK_EQ(counters[i].count, 10000);

    CHECK_STATUS(csk_timer_cancel(of_parent), ENOENT);
    csk_timer_t timer = { .context = NULL };
    CHECK_STATUS(csk_timer_start(&timer, csk_deadline_after(1000000), fire, &child_fired), 0);
    wait_until(LOAD(&child_fired) == 1);
    CHECK_EQ(LOAD(&parent_fired), 0);

    csk_gate_waiter_t waiter = { .word = 0 };
    int status = 0;
    CHECK_STATUS(csk_gate_lock(&fresh, 0), 0);
    CHECK_STATUS(csk_gate_lock_async(&fresh, &waiter, 0, csk_deadline_after(1000000), note_status, &status), 0);
    wait_until(LOAD(&status) == ETIMEDOUT);
    CHECK_STATUS(csk_gate_unlock(&fresh), 0);
    _exit(0);
}

static void a_child_unlocks_what_its_thread_held(void) {
#ifdef __SANITIZE_THREAD__
    /* It counts the parent's threads as alive in the child, and takes new ones with their ids for duplicates. */
    printf("not under ThreadSanitizer; ");
    return;
#endif
    csk_gate_t held = CSK_GATE_INITIALIZER;
    csk_mutex_t mutex = CSK_MUTEX_INITIALIZER;
    csk_timer_t timer = { .context = NULL };
    pthread_t threads[3];
    for (intptr_t i = 0; i < 3; i++) threads[i] = start_thread(keep_busy, (void *)i);
    CHECK_STATUS(csk_timer_start(&timer, csk_deadline_after(INT64_C(1000000000) * 600), fire, &parent_fired), 0);
    CHECK_STATUS(csk_gate_lock(&held, 0), 0);
    CHECK_STATUS(csk_mutex_lock(&mutex), 0);
    fflush(stdout);
    for (int round = 0; round < 5; round++) {
        pid_t child = fork();
        CHECK(child >= 0);
        if (child == 0) check_child(&held, &mutex, &timer);
        int status = 0;
        CHECK_EQ(waitpid(child, &status, 0), child);
        CHECK(WIFEXITED(status));
        CHECK_EQ(WEXITSTATUS(status), 0);
    }
    CHECK_STATUS(csk_timer_cancel(&timer), 0);
    CHECK_STATUS(csk_gate_unlock(&held), 0);
    CHECK_STATUS(csk_mutex_unlock(&mutex), 0);
    STORE(&stop, 1);
    for (int i = 0; i < 3; i++) join_thread(threads[i]);
}

TEST_MAIN(TEST(a_child_unlocks_what_its_thread_held))
