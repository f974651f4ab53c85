/* pqueue_test.c: the bounded priority queue: order, room, deadlines, closing, many threads.
 *
 * More than 400 lines: each promise is a short test at the same queue. */
#include "test.h"

#include <csynckernel/pqueue.h>
#include <sys/prctl.h>

typedef struct {
    csk_pqueue_item_t item;
    int producer, priority;
    int64_t sequence;
    uint32_t taken;
} entry_t;

static entry_t *pop_entry(csk_pqueue_t *queue) {
    csk_pqueue_item_t *item = NULL;
    CHECK_STATUS(csk_pqueue_trypop(queue, &item), 0);
    return (entry_t *)item;
}

/* ---- One thread -------------------------------------------------------------------------------------------------- */

static void zero_filled_memory_is_a_queue(void) {
    csk_pqueue_t zero, static_one = CSK_PQUEUE_INITIALIZER, initialized;
    memset(&zero, 0, sizeof zero);
    CHECK_EQ(csk_pqueue_init(&initialized, 0), 0);
    csk_pqueue_t *queues[] = { &zero, &static_one, &initialized };
    for (int i = 0; i < 3; i++) {
        entry_t entry = { .producer = i };
        csk_pqueue_item_t *item = NULL;
        CHECK_STATUS(csk_pqueue_trypop(queues[i], &item), EBUSY);
        CHECK_STATUS(csk_pqueue_push(queues[i], 1, &entry.item), 0);
        CHECK_EQ(csk_pqueue_count(queues[i]), 1);
        CHECK_STATUS(csk_pqueue_destroy(queues[i]), EBUSY);
        CHECK(pop_entry(queues[i]) == &entry);
        CHECK_EQ(csk_pqueue_waiting(queues[i]), 0);
        CHECK_STATUS(csk_pqueue_destroy(queues[i]), 0);
    }
}

static void items_come_by_priority_then_arrival(void) {
    enum { count = 600 };
    static entry_t entries[count];
    static const int32_t priorities[] = { INT32_MIN, -1, 0, 1, INT32_MAX };
    csk_pqueue_t queue = CSK_PQUEUE_INITIALIZER;
    uint64_t random = test_seed(2);
    for (int i = 0; i < count; i++) {
        entries[i].priority = priorities[test_random_below(&random, 5)];
        entries[i].sequence = i;
        CHECK_STATUS(csk_pqueue_push(&queue, entries[i].priority, &entries[i].item), 0);
    }
    entry_t *last = pop_entry(&queue);
    for (int i = 1; i < count; i++) {
        entry_t *entry = pop_entry(&queue);
        CHECK_LE(entry->priority, last->priority);
        if (entry->priority == last->priority) CHECK(entry->sequence > last->sequence);
        last = entry;
    }
    CHECK_STATUS(csk_pqueue_destroy(&queue), 0);
}

static void a_bounded_queue_refuses_what_exceeds_it(void) {
    csk_pqueue_t queue;
    entry_t entries[3] = { 0 };
    CHECK_EQ(csk_pqueue_init(&queue, 2), 0);
    CHECK_STATUS(csk_pqueue_trypush(&queue, 0, &entries[0].item), 0);
    CHECK_STATUS(csk_pqueue_timedpush(&queue, 0, &entries[1].item, csk_deadline_after(-1)), 0);
    CHECK_STATUS(csk_pqueue_trypush(&queue, 9, &entries[2].item), EBUSY);
    CHECK_STATUS(csk_pqueue_timedpush(&queue, 9, &entries[2].item, csk_deadline_after(-1)), ETIMEDOUT);
    CHECK_EQ(csk_pqueue_count(&queue), 2);
    CHECK(pop_entry(&queue) == &entries[0]);
    CHECK_STATUS(csk_pqueue_trypush(&queue, 9, &entries[2].item), 0);
    CHECK(pop_entry(&queue) == &entries[2]);
    CHECK(pop_entry(&queue) == &entries[1]);
    CHECK_STATUS(csk_pqueue_destroy(&queue), 0);
}

