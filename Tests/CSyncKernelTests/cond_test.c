/* cond_test.c: what condition variables promise: signals, broadcasts, order, deadlines, all forms of the gate and the
 * mutex, refusals, and a bounded buffer of which no item may be lost. */
#include "cond_fixture.h"

static uint32_t items, order_count;
static int order[8];

static void begin(uint32_t policy) {
    make(policy);
    items = order_count = 0;
}

/* A thread that waits for a signal, and says when its turn was. */
typedef struct {
    int32_t priority;
    int64_t deadline_ns;
    int number, status;
    bool holds;
    pthread_t thread;
} visitor_t;

static void *visit(void *context) {
    visitor_t *visitor = context;
    CHECK_STATUS(csk_gate_lock(&gate, visitor->priority), 0);
    visitor->status = csk_cond_timedwait(&cond, visitor->priority, visitor->deadline_ns);
    visitor->holds = csk_gate_is_mine(&gate);
    if (visitor->status == 0) order[ADD(&order_count, 1) - 1] = visitor->number;
    CHECK_STATUS(csk_gate_unlock(&gate), 0);
    return NULL;
}
static void begin_visit(visitor_t *visitor, int number, int32_t priority, int64_t deadline_ns) {
    uint32_t before = csk_cond_waiting(&cond);
    *visitor = (visitor_t){ .priority = priority, .number = number, .deadline_ns = deadline_ns };
    visitor->thread = start_thread(visit, visitor);
    /* Its deadline may pass before this thread can see it wait. */
    wait_until(csk_cond_waiting(&cond) == before + 1 || csk_now() >= deadline_ns);
}
static void check_visited(visitor_t *visitor, int status) {
    join_thread(visitor->thread);
    CHECK_STATUS(visitor->status, status);
    CHECK(visitor->holds);
}

static void signals_go_by_priority_and_then_by_arrival(void) {
    static const int32_t priorities[] = { 0, -1, 0, INT32_MAX, INT32_MIN, 0 };
    static const int expected[] = { 3, 0, 2, 5, 1, 4 };
    for (uint32_t policy = 0; policy < 3; policy++) {
        visitor_t visitors[6];
        begin(policy);
        for (int i = 0; i < 6; i++) begin_visit(&visitors[i], i, priorities[i], CSK_NEVER);
        for (uint32_t i = 0; i < 6; i++) {
            CHECK_STATUS(csk_cond_signal(&cond), 0);
            CHECK_EQ(csk_cond_waiting(&cond), 5 - i);
            wait_until(LOAD(&order_count) == i + 1);
        }
        for (int i = 0; i < 6; i++) {
            check_visited(&visitors[i], 0);
            CHECK_EQ(order[i], expected[i]);
        }
        check_idle();
    }
}

static void a_broadcast_within_a_section_lets_all_go_on_in_order(void) {
    for (uint32_t policy = 0; policy < 3; policy++) {
        visitor_t visitors[4];
        begin(policy);
        for (int i = 0; i < 4; i++) begin_visit(&visitors[i], i, i, CSK_NEVER);
        CHECK_STATUS(csk_gate_lock(&gate, 0), 0);
        CHECK_STATUS(csk_cond_broadcast(&cond), 0);
        CHECK_EQ(csk_cond_waiting(&cond), 0);
        CHECK_EQ(csk_gate_waiting(&gate), 4);
        CHECK_STATUS(csk_gate_unlock(&gate), 0);
        for (int i = 0; i < 4; i++) {
            check_visited(&visitors[i], 0);
            CHECK_EQ(order[i], 3 - i);
        }
        check_idle();
    }
}

static void a_deadline_is_never_early_and_the_gate_is_held_all_the_same(void) {
    for (uint32_t policy = 0; policy < 3; policy++) {
        begin(policy);
        CHECK_STATUS(csk_gate_lock(&gate, 0), 0);
        int64_t deadline_ns = csk_deadline_after(2000000);
        CHECK_STATUS(csk_cond_timedwait(&cond, 0, deadline_ns), ETIMEDOUT);
        CHECK_GE(csk_now(), deadline_ns);
        CHECK(csk_gate_is_mine(&gate));
        CHECK_STATUS(csk_cond_timedwait(&cond, 0, INT64_MIN), ETIMEDOUT);
        CHECK(csk_gate_is_mine(&gate));
        CHECK_STATUS(csk_gate_unlock(&gate), 0);
        CHECK_STATUS(csk_cond_signal(&cond), 0);
        check_idle();
    }
}

