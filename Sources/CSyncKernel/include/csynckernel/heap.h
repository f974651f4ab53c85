/* heap.h: an intrusive leftist heap keyed by (rank, ticket): the highest rank comes first, and within one rank the
 * lowest ticket.
 *
 * Looking at the top is O(1). Inserting, popping, and removing any node are O(log n), each time and not only on
 * average; and O(1) for nodes that come in order. Nothing allocates, nothing recurses, and nothing blocks. The heap is
 * not synchronized: the lock of its owner protects it. So a signal handler, or a child of fork, may use it if no other
 * thread was changing it. A zero-filled heap is empty. A node needs no initialization but its rank and ticket, belongs
 * to at most one heap at a time, and must stay at its address while it is in one.
 *
 * Example: jobs by rank.
 *
 *     #include <csynckernel/csynckernel.h>
 *     #include <stdio.h>
 *
 *     typedef struct {
 *         csk_heap_node_t node;
 *         const char *name;
 *     } job_t;
 *
 *     int main(void) {
 *         csk_heap_t heap = { NULL };
 *         job_t jobs[] = {
 *             { { .rank = csk_rank(0, CSK_PLACE_BACK), .ticket = 1 }, "second" },
 *             { { .rank = csk_rank(5, CSK_PLACE_BACK), .ticket = 2 }, "first" },
 *             { { .rank = csk_rank(0, CSK_PLACE_BACK), .ticket = 3 }, "third" },
 *         };
 *         for (int i = 0; i < 3; i++) csk_heap_insert(&heap, &jobs[i].node);
 *         csk_heap_remove(&heap, &jobs[2].node);
 *         csk_heap_node_t *node;
 *         while ((node = csk_heap_pop(&heap)) != NULL)
 *             printf("%s\n", ((job_t *)node)->name);
 *         return csk_heap_top(&heap) != NULL;
 *     }
 *
 * Source: Crane, "Linear lists and priority queues as balanced binary trees", Stanford University (1972). This one has
 * links to parents, with which any node can be taken out. */
#ifndef CSK_HEAP_H
#define CSK_HEAP_H

#include "base.h"

CSK_BEGIN_DECLS

typedef struct csk_heap_node {
    struct csk_heap_node *child;    /* the left child */
    struct csk_heap_node *next;     /* the right child, and in its low bits what the heap knows of the node */
    struct csk_heap_node *previous; /* the parent, likewise. The owner may use both links while no heap has the node */
    csk_rank_t rank;
    int64_t ticket;
} csk_heap_node_t;

typedef struct csk_heap {
    csk_heap_node_t *root;
} csk_heap_t;

/* Returns true when `a` comes before `b`. */
static inline bool csk_heap_before(const csk_heap_node_t *a, const csk_heap_node_t *b) {
    return a->rank != b->rank ? a->rank > b->rank : a->ticket < b->ticket;
}

/* The first node in order, or NULL. */
static inline csk_heap_node_t *csk_heap_top(const csk_heap_t *heap) { return heap->root; }

/* Adds a node whose rank and ticket are set. */
CSK_API void csk_heap_insert(csk_heap_t *heap, csk_heap_node_t *node);

/* Adds a node to the heap that contains `earlier`, which does not come after it. Nodes that are added so one behind the
 * other form a row, of which each is taken out in O(1) and without a look at those behind the next. Where `earlier` has
 * nothing behind it yet this is O(1), else O(log n). */
CSK_API void csk_heap_insert_behind(csk_heap_node_t *earlier, csk_heap_node_t *node);

/* Takes out the first node in order; NULL when the heap is empty. */
CSK_API csk_heap_node_t *csk_heap_pop(csk_heap_t *heap);

/* Takes out `node`, which must be in `heap`. */
CSK_API void csk_heap_remove(csk_heap_t *heap, csk_heap_node_t *node);

CSK_END_DECLS

CSK_STATIC_ASSERT(sizeof(csk_heap_node_t) == 40, "csk_heap_node_t is part of the ABI");
CSK_STATIC_ASSERT(sizeof(csk_heap_t) == 8, "csk_heap_t is part of the ABI");

#endif
