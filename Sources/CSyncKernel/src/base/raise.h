/* raise.h: a higher rank for something that waits in order. */
#ifndef CSK_INTERNAL_RAISE_H
#define CSK_INTERNAL_RAISE_H

#include "csynckernel/heap.h"

/* Gives a node, which is in no heap, another rank. Among those of that rank it stands where it arrived: tickets of the
 * front of a class count down. */
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
