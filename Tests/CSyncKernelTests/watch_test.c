/* watch_test.c: what watching a predicate without a thread promises: refusals, one call for each that is accepted, the
 * order among those that watch and threads that wait, giving up at each moment; and what a thread that waits for a
 * predicate may not do to the gate.
 * More than 400 lines: all tests share those that watch, the threads that wait, and the order in which they go. */
#include <csynckernel/csynckernel.h>

#include "test.h"

static csk_gate_t gate;
static uint32_t items, order_count;
static int order[8];

static void make(uint32_t policy) {
    csk_gate_attr_t attr = { .policy = policy };
    CHECK_STATUS(csk_gate_init(&gate, &attr), 0);
    items = order_count = 0;
}
static void check_idle(void) {
    CHECK_EQ(csk_gate_waiting(&gate), 0);
    CHECK_STATUS(csk_gate_destroy(&gate), 0);
}
static void lock(void) { CHECK_STATUS(csk_gate_lock(&gate, INT32_MAX), 0); }
static void unlock(void) { CHECK_STATUS(csk_gate_unlock(&gate), 0); }
static void come_by(void) {
    lock();
    unlock();
}
static void put(uint32_t count) {
    lock();
    items += count;
    unlock();
}
static bool has_items(void *needed) {
    CHECK(csk_gate_is_mine(&gate));
    return items >= *(uint32_t *)needed;
}
static void note(int number) { order[order_count++] = number; }
static void check_order(const int *expected, uint32_t count) {
    CHECK_EQ(order_count, count);
    for (uint32_t i = 0; i < count; i++) CHECK_EQ(order[i], expected[i]);
}

typedef struct {
    csk_gate_condition_t condition;
    csk_gate_waiter_t waiter;
    csk_rank_t rank;
    uint32_t needed;
    int number, calls, status;
} watcher_t;

static void is_called(csk_gate_condition_t *condition, void *context, int status) {
    watcher_t *self = context;
    CHECK(condition == &self->condition);
    self->calls++;
    self->status = status;
    if (status == 0) note(self->number);
}
static int watch_as(watcher_t *self, csk_gate_condition_function_t function) {
    return csk_gate_watch(&gate, &self->condition, self->rank, has_items, &self->needed, function, self);
}
static void watch(watcher_t *self, int number, csk_rank_t rank, uint32_t needed) {
    *self = (watcher_t){ .rank = rank, .needed = needed, .number = number, .status = -1 };
    CHECK_STATUS(watch_as(self, is_called), 0);
}
static void check_called(const watcher_t *self, int calls, int status) {
    CHECK_EQ(self->calls, calls);
    if (calls != 0) CHECK_STATUS(self->status, status);
}
#define NORMAL csk_rank(0, CSK_PLACE_BACK)

/* ---- Refusals ---------------------------------------------------------------------------------------------------- */

static void *watches_as_a_stranger(void *watcher) {
    CHECK_STATUS(watch_as(watcher, is_called), EPERM);
    return NULL;
}
static void refusals(void) {
    for (uint32_t policy = 0; policy < 3; policy++) {
        watcher_t watcher = { .rank = NORMAL, .needed = 1 };
        csk_gate_waiter_t closer = { 0 };
        make(policy);
        CHECK_STATUS(csk_gate_unwatch(&gate, &watcher.condition), EBUSY);
        CHECK_STATUS(watch_as(&watcher, is_called), EPERM);
        lock();
        join_thread(start_thread(watches_as_a_stranger, &watcher));
        CHECK_STATUS(csk_gate_watch(&gate, &watcher.condition, NORMAL, NULL, NULL, is_called, &watcher), EINVAL);
        CHECK_STATUS(watch_as(&watcher, NULL), EINVAL);
        watcher.rank = INT64_MAX;
        CHECK_STATUS(watch_as(&watcher, is_called), EINVAL);
        watcher.rank = NORMAL;
        CHECK_STATUS(csk_gate_unwatch(&gate, &watcher.condition), EBUSY);
        CHECK_STATUS(watch_as(&watcher, is_called), 0);
        CHECK_STATUS(watch_as(&watcher, is_called), EBUSY);
        CHECK_STATUS(csk_gate_close(&gate, &closer, (csk_gate_function_t)abort, NULL), EBUSY);
        unlock();
        CHECK_STATUS(csk_gate_destroy(&gate), EBUSY);
        CHECK_EQ(csk_gate_waiting(&gate), 1);
        put(1);
        check_called(&watcher, 1, 0);
        CHECK_STATUS(csk_gate_unwatch(&gate, &watcher.condition), EBUSY);
        /* Nobody in particular holds the gate. */
        lock();
        items = 0;
        CHECK_STATUS(csk_gate_disown(&gate), 0);
        CHECK_STATUS(watch_as(&watcher, is_called), 0);
        items = 1;
        unlock();
        check_called(&watcher, 2, 0);
        check_idle();
    }
}

