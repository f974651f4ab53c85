/* pqueue.h: a blocking priority queue of caller-owned items: a pthread mutex, one condition variable per waiting thread, and
 * the pairing heap. The plain and portable one; nothing allocates.
 *
 * Items come out by priority (higher first), within one priority in the order they were pushed. Threads that wait to pop are
 * served in the order they came, and so are threads that wait for room in a bounded queue.
 *
 * Zero-filled memory (CSK_PQUEUE_INITIALIZER) is a valid open, empty, unbounded queue.
 *
 * It is illegal to push an item that is in a queue, to move or free an item while it is in one, or to call any function here
 * from a signal handler. After fork, a child may use a queue that no other thread was using at the fork, or one that it
 * initializes anew.
 *
 *     typedef struct { csk_pqueue_item_t item; int payload; } job_t;
 *     csk_pqueue_t queue = CSK_PQUEUE_INITIALIZER;
 *     csk_pqueue_push(&queue, &job->item, 10);
 *     csk_pqueue_item_t *item;
 *     while (csk_pqueue_pop(&queue, &item) == 0) run((job_t *)item);   // ends with ESHUTDOWN once closed and empty
 */
#ifndef CSK_PQUEUE_H
#define CSK_PQUEUE_H

#include <pthread.h>

#include "heap.h"

CSK_BEGIN_DECLS

typedef struct csk_pqueue_item {
    csk_heap_node_t node;
    struct csk_pqueue_item *next;  /* links what csk_pqueue_drain hands out */
} csk_pqueue_item_t;

struct csk_pqueue_waiter;  /* lives on a waiting thread's stack */

typedef struct csk_pqueue {
    pthread_mutex_t mutex;
    csk_heap_t heap;
    int64_t next_ticket;
    uint64_t count;                              /* items inside */
    uint64_t capacity;                           /* 0 = unbounded */
    uint64_t poppers_signalled;                  /* poppers that were woken for an item and have not taken it yet */
    uint64_t pushers_signalled;                  /* pushers that were woken for a free place and have not used it yet */
    struct csk_pqueue_waiter *first_popper, *last_popper;
    struct csk_pqueue_waiter *first_pusher, *last_pusher;
    uint32_t closed;
    uint32_t waiting;                            /* threads inside a blocking call */
} csk_pqueue_t;

#define CSK_PQUEUE_INITIALIZER { 0 }

/* Makes `queue` open and empty; `capacity` 0 means unbounded. Returns 0. */
CSK_API int csk_pqueue_init(csk_pqueue_t *queue, uint64_t capacity);

/* EBUSY while threads wait in it or items are inside; the queue stays usable. */
CSK_API int csk_pqueue_destroy(csk_pqueue_t *queue);

/* Adds an item. Waits for room in a full bounded queue. ESHUTDOWN once closed (the item stays the caller's). O(1). */
CSK_API int csk_pqueue_push(csk_pqueue_t *queue, csk_pqueue_item_t *item, int32_t priority);
/* The same, giving up at `deadline_ns`: ETIMEDOUT. */
CSK_API int csk_pqueue_timedpush(csk_pqueue_t *queue, csk_pqueue_item_t *item, int32_t priority, int64_t deadline_ns);
/* The same without waiting: EAGAIN when full. */
CSK_API int csk_pqueue_trypush(csk_pqueue_t *queue, csk_pqueue_item_t *item, int32_t priority);

/* Takes the first item in order into `*item`; waits while the queue is empty. ESHUTDOWN once closed and empty.
 * O(log n) amortized. */
CSK_API int csk_pqueue_pop(csk_pqueue_t *queue, csk_pqueue_item_t **item);
/* The same, giving up at `deadline_ns`: ETIMEDOUT. Never early; a deadline that has passed tries once. */
CSK_API int csk_pqueue_timedpop(csk_pqueue_t *queue, csk_pqueue_item_t **item, int64_t deadline_ns);
/* The same without waiting: EAGAIN when nothing can be had at once. */
CSK_API int csk_pqueue_trypop(csk_pqueue_t *queue, csk_pqueue_item_t **item);

/* From here on pushes are refused; what is inside can still be popped. Wakes everybody who waits. Closing twice is 0. */
CSK_API int csk_pqueue_close(csk_pqueue_t *queue);

/* Takes everything out at once, as a list in order linked by `next` (NULL when empty), and returns how many.
 * Wakes the threads that wait for room. */
CSK_API uint64_t csk_pqueue_drain(csk_pqueue_t *queue, csk_pqueue_item_t **first);

/* Items inside, and threads that wait, at some instant during the call: for statistics and tests. */
CSK_API uint64_t csk_pqueue_count(csk_pqueue_t *queue);
CSK_API uint32_t csk_pqueue_waiting(csk_pqueue_t *queue);

CSK_END_DECLS

#endif
