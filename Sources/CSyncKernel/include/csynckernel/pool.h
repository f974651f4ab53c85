/* pool.h: worker threads that run short functions, the oldest first.
 *
 * There is one pool in a process. It has as many workers as the process may use processors, at least two, started when they are
 * first needed. When for 1 ms no worker has come for work that waits, the pool asks the system which of them sleep inside their functions,
 * and starts others in their place, at most CSK_POOL_THREADS_MAX in all; where all of them run, one more every millisecond, up to
 * CSK_POOL_WORKERS_MAX. Those beyond the first end after 10 s without work. The worker that went to sleep last is woken first, one
 * wake at a time: it wakes the next if there is more to do.
 *
 * Urgent items come before normal ones, and those before background ones; but one item in 64 is taken from the lowest level that waits.
 *
 * A function that ends its thread (pthread_exit, or a cancellation point where somebody has cancelled the worker) ends what it was part of: that is reported
 * (CSK_EVENT_THREAD_ENDED_BY_WORK in observe.h), and another worker takes the thread's place. A C++ exception that escapes from a function ends the
 * program by std::terminate, as with std::thread.
 *
 * Not for signal handlers. A child of fork has no workers until it posts; what was queued at the fork is not run there.
 *
 *     static csk_pool_item_t item;
 *     csk_pool_post(&item, flush_log);        (flush_log(&item) runs on a worker) */
#ifndef CSK_POOL_H
#define CSK_POOL_H

#include "base.h"

CSK_BEGIN_DECLS

enum {
    CSK_POOL_WORKERS_MAX = 64,   /* besides those that block */
    CSK_POOL_THREADS_MAX = 2048  /* with those */
};

/* What comes first when several items wait. */
enum { CSK_POOL_NORMAL = 0, CSK_POOL_URGENT = 1, CSK_POOL_BACKGROUND = 2, CSK_POOL_LEVELS = 3 };

/* A part of whatever is to be worked on. The caller keeps it in place until its function is called. */
typedef struct csk_pool_item csk_pool_item_t;
typedef void (*csk_pool_function_t)(csk_pool_item_t *item);
struct csk_pool_item {
    csk_pool_item_t *next;
    csk_pool_function_t function;
    uint32_t level; /* CSK_POOL_NORMAL, ... */
};

/* Queues `item` at its level; `function` is called once with it, on a worker, which is the time to free it or to post it again. Never blocks, but to
 * start a worker. O(1). 0, EINVAL (no function, a level that isn't named above), or EAGAIN or ENOMEM when no worker runs and none can be started. */
CSK_API int csk_pool_post(csk_pool_item_t *item, csk_pool_function_t function);

/* How many workers there are, and how many items wait, at some instant during the call: for statistics and tests. */
CSK_API uint32_t csk_pool_workers(void);
CSK_API uint64_t csk_pool_queued(void);

CSK_END_DECLS

#endif
