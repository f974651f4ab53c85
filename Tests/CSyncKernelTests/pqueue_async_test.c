/* pqueue_async_test.c: asynchronous waiters in the lines of the bounded priority queue, beside threads: order,
 * deadlines, cancellation, closing, refusals, use from functions, fork.
 *
 * More than 400 lines: each promise is a short test at the same calls. */
#include <csynckernel/pqueue.h>

#include "child.h"
#include "test.h"

enum { COUNT = 8 };
static const int64_t hour_ns = INT64_C(3600000000000);

/* A call without a thread; `item` is what it pushes, or has popped. */
typedef struct {
    csk_waiter_t waiter;
    csk_pqueue_t *queue;
    csk_pqueue_item_t own, *item;
    int status;
    uint32_t ended, place; /* how often its function was called; its place among those that have ended */
} call_t;

static uint32_t places;

static void note(csk_waiter_t *waiter, void *context, int status) {
    call_t *call = context;
    CHECK(waiter == &call->waiter);
    call->status = status;
    call->item = status == 0 ? csk_pqueue_taken(waiter) : NULL;
    call->place = ADD(&places, 1);
    ADD(&call->ended, 1);
}

static int pop_until(call_t *call, csk_pqueue_t *queue, int64_t deadline_ns) {
    call->queue = queue;
    return csk_pqueue_pop_async(queue, &call->waiter, deadline_ns, note, call);
}
static int push_until(call_t *call, csk_pqueue_t *queue, int32_t priority, int64_t deadline_ns) {
    call->queue = queue;
    return csk_pqueue_push_async(queue, priority, &call->waiter, &call->own, deadline_ns, note, call);
}
static void check_ended(const call_t *call, int status) {
    CHECK_EQ(LOAD(&call->ended), 1);
    CHECK_STATUS(call->status, status);
}
static csk_pqueue_item_t *take(csk_pqueue_t *queue) {
    csk_pqueue_item_t *item = NULL;
    CHECK_STATUS(csk_pqueue_trypop(queue, &item), 0);
    return item;
}
static void check_destroyed(csk_pqueue_t *queue) {
    CHECK_EQ(csk_pqueue_waiting(queue), 0);
    CHECK_STATUS(csk_pqueue_destroy(queue), 0);
}

/* ---- What can be had at once, and what is waited for ------------------------------------------------------------- */

static void what_is_there_is_handed_over_before_the_call_returns(void) {
    csk_pqueue_t queue;
    static call_t pushes[3], pops[2];
    CHECK_EQ(csk_pqueue_init(&queue, 2), 0);
    CHECK_STATUS(push_until(&pushes[0], &queue, 1, CSK_NEVER), 0);
    CHECK_STATUS(push_until(&pushes[1], &queue, 7, csk_deadline_after(hour_ns)), 0);
    check_ended(&pushes[0], 0);
    check_ended(&pushes[1], 0);
    CHECK_STATUS(push_until(&pushes[2], &queue, 9, CSK_NEVER), 0);
    CHECK_EQ(LOAD(&pushes[2].ended), 0);
    CHECK_EQ(csk_pqueue_count(&queue), 2);
    CHECK_EQ(csk_pqueue_waiting(&queue), 1);
    CHECK_STATUS(csk_pqueue_destroy(&queue), EBUSY);
    /* The place that this one makes is the waiter's, whose item comes out first. */
    CHECK_STATUS(pop_until(&pops[0], &queue, INT64_MIN), 0);
    check_ended(&pops[0], 0);
    CHECK(pops[0].item == &pushes[1].own);
    check_ended(&pushes[2], 0);
    CHECK_STATUS(pop_until(&pops[1], &queue, CSK_NEVER), 0);
    CHECK(pops[1].item == &pushes[2].own);
    CHECK(take(&queue) == &pushes[0].own);
    check_destroyed(&queue);
}

static void *pop_body(void *context) {
    call_t *call = context;
    call->status = csk_pqueue_pop(call->queue, &call->item);
    call->place = ADD(&places, 1);
    ADD(&call->ended, 1);
    return NULL;
}
static void *push_body(void *context) {
    call_t *call = context;
    call->status = csk_pqueue_push(call->queue, 0, &call->own);
    ADD(&call->ended, 1);
    return NULL;
}

