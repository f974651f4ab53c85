/* gate_torture_test.c: everything at once, from many threads: what is protected stays whole, and nobody is left
 * behind. */
#include <csynckernel/csynckernel.h>

#include "test.h"

enum { THREADS = 12 };

static struct {
    csk_gate_t gate;
    long inside, count;
    int outstanding;
    int rounds;
} shared;

static void work_inside(void) {
    CHECK_EQ(++shared.inside, 1);
    shared.count++;
    shared.inside--;
}

static void async_turn(csk_waiter_t *waiter, void *context, int status) {
    (void)context;
    if (status == 0) {
        work_inside();
        CHECK_STATUS(csk_gate_unlock(waiter->gate), 0);
    }
    free(waiter);
    ADD(&shared.outstanding, -1);
}

struct turns {
    int which;
    long entered;
};

static void take_turn(uint64_t *random, long *entered) {
    int32_t priority = (int32_t)test_random_below(random, 5);
    switch (test_random_below(random, 6)) {
    case 0:
        if (csk_gate_trylock(&shared.gate, priority) != 0) return;
        break;
    case 1:
    case 2:
        if (csk_gate_timedlock(&shared.gate, priority, csk_deadline_after((int64_t)test_random_below(random, 30000))) !=
            0)
            return;
        break;
    case 3: {
        csk_waiter_t *waiter = calloc(1, sizeof *waiter);
        int64_t deadline = test_random_below(random, 2) ? CSK_NEVER
                                                        : csk_deadline_after((int64_t)test_random_below(random, 30000));
        ADD(&shared.outstanding, 1);
        CHECK_STATUS(csk_gate_lock_async(&shared.gate, priority, waiter, deadline, async_turn, NULL), 0);
        return;
    }
    default: CHECK_STATUS(csk_gate_lock(&shared.gate, priority), 0);
    }
    work_inside();
    ++*entered;
    CHECK_STATUS(csk_gate_unlock(&shared.gate), 0);
}

static void *take_turns(void *context) {
    struct turns *turns = context;
    uint64_t random = test_seed((uint64_t)turns->which);
    for (int i = 0; i < shared.rounds; i++) take_turn(&random, &turns->entered);
    return NULL;
}

static void torture(uint32_t policy, uint32_t bypass_limit, int rounds) {
    memset(&shared, 0, sizeof shared);
    csk_gate_attr_t attr = { .policy = policy, .bypass_limit = bypass_limit };
    CHECK_STATUS(csk_gate_init(&shared.gate, &attr), 0);
    shared.rounds = TEST_ROUNDS(rounds);
    struct turns turns[THREADS];
    pthread_t threads[THREADS];
    for (int i = 0; i < THREADS; i++) {
        turns[i] = (struct turns){ i, 0 };
        threads[i] = start_thread(take_turns, &turns[i]);
    }
    long entered = 0;
    for (int i = 0; i < THREADS; i++) {
        join_thread(threads[i]);
        entered += turns[i].entered;
    }
    wait_until(LOAD(&shared.outstanding) == 0);
    CHECK_STATUS(csk_gate_lock(&shared.gate, 0), 0);
    CHECK_GE(shared.count, entered);
    CHECK_STATUS(csk_gate_unlock(&shared.gate), 0);
    CHECK_EQ(csk_gate_waiting(&shared.gate), 0);
    CHECK_STATUS(csk_gate_destroy(&shared.gate), 0);
}

static void fast(void) { torture(CSK_GATE_FAST, 0, 40000); }
static void compact(void) { torture(CSK_GATE_COMPACT, 0, 40000); }
static void strict(void) { torture(CSK_GATE_STRICT, 0, 8000); }
static void fast_with_a_bypass_limit(void) { torture(CSK_GATE_FAST, 3, 8000); }
static void compact_with_a_bypass_limit(void) { torture(CSK_GATE_COMPACT, 1, 8000); }

TEST_MAIN(TEST(fast), TEST(compact), TEST(strict), TEST(fast_with_a_bypass_limit), TEST(compact_with_a_bypass_limit))
