/* workqueue.h: queues of work that run on the pool's workers: serial ones and concurrent ones with barriers.
 *
 * A queue runs the work that it is given in the order of (rank, arrival), one at a time or as many at once as its width
 * says. Queueing is wait-free on a queue without a bound: one exchange and one store, and nothing allocates. A queue
 * whose work is done costs no thread. Zero-filled memory is a serial queue without a bound.
 *
 * A csk_work_t is a part of whatever is to be worked on. The caller keeps it in place until its function is called;
 * then it may be freed, or queued again. The function is called exactly once for each time that the work was accepted
 * and not cancelled: with 0 to do the work, or with ECANCELED when the work was dropped or the queue was shut down
 * before its turn. After csk_workqueue_cancel has taken the work out, the function is not called.
 *
 * A thread that waits in one of these calls runs nothing that others queued. A queue knows which threads are inside its
 * functions: a call from there that would wait for itself gives EDEADLK.
 *
 * Work and callers *of their own turn* come with CSK_WORK_OWN_TURN. They are neither refused nor dropped, whatever the
 * queue is doing: they take no room of a queue with a bound, full or not, and after a shutdown they still run in order.
 * Callers that can handle such an error do without it.
 *
 * Work that ends its thread (pthread_exit) has ended with it. That is reported, the next work begins, and periodic work
 * goes on; see pool.h. It is ILLEGAL for a function that runs on its caller's thread to end that thread, or to leave by
 * an exception or longjmp, since its section would never end. These are the functions of csk_workqueue_sync, those of
 * waits, and those called with an error. Where the thread may be cancelled inside, disable that.
 *
 * All functions but csk_workqueue_init may be called from the queue's own work too; some say EDEADLK there.
 *
 * Only csk_workqueue_current and csk_workqueue_name may be called from a signal handler.
 *
 * fork. A child may use each queue of the parent without further ado, whatever other threads were doing with it. The
 * queue is empty there. What waited or ran at the fork does so in the parent alone, waiting callers and drains
 * included, and its memory may be used again. The queue keeps its width, bound and priority; it is shut down, released
 * or suspended as it was; its handles count as many as in the parent. A function that forks may return in the child,
 * whose queue knows nothing of it, and so may the function of csk_workqueue_sync.
 *
 * Example: lines that are written in order, by a worker.
 *
 *     #include <csynckernel/csynckernel.h>
 *     #include <stdio.h>
 *     #include <stdlib.h>
 *
 *     typedef struct {
 *         csk_work_t work;
 *         int number;
 *     } line_t;
 *
 *     static csk_workqueue_t log_queue = CSK_WORKQUEUE_INITIALIZER(.name = "log");
 *     static int written;
 *
 *     static void write_line(csk_work_t *work, int status) {
 *         line_t *line = (line_t *)work;
 *         if (status == 0) {
 *             printf("%s: line %d\n", csk_workqueue_name(&log_queue), line->number);
 *             written++;
 *         }
 *         free(line);
 *     }
 *
 *     int main(void) {
 *         for (int number = 1; number <= 3; number++) {
 *             line_t *line = malloc(sizeof *line);
 *             if (line == NULL) return 1;
 *             line->number = number;
 *             if (csk_workqueue_enqueue(&log_queue, &line->work, write_line) != 0)
 *                 free(line);  // refused: still the caller's
 *         }
 *         int status = csk_workqueue_drain(&log_queue, CSK_NEVER);
 *         csk_workqueue_shutdown(&log_queue, false);
 *         return status != 0 || written != 3 || csk_workqueue_destroy(&log_queue) != 0;
 *     }
 *
 * The inbox is the list of waiters of the MCS lock (Mellor-Crummey and Scott, 1991), with functions for waiters. */
#ifndef CSK_WORKQUEUE_H
#define CSK_WORKQUEUE_H

#include "arrivals.h"
#include "heap.h"
#include "pool.h"
#include "timer.h"

