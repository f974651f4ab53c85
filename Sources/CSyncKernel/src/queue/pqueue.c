/* pqueue.c: the blocking priority queue of pqueue.h.
 *
 * Why no wake-up is lost and nobody starves
 *
 * Poppers wait for items. Pushers of a bounded queue wait for places (capacity - count). Both are one thing: a *line*
 * of threads in order of arrival, and a *supply*. Everything below happens under the queue's mutex. A waiter is woken
 * by a promise: it gets one unit of the supply, whichever that will be when it runs. Three invariants hold whenever the
 * mutex is free and the queue is open:
 *
 *   I1  The waiters with a promise are the first `promised` of the line, and `unpromised` is the one behind them.
 *   I2  promised <= supply: each promise can be kept.
 *   I3  If a waiter without a promise stands in the line, promised == supply: no unit is idle while somebody waits for
 *       it.
 *
 * - A newcomer takes a unit only if supply > promised. By I3 nobody without a promise waits then, so it passes nobody,
 *   and I2 stays true. Otherwise it goes to the end of the line.
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
 *   promise is told ESHUTDOWN: by I3 every item left is promised to another. Pushers are told ESHUTDOWN with a promise
 *   or without. Since no pusher stays, nobody else needs the places that they were promised.
 *
 * Each waiter has a condition variable of its own, on its stack. So a signal reaches the thread that it is meant for,
 * and no variable ever has two waiters (glibc before 2.41 can lose wake-ups only among several: its bug 25847). Signals
 * are sent under the mutex: the waiter can't leave, and take its condition variable away, before it has the mutex back.
 *
 * An item's ticket is drawn when the push begins, so that two pushers that are woken together keep their order. */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE /* pthread_cond_clockwait */
#endif
#include "csynckernel/pqueue.h"

#include <time.h>

#include "wait/announce.h"
#include "wait/spin_park.h"

struct csk_pqueue_waiter {
    struct csk_pqueue_waiter *previous, *next;
    pthread_cond_t condition;
    uint32_t promised; /* changed under the mutex; its waiter also reads it while it spins */
};

typedef struct csk_pqueue_waiter waiter_t;

/* How long a thread looks for something before it sleeps for it: about what a sleep and a wake cost, as with any thing
 * that is either soon there or much later. */
static const int64_t spin_ns = 20000;
#ifndef CSK_PQUEUE_TRIES /* the explorer has fewer */
enum { CSK_PQUEUE_TRIES = 40 };
#endif

/* The mutex is held for some hundred nanoseconds. */
static void lock(csk_pqueue_t *queue) {
    for (int tries = 0; tries < CSK_PQUEUE_TRIES; tries++) {
        if (pthread_mutex_trylock(&queue->mutex) == 0) return;
        csk_spin_pause(4);
    }
    pthread_mutex_lock(&queue->mutex);
}

static void line_append(csk_pqueue_line_t *line, waiter_t *waiter) {
    waiter->previous = line->last;
    waiter->next = NULL;
    if (line->last != NULL) line->last->next = waiter;
    else line->first = waiter;
    line->last = waiter;
    if (line->unpromised == NULL) line->unpromised = waiter;
}

static void line_remove(csk_pqueue_line_t *line, waiter_t *waiter) {
    if (waiter->promised) line->promised--;
    else if (line->unpromised == waiter) line->unpromised = waiter->next;
    if (waiter->previous != NULL) waiter->previous->next = waiter->next;
    else line->first = waiter->next;
    if (waiter->next != NULL) waiter->next->previous = waiter->previous;
    else line->last = waiter->previous;
}

/* Restores I3 after the supply grew. */
static void line_serve(csk_pqueue_line_t *line, uint64_t supply) {
    while (line->unpromised != NULL && line->promised < supply) {
        waiter_t *waiter = line->unpromised;
        line->unpromised = waiter->next;
        line->promised++;
        csk_store(&waiter->promised, 1u, CSK_RELAXED);
        pthread_cond_signal(&waiter->condition);
    }
}

/* Restores I2 after the supply was taken away. */
static void line_revoke(csk_pqueue_line_t *line) {
    for (waiter_t *waiter = line->first; waiter != line->unpromised; waiter = waiter->next)
        csk_store(&waiter->promised, 0u, CSK_RELAXED);
    line->unpromised = line->first;
    line->promised = 0;
}

static void line_wake_all(csk_pqueue_line_t *line) {
    for (waiter_t *waiter = line->first; waiter != NULL; waiter = waiter->next) pthread_cond_signal(&waiter->condition);
}

static uint64_t places(const csk_pqueue_t *queue) {
    return queue->capacity == 0 ? UINT64_MAX : queue->capacity - queue->count;
}

