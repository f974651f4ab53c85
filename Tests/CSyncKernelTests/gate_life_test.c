/* gate_life_test.c: a gate in the one-word form may go away as soon as it is unlocked, and what may pass a waiter on
 * its way. */
#include <csynckernel/csynckernel.h>

#include <sys/mman.h>

#include "gate_fixture.h"

/* The waiter that gets the gate takes the page away right after its own unlock, while the unlock that let it in may not
 * have returned: any late access to the gate is a fault. */
struct page {
    csk_gate_t gate;
};

static void *take_away(void *context) {
    struct page *page = context;
    CHECK_STATUS(csk_gate_lock(&page->gate, 0), 0);
    CHECK_STATUS(csk_gate_unlock(&page->gate), 0);
    CHECK_STATUS(csk_gate_destroy(&page->gate), 0);
    CHECK_EQ(mprotect(page, 4096, PROT_NONE), 0);
    return NULL;
}

static void unlock_and_lose(uint32_t policy) {
    for (int round = 0; round < 4000 / TEST_SLOWDOWN; round++) {
        struct page *page = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        CHECK(page != MAP_FAILED);
        make(&page->gate, policy, 0);
        CHECK_STATUS(csk_gate_lock(&page->gate, 0), 0);
        pthread_t thread = start_thread(take_away, page);
        wait_until(csk_gate_waiting(&page->gate) == 1);
        if (round % 2) sched_yield(); /* parked, or still on its way to it */
        CHECK_STATUS(csk_gate_unlock(&page->gate), 0);
        join_thread(thread);
        CHECK_EQ(munmap(page, 4096), 0);
    }
}

static void a_compact_gate_may_go_right_after_the_unlock(void) { unlock_and_lose(CSK_GATE_COMPACT); }
static void a_strict_gate_may_go_right_after_the_unlock(void) { unlock_and_lose(CSK_GATE_STRICT); }

/* The same with the closing function, which runs inside the unlock that granted it. */
static void take_page_away(csk_waiter_t *waiter, void *context, int status) {
    CHECK_STATUS(status, 0);
    CHECK_STATUS(csk_gate_destroy(waiter->gate), 0);
    CHECK_EQ(munmap(context, 4096), 0);
}

static void the_closing_function_may_free_a_one_word_gate(void) {
    for (uint32_t policy = CSK_GATE_COMPACT; policy <= CSK_GATE_STRICT; policy++) {
        struct page *page = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        csk_waiter_t closing = { .word = 0 };
        CHECK(page != MAP_FAILED);
        make(&page->gate, policy, 0);
        CHECK_STATUS(csk_gate_lock(&page->gate, 0), 0);
        CHECK_STATUS(csk_gate_close(&page->gate, &closing, take_page_away, page), 0);
        CHECK_STATUS(csk_gate_unlock(&page->gate), 0);
    }
}

/* ---- A free gate with a waiter on its way ------------------------------------------------------------------------ */

/* The waiter is kept from running by a signal whose handler spins, so that the gate stays free while it waits. */
static int in_handler, let_go;

static void hold_thread(int number) {
    (void)number;
    STORE(&in_handler, 1);
    while (!LOAD(&let_go)) {}
}

static void *wait_at_five(void *gate) {
    CHECK_STATUS(csk_gate_lock(gate, 5), 0);
    CHECK_STATUS(csk_gate_unlock(gate), 0);
    return NULL;
}

static void *trylock_once(void *context) {
    csk_gate_t *gate = context;
    bool strict = gate->policy == CSK_GATE_STRICT;
    CHECK_STATUS(csk_gate_trylock(gate, 4), EBUSY);
    CHECK_STATUS(csk_gate_timedlock(gate, 4, 0), ETIMEDOUT);
    CHECK_STATUS(csk_gate_trylock(gate, 6), strict ? EBUSY : 0);
    if (!strict) CHECK_STATUS(csk_gate_unlock(gate), 0);
    return NULL;
}

static void a_newcomer_passes_a_lower_waiter_and_no_higher_one(void) {
    struct sigaction action = { .sa_handler = hold_thread };
    CHECK_EQ(sigaction(SIGUSR1, &action, NULL), 0);
    for (uint32_t policy = 0; policy < 3; policy++) {
        csk_gate_t gate;
        make(&gate, policy, 0);
        STORE(&in_handler, 0);
        STORE(&let_go, 0);
        CHECK_STATUS(csk_gate_lock(&gate, 0), 0);
        pthread_t waits = start_thread(wait_at_five, &gate);
        wait_until(csk_gate_waiting(&gate) == 1);
        /* More than once: ThreadSanitizer puts a signal off to the thread's next atomic access, and one that comes just
         * before the thread falls asleep is put off for ever; another wakes it to both. */
        while (!LOAD(&in_handler)) {
            CHECK_EQ(pthread_kill(waits, SIGUSR1), 0);
            sched_yield();
        }
        CHECK_STATUS(csk_gate_unlock(&gate), 0);
        join_thread(start_thread(trylock_once, &gate));
        STORE(&let_go, 1);
        join_thread(waits);
        CHECK_STATUS(csk_gate_destroy(&gate), 0);
    }
}

/* ---- A timed-out waiter leaves the others in order --------------------------------------------------------------- */

struct timed {
    csk_gate_t *gate;
    int32_t priority;
    int64_t deadline;
    int expected, number;
};
static int order[8], order_count;

static void *lock_timed(void *context) {
    struct timed *timed = context;
    CHECK_STATUS(csk_gate_timedlock(timed->gate, timed->priority, timed->deadline), timed->expected);
    if (timed->expected != 0) {
        CHECK_GE(csk_now(), timed->deadline);
        return NULL;
    }
    order[order_count++] = timed->number;
    CHECK_STATUS(csk_gate_unlock(timed->gate), 0);
    return NULL;
}

static void those_that_time_out_leave_the_others_in_order(void) {
    for (uint32_t policy = 0; policy < 3; policy++) {
        csk_gate_t gate;
        struct timed timed[7];
        pthread_t threads[7];
        make(&gate, policy, 0);
        order_count = 0;
        CHECK_STATUS(csk_gate_lock(&gate, 0), 0);
        for (int i = 0; i < 7; i++) {
            bool ends = i % 2 == 0; /* first, last, and every other one */
            timed[i] = (struct timed){ &gate, 6 - i, ends ? csk_deadline_after(20000000 + i * 1000000) : CSK_NEVER,
                                       ends ? ETIMEDOUT : 0, i };
            threads[i] = start_thread(lock_timed, &timed[i]);
            wait_until(csk_gate_waiting(&gate) == (uint32_t)i + 1 || csk_now() >= timed[0].deadline);
        }
        for (int i = 0; i < 7; i += 2) join_thread(threads[i]);
        wait_until(csk_gate_waiting(&gate) == 3);
        CHECK_STATUS(csk_gate_unlock(&gate), 0);
        for (int i = 1; i < 7; i += 2) join_thread(threads[i]);
        for (int i = 0; i < 3; i++) CHECK_EQ(order[i], 2 * i + 1);
        CHECK_STATUS(csk_gate_destroy(&gate), 0);
    }
}

TEST_MAIN(TEST(a_compact_gate_may_go_right_after_the_unlock), TEST(a_strict_gate_may_go_right_after_the_unlock),
          TEST(the_closing_function_may_free_a_one_word_gate), TEST(a_newcomer_passes_a_lower_waiter_and_no_higher_one),
          TEST(those_that_time_out_leave_the_others_in_order))