/* The deadline passes while another holds the gate, after the signal: the wait for the gate has none. Where the signal
 * came too late, the next deadline is a later one. */
static void a_deadline_does_not_bound_the_wait_for_the_gate(void) {
    visitor_t visitor;
    begin(CSK_GATE_FAST);
    begin_visit(&visitor, 0, 0, csk_deadline_after(INT64_C(3600000000000)));
    CHECK_STATUS(csk_gate_lock(&gate, 0), 0);
    CHECK_STATUS(csk_cond_signal(&cond), 0);
    CHECK_EQ(csk_gate_waiting(&gate), 1);
    CHECK_STATUS(csk_gate_unlock(&gate), 0);
    check_visited(&visitor, 0);
    bool in_time = false;
    for (int64_t patience_ns = 1000000; !in_time; patience_ns *= 2) {
        begin_visit(&visitor, 0, 0, csk_deadline_after(patience_ns));
        CHECK_STATUS(csk_gate_lock(&gate, 0), 0);
        bool waits = csk_cond_waiting(&cond) == 1;
        CHECK_STATUS(csk_cond_signal(&cond), 0);
        in_time = waits && csk_now() < visitor.deadline_ns;
        wait_until(csk_now() > visitor.deadline_ns + 1000000);
        CHECK_STATUS(csk_gate_unlock(&gate), 0);
        join_thread(visitor.thread);
        CHECK(visitor.holds);
        if (in_time) CHECK_STATUS(visitor.status, 0);
        order_count = 0;
    }
    check_idle();
}

static void misuse_is_refused_and_changes_nothing(void) {
    begin(CSK_GATE_FAST);
    CHECK_STATUS(csk_cond_init(&cond, NULL), EINVAL);
    CHECK_STATUS(csk_cond_init_mutex(&cond, NULL), EINVAL);
    CHECK_STATUS(csk_cond_wait(&cond, 0), EPERM);
    CHECK_STATUS(csk_gate_lock(&gate, 0), 0);
    CHECK_STATUS(csk_cond_wait_ranked(&cond, INT64_MAX, CSK_NEVER), EINVAL);
    CHECK_STATUS(csk_cond_wait_ranked(&cond, csk_rank(0, 3), CSK_NEVER), EINVAL);
    CHECK_STATUS(csk_gate_unlock(&gate), 0);
    visitor_t visitor;
    begin_visit(&visitor, 0, 0, CSK_NEVER);
    CHECK_STATUS(csk_cond_destroy(&cond), EBUSY);
    CHECK_STATUS(csk_cond_signal(&cond), 0);
    check_visited(&visitor, 0);
    check_idle();
}

/* The calls other than csk_cond_init used to read through the NULL of a zero-filled one. */
static void null_is_refused_and_without_a_gate_nobody_waits(void) {
    begin(CSK_GATE_FAST);
    CHECK_STATUS(csk_cond_init(NULL, &gate), EINVAL);
    CHECK_STATUS(csk_cond_init_mutex(NULL, NULL), EINVAL);
    CHECK_STATUS(csk_cond_init(&cond, NULL), EINVAL);
    CHECK(cond.gate == &gate);
    csk_cond_t of_nobody[] = { { .gate = NULL }, CSK_COND_INITIALIZER(NULL) };
    for (int i = 0; i < 2; i++) {
        CHECK_STATUS(csk_cond_wait(&of_nobody[i], 0), EINVAL);
        CHECK_STATUS(csk_cond_timedwait(&of_nobody[i], 0, 0), EINVAL);
        CHECK_STATUS(csk_cond_signal(&of_nobody[i]), 0);
        CHECK_STATUS(csk_cond_broadcast(&of_nobody[i]), 0);
        CHECK_EQ(csk_cond_waiting(&of_nobody[i]), 0);
        CHECK_STATUS(csk_cond_destroy(&of_nobody[i]), 0);
    }
    check_idle();
}

/* ---- Mutexes ----------------------------------------------------------------------------------------------------- */

static csk_mutex_t mutex = CSK_MUTEX_INITIALIZER;

