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
 * A waiter is a thread or a caller-owned csk_gate_waiter_t, whose function is called. Both stand in the same lines. An
 * asynchronous waiter needs no promise: whoever would promise it a unit hands it the unit under the mutex, takes it out
 * of the line, and calls its function once the mutex is free. So the supply falls at once, `promised` does not change,
 * and I1 to I3 hold: those before it in the line have promises, which supply > promised has left them. An item that is
 * handed over frees a place, and a place that is handed over is an item more. So the two lines are served in turn until
 * neither can be (serve). Each step takes a waiter that had no promise, so that ends.
 * - Grant, deadline, cancellation and closing of an asynchronous waiter take it out of its line under the mutex, and
 *   only whoever takes it out has its function called. So exactly one of them happens. Its clock is stopped before that
 *   call (waiter.h).
 * - None of them takes a waiter out that has a promise, and without a promise it touches neither number.
 *
 * Each thread that waits has a condition variable of its own, on its stack. So a signal reaches the thread that it is meant for,
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
#include "wait/waiter.h"

typedef csk_gate_waiter_t waiter_t;

/* A thread that waits. Of the waiter it has the links, the function, which is none, and the word. That says whether it
 * has a promise: changed under the mutex; the thread also reads it while it spins. */
typedef struct {
    waiter_t waiter;
    pthread_cond_t condition;
} thread_waiter_t;

static bool is_promised(const waiter_t *waiter) { return csk_load(&waiter->word, CSK_RELAXED) != WORD_WAITING; }
static pthread_cond_t *condition_of(waiter_t *waiter) { return &((thread_waiter_t *)waiter)->condition; }

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

static void line_append(csk_pqueue_t *queue, csk_pqueue_line_t *line, waiter_t *waiter) {
    waiter->older = line->last;
    waiter->newer = NULL;
    if (line->last != NULL) line->last->newer = waiter;
    else line->first = waiter;
    line->last = waiter;
    if (line->unpromised == NULL) line->unpromised = waiter;
    queue->waiting++;
}

static void line_remove(csk_pqueue_t *queue, csk_pqueue_line_t *line, waiter_t *waiter) {
    if (is_promised(waiter)) line->promised--;
    else if (line->unpromised == waiter) line->unpromised = waiter->newer;
    if (waiter->older != NULL) waiter->older->newer = waiter->newer;
    else line->first = waiter->newer;
    if (waiter->newer != NULL) waiter->newer->older = waiter->older;
    else line->last = waiter->older;
    queue->waiting--;
}

/* Restores I2 after the supply was taken away. */
static void line_revoke(csk_pqueue_line_t *line) {
    for (waiter_t *waiter = line->first; waiter != line->unpromised; waiter = waiter->newer)
        csk_store(&waiter->word, (uint32_t)WORD_WAITING, CSK_RELAXED);
    line->unpromised = line->first;
    line->promised = 0;
}

static uint64_t places(const csk_pqueue_t *queue) {
    return queue->capacity == 0 ? UINT64_MAX : queue->capacity - queue->count;
}

static void insert(csk_pqueue_t *queue, csk_pqueue_item_t *item) {
    csk_heap_insert(&queue->heap, &item->node);
    queue->count++;
}

static csk_pqueue_item_t *remove_first(csk_pqueue_t *queue) {
    queue->count--;
    return (csk_pqueue_item_t *)csk_heap_pop(&queue->heap);
}

/* Takes an asynchronous waiter out of its line. Its function is due. */
static void end_waiter(csk_pqueue_t *queue, csk_pqueue_line_t *line, waiter_t *waiter, int status,
                       csk_effects_t *effects) {
    line_remove(queue, line, waiter);
    csk_waiter_set(waiter, WAITER_IDLE);
    csk_waiter_finish(waiter, status, effects);
}

/* Gives the first waiter without a promise what it waits for, if there is one, and a unit for it. */
static bool serve_first(csk_pqueue_t *queue, csk_pqueue_line_t *line, uint64_t supply, csk_effects_t *effects) {
    waiter_t *waiter = line->unpromised;
    if (waiter == NULL || line->promised >= supply) return false;
    if (waiter->function == NULL) {
        line->unpromised = waiter->newer;
        line->promised++;
        csk_store(&waiter->word, (uint32_t)WORD_GRANTED, CSK_RELAXED);
        pthread_cond_signal(condition_of(waiter));
        return true;
    }
    end_waiter(queue, line, waiter, 0, effects);
    if (line == &queue->poppers) waiter->item = remove_first(queue);
    else insert(queue, waiter->item);
    return true;
}

/* Restores I3 after the supply of either line grew. */
static void serve(csk_pqueue_t *queue, csk_effects_t *effects) {
    while (serve_first(queue, &queue->poppers, queue->count, effects) ||
           serve_first(queue, &queue->pushers, places(queue), effects)) {}
}

