/* clients_heap.c: the heap under the queue lock, as the gate and the timers use it. */
#include "csynckernel/heap.h"
#include "wait/queue_lock.h"

#include "explorer.h"

enum { NODES = 6 };
static struct {
    uint32_t lock;
    csk_heap_t heap;
    csk_heap_node_t nodes[NODES];
    bool queued[NODES];
    int64_t tickets;
} * shared;

static void make(void) { shared = explore_allocate(sizeof *shared); }

/* What comes before all others, by looking at all of them. */
static void expect_top_is_first(void) {
    const csk_heap_node_t *first = NULL;
    for (int i = 0; i < NODES; i++)
        if (shared->queued[i] && (first == NULL || csk_heap_before(&shared->nodes[i], first)))
            first = &shared->nodes[i];
    EXPECT(csk_heap_top(&shared->heap) == first);
}
static void insert(int node, csk_rank_t rank) {
    csk_queue_lock(&shared->lock);
    shared->nodes[node].rank = rank;
    shared->nodes[node].ticket = ++shared->tickets;
    csk_heap_insert(&shared->heap, &shared->nodes[node]);
    shared->queued[node] = true;
    expect_top_is_first();
    csk_queue_unlock(&shared->lock);
}
static void take_out(int node) {
    csk_queue_lock(&shared->lock);
    if (shared->queued[node]) csk_heap_remove(&shared->heap, &shared->nodes[node]);
    shared->queued[node] = false;
    expect_top_is_first();
    csk_queue_unlock(&shared->lock);
}
static void pop(void) {
    csk_queue_lock(&shared->lock);
    csk_heap_node_t *top = csk_heap_pop(&shared->heap);
    if (top != NULL) shared->queued[top - shared->nodes] = false;
    expect_top_is_first();
    csk_queue_unlock(&shared->lock);
}
static void inserts_even(void) { insert(0, 1), insert(2, 3), insert(4, 2), take_out(3), pop(); }
static void inserts_odd(void) { insert(1, 1), insert(3, 3), insert(5, 0), take_out(0), pop(); }
static void removes(void) { take_out(2), take_out(1), pop(); }
static void drains(void) {
    while (csk_heap_top(&shared->heap) != NULL) pop();
    for (int i = 0; i < NODES; i++) EXPECT(!shared->queued[i]);
}
CLIENT(heap_two, .setup = make, .threads = { inserts_even, inserts_odd }, .check = drains, .preemptions = 3)
CLIENT(heap_three, .setup = make, .threads = { inserts_even, inserts_odd, removes }, .check = drains, .preemptions = 2)
