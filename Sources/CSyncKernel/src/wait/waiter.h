/* waiter.h: a waiter, and what is done with it at every lock that has a queue of waiters (the gate, the semaphore, the
 * read-write lock): it waits, tries when it was designated, leaves when its deadline has passed, is taken out, and is
 * notified.
 *
 * A waiter's memory is owned by its thread or its user, so its type is declared in csynckernel/waiter.h. A thread's
 * stands on its stack, and only the part before its timers is ever touched: csk_waiter_for_thread. Only an asynchronous
 * waiter, one with a function, has a context, a status and timers.
 *
 * What a lock does in its own way stands in csk_queue_kind_t and csk_wait_kind_t. The arguments of the locks
 * (gate_words.h, sem_queue.h, rwlock_queue.h) say what may change each field of a waiter, and when. For each of them:
 *
 * - Others write a queued waiter's word under the queue lock. Waking uses its address only, since the memory may be
 *   gone.
 * - The state is written under the queue lock. So of grant, deadline and cancellation exactly one happens.
 * - TRY is a hint. The designated waiter looks under the queue lock whether it may enter. Until it has entered, given
 *   the designation back or left, leavers may rely on it and call no other waiter. So a thread that gives the
 *   designation back settles, and checks again where leavers have no fence (csk_queue_kind_t.look_again). */
#ifndef CSK_INTERNAL_WAITER_H
#define CSK_INTERNAL_WAITER_H

#include "csynckernel/lanes.h"
#include "base/hooks.h"
#include "wait/queue_lock.h"
#include "wait/spin_park.h"
#include "wait/waits.h"

/* csk_waiter_t.word: see spin_park.h. It is answered with TRY or GRANTED. */
enum { WORD_WAITING = CSK_WORD_WAITS, WORD_PARKED = CSK_WORD_PARKED, WORD_TRY = CSK_WORD_ANSWER, WORD_GRANTED };
/* csk_waiter_t.state, with the mark of the process in which that is true. In a child of fork no waiter of the
 * parent's waits or has a grant. */
enum { WAITER_IDLE = 0, WAITER_QUEUED = 1, WAITER_GRANTED = 2, WAITER_LOST = 3 };

/* These are called under the queue lock. */
static inline uint32_t csk_waiter_state(const csk_waiter_t *waiter) {
    uint32_t state = waiter->state ^ csk_process_mark();
    return CSK_LIKELY(state <= WAITER_LOST) ? state : WAITER_IDLE;
}
static inline void csk_waiter_set(csk_waiter_t *waiter, uint32_t state) { waiter->state = csk_process_mark() | state; }
/* Whether a thread was told to try, and has neither entered nor given up. */
static inline bool csk_waiter_is_told(const csk_waiter_t *waiter) {
    return csk_load(&waiter->word, CSK_RELAXED) == WORD_TRY;
}
/* Whether some thread of this process is yet to call the waiter's function. */
static inline bool csk_waiter_is_due(const csk_waiter_t *waiter) {
    return csk_load(&waiter->due, CSK_ACQUIRE) && !csk_queue_lock_is_old(waiter->state);
}

static inline csk_waiter_t *csk_waiter_of_node(csk_heap_node_t *node) { return (csk_waiter_t *)node; }
static inline csk_waiter_t *csk_waiter_of_arrival(csk_arrival_t *arrival) {
    return arrival == NULL ? NULL : (csk_waiter_t *)((char *)arrival - offsetof(csk_waiter_t, arrival));
}

/* A number that csk_rank does not give for one of the places would stand before or behind all others, or in no
 * place. */
static inline bool csk_is_rank(csk_rank_t rank) {
    return rank >= csk_rank(INT32_MIN, CSK_PLACE_LAST) && rank <= csk_rank(INT32_MAX, CSK_PLACE_FRONT) &&
           (rank & 3) <= CSK_PLACE_FRONT;
}
/* The same where a rank of CSK_PLACE_UNNAMED may be given. */
static inline bool csk_is_rank_or_unnamed(csk_rank_t rank) {
    return rank >= csk_rank(INT32_MIN, CSK_PLACE_LAST) && rank <= csk_rank(INT32_MAX, CSK_PLACE_UNNAMED);
}
/* Called under the queue lock. The ticket of a waiter that arrives now. Those that go to the front of their class count
 * down. */
static inline int64_t csk_waiter_ticket(int64_t *next, csk_rank_t rank) {
    int64_t ticket = ++*next;
    return (rank & 3) == CSK_PLACE_FRONT ? -ticket : ticket;
}