/* The two return whether effects are left to perform, which are made only then. */
static bool put(csk_pqueue_t *queue, csk_pqueue_item_t *item, csk_effects_t *effects) {
    insert(queue, item);
    if (CSK_LIKELY(queue->poppers.unpromised == NULL)) return false;
    *effects = (csk_effects_t){ 0 };
    serve(queue, effects);
    return effects->ready != NULL;
}

static bool take(csk_pqueue_t *queue, csk_pqueue_item_t **item, csk_effects_t *effects) {
    *item = remove_first(queue);
    if (CSK_LIKELY(queue->pushers.unpromised == NULL)) return false;
    *effects = (csk_effects_t){ 0 };
    serve(queue, effects);
    return effects->ready != NULL;
}

/* glibc before 2.30 and musl lack pthread_cond_clockwait. There the condition variable itself has the clock. */
#if defined(__GLIBC__) && (__GLIBC__ > 2 || __GLIBC_MINOR__ >= 30)
static void make_condition(pthread_cond_t *condition) { *condition = (pthread_cond_t)PTHREAD_COND_INITIALIZER; }

static int wait_until(thread_waiter_t *waiter, pthread_mutex_t *mutex, const struct timespec *deadline) {
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

static int wait_until(thread_waiter_t *waiter, pthread_mutex_t *mutex, const struct timespec *deadline) {
    return pthread_cond_timedwait(&waiter->condition, mutex, deadline);
}
#endif

/* Waits once. It returns for any reason or none. */
static void wait_once(csk_pqueue_t *queue, thread_waiter_t *waiter, int64_t deadline_ns) {
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
    while (!is_promised(waiter) && csk_spin_lasts(&spin)) csk_spin_pause(CSK_SPIN_PAUSES);
    lock(queue);
    csk_spin_learn(habit, is_promised(waiter));
}

/* Stands in the line until the waiter has a promise (0), the queue is closed (ESHUTDOWN) or the deadline has passed
 * (ETIMEDOUT). A promise of a place is void once the queue is closed; a promise of an item is not. On return the caller
 * is out of the line. It uses what it was promised before it unlocks the mutex. */
static int stand_in_line(csk_pqueue_t *queue, csk_pqueue_line_t *line, int64_t deadline_ns) {
    /* A cancelled thread must not leave its stack in the line. */
    int cancel_state;
    pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &cancel_state);
    thread_waiter_t self;
    self.waiter.function = NULL;
    self.waiter.word = WORD_WAITING;
    make_condition(&self.condition);
    line_append(queue, line, &self.waiter);
    spin_in_line(queue, line, &self.waiter, deadline_ns);
    int status = 0;
    for (;;) {
        if (is_promised(&self.waiter) && !(queue->closed && line == &queue->pushers)) break;
        if (queue->closed) status = ESHUTDOWN;
        else if (deadline_ns != CSK_NEVER && csk_now() >= deadline_ns) status = ETIMEDOUT;
        if (status != 0) break;
        wait_once(queue, &self, deadline_ns);
    }
    line_remove(queue, line, &self.waiter);
    pthread_cond_destroy(&self.condition);
    pthread_setcancelstate(cancel_state, NULL);
    return status;
}

/* The item's ticket is drawn at the call, wherever that waits. */
static void begin_push(csk_pqueue_t *queue, csk_pqueue_item_t *item, int32_t priority) {
    item->node.rank = csk_rank(priority, CSK_PLACE_BACK);
    item->node.ticket = queue->next_ticket++;
    item->next = NULL;
}

/* With `wait` false the caller is a try function, and the call returns EAGAIN instead of standing in the line. */
static int push(csk_pqueue_t *queue, csk_pqueue_item_t *item, int32_t priority, bool wait, int64_t deadline_ns) {
    int status = 0;
    bool is_left = false;
    csk_effects_t effects;
    lock(queue);
    begin_push(queue, item, priority);
    if (queue->closed) status = ESHUTDOWN;
    else if (places(queue) <= queue->pushers.promised) {
        status = wait ? stand_in_line(queue, &queue->pushers, deadline_ns) : EAGAIN;
    }
    if (status == 0) is_left = put(queue, item, &effects);
    pthread_mutex_unlock(&queue->mutex);
    if (CSK_UNLIKELY(is_left)) csk_effects_perform(&effects);
    return status;
}

static int pop(csk_pqueue_t *queue, csk_pqueue_item_t **item, bool wait, int64_t deadline_ns) {
    int status = 0;
    bool is_left = false;
    csk_effects_t effects;
    lock(queue);
    if (queue->count <= queue->poppers.promised) {
        if (queue->closed) status = ESHUTDOWN;
        else status = wait ? stand_in_line(queue, &queue->poppers, deadline_ns) : EAGAIN;
    }
    if (status == 0) is_left = take(queue, item, &effects);
    pthread_mutex_unlock(&queue->mutex);
    if (CSK_UNLIKELY(is_left)) csk_effects_perform(&effects);
    return status;
}

