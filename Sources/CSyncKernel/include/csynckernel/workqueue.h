/* workqueue.h: queues of work that run on the pool's workers: serial ones and concurrent ones with barriers.
 *
 * A queue runs what it is given in the order of (rank, arrival), one at a time or as many at once as its width says. Queueing is
 * wait-free on a queue without a bound: one exchange and one store, and nothing allocates. A queue whose work is done costs no thread.
 * Zero-filled memory is a serial queue without a bound.
 *
 * Work is a part of whatever is to be worked on: the caller keeps it in place until its function is called, which is the time to free
 * it or to queue it again. The function is called exactly once for each time that it was accepted: with 0 to do the work, with
 * ECANCELED when it was dropped or the queue was shut down before its turn; or it was cancelled, and then it isn't called.
 *
 * A thread that waits in one of these calls runs nothing that others queued. A queue knows which threads are inside its functions: a call from
 * there that would wait for itself gives EDEADLK.
 *
 * Work and callers *of their own turn* (the functions that end in _always) are neither refused nor dropped, whatever the queue is doing: they take no
 * room of a queue with a bound, full or not, and after a shutdown they still run in order. Whoever can be told that it will not be uses the others.
 *
 * A work that ends its thread (pthread_exit) has ended with it: that is reported, the next one begins, and periodic work goes on; see pool.h. It is ILLEGAL for
 * a function that runs on its caller's thread (csk_workqueue_sync, those of waits and those called with an error) to end that thread, or to leave by an exception or
 * longjmp: its section would never end. Where the thread may be cancelled inside, disable that.
 *
 * Nothing here is for signal handlers.
 *
 * fork. A child may use each queue of the parent without further ado, whatever other threads were doing with it. It is empty there: what waited
 * or ran at the fork does so in the parent alone, callers that wait and drains included, and its memory may be used again. It keeps its width, bound
 * and priority; it is shut down, released or suspended as it was; its handles count as many as in the parent. A function that forks may
 * return in the child, whose queue knows nothing of it, and so may the function of csk_workqueue_sync.
 *
 *     static csk_workqueue_t log_queue;
 *     static void write_line(csk_work_t *work, int status) { ... free(work); }
 *     csk_workqueue_enqueue(&log_queue, &line->work, write_line);
 *
 * The inbox is the list of waiters of the MCS lock (Mellor-Crummey and Scott, 1991) with functions for waiters. */
#ifndef CSK_WORKQUEUE_H
#define CSK_WORKQUEUE_H

#include "heap.h"
#include "pool.h"
#include "timer.h"

CSK_BEGIN_DECLS

typedef struct csk_work csk_work_t;
typedef void (*csk_work_function_t)(csk_work_t *work, int status);

/* Needs no initialization. */
struct csk_work {
    csk_heap_node_t node;
    csk_work_function_t function;
    uint32_t kind;
    uint32_t place;  /* which of the queue's lists it is in */
};

/* What a queue with a bound does with work that finds it full. */
enum {
    CSK_WORKQUEUE_WAIT = 0,        /* the caller waits */
    CSK_WORKQUEUE_REFUSE = 1,      /* EAGAIN */
    CSK_WORKQUEUE_DROP_OLDEST = 2  /* of what takes room, the work that waited longest is called with ECANCELED, on the caller's thread. O(1), but
                                      behind a barrier of its own turn O(works like it there) */
};

typedef struct csk_workqueue_attr {
    uint32_t width;      /* how many run at once: 0 and 1 make a serial queue; at most CSK_WORKQUEUE_WIDTH_MAX */
    uint32_t capacity;   /* how many that take room may wait to begin; 0: no bound */
    int32_t when_full;   /* CSK_WORKQUEUE_WAIT, ... */
    int32_t priority;    /* of work that names no rank, and of the queue among others: from 1024 it comes before the others, up to -1024 after them */
    const char *name;    /* shown in reports; NULL: none. csk_workqueue_create copies it (CSK_WORKQUEUE_NAME_MAX bytes), csk_workqueue_init
                            does not: it must last as long as the queue */
} csk_workqueue_attr_t;

enum { CSK_WORKQUEUE_WIDTH_MAX = 4096, CSK_WORKQUEUE_NAME_MAX = 63 };

struct csk_workqueue_wait;

