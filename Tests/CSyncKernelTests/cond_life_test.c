/* cond_life_test.c: the lives of condition variables and of those that wait: an end right after a broadcast, the gates
 * that threads may wait with, closed ones, mutexes of zero-filled memory, children of fork, the ends of the clock. */
#include "cond_fixture.h"

static csk_waiter_t waiters[2];
static uint32_t granted;

/* ---- A life that ends at a broadcast ----------------------------------------------------------------------------- */

typedef struct {
    csk_gate_t gate;
    csk_cond_t *cond;
    uint32_t inside, waiting, done;
} monitor_t;

/* Each second one has a deadline that comes at about the time of the broadcast. */
static void *await_the_end(void *context) {
    monitor_t *monitor = context;
    CHECK_STATUS(csk_gate_lock(&monitor->gate, 0), 0);
    uint32_t number = monitor->waiting++;
    int status = 0;
    while (!monitor->done && status == 0)
        status = csk_cond_timedwait(monitor->cond, (int32_t)number % 3,
                                    number % 2 != 0 ? CSK_NEVER : csk_deadline_after(30000 + 20000 * number));
    CHECK(csk_gate_is_mine(&monitor->gate));
    CHECK_STATUS(csk_gate_unlock(&monitor->gate), 0);
    ADD(&monitor->inside, -1);
    return NULL;
}
static void a_condition_variable_goes_right_after_the_broadcast(void) {
    enum { THREADS = 4, ROUNDS = 400 / TEST_SLOWDOWN };
    for (uint32_t round = 0; round < ROUNDS; round++) {
        pthread_t threads[THREADS];
        monitor_t *monitor = calloc(1, sizeof *monitor);
        csk_gate_attr_t attr = { .policy = round % 3 };
        CHECK_STATUS(csk_gate_init(&monitor->gate, &attr), 0);
        monitor->cond = malloc(sizeof *monitor->cond);
        CHECK_STATUS(csk_cond_init(monitor->cond, &monitor->gate), 0);
        monitor->inside = THREADS;
        for (int i = 0; i < THREADS; i++) threads[i] = start_thread(await_the_end, monitor);
        for (uint32_t waiting = 0; waiting < THREADS;) {
            CHECK_STATUS(csk_gate_lock(&monitor->gate, 0), 0);
            waiting = monitor->waiting;
            if (waiting == THREADS) {
                monitor->done = 1;
                if (round % 2 == 0) CHECK_STATUS(csk_cond_broadcast(monitor->cond), 0);
                else
                    while (csk_cond_waiting(monitor->cond) > 0) CHECK_STATUS(csk_cond_signal(monitor->cond), 0);
                CHECK_STATUS(csk_cond_destroy(monitor->cond), 0);
                memset(monitor->cond, 0xa5, sizeof *monitor->cond);
                free(monitor->cond);
            }
            CHECK_STATUS(csk_gate_unlock(&monitor->gate), 0);
        }
        for (int i = 0; i < THREADS; i++) join_thread(threads[i]);
        CHECK_EQ(monitor->inside, 0);
        CHECK_STATUS(csk_gate_destroy(&monitor->gate), 0);
        free(monitor);
    }
}

/* ---- Recursive, disowned, adopted, closed gates ------------------------------------------------------------------ */

static void *wait_at_three_levels(void *unused) {
    (void)unused;
    for (int i = 0; i < 3; i++) CHECK_STATUS(csk_gate_lock_recursive(&gate, 0, CSK_NEVER), 0);
    STORE(&came_out, 1);
    while (!ready) CHECK_STATUS(csk_cond_wait(&cond, 0), 0);
    CHECK_STATUS(csk_cond_timedwait(&cond, 0, 0), ETIMEDOUT);
    for (int i = 0; i < 3; i++) CHECK_STATUS(csk_gate_unlock_recursive(&gate), 0);
    CHECK_STATUS(csk_gate_unlock_recursive(&gate), EPERM);
    return NULL;
}
static void a_recursive_gate_is_left_at_all_its_levels(void) {
    for (uint32_t policy = 0; policy < 3; policy++) {
        make(policy);
        pthread_t thread = start_thread(wait_at_three_levels, NULL);
        wait_until(csk_cond_waiting(&cond) == 1);
        for (int i = 0; i < 2; i++) CHECK_STATUS(csk_gate_lock_recursive(&gate, 0, CSK_NEVER), 0);
        ready = 1;
        CHECK_STATUS(csk_cond_signal(&cond), 0);
        for (int i = 0; i < 2; i++) CHECK_STATUS(csk_gate_unlock_recursive(&gate), 0);
        join_thread(thread);
        check_idle();
    }
}

