/* gate_bypass_test.c: who waits at a gate, and whose priority nobody named, is overtaken so often and no more, without
 * a limit of the gate's own. bypass_test.c has the other objects, gate_async_test.c the gate's own limit. */
#include "csynckernel/await.h"
#include "lock/gate_order.h"
#include "ranks.h"
#include "test.h"

enum { LOW = -3, HIGH = 7, NEVER_SERVED = 300 };

/* ---- The list ---------------------------------------------------------------------------------------------------- */

/* Random arrivals, of which half are under the limit, each served or gone at random, beside counts that are kept one by
 * one. They are so few that those under no limit are out of the way at once. */
static void counts_are_exact(void) {
    enum { MOST = CSK_ARRIVALS_STEPS, STEPS = 300000 };
    static struct {
        csk_waiter_t waiter;
        bool bounded;
        uint32_t passed;
    } all[MOST];
    int waiting[MOST], count = 0; /* by age */
    csk_gate_t gate = CSK_GATE_INITIALIZER;
    unsigned random = 1;
    int overdue_seen = 0;
    for (int step = 0; step < STEPS; step++) {
        int first = 0;
        while (first < count && !all[waiting[first]].bounded) first++;
        csk_waiter_t *expected = NULL;
        if (first < count && all[waiting[first]].passed >= CSK_BYPASS_UNNAMED) expected = &all[waiting[first]].waiter;
        CHECK(csk_gate_overdue(&gate) == expected);
        overdue_seen += expected != NULL;
        int choice = (int)(rand_r(&random) % 40);
        int place = count == 0 ? 0 : (int)((unsigned)rand_r(&random) % (unsigned)count);
        if (choice < 12 && count < MOST) {
            int free = 0;
            while (csk_waiter_state(&all[free].waiter) == WAITER_QUEUED) free++;
            all[free].bounded = rand_r(&random) % 2 == 0;
            all[free].passed = 0;
            csk_waiter_for_thread(&all[free].waiter, all[free].bounded ? unnamed(LOW) : back(LOW), 16);
            csk_waiter_set(&all[free].waiter, WAITER_QUEUED);
            csk_gate_link(&gate, &all[free].waiter);
            waiting[count++] = free;
        } else if (choice < 30) { /* somebody passes them all */
            for (int i = 0; i < count; i++) all[waiting[i]].passed++;
            csk_gate_count_pass(&gate);
        } else if (count != 0) {
            bool served = choice < 36;
            if (served)
                for (int i = 0; i < place; i++) all[waiting[i]].passed++;
            csk_gate_unlink(&gate, &all[waiting[place]].waiter, served);
            csk_waiter_set(&all[waiting[place]].waiter, WAITER_IDLE);
            memmove(&waiting[place], &waiting[place + 1], (size_t)(--count - place) * sizeof waiting[0]);
        }
    }
    CHECK(overdue_seen > STEPS / 100);
    while (count != 0) csk_gate_unlink(&gate, &all[waiting[--count]].waiter, false);
    CHECK(csk_gate_oldest(&gate) == NULL);
    CHECK_EQ(gate.bounded, 0);
    CHECK_EQ(gate.oldest_bypassed, 0);
}

/* ---- Those that stand in the queue ------------------------------------------------------------------------------- */

static int entered;
static bool is_served;
static void enters(csk_waiter_t *waiter, void *gate, int status) {
    (void)waiter;
    CHECK_STATUS(status, 0);
    entered++;
    CHECK_EQ(csk_gate_holder(gate), CSK_GATE_NOBODY);
}
static void is_low(csk_waiter_t *waiter, void *gate, int status) {
    enters(waiter, gate, status);
    is_served = true;
}
static void queue(csk_gate_t *gate, csk_waiter_t *waiter, csk_rank_t rank, csk_waiter_function_t function) {
    CHECK_STATUS(csk_gate_lock_async_ranked(gate, rank, waiter, false, CSK_NEVER, function, gate), 0);
}
static int enter_all(csk_gate_t *gate) {
    int sections = 0;
    for (; csk_gate_holder(gate) != 0; sections++) CHECK_STATUS(csk_gate_unlock(gate), 0);
    return sections;
}

/* So many urgent ones, of which two always wait, go before one that waits at `rank` behind `older` others of a named
 * priority below it. */