static void a_closed_queue_gives_what_it_has_and_takes_nothing(void) {
    csk_pqueue_t queue = CSK_PQUEUE_INITIALIZER;
    entry_t entries[2] = { 0 };
    csk_pqueue_item_t *item = NULL;
    CHECK_STATUS(csk_pqueue_push(&queue, 0, &entries[0].item), 0);
    CHECK(!csk_pqueue_is_closed(&queue));
    CHECK_STATUS(csk_pqueue_close(&queue), 0);
    CHECK(csk_pqueue_is_closed(&queue));
    CHECK_STATUS(csk_pqueue_close(&queue), 0);
    CHECK(csk_pqueue_is_closed(&queue));
    CHECK_STATUS(csk_pqueue_push(&queue, 0, &entries[1].item), ESHUTDOWN);
    CHECK_STATUS(csk_pqueue_trypush(&queue, 0, &entries[1].item), ESHUTDOWN);
    CHECK_STATUS(csk_pqueue_timedpush(&queue, 0, &entries[1].item, CSK_NEVER), ESHUTDOWN);
    CHECK_STATUS(csk_pqueue_pop(&queue, &item), 0);
    CHECK(item == &entries[0].item);
    CHECK_STATUS(csk_pqueue_pop(&queue, &item), ESHUTDOWN);
    CHECK_STATUS(csk_pqueue_trypop(&queue, &item), ESHUTDOWN);
    CHECK_STATUS(csk_pqueue_timedpop(&queue, &item, CSK_NEVER), ESHUTDOWN);
    CHECK_STATUS(csk_pqueue_destroy(&queue), 0);
}

static void drain_gives_everything_in_order(void) {
    csk_pqueue_t queue = CSK_PQUEUE_INITIALIZER;
    entry_t entries[5] = { 0 };
    csk_pqueue_item_t *first = &entries[0].item;
    CHECK_EQ(csk_pqueue_drain(&queue, &first), 0);
    CHECK(first == NULL);
    static const int32_t priorities[] = { 1, 5, 1, 9, 5 };
    static const int expected[] = { 3, 1, 4, 0, 2 };
    for (int i = 0; i < 5; i++) CHECK_STATUS(csk_pqueue_push(&queue, priorities[i], &entries[i].item), 0);
    CHECK_EQ(csk_pqueue_drain(&queue, &first), 5);
    for (int i = 0; i < 5; i++, first = first->next) CHECK(first == &entries[expected[i]].item);
    CHECK(first == NULL);
    CHECK_EQ(csk_pqueue_count(&queue), 0);
    CHECK_STATUS(csk_pqueue_push(&queue, 0, &entries[0].item), 0);
    CHECK(pop_entry(&queue) == &entries[0]);
    CHECK_STATUS(csk_pqueue_destroy(&queue), 0);
}

static void no_timeout_is_early_and_the_timer_slack_is_restored(void) {
    csk_pqueue_t queue;
    entry_t entries[2] = { 0 };
    csk_pqueue_item_t *item = NULL;
    CHECK_EQ(csk_pqueue_init(&queue, 1), 0);
    CHECK_STATUS(csk_pqueue_timedpop(&queue, &item, INT64_MIN), ETIMEDOUT);
    CHECK_STATUS(csk_pqueue_timedpop(&queue, &item, 0), ETIMEDOUT);
    CHECK_EQ(prctl(PR_SET_TIMERSLACK, 40000UL), 0);
    uint64_t random = test_seed(3);
    for (int i = 0; i < 300; i++) {
        int64_t deadline = csk_deadline_after((int64_t)test_random_below(&random, i % 2 ? 1000000 : 3000));
        CHECK_STATUS(csk_pqueue_timedpop(&queue, &item, deadline), ETIMEDOUT);
        CHECK_GE(csk_now(), deadline);
    }
    CHECK(item == NULL);
    CHECK_STATUS(csk_pqueue_push(&queue, 0, &entries[0].item), 0);
    for (int i = 0; i < 300; i++) {
        int64_t deadline = csk_deadline_after((int64_t)test_random_below(&random, i % 2 ? 1000000 : 3000));
        CHECK_STATUS(csk_pqueue_timedpush(&queue, 0, &entries[1].item, deadline), ETIMEDOUT);
        CHECK_GE(csk_now(), deadline);
    }
    CHECK_EQ(prctl(PR_GET_TIMERSLACK), 40000);
    CHECK(pop_entry(&queue) == &entries[0]);
    CHECK_STATUS(csk_pqueue_destroy(&queue), 0);
}

/* ---- One queue, threads that wait -------------------------------------------------------------------------------- */

typedef struct {
    csk_pqueue_t *queue;
    csk_pqueue_item_t *item;
    int64_t deadline_ns;
    int32_t priority;
    int status;
    uint32_t *finished; /* counts those that are done */
    uint32_t place;     /* where this one came in that count */
} call_t;

static void *pop_body(void *context) {
    call_t *call = context;
    call->status = csk_pqueue_timedpop(call->queue, &call->item, call->deadline_ns);
    call->place = ADD(call->finished, 1);
    return NULL;
}