static void closes(csk_gate_waiter_t *waiter, void *called, int status) {
    (void)waiter;
    CHECK_STATUS(status, 0);
    *(bool *)called = true;
}
static void a_closed_gate_is_not_watched(void) {
    watcher_t watcher = { .rank = NORMAL, .needed = 1 };
    csk_gate_waiter_t closer = { 0 };
    bool closed = false;
    make(CSK_GATE_FAST);
    lock();
    CHECK_STATUS(csk_gate_close(&gate, &closer, closes, &closed), 0);
    CHECK_STATUS(watch_as(&watcher, is_called), ESHUTDOWN);
    CHECK_STATUS(csk_gate_unwatch(&gate, &watcher.condition), EBUSY);
    unlock();
    CHECK(closed);
    check_called(&watcher, 0, 0);
    CHECK_STATUS(csk_gate_destroy(&gate), 0);
}

/* ---- Order ------------------------------------------------------------------------------------------------------- */

typedef struct {
    csk_rank_t rank;
    uint32_t needed;
    int64_t deadline_ns;
    int number, status;
    pthread_t thread;
} visitor_t;

static void *visit(void *context) {
    visitor_t *self = context;
    int64_t deadline_ns = self->deadline_ns;
    self->status = csk_gate_lock_when_ranked(&gate, has_items, &self->needed, self->rank, deadline_ns);
    if (self->status != 0) return NULL;
    note(self->number);
    unlock();
    return NULL;
}
static void begin_visit(visitor_t *self, int number, csk_rank_t rank, uint32_t needed, int64_t deadline_ns) {
    uint32_t before = csk_gate_waiting(&gate);
    *self = (visitor_t){ rank, needed, deadline_ns, number, -1, 0 };
    self->thread = start_thread(visit, self);
    /* Its deadline may pass before this thread can see it wait. */
    wait_until(csk_gate_waiting(&gate) == before + 1 || csk_now() >= deadline_ns);
}
static void check_visited(const visitor_t *self, int status) {
    join_thread(self->thread);
    CHECK_STATUS(self->status, status);
}

static void they_are_called_by_rank_one_for_each_who_leaves(void) {
    static const struct {
        int32_t priority;
        uint32_t place;
    } ranks[] = { { 0, CSK_PLACE_BACK },  { 1, CSK_PLACE_BACK },  { 0, CSK_PLACE_FRONT },        { 0, CSK_PLACE_BACK },
                  { 0, CSK_PLACE_FRONT }, { 1, CSK_PLACE_FRONT }, { INT32_MIN, CSK_PLACE_FRONT } };
    static const int expected[] = { 5, 1, 4, 2, 0, 3, 6 };
    for (uint32_t policy = 0; policy < 3; policy++) {
        watcher_t watchers[7];
        make(policy);
        lock();
        for (int i = 0; i < 7; i++) watch(&watchers[i], i, csk_rank(ranks[i].priority, ranks[i].place), 1);
        CHECK_EQ(csk_gate_waiting(&gate), 7);
        unlock();
        check_order(NULL, 0);
        put(1);
        for (uint32_t i = 1; i <= 7; i++) {
            check_order(expected, i);
            CHECK_EQ(csk_gate_waiting(&gate), 7 - i);
            come_by();
        }
        check_order(expected, 7);
        check_idle();
    }
}

static void has_the_gate(csk_gate_waiter_t *waiter, void *context, int status) {
    watcher_t *self = context;
    CHECK(waiter == &self->waiter);
    CHECK_STATUS(status, 0);
    note(self->number);
    unlock();
}
static void queues(csk_gate_condition_t *condition, void *context, int status) {
    watcher_t *self = context;
    (void)condition;
    CHECK_STATUS(status, 0);
    CHECK_STATUS(csk_gate_lock(&gate, 0), EDEADLK);
    CHECK_STATUS(csk_gate_lock_async_ranked(&gate, &self->waiter, self->rank, CSK_NEVER, false, has_the_gate, self), 0);
}
static void watch_and_queue(watcher_t *self, int number, csk_rank_t rank, uint32_t needed) {
    *self = (watcher_t){ .rank = rank, .needed = needed, .number = number };
    CHECK_STATUS(watch_as(self, queues), 0);
}