static void nobody_waits_who_does_not_hold_the_gate(void) {
    for (uint32_t policy = 0; policy < 3; policy++) {
        make(policy);
        CHECK_STATUS(csk_cond_timedwait(&cond, 0, 0), EPERM);
        CHECK_STATUS(csk_gate_lock(&gate, 0), 0);
        CHECK_STATUS(csk_gate_disown(&gate), 0);
        CHECK_STATUS(csk_cond_timedwait(&cond, 0, 0), EPERM);
        CHECK_STATUS(csk_cond_signal(&cond), 0);
        CHECK_STATUS(csk_gate_unlock(&gate), 0);
        check_idle();
    }
}

static void note_grant(csk_waiter_t *waiter, void *context, int status) {
    (void)waiter, (void)context;
    CHECK_STATUS(status, 0);
    STORE(&granted, 1);
}
static void *wait_with_an_adopted_gate(void *unused) {
    (void)unused;
    CHECK_STATUS(csk_gate_lock_async_ranked(&gate, csk_rank(0, CSK_PLACE_BACK), &waiters[0], true, CSK_NEVER,
                                            note_grant, NULL),
                 0);
    CHECK_EQ(LOAD(&granted), 1);
    CHECK_STATUS(csk_cond_timedwait(&cond, 0, 0), EPERM); /* nobody has adopted the grant */
    CHECK_STATUS(csk_gate_adopt(&gate, &waiters[0]), 0);
    CHECK_STATUS(csk_cond_timedwait(&cond, 0, 0), ETIMEDOUT);
    STORE(&came_out, 1);
    while (!ready) CHECK_STATUS(csk_cond_wait(&cond, 0), 0);
    CHECK_STATUS(csk_gate_unlock(&gate), 0);
    return NULL;
}
static void who_has_adopted_a_grant_can_wait(void) {
    for (uint32_t policy = 0; policy < 3; policy++) {
        make(policy);
        granted = 0;
        pthread_t thread = start_thread(wait_with_an_adopted_gate, NULL);
        wait_until(LOAD(&came_out) && csk_cond_waiting(&cond) == 1);
        signal_inside();
        join_thread(thread);
        check_idle();
    }
}

static csk_waiter_t closer;
static void note_close(csk_waiter_t *waiter, void *context, int status) {
    (void)waiter, (void)context;
    CHECK_STATUS(status, 0);
    STORE(&granted, 2);
}
static void begin_close(void) {
    granted = 0;
    closer = (csk_waiter_t){ 0 };
    CHECK_STATUS(csk_gate_close(&gate, &closer, note_close, NULL), 0);
}
static int end_status;
static void *wait_at_a_gate_that_closes(void *deadline_ns) {
    CHECK_STATUS(csk_gate_lock(&gate, 0), 0);
    end_status = csk_cond_timedwait(&cond, 0, *(int64_t *)deadline_ns);
    CHECK_EQ(csk_gate_is_mine(&gate), end_status != ESHUTDOWN);
    if (end_status != ESHUTDOWN) CHECK_STATUS(csk_gate_unlock(&gate), 0);
    return NULL;
}
/* The gate goes to this waiter as soon as the thread that stands before it waits for a signal. Nothing comes between
 * the two, and nobody in particular holds the gate then. */
static void hold_behind(void) {
    granted = 0;
    waiters[1] = (csk_waiter_t){ 0 };
    CHECK_STATUS(csk_gate_lock_async(&gate, -1, &waiters[1], CSK_NEVER, note_grant, NULL), 0);
    CHECK_STATUS(csk_gate_unlock(&gate), 0);
    wait_until(LOAD(&granted) == 1);
}
/* It was signalled before the close; or its deadline passed, and it came back before the close or after it. */
static void a_close_serves_who_came_back_before_it(void) {
    for (uint32_t policy = 0; policy < 3; policy++)
        for (int way = 0; way < 3; way++) {
            make(policy);
            int64_t deadline_ns = way == 0 ? CSK_NEVER : csk_deadline_after(5000000);
            CHECK_STATUS(csk_gate_lock(&gate, 0), 0);
            pthread_t thread = start_thread(wait_at_a_gate_that_closes, &deadline_ns);
            wait_until(csk_gate_waiting(&gate) == 1);
            hold_behind();
            if (way == 0) CHECK_STATUS(csk_cond_signal(&cond), 0);
            if (way == 1) wait_until(csk_cond_waiting(&cond) == 0);
            if (way == 2) wait_until(csk_gate_waiting(&gate) == 1);
            begin_close();
            CHECK_EQ(LOAD(&granted), 0);
            CHECK_STATUS(csk_gate_unlock(&gate), 0);
            join_thread(thread);
            wait_until(LOAD(&granted) == 2);
            if (way == 0) CHECK_STATUS(end_status, 0);
            if (way == 1) CHECK(end_status == ETIMEDOUT || end_status == ESHUTDOWN);
            if (way == 2) CHECK_STATUS(end_status, ETIMEDOUT);
            check_idle();
        }
}

