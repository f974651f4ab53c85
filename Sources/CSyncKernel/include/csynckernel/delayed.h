/* delayed.h: work that is queued at a time, once or periodically.
 *
 * Zero-filled memory is delayed work that is stopped. Not for signal handlers. fork: in a child all that the parent started is stopped, whatever
 * was happening to it, and may be started there; a function that forks may return in the child, and is not called again there.
 *
 *     csk_delayed_start(&cleanup, &queue, csk_deadline_after(1000000000), 0, expire_keys);     (expire_keys(&cleanup.work, 0) a second later) */
#ifndef CSK_DELAYED_H
#define CSK_DELAYED_H

#include "workqueue.h"

CSK_BEGIN_DECLS

typedef struct csk_delayed {
    csk_work_t work;
    csk_timer_t timer;
    csk_workqueue_t *queue;
    csk_work_function_t function;
    csk_rank_t rank;
    int64_t due_ns, period_ns;
    uint32_t state;
} csk_delayed_t;

/* Queues `delayed->work` at `deadline_ns`, never early; at 0 or less, without a period, before the call returns, so that it stands before what is
 * queued afterwards; with a period again at each multiple of it after that: a tick is skipped while the previous call
 * still runs. Both the queue and the memory stay in place until the last call:
 * csk_workqueue_retain keeps a queue whose owner lets it go before, on which the work then runs all the same.
 * Work without a period is called once: with 0, or with ECANCELED, ESHUTDOWN or EAGAIN where the queue dropped it, was shut down or full. Periodic
 * work is called with 0 any number of times, not at a time at which the queue is full or from which it is dropped; it ends with a call with ESHUTDOWN or
 * ECANCELED after the queue's shutdown, or by csk_delayed_cancel. On a queue that waits when full it takes no room. Never blocks.
 * 0; EINVAL (no function, a negative period, a rank that the queue refuses); EBUSY (it is started already); EAGAIN or ENOMEM when no thread can be had. O(1). */
CSK_API CSK_MUST_USE int csk_delayed_start(csk_delayed_t *delayed, csk_workqueue_t *queue, int64_t deadline_ns,
                                           int64_t period_ns, csk_work_function_t function);

/* The same with a rank. */
CSK_API CSK_MUST_USE int csk_delayed_start_ranked(csk_delayed_t *delayed, csk_workqueue_t *queue, csk_rank_t rank,
                                                  int64_t deadline_ns, int64_t period_ns, csk_work_function_t function);

/* 0: its function is not called any more. EBUSY: periodic work that runs right now, or that another thread is cancelling; it is called once more, with
 * ECANCELED, after that. ENOENT: it was not started, has begun its only call, or was called for the last time. May wait for the timer thread. It is ILLEGAL
 * while the call that starts it has not returned on another thread. */
CSK_API int csk_delayed_cancel(csk_delayed_t *delayed);

CSK_END_DECLS

#endif