static void threads_and_watchers_go_in_one_order(void) {
    static const int expected[] = { 1, 0, 5, 4, 2, 3 };
    csk_rank_t high = csk_rank(1, CSK_PLACE_BACK), front = csk_rank(0, CSK_PLACE_FRONT);
    for (uint32_t policy = 0; policy < 3; policy++) {
        visitor_t first, second, third;
        watcher_t watchers[3];
        make(policy);
        lock();
        watch_and_queue(&watchers[0], 1, high, 1);
        unlock();
        begin_visit(&first, 0, high, 1, CSK_NEVER);
        lock();
        watch_and_queue(&watchers[1], 2, NORMAL, 1);
        unlock();
        begin_visit(&second, 3, NORMAL, 1, CSK_NEVER);
        begin_visit(&third, 4, front, 1, CSK_NEVER);
        lock();
        watch_and_queue(&watchers[2], 5, front, 1);
        unlock();
        put(1);
        check_visited(&first, 0);
        check_visited(&second, 0);
        check_visited(&third, 0);
        come_by(); /* the last has left */
        check_order(expected, 6);
        check_idle();
    }
}

/* The last one was chosen before the others' predicates were true, and is passed. What the first one's function queues
 * stands where the first one stood, before the last; so the second one is asked before the last has come. */
static void sets_all(csk_gate_waiter_t *waiter, void *unused, int status) {
    (void)waiter, (void)unused;
    CHECK_STATUS(status, 0);
    items = 2;
    unlock();
}
static void comes_first(csk_gate_waiter_t *waiter, csk_gate_function_t function, void *context);
static void what_a_function_queues_has_the_place_of_the_condition(void) {
    static const int expected[] = { 0, 1, 2 };
    for (uint32_t policy = 0; policy < 3; policy++) {
        csk_gate_waiter_t waiter = { 0 };
        watcher_t first;
        visitor_t second, third;
        make(policy);
        lock();
        watch_and_queue(&first, 0, NORMAL, 2);
        unlock();
        begin_visit(&second, 1, NORMAL, 2, CSK_NEVER);
        begin_visit(&third, 2, NORMAL, 1, CSK_NEVER);
        lock();
        comes_first(&waiter, sets_all, NULL);
        items = 1;
        unlock();
        check_visited(&second, 0);
        check_visited(&third, 0);
        come_by();
        check_order(expected, 3);
        check_idle();
    }
}

/* ---- The end of watching ----------------------------------------------------------------------------------------- */

static void who_gives_up_is_told_so_once(void) {
    for (uint32_t policy = 0; policy < 3; policy++) {
        watcher_t watcher, other;
        make(policy);
        lock();
        watch(&watcher, 0, NORMAL, 1);
        watch(&other, 1, NORMAL, 1);
        CHECK_STATUS(csk_gate_unwatch(&gate, &watcher.condition), 0);
        check_called(&watcher, 1, ECANCELED);
        CHECK_STATUS(csk_gate_unwatch(&gate, &watcher.condition), EBUSY);
        CHECK_STATUS(watch_as(&watcher, is_called), 0);
        unlock();
        /* Both have been asked by now. */
        CHECK_STATUS(csk_gate_unwatch(&gate, &watcher.condition), 0);
        check_called(&watcher, 2, ECANCELED);
        CHECK_STATUS(csk_gate_unwatch(&gate, &watcher.condition), EBUSY);
        put(1);
        check_called(&watcher, 2, ECANCELED);
        check_called(&other, 1, 0);
        check_idle();
    }
}

static bool gives_up(void *context) {
    watcher_t *self = context;
    self->number = csk_gate_unwatch(&gate, &self->condition);
    CHECK_STATUS(csk_gate_unwatch(&gate, &self->condition), EBUSY);
    CHECK_EQ(self->calls, 0);
    return self->needed == 0;
}
static void who_gives_up_while_it_is_asked_is_told_afterwards(void) {
    for (uint32_t is_true = 0; is_true < 2; is_true++) {
        watcher_t watcher = { .needed = 1 - is_true }, behind;
        make(CSK_GATE_FAST);
        lock();
        CHECK_STATUS(csk_gate_watch(&gate, &watcher.condition, NORMAL, gives_up, &watcher, is_called, &watcher), 0);
        watch(&behind, 1, NORMAL, 1);
        items = 1;
        unlock();
        CHECK_STATUS(watcher.number, 0);
        check_called(&watcher, 1, ECANCELED);
        check_called(&behind, 1, 0);
        check_idle();
    }
}