/* It waited for ever, at a gate that might be gone. */
static void nobody_waits_at_a_gate_that_was_closed_before(void) {
    for (uint32_t policy = 0; policy < 3; policy++) {
        make(policy);
        CHECK_STATUS(csk_gate_lock(&gate, 0), 0);
        begin_close();
        CHECK_STATUS(csk_cond_wait(&cond, 0), ESHUTDOWN);
        CHECK(!csk_gate_is_mine(&gate));
        CHECK_EQ(LOAD(&granted), 2);
        check_idle();
    }
}

/* ---- The way back after a deadline ------------------------------------------------------------------------------- */

static uint32_t turns;
static void *come_back_urgently(void *deadline_ns) {
    CHECK_STATUS(csk_gate_lock(&gate, 5), 0);
    CHECK_STATUS(csk_cond_timedwait(&cond, 5, *(int64_t *)deadline_ns), ETIMEDOUT);
    CHECK_EQ(turns++, 0);
    CHECK_STATUS(csk_gate_unlock(&gate), 0);
    return NULL;
}
static void *come_later(void *unused) {
    (void)unused;
    CHECK_STATUS(csk_gate_lock(&gate, 4), 0);
    CHECK_EQ(turns++, 1);
    CHECK_STATUS(csk_gate_unlock(&gate), 0);
    return NULL;
}
static void who_comes_back_after_its_deadline_keeps_its_priority(void) {
    for (uint32_t policy = 0; policy < 3; policy++) {
        make(policy);
        turns = 0;
        int64_t deadline_ns = csk_deadline_after(20000000);
        CHECK_STATUS(csk_gate_lock(&gate, 0), 0);
        pthread_t urgent = start_thread(come_back_urgently, &deadline_ns);
        wait_until(csk_gate_waiting(&gate) == 1);
        hold_behind();
        pthread_t later_one = start_thread(come_later, NULL);
        wait_until(csk_gate_waiting(&gate) == 2);
        CHECK_STATUS(csk_gate_unlock(&gate), 0);
        join_thread(urgent);
        join_thread(later_one);
        check_idle();
    }
}

/* ---- Mutexes of zero-filled memory ------------------------------------------------------------------------------- */

static csk_mutex_t mutex = CSK_MUTEX_INITIALIZER;
static csk_cond_t of_mutex = CSK_COND_INITIALIZER(&mutex.gate);

static void *count_under_the_mutex(void *unused) {
    (void)unused;
    for (int i = 0; i < 20000 / TEST_SLOWDOWN; i++) {
        CHECK_STATUS(csk_mutex_lock(&mutex), 0);
        ready++;
        if (ready % 16 == 0) CHECK_STATUS(csk_cond_timedwait(&of_mutex, 0, csk_now() + 1000), ETIMEDOUT);
        CHECK_STATUS(csk_mutex_unlock(&mutex), 0);
    }
    return NULL;
}
/* The first wait took it for a gate of two words, whose leavers the mutex's own were not. */
static void the_first_call_of_a_mutex_that_is_not_inline_may_be_a_wait(void) {
    for (int way = 0; way < 2; way++) {
        mutex = (csk_mutex_t)CSK_MUTEX_INITIALIZER;
        if (way == 1) CHECK_STATUS(csk_cond_init_mutex(&of_mutex, &mutex), 0);
        mutex = (csk_mutex_t)CSK_MUTEX_INITIALIZER;
        ready = 0;
        CHECK_STATUS(csk_mutex_lock(&mutex), 0); /* numbers the thread */
        CHECK_STATUS(csk_mutex_unlock(&mutex), 0);
        mutex = (csk_mutex_t)CSK_MUTEX_INITIALIZER;
        CHECK_STATUS(csk_mutex_lock(&mutex), 0);
        CHECK_STATUS(csk_cond_timedwait(&of_mutex, 0, 0), ETIMEDOUT);
        CHECK_STATUS(csk_mutex_unlock(&mutex), 0);
        CHECK(mutex.gate.summary != CSK_GATE_READY);
        pthread_t threads[3];
        for (int i = 0; i < 3; i++) threads[i] = start_thread(count_under_the_mutex, NULL);
        for (int i = 0; i < 3; i++) join_thread(threads[i]);
        CHECK_EQ(ready, 3 * (20000 / TEST_SLOWDOWN));
        CHECK_STATUS(csk_cond_destroy(&of_mutex), 0);
        CHECK_STATUS(csk_mutex_destroy(&mutex), 0);
    }
}

