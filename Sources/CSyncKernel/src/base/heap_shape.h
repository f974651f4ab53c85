/* heap_shape.h: how the links of a heap's nodes are read. heap.c says what they mean. */
#ifndef CSK_INTERNAL_HEAP_SHAPE_H
#define CSK_INTERNAL_HEAP_SHAPE_H

#include "csynckernel/heap.h"

/* Nodes are aligned to 8 bytes: three bits of each link are free. */
#define CSK_HEAP_LOW ((uintptr_t)7)
/* The low bits of `next`, and above them two of `previous`, hold a way less 1. */
#define CSK_HEAP_PREVIOUS_WAY ((uintptr_t)3)
/* In `previous` of the root. */
#define CSK_HEAP_IS_ROOT ((uintptr_t)4)

static inline csk_heap_node_t *csk_heap_left(const csk_heap_node_t *node) { return node->child; }
static inline csk_heap_node_t *csk_heap_right(const csk_heap_node_t *node) {
    return (csk_heap_node_t *)((uintptr_t)node->next & ~CSK_HEAP_LOW);
}
static inline bool csk_heap_is_root(const csk_heap_node_t *node) {
    return ((uintptr_t)node->previous & CSK_HEAP_IS_ROOT) != 0;
}
/* The parent; of the root, a node to insert behind. */
static inline csk_heap_node_t *csk_heap_up(const csk_heap_node_t *node) {
    return (csk_heap_node_t *)((uintptr_t)node->previous & ~CSK_HEAP_LOW);
}
/* How many nodes the way to the right has from here; none from NULL. */
static inline uintptr_t csk_heap_way(const csk_heap_node_t *node) {
    if (node == NULL) return 0;
    return 1 + (((uintptr_t)node->next & CSK_HEAP_LOW) | ((uintptr_t)node->previous & CSK_HEAP_PREVIOUS_WAY) << 3);
}
/* The node behind this one, the heap's order aside; NULL behind the last. A walk from the root meets all. */
static inline csk_heap_node_t *csk_heap_walk(const csk_heap_node_t *node) {
    if (csk_heap_left(node) != NULL) return csk_heap_left(node);
    for (; !csk_heap_is_root(node); node = csk_heap_up(node)) {
        csk_heap_node_t *right = csk_heap_right(csk_heap_up(node));
        if (right != NULL && right != node) return right;
    }
    return NULL;
}

#endif
