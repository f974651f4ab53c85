/* heap_fuzz.c: the heap against an array that is searched. */
#include "fuzz.h"

#include "base/heap_shape.h"

enum { NODES = 24 };
static csk_heap_t heap;
static csk_heap_node_t nodes[NODES];
static bool inside[NODES];

static csk_heap_node_t *model_first(void) {
    csk_heap_node_t *first = NULL;
    for (int index = 0; index < NODES; index++) {
        csk_heap_node_t *node = &nodes[index];
        if (!inside[index]) continue;
        bool before = first == NULL || node->rank > first->rank ||
                      (node->rank == first->rank && node->ticket < first->ticket);
        if (before) first = node;
    }
    return first;
}

/* Any of those with the first key: equal keys have no order. */
static void expect_first(const char *call, const csk_heap_node_t *found) {
    const csk_heap_node_t *first = model_first();
    if ((found == NULL) != (first == NULL))
        fuzz_fail("%s: %s", call, found == NULL ? "finds nothing" : "finds a node in an empty heap");
    if (found == NULL) return;
    if (found < nodes || found >= nodes + NODES || !inside[found - nodes])
        fuzz_fail("%s: gives a node that is not inside", call);
    if (found->rank != first->rank || found->ticket != first->ticket)
        fuzz_fail("%s: gives (%" PRId64 ", %" PRId64 ") and not (%" PRId64 ", %" PRId64 ")", call, found->rank,
                  found->ticket, first->rank, first->ticket);
}

static void check_child(const csk_heap_node_t *node, const csk_heap_node_t *child) {
    if (child == NULL) return;
    if (csk_heap_is_root(child) || csk_heap_up(child) != node) fuzz_fail("a link does not lead back");
    if (csk_heap_before(child, node)) fuzz_fail("a node comes before its parent");
}

/* Every node inside is reached once, its links lead back, none comes before its parent, and the way to the right is
 * known and the shorter one. */
static void check_shape(void) {
    int reached = 0, expected = 0;
    for (int index = 0; index < NODES; index++) expected += inside[index];
    if (heap.root != NULL && !csk_heap_is_root(heap.root)) fuzz_fail("the root has a parent");
    for (const csk_heap_node_t *node = heap.root; node != NULL; node = csk_heap_walk(node)) {
        if (++reached > expected) fuzz_fail("the heap has more nodes than were put in");
        check_child(node, csk_heap_left(node));
        check_child(node, csk_heap_right(node));
        if (csk_heap_way(csk_heap_left(node)) < csk_heap_way(csk_heap_right(node)))
            fuzz_fail("the way from a right child is the longer one");
        if (csk_heap_way(node) != csk_heap_way(csk_heap_right(node)) + 1) fuzz_fail("a node does not know its way");
    }
    fuzz_expect("nodes that the root leads to", reached, expected);
}

static void insert(void) {
    int index = fuzz_below(NODES);
    if (inside[index]) return;
    nodes[index].rank = csk_rank(fuzz_priority(), fuzz_below(3));
    nodes[index].ticket = (int8_t)fuzz_byte();
    fuzz_note("csk_heap_insert(%d: %" PRId64 ", %" PRId64 ")", index, nodes[index].rank, nodes[index].ticket);
    csk_heap_insert(&heap, &nodes[index]);
    inside[index] = true;
}

static void pop(void) {
    fuzz_note("csk_heap_pop()");
    csk_heap_node_t *node = csk_heap_pop(&heap);
    expect_first("csk_heap_pop", node);
    if (node != NULL) inside[node - nodes] = false;
}

static void take_out(void) {
    int index = fuzz_below(NODES);
    if (!inside[index]) return;
    fuzz_note("csk_heap_remove(%d)", index);
    csk_heap_remove(&heap, &nodes[index]);
    inside[index] = false;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    fuzz_begin(data, size);
    memset(&heap, 0, sizeof heap);
    memset(inside, 0, sizeof inside);
    /* Not zeroed: the header says that a node needs no initialization. */
    memset(nodes, 0xA5, sizeof nodes);
    while (!fuzz_at_end()) {
        switch (fuzz_below(4)) {
        case 0:
        case 1: insert(); break;
        case 2: pop(); break;
        case 3: take_out(); break;
        }
        check_shape();
        expect_first("csk_heap_top", csk_heap_top(&heap));
    }
    while (model_first() != NULL) pop();
    expect_first("csk_heap_pop", csk_heap_pop(&heap));
    return 0;
}
