/* heap.c: the pairing heap of heap.h.
 *
 * Shape: every node keeps its children as a list from `child` through `next`. `previous` leads back along that list,
 * and from its first node to the parent. So `previous->child == node` holds for a first child and for no other node.
 * The root has neither `next` nor `previous`.
 *
 * Order: no node comes before its parent. add_child() makes a node the child of another once link_trees(), or the
 * caller of csk_heap_insert_behind() has compared the two.
 *
 * Depth may reach the number of nodes, which is why nothing here recurses. */
#include "csynckernel/heap.h"

static void add_child(csk_heap_node_t *parent, csk_heap_node_t *child) {
    child->previous = parent;
    child->next = parent->child;
    if (parent->child != NULL) parent->child->previous = child;
    parent->child = child;
}

/* Joins two trees; neither root has siblings. Returns the root of the whole. */
static csk_heap_node_t *link_trees(csk_heap_node_t *a, csk_heap_node_t *b) {
    if (csk_heap_before(b, a)) {
        csk_heap_node_t *other = a;
        a = b;
        b = other;
    }
    add_child(a, b);
    return a;
}

/* Makes one tree of a list of siblings; NULL for an empty list. The amortized bound rests on the two passes: the first
 * makes pairs from the left, the second accumulates one tree from the right. */
static csk_heap_node_t *merge_siblings(csk_heap_node_t *first) {
    csk_heap_node_t *pairs = NULL; /* the last pair first, through `next` */
    while (first != NULL) {
        csk_heap_node_t *a = first, *b = a->next;
        first = b != NULL ? b->next : NULL;
        a->next = a->previous = NULL;
        if (b != NULL) {
            b->next = b->previous = NULL;
            a = link_trees(a, b);
        }
        a->next = pairs;
        pairs = a;
    }
    csk_heap_node_t *root = pairs;
    if (root == NULL) return NULL;
    pairs = root->next;
    root->next = NULL;
    while (pairs != NULL) {
        csk_heap_node_t *pair = pairs;
        pairs = pair->next;
        pair->next = NULL;
        root = link_trees(pair, root);
    }
    return root;
}

void csk_heap_insert(csk_heap_t *heap, csk_heap_node_t *node) {
    node->child = node->next = node->previous = NULL;
    heap->root = heap->root != NULL ? link_trees(heap->root, node) : node;
}

void csk_heap_insert_behind(csk_heap_node_t *earlier, csk_heap_node_t *node) {
    node->child = NULL;
    add_child(earlier, node);
}

csk_heap_node_t *csk_heap_pop(csk_heap_t *heap) {
    csk_heap_node_t *top = heap->root;
    if (top != NULL) heap->root = merge_siblings(top->child);
    return top;
}

void csk_heap_remove(csk_heap_t *heap, csk_heap_node_t *node) {
    csk_heap_node_t *orphans = merge_siblings(node->child);
    if (node == heap->root) {
        heap->root = orphans;
        return;
    }
    if (node->previous->child == node) node->previous->child = node->next;
    else node->previous->next = node->next;
    if (node->next != NULL) node->next->previous = node->previous;
    if (orphans != NULL) heap->root = link_trees(heap->root, orphans);
}