static void put(csk_pqueue_t *queue, csk_pqueue_item_t *item) {
    csk_heap_insert(&queue->heap, &item->node);
    queue->count++;
    line_serve(&queue->poppers, queue->count);
}

static csk_pqueue_item_t *take(csk_pqueue_t *queue) {
    queue->count--;
    csk_pqueue_item_t *item = (csk_pqueue_item_t *)csk_heap_pop(&queue->heap);
    line_serve(&queue->pushers, places(queue));
    return item;
}

/* glibc before 2.30 and musl lack pthread_cond_clockwait. There the condition variable itself has the clock. */
#if defined(__GLIBC__) && (__GLIBC__ > 2 || __GLIBC_MINOR__ >= 30)
static void make_condition(pthread_cond_t *condition) { *condition = (pthread_cond_t)PTHREAD_COND_INITIALIZER; }

static int wait_until(waiter_t *waiter, pthread_mutex_t *mutex, const struct timespec *deadline) {
    return pthread_cond_clockwait(&waiter->condition, mutex, CLOCK_MONOTONIC, deadline);
}
#else
static void make_condition(pthread_cond_t *condition) {
    pthread_condattr_t attributes;
    pthread_condattr_init(&attributes);
    pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC);
    pthread_cond_init(condition, &attributes);
    pthread_condattr_destroy(&attributes);
}

static int wait_until(waiter_t *waiter, pthread_mutex_t *mutex, const struct timespec *deadline) {
    return pthread_cond_timedwait(&waiter->condition, mutex, deadline);
}
#endif

/* Waits once. It returns for any reason or none. */
static void wait_once(csk_pqueue_t *queue, waiter_t *waiter, int64_t deadline_ns) {
    if (deadline_ns == CSK_NEVER) {
        csk_announce_wait();
        pthread_cond_wait(&waiter->condition, &queue->mutex);
        csk_announce_end();
        return;
    }
    const int64_t ns_per_s = 1000000000;
    csk_timed_wait_t wait = csk_platform_begin_timed(deadline_ns);
    struct timespec until = { .tv_sec = wait.until_ns / ns_per_s, .tv_nsec = wait.until_ns % ns_per_s };
    csk_announce_wait();
    bool timed_out = wait_until(waiter, &queue->mutex, &until) == ETIMEDOUT;
    csk_announce_end();
    csk_platform_end_timed(&wait, timed_out ? csk_platform_now() : 0);
}

CSK_STATIC_ASSERT(sizeof(csk_spin_habit_t) <= sizeof(((csk_pqueue_line_t *)0)->spins), "the habit of a line");

/* Looks for a moment, without the mutex, whether the waiter is served. What it sees ends the spinning and nothing else:
 * all is read again under the mutex. The queue stays, since the waiter is counted in it. Only the first in the line
 * spins: it is served next. The habit is the line's, since it depends on who is at the other end. */
static void spin_in_line(csk_pqueue_t *queue, csk_pqueue_line_t *line, const waiter_t *waiter, int64_t deadline_ns) {
    csk_spin_habit_t *habit = (csk_spin_habit_t *)line->spins;
    /* Who polls, or has hardly time to sleep, says nothing about the habit. */
    if (deadline_ns != CSK_NEVER && deadline_ns < csk_now() + spin_ns) return;
    if (line->first != waiter || !csk_spin_pays(habit)) return;
    pthread_mutex_unlock(&queue->mutex);
    csk_spin_t spin = csk_spin_begin(spin_ns);
    while (csk_load(&waiter->promised, CSK_RELAXED) == 0 && csk_spin_lasts(&spin)) csk_spin_pause(CSK_SPIN_PAUSES);
    lock(queue);
    csk_spin_learn(habit, waiter->promised != 0);
}

/* Stands in the line until the waiter has a promise (0), the queue is closed (ESHUTDOWN) or the deadline has passed
 * (ETIMEDOUT). A promise of a place is void once the queue is closed; a promise of an item is not. On return the caller
 * is out of the line. It uses what it was promised before it unlocks the mutex. */
static int stand_in_line(csk_pqueue_t *queue, csk_pqueue_line_t *line, int64_t deadline_ns) {
    /* A cancelled thread must not leave its stack in the line. */
    int cancel_state;
    pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &cancel_state);
    waiter_t waiter = { .promised = 0 };
    make_condition(&waiter.condition);
    line_append(line, &waiter);
    queue->waiting++;
    spin_in_line(queue, line, &waiter, deadline_ns);
    int status = 0;
    for (;;) {
        if (waiter.promised && !(queue->closed && line == &queue->pushers)) break;
        if (queue->closed) status = ESHUTDOWN;
        else if (deadline_ns != CSK_NEVER && csk_now() >= deadline_ns) status = ETIMEDOUT;
        if (status != 0) break;
        wait_once(queue, &waiter, deadline_ns);
    }
    line_remove(line, &waiter);
    queue->waiting--;
    pthread_cond_destroy(&waiter.condition);
    pthread_setcancelstate(cancel_state, NULL);
    return status;
}