static void *push_body(void *context) {
    call_t *call = context;
    call->status = csk_pqueue_timedpush(call->queue, call->priority, call->item, call->deadline_ns);
    call->place = ADD(call->finished, 1);
    return NULL;
}

static void poppers_are_served_in_the_order_they_came(void) {
    enum { count = 8 };
    csk_pqueue_t queue = CSK_PQUEUE_INITIALIZER;
    entry_t entries[count] = { 0 };
    call_t calls[count];
    pthread_t threads[count];
    uint32_t finished = 0;
    for (uint32_t i = 0; i < count; i++) {
        int64_t deadline = i % 2 ? CSK_NEVER : csk_deadline_after(INT64_C(3600000000000));
        calls[i] = (call_t){ .queue = &queue, .deadline_ns = deadline, .finished = &finished };
        threads[i] = start_thread(pop_body, &calls[i]);
        wait_until(csk_pqueue_waiting(&queue) == i + 1);
    }
    CHECK_STATUS(csk_pqueue_destroy(&queue), EBUSY);
    for (uint32_t i = 0; i < count; i++) {
        CHECK_STATUS(csk_pqueue_push(&queue, (int32_t)(i * 7 % 3), &entries[i].item), 0);
        join_thread(threads[i]);
        CHECK_STATUS(calls[i].status, 0);
        CHECK(calls[i].item == &entries[i].item);
        CHECK_EQ(calls[i].place, i + 1);
    }
    CHECK_STATUS(csk_pqueue_destroy(&queue), 0);
}

static void pushers_are_served_in_the_order_they_came(void) {
    enum { count = 8 };
    csk_pqueue_t queue;
    CHECK_EQ(csk_pqueue_init(&queue, 1), 0);
    entry_t entries[count + 1] = { 0 };
    call_t calls[count];
    pthread_t threads[count];
    uint32_t finished = 0;
    CHECK_STATUS(csk_pqueue_push(&queue, 0, &entries[count].item), 0);
    for (uint32_t i = 0; i < count; i++) {
        /* The priority orders items, not the threads that wait for room. */
        calls[i] = (call_t){ .queue = &queue,
                             .item = &entries[i].item,
                             .priority = (int32_t)i,
                             .deadline_ns = CSK_NEVER,
                             .finished = &finished };
        threads[i] = start_thread(push_body, &calls[i]);
        wait_until(csk_pqueue_waiting(&queue) == i + 1);
    }
    for (uint32_t i = 0; i <= count; i++) {
        CHECK(pop_entry(&queue) == &entries[i == 0 ? count : i - 1]);
        if (i == count) break;
        join_thread(threads[i]);
        CHECK_STATUS(calls[i].status, 0);
        CHECK_EQ(csk_pqueue_waiting(&queue), count - 1 - i);
    }
    CHECK_STATUS(csk_pqueue_destroy(&queue), 0);
}

/* Whether the waiter has run by then or not, what woke it is its. */
static void a_newcomer_gets_nothing_that_is_promised(void) {
    csk_pqueue_t queue;
    CHECK_EQ(csk_pqueue_init(&queue, 1), 0);
    for (int round = 0; round < 2000 / TEST_SLOWDOWN; round++) {
        entry_t entries[3] = { 0 };
        uint32_t finished = 0;
        csk_pqueue_item_t *item = NULL;
        call_t popper = { .queue = &queue, .deadline_ns = CSK_NEVER, .finished = &finished };
        pthread_t thread = start_thread(pop_body, &popper);
        wait_until(csk_pqueue_waiting(&queue) == 1);
        CHECK_STATUS(csk_pqueue_trypush(&queue, 0, &entries[0].item), 0);
        CHECK_STATUS(csk_pqueue_trypop(&queue, &item), EBUSY);
        CHECK_STATUS(csk_pqueue_timedpop(&queue, &item, 0), ETIMEDOUT);
        join_thread(thread);
        CHECK(popper.item == &entries[0].item);

        CHECK_STATUS(csk_pqueue_trypush(&queue, 0, &entries[1].item), 0);
        call_t pusher = { .queue = &queue, .item = &entries[2].item, .deadline_ns = CSK_NEVER, .finished = &finished };
        thread = start_thread(push_body, &pusher);
        wait_until(csk_pqueue_waiting(&queue) == 1);
        CHECK(pop_entry(&queue) == &entries[1]);
        CHECK_STATUS(csk_pqueue_trypush(&queue, 0, &entries[0].item), EBUSY);
        join_thread(thread);
        CHECK(pop_entry(&queue) == &entries[2]);
    }
    CHECK_STATUS(csk_pqueue_destroy(&queue), 0);
}

