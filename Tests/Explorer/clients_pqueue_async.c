/* clients_pqueue_async.c: asynchronous waiters in the lines of the blocking priority queue, beside threads: grants,
 * order, deadlines, cancellation, closing, memory that goes with the function. */
#include "csynckernel/pqueue.h"

#include "explorer.h"

enum { ITEMS = 4, WAITERS = 3 };

static csk_pqueue_t *queue;
static struct {
    csk_pqueue_item_t items[ITEMS];
    csk_waiter_t waiters[WAITERS];
    uint32_t taken[ITEMS], popped, pushed, called, flags[4];
    uint32_t status[WAITERS], order[8], ordered; /* 1000 and the status; who was served, in order */
} * shared;

static void make(uint64_t capacity) {
    queue = explore_allocate(sizeof *queue);
    shared = explore_allocate(sizeof *shared);
    EXPECT_EQUAL(csk_pqueue_init(queue, capacity), 0);
}
static void make_unbounded(void) { make(0); }
static void make_for_one(void) { make(1); }
static void make_full(void) {
    make(1);
    EXPECT_EQUAL(csk_pqueue_push(queue, 0, &shared->items[3]), 0);
    shared->pushed = 1;
}

static void count(uint32_t *number) { __atomic_fetch_add(number, 1, __ATOMIC_SEQ_CST); }
static void served(uint32_t who) { shared->order[__atomic_fetch_add(&shared->ordered, 1, __ATOMIC_SEQ_CST)] = who; }
static void took(csk_pqueue_item_t *item) {
    int index = (int)(item - shared->items);
    EXPECT(index >= 0 && index < ITEMS);
    EXPECT_EQUAL(shared->taken[index]++, 0);
    count(&shared->popped);
}
static void push(int index) {
    int status = csk_pqueue_push(queue, 0, &shared->items[index]);
    EXPECT(status == 0 || status == ESHUTDOWN);
    if (status == 0) count(&shared->pushed);
}
static void pop(void) {
    csk_pqueue_item_t *item = NULL;
    int status = csk_pqueue_pop(queue, &item);
    EXPECT(status == 0 || status == ESHUTDOWN);
    if (status == 0) took(item);
}

/* The context of a waiter that pushes is the queue, that of one that pops is NULL. */
static void note(csk_waiter_t *waiter, void *context, int status) {
    int index = (int)(waiter - shared->waiters);
    EXPECT_EQUAL(shared->status[index], 0);
    shared->status[index] = 1000 + (uint32_t)status;
    served((uint32_t)index);
    if (status == 0 && context == NULL) took(csk_pqueue_taken(waiter));
    if (status == 0 && context != NULL) count(&shared->pushed);
    count(&shared->called);
}
static void queue_pop(int index, int64_t deadline) {
    EXPECT_EQUAL(csk_pqueue_pop_async(queue, &shared->waiters[index], deadline, note, NULL), 0);
}
static void queue_push(int index, int64_t deadline) {
    int status = csk_pqueue_push_async(queue, 0, &shared->waiters[index], &shared->items[index], deadline, note, queue);
    EXPECT_EQUAL(status, 0);
}

static void pushes_0(void) { push(0); }
static void pushes_1(void) { push(1); }
static void pushes_two(void) { push(0), push(1); }
static void pops(void) { pop(); }
static void pops_two(void) { pop(), pop(); }
static void queues_pop(void) { queue_pop(0, CSK_NEVER); }
static void queues_pop_1(void) { queue_pop(1, CSK_NEVER); }
static void queues_push(void) { queue_push(0, CSK_NEVER); }
static void queues_pushes(void) { queue_push(0, CSK_NEVER), queue_push(1, CSK_NEVER); }