static int passes_before(csk_gate_attr_t attr, csk_rank_t rank, int older) {
    static csk_waiter_t low, urgent[2], others[100];
    csk_gate_t gate;
    CHECK_STATUS(csk_gate_init(&gate, &attr), 0);
    CHECK_STATUS(csk_gate_lock(&gate, 0), 0);
    for (int i = 0; i < older; i++) queue(&gate, &others[i], back(LOW - 1), enters);
    is_served = false;
    queue(&gate, &low, rank, is_low);
    queue(&gate, &urgent[0], back(HIGH), enters);
    int passes = 0;
    for (; passes < NEVER_SERVED; passes++) {
        queue(&gate, &urgent[(passes + 1) % 2], back(HIGH), enters);
        CHECK_STATUS(csk_gate_unlock(&gate), 0);
        if (is_served) break;
    }
    enter_all(&gate);
    CHECK(is_served);
    CHECK_EQ(gate.bounded, 0);
    CHECK_STATUS(csk_gate_destroy(&gate), 0);
    return passes;
}
static void an_unnamed_waiter_is_overtaken_so_often(void) {
    for (uint32_t policy = CSK_GATE_FAST; policy <= CSK_GATE_STRICT; policy++) {
        csk_gate_attr_t attr = { .policy = policy };
        CHECK_EQ(passes_before(attr, unnamed(LOW), 0), CSK_BYPASS_UNNAMED);
        CHECK_EQ(passes_before(attr, unnamed(LOW), 8), CSK_BYPASS_UNNAMED);
        CHECK_EQ(passes_before(attr, unnamed(LOW), 100), CSK_BYPASS_UNNAMED);
        CHECK_EQ(passes_before(attr, back(LOW), 0), NEVER_SERVED);
    }
}
static void a_limit_of_the_gates_own_is_for_all(void) {
    for (uint32_t policy = CSK_GATE_FAST; policy <= CSK_GATE_STRICT; policy++) {
        csk_gate_attr_t few = { .policy = policy, .bypass_limit = 3 };
        CHECK_EQ(passes_before(few, unnamed(LOW), 0), 3);
        CHECK_EQ(passes_before(few, back(LOW), 0), 3);
        csk_gate_attr_t never = { .policy = policy, .bypass_limit = CSK_BYPASS_NEVER };
        CHECK_EQ(passes_before(never, unnamed(LOW), 0), NEVER_SERVED);
    }
}

/* ---- Whoever may wait -------------------------------------------------------------------------------------------- */

static bool is_open(void *context) { return *(bool *)context; }
/* What is queued at the condition's rank has its limit too. */
static csk_waiter_t of_condition;
static void has_come(csk_gate_condition_t *condition, void *gate, int status) {
    CHECK_STATUS(status, 0);
    CHECK_EQ(csk_gate_condition_rank(condition), unnamed(LOW));
    queue(gate, &of_condition, csk_gate_condition_rank(condition), enters);
}
static void every_call_takes_such_a_rank(void) {
    csk_gate_t gate = CSK_GATE_INITIALIZER;
    csk_waiter_t waiter = { 0 };
    csk_gate_condition_t condition = { 0 };
    bool open = true;
    static const int32_t priorities[] = { INT32_MIN, LOW, 0, HIGH, INT32_MAX };
    for (size_t i = 0; i < sizeof priorities / sizeof *priorities; i++) {
        csk_rank_t rank = unnamed(priorities[i]);
        CHECK_STATUS(csk_gate_lock_ranked(&gate, rank, CSK_NEVER), 0);
        CHECK_STATUS(csk_gate_lock_slow(&gate, rank, CSK_NEVER), EDEADLK);
        CHECK_STATUS(csk_gate_await_ranked(&gate, rank, is_open, &open, 0), 0);
        CHECK_STATUS(csk_gate_unlock(&gate), 0);
        CHECK_STATUS(csk_gate_lock_slow(&gate, rank, 0), 0);
        CHECK_STATUS(csk_gate_unlock(&gate), 0);
        CHECK_STATUS(csk_gate_lock_when_ranked(&gate, rank, is_open, &open, CSK_NEVER), 0);
        queue(&gate, &waiter, rank, enters);
        CHECK_EQ(waiter.node.rank, back(priorities[i]));
        CHECK_EQ(enter_all(&gate), 2);
    }
    CHECK_STATUS(csk_gate_lock(&gate, 0), 0);
    CHECK_STATUS(csk_gate_watch(&gate, unnamed(LOW), &condition, is_open, &open, has_come, &gate), 0);
    CHECK_STATUS(csk_gate_unlock(&gate), 0);
    CHECK_EQ(enter_all(&gate), 1);
    CHECK_STATUS(csk_gate_destroy(&gate), 0);
}

TEST_MAIN(TEST(counts_are_exact), TEST(an_unnamed_waiter_is_overtaken_so_often),
          TEST(a_limit_of_the_gates_own_is_for_all), TEST(every_call_takes_such_a_rank))
