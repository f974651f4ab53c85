/* await_test.c: what waiting for predicates promises: order, one thread for one change, deadlines, all forms of the
 * gate, refusals, and a bounded buffer of which no item may be lost. */
#include <csynckernel/csynckernel.h>
#include <csynckernel/lanes.h>

#include "test.h"

static csk_gate_t gate;
static uint32_t items, order_count, asked;
static int order[8];

static void make(uint32_t policy) {
    csk_gate_attr_t attr = { .policy = policy };
    CHECK_STATUS(csk_gate_init(&gate, &attr), 0);
    items = order_count = asked = 0;
}
static void check_idle(void) {
    CHECK_EQ(csk_gate_waiting(&gate), 0);
    CHECK_STATUS(csk_gate_destroy(&gate), 0);
}
static void put(uint32_t count) {
    CHECK_STATUS(csk_gate_lock(&gate, INT32_MAX), 0);
    items += count;
    CHECK_STATUS(csk_gate_unlock(&gate), 0);
}

static bool has_items(void *needed) {
    ADD(&asked, 1);
    CHECK(csk_gate_is_mine(&gate));
    return items >= *(uint32_t *)needed;
}

/* A thread that waits for so many items, takes as many as it wants, and says when its turn was. */
typedef struct {
    int32_t priority;
    int64_t deadline_ns;
    uint32_t needed, taken;
    int number, status, held;
    pthread_t thread;
} visitor_t;

static void *visit(void *context) {
    visitor_t *visitor = context;
    visitor->status = csk_gate_lock_when(&gate, visitor->priority, has_items, &visitor->needed, visitor->deadline_ns);
    visitor->held = csk_gate_is_mine(&gate);
    if (visitor->status != 0) return NULL;
    CHECK_GE(items, visitor->needed);
    items -= visitor->taken;
    order[ADD(&order_count, 1) - 1] = visitor->number;
    CHECK_STATUS(csk_gate_unlock(&gate), 0);
    return NULL;
}
static void begin_visit(visitor_t *visitor, int number, int32_t priority, uint32_t needed, uint32_t taken) {
    uint32_t before = csk_gate_waiting(&gate);
    *visitor = (visitor_t){ priority, CSK_NEVER, needed, taken, number, -1, false, 0 };
    visitor->thread = start_thread(visit, visitor);
    wait_until(csk_gate_waiting(&gate) == before + 1);
}
static void check_visited(visitor_t *visitor, int status) {
    join_thread(visitor->thread);
    CHECK_STATUS(visitor->status, status);
    CHECK_EQ(visitor->held, status == 0);
}

static void they_go_by_priority_and_then_by_arrival(void) {
    static const int32_t priorities[] = { 0, -1, 0, INT32_MAX, INT32_MIN, 0 };
    static const int expected[] = { 3, 0, 2, 5, 1, 4 };
    for (uint32_t policy = 0; policy < 3; policy++) {
        visitor_t visitors[6];
        make(policy);
        for (int i = 0; i < 6; i++) begin_visit(&visitors[i], i, priorities[i], 1, 0);
        put(1);
        for (int i = 0; i < 6; i++) {
            check_visited(&visitors[i], 0);
            CHECK_EQ(order[i], expected[i]);
        }
        check_idle();
    }
}

static void one_that_is_false_bars_nobody(void) {
    for (uint32_t policy = 0; policy < 3; policy++) {
        visitor_t large, small;
        make(policy);
        begin_visit(&large, 0, 9, 10, 10);
        begin_visit(&small, 1, 0, 1, 1);
        CHECK_STATUS(csk_gate_lock(&gate, INT32_MIN), 0);
        CHECK_STATUS(csk_gate_unlock(&gate), 0);
        put(1);
        check_visited(&small, 0);
        CHECK_EQ(csk_gate_waiting(&gate), 1);
        put(10);
        check_visited(&large, 0);
        CHECK_EQ(items, 0);
        check_idle();
    }
}