static void watches_again(csk_gate_condition_t *condition, void *context, int status) {
    watcher_t *self = context;
    is_called(condition, context, status);
    if (self->calls < 4) CHECK_STATUS(watch_as(self, watches_again), 0);
}
static void a_function_may_watch_again(void) {
    static const int expected[] = { 0, 1, 0, 0, 0 };
    watcher_t watcher = { .rank = NORMAL, .needed = 1 }, other;
    make(CSK_GATE_FAST);
    lock();
    CHECK_STATUS(watch_as(&watcher, watches_again), 0);
    watch(&other, 1, NORMAL, 1);
    unlock();
    put(1);
    for (int visits = 0; visits < 8; visits++) come_by();
    check_order(expected, 5); /* behind those that wait already */
    CHECK_EQ(watcher.calls, 4);
    check_idle();
}

/* ---- Threads, at the gate ---------------------------------------------------------------------------------------- */

/* It comes before anybody whom the thread that leaves chooses, and on that thread. */
static void comes_first(csk_gate_waiter_t *waiter, csk_gate_function_t function, void *context) {
    csk_rank_t rank = csk_rank(INT32_MAX, CSK_PLACE_FRONT);
    CHECK_STATUS(csk_gate_lock_async_ranked(&gate, waiter, rank, CSK_NEVER, false, function, context), 0);
}
static void counts(csk_gate_waiter_t *waiter, void *count, int status) {
    (void)waiter;
    CHECK_STATUS(status, 0);
    *(uint32_t *)count = csk_gate_waiting(&gate);
    unlock();
}
static void who_is_on_its_way_waits_at_the_gate_alone(void) {
    for (uint32_t policy = 0; policy < 3; policy++) {
        csk_gate_waiter_t waiter = { 0 };
        visitor_t first, second;
        uint32_t waiting = 0;
        make(policy);
        begin_visit(&first, 0, NORMAL, 1, CSK_NEVER);
        begin_visit(&second, 1, NORMAL, 1, CSK_NEVER);
        lock();
        comes_first(&waiter, counts, &waiting);
        items = 1;
        unlock();
        CHECK_EQ(waiting, 2);
        check_visited(&first, 0);
        check_visited(&second, 0);
        check_idle();
    }
}

static void takes_all(csk_gate_waiter_t *waiter, void *taken, int status) {
    (void)waiter;
    CHECK_STATUS(status, 0);
    items = 0;
    *(bool *)taken = true;
    unlock();
}
/* It is chosen, but another one was faster. It goes on waiting until its deadline. */
static void a_deadline_counts_after_a_turn_in_vain(void) {
    for (uint32_t policy = 0; policy < 3; policy++) {
        csk_gate_waiter_t waiter = { 0 };
        visitor_t visitor;
        bool taken = false;
        make(policy);
        begin_visit(&visitor, 0, NORMAL, 1, csk_deadline_after(30000000));
        lock();
        comes_first(&waiter, takes_all, &taken);
        items = 1;
        unlock();
        CHECK(taken);
        check_visited(&visitor, ETIMEDOUT);
        CHECK_GE(csk_now(), visitor.deadline_ns);
        check_idle();
    }
}

static void who_only_tries_does_not_leave_the_gate(void) {
    for (uint32_t policy = 0; policy < 3; policy++) {
        csk_gate_waiter_t waiter = { 0 };
        uint32_t one = 1;
        bool taken = false;
        make(policy);
        lock();
        comes_first(&waiter, takes_all, &taken);
        CHECK_STATUS(csk_gate_await(&gate, has_items, &one, 0, 0), ETIMEDOUT);
        CHECK_STATUS(csk_gate_await(&gate, has_items, &one, 0, INT64_MIN), ETIMEDOUT);
        CHECK(csk_gate_is_mine(&gate) && !taken);
        unlock();
        CHECK(taken);
        check_idle();
    }
}

TEST_MAIN(TEST(refusals), TEST(a_closed_gate_is_not_watched), TEST(they_are_called_by_rank_one_for_each_who_leaves),
          TEST(threads_and_watchers_go_in_one_order), TEST(what_a_function_queues_has_the_place_of_the_condition),
          TEST(who_gives_up_is_told_so_once), TEST(who_gives_up_while_it_is_asked_is_told_afterwards),
          TEST(a_function_may_watch_again), TEST(who_is_on_its_way_waits_at_the_gate_alone),
          TEST(a_deadline_counts_after_a_turn_in_vain), TEST(who_only_tries_does_not_leave_the_gate))