static void *take_at_two_levels(void *context) {
    (void)context;
    CHECK_STATUS(csk_mutex_lock(&mutex), 0);
    CHECK_STATUS(csk_mutex_lock(&mutex), 0);
    while (items == 0) CHECK_STATUS(csk_cond_wait(&cond, 0), 0);
    items = 0;
    CHECK_STATUS(csk_mutex_unlock(&mutex), 0);
    CHECK_STATUS(csk_mutex_unlock(&mutex), 0);
    CHECK_STATUS(csk_mutex_unlock(&mutex), EPERM);
    return NULL;
}
static void a_mutex_is_left_at_all_its_levels(void) {
    for (int i = 0; i < 200; i++) {
        mutex = (csk_mutex_t)CSK_MUTEX_INITIALIZER;
        CHECK_STATUS(csk_cond_init_mutex(&cond, &mutex), 0);
        items = 0;
        pthread_t thread = start_thread(take_at_two_levels, NULL);
        if (i % 2 == 0) wait_until(csk_cond_waiting(&cond) == 1);
        CHECK_STATUS(csk_mutex_lock(&mutex), 0);
        items = 1;
        CHECK_STATUS(csk_cond_signal(&cond), 0);
        CHECK_STATUS(csk_mutex_unlock(&mutex), 0);
        join_thread(thread);
        CHECK_STATUS(csk_cond_destroy(&cond), 0);
        CHECK_STATUS(csk_mutex_destroy(&mutex), 0);
    }
}

/* ---- A bounded buffer -------------------------------------------------------------------------------------------- */

enum { PRODUCERS = 4, CONSUMERS = 4, ITEMS_EACH = 20000 / TEST_SLOWDOWN, ROOM = 3 };

static csk_cond_t has_room;
static uint64_t buffer[ROOM], sum;
static uint32_t first, timeouts;

/* Half of the waits have a deadline that passes now and then. */
static void await_condition(csk_cond_t *condition, uint32_t *random) {
    *random = *random * 1664525 + 1013904223;
    int64_t deadline_ns = *random >> 31 ? CSK_NEVER : csk_deadline_after(*random >> 14 & 0xffff);
    int status = csk_cond_timedwait(condition, (int32_t)(*random >> 8 & 3), deadline_ns);
    CHECK(status == 0 || status == ETIMEDOUT);
    CHECK(csk_gate_is_mine(&gate));
    if (status == ETIMEDOUT) timeouts++;
}
static void *produce(void *context) {
    uint32_t random = (uint32_t)(intptr_t)context;
    for (uint64_t i = 1; i <= ITEMS_EACH; i++) {
        CHECK_STATUS(csk_gate_lock(&gate, 0), 0);
        while (items == ROOM) await_condition(&has_room, &random);
        buffer[(first + items++) % ROOM] = i;
        CHECK_STATUS(csk_cond_signal(&cond), 0);
        CHECK_STATUS(csk_gate_unlock(&gate), 0);
    }
    return NULL;
}
static void *consume(void *context) {
    uint32_t random = (uint32_t)(intptr_t)context;
    for (uint64_t i = 1; i <= ITEMS_EACH; i++) {
        CHECK_STATUS(csk_gate_lock(&gate, 0), 0);
        while (items == 0) await_condition(&cond, &random);
        sum += buffer[first];
        first = (first + 1) % ROOM;
        items--;
        CHECK_STATUS(csk_gate_unlock(&gate), 0);
        CHECK_STATUS(csk_cond_signal(&has_room), 0);
    }
    return NULL;
}
static void no_item_of_a_bounded_buffer_is_lost(void) {
    for (uint32_t policy = 0; policy < 3; policy++) {
        pthread_t threads[PRODUCERS + CONSUMERS];
        begin(policy);
        CHECK_STATUS(csk_cond_init(&has_room, &gate), 0);
        sum = first = 0;
        for (intptr_t i = 0; i < PRODUCERS + CONSUMERS; i++)
            threads[i] = start_thread(i < PRODUCERS ? produce : consume, (void *)(i + 1));
        for (int i = 0; i < PRODUCERS + CONSUMERS; i++) join_thread(threads[i]);
        CHECK_EQ(items, 0);
        CHECK_EQ(sum, PRODUCERS * (ITEMS_EACH * (uint64_t)(ITEMS_EACH + 1) / 2));
        CHECK_STATUS(csk_cond_destroy(&has_room), 0);
        check_idle();
    }
    CHECK_GE(timeouts, 1);
}

TEST_MAIN(TEST(signals_go_by_priority_and_then_by_arrival), TEST(a_broadcast_within_a_section_lets_all_go_on_in_order),
          TEST(a_deadline_is_never_early_and_the_gate_is_held_all_the_same),
          TEST(a_deadline_does_not_bound_the_wait_for_the_gate), TEST(misuse_is_refused_and_changes_nothing),
          TEST(null_is_refused_and_without_a_gate_nobody_waits), TEST(a_mutex_is_left_at_all_its_levels),
          TEST(no_item_of_a_bounded_buffer_is_lost))