/* In lines of 64 bytes, for queues at such an address: those that csk_workqueue_create makes are. */
typedef struct csk_workqueue {
    /* What each caller changes. */
    csk_work_t *inbox_last, *inbox_first;
    uint64_t state;
    csk_pool_item_t item;
    uint64_t handles;                          /* who keeps the memory of a queue on the heap */
    struct csk_workqueue_wait *last_room;
    /* What all look at, and few change. */
    uint32_t epoch, width, capacity;
    int32_t priority;
    struct csk_workqueue_wait *drains, *rooms; /* who waits for the queue's work, and for room */
    csk_work_t *later_first, *later_last;      /* these wait for the barrier */
    void *memory;                              /* that of a queue on the heap */
    uint32_t urgent;                           /* something in the inbox comes before what waits with the queue's own priority */
    uint8_t when_full;
    /* What workers change. */
    uint32_t lock, waiting, running, refusing; /* refusing: threads that tell ECANCELED */
    int64_t arrivals;
    csk_work_t *first, *last;                  /* of the queue's own priority, by arrival */
    csk_heap_t ranked;                         /* of all others */
    csk_work_t *barrier;                       /* waits for all that came before it */
    uint32_t beyond;                           /* of those that wait: take no room */
    uint8_t exclusive, suspended;
    const char *name;
} csk_workqueue_t;

/* A queue with the attributes that follow, as csk_workqueue_init makes it, for static ones:
 *
 *     static csk_workqueue_t queue = CSK_WORKQUEUE_INITIALIZER(.width = 4, .priority = 7);     (in C; in C++ and without arguments: a serial queue)
 *
 * It checks nothing: what csk_workqueue_init refuses is ILLEGAL. */
#ifdef __cplusplus
#define CSK_WORKQUEUE_INITIALIZER() {}
#else
#define CSK_WORKQUEUE_INITIALIZER(...) { .inbox_last = NULL, __VA_ARGS__ }
#endif

/* Where zero-filled memory won't do. `attr` NULL: the defaults. 0, or EINVAL for a value that isn't named above; a queue that drops
 * its oldest needs a capacity. Never blocks. */
CSK_API int csk_workqueue_init(csk_workqueue_t *queue, const csk_workqueue_attr_t *attr);

/* Ends the use of the queue's memory. 0; EBUSY while work waits, runs or is waited for; EDEADLK from inside its own work. May wait for a worker that is just
 * leaving the queue; not for threads inside other calls, those that queue work included: they must have returned. */
CSK_API CSK_MUST_USE int csk_workqueue_destroy(csk_workqueue_t *queue);

/* A queue on the heap, for owners who don't want to wait for its work: 0, EINVAL or ENOMEM. */
CSK_API CSK_MUST_USE int csk_workqueue_create(csk_workqueue_t **queue, const csk_workqueue_attr_t *attr);

/* Gives up a queue that csk_workqueue_create made: what it has accepted still runs, on a suspended queue too, which from then on can't be suspended,
 * and then its memory goes. From anywhere, its own work included; but whoever is just queueing work needs the queue until that call has returned,
 * and whoever will call it later has to retain it. Once for each queue. Never blocks. */
CSK_API void csk_workqueue_release(csk_workqueue_t *queue);

/* Keep the memory of a queue that csk_workqueue_create made beyond its release, for who calls it later: delayed work, timers, waiters. As many
 * as there is memory for; one unretain for each. They change nothing else, and nothing at all for a queue in place. Never block. O(1). */
CSK_API void csk_workqueue_retain(csk_workqueue_t *queue);
CSK_API void csk_workqueue_unretain(csk_workqueue_t *queue);

/* Queues `work` with the queue's own priority. Wait-free without a bound; may block on a full queue with CSK_WORKQUEUE_WAIT. From
 * anywhere, the queue's own work included. O(1).
 * 0; EINVAL (no function); ESHUTDOWN; EAGAIN (full, or no worker can be started); ENOMEM; EDEADLK (full, and the caller is inside the queue's
 * own work, which room waits for). After an error the work was not queued and its function is not called. */
CSK_API CSK_MUST_USE int csk_workqueue_enqueue(csk_workqueue_t *queue, csk_work_t *work, csk_work_function_t function);

/* The same with a rank: csk_rank(priority, CSK_PLACE_BACK) for a plain priority. Higher ranks begin first, equal ones by arrival. EINVAL also on
 * a queue that drops its oldest, which knows one priority only. O(log n) amortized. */