/* Each second one is a thread. */
static void poppers_with_and_without_a_thread_are_served_as_they_came(void) {
    csk_pqueue_t queue = CSK_PQUEUE_INITIALIZER;
    static call_t calls[COUNT];
    static csk_pqueue_item_t items[COUNT];
    pthread_t threads[COUNT];
    places = 0;
    for (uint32_t i = 0; i < COUNT; i++) {
        calls[i].queue = &queue;
        if (i % 2 == 0) CHECK_STATUS(pop_until(&calls[i], &queue, csk_deadline_after(hour_ns)), 0);
        else threads[i] = start_thread(pop_body, &calls[i]);
        wait_until(csk_pqueue_waiting(&queue) == i + 1);
    }
    for (uint32_t i = 0; i < COUNT; i++) {
        CHECK_STATUS(csk_pqueue_push(&queue, (int32_t)(i * 7 % 3), &items[i]), 0);
        if (i % 2 == 1) join_thread(threads[i]);
        check_ended(&calls[i], 0);
        CHECK(calls[i].item == &items[i]);
        CHECK_EQ(calls[i].place, i + 1);
    }
    check_destroyed(&queue);
}

static void pushers_with_and_without_a_thread_are_served_as_they_came(void) {
    csk_pqueue_t queue;
    static call_t calls[COUNT];
    pthread_t threads[COUNT];
    csk_pqueue_item_t inside;
    CHECK_EQ(csk_pqueue_init(&queue, 1), 0);
    CHECK_STATUS(csk_pqueue_push(&queue, 0, &inside), 0);
    for (uint32_t i = 0; i < COUNT; i++) {
        calls[i].queue = &queue;
        /* The priority orders items, not those who wait for room. */
        if (i % 2 == 0) CHECK_STATUS(push_until(&calls[i], &queue, (int32_t)i, CSK_NEVER), 0);
        else threads[i] = start_thread(push_body, &calls[i]);
        wait_until(csk_pqueue_waiting(&queue) == i + 1);
    }
    CHECK(take(&queue) == &inside);
    for (uint32_t i = 0; i < COUNT; i++) {
        if (i % 2 == 1) join_thread(threads[i]);
        check_ended(&calls[i], 0);
        CHECK_EQ(csk_pqueue_waiting(&queue), COUNT - 1 - i);
        CHECK(take(&queue) == &calls[i].own);
    }
    check_destroyed(&queue);
}

static void draining_lets_those_in_who_wait_for_room(void) {
    csk_pqueue_t queue;
    static call_t pushes[3];
    csk_pqueue_item_t inside[2], *first;
    CHECK_EQ(csk_pqueue_init(&queue, 2), 0);
    for (int i = 0; i < 2; i++) CHECK_STATUS(csk_pqueue_push(&queue, 0, &inside[i]), 0);
    for (int i = 0; i < 3; i++) CHECK_STATUS(push_until(&pushes[i], &queue, 0, CSK_NEVER), 0);
    CHECK_EQ(csk_pqueue_drain(&queue, &first), 2);
    CHECK(first == &inside[0] && first->next == &inside[1] && inside[1].next == NULL);
    check_ended(&pushes[0], 0);
    check_ended(&pushes[1], 0);
    CHECK_EQ(LOAD(&pushes[2].ended), 0);
    CHECK_EQ(csk_pqueue_drain(&queue, &first), 2);
    check_ended(&pushes[2], 0);
    CHECK(take(&queue) == &pushes[2].own);
    check_destroyed(&queue);
}

/* ---- The other ends of a wait ------------------------------------------------------------------------------------ */

static void a_deadline_ends_a_wait_and_never_early(void) {
    csk_pqueue_t queue;
    csk_pqueue_item_t inside;
    CHECK_EQ(csk_pqueue_init(&queue, 1), 0);
    uint64_t random = test_seed(5);
    for (int round = 0; round < 200; round++) {
        static call_t call;
        int64_t deadline = csk_deadline_after((int64_t)test_random_below(&random, round % 2 ? 500000 : 3000) - 1000);
        call.ended = 0;
        if (round % 3 == 0) CHECK_STATUS(csk_pqueue_push(&queue, 0, &inside), 0);
        CHECK_STATUS(round % 3 == 0 ? push_until(&call, &queue, 0, deadline) : pop_until(&call, &queue, deadline), 0);
        wait_until(LOAD(&call.ended));
        CHECK_GE(csk_now(), deadline);
        check_ended(&call, ETIMEDOUT);
        CHECK_EQ(csk_pqueue_waiting(&queue), 0);
        CHECK_STATUS(csk_pqueue_cancel(&queue, &call.waiter), ENOENT);
        if (round % 3 == 0) CHECK(take(&queue) == &inside);
    }
    check_destroyed(&queue);
}

