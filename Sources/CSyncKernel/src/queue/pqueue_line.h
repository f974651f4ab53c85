/* pqueue_line.h: the waiters of a blocking priority queue, and what is done with their two lines.
 *
 * Why no wake-up is lost and no waiter starves
 *
 * Poppers wait for items. Pushers of a bounded queue wait for places (capacity - count). Both are one thing: a *line*
 * of waiters in order of arrival, and a *supply*. Everything below happens under the queue's mutex. A waiter is woken
 * by a promise: it gets one unit of the supply, whichever that will be when it runs. Three invariants hold whenever the
 * mutex is free and the queue is open:
 *
 *   I1  The waiters with a promise are the first `promised` of the line, and `unpromised` is the one behind them.
 *   I2  promised <= supply: each promise can be kept.
 *   I3  If a waiter without a promise stands in the line, promised == supply: no unit is idle while a waiter needs it.
 *
 * - A newcomer takes a unit only if supply > promised. By I3 no waiter is without a promise then, so the newcomer
 *   overtakes none, and I2 stays true. Otherwise it goes to the end of the line.
 * - When the supply grows by one, the first waiter without a promise gets that unit (I3). Others can't take it away
 *   (see the point above), so the waiter needs no second look at the supply: it has been served, and the line moves in
 *   order of arrival.
 * - A waiter with a promise takes its unit however it woke: by the signal, spuriously, or because its deadline passed
 *   at the same time. `promised` and the supply fall together. So a promise is never dropped and never needs passing
 *   on, and exactly one of grant and timeout wins: the promise if it was made before the waiter had the mutex back, the
 *   timeout otherwise.
 * - A waiter without a promise that gives up leaves the line and touches neither number.
 * - Drain is the only operation that takes units that are promised: it makes the promises void. The waiters keep their
 *   places, and I1 to I3 hold with promised = 0. The waiters wake for nothing and go on waiting.
 * - After closing, the supply of items only falls. A popper with a promise still takes its item. A popper without a
 *   promise gets ESHUTDOWN: by I3 every item left is promised to another. Pushers get ESHUTDOWN with a promise or
 *   without. Since no pusher stays, no other needs the places that they were promised.
 *
 * A waiter is a thread, or a caller-owned csk_waiter_t with a function. Both stand in the same lines. An
 * asynchronous waiter gets no promise: the thread that would make it one hands it the unit at once, takes it out of the
 * line, and calls its function when the mutex is free. So:
 *
 * - The supply falls by one, and `promised` stays. Since promised < supply before, I2 holds. Those before it in the
 *   line have promises, and those behind it none, so I1 holds.
 * - An item that is handed over frees a place, and a place that is handed over is an item more. So the lines are served
 *   in turn until I3 holds for both (csk_pqueue_serve). Each step takes a waiter that had no promise: that ends.
 * - Grant, deadline, cancellation and closing take it out of its line under the mutex, and only the thread that takes
 *   it out has its function called. So exactly one of them happens. None but the grant touches a number: it had no
 *   promise.
 * - Its clock is stopped before its function is called (waiter.h). So the timer's function, which uses the queue, has
 *   ended by then. Nothing else touches the queue after the mutex is free: the function may free queue and waiter.
 * - It is handed the first item of that moment. A thread that was promised one before, and has not taken it yet, takes
 *   the first of those that are left.
 * - No asynchronous waiter stays in a closed queue, and later ones are refused, or served at once: by I3 an item that
 *   is not promised says that no popper without a promise stands in the line, not even one that was woken to leave.
 *
 * Each thread that waits has a condition variable of its own, on its stack. So a signal reaches the thread that it is
 * meant for, and no variable ever has two waiters (glibc before 2.41 can lose wake-ups only among several: its bug
 * 25847). Signals are sent under the mutex: the waiter can't leave, and take its condition variable away, before it has
 * the mutex back.
 *
 * An item's ticket is drawn when the push begins, so that two pushers that are woken together keep their order. */
#ifndef CSK_INTERNAL_PQUEUE_LINE_H
#define CSK_INTERNAL_PQUEUE_LINE_H

#include "csynckernel/pqueue.h"
#include "wait/spin_park.h"
#include "wait/waiter.h"

