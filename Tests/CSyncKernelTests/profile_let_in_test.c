/* profile_let_in_test.c: whoever lets others in is counted as the one they waited for, with all of them, and with no
 * more time than they had waited by then. */
#include "test.h"

#include <csynckernel/csynckernel.h>

#include "base/platform.h"

static void add_of_priority_44(const csk_profile_entry_t *entry, void *contentions) {
    if (entry->priority == 44 && entry->side == CSK_PROFILE_LET_IN) *(double *)contentions += entry->contentions;
}
static void *take_one(void *permits) {
    CHECK_STATUS(csk_sem_wait(permits, 44, 1), 0);
    return NULL;
}
/* Whoever lets in more than there is room to copy once forgot the rest. */
static void those_let_in_at_once_all_count(void) {
    enum { WAITERS = 40 };
    csk_sem_t permits;
    pthread_t threads[WAITERS];
    double contentions = 0;
    CHECK_STATUS(csk_sem_init(&permits, 0, WAITERS), 0);
    CHECK_STATUS(csk_profile_start(1), 0);
    for (int i = 0; i < WAITERS; i++) threads[i] = start_thread(take_one, &permits);
    wait_until(csk_sem_waiting(&permits) == WAITERS);
    CHECK_STATUS(csk_sem_post(&permits, WAITERS), 0);
    for (int i = 0; i < WAITERS; i++) join_thread(threads[i]);
    csk_profile_stop();
    csk_profile_read(add_of_priority_44, &contentions);
    CHECK(contentions > WAITERS - 0.01 && contentions < WAITERS + 0.01);
    CHECK_STATUS(csk_sem_destroy(&permits), 0);
}

/* A post tells the one that waits, and the next one, for which there is no room beside that, hands its permit over. The
 * profile once counted such a wait twice. Where the thread was faster, the second post finds no waiter. */
static void add_of_priority_46(const csk_profile_entry_t *entry, void *contentions) {
    if (entry->priority == 46) ((double *)contentions)[entry->side] += entry->contentions;
}
static void *take_of_one(void *permits) {
    CHECK_STATUS(csk_sem_wait(permits, 46, 1), 0);
    return NULL;
}
static void who_is_told_and_then_handed_over_counts_once(void) {
    enum { ROUNDS = 50 };
    csk_sem_t permits;
    double contentions[2] = { 0 };
    CHECK_STATUS(csk_sem_init(&permits, 0, 1), 0);
    CHECK_STATUS(csk_profile_start(1), 0);
    for (int i = 0; i < ROUNDS; i++) {
        pthread_t thread = start_thread(take_of_one, &permits);
        wait_until(csk_sem_waiting(&permits) == 1);
        CHECK_STATUS(csk_sem_post(&permits, 1), 0);
        CHECK_STATUS(csk_sem_post(&permits, 1), 0);
        join_thread(thread);
        CHECK_STATUS(csk_sem_trywait(&permits, 0, 1), 0);
    }
    csk_profile_stop();
    csk_profile_read(add_of_priority_46, contentions);
    for (int side = 0; side < 2; side++) CHECK(contentions[side] > ROUNDS - 0.01 && contentions[side] < ROUNDS + 0.01);
    CHECK_STATUS(csk_sem_destroy(&permits), 0);
}

/* The one that waits at a gate is told, finds it taken again, and is told by the next that leaves. */
static void add_of_priority_47(const csk_profile_entry_t *entry, void *contentions) {
    if (entry->priority == 47) ((double *)contentions)[entry->side] += entry->contentions;
}
static void *enter_and_leave(void *gate) {
    CHECK_STATUS(csk_gate_lock(gate, 47), 0);
    CHECK_STATUS(csk_gate_unlock(gate), 0);
    return NULL;
}
static void who_comes_in_vain_counts_once(void) {
    enum { ROUNDS = 50 };
    csk_gate_t gate = CSK_GATE_INITIALIZER;
    double contentions[2] = { 0 };
    CHECK_STATUS(csk_profile_start(1), 0);
    for (int i = 0; i < ROUNDS; i++) {
        CHECK_STATUS(csk_gate_lock(&gate, 47), 0);
        pthread_t thread = start_thread(enter_and_leave, &gate);
        wait_until(csk_gate_waiting(&gate) == 1);
        CHECK_STATUS(csk_gate_unlock(&gate), 0);
        /* As long as the other one is not awake the gate is free. */
        if (csk_gate_trylock(&gate, 47) == 0) {
            for (int64_t until_ns = csk_platform_now() + 300000; csk_platform_now() < until_ns;) sched_yield();
            CHECK_STATUS(csk_gate_unlock(&gate), 0);
        }
        join_thread(thread);
    }
    csk_profile_stop();
    csk_profile_read(add_of_priority_47, contentions);
    for (int side = 0; side < 2; side++) CHECK(contentions[side] > ROUNDS - 0.01 && contentions[side] < ROUNDS + 0.01);
    CHECK_STATUS(csk_gate_destroy(&gate), 0);
}