/* With `wait` false the caller is a try function, and the call returns EAGAIN instead of standing in the line. */
static int push(csk_pqueue_t *queue, csk_pqueue_item_t *item, int32_t priority, bool wait, int64_t deadline_ns) {
    int status = 0;
    lock(queue);
    item->node.rank = csk_rank(priority, CSK_PLACE_BACK);
    item->node.ticket = queue->next_ticket++;
    item->next = NULL;
    if (queue->closed) status = ESHUTDOWN;
    else if (places(queue) <= queue->pushers.promised) {
        status = wait ? stand_in_line(queue, &queue->pushers, deadline_ns) : EAGAIN;
    }
    if (status == 0) put(queue, item);
    pthread_mutex_unlock(&queue->mutex);
    return status;
}

static int pop(csk_pqueue_t *queue, csk_pqueue_item_t **item, bool wait, int64_t deadline_ns) {
    int status = 0;
    lock(queue);
    if (queue->count <= queue->poppers.promised) {
        if (queue->closed) status = ESHUTDOWN;
        else status = wait ? stand_in_line(queue, &queue->poppers, deadline_ns) : EAGAIN;
    }
    if (status == 0) *item = take(queue);
    pthread_mutex_unlock(&queue->mutex);
    return status;
}

int csk_pqueue_init(csk_pqueue_t *queue, uint64_t capacity) {
    *queue = (csk_pqueue_t){ .capacity = capacity };
    return pthread_mutex_init(&queue->mutex, NULL);
}

int csk_pqueue_destroy(csk_pqueue_t *queue) {
    lock(queue);
    bool busy = queue->waiting != 0 || queue->count != 0;
    pthread_mutex_unlock(&queue->mutex);
    return busy ? EBUSY : pthread_mutex_destroy(&queue->mutex);
}

int csk_pqueue_push(csk_pqueue_t *queue, csk_pqueue_item_t *item, int32_t priority) {
    return push(queue, item, priority, true, CSK_NEVER);
}

int csk_pqueue_timedpush(csk_pqueue_t *queue, csk_pqueue_item_t *item, int32_t priority, int64_t deadline_ns) {
    return push(queue, item, priority, true, deadline_ns);
}

int csk_pqueue_trypush(csk_pqueue_t *queue, csk_pqueue_item_t *item, int32_t priority) {
    return push(queue, item, priority, false, CSK_NEVER);
}

int csk_pqueue_pop(csk_pqueue_t *queue, csk_pqueue_item_t **item) { return pop(queue, item, true, CSK_NEVER); }

int csk_pqueue_timedpop(csk_pqueue_t *queue, csk_pqueue_item_t **item, int64_t deadline_ns) {
    return pop(queue, item, true, deadline_ns);
}

int csk_pqueue_trypop(csk_pqueue_t *queue, csk_pqueue_item_t **item) { return pop(queue, item, false, CSK_NEVER); }

int csk_pqueue_close(csk_pqueue_t *queue) {
    lock(queue);
    queue->closed = 1;
    line_wake_all(&queue->poppers);
    line_wake_all(&queue->pushers);
    pthread_mutex_unlock(&queue->mutex);
    return 0;
}

uint64_t csk_pqueue_drain(csk_pqueue_t *queue, csk_pqueue_item_t **first) {
    lock(queue);
    csk_heap_t taken = queue->heap;
    uint64_t count = queue->count;
    queue->heap.root = NULL;
    queue->count = 0;
    line_revoke(&queue->poppers);
    line_serve(&queue->pushers, places(queue));
    pthread_mutex_unlock(&queue->mutex);
    /* From here on the items belong to the caller: nobody else can reach them. */
    for (csk_heap_node_t *node; (node = csk_heap_pop(&taken)) != NULL; first = &(*first)->next)
        *first = (csk_pqueue_item_t *)node;
    *first = NULL;
    return count;
}

uint64_t csk_pqueue_count(csk_pqueue_t *queue) {
    lock(queue);
    uint64_t count = queue->count;
    pthread_mutex_unlock(&queue->mutex);
    return count;
}

uint32_t csk_pqueue_waiting(csk_pqueue_t *queue) {
    lock(queue);
    uint32_t waiting = queue->waiting;
    pthread_mutex_unlock(&queue->mutex);
    return waiting;
}

bool csk_pqueue_is_closed(csk_pqueue_t *queue) {
    lock(queue);
    bool closed = queue->closed != 0;
    pthread_mutex_unlock(&queue->mutex);
    return closed;
}
