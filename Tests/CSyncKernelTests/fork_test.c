/* fork_test.c: the child of a process with many threads goes on with what its thread held, and with everything
 * fresh; what the parent's threads waited for, it forgets. */
#include <csynckernel/csynckernel.h>

#include "child.h"

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

static void note_status(csk_waiter_t *waiter, void *context, int status) {
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

struct of_parent {
    csk_gate_t *held;
    csk_mutex_t *mutex;
    csk_timer_t *timer;
};

static void check_child(void *context) {
    struct of_parent *of_parent = context;
    csk_gate_t *held = of_parent->held;
    csk_mutex_t *mutex = of_parent->mutex;
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

    CHECK_STATUS(csk_timer_cancel(of_parent->timer), ENOENT);
    csk_timer_t timer = { .context = NULL };
    CHECK_STATUS(csk_timer_start(&timer, csk_deadline_after(1000000), fire, &child_fired), 0);
    wait_until(LOAD(&child_fired) == 1);
    CHECK_EQ(LOAD(&parent_fired), 0);

    csk_waiter_t waiter = { .word = 0 };
    int status = 0;
    CHECK_STATUS(csk_gate_lock(&fresh, 0), 0);
    CHECK_STATUS(csk_gate_lock_async(&fresh, 0, &waiter, csk_deadline_after(1000000), note_status, &status), 0);
    wait_until(LOAD(&status) == ETIMEDOUT);
    CHECK_STATUS(csk_gate_unlock(&fresh), 0);
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
    struct of_parent of_parent = { &held, &mutex, &timer };
    for (int round = 0; round < 5; round++) in_a_child(check_child, &of_parent);
    CHECK_STATUS(csk_timer_cancel(&timer), 0);
    CHECK_STATUS(csk_gate_unlock(&held), 0);
    CHECK_STATUS(csk_mutex_unlock(&mutex), 0);
    STORE(&stop, 1);
    for (int i = 0; i < 3; i++) join_thread(threads[i]);
}

/* ---- What the parent's waiters have left at a gate --------------------------------------------------------------- */

struct waits {
    csk_gate_t *gate;
    int32_t priority;
    int *next, place; /* set to how many came before */
};

static void *wait_in_child(void *context) {
    struct waits *waits = context;
    CHECK_STATUS(csk_gate_lock(waits->gate, waits->priority), 0);
    waits->place = (*waits->next)++;
    CHECK_STATUS(csk_gate_unlock(waits->gate), 0);
    return NULL;
}

static int called;

static void leave(csk_waiter_t *waiter, void *unused, int status) {
    (void)unused;
    CHECK_STATUS(status, 0);
    STORE(&called, 1);
    CHECK_STATUS(csk_gate_unlock(waiter->gate), 0);
}

/* The child's thread holds the gate. Four of its threads wait, and each gets it, the most urgent first. */
static void check_waiters_of_child(void *context) {
    csk_gate_t *gate = context;
    struct waits waits[4];
    pthread_t threads[4];
    int next = 0;
    for (int i = 0; i < 4; i++) {
        waits[i] = (struct waits){ gate, i, &next, -1 };
        threads[i] = start_thread(wait_in_child, &waits[i]);
        wait_until(csk_gate_waiting(gate) == (uint32_t)i + 1);
    }
    CHECK_STATUS(csk_gate_unlock(gate), 0);
    for (int i = 0; i < 4; i++) join_thread(threads[i]);
    if (gate->bypass_limit == 0)
        for (int i = 0; i < 4; i++) CHECK_EQ(waits[i].place, 3 - i);
    CHECK_EQ(LOAD(&called), 0);
    CHECK_STATUS(csk_gate_destroy(gate), 0);
}

static void fork_with_a_waiter(uint32_t bypass_limit, int place) {
#ifdef __SANITIZE_THREAD__
    printf("not under ThreadSanitizer; ");
    return;
#endif
    csk_gate_t gate;
    csk_gate_attr_t attr = { .bypass_limit = bypass_limit };
    csk_waiter_t waiter = { .word = 0 };
    called = 0;
    CHECK_STATUS(csk_gate_init(&gate, &attr), 0);
    CHECK_STATUS(csk_gate_lock(&gate, 0), 0);
    csk_rank_t rank = csk_rank(0, place);
    CHECK_STATUS(csk_gate_lock_async_ranked(&gate, rank, &waiter, false, CSK_NEVER, leave, NULL), 0);
    in_a_child(check_waiters_of_child, &gate);
    CHECK_STATUS(csk_gate_unlock(&gate), 0);
    CHECK_EQ(called, 1);
    CHECK_STATUS(csk_gate_destroy(&gate), 0);
}

/* A child that counted on how often the parent's waiter had been passed would grant it the gate. */
static void a_child_passes_no_waiter_of_the_parent(void) {
    fork_with_a_waiter(1, CSK_PLACE_BACK);
    fork_with_a_waiter(0, CSK_PLACE_UNNAMED);
}
static void a_child_waits_for_no_waiter_of_the_parent(void) { fork_with_a_waiter(0, CSK_PLACE_BACK); }

TEST_MAIN(TEST(a_child_unlocks_what_its_thread_held), TEST(a_child_passes_no_waiter_of_the_parent),
          TEST(a_child_waits_for_no_waiter_of_the_parent))