CSK_BEGIN_DECLS

typedef struct csk_work csk_work_t;
typedef void (*csk_work_function_t)(csk_work_t *work, int status);

/* A csk_work_t needs no initialization. So nothing detects that it is queued again before its function is called or it
 * is cancelled, which is ILLEGAL. The fields belong to the library. */
struct csk_work {
    csk_heap_node_t node;
    csk_work_function_t function;
    uint32_t kind;
    uint32_t place; /* which of the queue's lists holds it */
};

/* A work with room for its place among those that wait, by arrival. It can be under the queue's bypass limit, which a
 * csk_work_t alone can't be. It needs no initialization either, and its fields belong to the library. */
typedef struct csk_counted_work {
    csk_work_t work;
    csk_arrival_t arrival;
} csk_counted_work_t;

/* What a queue with a bound does with work that finds it full. */
enum {
    CSK_WORKQUEUE_WAIT = 0,       /* the caller waits */
    CSK_WORKQUEUE_REFUSE = 1,     /* the caller gets EBUSY */
    CSK_WORKQUEUE_DROP_OLDEST = 2 /* of the work that takes room, the one that waited longest is called with ECANCELED,
                                      on the caller's thread. This is O(1), but behind a barrier of its own turn it is
                                      O(works like it there) */
};

typedef struct csk_workqueue_attr {
    size_t size;           /* see base.h */
    uint32_t width;        /* how many run at once: 0 and 1 make a serial queue; at most CSK_WORKQUEUE_WIDTH_MAX */
    uint32_t capacity;     /* how many that take room may wait to begin; with 0 there is no bound */
    int32_t when_full;     /* CSK_WORKQUEUE_WAIT, ... */
    int32_t priority;      /* the priority of work that names no rank, and of the queue among others. A queue of 1024 or
                            more comes before the others, one of -1024 or less after them */
    uint32_t bypass_limit; /* a counted work, a caller or a delayed work that this many later arrivals have overtaken
                            goes next. 0: those alone whose rank is CSK_PLACE_UNNAMED, after CSK_BYPASS_UNNAMED.
                            CSK_BYPASS_NEVER: strict priority. A barrier's place is that of its arrival anyway */
    const char *name;      /* shown in reports; NULL for none. csk_workqueue_create copies it, up to
                            CSK_WORKQUEUE_NAME_MAX bytes. csk_workqueue_init does not, so it must last as long as the
                            queue */
} csk_workqueue_attr_t;

enum { CSK_WORKQUEUE_WIDTH_MAX = 4096, CSK_WORKQUEUE_NAME_MAX = 63 };

struct csk_workqueue_wait;

/* The fields belong to the library. They are laid out in cache lines of 64 bytes, for queues at an address that is a
 * multiple of 64. Queues that csk_workqueue_create makes are at such an address. */
typedef struct csk_workqueue {
    /* Each caller changes these. */
    csk_work_t *inbox_last, *inbox_first;
    uint64_t state;
    csk_pool_item_t item;
    uint64_t handles; /* how many handles keep the memory of a queue on the heap */
    struct csk_workqueue_wait *last_room;
    /* All read these, and few change them. */
    uint32_t epoch, width, capacity;
    int32_t priority;
    struct csk_workqueue_wait *drains, *rooms; /* waits for the queue's work, and for room */
    csk_heap_node_t *later_first, *later_last; /* these wait for the barrier */
    const char *name;
    uint32_t urgent; /* something in the inbox comes before what waits with the queue's priority */
    uint8_t when_full;
    uint8_t heap_offset; /* 0, or 1 more than the place inside its memory at which a queue on the heap begins */
    /* Workers change these. */
    uint32_t lock, waiting, running, refusing; /* refusing: how many threads are calling functions with ECANCELED */
    int64_t arrivals;
    csk_heap_node_t *first, *last; /* work of the queue's own priority, by arrival */
    csk_heap_t ranked;             /* work of all other ranks */
    csk_work_t *barrier;           /* it waits for all that came before it */
    uint32_t beyond;               /* how many of those that wait take no room */
    uint8_t exclusive, suspended;
    uint8_t refuses;       /* what is still in the inbox came after the shutdown */
    uint8_t round;         /* of those that sort a long inbox: odd while one goes on */
    csk_work_t *late;      /* such work, until its caller takes it back */
    csk_arrival_t *oldest; /* of those that wait under the bypass limit */
    uint32_t oldest_passed, bypass_limit;
} csk_workqueue_t;