/* Each item lets one thread in, in order, and wakes no other: those that wait are not taken out of their places. */
static void one_change_lets_one_thread_in(void) {
    for (uint32_t policy = 0; policy < 3; policy++) {
        visitor_t visitors[4];
        make(policy);
        for (int i = 0; i < 4; i++) begin_visit(&visitors[i], i, 0, 1, 1);
        for (int i = 0; i < 4; i++) {
            put(1);
            check_visited(&visitors[i], 0);
            CHECK_EQ(order[i], i);
            CHECK_EQ(csk_gate_waiting(&gate), 3 - (uint32_t)i);
            CHECK_EQ(items, 0);
        }
        check_idle();
    }
}

/* Neighbours with one predicate and one context are asked once, and nobody behind the one that is on its way. */
static void who_leaves_asks_as_few_as_it_can(void) {
    static uint32_t one = 1;
    visitor_t visitors[4];
    make(CSK_GATE_COMPACT);
    for (int i = 0; i < 4; i++) begin_visit(&visitors[i], i, 0, 1, 1);
    CHECK_STATUS(csk_gate_lock(&gate, 0), 0); /* by now the last that began to wait has left */
    STORE(&asked, 0);
    CHECK_STATUS(csk_gate_unlock(&gate), 0);
    CHECK_EQ(LOAD(&asked), 4); /* each has a context of its own */
    CHECK_STATUS(csk_gate_lock(&gate, 0), 0);
    items = 4;
    STORE(&asked, 0);
    CHECK_STATUS(csk_gate_unlock(&gate), 0);
    for (int i = 0; i < 4; i++) check_visited(&visitors[i], 0);
    /* Each is asked by who leaves before it, and once more by itself. */
    CHECK_EQ(LOAD(&asked), 8);
    CHECK_STATUS(csk_gate_lock(&gate, 0), 0);
    STORE(&asked, 0);
    CHECK_STATUS(csk_gate_await(&gate, 0, has_items, &one, csk_deadline_after(1000000)), ETIMEDOUT);
    CHECK_EQ(LOAD(&asked), 3); /* when it comes, when it leaves, and at the deadline */
    CHECK_STATUS(csk_gate_unlock(&gate), 0);
    check_idle();
}

static void a_deadline_is_never_early(void) {
    uint32_t one = 1;
    for (uint32_t policy = 0; policy < 3; policy++) {
        make(policy);
        int64_t deadline_ns = csk_deadline_after(2000000);
        CHECK_STATUS(csk_gate_lock_when(&gate, 0, has_items, &one, deadline_ns), ETIMEDOUT);
        CHECK_GE(csk_now(), deadline_ns);
        CHECK(!csk_gate_is_mine(&gate));
        CHECK_STATUS(csk_gate_lock_when(&gate, 0, has_items, &one, INT64_MIN), ETIMEDOUT);
        CHECK_STATUS(csk_gate_lock(&gate, 0), 0);
        CHECK_STATUS(csk_gate_await(&gate, 0, has_items, &one, 0), ETIMEDOUT);
        CHECK(csk_gate_is_mine(&gate));
        items = 1;
        CHECK_STATUS(csk_gate_await(&gate, 0, has_items, &one, 0), 0);
        CHECK_STATUS(csk_gate_unlock(&gate), 0);
        CHECK_STATUS(csk_gate_lock_when(&gate, 0, has_items, &one, 0), 0);
        CHECK_STATUS(csk_gate_unlock(&gate), 0);
        check_idle();
    }
}

/* Begins a visit with a deadline, and holds the gate once the visitor waits. Where threads are late it has given up by
 * then: false. */
static bool begin_visit_in_time(visitor_t *visitor, int64_t patience_ns) {
    *visitor = (visitor_t){ .needed = 1, .taken = 1, .deadline_ns = csk_deadline_after(patience_ns) };
    visitor->thread = start_thread(visit, visitor);
    wait_until(csk_gate_waiting(&gate) == 1 || csk_now() > visitor->deadline_ns);
    CHECK_STATUS(csk_gate_lock(&gate, 0), 0);
    if (csk_gate_waiting(&gate) == 1) return true;
    CHECK_STATUS(csk_gate_unlock(&gate), 0);
    check_visited(visitor, ETIMEDOUT);
    return false;
}

