/* pqueue.h: a blocking priority queue of caller-owned items. It is the plain and portable queue: a pthread mutex, one
 * condition variable per waiting thread, and a heap. Nothing allocates.
 *
 * Items come out by priority, higher first, and within one priority in the order of the calls that pushed them. With a
 * bypass limit an item that so many later ones have overtaken comes next (csk_pqueue_attr_t). Threads and asynchronous
 * waiters that wait to pop are served in the order in which they came, and so are those that wait for room in a bounded
 * queue. A newcomer never takes an item or a place that one of them has been woken for. What a woken thread gets is the
 * first item at the moment of taking, which may have been pushed after the one that woke it; an asynchronous waiter
 * gets the first item at the moment at which it is served.
 *
 * Zero-filled memory (CSK_PQUEUE_INITIALIZER) is a valid open, empty, unbounded queue.
 *
 * Every function takes the queue's mutex and may wait for it briefly. Beyond that only push, timedpush, pop and
 * timedpop block. The first thread in a line spins for up to 20 us before it sleeps, as long as that has paid lately.
 * None is a cancellation point: a thread that pthread_cancel hits while it waits goes on waiting. Where a deadline
 * races with an item, a place or the closing, the deadline loses: ETIMEDOUT means that nothing was taken or pushed.
 *
 * It is ILLEGAL to push an item that is in a queue, to move or free an item while it is in one, or to call any function
 * here from a signal handler.
 *
 * fork. The queue is made of pthread's mutex and condition variables, which know no forks. A child may use a queue,
 * with all its items, if at the fork no other thread was inside it, and neither a thread nor an asynchronous waiter
 * waited in it. It may also use a queue that it initializes anew. For any other queue it is ILLEGAL to call anything
 * but csk_pqueue_init, and its items stay where they are. A waiter of the parent doesn't wait in the child, where its
 * function is not called, and it may be used again there.
 *
 * Example: two jobs, the urgent one first.
 *
 *     #include <csynckernel/csynckernel.h>
 *     #include <stdio.h>
 *
 *     typedef struct {
 *         csk_pqueue_item_t item;
 *         const char *name;
 *     } job_t;
 *
 *     int main(void) {
 *         static csk_pqueue_t queue = CSK_PQUEUE_INITIALIZER;
 *         static job_t plain = { .name = "plain" }, urgent = { .name = "urgent" };
 *         if (csk_pqueue_push(&queue, 0, &plain.item) != 0) return 1;
 *         if (csk_pqueue_push(&queue, 10, &urgent.item) != 0) return 1;
 *         csk_pqueue_close(&queue);
 *
 *         csk_pqueue_item_t *item;
 *         // Ends with ESHUTDOWN, once closed and empty.
 *         while (csk_pqueue_pop(&queue, &item) == 0) printf("%s\n", ((job_t *)item)->name);
 *         return csk_pqueue_destroy(&queue);
 *     }
 */
#ifndef CSK_PQUEUE_H
#define CSK_PQUEUE_H

#include <pthread.h>

#include "waiter.h"

CSK_BEGIN_DECLS

typedef struct csk_pqueue_item {
    csk_heap_node_t node;
    csk_arrival_t arrival;
    struct csk_pqueue_item *next; /* links what csk_pqueue_drain hands out */
} csk_pqueue_item_t;

/* The fields belong to the library. Waiters for an item or for a place, by arrival. The first `promised` of them are
 * threads that have been woken for it; an asynchronous waiter leaves the line when it is served. */
typedef struct csk_pqueue_line {
    csk_waiter_t *first, *last; /* a thread's lives on its stack */
    csk_waiter_t *unpromised;   /* the first that has not been woken; NULL when all have */
    uint32_t promised;
    uint8_t spins[4]; /* whether spinning before a wait has paid */
} csk_pqueue_line_t;

/* The fields belong to the library; `mutex` protects all others. */
typedef struct csk_pqueue {
    pthread_mutex_t mutex;
    csk_heap_t heap;
    int64_t next_ticket;
    uint64_t count;            /* items inside */
    uint64_t capacity;         /* 0: unbounded */
    csk_pqueue_line_t poppers; /* waiters for an item */
    csk_pqueue_line_t pushers; /* waiters for a free place */
    uint8_t closed;
    uint8_t has_place; /* it is a csk_placed_pqueue_t's: see name.h; the mutex does not protect this */
    uint32_t waiting;  /* waiters in both lines, woken or not */
    csk_arrivals_t arrivals;
} csk_pqueue_t;

#ifdef __cplusplus
#define CSK_PQUEUE_INITIALIZER \
    {}
#else
#define CSK_PQUEUE_INITIALIZER \
    { 0 }
#endif

/* Makes `queue` open and empty; `capacity` 0 means unbounded. Returns 0, or the error of pthread_mutex_init. */
CSK_API int csk_pqueue_init(csk_pqueue_t *queue, uint64_t capacity);

typedef struct csk_pqueue_attr {
    size_t size;           /* see base.h */
    uint64_t capacity;     /* 0: unbounded */
    uint32_t bypass_limit; /* an item that this many later ones have overtaken comes next; 0: strict priority */
} csk_pqueue_attr_t;
/* Makes `queue` open and empty, with the attributes of `attr`. NULL stands for all members 0. Also returns EINVAL, for
 * a size that is not known. */
CSK_API int csk_pqueue_init_attr(csk_pqueue_t *queue, const csk_pqueue_attr_t *attr);

/* Ends the use of a queue. Returns EBUSY while it has waiters or items; the queue stays usable then. After 0 its memory
 * may be freed. */
CSK_API int csk_pqueue_destroy(csk_pqueue_t *queue);

