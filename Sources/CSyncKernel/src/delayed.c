/* delayed.c: a timer that queues work.
 *
 *   STOPPED → WAITS       start
 *   WAITS → QUEUED        the timer's thread; periodic work that is not in WAITS then is left out this time
 *   QUEUED → RUNS         its turn, of periodic work
 *   RUNS → WAITS          periodic work has ended
 *   QUEUED, RUNS → LAST   cancelled with a call begun: one more follows
 *   any → STOPPED         before the only call, the last one, or by who cancels
 *
 * Who cancels stops the timer first, which also waits for the timer's thread to be done with this memory. */
#include "csynckernel/delayed.h"

#include "internal/workqueue.h"

enum { STOPPED = 0, WAITS, QUEUED, RUNS, LAST };

static bool change(csk_delayed_t *delayed, uint32_t from, uint32_t to) { return csk_cas(&delayed->state, &from, to, CSK_ACQ_REL); }

static void call_last(csk_delayed_t *delayed, int status) {
    csk_store(&delayed->state, (uint32_t)STOPPED, CSK_RELEASE);
    delayed->function(&delayed->work, status);
}

static void run_periodic(csk_delayed_t *delayed) {
    if (change(delayed, QUEUED, RUNS)) {
        delayed->function(&delayed->work, 0);
        if (change(delayed, RUNS, WAITS)) return;
    }
    call_last(delayed, ECANCELED);
}

static void run(csk_work_t *work, int status) {
    csk_delayed_t *delayed = (csk_delayed_t *)work;
    if (delayed->period_ns == 0) {
        call_last(delayed, status);
    } else if (status == 0) {
        run_periodic(delayed);
    } else {
        csk_store(&delayed->state, (uint32_t)LAST, CSK_RELEASE);
        csk_timer_cancel(&delayed->timer);
        call_last(delayed, status);
    }
}

/* The timer's thread can't wait for room: what had to wait for its time comes in over the bound. */
static int queue_work(csk_workqueue_t *queue, csk_work_t *work, csk_rank_t rank) {
    if (queue->capacity == 0 || queue->when_full != CSK_WORKQUEUE_WAIT) return csk_workqueue_enqueue_ranked(queue, work, rank, run);
    if (csk_load(&queue->state, CSK_RELAXED) & STATE_SHUT) return ESHUTDOWN;
    return csk_workqueue_enqueue_always(queue, work, rank, run);
}

static void time_has_come(csk_timer_t *timer, void *context) {
    csk_delayed_t *delayed = context;
    uint32_t state = csk_load(&delayed->state, CSK_ACQUIRE);
    if (delayed->period_ns != 0 && state != STOPPED && state != LAST) {
        int64_t late_ns = csk_platform_now() - delayed->due_ns;
        delayed->due_ns += (late_ns / delayed->period_ns + 1) * delayed->period_ns;
        csk_timer_start(timer, delayed->due_ns, time_has_come, delayed);
    }
    if (!change(delayed, WAITS, QUEUED)) return;
    int error = queue_work(delayed->queue, &delayed->work, delayed->rank);
    if (error != 0) run(&delayed->work, error);
}

int csk_delayed_start_ranked(csk_delayed_t *delayed, csk_workqueue_t *queue, csk_rank_t rank, int64_t deadline_ns, int64_t period_ns,
                             csk_work_function_t function) {
    if (function == NULL || period_ns < 0) return EINVAL;
    int error = csk_timer_prepare();
    if (error != 0) return error;
    if (!change(delayed, STOPPED, WAITS)) return EBUSY;
    delayed->queue = queue;
    delayed->function = function;
    delayed->rank = rank;
    delayed->due_ns = deadline_ns;
    delayed->period_ns = period_ns;
    if (deadline_ns <= 0 && period_ns == 0) {
        time_has_come(&delayed->timer, delayed);
        return 0;
    }
    return csk_timer_start(&delayed->timer, deadline_ns, time_has_come, delayed);
}

int csk_delayed_start(csk_delayed_t *delayed, csk_workqueue_t *queue, int64_t deadline_ns, int64_t period_ns, csk_work_function_t function) {
    return csk_delayed_start_ranked(delayed, queue, csk_rank(queue->priority, CSK_PLACE_BACK), deadline_ns, period_ns, function);
}

int csk_delayed_cancel(csk_delayed_t *delayed) {
    if (csk_load(&delayed->state, CSK_ACQUIRE) == STOPPED) return ENOENT;
    csk_timer_cancel(&delayed->timer);
    for (;;) {
        uint32_t state = csk_load(&delayed->state, CSK_ACQUIRE);
        if (state == STOPPED || state == LAST) return ENOENT;
        if (state == WAITS) {
            if (change(delayed, WAITS, STOPPED)) return 0;
        } else if (state == QUEUED && csk_workqueue_cancel(delayed->queue, &delayed->work) == 0) {
            csk_store(&delayed->state, (uint32_t)STOPPED, CSK_RELEASE);
            return 0;
        } else if (delayed->period_ns == 0) {
            return ENOENT;
        } else if (change(delayed, state, LAST)) {
            return EBUSY;
        }
    }
}