/* ---- Asynchronous waiters ---------------------------------------------------------------------------------------- */

enum { POPS, PUSHES };

static csk_pqueue_line_t *line_of(csk_pqueue_t *queue, const waiter_t *waiter) {
    return waiter->mode == POPS ? &queue->poppers : &queue->pushers;
}

static bool take_out(csk_pqueue_t *queue, waiter_t *waiter, int status) {
    csk_effects_t effects = { 0 };
    lock(queue);
    bool queued = csk_waiter_state(waiter) == WAITER_QUEUED;
    if (queued) end_waiter(queue, line_of(queue, waiter), waiter, status, &effects);
    pthread_mutex_unlock(&queue->mutex);
    csk_effects_perform(&effects);
    return queued;
}

static void deadline_passed(csk_timer_t *timer, void *queue) {
    take_out(queue, csk_waiter_of_deadline(timer), ETIMEDOUT);
}

/* Called under the mutex. The waiter stands in its line, and gets what it waits for if that is there. */
static void queue_waiter(csk_pqueue_t *queue, waiter_t *waiter, csk_effects_t *effects) {
    csk_waiter_set(waiter, WAITER_QUEUED);
    line_append(queue, line_of(queue, waiter), waiter);
    serve(queue, effects);
    if (csk_waiter_state(waiter) == WAITER_QUEUED) csk_waiter_start_deadline(waiter, queue, deadline_passed);
}

int csk_pqueue_push_async(csk_pqueue_t *queue, csk_gate_waiter_t *waiter, csk_pqueue_item_t *item, int32_t priority,
                          int64_t deadline_ns, csk_gate_function_t function, void *context) {
    if (function == NULL) return EINVAL;
    int status = deadline_ns == CSK_NEVER ? 0 : csk_timer_prepare();
    if (status != 0) return status;
    csk_effects_t effects = { 0 };
    lock(queue);
    if (csk_waiter_is_waiting(waiter)) status = EBUSY;
    else if (queue->closed) status = ESHUTDOWN;
    else {
        begin_push(queue, item, priority);
        csk_waiter_for_function(waiter, queue, function, context, deadline_ns, false);
        waiter->mode = PUSHES;
        waiter->item = item;
        queue_waiter(queue, waiter, &effects);
    }
    pthread_mutex_unlock(&queue->mutex);
    csk_effects_perform(&effects);
    return status;
}

int csk_pqueue_pop_async(csk_pqueue_t *queue, csk_gate_waiter_t *waiter, int64_t deadline_ns,
                         csk_gate_function_t function, void *context) {
    if (function == NULL) return EINVAL;
    int status = deadline_ns == CSK_NEVER ? 0 : csk_timer_prepare();
    if (status != 0) return status;
    csk_effects_t effects = { 0 };
    lock(queue);
    if (csk_waiter_is_waiting(waiter)) status = EBUSY;
    else if (queue->closed && queue->count <= queue->poppers.promised) status = ESHUTDOWN;
    else {
        csk_waiter_for_function(waiter, queue, function, context, deadline_ns, false);
        waiter->mode = POPS;
        waiter->item = NULL;
        queue_waiter(queue, waiter, &effects);
    }
    pthread_mutex_unlock(&queue->mutex);
    csk_effects_perform(&effects);
    return status;
}

int csk_pqueue_cancel(csk_pqueue_t *queue, csk_gate_waiter_t *waiter) {
    return take_out(queue, waiter, ECANCELED) ? 0 : EBUSY;
}

/* ---- Making and using a queue ------------------------------------------------------------------------------------ */

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

/* Threads find out by themselves that the queue is closed. */
static void line_close(csk_pqueue_t *queue, csk_pqueue_line_t *line, csk_effects_t *effects) {
    for (waiter_t *waiter = line->first, *next; waiter != NULL; waiter = next) {
        next = waiter->newer;
        if (waiter->function == NULL) pthread_cond_signal(condition_of(waiter));
        else end_waiter(queue, line, waiter, ESHUTDOWN, effects);
    }
}

int csk_pqueue_close(csk_pqueue_t *queue) {
    csk_effects_t effects = { 0 };
    lock(queue);
    queue->closed = 1;
    line_close(queue, &queue->poppers, &effects);
    line_close(queue, &queue->pushers, &effects);
    pthread_mutex_unlock(&queue->mutex);
    csk_effects_perform(&effects);
    return 0;
}

uint64_t csk_pqueue_drain(csk_pqueue_t *queue, csk_pqueue_item_t **first) {
    csk_effects_t effects = { 0 };
    lock(queue);
    csk_heap_t taken = queue->heap;
    uint64_t count = queue->count;
    queue->heap.root = NULL;
    queue->count = 0;
    line_revoke(&queue->poppers);
    serve(queue, &effects);
    pthread_mutex_unlock(&queue->mutex);
    csk_effects_perform(&effects);
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