static void a_cancelled_waiter_is_passed_over_and_its_item_is_the_callers(void) {
    csk_pqueue_t queue;
    static call_t pops[3], pushes[3];
    csk_pqueue_item_t item;
    CHECK_EQ(csk_pqueue_init(&queue, 1), 0);
    CHECK_STATUS(csk_pqueue_cancel(&queue, &pops[0].waiter), ENOENT);
    for (int i = 0; i < 3; i++) CHECK_STATUS(pop_until(&pops[i], &queue, csk_deadline_after(hour_ns)), 0);
    CHECK_STATUS(csk_pqueue_cancel(&queue, &pops[0].waiter), 0);
    check_ended(&pops[0], ECANCELED);
    CHECK_STATUS(csk_pqueue_cancel(&queue, &pops[0].waiter), ENOENT);
    CHECK_STATUS(csk_pqueue_push(&queue, 0, &item), 0);
    check_ended(&pops[1], 0);
    CHECK(pops[1].item == &item);
    CHECK_STATUS(csk_pqueue_cancel(&queue, &pops[1].waiter), ENOENT);
    CHECK_STATUS(csk_pqueue_cancel(&queue, &pops[2].waiter), 0);

    CHECK_STATUS(csk_pqueue_push(&queue, 0, &item), 0);
    for (int i = 0; i < 3; i++) CHECK_STATUS(push_until(&pushes[i], &queue, 0, CSK_NEVER), 0);
    CHECK_STATUS(csk_pqueue_cancel(&queue, &pushes[1].waiter), 0);
    check_ended(&pushes[1], ECANCELED);
    CHECK(take(&queue) == &item);
    check_ended(&pushes[0], 0);
    CHECK(take(&queue) == &pushes[0].own);
    check_ended(&pushes[2], 0);
    CHECK(take(&queue) == &pushes[2].own);
    check_destroyed(&queue);
}

static void close_tells_everybody_and_refuses_later_ones(void) {
    csk_pqueue_t empty = CSK_PQUEUE_INITIALIZER, full;
    static call_t pops[3], pushes[3];
    csk_pqueue_item_t inside;
    CHECK_EQ(csk_pqueue_init(&full, 1), 0);
    CHECK_STATUS(csk_pqueue_push(&full, 0, &inside), 0);
    for (int i = 0; i < 2; i++) {
        CHECK_STATUS(pop_until(&pops[i], &empty, i == 0 ? CSK_NEVER : csk_deadline_after(hour_ns)), 0);
        CHECK_STATUS(push_until(&pushes[i], &full, 0, i == 0 ? CSK_NEVER : csk_deadline_after(hour_ns)), 0);
    }
    CHECK_STATUS(csk_pqueue_close(&empty), 0);
    CHECK_STATUS(csk_pqueue_close(&full), 0);
    for (int i = 0; i < 2; i++) {
        check_ended(&pops[i], ESHUTDOWN);
        check_ended(&pushes[i], ESHUTDOWN);
    }
    CHECK_STATUS(pop_until(&pops[2], &empty, CSK_NEVER), ESHUTDOWN);
    CHECK_STATUS(push_until(&pushes[2], &empty, 0, CSK_NEVER), ESHUTDOWN);
    CHECK_EQ(pops[2].ended + pushes[2].ended, 0);
    /* What is inside can still be had. */
    CHECK_STATUS(pop_until(&pops[2], &full, CSK_NEVER), 0);
    check_ended(&pops[2], 0);
    CHECK(pops[2].item == &inside);
    CHECK_STATUS(pop_until(&pops[2], &full, CSK_NEVER), ESHUTDOWN);
    check_destroyed(&empty);
    check_destroyed(&full);
}

static void what_is_refused_changes_nothing(void) {
    csk_pqueue_t queue = CSK_PQUEUE_INITIALIZER;
    static call_t call, other;
    CHECK_STATUS(csk_pqueue_pop_async(&queue, &call.waiter, CSK_NEVER, NULL, NULL), EINVAL);
    CHECK_STATUS(csk_pqueue_push_async(&queue, 0, &call.waiter, &call.own, CSK_NEVER, NULL, NULL), EINVAL);
    CHECK_EQ(csk_pqueue_waiting(&queue) + csk_pqueue_count(&queue), 0);
    CHECK_STATUS(pop_until(&call, &queue, CSK_NEVER), 0);
    CHECK_STATUS(csk_pqueue_pop_async(&queue, &call.waiter, CSK_NEVER, note, &call), EBUSY);
    CHECK_STATUS(csk_pqueue_push_async(&queue, 0, &call.waiter, &other.own, CSK_NEVER, note, &call), EBUSY);
    CHECK_EQ(csk_pqueue_waiting(&queue), 1);
    CHECK_STATUS(push_until(&other, &queue, 0, CSK_NEVER), 0);
    check_ended(&other, 0);
    check_ended(&call, 0);
    CHECK(call.item == &other.own);
    check_destroyed(&queue);
}