/* The deadline passes while another thread holds the gate: the thread waits for the gate, and asks once more. */
static void a_change_that_comes_before_the_thread_can_look_counts(void) {
    for (uint32_t policy = 0; policy < 3; policy++) {
        visitor_t visitor;
        make(policy);
        for (int64_t patience_ns = 50000000; !begin_visit_in_time(&visitor, patience_ns);) patience_ns *= 2;
        wait_until(csk_now() > visitor.deadline_ns + 5000000);
        items = 1;
        CHECK_STATUS(csk_gate_unlock(&gate), 0);
        check_visited(&visitor, 0);
        check_idle();
    }
}

static bool is_locked_again(void *status) {
    *(int *)status = csk_gate_lock(&gate, 0);
    return true;
}
static void refusals(void) {
    uint32_t one = 1;
    int status = 0;
    csk_waiter_t closer = { 0 };
    make(CSK_GATE_FAST);
    CHECK_STATUS(csk_gate_await(&gate, 0, has_items, &one, CSK_NEVER), EPERM);
    CHECK_STATUS(csk_gate_lock_when(&gate, 0, NULL, &one, CSK_NEVER), EINVAL);
    CHECK_STATUS(csk_gate_lock_when_ranked(&gate, INT64_MAX, has_items, &one, CSK_NEVER), EINVAL);
    CHECK_STATUS(csk_gate_lock(&gate, 0), 0);
    CHECK_STATUS(csk_gate_await(&gate, 0, NULL, &one, CSK_NEVER), EINVAL);
    CHECK_STATUS(csk_gate_await_ranked(&gate, INT64_MIN, has_items, &one, CSK_NEVER), EINVAL);
    CHECK_STATUS(csk_gate_lock_when(&gate, 0, has_items, &one, CSK_NEVER), EDEADLK);
    CHECK_STATUS(csk_gate_unlock(&gate), 0);
    CHECK_STATUS(csk_gate_lock_when(&gate, 0, is_locked_again, &status, CSK_NEVER), 0);
    CHECK_STATUS(status, EDEADLK);
    CHECK_STATUS(csk_gate_unlock(&gate), 0);
    visitor_t visitor;
    begin_visit(&visitor, 0, 0, 1, 1);
    CHECK_STATUS(csk_gate_close(&gate, &closer, (csk_waiter_function_t)abort, NULL), EBUSY);
    CHECK_STATUS(csk_gate_destroy(&gate), EBUSY);
    put(1);
    check_visited(&visitor, 0);
    check_idle();
}

static void *waits_in_a_predicate_that_locks(void *status) {
    CHECK_STATUS(csk_gate_lock_when(&gate, 0, is_locked_again, status, CSK_NEVER), 0);
    CHECK_STATUS(csk_gate_unlock(&gate), 0);
    return NULL;
}

static void closes(csk_waiter_t *waiter, void *called, int status) {
    (void)waiter;
    CHECK_STATUS(status, 0);
    *(bool *)called = true;
}
static void a_closed_gate_lets_nobody_wait(void) {
    uint32_t one = 1;
    bool called = false;
    csk_waiter_t closer = { 0 };
    make(CSK_GATE_COMPACT);
    CHECK_STATUS(csk_gate_lock(&gate, 0), 0);
    CHECK_STATUS(csk_gate_close(&gate, &closer, closes, &called), 0);
    CHECK_STATUS(csk_gate_await(&gate, 0, has_items, &one, CSK_NEVER), ESHUTDOWN);
    CHECK(csk_gate_is_mine(&gate));
    CHECK_STATUS(csk_gate_unlock(&gate), 0);
    CHECK(called);
    CHECK_STATUS(csk_gate_lock_when(&gate, 0, has_items, &one, CSK_NEVER), ESHUTDOWN);
    CHECK_STATUS(csk_gate_destroy(&gate), 0);
}