/* ---- fork -------------------------------------------------------------------------------------------------------- */

static void *wait_in_the_parent(void *unused) {
    (void)unused;
    CHECK_STATUS(csk_gate_lock(&gate, 0), 0);
    while (!ready) CHECK_STATUS(csk_cond_wait(&cond, 0), 0);
    CHECK_STATUS(csk_gate_unlock(&gate), 0);
    return NULL;
}
static void use_in_the_child(void *which) {
    int way = *(int *)which;
    if (way == 0) CHECK_EQ(csk_cond_waiting(&cond), 0);
    if (way == 1) CHECK_STATUS(csk_cond_destroy(&cond), 0);
    if (way == 2) CHECK_STATUS(csk_cond_broadcast(&cond), 0);
    if (way == 3) CHECK_STATUS(csk_cond_signal(&cond), 0);
    if (way < 5) CHECK_STATUS(csk_gate_lock(&gate, 0), 0);
    CHECK_STATUS(csk_cond_timedwait(&cond, 0, csk_deadline_after(1000000)), ETIMEDOUT);
    waiters[1] = (csk_waiter_t){ 0 };
    CHECK_STATUS(csk_gate_lock_async(&gate, 0, &waiters[1], CSK_NEVER, signal_and_leave, NULL), 0);
    while (!ready) CHECK_STATUS(csk_cond_wait(&cond, 0), 0);
    CHECK_STATUS(csk_gate_unlock(&gate), 0);
    check_idle();
}
/* The parent's thread waits in it (ways 0 to 4), or this thread holds the gate while another waits (5). */
static void a_child_begins_with_an_empty_condition_variable(void *policy) {
    for (int way = 0; way < 6; way++) {
        make(*(uint32_t *)policy);
        pthread_t thread = start_thread(wait_in_the_parent, NULL);
        wait_until(csk_cond_waiting(&cond) == 1);
        /* The other thread has left the gate before it is in the child for good. */
        CHECK_STATUS(csk_gate_lock(&gate, 0), 0);
        if (way < 5) CHECK_STATUS(csk_gate_unlock(&gate), 0);
        in_a_child(use_in_the_child, &way);
        CHECK_EQ(csk_cond_waiting(&cond), 1);
        if (way == 5) CHECK_STATUS(csk_gate_unlock(&gate), 0);
        signal_inside();
        join_thread(thread);
        check_idle();
    }
}
static void a_child_waits_and_signals_by_itself(void) {
    for (uint32_t policy = 0; policy < 3; policy++)
        in_a_child(a_child_begins_with_an_empty_condition_variable, &policy);
}

/* ---- Ends of the clock, and zero-filled memory ------------------------------------------------------------------- */

static void deadlines_at_the_ends_of_the_clock(void) {
    static const int64_t past[] = { INT64_MIN, -1, 0, 1 };
    make(CSK_GATE_FAST);
    CHECK_STATUS(csk_gate_lock(&gate, 0), 0);
    for (int i = 0; i < 4; i++) CHECK_STATUS(csk_cond_timedwait(&cond, INT32_MAX, past[i]), ETIMEDOUT);
    waiters[1] = (csk_waiter_t){ 0 };
    CHECK_STATUS(csk_gate_lock_async(&gate, 0, &waiters[1], CSK_NEVER, signal_and_leave, NULL), 0);
    while (!ready) CHECK_STATUS(csk_cond_timedwait(&cond, 0, INT64_MAX - 1), 0);
    CHECK_STATUS(csk_gate_unlock(&gate), 0);
    check_idle();
}

TEST_MAIN(TEST(a_child_waits_and_signals_by_itself), TEST(who_comes_back_after_its_deadline_keeps_its_priority),
          TEST(a_condition_variable_goes_right_after_the_broadcast), TEST(a_recursive_gate_is_left_at_all_its_levels),
          TEST(nobody_waits_who_does_not_hold_the_gate), TEST(who_has_adopted_a_grant_can_wait),
          TEST(a_close_serves_who_came_back_before_it), TEST(nobody_waits_at_a_gate_that_was_closed_before),
          TEST(the_first_call_of_a_mutex_that_is_not_inline_may_be_a_wait), TEST(deadlines_at_the_ends_of_the_clock))