/* Makes a static queue with the attributes that are its arguments, as csk_workqueue_init makes it:
 *
 *     static csk_workqueue_t queue = CSK_WORKQUEUE_INITIALIZER(.width = 4, .priority = 7);
 *
 * Without arguments it makes a serial queue; in C++ it takes none. It checks nothing: what csk_workqueue_init refuses
 * is ILLEGAL. */
#ifdef __cplusplus
#define CSK_WORKQUEUE_INITIALIZER() \
    {}
#else
#define CSK_WORKQUEUE_INITIALIZER(...) \
    { .inbox_last = NULL, __VA_ARGS__ }
#endif

/* Makes a queue with the attributes of `attr`, where zero-filled memory won't do. NULL stands for the defaults. Returns
 * 0, or EINVAL for a value that isn't named above. A queue that drops its oldest needs a capacity. Never blocks. */
CSK_API int csk_workqueue_init(csk_workqueue_t *queue, const csk_workqueue_attr_t *attr);

/* Ends the use of the queue's memory. Returns 0; EBUSY while work waits, runs or is waited for; EDEADLK from inside the
 * queue's own work. It may wait for a worker that is just leaving the queue, or that was asked for and has yet to come:
 * where all workers that the pool may have wait for the caller, it never returns. It does not wait for threads inside
 * other calls, those that queue work included: they must have returned. */
CSK_API CSK_MUST_USE int csk_workqueue_destroy(csk_workqueue_t *queue);

/* Makes a queue on the heap, for owners that don't want to wait for its work. Returns 0, EINVAL or ENOMEM. */
CSK_API CSK_MUST_USE int csk_workqueue_create(csk_workqueue_t **queue, const csk_workqueue_attr_t *attr);

/* Gives up a queue that csk_workqueue_create made. What the queue has accepted still runs, on a suspended queue too,
 * which from then on can't be suspended; then its memory goes. It may be called from anywhere, the queue's own work
 * included, and once for each queue. But a thread that is queueing work needs the queue until that call has returned,
 * and a later caller has to retain it. Blocks as csk_workqueue_resume does. */
CSK_API void csk_workqueue_release(csk_workqueue_t *queue);

/* These keep the memory of a queue that csk_workqueue_create made beyond its release, for later callers: delayed work,
 * timers, waiters. There may be as many as there is memory for, with one unretain for each. They change nothing else,
 * and nothing at all for a queue that csk_workqueue_create did not make. Never block. O(1). */
CSK_API void csk_workqueue_retain(csk_workqueue_t *queue);
CSK_API void csk_workqueue_unretain(csk_workqueue_t *queue);

/* What a work is, added together in `flags`; 0 for a plain one.
 *
 * BARRIER: it begins when all that was accepted before it has ended, and it runs alone: work accepted later waits for
 * it, whatever its rank. On a serial queue too, where all work runs alone. Its own rank does not matter.
 *
 * OWN_TURN: it is of its own turn, as the jobs of an executor are. It is accepted on a full queue and after the
 * shutdown, in order, and always called with 0. Only csk_workqueue_cancel takes it out.
 *
 * COUNTED: it is the first member of a csk_counted_work_t, and under the queue's bypass limit. Once so many later
 * arrivals have begun before it, it goes next, unless the first in order came before it. With CSK_PLACE_UNNAMED the
 * rank is that of an unnamed plain priority. Where more than CSK_ARRIVALS_STEPS counted works wait, a pass by an
 * uncounted one may also be counted for some that came after it. So the limit is never exceeded, but some works may be
 * overtaken less often. */
