/* gate_chain_test.c: long chains of functions on a small stack: granting, cancelling and adopting never recurse. */
#include "test.h"

#include <csynckernel/csynckernel.h>
#include <sys/mman.h>

enum { CHAIN = TEST_ROUNDS(1000000) };

static csk_gate_t gate;
static csk_waiter_t *chain;
static long calls;

/* The stack that a thread needs to start at all, and 16 KiB. A frame of 16 bytes for each link would need a thousand
 * times as much. What a sanitizer adds to frames and to each thread comes on top. */
static void on_a_small_stack(void *(*body)(void *)) {
    pthread_attr_t attributes;
    pthread_t thread;
    size_t size = (size_t)sysconf(_SC_THREAD_STACK_MIN) + 16 * 1024 + (TEST_IS_SANITIZED ? 1024 * 1024 : 0);
    CHECK_EQ(pthread_attr_init(&attributes), 0);
    CHECK_EQ(pthread_attr_setstacksize(&attributes, size), 0);
    CHECK_EQ(pthread_create(&thread, &attributes, body, NULL), 0);
    pthread_attr_destroy(&attributes);
    join_thread(thread);
    CHECK_EQ(calls, CHAIN);
    CHECK_EQ(csk_gate_waiting(&gate), 0);
}

static void make_chain(uint32_t policy) {
    size_t size = (size_t)CHAIN * sizeof *chain;
    csk_gate_attr_t attr = { .policy = policy };
    if (chain != NULL) CHECK_EQ(munmap(chain, size), 0);
    chain = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    CHECK(chain != MAP_FAILED);
    CHECK_STATUS(csk_gate_init(&gate, &attr), 0);
    CHECK_STATUS(csk_gate_lock(&gate, 0), 0);
    calls = 0;
}

static void queue_all(csk_waiter_function_t function) {
    for (long i = 0; i < CHAIN; i++)
        CHECK_STATUS(csk_gate_lock_async(&gate, 0, &chain[i], CSK_NEVER, function, NULL), 0);
    CHECK_EQ(csk_gate_waiting(&gate), CHAIN);
}

static void leave(csk_waiter_t *waiter, void *context, int status) {
    (void)context;
    CHECK_STATUS(status, 0);
    CHECK_EQ(waiter - chain, calls++);
    CHECK_STATUS(csk_gate_unlock(&gate), 0);
}

static void *unlock_once(void *context) {
    CHECK_STATUS(csk_gate_unlock(&gate), 0);
    return context;
}

/* The one that unlocks is the thread with the small stack: it gets a gate that nobody in particular holds. */
static void granted_one_by_another(void) {
    for (uint32_t policy = 0; policy < 3; policy++) {
        make_chain(policy);
        queue_all(leave);
        CHECK_STATUS(csk_gate_disown(&gate), 0);
        on_a_small_stack(unlock_once);
        CHECK_STATUS(csk_gate_destroy(&gate), 0);
    }
}

static void cancel_the_next(csk_waiter_t *waiter, void *context, int status) {
    (void)context;
    CHECK_STATUS(status, ECANCELED);
    CHECK_EQ(waiter - chain, calls++);
    if (calls < CHAIN) CHECK_STATUS(csk_gate_cancel(&gate, waiter + 1), 0);
}

static void *cancel_the_first(void *context) {
    CHECK_STATUS(csk_gate_cancel(&gate, &chain[0]), 0);
    return context;
}

static void cancelled_one_by_another(void) {
    make_chain(CSK_GATE_FAST);
    queue_all(cancel_the_next);
    on_a_small_stack(cancel_the_first);
    CHECK_STATUS(csk_gate_unlock(&gate), 0);
    CHECK_STATUS(csk_gate_destroy(&gate), 0);
}

/* From inside one function all others are cancelled: their functions queue up in the thread's list. */
static void cancel_all_others(csk_waiter_t *waiter, void *context, int status) {
    (void)context;
    calls++;
    if (waiter != &chain[0]) {
        CHECK_STATUS(status, ECANCELED);
        return;
    }
    CHECK_STATUS(status, 0);
    for (long i = CHAIN - 1; i > 0; i--) CHECK_STATUS(csk_gate_cancel(&gate, &chain[i]), 0);
    CHECK_EQ(calls, 1);
    CHECK_STATUS(csk_gate_unlock(&gate), 0);
}

static void all_cancelled_from_one_function(void) {
    make_chain(CSK_GATE_COMPACT);
    queue_all(cancel_all_others);
    CHECK_STATUS(csk_gate_disown(&gate), 0);
    on_a_small_stack(unlock_once);
    CHECK_STATUS(csk_gate_destroy(&gate), 0);
}

/* Each function queues the next waiter at a gate that its own waiter holds, and leaves. */
static void queue_the_next(csk_waiter_t *waiter, void *context, int status) {
    (void)context;
    CHECK_STATUS(status, 0);
    CHECK_EQ(waiter - chain, calls++);
    if (calls < CHAIN) CHECK_STATUS(csk_gate_lock_async(&gate, 0, waiter + 1, CSK_NEVER, queue_the_next, NULL), 0);
    CHECK_STATUS(csk_gate_unlock(&gate), 0);
}

static void *queue_the_first(void *context) {
    CHECK_STATUS(csk_gate_unlock(&gate), 0);
    CHECK_STATUS(csk_gate_lock_async(&gate, 0, &chain[0], CSK_NEVER, queue_the_next, NULL), 0);
    return context;
}

static void queued_one_by_another(void) {
    for (uint32_t policy = 0; policy < 3; policy++) {
        make_chain(policy);
        CHECK_STATUS(csk_gate_disown(&gate), 0);
        on_a_small_stack(queue_the_first);
        CHECK_STATUS(csk_gate_destroy(&gate), 0);
    }
}

static void adopt_and_leave(csk_waiter_t *waiter, void *context, int status) {
    (void)context;
    CHECK_STATUS(status, 0);
    calls++;
    CHECK_STATUS(csk_gate_adopt(&gate, waiter), 0);
    CHECK_STATUS(csk_gate_unlock(&gate), 0);
}

/* A grace period of half an hour, so that no grant is lost on a machine that stands still for a moment. */
static void adopted_one_by_another(void) {
    make_chain(CSK_GATE_FAST);
    CHECK_STATUS(csk_gate_unlock(&gate), 0);
    csk_gate_attr_t attr = { .grace_us = 1800 * 1000 * 1000U };
    CHECK_STATUS(csk_gate_init(&gate, &attr), 0);
    CHECK_STATUS(csk_gate_lock(&gate, 0), 0);
    for (long i = 0; i < CHAIN; i++)
        CHECK_STATUS(csk_gate_lock_async_ranked(&gate, csk_rank(0, CSK_PLACE_BACK), &chain[i], true, CSK_NEVER,
                                                adopt_and_leave, NULL),
                     0);
    CHECK_STATUS(csk_gate_disown(&gate), 0);
    on_a_small_stack(unlock_once);
    CHECK_STATUS(csk_gate_destroy(&gate), 0);
}

TEST_MAIN(TEST(granted_one_by_another), TEST(cancelled_one_by_another), TEST(all_cancelled_from_one_function),
          TEST(queued_one_by_another), TEST(adopted_one_by_another))
