/* fault_holder_end_test.c: a thread that ends while it holds a gate or a mutex is reported by whoever waits for it,
 * once; a thread that lives never is, and a later one at the same address does not pass for the holder. The first look
 * comes after one second. */
#include "child.h"
#include "system_calls.h"

#include <csynckernel/csynckernel.h>

enum { POLICIES = 3 };
static const int64_t look_ns = 1000000000, long_enough_ns = 1400000000;

static uint32_t reports, wrong_reports;
static const void *reported;

static void note_report(const csk_event_t *event) {
    bool right = event->kind == CSK_EVENT_HOLDER_ENDED && event->status == EOWNERDEAD && event->waited_ns >= look_ns;
    if (!right) ADD(&wrong_reports, 1);
    STORE(&reported, event->object);
    ADD(&reports, 1);
}

static void begin(void) {
    STORE(&reports, 0);
    STORE(&reported, NULL);
    CHECK(csk_set_reporter(note_report) == NULL);
}

static void end(void) {
    CHECK(csk_set_reporter(NULL) == note_report);
    CHECK_EQ(wrong_reports, 0);
}

static csk_gate_t gate_of(uint32_t policy) {
    csk_gate_t gate;
    csk_gate_attr_t attr = { .policy = policy };
    CHECK_STATUS(csk_gate_init(&gate, &attr), 0);
    return gate;
}

static uint64_t ended; /* the identity of the last thread that did it */
static uint64_t last_holders[POLICIES];

static void *lock_and_end(void *gate) {
    CHECK_STATUS(csk_gate_lock(gate, 0), 0);
    STORE(&ended, csk_self());
    return NULL;
}

static void *lock_mutex_and_end(void *mutex) {
    CHECK_STATUS(csk_mutex_lock(mutex), 0);
    return NULL;
}

static void *wait_long_enough(void *gate) {
    int64_t deadline_ns = csk_deadline_after(long_enough_ns);
    CHECK_STATUS(csk_gate_timedlock(gate, 0, deadline_ns), ETIMEDOUT);
    CHECK_GE(csk_now(), deadline_ns);
    return NULL;
}

static uint32_t go;

static void *wait_when_told(void *gate) {
    wait_until(LOAD(&go));
    return wait_long_enough(gate);
}

/* ---- Reported, once ---------------------------------------------------------------------------------------------- */

static void a_thread_that_ends_inside_is_reported_once_under_each_policy(void) {
    csk_gate_t gates[POLICIES];
    pthread_t threads[POLICIES][2];
    begin();
    STORE(&go, 0);
    for (uint32_t policy = 0; policy < POLICIES; policy++) {
        gates[policy] = gate_of(policy);
        /* Before the holder, whose address the system would give them. */
        for (int i = 0; i < 2; i++) threads[policy][i] = start_thread(wait_when_told, &gates[policy]);
    }
    for (uint32_t policy = 0; policy < POLICIES; policy++) join_thread(start_thread(lock_and_end, &gates[policy]));
    STORE(&go, 1);
    wait_until(LOAD(&reports) == POLICIES);
    for (uint32_t policy = 0; policy < POLICIES; policy++)
        join_thread(threads[policy][0]), join_thread(threads[policy][1]);
    for (int i = 0; i < 2; i++) wait_long_enough(&gates[i]); /* looks too, but it was said already */
    for (uint32_t policy = 0; policy < POLICIES; policy++) {
        CHECK_EQ(csk_gate_waiting(&gates[policy]), 0);
        CHECK_STATUS(csk_gate_destroy(&gates[policy]), EBUSY);
        gates[policy] = gate_of(policy);
        CHECK_STATUS(csk_gate_lock(&gates[policy], 0), 0);
        CHECK_STATUS(csk_gate_unlock(&gates[policy]), 0);
    }
    CHECK_EQ(reports, POLICIES);
    end();
}

static uint32_t events;

static void note_event(const csk_observer_t *observer, const csk_event_t *event) {
    (void)observer;
    if (event->kind == CSK_EVENT_HOLDER_ENDED) ADD(&events, 1);
}

static void a_mutex_tells_observers_too(void) {
    static const csk_observer_t observer = { note_event, NULL };
    csk_mutex_t mutex = CSK_MUTEX_INITIALIZER;
    begin();
    csk_observe(&observer);
    join_thread(start_thread(lock_mutex_and_end, &mutex));
    CHECK_STATUS(csk_mutex_timedlock(&mutex, csk_deadline_after(long_enough_ns)), ETIMEDOUT);
    CHECK_EQ(reports, 1);
    CHECK_EQ(events, 1);
    CHECK(reported == &mutex.gate);
    csk_observe(NULL);
    end();
}