static void close_wakes_everybody(void) {
    enum { count = 4 };
    for (int full = 0; full < 2; full++) {
        csk_pqueue_t queue;
        entry_t inside = { 0 }, entries[count] = { 0 };
        call_t calls[count];
        pthread_t threads[count];
        uint32_t finished = 0;
        CHECK_EQ(csk_pqueue_init(&queue, 1), 0);
        if (full) CHECK_STATUS(csk_pqueue_push(&queue, 0, &inside.item), 0);
        for (uint32_t i = 0; i < count; i++) {
            calls[i] = (call_t){ .queue = &queue, .deadline_ns = CSK_NEVER, .finished = &finished };
            if (full) calls[i].item = &entries[i].item;
            threads[i] = start_thread(full ? push_body : pop_body, &calls[i]);
        }
        wait_until(csk_pqueue_waiting(&queue) == count);
        CHECK_STATUS(csk_pqueue_close(&queue), 0);
        for (int i = 0; i < count; i++) {
            join_thread(threads[i]);
            CHECK_STATUS(calls[i].status, ESHUTDOWN);
        }
        if (full) CHECK(pop_entry(&queue) == &inside);
        CHECK_STATUS(csk_pqueue_destroy(&queue), 0);
    }
}

/* A popper that was promised the item before the queue closed gets it; a pusher is refused even with a promise. Either
 * may have acted on its promise before. */
static void closing_keeps_promises_of_items(void) {
    for (int round = 0; round < 2000 / TEST_SLOWDOWN; round++) {
        csk_pqueue_t queue;
        entry_t entries[2] = { 0 };
        uint32_t finished = 0;
        CHECK_EQ(csk_pqueue_init(&queue, 1), 0);
        call_t popper = { .queue = &queue, .deadline_ns = CSK_NEVER, .finished = &finished };
        pthread_t thread = start_thread(pop_body, &popper);
        wait_until(csk_pqueue_waiting(&queue) == 1);
        CHECK_STATUS(csk_pqueue_push(&queue, 0, &entries[0].item), 0);
        CHECK_STATUS(csk_pqueue_close(&queue), 0);
        csk_pqueue_item_t *item = NULL;
        CHECK_STATUS(csk_pqueue_pop(&queue, &item), ESHUTDOWN);
        join_thread(thread);
        CHECK_STATUS(popper.status, 0);
        CHECK(popper.item == &entries[0].item);
        CHECK_STATUS(csk_pqueue_destroy(&queue), 0);

        CHECK_EQ(csk_pqueue_init(&queue, 1), 0);
        CHECK_STATUS(csk_pqueue_push(&queue, 0, &entries[0].item), 0);
        call_t pusher = { .queue = &queue, .item = &entries[1].item, .deadline_ns = CSK_NEVER, .finished = &finished };
        thread = start_thread(push_body, &pusher);
        wait_until(csk_pqueue_waiting(&queue) == 1);
        CHECK(pop_entry(&queue) == &entries[0]);
        CHECK_STATUS(csk_pqueue_close(&queue), 0);
        uint64_t accepted = csk_pqueue_count(&queue);
        join_thread(thread);
        CHECK_EQ(csk_pqueue_count(&queue), accepted);
        CHECK_EQ(pusher.status == 0, accepted);
        if (pusher.status == 0) CHECK(pop_entry(&queue) == &entries[1]);
        else CHECK_STATUS(pusher.status, ESHUTDOWN);
        CHECK_STATUS(csk_pqueue_destroy(&queue), 0);
    }
}

static void drain_makes_room_for_all_that_fit(void) {
    enum { capacity = 3, pushers = 5 };
    csk_pqueue_t queue;
    entry_t inside[capacity] = { 0 }, entries[pushers] = { 0 };
    call_t calls[pushers];
    pthread_t threads[pushers];
    uint32_t finished = 0;
    csk_pqueue_item_t *first;
    CHECK_EQ(csk_pqueue_init(&queue, capacity), 0);
    for (int i = 0; i < capacity; i++) CHECK_STATUS(csk_pqueue_push(&queue, 0, &inside[i].item), 0);
    for (uint32_t i = 0; i < pushers; i++) {
        calls[i] =
            (call_t){ .queue = &queue, .item = &entries[i].item, .deadline_ns = CSK_NEVER, .finished = &finished };
        threads[i] = start_thread(push_body, &calls[i]);
        wait_until(csk_pqueue_waiting(&queue) == i + 1);
    }
    CHECK_EQ(csk_pqueue_drain(&queue, &first), capacity);
    for (int i = 0; i < capacity; i++) join_thread(threads[i]);
    CHECK_EQ(csk_pqueue_count(&queue), capacity);
    CHECK_EQ(csk_pqueue_waiting(&queue), pushers - capacity);
    CHECK_EQ(csk_pqueue_drain(&queue, &first), capacity);
    /* Tickets are drawn when the push begins: the order of arrival survives the race of three woken threads. */
    for (int i = 0; i < capacity; i++, first = first->next) CHECK(first == &entries[i].item);
    for (int i = capacity; i < pushers; i++) join_thread(threads[i]);
    for (int i = capacity; i < pushers; i++) CHECK(pop_entry(&queue) == &entries[i]);
    CHECK_STATUS(csk_pqueue_destroy(&queue), 0);
}

