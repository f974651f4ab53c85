/* clients_pqueue.c: the blocking priority queue. */
#include "csynckernel/pqueue.h"

#include "explorer.h"

static csk_pqueue_t *queue;
static struct {
    csk_pqueue_item_t items[4];
    uint32_t taken[4], flags[4], popped, order[4];
} * shared;

static void make(uint64_t capacity) {
    queue = explore_allocate(sizeof *queue);
    shared = explore_allocate(sizeof *shared);
    EXPECT_EQUAL(csk_pqueue_init(queue, capacity), 0);
}
static void make_unbounded(void) { make(0); }
static void make_for_one(void) { make(1); }

static void push(int item, int32_t priority) {
    EXPECT_EQUAL(csk_pqueue_push(queue, priority, &shared->items[item]), 0);
}
static void take(csk_pqueue_item_t *item) {
    int index = (int)(item - shared->items);
    EXPECT(index >= 0 && index < 4);
    EXPECT_EQUAL(shared->taken[index]++, 0);
    shared->order[shared->popped++] = (uint32_t)index;
}
static void pop(void) {
    csk_pqueue_item_t *item = NULL;
    EXPECT_EQUAL(csk_pqueue_pop(queue, &item), 0);
    take(item);
}
static void pops_timed(void) {
    csk_pqueue_item_t *item = NULL;
    int64_t deadline = explore_now() + 20000;
    int status = csk_pqueue_timedpop(queue, &item, deadline);
    if (status == ETIMEDOUT) EXPECT(explore_now() >= deadline);
    else if (status != ESHUTDOWN) EXPECT_EQUAL(status, 0);
    if (status == 0) take(item);
}
static void pushes_0(void) { push(0, 0); }
static void pushes_1(void) { push(1, 0); }
static void pushes_2(void) { push(2, 5); }
static void pushes_two(void) { push(0, 0), push(1, 5); }
static void pops(void) { pop(); }
static void pops_two(void) { pop(), pop(); }
static void empty_after_2(void) {
    EXPECT_EQUAL(shared->popped, 2);
    EXPECT_EQUAL(csk_pqueue_count(queue), 0);
    EXPECT_EQUAL(csk_pqueue_waiting(queue), 0);
    EXPECT_EQUAL(csk_pqueue_destroy(queue), 0);
}
static void nothing_lost(void) {
    EXPECT_EQUAL(csk_pqueue_count(queue) + shared->popped, 2);
    EXPECT_EQUAL(csk_pqueue_waiting(queue), 0);
}
static void not_too_many(void) { EXPECT(queue->count <= queue->capacity); }
CLIENT(pqueue_two_and_two, .setup = make_unbounded, .threads = { pushes_0, pushes_1, pops, pops },
       .check = empty_after_2, .preemptions = 2)
CLIENT(pqueue_bounded, .setup = make_for_one, .threads = { pushes_two, pops_two }, .check = empty_after_2,
       .preemptions = 3)
CLIENT(pqueue_bounded_two_and_two, .setup = make_for_one, .threads = { pushes_0, pushes_1, pops, pops },
       .check = empty_after_2, .preemptions = 2)
static void pops_all(void) { pop(), pop(), pop(); }
CLIENT(pqueue_promised_place, .setup = make_for_one, .threads = { pushes_two, pushes_2, pops_all },
       .invariant = not_too_many, .preemptions = 2)
CLIENT(pqueue_spurious, .setup = make_for_one, .threads = { pushes_two, pops_two }, .check = empty_after_2,
       .preemptions = 2, .spurious = 2)
CLIENT(pqueue_timeout_or_item, .setup = make_unbounded, .threads = { pushes_two, pops_timed, pops_timed },
       .check = nothing_lost, .preemptions = 2)

static void pushes_timed(void) {
    int64_t deadline = explore_now() + 20000;
    int status = csk_pqueue_timedpush(queue, 0, &shared->items[2], deadline);
    if (status == ETIMEDOUT) EXPECT(explore_now() >= deadline);
    else EXPECT_EQUAL(status, 0);
    if (status == 0) shared->flags[0] = 1;
}
static void timed_push_counts(void) { EXPECT_EQUAL(csk_pqueue_count(queue) + shared->popped, 1 + shared->flags[0]); }
CLIENT(pqueue_timeout_or_place, .setup = make_for_one, .threads = { pushes_0, pushes_timed, pops },
       .check = timed_push_counts, .preemptions = 2)

/* Closing wakes everybody; what was accepted is still handed out. */
static void closes(void) { EXPECT_EQUAL(csk_pqueue_close(queue), 0); }
static void pops_until_closed(void) {
    csk_pqueue_item_t *item;
    int status;
    while ((status = csk_pqueue_pop(queue, &item)) == 0) take(item);
    EXPECT_EQUAL(status, ESHUTDOWN);
}
static void pushes_or_is_refused(void) {
    int status = csk_pqueue_push(queue, 0, &shared->items[0]);
    EXPECT(status == 0 || status == ESHUTDOWN);
    shared->flags[0] = status == 0;
}
static void accepted_were_handed_out(void) {
    EXPECT_EQUAL(shared->popped, shared->flags[0]);
    EXPECT_EQUAL(csk_pqueue_count(queue), 0);
}
CLIENT(pqueue_close, .setup = make_unbounded,
       .threads = { closes, pushes_or_is_refused, pops_until_closed, pops_until_closed },
       .check = accepted_were_handed_out, .preemptions = 1)
static void make_full(void) {
    make(1);
    push(3, 0);
}
static void closed_push_was_refused(void) { EXPECT_EQUAL(csk_pqueue_count(queue), 1); }
CLIENT(pqueue_close_wakes_pushers, .setup = make_full, .threads = { pushes_or_is_refused, closes },
       .check = closed_push_was_refused, .preemptions = 3)

/* Draining takes from under those who were promised something: they wait on. */
static void drains(void) {
    csk_pqueue_item_t *first = NULL;
    csk_pqueue_drain(queue, &first);
    for (; first != NULL; first = first->next) take(first);
    push(3, 0);
}
CLIENT(pqueue_drain, .setup = make_unbounded, .threads = { pushes_0, drains, pops }, .check = NULL, .preemptions = 3)

static void empties(void) {
    csk_pqueue_item_t *first = NULL;
    csk_pqueue_drain(queue, &first);
}
CLIENT(pqueue_drain_makes_place, .setup = make_full, .threads = { pushes_0, empties }, .preemptions = 3)

/* By priority, then by arrival. */
static void pops_three(void) {
    explore_wait(&shared->flags[0], 1);
    pop(), pop(), pop();
}
static void pushes_three(void) {
    pushes_0(), pushes_1(), pushes_2();
    explore_set(&shared->flags[0], 1);
}
static void ordered(void) {
    EXPECT_EQUAL(shared->order[0], 2);
    EXPECT_EQUAL(shared->order[1], 0);
    EXPECT_EQUAL(shared->order[2], 1);
}
CLIENT(pqueue_order, .setup = make_unbounded, .threads = { pushes_three, pops_three }, .check = ordered,
       .preemptions = 2)