#define CSK_WORK_BARRIER 1u
#define CSK_WORK_COUNTED 2u
#define CSK_WORK_OWN_TURN 4u

/* Queues `work` with a rank; csk_rank(priority, CSK_PLACE_BACK) makes one of a plain priority. Higher ranks begin
 * first, equal ones by arrival. It is wait-free without a bound. On a full queue with CSK_WORKQUEUE_WAIT it blocks
 * until there is room, or until `deadline_ns`. It may be called from anywhere, the queue's own work included. O(1), and
 * O(log n) amortized with another rank than the queue's own.
 *
 * Returns 0; EINVAL (no function, unknown flags, a rank that csk_rank does not give, or another rank on a queue that
 * drops its oldest, which knows one priority only; the rank of a barrier is not looked at); ESHUTDOWN; EBUSY (the queue
 * is full); EAGAIN or ENOMEM (no worker can be had); ETIMEDOUT; or EDEADLK (the queue is full, and the caller is inside
 * the queue's own work, which room waits for). After an error the work was not queued, and its function is not called.
 * With CSK_WORK_OWN_TURN there is no ESHUTDOWN, EBUSY, ETIMEDOUT or EDEADLK. */
CSK_API CSK_MUST_USE int csk_workqueue_submit(csk_workqueue_t *queue, csk_rank_t rank, csk_work_t *work, uint32_t flags,
                                              int64_t deadline_ns, csk_work_function_t function);

/* The rank of work that names none: of the queue's own priority. Never blocks. */
static inline csk_rank_t csk_workqueue_rank(const csk_workqueue_t *queue) {
    return csk_rank(queue->priority, CSK_PLACE_BACK);
}

/* Queues plain work with the queue's own priority, as csk_workqueue_submit does. On a full queue with
 * CSK_WORKQUEUE_WAIT it waits for room however long that takes. O(1). */
CSK_API CSK_MUST_USE int csk_workqueue_enqueue(csk_workqueue_t *queue, csk_work_t *work, csk_work_function_t function);

/* Takes work out that has not begun. After 0 its function is not called for it any more. After ENOENT the work has
 * begun, was called already, or was never queued and is zero-filled. The work's memory must still be there. O(1), and
 * O(log n) for ranked work; where the work is not sorted yet, as csk_workqueue_waiting. */
CSK_API int csk_workqueue_cancel(csk_workqueue_t *queue, csk_work_t *work);

/* Gives work that has not begun a higher rank: among those of that rank it stands where it arrived. A rank that is not
 * higher changes nothing, nor does any for a barrier. Returns 0; ENOENT as csk_workqueue_cancel does, and for work that
 * waits for room; or EINVAL for a rank that csk_rank does not give, or one of CSK_PLACE_UNNAMED, and on a queue that
 * drops its oldest, which knows one priority only. The work's memory must still be there. O(log n); where the work is
 * not sorted yet, as csk_workqueue_waiting. */
CSK_API int csk_workqueue_raise(csk_workqueue_t *queue, csk_rank_t rank, csk_work_t *work);