/* ---- Functions --------------------------------------------------------------------------------------------------- */

enum { ROUNDS = 100000 };
typedef struct {
    csk_waiter_t pop;
    csk_pqueue_t *queue;
    uint32_t rounds, depth;
} relay_t;

/* It queues itself again, and pushes again what it was given, which calls it again. */
static void relays(csk_waiter_t *waiter, void *context, int status) {
    relay_t *relay = context;
    CHECK_STATUS(status, 0);
    CHECK_EQ(relay->depth++, 0);
    csk_pqueue_item_t *item = csk_pqueue_taken(waiter);
    if (++relay->rounds < ROUNDS) {
        CHECK_STATUS(csk_pqueue_pop_async(relay->queue, waiter, CSK_NEVER, relays, relay), 0);
        CHECK_STATUS(csk_pqueue_push(relay->queue, 0, item), 0);
    }
    relay->depth--;
}

static void functions_that_serve_each_other_do_not_nest(void) {
    csk_pqueue_t queue = CSK_PQUEUE_INITIALIZER;
    static relay_t relay;
    csk_pqueue_item_t item;
    relay.queue = &queue;
    CHECK_STATUS(csk_pqueue_pop_async(&queue, &relay.pop, CSK_NEVER, relays, &relay), 0);
    CHECK_STATUS(csk_pqueue_push(&queue, 0, &item), 0);
    CHECK_EQ(relay.rounds, ROUNDS);
    check_destroyed(&queue);
}

/* ---- Grants that race with deadlines and cancellations ----------------------------------------------------------- */

typedef struct {
    csk_pqueue_t queue;
    csk_pqueue_item_t item, *taken;
    bool pushes; /* the waiter does, and the other thread pops */
    uint32_t round, done, over;
} race_t;

static void spin_until(int64_t time_ns) {
    while (csk_now() < time_ns) {}
}

/* The other side of the waiter: once in each round. */
static void *does_the_other_half(void *context) {
    race_t *race = context;
    uint64_t random = test_seed(7);
    for (uint32_t round = 1;; round++) {
        wait_until(LOAD(&race->round) == round || LOAD(&race->over));
        if (LOAD(&race->over)) return NULL;
        spin_until(csk_now() + (int64_t)test_random_below(&random, round % 2 ? 120000 : 2000));
        if (race->pushes) CHECK_STATUS(csk_pqueue_trypop(&race->queue, &race->taken), 0);
        else CHECK_STATUS(csk_pqueue_push(&race->queue, 0, &race->item), 0);
        STORE(&race->done, round);
    }
}

/* A wait with a deadline that is about to pass, or that is cancelled meanwhile. What it waits for comes at the same
 * time. It has it, or it is still there. */