/* Leaving by whatever call: asynchronous waiters, lanes and a gate that nobody in particular holds. */
static void holds(csk_waiter_t *waiter, void *held, int status) {
    (void)waiter;
    CHECK_STATUS(status, 0);
    STORE((uint32_t *)held, 1);
}
static void every_way_of_leaving_looks(void) {
    for (uint32_t policy = 0; policy < 3; policy++) {
        visitor_t visitor;
        make(policy);
        begin_visit(&visitor, 0, 0, 1, 1);
        csk_waiter_t waiter = { 0 };
        uint32_t held = 0;
        CHECK_STATUS(csk_gate_lock_async(&gate, 0, &waiter, CSK_NEVER, holds, &held), 0);
        wait_until(LOAD(&held) == 1); /* the visitor may be leaving still */
        items = 1;
        CHECK_STATUS(csk_gate_unlock(&gate), 0);
        check_visited(&visitor, 0);

        begin_visit(&visitor, 0, 0, 1, 1);
        CHECK_STATUS(csk_gate_lock(&gate, 0), 0);
        items = 1;
        CHECK_STATUS(csk_gate_disown(&gate), 0);
        CHECK_STATUS(csk_gate_unlock(&gate), 0);
        check_visited(&visitor, 0);

        begin_visit(&visitor, 0, 0, 1, 1);
        csk_cond_t cond = CSK_COND_INITIALIZER(&gate);
        CHECK_STATUS(csk_gate_lock(&gate, 0), 0);
        items = 1;
        CHECK_STATUS(csk_cond_timedwait(&cond, 0, csk_deadline_after(1000)), ETIMEDOUT);
        CHECK_STATUS(csk_gate_unlock(&gate), 0);
        check_visited(&visitor, 0);

        begin_visit(&visitor, 0, 0, 1, 1);
        csk_gate_lane_t lane = { 0 };
        bool goes_on;
        CHECK_STATUS(csk_gate_lock(&gate, 0), 0);
        items = 1;
        CHECK_STATUS(csk_gate_unlock_lane(&gate, &lane, 0, &goes_on), 0);
        CHECK(!goes_on);
        check_visited(&visitor, 0);
        check_idle();
    }
}

static void all_levels_of_a_recursive_gate_are_left(void) {
    uint32_t one = 1;
    make(CSK_GATE_FAST);
    CHECK_STATUS(csk_gate_lock_recursive(&gate, 0, CSK_NEVER), 0);
    CHECK_STATUS(csk_gate_lock_recursive(&gate, 0, CSK_NEVER), 0);
    CHECK_STATUS(csk_gate_await(&gate, 0, has_items, &one, csk_deadline_after(1000000)), ETIMEDOUT);
    CHECK_STATUS(csk_gate_lock_when(&gate, 0, has_items, &one, CSK_NEVER), EDEADLK);
    CHECK_STATUS(csk_gate_lock_when(&gate, 0, has_items, &one, 0), EDEADLK);
    CHECK_STATUS(csk_gate_unlock_recursive(&gate), 0);
    CHECK(csk_gate_is_mine(&gate));
    CHECK_STATUS(csk_gate_unlock_recursive(&gate), 0);
    CHECK(!csk_gate_is_mine(&gate));
    check_idle();
}

static void *fills_recursively(void *unused) {
    wait_until(csk_gate_waiting(&gate) == 1);
    CHECK_STATUS(csk_gate_lock_recursive(&gate, 0, CSK_NEVER), 0);
    items = 1;
    CHECK_STATUS(csk_gate_unlock_recursive(&gate), 0);
    return unused;
}
/* It was held under another identity: one more level waited for itself, and the recursive unlock gave EPERM. */
static void a_recursive_gate_is_taken_when_a_predicate_is_true(void) {
    uint32_t one = 1;
    pthread_t filler;
    make(CSK_GATE_FAST);
    CHECK_STATUS(csk_gate_lock_when_recursive(&gate, 0, has_items, &one, csk_deadline_after(1000000)), ETIMEDOUT);
    CHECK_STATUS(csk_gate_lock_when_recursive(&gate, 0, NULL, NULL, CSK_NEVER), EINVAL);
    CHECK_STATUS(pthread_create(&filler, NULL, fills_recursively, NULL), 0);
    for (int level = 0; level < 2; level++)
        CHECK_STATUS(csk_gate_lock_when_recursive(&gate, 0, has_items, &one, CSK_NEVER), 0);
    CHECK_STATUS(csk_gate_lock_recursive(&gate, 0, csk_deadline_after(200000000)), 0);
    for (int level = 0; level < 3; level++) CHECK_STATUS(csk_gate_unlock_recursive(&gate), 0);
    CHECK_STATUS(pthread_join(filler, NULL), 0);
    check_idle();
}