/* The rank by which the waiter is ordered, and whether it was named: at a gate or a semaphore. */
static inline void csk_waiter_give_rank(csk_waiter_t *waiter, csk_rank_t rank) {
    waiter->node.rank = csk_rank_in_order(rank);
    waiter->arrival.is_bounded = csk_rank_is_unnamed(rank);
}

/* Makes the waiter of a thread. It is filled field by field: clearing the timers would cost more than all else. */
static inline void csk_waiter_for_thread(csk_waiter_t *waiter, csk_rank_t rank, uint64_t thread) {
    csk_waiter_give_rank(waiter, rank);
    waiter->function = NULL;
    waiter->thread = thread;
    waiter->word = WORD_WAITING;
    waiter->told_ns = 0;
    waiter->since_ns = csk_platform_now();
}

/* It came then already, which only the profile and the metrics ask; 0 if they don't. */
static inline void csk_waiter_came(csk_waiter_t *waiter, int64_t since_ns) {
    if (CSK_UNLIKELY(since_ns != 0)) waiter->since_ns = since_ns;
}

/* Called under the queue lock. Whether an asynchronous waiter is queued, or its function is yet to be called. */
static inline bool csk_waiter_is_waiting(const csk_waiter_t *waiter) {
    return csk_waiter_is_due(waiter) || csk_waiter_state(waiter) == WAITER_QUEUED;
}

/* `has_waited` of an asynchronous waiter: who hears of the end of its wait, and in the lower bits what kind of object
 * it waits for. Zero if nobody does. LISTED: its object is, for the views of inspect.h. The bits METERED, OBSERVED and
 * PROFILED are the subscribers' own. TRACED: a tracer has been told of the beginning, of which an observer that came
 * later has not. */
enum {
    WAITER_KIND = 7,
    WAITER_TRACED = 8,
    WAITER_LISTED = 16,
    WAITER_METERED = 32,
    WAITER_OBSERVED = 64,
    WAITER_PROFILED = 128
};
CSK_STATIC_ASSERT((int)CSK_OBJECT_WORKQUEUE <= WAITER_KIND, "the kinds of objects with waiters have room");
/* Called under the queue lock, where waits are reported. An asynchronous waiter waits from now on; or again, since its
 * grant is over, whatever thread says so. */
__attribute__((cold)) void csk_waiter_begin_told(csk_waiter_t *waiter, uint8_t object_kind, bool again);
static inline void csk_waiter_begin_again(csk_waiter_t *waiter, uint8_t object_kind) {
    if (CSK_UNLIKELY(waiter->has_waited) || csk_waits_are_told()) csk_waiter_begin_told(waiter, object_kind, true);
}
/* For waiters that are not reported elsewhere. */
static inline void csk_waiter_list(csk_waiter_t *waiter, uint8_t object_kind) {
    waiter->has_waited = 0;
    if (!csk_callbacks_are_listed() || !csk_told_callback_waits(waiter->object, object_kind)) return;
    waiter->has_waited = (uint8_t)(WAITER_LISTED | object_kind);
    waiter->task = csk_waits_suspended_task();
    waiter->since_ns = csk_platform_now();
}
/* Its wait is over; no lock is held, and the waiter is still the caller's to read and write. */
void csk_waiter_note_end(csk_waiter_t *waiter, const void *object, int status);

/* Called under the queue lock, where waits are reported. Records that the calling thread calls the waiter, and `how`:
 * GRANTED_THREAD or GRANTED_TRY. csk_tell_called reports it, after the release. Callbacks are reported as let in where
 * their functions are called. Returns the time. */
int64_t csk_waiter_note_called(csk_called_t *called, const csk_waiter_t *waiter, const void *object,
                               uint32_t object_kind, uint32_t how);

/* ---- Recorded under the queue lock, done after it ---------------------------------------------------------------- */

/* What is left to do once the queue lock is dropped. */
typedef struct csk_effects {
    uint32_t *wake;        /* a parked waiter's word: only an address, since its memory may be gone */
    csk_waiter_t *ready;   /* asynchronous waiters whose functions are due */
    csk_gate_lane_t *lane; /* the lane that was granted the gate, and whose function is due */
    /* The threads that were let in, linked by next_ready. Each stays where it is until its word says GRANTED. */
    csk_waiter_t *threads;
    csk_waiter_t *last_ready, *last_thread; /* of those two lists, where they are not empty */
} csk_effects_t;

