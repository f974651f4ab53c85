/* heap.c: the leftist heap of heap.h.
 *
 * Shape: a binary tree. `child` is a node's left child, `next` its right one, and `previous` leads to its parent. A
 * node without a left child has no right one. The way from a node is that to the right: as many nodes as lie on the
 * path that begins with it and goes to right children alone. It is never longer from a right child than from the left
 * one beside it. So a node from which the way is w has at least 2^w - 1 nodes below it, itself included, and each way
 * is O(log n). A path to the left may be as long as there are nodes, which is why nothing here recurses.
 *
 * Each node knows its way, in bits of its links that alignment leaves free (heap_shape.h). Ways of more than 32, which
 * take 2^32 nodes and more, count as 32.
 *
 * Order: no node comes before its parent.
 *
 * Rows: the root has no parent. Its `previous` leads to the node that was inserted last, or where that is gone to
 * another one. What does not come before that node is inserted behind it, which takes O(1) where that has no child. So
 * what comes in order stands in a row, and each is taken out in O(1).
 *
 * Steps: all loops go along a way, or upwards for as long as ways change. Where ways upwards get shorter, each new one
 * is 1 longer than the new one below it; where they get longer, so is each old one. So as many change as the longest
 * way has nodes. */
#include "base/heap_shape.h"

typedef csk_heap_node_t node_t;

static node_t *with(const node_t *link, uintptr_t bits) { return (node_t *)((uintptr_t)link | bits); }
static void set_right(node_t *node, const node_t *right) {
    node->next = with(right, (uintptr_t)node->next & CSK_HEAP_LOW);
}
/* These leave the bits of the way as they are. */
static void set_parent(node_t *node, const node_t *parent) {
    node->previous = with(parent, (uintptr_t)node->previous & CSK_HEAP_PREVIOUS_WAY);
}
static void set_root(csk_heap_t *heap, node_t *root, const node_t *last) {
    set_parent(root, last);
    root->previous = with(root->previous, CSK_HEAP_IS_ROOT);
    heap->root = root;
}

/* A child of `node` has changed: that with the longer way becomes the left one. Returns whether the way from `node` has
 * changed too. */
static bool lean(node_t *node) {
    node_t *left = csk_heap_left(node), *right = csk_heap_right(node);
    uintptr_t before = csk_heap_way(node), of_left = csk_heap_way(left), way = csk_heap_way(right);
    if (of_left < way) {
        node->child = right;
        right = left;
        way = of_left;
    }
    if (way > 31) way = 31;
    node->next = with(right, way & CSK_HEAP_LOW);
    node->previous = with((node_t *)((uintptr_t)node->previous & ~CSK_HEAP_PREVIOUS_WAY), way >> 3);
    return way + 1 != before;
}

static void lean_upwards(node_t *node) {
    while (lean(node) && !csk_heap_is_root(node)) node = csk_heap_up(node);
}

/* `node` does not come before `above`, from which its place is searched along the way. */
static void insert_below(node_t *above, node_t *node) {
    node->child = node->next = NULL;
    if (above->child == NULL) {
        node->previous = above;
        above->child = node;
        return;
    }
    node_t *right;
    while ((right = csk_heap_right(above)) != NULL && !csk_heap_before(node, right)) above = right;
    node->previous = above;
    node->child = right;
    if (right != NULL) set_parent(right, node);
    set_right(above, node);
    lean_upwards(above);
}

/* The functions that have one apart serve heaps of one node, where a call and registers to save are all that counts. */
static __attribute__((noinline)) void insert_beside(csk_heap_t *heap, node_t *node) {
    node_t *root = heap->root, *last = csk_heap_up(root);
    if (!csk_heap_before(node, last)) {
        insert_below(last, node);
    } else if (!csk_heap_before(node, root)) {
        insert_below(root, node);
    } else {
        node->child = root;
        node->next = node->previous = NULL;
        set_parent(root, node);
        root = node;
    }
    set_root(heap, root, node);
}

void csk_heap_insert(csk_heap_t *heap, csk_heap_node_t *node) {
    if (heap->root != NULL) {
        insert_beside(heap, node);
        return;
    }
    node->child = node->next = NULL;
    node->previous = with(node, CSK_HEAP_IS_ROOT);
    heap->root = node;
}

void csk_heap_insert_behind(csk_heap_node_t *earlier, csk_heap_node_t *node) { insert_below(earlier, node); }

/* Makes one tree of two, of which `b` is none where `a` is none. Returns its root, whose parent is not set. */
static node_t *merge(node_t *a, node_t *b) {
    if (b == NULL) return a;
    node_t *top = a;
    if (csk_heap_before(b, a)) {
        top = b;
        b = a;
    }
    node_t *last = top;
    for (node_t *right; (right = csk_heap_right(last)) != NULL;) {
        if (!csk_heap_before(b, right)) {
            last = right;
            continue;
        }
        set_right(last, b);
        set_parent(b, last);
        last = b;
        b = right;
    }
    set_right(last, b);
    set_parent(b, last);
    for (; last != top; last = csk_heap_up(last)) lean(last);
    lean(top);
    return top;
}

static __attribute__((noinline)) void remove_from(csk_heap_t *heap, node_t *node) {
    node_t *root = heap->root, *last = csk_heap_up(root), *above = csk_heap_up(node);
    node_t *rest = merge(csk_heap_left(node), csk_heap_right(node));
    if (node == root) {
        set_root(heap, rest, last != node ? last : rest);
        return;
    }
    if (last == node) set_root(heap, root, above);
    if (rest != NULL) set_parent(rest, above);
    if (above->child == node) above->child = rest;
    else set_right(above, rest);
    lean_upwards(above);
}

void csk_heap_remove(csk_heap_t *heap, csk_heap_node_t *node) {
    if (node == heap->root && node->child == NULL) heap->root = NULL;
    else remove_from(heap, node);
}

csk_heap_node_t *csk_heap_pop(csk_heap_t *heap) {
    node_t *top = heap->root;
    if (top != NULL) csk_heap_remove(heap, top);
    return top;
}