/* Drain takes the item from under a popper that has been woken for it, if it is first; the popper then keeps its
 * place. */
static void drain_takes_promised_items_and_poppers_keep_their_places(void) {
    csk_pqueue_t queue = CSK_PQUEUE_INITIALIZER;
    int revoked = 0;
    for (int round = 0; round < 2000 / TEST_SLOWDOWN || revoked == 0; round++) {
        entry_t entries[3] = { 0 };
        call_t calls[2];
        pthread_t threads[2];
        uint32_t finished = 0;
        csk_pqueue_item_t *drained;
        for (uint32_t i = 0; i < 2; i++) {
            calls[i] = (call_t){ .queue = &queue, .deadline_ns = CSK_NEVER, .finished = &finished };
            threads[i] = start_thread(pop_body, &calls[i]);
            wait_until(csk_pqueue_waiting(&queue) == i + 1);
        }
        CHECK_STATUS(csk_pqueue_push(&queue, 0, &entries[0].item), 0);
        uint64_t taken = csk_pqueue_drain(&queue, &drained);
        CHECK_LE(taken, 1);
        CHECK(drained == (taken ? &entries[0].item : NULL));
        revoked += taken != 0;
        for (int look = 0; taken && round % 2 && look < 50; look++) {
            CHECK_EQ(csk_pqueue_waiting(&queue), 2);
            sched_yield();
        }
        CHECK_STATUS(csk_pqueue_push(&queue, 0, &entries[1].item), 0);
        join_thread(threads[taken ? 0 : 1]);
        if (taken) CHECK_STATUS(csk_pqueue_push(&queue, 0, &entries[2].item), 0);
        join_thread(threads[taken ? 1 : 0]);
        CHECK(calls[0].item == &entries[taken ? 1 : 0].item);
        CHECK(calls[1].item == &entries[taken ? 2 : 1].item);
    }
    CHECK_STATUS(csk_pqueue_destroy(&queue), 0);
}

static void *pop_then_die(void *context) {
    call_t *call = context;
    call->status = csk_pqueue_pop(call->queue, &call->item);
    pthread_testcancel();
    return NULL;
}

static void a_cancelled_thread_finishes_its_wait(void) {
    csk_pqueue_t queue = CSK_PQUEUE_INITIALIZER;
    entry_t entry = { 0 };
    call_t call = { .queue = &queue };
    pthread_t thread = start_thread(pop_then_die, &call);
    wait_until(csk_pqueue_waiting(&queue) == 1);
    CHECK_EQ(pthread_cancel(thread), 0);
    CHECK_STATUS(csk_pqueue_push(&queue, 0, &entry.item), 0);
    CHECK(join_thread(thread) == PTHREAD_CANCELED);
    CHECK(call.item == &entry.item);
    CHECK_STATUS(csk_pqueue_destroy(&queue), 0);
}

TEST_MAIN(TEST(zero_filled_memory_is_a_queue), TEST(items_come_by_priority_then_arrival),
          TEST(a_bounded_queue_refuses_what_exceeds_it), TEST(a_closed_queue_gives_what_it_has_and_takes_nothing),
          TEST(drain_gives_everything_in_order), TEST(no_timeout_is_early_and_the_timer_slack_is_restored),
          TEST(poppers_are_served_in_the_order_they_came), TEST(pushers_are_served_in_the_order_they_came),
          TEST(a_newcomer_gets_nothing_that_is_promised), TEST(close_wakes_everybody),
          TEST(closing_keeps_promises_of_items), TEST(drain_makes_room_for_all_that_fit),
          TEST(drain_takes_promised_items_and_poppers_keep_their_places), TEST(a_cancelled_thread_finishes_its_wait))