/* The C library gives a new thread the stack, and thereby the identity, of one that has ended. */
static void *try_as_a_later_thread(void *context) {
    csk_gate_t *gate = context;
    if (csk_self() != LOAD(&ended)) return NULL;
    CHECK(!csk_gate_is_mine(gate));
    CHECK_STATUS(csk_gate_unlock(gate), EPERM);
    CHECK_STATUS(csk_gate_disown(gate), EPERM);
    CHECK_STATUS(csk_gate_unlock_recursive(gate), EPERM);
    CHECK_STATUS(csk_gate_trylock(gate, 0), EBUSY);
    CHECK_STATUS(csk_gate_lock_recursive(gate, 0, csk_now()), ETIMEDOUT);
    return gate;
}

static void a_later_thread_at_the_same_address_does_not_pass_for_the_holder(void) {
    csk_gate_t gates[POLICIES];
    pthread_t waiters[POLICIES];
    begin();
    STORE(&go, 0);
    for (uint32_t policy = 0; policy < POLICIES; policy++) {
        gates[policy] = gate_of(policy);
        waiters[policy] = start_thread(wait_when_told, &gates[policy]);
    }
    for (uint32_t policy = 0; policy < POLICIES; policy++) {
        join_thread(start_thread(lock_and_end, &gates[policy]));
        last_holders[policy] = LOAD(&ended);
    }
    STORE(&go, 1);
    wait_until(LOAD(&reports) == POLICIES);
    /* A thread's stack goes to the next one when it is joined: the waiters come last. */
    for (uint32_t policy = 0; policy < POLICIES; policy++) {
        STORE(&ended, last_holders[policy]);
        bool met = false;
        for (int i = 0; i < 1000 && !met; i++)
            met = join_thread(start_thread(try_as_a_later_thread, &gates[policy])) != NULL;
        CHECK(met);
    }
    for (uint32_t policy = 0; policy < POLICIES; policy++) join_thread(waiters[policy]);
    end();
}

/* ---- Not reported ------------------------------------------------------------------------------------------------ */

static uint32_t done;

static void *come_and_go(void *context) {
    while (!LOAD(&done)) join_thread(start_thread(lock_and_end, &(csk_gate_t)CSK_GATE_INITIALIZER));
    return context;
}

static void *lock_in_time(void *gate) {
    CHECK_STATUS(csk_gate_lock(gate, 0), 0);
    CHECK_STATUS(csk_gate_unlock(gate), 0);
    return NULL;
}

/* The waiters look at a list of threads that changes all the time. */
static void a_holder_that_lives_is_not_reported(void) {
    csk_gate_t gates[POLICIES];
    pthread_t threads[POLICIES], others[2];
    begin();
    STORE(&done, 0);
    for (uint32_t policy = 0; policy < POLICIES; policy++) {
        gates[policy] = gate_of(policy);
        CHECK_STATUS(csk_gate_lock(&gates[policy], 0), 0);
        threads[policy] = start_thread(lock_in_time, &gates[policy]);
    }
    for (int i = 0; i < 2; i++) others[i] = start_thread(come_and_go, NULL);
    int64_t end_ns = csk_deadline_after(long_enough_ns);
    wait_until(csk_now() >= end_ns);
    for (uint32_t policy = 0; policy < POLICIES; policy++) CHECK_STATUS(csk_gate_unlock(&gates[policy]), 0);
    for (uint32_t policy = 0; policy < POLICIES; policy++) join_thread(threads[policy]);
    STORE(&done, 1);
    for (int i = 0; i < 2; i++) join_thread(others[i]);
    CHECK_EQ(reports, 0);
    end();
}

static void a_gate_that_nobody_in_particular_holds_is_not_reported(void) {
    csk_gate_t gate = CSK_GATE_INITIALIZER;
    begin();
    CHECK_STATUS(csk_gate_lock(&gate, 0), 0);
    CHECK_STATUS(csk_gate_disown(&gate), 0);
    wait_long_enough(&gate);
    CHECK_EQ(reports, 0);
    CHECK_STATUS(csk_gate_unlock(&gate), 0);
    end();
}

/* A system that does not say which threads there are. */
static void wait_without_an_answer(void *call) {
    csk_gate_t gate = CSK_GATE_INITIALIZER;
    begin();
    join_thread(start_thread(lock_and_end, &gate));
    refuse_call(*(long *)call, EPERM);
    errno = 0;
    wait_long_enough(&gate);
    CHECK_EQ(errno, 0);
    CHECK_EQ(reports, 0);
}