/* Calls function(context) on the calling thread when it is its turn, and returns after it. Without earlier work that is
 * at once. Else the workers run the earlier work, and the caller runs only its own function. It blocks until
 * `deadline_ns` at most. `flags`: CSK_WORK_BARRIER and CSK_WORK_OWN_TURN, as of work. With CSK_WORKQUEUE_WAIT the
 * caller waits for room first, as work does; with CSK_WORKQUEUE_DROP_OLDEST it comes in. Returns 0; EINVAL as
 * csk_workqueue_submit does, and for the rank of a barrier too; EDEADLK from inside the queue's own work; EAGAIN or
 * ENOMEM when no worker can be had; EBUSY on a full queue with CSK_WORKQUEUE_REFUSE; ETIMEDOUT; ESHUTDOWN; or ECANCELED
 * (the caller was dropped, or the queue was shut down before its turn). With CSK_WORK_OWN_TURN there is no ESHUTDOWN,
 * ECANCELED or EBUSY. After an error the function was not called. */
CSK_API CSK_MUST_USE int csk_workqueue_sync(csk_workqueue_t *queue, csk_rank_t rank, uint32_t flags,
                                            int64_t deadline_ns, void (*function)(void *), void *context);

/* After csk_workqueue_suspend nothing begins until as many calls of csk_workqueue_resume have been made as of
 * csk_workqueue_suspend; a resume beyond that gets EPERM. What runs goes on. Up to 65 535 calls suspend; a further one
 * gets EAGAIN. Shutdown and release end the suspension: from then on both calls give 0 and do nothing. They take short
 * locks. A queue that is suspended while callbacks are listed (csk_inspect_callbacks) is listed too, and then the call
 * that ends the suspension waits for a view that reads the queue just then: some microseconds, milliseconds at most. */
CSK_API int csk_workqueue_suspend(csk_workqueue_t *queue);
CSK_API int csk_workqueue_resume(csk_workqueue_t *queue);

/* Waits until all that was accepted before the call has ended or was given up. Returns 0; ETIMEDOUT; or EDEADLK from
 * inside the queue's own work. */
CSK_API CSK_MUST_USE int csk_workqueue_drain(csk_workqueue_t *queue, int64_t deadline_ns);

/* A wait without a thread. It belongs to the caller. Its memory stays in place until its function is called, which may
 * free it, or until it was given up. */
typedef struct csk_workqueue_wait csk_workqueue_wait_t;
struct csk_workqueue_wait {
    csk_workqueue_wait_t *next, *previous;
    void (*function)(csk_workqueue_wait_t *wait);
    void *context;    /* the caller's, for its function */
    csk_work_t *work; /* the work for which there is no room */
    uint64_t remaining;
    int64_t arrivals;
    uint32_t word, epoch;
    int32_t status;      /* what became of it, for its function */
    int32_t given_up_as; /* the caller's, once the wait has begun and before it gives it up: as what that counts in the
                            metrics, ETIMEDOUT for example. 0 stands for ECANCELED */
    /* How the wait is counted; 0 where waits are not reported. */
    uint32_t counting, stack, name_number;
    int64_t since_ns;
    uint64_t task; /* the task that waits, where callbacks are listed (csk_deadlock_suspend); else 0 */
    void *counts;
};

/* A drain without waiting. `function` is called with `wait` by the thread that ends the last of that work, or by the
 * calling one. It must be short, and may release the queue but not destroy it. Functions of waits don't nest: one that
 * is due while the thread is in another is called once that has returned. */
CSK_API void csk_workqueue_drain_async(csk_workqueue_t *queue, csk_workqueue_wait_t *wait,
                                       void (*function)(csk_workqueue_wait_t *), void *context);

/* Queues `work` as csk_workqueue_submit does, but waits for room without a thread. It may be called from anywhere, the
 * queue's own work included, since it does not block. O(1), and O(log n) amortized with another rank than the queue's
 * own. On a full queue with CSK_WORKQUEUE_WAIT it returns EINPROGRESS. Waits get room in the order of their arrival.
 * Then function(wait) is called once, by the thread that makes room or shuts the queue down, and it must be short.
 * wait->status is 0 where `work` was queued, whose function may be called before or meanwhile, and ESHUTDOWN where it
 * was not. All else is as csk_workqueue_submit has it, and `wait` is not in use: 0, EINVAL, ESHUTDOWN, EBUSY,
 * EAGAIN, ENOMEM. */
