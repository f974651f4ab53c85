/* gate_late_test.c: a thread that was told to try for the gate is in a handler of a signal, and does not come. Others
 * enter meanwhile. */
#include "csynckernel/await.h"
#include "late.h"

static csk_gate_t gate;
static uint32_t entered;
static uint32_t order[4];

typedef struct {
    pthread_t thread;
    int32_t priority;
    uint32_t number;
    int32_t thread_id;
} waiter_t;

static void note_entry(const waiter_t *waiter) {
    order[LOAD(&entered)] = waiter->number;
    ADD(&entered, 1);
    CHECK_STATUS(csk_gate_unlock(&gate), 0);
}
static void *enters(void *argument) {
    waiter_t *waiter = argument;
    STORE(&waiter->thread_id, csk_platform_thread_id());
    CHECK_STATUS(csk_gate_lock(&gate, waiter->priority), 0);
    note_entry(waiter);
    return NULL;
}
static void start_as(void *(*body)(void *), waiter_t *waiter, uint32_t number, int32_t priority, uint32_t waiting) {
    *waiter = (waiter_t){ .priority = priority, .number = number };
    CHECK_STATUS(pthread_create(&waiter->thread, NULL, body, waiter), 0);
    wait_until(csk_gate_waiting(&gate) == waiting);
    await_sleep(&waiter->thread_id);
}

static void start(waiter_t *waiter, uint32_t number, int32_t priority, uint32_t waiting) {
    start_as(enters, waiter, number, priority, waiting);
}

static void make(uint32_t policy) {
    CHECK_STATUS(csk_gate_init(&gate, &(csk_gate_attr_t){ .policy = policy }), 0);
    STORE(&entered, 0);
    prepare_handler();
}
/* The late one is the first of those that wait. */
static void begin(uint32_t policy, waiter_t *late) {
    make(policy);
    CHECK_STATUS(csk_gate_lock(&gate, 0), 0);
    start(late, 1, 0, 1);
    send_into_handler(late->thread);
}
/* All others have entered before it, which enters at last. */
static void end(waiter_t *waiters, uint32_t count) {
    wait_until(LOAD(&entered) == count - 1);
    STORE(&may_leave_handler, 1);
    for (uint32_t i = 0; i < count; i++) CHECK_STATUS(pthread_join(waiters[i].thread, NULL), 0);
    CHECK_EQ(order[count - 1], 1);
    CHECK_STATUS(csk_gate_destroy(&gate), 0);
}

static void an_urgent_thread_waits_for_none_that_is_late(void) {
    for (uint32_t policy = CSK_GATE_FAST; policy <= CSK_GATE_COMPACT; policy++) {
        waiter_t waiters[2];
        begin(policy, &waiters[0]);
        CHECK_STATUS(csk_gate_unlock(&gate), 0); /* tells it */
        CHECK_STATUS(csk_gate_lock(&gate, 0), 0);
        start(&waiters[1], 2, 5, 2);
        CHECK_STATUS(csk_gate_unlock(&gate), 0);
        end(waiters, 2);
    }
}

/* Nobody else comes to the gate: they look after it by themselves, one for the other. */
static void those_behind_one_that_is_late_are_let_in(void) {
    for (uint32_t policy = CSK_GATE_FAST; policy <= CSK_GATE_COMPACT; policy++) {
        waiter_t waiters[4];
        begin(policy, &waiters[0]);
        start(&waiters[1], 2, 0, 2);
        start(&waiters[2], 3, -5, 3);
        start(&waiters[3], 4, 0, 4);
        CHECK_STATUS(csk_gate_unlock(&gate), 0);
        end(waiters, 4); /* in any order: each of them may be late in turn */
    }
}

/* Those who keep coming see that it is late. They are of a higher rank, and so they pass it. */
static void those_who_keep_coming_pass_it_over(void) {
    for (uint32_t policy = CSK_GATE_FAST; policy <= CSK_GATE_COMPACT; policy++) {
        waiter_t waiters[2];
        begin(policy, &waiters[0]);
        start(&waiters[1], 2, 0, 2);
        CHECK_STATUS(csk_gate_unlock(&gate), 0);
        while (LOAD(&entered) == 0) {
            CHECK_STATUS(csk_gate_lock(&gate, 9), 0);
            CHECK_STATUS(csk_gate_unlock(&gate), 0);
        }
        end(waiters, 2);
    }
}

/* Two wait for one predicate, which is true. The first is chosen, told, and late: the second is asked all the same. */
static uint32_t is_open;
static bool opened(void *context) {
    (void)context;
    return LOAD(&is_open) != 0;
}
static void *awaits(void *argument) {
    waiter_t *waiter = argument;
    STORE(&waiter->thread_id, csk_platform_thread_id());
    CHECK_STATUS(csk_gate_lock_when(&gate, 0, opened, NULL, CSK_NEVER), 0);
    note_entry(waiter);
    return NULL;
}
static void predicates_behind_one_that_is_late_are_asked(void) {
    for (uint32_t policy = CSK_GATE_FAST; policy <= CSK_GATE_COMPACT; policy++) {
        waiter_t waiters[2];
        make(policy);
        STORE(&is_open, 0);
        for (uint32_t i = 0; i < 2; i++) start_as(awaits, &waiters[i], i + 1, 0, i + 1);
        send_into_handler(waiters[0].thread);
        STORE(&is_open, 1);
        while (LOAD(&entered) == 0) {
            CHECK_STATUS(csk_gate_lock(&gate, 9), 0);
            CHECK_STATUS(csk_gate_unlock(&gate), 0);
        }
        end(waiters, 2);
    }
}

TEST_MAIN(TEST(an_urgent_thread_waits_for_none_that_is_late), TEST(those_behind_one_that_is_late_are_let_in),
          TEST(those_who_keep_coming_pass_it_over), TEST(predicates_behind_one_that_is_late_are_asked))
