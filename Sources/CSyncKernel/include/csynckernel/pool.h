/* pool.h: worker threads that run short functions, the oldest first.
 *
 * There is one pool in a process. It has as many workers as the process may use processors, at least two, started when they are
 * first needed; when all of them have been busy for 1 ms with work waiting, as they are when their functions block, another one is
 * started, and so on up to CSK_POOL_WORKERS_MAX. Those beyond the first end after 10 s without work. The worker that went to sleep
 * last is woken first, one wake at a time: it wakes the next if there is more to do.
 *
 * Not for signal handlers. A child of fork has no workers until it posts; what was queued at the fork is not run there.
 *
 *     static csk_pool_item_t item;
 *     csk_pool_post(&item, flush_log);        (flush_log(&item) runs on a worker) */
#ifndef CSK_POOL_H
#define CSK_POOL_H

#include "base.h"

CSK_BEGIN_DECLS

enum { CSK_POOL_WORKERS_MAX = 64 };

/* A part of whatever is to be worked on. The caller keeps it in place until its function is called. */
typedef struct csk_pool_item csk_pool_item_t;
typedef void (*csk_pool_function_t)(csk_pool_item_t *item);
struct csk_pool_item {
    csk_pool_item_t *next;
    csk_pool_function_t function;
};

/* Queues `item`; `function` is called once with it, on a worker, which is the time to free it or to post it again. Never blocks, but to
 * start a worker. O(1). 0, EINVAL (no function), or EAGAIN or ENOMEM when no worker runs and none can be started. */
CSK_API int csk_pool_post(csk_pool_item_t *item, csk_pool_function_t function);

/* How many workers there are, and how many items wait, at some instant during the call: for statistics and tests. */
CSK_API uint32_t csk_pool_workers(void);
CSK_API uint64_t csk_pool_queued(void);

CSK_END_DECLS

#endif