/* A thread that waits. Of the waiter it has the links, the function, which is none, and the word. That says whether it
 * has a promise: changed under the mutex; the thread also reads it while it spins. */
typedef struct {
    csk_waiter_t waiter;
    pthread_cond_t condition;
} csk_pqueue_thread_t;

/* The mode of an asynchronous waiter. */
enum { PQUEUE_POPS, PQUEUE_PUSHES };

#ifndef CSK_PQUEUE_TRIES /* the explorer has fewer */
enum { CSK_PQUEUE_TRIES = 40 };
#endif

/* The mutex is held for some hundred nanoseconds. */
static inline void csk_pqueue_lock(csk_pqueue_t *queue) {
    for (int tries = 0; tries < CSK_PQUEUE_TRIES; tries++) {
        if (pthread_mutex_trylock(&queue->mutex) == 0) return;
        csk_spin_pause(4);
    }
    pthread_mutex_lock(&queue->mutex);
}

/* Drops the mutex, and calls the functions of waiters that were served or refused. The queue may be gone when it
 * returns. */
static inline void csk_pqueue_unlock(csk_pqueue_t *queue, csk_effects_t *effects) {
    pthread_mutex_unlock(&queue->mutex);
    if (effects->ready != NULL) csk_effects_perform(effects);
}

/* All that follows is called under the mutex. */

static inline bool csk_pqueue_is_promised(const csk_waiter_t *waiter) {
    return csk_load(&waiter->word, CSK_RELAXED) != WORD_WAITING;
}
static inline uint64_t csk_pqueue_places(const csk_pqueue_t *queue) {
    return queue->capacity == 0 ? UINT64_MAX : queue->capacity - queue->count;
}

/* The item's ticket is drawn when the call begins, wherever that waits. */
static inline void csk_pqueue_begin_push(csk_pqueue_t *queue, csk_pqueue_item_t *item, int32_t priority) {
    item->node.rank = csk_rank(priority, CSK_PLACE_BACK);
    item->node.ticket = queue->next_ticket++;
    item->next = NULL;
}

/* After these two the line of the others may have to be served: csk_pqueue_serve. */
static inline void csk_pqueue_insert(csk_pqueue_t *queue, csk_pqueue_item_t *item) {
    csk_heap_insert(&queue->heap, &item->node);
    if (CSK_UNLIKELY(queue->arrivals.limit != 0)) csk_arrivals_add_slow(&queue->arrivals, &item->arrival, false);
    queue->count++;
}
/* The first in order, or the one that was overtaken too often. */
csk_pqueue_item_t *csk_pqueue_remove_limited(csk_pqueue_t *queue);
static inline csk_pqueue_item_t *csk_pqueue_remove_first(csk_pqueue_t *queue) {
    queue->count--;
    if (CSK_UNLIKELY(queue->arrivals.limit != 0)) return csk_pqueue_remove_limited(queue);
    return (csk_pqueue_item_t *)csk_heap_pop(&queue->heap);
}

void csk_pqueue_stand(csk_pqueue_t *queue, csk_pqueue_line_t *line, csk_waiter_t *waiter);
void csk_pqueue_leave(csk_pqueue_t *queue, csk_pqueue_line_t *line, csk_waiter_t *waiter);
/* Takes an asynchronous waiter out of its line. Its function is due, with this status. */
void csk_pqueue_end(csk_pqueue_t *queue, csk_waiter_t *waiter, int status, csk_effects_t *effects);
static inline csk_pqueue_line_t *csk_pqueue_line_of(csk_pqueue_t *queue, const csk_waiter_t *waiter) {
    return waiter->mode == PQUEUE_POPS ? &queue->poppers : &queue->pushers;
}

/* Restores I3 after a supply grew, or a waiter came. */
void csk_pqueue_serve(csk_pqueue_t *queue, csk_effects_t *effects);
/* Restores I2 after the supply was taken away. */
void csk_pqueue_revoke(csk_pqueue_line_t *line);
/* Ends all waits in the line, since the queue is closed. */
void csk_pqueue_tell_closed(csk_pqueue_t *queue, csk_pqueue_line_t *line, csk_effects_t *effects);

#endif