static void a_grant_that_races_loses_and_doubles_nothing(bool pushes) {
    static race_t race;
    static call_t call;
    race = (race_t){ .pushes = pushes };
    CHECK_EQ(csk_pqueue_init(&race.queue, 1), 0);
    pthread_t thread = start_thread(does_the_other_half, &race);
    uint64_t random = test_seed(6);
    uint32_t statuses[3] = { 0 };
    for (uint32_t round = 1; round <= 10000 / TEST_SLOWDOWN; round++) {
        bool is_late = round % 2;
        int64_t deadline = is_late ? csk_deadline_after((int64_t)test_random_below(&random, 60000)) : CSK_NEVER;
        call.ended = 0;
        if (pushes) CHECK_STATUS(csk_pqueue_push(&race.queue, 0, &race.item), 0);
        int status = pushes ? push_until(&call, &race.queue, 0, deadline) : pop_until(&call, &race.queue, deadline);
        CHECK_STATUS(status, 0);
        STORE(&race.round, round);
        if (!is_late) {
            spin_until(csk_now() + (int64_t)test_random_below(&random, 2000));
            csk_pqueue_cancel(&race.queue, &call.waiter);
        }
        wait_until(LOAD(&call.ended) && LOAD(&race.done) == round);
        CHECK_EQ(call.ended, 1);
        statuses[call.status == 0 ? 0 : call.status == ETIMEDOUT ? 1 : 2]++;
        /* An item that was pushed is inside; one that nobody has popped is, too. */
        CHECK_EQ(csk_pqueue_count(&race.queue), pushes == (call.status == 0));
        if (pushes) CHECK(race.taken == &race.item);
        else if (call.status == 0) CHECK(call.item == &race.item);
        if (csk_pqueue_count(&race.queue) == 1) CHECK(take(&race.queue) == (pushes ? &call.own : &race.item));
    }
    STORE(&race.over, 1);
    join_thread(thread);
    check_destroyed(&race.queue);
    printf("\n    %u were served, %u late, %u cancelled ", statuses[0], statuses[1], statuses[2]);
}
static void an_item_that_races_with_the_end_of_a_wait_is_neither_lost_nor_doubled(void) {
    a_grant_that_races_loses_and_doubles_nothing(false);
}
static void a_place_that_races_with_the_end_of_a_wait_is_neither_lost_nor_doubled(void) {
    a_grant_that_races_loses_and_doubles_nothing(true);
}

/* ---- fork -------------------------------------------------------------------------------------------------------- */

static void uses_the_queue(void *context) {
    call_t *calls = context;
    csk_pqueue_t *queue = calls[0].queue;
    CHECK_STATUS(csk_pqueue_push(queue, 0, &calls[1].own), 0);
    CHECK_STATUS(pop_until(&calls[2], queue, csk_deadline_after(hour_ns)), 0);
    CHECK(calls[2].item == &calls[1].own);
    calls[2].ended = 0;
    CHECK_STATUS(pop_until(&calls[2], queue, csk_deadline_after(1000000)), 0);
    wait_until(LOAD(&calls[2].ended));
    check_ended(&calls[2], ETIMEDOUT);
}

static void a_child_uses_a_queue_in_which_nobody_waited(void) {
    csk_pqueue_t queue = CSK_PQUEUE_INITIALIZER;
    static call_t calls[3];
    calls[0].queue = &queue;
    in_a_child(uses_the_queue, calls);
    check_destroyed(&queue);
}

/* The parent's waiter does not wait here. */
static void uses_the_queue_anew(void *context) {
    call_t *calls = context;
    csk_pqueue_t *queue = calls[0].queue;
    CHECK_EQ(csk_pqueue_init(queue, 0), 0);
    CHECK_STATUS(csk_pqueue_cancel(queue, &calls[0].waiter), ENOENT);
    CHECK_STATUS(pop_until(&calls[0], queue, CSK_NEVER), 0);
    CHECK_STATUS(csk_pqueue_push(queue, 0, &calls[1].own), 0);
    check_ended(&calls[0], 0);
    check_destroyed(queue);
}

static void a_waiter_of_the_parent_does_not_wait_in_a_child(void) {
    csk_pqueue_t queue = CSK_PQUEUE_INITIALIZER;
    static call_t calls[2];
    CHECK_STATUS(pop_until(&calls[0], &queue, CSK_NEVER), 0);
    in_a_child(uses_the_queue_anew, calls);
    CHECK_EQ(calls[0].ended, 0);
    CHECK_STATUS(csk_pqueue_push(&queue, 0, &calls[1].own), 0);
    check_ended(&calls[0], 0);
    check_destroyed(&queue);
}

TEST_MAIN(TEST(a_child_uses_a_queue_in_which_nobody_waited), TEST(a_waiter_of_the_parent_does_not_wait_in_a_child),
          TEST(what_is_there_is_handed_over_before_the_call_returns),
          TEST(poppers_with_and_without_a_thread_are_served_as_they_came),
          TEST(pushers_with_and_without_a_thread_are_served_as_they_came),
          TEST(draining_lets_those_in_who_wait_for_room), TEST(a_deadline_ends_a_wait_and_never_early),
          TEST(a_cancelled_waiter_is_passed_over_and_its_item_is_the_callers),
          TEST(close_tells_everybody_and_refuses_later_ones), TEST(what_is_refused_changes_nothing),
          TEST(functions_that_serve_each_other_do_not_nest),
          TEST(an_item_that_races_with_the_end_of_a_wait_is_neither_lost_nor_doubled),
          TEST(a_place_that_races_with_the_end_of_a_wait_is_neither_lost_nor_doubled))