static void where_the_system_does_not_tell_nothing_is_reported(void) {
    long calls[] = { SYS_get_robust_list, SYS_getdents64 };
    pid_t children[2];
    for (int i = 0; i < 2; i++) children[i] = start_child(wait_without_an_answer, &calls[i]);
    for (int i = 0; i < 2; i++) CHECK_EQ(wait_for_child(children[i]), 0);
}

/* ---- Without a reporter ------------------------------------------------------------------------------------------ */

static void wait_with_standard_error(void *pipe_end) {
    csk_gate_t gate = CSK_GATE_INITIALIZER;
    CHECK_EQ(dup2(*(int *)pipe_end, STDERR_FILENO), STDERR_FILENO);
    join_thread(start_thread(lock_and_end, &gate));
    wait_long_enough(&gate);
}

static void without_a_reporter_it_is_one_line_on_standard_error(void) {
    int ends[2];
    char text[512];
    CHECK_EQ(pipe(ends), 0);
    in_a_child(wait_with_standard_error, &ends[1]);
    close(ends[1]);
    ssize_t length = read(ends[0], text, sizeof text - 1);
    CHECK_GE(length, 1);
    text[length] = '\0';
    CHECK(strncmp(text, "csynckernel: object 0x", 22) == 0);
    CHECK(strstr(text, ": held by a thread that has ended; a thread has waited for 1.") != NULL);
    CHECK(strchr(text, '\n') == text + length - 1);
    close(ends[0]);
}

/* ---- Condition variables ----------------------------------------------------------------------------------------- */

static csk_cond_t cond;
static void *wait_for_signal(void *gate) {
    CHECK_STATUS(csk_gate_lock(gate, 0), 0);
    csk_cond_wait(&cond, 0); /* does not return */
    return NULL;
}
static void *signal_and_end(void *gate) {
    CHECK_STATUS(csk_gate_lock(gate, 0), 0);
    CHECK_STATUS(csk_cond_signal(&cond), 0);
    return NULL;
}
static void end_after_a_signal(void *policy) {
    static csk_gate_t gate;
    gate = gate_of(*(uint32_t *)policy);
    begin();
    CHECK_STATUS(csk_cond_init(&cond, &gate), 0);
    start_thread(wait_for_signal, &gate);
    wait_until(csk_cond_waiting(&cond) == 1);
    join_thread(start_thread(signal_and_end, &gate));
    wait_until(LOAD(&reports) == 1);
    CHECK(LOAD(&reported) == &gate);
    end();
}
/* It went on sleeping as one that waits for a signal, and never looked after the holder. */
static void who_was_signalled_by_a_thread_that_ended_inside_reports_it(void) {
    uint32_t policies[POLICIES] = { 0, 1, 2 };
    pid_t children[POLICIES];
    for (int i = 0; i < POLICIES; i++) children[i] = start_child(end_after_a_signal, &policies[i]);
    for (int i = 0; i < POLICIES; i++) CHECK_EQ(wait_for_child(children[i]), 0);
}

/* It looks after a second, finds that nobody has signalled, and sleeps on. */
static void who_waits_for_a_signal_for_long_sleeps(void) {
    csk_gate_t gate = gate_of(CSK_GATE_FAST);
    struct timespec before, after;
    CHECK_STATUS(csk_cond_init(&cond, &gate), 0);
    CHECK_STATUS(csk_gate_lock(&gate, 0), 0);
    CHECK_EQ(clock_gettime(CLOCK_THREAD_CPUTIME_ID, &before), 0);
    CHECK_STATUS(csk_cond_timedwait(&cond, 0, csk_deadline_after(long_enough_ns)), ETIMEDOUT);
    CHECK_EQ(clock_gettime(CLOCK_THREAD_CPUTIME_ID, &after), 0);
    CHECK_LE((after.tv_sec - before.tv_sec) * 1000000000 + after.tv_nsec - before.tv_nsec, 100000000);
    CHECK_STATUS(csk_gate_unlock(&gate), 0);
    CHECK_STATUS(csk_cond_destroy(&cond), 0);
    CHECK_STATUS(csk_gate_destroy(&gate), 0);
}

/* Children first: see child.h. */
TEST_MAIN(TEST(who_was_signalled_by_a_thread_that_ended_inside_reports_it),
          TEST(where_the_system_does_not_tell_nothing_is_reported),
          TEST(without_a_reporter_it_is_one_line_on_standard_error),
          TEST(a_thread_that_ends_inside_is_reported_once_under_each_policy), TEST(a_mutex_tells_observers_too),
          TEST(a_later_thread_at_the_same_address_does_not_pass_for_the_holder),
          TEST(who_waits_for_a_signal_for_long_sleeps), TEST(a_holder_that_lives_is_not_reported),
          TEST(a_gate_that_nobody_in_particular_holds_is_not_reported))