static void nothing_lost(void) {
    EXPECT_EQUAL(csk_pqueue_count(queue) + shared->popped, shared->pushed);
    EXPECT_EQUAL(csk_pqueue_waiting(queue), 0);
}
static void is_empty(void) {
    nothing_lost();
    EXPECT_EQUAL(csk_pqueue_count(queue), 0);
    EXPECT_EQUAL(csk_pqueue_destroy(queue), 0);
}
static void not_too_many(void) { EXPECT(queue->capacity == 0 || queue->count <= queue->capacity); }
CLIENT(pqueue_async_pop, .setup = make_unbounded, .threads = { pushes_0, queues_pop }, .check = is_empty,
       .preemptions = 3)
CLIENT(pqueue_async_pop_and_thread, .setup = make_unbounded, .threads = { pushes_two, queues_pop, pops },
       .check = is_empty, .preemptions = 2)
CLIENT(pqueue_async_push, .setup = make_for_one, .threads = { queues_pushes, pops_two }, .check = is_empty,
       .invariant = not_too_many, .preemptions = 2)
CLIENT(pqueue_async_push_and_thread, .setup = make_for_one, .threads = { queues_push, pushes_1, pops_two },
       .check = is_empty, .invariant = not_too_many, .preemptions = 2)
CLIENT(pqueue_async_both, .setup = make_for_one, .threads = { queues_push, queues_pop_1 }, .check = is_empty,
       .invariant = not_too_many, .preemptions = 3)

/* An item that is handed to a callback makes room for one that waits to push, and that one's item is for the next. */
static void queue_pops_beside_a_push(void) {
    queue_push(0, CSK_NEVER); /* the queue is full */
    EXPECT_EQUAL(csk_pqueue_waiting(queue), 1);
    queue_pop(1, CSK_NEVER);
    EXPECT_EQUAL(shared->called, 2);
    queue_pop(2, CSK_NEVER);
    EXPECT_EQUAL(shared->called, 3);
}
CLIENT(pqueue_async_lines_serve_each_other, .setup = make_full, .threads = { queue_pops_beside_a_push },
       .check = is_empty, .preemptions = 1)

/* Draining makes room for one that waits to push, whose item is not drained. */
static void drains(void) {
    csk_pqueue_item_t *first = NULL;
    queue_push(0, CSK_NEVER);
    EXPECT_EQUAL(csk_pqueue_drain(queue, &first), 1);
    took(first);
    EXPECT_EQUAL(shared->status[0], 1000);
    pop();
}
CLIENT(pqueue_async_drain_makes_place, .setup = make_full, .threads = { drains }, .check = is_empty, .preemptions = 1)

/* By arrival, threads and callbacks alike. */
static void await_waiting(uint32_t waiters) {
    explore_wait(&queue->waiting, waiters);
    EXPECT(csk_pqueue_waiting(queue) >= waiters);
}
static void pops_second(void) {
    await_waiting(1);
    pop();
    served(2);
}
static void queues_first_and_third(void) {
    queue_pop(0, CSK_NEVER);
    await_waiting(2);
    queue_pop(1, CSK_NEVER);
    push(0);
    EXPECT_EQUAL(shared->status[0], 1000);
    push(1);
    EXPECT_EQUAL(shared->status[1], 0);
    push(2);
    EXPECT_EQUAL(shared->status[1], 1000);
}
CLIENT(pqueue_async_order, .setup = make_unbounded, .threads = { queues_first_and_third, pops_second },
       .check = is_empty, .preemptions = 2)

/* ---- Deadlines, cancellation, closing ---------------------------------------------------------------------------- */

static void queues_timed_pop(void) { queue_pop(0, explore_now() + 20000); }
static void queues_timed_push(void) { queue_push(0, explore_now() + 20000); }
static void called_once(void) {
    uint32_t status = shared->status[0];
    EXPECT_EQUAL(shared->called, 1);
    EXPECT(status == 1000 || status == 1000 + ETIMEDOUT || status == 1000 + ECANCELED || status == 1000 + ESHUTDOWN);
    nothing_lost();
}
CLIENT(pqueue_async_deadline_or_item, .setup = make_unbounded, .threads = { pushes_0, queues_timed_pop },
       .check = called_once, .preemptions = 2)