static csk_gate_t gate, strict;
static csk_sem_t sem;
static csk_rwlock_t rwlock;

/* Threads that are let in on the leaver's processor, and have long sections. Those were once counted as waits behind
 * the leaver, who read the clock too late. */
enum { LONG_SECTION_NS = 5000000 };
static void stay_awake(void) {
    int64_t until_ns = csk_platform_now() + LONG_SECTION_NS;
    while (csk_platform_now() < until_ns) {}
}
#define LET_IN_TO(kind, enter, leave)             \
    static void *let_in_to_##kind(void *unused) { \
        CHECK_STATUS(enter, 0);                   \
        stay_awake();                             \
        CHECK_STATUS(leave, 0);                   \
        return unused;                            \
    }
LET_IN_TO(gate, csk_gate_lock(&gate, 45), csk_gate_unlock(&gate))
LET_IN_TO(strict, csk_gate_lock(&strict, 45), csk_gate_unlock(&strict))
LET_IN_TO(sem, csk_sem_wait(&sem, 45, 1), csk_sem_post(&sem, 1))
LET_IN_TO(rwlock, csk_rwlock_wrlock(&rwlock), csk_rwlock_unlock(&rwlock))

static void add_up_sides(const csk_profile_entry_t *entry, void *delay_ns) {
    ((int64_t *)delay_ns)[entry->side] += entry->delay_ns;
}

static void who_lets_in_is_counted_up_to_then(void) {
    static void *(*const bodies[])(void *) = { let_in_to_gate, let_in_to_strict, let_in_to_sem, let_in_to_rwlock };
    cpu_set_t all, one;
    int processor = 0;
    CHECK_EQ(sched_getaffinity(0, sizeof all, &all), 0);
    while (!CPU_ISSET(processor, &all)) processor++;
    CPU_ZERO(&one);
    CPU_SET(processor, &one);
    CHECK_EQ(sched_setaffinity(0, sizeof one, &one), 0);
    CHECK_STATUS(csk_gate_init(&strict, &(csk_gate_attr_t){ .policy = CSK_GATE_STRICT }), 0);
    CHECK_STATUS(csk_sem_init(&sem, 1, 1), 0);
    CHECK_STATUS(csk_rwlock_init(&rwlock, NULL), 0);
    int64_t before_ns[2] = { 0 }, after_ns[2] = { 0 };
    csk_profile_read(add_up_sides, before_ns);
    CHECK_STATUS(csk_profile_start(1), 0);
    for (int round = 0; round < 12; round++) {
        pthread_t threads[3];
        for (int i = 0; i < 3; i++) threads[i] = start_thread(bodies[round % 4], NULL);
        for (int i = 0; i < 3; i++) join_thread(threads[i]);
    }
    csk_profile_stop();
    csk_profile_read(add_up_sides, after_ns);
    CHECK_EQ(sched_setaffinity(0, sizeof all, &all), 0);
    int64_t waited_ns = after_ns[CSK_PROFILE_WAITED] - before_ns[CSK_PROFILE_WAITED];
    CHECK_GE(waited_ns, LONG_SECTION_NS);
    CHECK_LE(after_ns[CSK_PROFILE_LET_IN] - before_ns[CSK_PROFILE_LET_IN], waited_ns);
}

TEST_MAIN(TEST(those_let_in_at_once_all_count), TEST(who_is_told_and_then_handed_over_counts_once),
          TEST(who_comes_in_vain_counts_once), TEST(who_lets_in_is_counted_up_to_then))
