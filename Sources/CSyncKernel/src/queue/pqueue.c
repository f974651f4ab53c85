/* pqueue.c: the blocking priority queue of pqueue.h: making and closing it, and threads that push and pop.
 * pqueue_line.h has the argument. */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE /* pthread_cond_clockwait */
#endif
#include "queue/pqueue_line.h"

#include <time.h>

#include "base/sizes.h"
#include "thread/name.h"
#include "wait/announce.h"
#include "wait/waits.h"

/* How long a thread looks for something before it sleeps for it: about what a sleep and a wake cost, as with any thing
 * that is either soon there or much later. */
static const int64_t spin_ns = 20000;

/* glibc before 2.30 and musl lack pthread_cond_clockwait. There the condition variable itself has the clock. */
#if defined(__GLIBC__) && (__GLIBC__ > 2 || __GLIBC_MINOR__ >= 30)
static void make_condition(pthread_cond_t *condition) { *condition = (pthread_cond_t)PTHREAD_COND_INITIALIZER; }

static int wait_until(csk_pqueue_thread_t *waiter, pthread_mutex_t *mutex, const struct timespec *deadline) {
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

static int wait_until(csk_pqueue_thread_t *waiter, pthread_mutex_t *mutex, const struct timespec *deadline) {
    return pthread_cond_timedwait(&waiter->condition, mutex, deadline);
}
#endif

/* Waits once. It returns for any reason or none. */
static void wait_once(csk_pqueue_t *queue, csk_pqueue_thread_t *waiter, int64_t deadline_ns) {
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
 * spins: it is served next. The habit is the line's, since it depends on the other end. */
static void spin_in_line(csk_pqueue_t *queue, csk_pqueue_line_t *line, const csk_waiter_t *waiter,
                         int64_t deadline_ns) {
    csk_spin_habit_t *habit = (csk_spin_habit_t *)line->spins;
    /* A thread that polls, or has hardly time to sleep, says nothing about the habit. */
    if (deadline_ns != CSK_NEVER && deadline_ns < csk_now() + spin_ns) return;
    if (line->first != waiter || !csk_spin_pays(habit)) return;
    pthread_mutex_unlock(&queue->mutex);
    csk_spin_t spin = csk_spin_begin(spin_ns);
    while (!csk_pqueue_is_promised(waiter) && csk_spin_lasts(&spin)) csk_spin_pause(CSK_SPIN_PAUSES);
    csk_pqueue_lock(queue);
    csk_spin_learn(habit, csk_pqueue_is_promised(waiter));
}

/* The first time that the thread waits, it is given a record, which may allocate. So the mutex is dropped. */
static void make_record(csk_pqueue_t *queue) {
    if (CSK_LIKELY(!csk_waits_needs_record())) return;
    pthread_mutex_unlock(&queue->mutex);
    csk_waits_prepare();
    csk_pqueue_lock(queue);
}

/* Stands in the line until the waiter has a promise (0), the queue is closed (ESHUTDOWN) or the deadline has passed
 * (ETIMEDOUT). A promise of a place is void once the queue is closed; a promise of an item is not. On return the caller
 * is out of the line. It uses what it was promised before it unlocks the mutex. */
static int stand_in_line(csk_pqueue_t *queue, csk_pqueue_line_t *line, int64_t deadline_ns) {
    /* A cancelled thread must not leave its stack in the line. */
    int cancel_state;
    pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &cancel_state);
    csk_pqueue_thread_t self;
    self.waiter.function = NULL;
    self.waiter.thread = csk_self();
    self.waiter.word = WORD_WAITING;
    make_condition(&self.condition);
    csk_wait_t wait = { .object = queue,
                        .object_kind = CSK_OBJECT_PQUEUE,
                        .waits_for = line == &queue->poppers ? CSK_WAITS_FOR_ITEM : CSK_WAITS_FOR_PLACE,
                        .waiter = &self.waiter,
                        .deadline_ns = deadline_ns };
    csk_pqueue_stand(queue, line, &self.waiter);
    make_record(queue);
    spin_in_line(queue, line, &self.waiter, deadline_ns);
    int status = 0;
    for (;;) {
        if (csk_pqueue_is_promised(&self.waiter) && !(queue->closed && line == &queue->pushers)) break;
        if (queue->closed) status = ESHUTDOWN;
        else if (deadline_ns != CSK_NEVER && csk_now() >= deadline_ns) status = ETIMEDOUT;
        if (status != 0) break;
        if (!wait.noted && csk_waits_has_record()) csk_waits_note(&wait);
        wait_once(queue, &self, deadline_ns);
    }
    /* Under the mutex: once it is free, others may see that there are no waiters, and destroy the queue. */
    csk_waits_end(&wait);
    csk_pqueue_leave(queue, line, &self.waiter);
    pthread_cond_destroy(&self.condition);
    pthread_setcancelstate(cancel_state, NULL);
    return status;
}

/* Serves the waiters for what has just come, and drops the mutex. No function is called before that. */
static __attribute__((noinline)) int serve_and_unlock(csk_pqueue_t *queue) {
    csk_effects_t effects = { 0 };
    csk_pqueue_serve(queue, &effects);
    csk_pqueue_unlock(queue, &effects);
    return 0;
}

/* With `wait` false the caller is a try function, and the call returns EBUSY instead of standing in the line. */
static int push(csk_pqueue_t *queue, csk_pqueue_item_t *item, int32_t priority, bool wait, int64_t deadline_ns) {
    int status = 0;
    csk_pqueue_lock(queue);
    csk_pqueue_begin_push(queue, item, priority);
    if (queue->closed) status = ESHUTDOWN;
    else if (csk_pqueue_places(queue) <= queue->pushers.promised) {
        status = wait ? stand_in_line(queue, &queue->pushers, deadline_ns) : EBUSY;
    }
    if (status == 0) {
        csk_pqueue_insert(queue, item);
        if (CSK_UNLIKELY(queue->poppers.unpromised != NULL)) return serve_and_unlock(queue);
    }
    pthread_mutex_unlock(&queue->mutex);
    return status;
}

static int pop(csk_pqueue_t *queue, csk_pqueue_item_t **item, bool wait, int64_t deadline_ns) {
    int status = 0;
    csk_pqueue_lock(queue);
    if (queue->count <= queue->poppers.promised) {
        if (queue->closed) status = ESHUTDOWN;
        else status = wait ? stand_in_line(queue, &queue->poppers, deadline_ns) : EBUSY;
    }
    if (status == 0) {
        *item = csk_pqueue_remove_first(queue);
        if (CSK_UNLIKELY(queue->pushers.unpromised != NULL)) return serve_and_unlock(queue);
    }
    pthread_mutex_unlock(&queue->mutex);
    return status;
}

/* ---- Making and using a queue ------------------------------------------------------------------------------------ */

int csk_pqueue_init(csk_pqueue_t *queue, uint64_t capacity) {
    csk_pqueue_attr_t attr = { .capacity = capacity };
    return csk_pqueue_init_attr(queue, &attr);
}

int csk_pqueue_init_attr(csk_pqueue_t *queue, const csk_pqueue_attr_t *attr) {
    static const csk_pqueue_attr_t defaults = { 0 };
    if (attr == NULL) attr = &defaults;
    if (!CSK_KNOWS_SIZE_OF(attr)) return EINVAL;
    *queue = (csk_pqueue_t){ .capacity = attr->capacity, .arrivals.limit = attr->bypass_limit };
    return pthread_mutex_init(&queue->mutex, NULL);
}

int csk_pqueue_destroy(csk_pqueue_t *queue) {
    csk_pqueue_lock(queue);
    bool busy = queue->waiting != 0 || queue->count != 0;
    pthread_mutex_unlock(&queue->mutex);
    if (busy) return EBUSY;
    csk_name_end(queue);
    return pthread_mutex_destroy(&queue->mutex);
}

int csk_pqueue_push(csk_pqueue_t *queue, int32_t priority, csk_pqueue_item_t *item) {
    return push(queue, item, priority, true, CSK_NEVER);
}

int csk_pqueue_timedpush(csk_pqueue_t *queue, int32_t priority, csk_pqueue_item_t *item, int64_t deadline_ns) {
    return push(queue, item, priority, true, deadline_ns);
}

int csk_pqueue_trypush(csk_pqueue_t *queue, int32_t priority, csk_pqueue_item_t *item) {
    return push(queue, item, priority, false, CSK_NEVER);
}

int csk_pqueue_pop(csk_pqueue_t *queue, csk_pqueue_item_t **item) { return pop(queue, item, true, CSK_NEVER); }

int csk_pqueue_timedpop(csk_pqueue_t *queue, csk_pqueue_item_t **item, int64_t deadline_ns) {
    return pop(queue, item, true, deadline_ns);
}

int csk_pqueue_trypop(csk_pqueue_t *queue, csk_pqueue_item_t **item) { return pop(queue, item, false, CSK_NEVER); }

int csk_pqueue_close(csk_pqueue_t *queue) {
    csk_effects_t effects = { 0 };
    csk_pqueue_lock(queue);
    queue->closed = 1;
    csk_pqueue_tell_closed(queue, &queue->poppers, &effects);
    csk_pqueue_tell_closed(queue, &queue->pushers, &effects);
    csk_pqueue_unlock(queue, &effects);
    return 0;
}

uint64_t csk_pqueue_drain(csk_pqueue_t *queue, csk_pqueue_item_t **first) {
    csk_effects_t effects = { 0 };
    csk_pqueue_lock(queue);
    csk_heap_t taken = queue->heap;
    uint64_t count = queue->count;
    queue->heap.root = NULL;
    queue->arrivals = (csk_arrivals_t){ .limit = queue->arrivals.limit };
    queue->count = 0;
    csk_pqueue_revoke(&queue->poppers);
    csk_pqueue_serve(queue, &effects);
    csk_pqueue_unlock(queue, &effects);
    /* From here on the items belong to the caller: no other thread can reach them. */
    for (csk_heap_node_t *node; (node = csk_heap_pop(&taken)) != NULL; first = &(*first)->next)
        *first = (csk_pqueue_item_t *)node;
    *first = NULL;
    return count;
}

uint64_t csk_pqueue_count(csk_pqueue_t *queue) {
    csk_pqueue_lock(queue);
    uint64_t count = queue->count;
    pthread_mutex_unlock(&queue->mutex);
    return count;
}

uint32_t csk_pqueue_waiting(csk_pqueue_t *queue) {
    csk_pqueue_lock(queue);
    uint32_t waiting = queue->waiting;
    pthread_mutex_unlock(&queue->mutex);
    return waiting;
}

bool csk_pqueue_is_closed(csk_pqueue_t *queue) {
    csk_pqueue_lock(queue);
    bool closed = queue->closed != 0;
    pthread_mutex_unlock(&queue->mutex);
    return closed;
}