CSK_API CSK_MUST_USE int csk_workqueue_enqueue_ranked(csk_workqueue_t *queue, csk_work_t *work, csk_rank_t rank, csk_work_function_t function);

/* The same; a queue that is full is waited for until `deadline_ns` at most: ETIMEDOUT. */
CSK_API CSK_MUST_USE int csk_workqueue_enqueue_until(csk_workqueue_t *queue, csk_work_t *work, csk_rank_t rank, int64_t deadline_ns,
                                        csk_work_function_t function);

/* The same for work of its own turn, as the jobs of an executor: it is accepted on a full queue and after the shutdown, in order, and called with 0
 * always. Only csk_workqueue_cancel takes it out. Wait-free. 0; EINVAL (as above); EAGAIN or ENOMEM when no worker can be had. */
CSK_API CSK_MUST_USE int csk_workqueue_enqueue_always(csk_workqueue_t *queue, csk_work_t *work, csk_rank_t rank,
                                                      csk_work_function_t function);

/* Queues work that begins when all that was accepted before it has ended, and runs alone: work accepted later waits for it, whatever
 * its rank. On a serial queue: work like any other. */
CSK_API CSK_MUST_USE int csk_workqueue_enqueue_barrier(csk_workqueue_t *queue, csk_work_t *work, csk_work_function_t function);

/* The same for work of its own turn. */
CSK_API CSK_MUST_USE int csk_workqueue_enqueue_barrier_always(csk_workqueue_t *queue, csk_work_t *work,
                                                              csk_work_function_t function);

/* Takes work out that has not begun. 0: its function is not called for it any more. ENOENT: it has begun, was called already, or was never queued and is
 * zero-filled; its memory must still be there. O(1), O(log n) amortized for ranked work. */
CSK_API int csk_workqueue_cancel(csk_workqueue_t *queue, csk_work_t *work);

/* Calls function(context) on the calling thread when it is its turn, and returns after it. Where nothing is before it, at once; else the workers
 * serve that, and the caller runs nothing but its own. Blocks until `deadline_ns` at most.
 * 0; EINVAL as csk_workqueue_enqueue_ranked; EDEADLK from inside the queue's own work; EAGAIN or ENOMEM when no worker can be had; EAGAIN on a full
 * queue with CSK_WORKQUEUE_REFUSE; ETIMEDOUT, ESHUTDOWN, ECANCELED (dropped or shut down before its turn). After an error the function was not
 * called. With CSK_WORKQUEUE_WAIT the caller waits for room first, as work does; with CSK_WORKQUEUE_DROP_OLDEST it comes in. `barrier`: as
 * csk_workqueue_enqueue_barrier has it. */
CSK_API CSK_MUST_USE int csk_workqueue_sync(csk_workqueue_t *queue, csk_rank_t rank, bool barrier, int64_t deadline_ns, void (*function)(void *), void *context);

/* The same for a caller of its own turn: no ESHUTDOWN, no ECANCELED, and EAGAIN only when no worker can be had. */
CSK_API CSK_MUST_USE int csk_workqueue_sync_always(csk_workqueue_t *queue, csk_rank_t rank, bool barrier,
                                                   int64_t deadline_ns, void (*function)(void *), void *context);

/* From now on nothing begins, until as many calls of csk_workqueue_resume have been made as of this one: EPERM for one more. What runs goes on.
 * Up to 65 535 calls: then EAGAIN. Shutdown and release end it: from then on both calls give 0 and do nothing. Never block. */
CSK_API int csk_workqueue_suspend(csk_workqueue_t *queue);
CSK_API int csk_workqueue_resume(csk_workqueue_t *queue);

/* Returns once all that was accepted before the call has ended or was given up: 0; ETIMEDOUT; EDEADLK from inside the queue's own work. */
CSK_API CSK_MUST_USE int csk_workqueue_drain(csk_workqueue_t *queue, int64_t deadline_ns);

/* What waits without a thread. Its memory stays in place until its function is called, which may free it, or until it was given up. */
typedef struct csk_workqueue_wait csk_workqueue_wait_t;
struct csk_workqueue_wait {
    csk_workqueue_wait_t *next, *previous;
    void (*function)(csk_workqueue_wait_t *wait);
    void *context;       /* the caller's, for its function */
    csk_work_t *work;    /* for which there is no room */
    uint64_t remaining;
    int64_t arrivals;
    uint32_t word, epoch;
    int32_t status;      /* what became of it, for its function */
};

