/* raise.h: when something that waits in order arrived, and a higher rank for it. */
#ifndef CSK_INTERNAL_RAISE_H
#define CSK_INTERNAL_RAISE_H

#include "csynckernel/heap.h"

/* Tickets of the front of a class count down. */
static inline int64_t csk_node_arrival(const csk_heap_node_t *node) {
    return node->ticket < 0 ? -node->ticket : node->ticket;
}

/* Gives a node, which is in no heap, another rank. Among those of that rank it stands where it arrived. */
static inline void csk_node_give_rank(csk_heap_node_t *node, csk_rank_t rank) {
    bool is_front = node->ticket < 0, comes_front = (rank & 3) == CSK_PLACE_FRONT;
    if (is_front != comes_front) node->ticket = -node->ticket;
    node->rank = rank;
}

/* The same for one that is in `heap`, and stays there. */
static inline void csk_node_raise(csk_heap_t *heap, csk_heap_node_t *node, csk_rank_t rank) {
    csk_heap_remove(heap, node);
    csk_node_give_rank(node, rank);
    csk_heap_insert(heap, node);
}

#endif