/* Adds an item. Waits for room in a full bounded queue. Returns ESHUTDOWN once the queue is closed, also when that
 * happens during the wait; the item is still the caller's then. O(1). */
CSK_API CSK_MUST_USE int csk_pqueue_push(csk_pqueue_t *queue, int32_t priority, csk_pqueue_item_t *item);
/* Adds an item, and waits for room until `deadline_ns`. After that it returns ETIMEDOUT, and never earlier. A deadline
 * that has passed tries once. */
CSK_API CSK_MUST_USE int csk_pqueue_timedpush(csk_pqueue_t *queue, int32_t priority, csk_pqueue_item_t *item,
                                              int64_t deadline_ns);
/* Adds an item without waiting. Returns EBUSY when the queue is full, or when every free place is promised to threads
 * that waited. */
CSK_API CSK_MUST_USE int csk_pqueue_trypush(csk_pqueue_t *queue, int32_t priority, csk_pqueue_item_t *item);

/* Takes the first item in order into `*item`, and waits while none is available. Returns ESHUTDOWN once the queue is
 * closed and empty, or closed and every item is promised to threads that waited. O(log n) amortized. */
CSK_API CSK_MUST_USE int csk_pqueue_pop(csk_pqueue_t *queue, csk_pqueue_item_t **item);
/* Takes the first item, and waits for one until `deadline_ns`. After that it returns ETIMEDOUT, and never earlier. A
 * deadline that has passed tries once. */
CSK_API CSK_MUST_USE int csk_pqueue_timedpop(csk_pqueue_t *queue, csk_pqueue_item_t **item, int64_t deadline_ns);
/* Takes the first item without waiting. Returns EBUSY where csk_pqueue_pop would wait, and ESHUTDOWN where it would
 * return that. */
CSK_API CSK_MUST_USE int csk_pqueue_trypop(csk_pqueue_t *queue, csk_pqueue_item_t **item);

/* ---- Asynchronous waiters ----------------------------------------------------------------------------------------
 *
 * They stand in the same lines as threads. `waiter` is zero-filled once by the caller, and stays in place while it
 * waits. `function` is called once: with 0 when the item was pushed or taken; ETIMEDOUT once the deadline has passed,
 * and never earlier; ECANCELED; or ESHUTDOWN where the queue was closed meanwhile. It runs on the thread that served
 * the waiter or ended its wait, possibly before the call that queues it returns, and also where the deadline has passed
 * before. It never runs recursively, runs without the mutex, and must not block. The waiter is the caller's again by
 * then, and the function may free it, queue it again, or free a queue that is not in use elsewhere.
 *
 * Both calls return 0; ESHUTDOWN where the blocking call would; EINVAL without a function; EBUSY when the waiter is in
 * use; EAGAIN or ENOMEM when the timer thread can't be started. After an error nothing was queued. Neither waits. A
 * deadline that has passed tries too, but until the timers' thread comes the waiter stands in the line: trypush and
 * trypop are the better way to try.
 *
 * Adds an item, which is the caller's again if the function is called with another status than 0. O(1). */
CSK_API CSK_MUST_USE int csk_pqueue_push_async(csk_pqueue_t *queue, int32_t priority, csk_waiter_t *waiter,
                                               csk_pqueue_item_t *item, int64_t deadline_ns,
                                               csk_waiter_function_t function, void *context);
/* Takes the first item in order, which csk_pqueue_taken gives. O(log n) amortized. */
CSK_API CSK_MUST_USE int csk_pqueue_pop_async(csk_pqueue_t *queue, csk_waiter_t *waiter, int64_t deadline_ns,
                                              csk_waiter_function_t function, void *context);
/* The item that was taken for `waiter`, once its function has been called with 0 and before it is used again. */
static inline csk_pqueue_item_t *csk_pqueue_taken(const csk_waiter_t *waiter) { return waiter->item; }
/* Takes a waiter out of its line. After 0 its function has been or is being called with ECANCELED. After ENOENT the
 * waiter does not wait: its function was called before. O(1). */
CSK_API int csk_pqueue_cancel(csk_pqueue_t *queue, csk_waiter_t *waiter);

/* ---- Closing and looking ----------------------------------------------------------------------------------------- */

/* After this call pushes are refused, and what is inside can still be popped. It wakes all waiters. Always returns 0.
 * O(waiters). */
CSK_API int csk_pqueue_close(csk_pqueue_t *queue);

/* Takes everything out at once, as a list in order that is linked by `next`, and returns how many items it took. *first
 * is NULL when the queue was empty. It serves the waits for room. Threads that were woken for one of these items wait
 * on, at their old places. O(n log n), of which the mutex is held for O(waiters). */
CSK_API uint64_t csk_pqueue_drain(csk_pqueue_t *queue, csk_pqueue_item_t **first);

/* The number of items inside, and of waiters, at some instant during the call, for statistics and tests.
 * O(1). */
CSK_API uint64_t csk_pqueue_count(csk_pqueue_t *queue);
CSK_API uint32_t csk_pqueue_waiting(csk_pqueue_t *queue);
/* Returns true once csk_pqueue_close was called. O(1). */
CSK_API bool csk_pqueue_is_closed(csk_pqueue_t *queue);

CSK_END_DECLS

CSK_STATIC_ASSERT(sizeof(csk_pqueue_item_t) == 72, "csk_pqueue_item_t is part of the ABI");
/* pthread_mutex_t differs between architectures. */
CSK_STATIC_ASSERT(sizeof(csk_pqueue_t) == sizeof(pthread_mutex_t) + 120, "csk_pqueue_t is part of the ABI");
CSK_STATIC_ASSERT(sizeof(csk_pqueue_attr_t) == 24, "csk_pqueue_attr_t is part of the ABI");

#endif