/* ---- A bounded buffer -------------------------------------------------------------------------------------------- */

enum { ROOM = 4, PRODUCERS = 3, CONSUMERS = 3, EACH = 1000 };
static uint64_t taken_sum;

static bool has_room(void *unused) {
    (void)unused;
    return items < ROOM;
}
static bool is_filled(void *unused) {
    (void)unused;
    return items > 0;
}
static uint64_t sum;
static void *produce(void *number) {
    for (uint64_t i = 0; i < EACH; i++) {
        CHECK_STATUS(csk_gate_lock_when(&gate, (int32_t)(i % 3), has_room, NULL, CSK_NEVER), 0);
        CHECK_GE(ROOM - 1, items);
        items++;
        sum += *(uint64_t *)number * EACH + i;
        CHECK_STATUS(csk_gate_unlock(&gate), 0);
    }
    return NULL;
}
static void *consume(void *unused) {
    (void)unused;
    for (uint64_t i = 0; i < EACH;) {
        int64_t deadline_ns = i % 7 == 6 ? CSK_NEVER : csk_deadline_after((int64_t)(i % 7) * 20000);
        int status = csk_gate_lock_when(&gate, 0, is_filled, NULL, deadline_ns);
        if (status == ETIMEDOUT) continue;
        CHECK_STATUS(status, 0);
        CHECK_GE(items, 1);
        items--;
        taken_sum++;
        CHECK_STATUS(csk_gate_unlock(&gate), 0);
        i++;
    }
    return NULL;
}
static void no_item_of_a_bounded_buffer_is_lost(void) {
    for (uint32_t policy = 0; policy < 3; policy++) {
        pthread_t threads[PRODUCERS + CONSUMERS];
        uint64_t numbers[PRODUCERS] = { 0, 1, 2 };
        make(policy);
        sum = taken_sum = 0;
        for (int i = 0; i < PRODUCERS; i++) threads[i] = start_thread(produce, &numbers[i]);
        for (int i = 0; i < CONSUMERS; i++) threads[PRODUCERS + i] = start_thread(consume, NULL);
        for (int i = 0; i < PRODUCERS + CONSUMERS; i++) join_thread(threads[i]);
        CHECK_EQ(items, 0);
        CHECK_EQ(taken_sum, (uint64_t)PRODUCERS * EACH);
        CHECK_EQ(sum, (uint64_t)PRODUCERS * EACH * (PRODUCERS * EACH - 1) / 2);
        check_idle();
    }
}

static void a_predicate_that_locks_on_anothers_thread_is_refused(void) {
    int status = -1;
    make(CSK_GATE_FAST);
    CHECK_STATUS(csk_gate_lock(&gate, 0), 0);
    pthread_t thread = start_thread(waits_in_a_predicate_that_locks, &status);
    wait_until(csk_gate_waiting(&gate) == 1);
    CHECK_STATUS(csk_gate_unlock(&gate), 0);
    join_thread(thread);
    CHECK_STATUS(status, EDEADLK);
    check_idle();
}

TEST_MAIN(TEST(they_go_by_priority_and_then_by_arrival), TEST(one_that_is_false_bars_nobody),
          TEST(one_change_lets_one_thread_in), TEST(who_leaves_asks_as_few_as_it_can), TEST(a_deadline_is_never_early),
          TEST(a_change_that_comes_before_the_thread_can_look_counts), TEST(refusals),
          TEST(a_closed_gate_lets_nobody_wait), TEST(every_way_of_leaving_looks),
          TEST(all_levels_of_a_recursive_gate_are_left), TEST(a_recursive_gate_is_taken_when_a_predicate_is_true),
          TEST(a_predicate_that_locks_on_anothers_thread_is_refused), TEST(no_item_of_a_bounded_buffer_is_lost))