/* These three are called under the queue lock. csk_waiter_tell gives a thread another word; the effects have room for
 * one wake by it. */
void csk_waiter_tell(csk_waiter_t *waiter, uint32_t word, csk_effects_t *effects);
/* Before a thread is let in: what it waited for, for the probe. */
static inline void csk_waiter_name_object(csk_waiter_t *waiter, void *object, uint8_t object_kind) {
    waiter->object = object;
    waiter->has_waited = object_kind;
}
/* Lets a thread in once the queue lock is dropped, however many there are in the same effects. */
void csk_waiter_let_in(csk_waiter_t *waiter, csk_effects_t *effects);
/* Ends an asynchronous waiter: its function is due, with this status. */
void csk_waiter_finish(csk_waiter_t *waiter, int status, csk_effects_t *effects);

/* Called after the queue lock was dropped. It does not touch the lock, which may be gone once a waiter was let in. */
void csk_effects_perform(csk_effects_t *effects);
/* The same for a thread that stands in the queue itself, or may stand there. */
void csk_effects_perform_waiting(csk_effects_t *effects);

/* ---- Leaving the queue ------------------------------------------------------------------------------------------- */

/* How a lock's queue is changed. `object` is the lock. */
typedef struct csk_queue_kind {
    /* Takes the queue lock, and returns it; or NULL where `unlock` drops it, of an object with a mutex. In a child of
     * fork it makes the object anew before that. */
    uint32_t *(*lock)(void *object);
    /* Called under the queue lock. Takes the waiter out of the queue; its designation ends with that. */
    void (*remove)(void *object, csk_waiter_t *waiter);
    /* Called under the queue lock. Publishes the queue, and ensures that a waiter comes for a free object. Returns
     * whether the caller must look again. */
    bool (*settle)(void *object, csk_effects_t *effects);
    /* Called without the queue lock: the fence and the second look that leavers without a fence count on. */
    void (*look_again)(void *object);
    uint32_t object_kind; /* for observers: CSK_OBJECT_GATE, ... */
    void (*unlock)(void *object);
} csk_queue_kind_t;

static inline void csk_waiter_unlock_queue(const csk_queue_kind_t *kind, void *object, uint32_t *queue_lock) {
    if (queue_lock != NULL) csk_queue_unlock(queue_lock);
    else kind->unlock(object);
}

/* Takes an asynchronous waiter out of the queue. Its function is due, with ECANCELED. Returns ENOENT when it was not
 * queued any more, or can't be cancelled. */
int csk_waiter_cancel(const csk_queue_kind_t *kind, void *object, csk_waiter_t *waiter);
/* Called under the queue lock. Starts the clock of an asynchronous waiter's deadline, if it has one. When it has
 * passed, the waiter is taken out, and its function is due with ETIMEDOUT. */
void csk_waiter_start_deadline(csk_waiter_t *waiter, const csk_queue_kind_t *kind);

/* ---- How an asynchronous waiter comes ---------------------------------------------------------------------------- */

/* What its caller wants. It is written to the waiter only once that is known not to be in use. */
typedef struct csk_request {
    csk_waiter_function_t function;
    void *context;
    int64_t deadline_ns;
    csk_rank_t rank; /* as the caller gave it */
    uint32_t wants;  /* the permits of a semaphore; at a read-write lock or a priority queue the waiter's mode */
    bool stays;
} csk_request_t;

/* How it comes to one kind of object. The functions are called under the queue lock. */
typedef struct csk_way_in {
    const csk_queue_kind_t *queue;
    uint32_t *(*lock)(void *object); /* the one of `queue`: named here, it is inlined */
    /* Returns why the waiter is refused, or 0. NULL: only one that is in use is (EBUSY). */
    int (*refusal)(void *object, const csk_waiter_t *waiter, csk_request_t *request);
    /* Puts the waiter into its place in the queue, or serves it at once, and settles. Returns CSK_LOOK_AGAIN if the
     * caller must; or an error where the waiter is not queued after all. */
    int (*place)(void *object, csk_waiter_t *waiter, const csk_request_t *request, csk_effects_t *effects);
    bool is_only_listed; /* its waits are not reported */
} csk_way_in_t;

enum { CSK_LOOK_AGAIN = -1 };

/* The end of it: called under the queue lock once the waiter is in its place or served, and drops that lock. Before it
 * nobody hears of the waiter (has_waited is 0). Behind the lock it may be served and freed, so `rank` is a copy. */