CLIENT(pqueue_async_deadline_or_place, .setup = make_full, .threads = { pops, queues_timed_push }, .check = called_once,
       .preemptions = 2)
static void queues_pop_that_is_late(void) {
    int64_t deadline = explore_now() + 20000;
    queue_pop(0, deadline);
    explore_wait(&shared->called, 1);
    EXPECT_EQUAL(shared->status[0], 1000 + ETIMEDOUT);
    EXPECT(explore_now() >= deadline);
}
CLIENT(pqueue_async_is_late, .setup = make_unbounded, .threads = { queues_pop_that_is_late }, .check = called_once)

static void cancel(void) {
    int status = csk_pqueue_cancel(queue, &shared->waiters[0]);
    EXPECT(status == 0 || status == ENOENT);
    if (status == 0) EXPECT_EQUAL(shared->status[0], 1000 + ECANCELED);
    EXPECT_EQUAL(csk_pqueue_cancel(queue, &shared->waiters[0]), ENOENT);
}
static void queues_pop_and_cancels(void) { queues_pop(), cancel(); }
static void queues_push_and_cancels(void) { queues_push(), cancel(); }
CLIENT(pqueue_async_cancel_or_item, .setup = make_unbounded, .threads = { pushes_0, queues_pop_and_cancels },
       .check = called_once, .preemptions = 3)
CLIENT(pqueue_async_cancel_or_place, .setup = make_full, .threads = { pops, queues_push_and_cancels },
       .check = called_once, .preemptions = 3)
/* The one behind it is the next that is served. */
static void cancels_the_first(void) {
    queues_pop();
    queue_pop(1, CSK_NEVER);
    cancel();
    push(0);
    EXPECT_EQUAL(shared->status[1], 1000);
}
CLIENT(pqueue_async_cancel_of_the_first, .setup = make_unbounded, .threads = { cancels_the_first }, .check = is_empty,
       .preemptions = 1)

static void closes(void) { EXPECT_EQUAL(csk_pqueue_close(queue), 0); }
static void queues_pop_or_is_refused(void) {
    int status = csk_pqueue_pop_async(queue, &shared->waiters[0], CSK_NEVER, note, NULL);
    EXPECT(status == 0 || status == ESHUTDOWN);
    if (status != 0) count(&shared->called), shared->status[0] = 1000 + ESHUTDOWN;
}
static void queues_push_or_is_refused(void) {
    int status = csk_pqueue_push_async(queue, 0, &shared->waiters[0], &shared->items[0], CSK_NEVER, note, queue);
    EXPECT(status == 0 || status == ESHUTDOWN);
    if (status != 0) count(&shared->called), shared->status[0] = 1000 + ESHUTDOWN;
}
CLIENT(pqueue_async_close_or_item, .setup = make_unbounded, .threads = { closes, pushes_0, queues_pop_or_is_refused },
       .check = called_once, .preemptions = 2)
CLIENT(pqueue_async_close_or_place, .setup = make_full, .threads = { closes, pops, queues_push_or_is_refused },
       .check = called_once, .preemptions = 2)

/* ---- Use --------------------------------------------------------------------------------------------------------- */

/* A waiter in use is refused, and stays as it was. */
static void is_refused_and_served(void) {
    queues_pop();
    EXPECT_EQUAL(csk_pqueue_pop_async(queue, &shared->waiters[0], CSK_NEVER, note, NULL), EBUSY);
    EXPECT_EQUAL(csk_pqueue_push_async(queue, 0, &shared->waiters[0], &shared->items[1], CSK_NEVER, note, queue),
                 EBUSY);
    EXPECT_EQUAL(csk_pqueue_pop_async(queue, &shared->waiters[1], CSK_NEVER, NULL, NULL), EINVAL);
    EXPECT_EQUAL(csk_pqueue_waiting(queue), 1);
    push(0);
    EXPECT_EQUAL(shared->status[0], 1000);
}
CLIENT(pqueue_async_in_use, .setup = make_unbounded, .threads = { is_refused_and_served }, .check = is_empty,
       .preemptions = 1)