CSK_API CSK_MUST_USE int csk_workqueue_submit_when_room(csk_workqueue_t *queue, csk_rank_t rank, csk_work_t *work,
                                                        uint32_t flags, csk_work_function_t work_function,
                                                        csk_workqueue_wait_t *wait,
                                                        void (*function)(csk_workqueue_wait_t *), void *context);

/* Gives a drain or a wait for room up, which the metrics count as wait->given_up_as says. After 0 its function is not
 * called any more, and its work was not queued. After ENOENT the function was or will be called, with either status.
 * The wait's memory must still be there. O(1). */
CSK_API int csk_workqueue_wait_cancel(csk_workqueue_t *queue, csk_workqueue_wait_t *wait);

/* Has the queue accept nothing from now on but what is of its own turn; anything else gets ESHUTDOWN. What was accepted
 * still runs, on a suspended queue too. With `cancel` true, what has not begun and is not of its own turn is called
 * with ECANCELED, on the calling thread. A second call may cancel what the first one left. The lock is held for as many
 * steps as works are taken out, and then for as many as there are drains, 64 works at a time. */
CSK_API void csk_workqueue_shutdown(csk_workqueue_t *queue, bool cancel);

/* How many wait to begin, and how many run, at some instant during the call, for statistics and tests. Of what comes
 * during the call some may not be counted. If work is not sorted yet, this call sorts it: O(n), and the lock is
 * released after each 128. */
CSK_API uint32_t csk_workqueue_waiting(csk_workqueue_t *queue);
CSK_API uint32_t csk_workqueue_running(csk_workqueue_t *queue);
/* How many more wait than the queue's capacity says: callers, work of its own turn, delayed work. It is 0 without a
 * bound. */
CSK_API uint32_t csk_workqueue_beyond_bound(csk_workqueue_t *queue);

/* What the queue was made with: the priority of work that names no rank; how many that take room may wait to begin, 0
 * without a bound; and CSK_WORKQUEUE_WAIT, _REFUSE or _DROP_OLDEST. They stay as they are as long as the queue does.
 * They never block, and may be called from anywhere. O(1). */
static inline int32_t csk_workqueue_priority(const csk_workqueue_t *queue) { return queue->priority; }
static inline uint32_t csk_workqueue_capacity(const csk_workqueue_t *queue) { return queue->capacity; }
static inline int32_t csk_workqueue_when_full(const csk_workqueue_t *queue) { return queue->when_full; }

/* Returns true inside the queue's own work. That includes work that is called with an error, and what the queue's work
 * runs on the same thread. */
CSK_API bool csk_workqueue_is_current(const csk_workqueue_t *queue);

/* csk_workqueue_current gives the queue whose work the calling thread runs, the innermost one of several, or NULL.
 * csk_workqueue_name gives the name that a queue was made with, or NULL for a queue without one and for NULL. They
 * never block. They may be called from a signal handler, which can thus say whose work has crashed. */
CSK_API const csk_workqueue_t *csk_workqueue_current(void);
CSK_API const char *csk_workqueue_name(const csk_workqueue_t *queue);

CSK_END_DECLS

CSK_STATIC_ASSERT(sizeof(csk_work_t) == 56, "csk_work_t is part of the ABI");
CSK_STATIC_ASSERT(sizeof(csk_counted_work_t) == 80, "csk_counted_work_t is part of the ABI");
CSK_STATIC_ASSERT(sizeof(csk_workqueue_t) == 216, "csk_workqueue_t is part of the ABI");
CSK_STATIC_ASSERT(sizeof(csk_workqueue_attr_t) == 40, "csk_workqueue_attr_t is part of the ABI");
CSK_STATIC_ASSERT(sizeof(csk_workqueue_wait_t) == 112, "csk_workqueue_wait_t is part of the ABI");

#endif