static inline __attribute__((always_inline)) void csk_waiter_has_come(const csk_way_in_t *way, void *object,
                                                                      csk_waiter_t *waiter, uint32_t *queue_lock,
                                                                      csk_rank_t rank, bool look_again,
                                                                      csk_effects_t *effects) {
    bool waits = csk_waiter_state(waiter) == WAITER_QUEUED;
    if (waits && way->is_only_listed) csk_waiter_list(waiter, (uint8_t)way->queue->object_kind);
    else if (waits && csk_waits_are_told()) csk_waiter_begin_told(waiter, (uint8_t)way->queue->object_kind, false);
    if (waits) csk_waiter_start_deadline(waiter, way->queue);
    csk_waiter_unlock_queue(way->queue, object, queue_lock);
    if (waits && !way->is_only_listed) csk_tell_event(CSK_EVENT_WAIT_BEGIN, object, csk_rank_in_order(rank), 0);
    csk_effects_perform(effects);
    if (look_again) way->queue->look_again(object);
}

/* All of it, whatever the object. Inline, so that what differs costs no calls. */
static inline __attribute__((always_inline)) int csk_waiter_come(const csk_way_in_t *way, void *object,
                                                                 csk_waiter_t *waiter, csk_request_t *request) {
    if (request->function == NULL) return EINVAL;
    int status = request->deadline_ns == CSK_NEVER ? 0 : csk_timer_prepare();
    if (status != 0) return status;
    csk_effects_t effects = { 0 };
    uint32_t *queue_lock = way->lock(object);
    if (way->refusal != NULL) status = way->refusal(object, waiter, request);
    else if (csk_waiter_is_waiting(waiter)) status = EBUSY;
    if (status != 0) {
        csk_waiter_unlock_queue(way->queue, object, queue_lock);
        return status;
    }
    waiter->object = object;
    waiter->function = request->function;
    waiter->context = request->context;
    waiter->deadline_ns = request->deadline_ns;
    waiter->since_ns = 0;
    waiter->word = WORD_WAITING;
    waiter->deadline_started = waiter->grace_started = 0;
    waiter->has_waited = 0;
    waiter->stays = request->stays;
    status = way->place(object, waiter, request, &effects);
    csk_waiter_has_come(way, object, waiter, queue_lock, request->rank, status == CSK_LOOK_AGAIN, &effects);
    return status == CSK_LOOK_AGAIN ? 0 : status;
}

/* ---- Threads that wait ------------------------------------------------------------------------------------------- */

struct csk_watch;

enum csk_try { TRY_ENTERED, TRY_WATCHES, TRY_GAVE_UP };

/* How a thread waits in a lock's queue. */
typedef struct csk_wait_kind {
    const csk_queue_kind_t *queue;
    /* Called under the queue lock for a designated waiter. Lets it in if it may enter. Otherwise it may spin for a
     * moment and try once more (`again`); or it gives the designation back, and its word is WAITING. Settles. */
    enum csk_try (*try_to_enter)(void *object, csk_waiter_t *self, bool again, csk_effects_t *effects);
    /* Spins until the designated waiter could enter, or its word has changed, or a moment has passed. */
    void (*watch)(void *object, csk_waiter_t *self);
    /* Parks until the word is no longer PARKED or the deadline has passed (ETIMEDOUT). May return spuriously. */
    int (*park)(void *object, csk_waiter_t *self, int64_t deadline_ns, struct csk_watch *watch);
    /* Called without the queue lock by a waiter that was granted the lock. Returns when its granter is done with it. */
    void (*await_granter)(void *object, csk_waiter_t *self);
    int64_t first_look_ns; /* of the watch that `park` is given */
} csk_wait_kind_t;

/* For await_granter, where the granter lets threads in (csk_waiter_let_in): it has done with the lock, and with the
 * waiter, once the word says GRANTED. */
void csk_waiter_await_granter(csk_waiter_t *self);

/* Looks again, for a thread that stands in the queue itself. */
void csk_waiter_look_again(const csk_queue_kind_t *kind, void *object);
/* Waits in the queue, where the waiter stands already. Returns 0 or ETIMEDOUT. With `watches_first` it spins before it
 * parks: for locks that are handed over directly. */
int csk_waiter_wait(const csk_wait_kind_t *kind, void *object, csk_waiter_t *self, int64_t deadline_ns,
                    bool watches_first);

#endif
