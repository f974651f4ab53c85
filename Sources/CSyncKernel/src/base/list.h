/* list.h: a doubly linked list whose links stand in its nodes. The list's owner has its first and its last node, or the
 * first alone, in fields of its own, and a lock:
 *
 *     CSK_LIST(records, csk_wait_record_t, next, previous)
 *
 * defines for nodes of that type, linked by these two fields,
 *
 *     records_put_first(&all.first, &all.last, record)
 *     records_put_last(&all.first, &all.last, record)
 *     records_take_out(&all.first, &all.last, record)
 *
 * Each takes constant time and is called under the lock. An owner that needs no last node gives NULL for it, and puts
 * nodes first.
 *
 *   what holds while the lock is free         what relies on it
 *   *first and *last are both NULL or both    An empty list is one of zeros. So a child of fork makes it anew by two
 *   not                                       stores, whatever was half done.
 *   the first has no previous, the last no    A node knows by its links whether it is at an end, so that taking it out
 *   next                                      needs no search.
 *   a->next == b exactly if b->previous == a  A walk through the list may take out its present node, once it has read
 *                                             where it goes on.
 *   a node stands in one list by these links  They say nothing outside of it. They are not cleared: owners that ask
 *                                             whether a node stands in a list have a field for that. */
#ifndef CSK_INTERNAL_LIST_H
#define CSK_INTERNAL_LIST_H

#include <stddef.h>

#define CSK_LIST(list, node_t, next, previous)                                                                 \
    static inline __attribute__((unused)) void list##_put_first(node_t **first, node_t **last, node_t *node) { \
        node->previous = NULL;                                                                                 \
        node->next = *first;                                                                                   \
        if (*first != NULL) (*first)->previous = node;                                                         \
        else if (last != NULL) *last = node;                                                                   \
        *first = node;                                                                                         \
    }                                                                                                          \
    static inline __attribute__((unused)) void list##_put_last(node_t **first, node_t **last, node_t *node) {  \
        node->next = NULL;                                                                                     \
        node->previous = *last;                                                                                \
        if (*last != NULL) (*last)->next = node;                                                               \
        else *first = node;                                                                                    \
        *last = node;                                                                                          \
    }                                                                                                          \
    static inline __attribute__((unused)) void list##_take_out(node_t **first, node_t **last, node_t *node) {  \
        if (node->previous != NULL) node->previous->next = node->next;                                         \
        else *first = node->next;                                                                              \
        if (node->next != NULL) node->next->previous = node->previous;                                         \
        else if (last != NULL) *last = node->previous;                                                         \
    }                                                                                                          \
    struct csk_list_of_##list /* takes the semicolon, and forbids a second list of that name */

/* A line, which is left at its front alone and has one link. CSK_LINE defines items_append(&first, &last, item). Only
 * *first says whether the list is empty: *last is not cleared when the last one leaves. */
#define CSK_LINE(line, node_t, next)                                                                        \
    static inline __attribute__((unused)) void line##_append(node_t **first, node_t **last, node_t *node) { \
        node->next = NULL;                                                                                  \
        if (*first == NULL) *first = node;                                                                  \
        else (*last)->next = node;                                                                          \
        *last = node;                                                                                       \
    }                                                                                                       \
    struct csk_line_of_##line

#endif
