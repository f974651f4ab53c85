/* delayed.h: work that is queued at a time, once or periodically.
 *
 * Zero-filled memory is delayed work that is stopped. No function here may be called from a signal handler. fork: in a
 * child all that the parent started is stopped, whatever was happening to it, and may be started there. A function that
 * forks may return in the child, and is not called again there.
 *
 * Example: keys that expire after 5 ms.
 *
 *     #include <csynckernel/csynckernel.h>
 *     #include <stdio.h>
 *
 *     static csk_gate_t done = CSK_GATE_INITIALIZER;
 *
 *     static void expire_keys(csk_work_t *work, int status) {
 *         (void)work;
 *         if (status == 0) printf("5 ms have passed\n");
 *         csk_gate_unlock(&done);
 *     }
 *
 *     int main(void) {
 *         static csk_workqueue_t queue;
 *         static csk_delayed_t cleanup;
 *
 *         // Held until the function runs.
 *         if (csk_gate_lock(&done, 0) != 0) return 1;
 *         csk_gate_disown(&done);
 *         int64_t deadline = csk_deadline_after(csk_ms(5));
 *         if (csk_delayed_start(&cleanup, &queue, deadline, 0, expire_keys) != 0) return 1;
 *         if (csk_gate_lock(&done, 0) != 0) return 1;
 *         csk_gate_unlock(&done);
 *         return csk_now() < deadline || csk_delayed_cancel(&cleanup) != ENOENT ||
 *                csk_workqueue_drain(&queue, CSK_NEVER) != 0 ||
 *                csk_workqueue_destroy(&queue) != 0;
 *     }
 */
#ifndef CSK_DELAYED_H
#define CSK_DELAYED_H

#include "workqueue.h"

CSK_BEGIN_DECLS

/* The caller owns the memory. `work` is what the function is called with; the other fields belong to the library. */
typedef struct csk_delayed {
    csk_work_t work;
    csk_arrival_t arrival; /* behind the work, as in a csk_counted_work_t */
    csk_timer_t timer;
    csk_workqueue_t *queue;
    csk_work_function_t function;
    csk_rank_t rank;
    int64_t due_ns, period_ns;
    uint32_t state;
} csk_delayed_t;

/* Queues `delayed->work` at `deadline_ns`, and never early. At 0 or less, without a period, it is submitted before the
 * call returns, so that the work stands before later work. With a period the work is queued again at each multiple of
 * the period after the deadline; a tick is skipped while the previous call still runs.
 *
 * Both the queue and the memory stay in place until the last call. csk_workqueue_retain keeps a queue whose owner lets
 * it go before; the work then runs on it all the same. On a queue that waits when full, delayed work takes no room.
 *
 * Work without a period is called once: with 0, or with ECANCELED, ESHUTDOWN or EBUSY where the queue dropped it, was
 * shut down, or was full. Periodic work is called with 0 any number of times. It is not called at a time at which the
 * queue is full or from which it is dropped. It ends with a call with ESHUTDOWN or ECANCELED after the queue's
 * shutdown, or by csk_delayed_cancel.
 *
 * Never blocks. O(1). Returns 0; EINVAL (no function, a negative period, or a rank that the queue refuses); EBUSY (the
 * work is started already); EAGAIN or ENOMEM when no thread can be had. */
CSK_API CSK_MUST_USE int csk_delayed_start(csk_delayed_t *delayed, csk_workqueue_t *queue, int64_t deadline_ns,
                                           int64_t period_ns, csk_work_function_t function);

/* Starts delayed work with a rank, as csk_delayed_start does. */
CSK_API CSK_MUST_USE int csk_delayed_start_ranked(csk_delayed_t *delayed, csk_rank_t rank, csk_workqueue_t *queue,
                                                  int64_t deadline_ns, int64_t period_ns, csk_work_function_t function);

/* Stops delayed work. After 0 its function is not called any more. After EBUSY it is periodic work that runs right now,
 * or that another thread is cancelling; it is called once more, with ECANCELED, after that. After ENOENT it was not
 * started, another thread has stopped it and does not touch it any more, it has begun its only call, or it was called
 * for the last time. It may wait for the timer thread. It is ILLEGAL to cancel while the call that starts the work has
 * not returned on another thread. */
CSK_API int csk_delayed_cancel(csk_delayed_t *delayed);

CSK_END_DECLS

CSK_STATIC_ASSERT(sizeof(csk_delayed_t) == 192, "csk_delayed_t is part of the ABI");

#endif
