/* clients_pqueue_late.c: a thread that was promised an item, or a place, has no processor, and none for as long as
 * others are there. One item, or one place, stays for it. All others go to others, the most urgent item first. */
#include "late_fixture.h"
#include "queue/pqueue_line.h"

static csk_pqueue_t *queue;
static struct {
    csk_pqueue_item_t items[4];
    csk_waiter_t waiter;
    uint32_t flags[2], entered;
    int who[4], got[4]; /* in the order of the ends of their waits */
} * shared;

/* Thread 1 sleeps on the condition variable of its record. */
static bool is_promised(int thread, const void *word) {
    if (!is_first_at_its_own(thread, word)) return false;
    const char *record = (const char *)word - offsetof(csk_pqueue_thread_t, condition);
    return is_late_if(csk_pqueue_is_promised(&((const csk_pqueue_thread_t *)record)->waiter));
}
static void make_with(uint64_t capacity) {
    queue = explore_allocate(sizeof *queue);
    shared = explore_allocate(sizeof *shared);
    EXPECT_EQUAL(csk_pqueue_init(queue, capacity), 0);
    was_late = false;
}
static void make(void) { make_with(0); }
static void make_for_two(void) { make_with(2); }
#define CLIENT_LATE(name, make, ...) CLIENT(name, .setup = make, .is_late = is_promised, __VA_ARGS__)

static void push(int item, int32_t priority) {
    EXPECT_EQUAL(csk_pqueue_push(queue, priority, &shared->items[item]), 0);
}
static void note(int who, const csk_pqueue_item_t *item) {
    shared->got[shared->entered] = item == NULL ? -1 : (int)(item - shared->items);
    shared->who[shared->entered++] = who;
}
static void pops_as(int who) {
    csk_pqueue_item_t *item = NULL;
    int status = csk_pqueue_pop(queue, &item);
    EXPECT(status == 0 || status == ESHUTDOWN);
    note(who, status == 0 ? item : NULL);
}
static void pops_1(void) { pops_as(1); }
static void pops_2(void) {
    explore_wait(&shared->flags[0], 1);
    pops_as(2);
}
static void await_waiting(uint32_t count) { explore_wait(&queue->waiting, count); }
/* Thread 1 stands first, thread 2 behind it. */
static void await_both(void) {
    await_waiting(1);
    explore_set(&shared->flags[0], 1);
    await_waiting(2);
}
static void late_was_last(uint32_t count) {
    EXPECT_EQUAL(shared->entered, count);
    if (was_late) EXPECT_EQUAL(shared->who[count - 1], 1);
    EXPECT_EQUAL(csk_pqueue_waiting(queue), 0);
    EXPECT_EQUAL(csk_pqueue_count(queue), 0);
    EXPECT_EQUAL(csk_pqueue_destroy(queue), 0);
}

/* The second item goes to the second in the line, or what it gets is the more urgent one of both. */
static void pushes_two(void) {
    await_both();
    push(0, 0);
    push(1, 5);
}
static void others_got_the_urgent(void) {
    late_was_last(2);
    if (was_late) EXPECT_EQUAL(shared->got[0], 1);
}
CLIENT_LATE(pqueue_late_before_another, make, .threads = { pushes_two, pops_1, pops_2 }, .check = others_got_the_urgent,
            .preemptions = 1)

/* A callback in the line behind it is served at once, and so is one that comes without waiting. */
static void is_served(csk_waiter_t *waiter, void *context, int status) {
    (void)context;
    EXPECT_EQUAL(status, 0);
    note(2, waiter->item);
}
static void pushes_to_a_callback(void) {
    await_waiting(1);
    EXPECT_EQUAL(csk_pqueue_pop_async(queue, &shared->waiter, CSK_NEVER, is_served, NULL), 0);
    push(0, 0);
    push(1, 0);
    EXPECT(shared->who[0] == 2 || shared->who[1] == 2);
    push(2, 0);
    csk_pqueue_item_t *item;
    EXPECT_EQUAL(csk_pqueue_trypop(queue, &item), 0);
    note(0, item);
}
static void three_came(void) { late_was_last(3); }
CLIENT_LATE(pqueue_late_before_a_callback, make, .threads = { pushes_to_a_callback, pops_1 }, .check = three_came,
            .preemptions = 2)

/* The queue is closed, or drained. Who stands behind it is told, or gets what comes next. */
static void closes_behind_one(void) {
    await_both();
    push(0, 0);
    EXPECT_EQUAL(csk_pqueue_close(queue), 0);
}
static void two_came(void) { late_was_last(2); }
CLIENT_LATE(pqueue_late_and_closed, make, .threads = { closes_behind_one, pops_1, pops_2 }, .check = two_came,
            .preemptions = 1)

/* Of two places that are free, one is its own. The other goes to who stands behind it. */
static void pushes_as(int item) {
    push(item, 0);
    note(item, &shared->items[item]);
}
static void pushes_1(void) {
    explore_wait(&shared->flags[1], 1);
    pushes_as(1);
}
static void pushes_2(void) {
    explore_wait(&shared->flags[0], 1);
    pushes_as(2);
}
static void pops_two(void) {
    push(0, 0), push(3, 0);
    explore_set(&shared->flags[1], 1);
    await_both();
    csk_pqueue_item_t *item;
    for (int i = 0; i < 2; i++) EXPECT_EQUAL(csk_pqueue_pop(queue, &item), 0);
}
static void two_pushed(void) {
    EXPECT_EQUAL(shared->entered, 2);
    if (was_late) EXPECT_EQUAL(shared->who[1], 1);
    EXPECT_EQUAL(csk_pqueue_waiting(queue), 0);
    EXPECT_EQUAL(csk_pqueue_count(queue), 2);
}
CLIENT_LATE(pqueue_late_for_a_place, make_for_two, .threads = { pops_two, pushes_1, pushes_2 }, .check = two_pushed,
            .preemptions = 1)