/* A function queues its own waiter again. */
static void pops_again(csk_waiter_t *waiter, void *context, int status) {
    EXPECT_EQUAL(status, 0);
    took(csk_pqueue_taken(waiter));
    if (shared->called++ < 1) EXPECT_EQUAL(csk_pqueue_pop_async(queue, waiter, CSK_NEVER, pops_again, context), 0);
}
static void queues_again(void) {
    EXPECT_EQUAL(csk_pqueue_pop_async(queue, &shared->waiters[0], CSK_NEVER, pops_again, NULL), 0);
}
CLIENT(pqueue_async_again_from_function, .setup = make_unbounded, .threads = { pushes_two, queues_again },
       .check = is_empty, .preemptions = 2)

/* The function frees the waiter, whichever of the deadline and the item came first. */
static void frees_itself(csk_waiter_t *waiter, void *context, int status) {
    (void)context;
    if (status == 0) took(csk_pqueue_taken(waiter));
    explore_free(waiter, sizeof *waiter);
}
static void queues_freed(void) {
    csk_waiter_t *waiter = explore_allocate(sizeof *waiter);
    EXPECT_EQUAL(csk_pqueue_pop_async(queue, waiter, explore_now() + 20000, frees_itself, NULL), 0);
}
CLIENT(pqueue_async_freed_by_function, .setup = make_unbounded, .threads = { pushes_0, queues_freed },
       .check = nothing_lost, .preemptions = 2)

/* The function frees the queue too: nobody uses it after its mutex is free, nor does the clock. */
static void frees_queue(csk_waiter_t *waiter, void *context, int status) {
    (void)waiter, (void)context;
    EXPECT_EQUAL(status, 0);
    shared->called++;
    EXPECT_EQUAL(csk_pqueue_destroy(queue), 0);
    explore_free(queue, sizeof *queue);
}
static void queues_last_pop(void) {
    EXPECT_EQUAL(csk_pqueue_pop_async(queue, &shared->waiters[0], CSK_NEVER, frees_queue, NULL), 0);
}
static void pushes_the_last(void) { EXPECT_EQUAL(csk_pqueue_push(queue, 0, &shared->items[0]), 0); }
static void was_called(void) { EXPECT_EQUAL(shared->called, 1); }
CLIENT(pqueue_async_queue_freed_by_function, .setup = make_unbounded, .threads = { pushes_the_last, queues_last_pop },
       .check = was_called, .preemptions = 3)

/* What is inside of a closed queue is given out, and then no more. */
static void pops_what_a_closed_one_has(void) {
    push(0);
    closes();
    queue_pop(0, CSK_NEVER);
    EXPECT_EQUAL(shared->status[0], 1000);
    EXPECT_EQUAL(csk_pqueue_pop_async(queue, &shared->waiters[1], CSK_NEVER, note, NULL), ESHUTDOWN);
    EXPECT_EQUAL(csk_pqueue_push_async(queue, 0, &shared->waiters[1], &shared->items[1], CSK_NEVER, note, queue),
                 ESHUTDOWN);
}
CLIENT(pqueue_async_closed_gives_what_is_inside, .setup = make_unbounded, .threads = { pops_what_a_closed_one_has },
       .check = is_empty, .preemptions = 1)

/* What is pushed asynchronously comes behind what was pushed before it. */
static void pushes_in_order(void) {
    csk_pqueue_item_t *item = NULL;
    push(2), pop();
    push(3), queue_push(0, CSK_NEVER);
    EXPECT_EQUAL(csk_pqueue_trypop(queue, &item), 0);
    EXPECT(item == &shared->items[3]);
    took(item), pop();
}
CLIENT(pqueue_async_items_in_order, .setup = make_unbounded, .threads = { pushes_in_order }, .check = is_empty,
       .preemptions = 1)