/* A drain without waiting: `function` is called with `wait`, by the thread that ends the last of that work, or by this one. It must be short, and
 * may release the queue but not destroy it. */
CSK_API void csk_workqueue_drain_async(csk_workqueue_t *queue, csk_workqueue_wait_t *wait, void (*function)(csk_workqueue_wait_t *), void *context);
/* Gives the wait up: 0: its function is not called any more. ENOENT: it was or will be; the wait's memory must still be there. O(1). */
CSK_API int csk_workqueue_drain_cancel(csk_workqueue_t *queue, csk_workqueue_wait_t *wait);

/* Queues `work` as csk_workqueue_enqueue_ranked and _barrier do, but waits for room without a thread. From anywhere, the queue's own work included,
 * since nobody is blocked. O(1), O(log n) amortized for ranked work.
 * EINPROGRESS: full with CSK_WORKQUEUE_WAIT; those that wait get room in the order in which they came, and then function(wait) is called once, by the
 * thread that makes room or shuts the queue down: with wait->status 0 where `work` was queued, whose function may be called before or meanwhile; with
 * ESHUTDOWN where it was not. It must be short. All else as those functions have it, and `wait` is not used: 0, EINVAL, ESHUTDOWN, EAGAIN, ENOMEM. */
CSK_API CSK_MUST_USE int csk_workqueue_enqueue_when_room(csk_workqueue_t *queue, csk_work_t *work, csk_rank_t rank,
                                                         bool barrier, csk_work_function_t work_function,
                                                         csk_workqueue_wait_t *wait, void (*function)(csk_workqueue_wait_t *),
                                                         void *context);
/* Gives the wait up: 0: its function is not called any more, and its work was not queued. ENOENT: it was or will be called, with either status; the
 * wait's memory must still be there. O(1). */
CSK_API int csk_workqueue_room_cancel(csk_workqueue_t *queue, csk_workqueue_wait_t *wait);

/* Accepts nothing from now on but what is of its own turn: ESHUTDOWN. What was accepted still runs, on a suspended queue too; with `cancel` true what
 * has not begun, and is not of its own turn, is called with ECANCELED, on the calling thread. A second call may cancel what the first one left. */
CSK_API void csk_workqueue_shutdown(csk_workqueue_t *queue, bool cancel);

/* How many wait to begin, and how many run, at some instant during the call: for statistics and tests. */
CSK_API uint32_t csk_workqueue_waiting(csk_workqueue_t *queue);
CSK_API uint32_t csk_workqueue_running(csk_workqueue_t *queue);
/* By how many more wait than the queue's capacity says: callers, work of its own turn, delayed work. 0 without a bound. */
CSK_API uint32_t csk_workqueue_beyond_bound(csk_workqueue_t *queue);

/* What the queue was made with: the priority of work that names no rank; how many that take room may wait to begin, 0 without a bound; and
 * CSK_WORKQUEUE_WAIT, _REFUSE or _DROP_OLDEST. They stay as they are as long as the queue does. Never block; from anywhere. O(1). */
static inline int32_t csk_workqueue_priority(const csk_workqueue_t *queue) { return queue->priority; }
static inline uint32_t csk_workqueue_capacity(const csk_workqueue_t *queue) { return queue->capacity; }
static inline int32_t csk_workqueue_when_full(const csk_workqueue_t *queue) { return queue->when_full; }

/* True from inside the queue's own work, that which is called with an error, and that which its work runs on the same thread included. */
CSK_API bool csk_workqueue_is_current(const csk_workqueue_t *queue);

/* The queue whose work the calling thread runs, the innermost one of several, or NULL; and the name that a queue was made with, or NULL, also for NULL. Never block; may
 * be called from a signal handler, which can so say whose work has crashed. */
CSK_API const csk_workqueue_t *csk_workqueue_current(void);
CSK_API const char *csk_workqueue_name(const csk_workqueue_t *queue);

CSK_END_DECLS

CSK_STATIC_ASSERT(sizeof(csk_work_t) == 56, "csk_work_t is part of the ABI");
CSK_STATIC_ASSERT(sizeof(csk_workqueue_t) == 200, "csk_workqueue_t is part of the ABI");

#endif
