/* heap.h: an intrusive pairing heap keyed by (rank, ticket): the highest rank first, within one rank the lowest ticket.
 *
 * Insert is O(1), pop and the removal of any node O(log n) amortized, peek O(1); nothing allocates, nothing recurses,
 * nothing blocks. The heap is not synchronized: its owner's lock protects it. A zero-filled heap is empty; a node needs no
 * initialization, belongs to at most one heap at a time, and must stay at its address while it is in one.
 *
 * Source: Fredman, Sedgewick, Sleator, Tarjan: "The pairing heap: a new form of self-adjusting heap", Algorithmica 1 (1986);
 * two-pass pairing, child lists doubly linked with `previous` leading to the parent from a first child. */
#ifndef CSK_HEAP_H
#define CSK_HEAP_H

#include "base.h"

CSK_BEGIN_DECLS

typedef struct csk_heap_node {
    struct csk_heap_node *child;     /* first child */
    struct csk_heap_node *next;      /* next sibling */
    struct csk_heap_node *previous;  /* previous sibling, or the parent of a first child; NULL at the root */
    csk_rank_t rank;
    int64_t ticket;
} csk_heap_node_t;

typedef struct csk_heap {
    csk_heap_node_t *root;
} csk_heap_t;

/* True when `a` comes before `b`. */
static inline bool csk_heap_before(const csk_heap_node_t *a, const csk_heap_node_t *b) {
    return a->rank != b->rank ? a->rank > b->rank : a->ticket < b->ticket;
}

/* The first node in order, or NULL. */
static inline csk_heap_node_t *csk_heap_top(const csk_heap_t *heap) { return heap->root; }

/* Adds a node whose rank and ticket are set. */
CSK_API void csk_heap_insert(csk_heap_t *heap, csk_heap_node_t *node);

/* Takes out the first node in order; NULL when the heap is empty. */
CSK_API csk_heap_node_t *csk_heap_pop(csk_heap_t *heap);

/* Takes out `node`, which must be in `heap`. */
CSK_API void csk_heap_remove(csk_heap_t *heap, csk_heap_node_t *node);

CSK_END_DECLS

CSK_STATIC_ASSERT(sizeof(csk_heap_node_t) == 40, "csk_heap_node_t is part of the ABI");

#endif
