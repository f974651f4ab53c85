/* delayed.c: a timer that queues work.
 *
 *   STOPPED → WAITS       The work is started.
 *   WAITS → QUEUED        The timer's thread queues it. Periodic work that is not in WAITS then is left out once.
 *   QUEUED → RUNS         Periodic work has its turn.
 *   RUNS → WAITS          Periodic work has ended.
 *   QUEUED → WAITS        The queue had no room for periodic work, or has dropped it.
 *   QUEUED, RUNS → LAST   The work is cancelled with a call begun, or while another thread cancels it: one more call
 *                         follows.
 *   any → STOPPED         It is stopped before the only call or the last one, or a thread that cancels stops it.
 *
 * A thread that cancels stops the timer first. That also waits until the timer's thread is done with this memory.
 *
 * The epoch of the process that wrote the state stands above it in the same word. In a child of fork, work that the
 * parent started is stopped. */
#include "csynckernel/delayed.h"

#include "queue/workqueue.h"

enum { STOPPED = 0, WAITS, QUEUED, RUNS, LAST, STATE_BITS = 3 };

static uint32_t word_of(uint32_t state) { return csk_pool_epoch() << STATE_BITS | state; }
static uint32_t state_of(uint32_t word) { return (word ^ word_of(0)) >> STATE_BITS == 0 ? word ^ word_of(0) : STOPPED; }
static uint32_t look(const csk_delayed_t *delayed) { return state_of(csk_load(&delayed->state, CSK_ACQUIRE)); }

static void set(csk_delayed_t *delayed, uint32_t state) { csk_store(&delayed->state, word_of(state), CSK_RELEASE); }
static bool change(csk_delayed_t *delayed, uint32_t from, uint32_t to) {
    uint32_t word = csk_load(&delayed->state, CSK_RELAXED);
    return state_of(word) == from && csk_cas(&delayed->state, &word, word_of(to), CSK_ACQ_REL);
}

static void call_last(csk_delayed_t *delayed, int status) {
    csk_work_function_t function = delayed->function; /* once it is STOPPED it may be started anew */
    set(delayed, STOPPED);
    function(&delayed->work, status);
}

static void end_period(void *context) {
    csk_delayed_t *delayed = context;
    if (!change(delayed, RUNS, WAITS)) call_last(delayed, ECANCELED);
}

static void run_periodic(csk_delayed_t *delayed) {
    if (!change(delayed, QUEUED, RUNS)) {
        call_last(delayed, ECANCELED);
        return;
    }
    uint32_t epoch = csk_pool_epoch();
    csk_pool_frame_t *frame = csk_pool_frame;
    frame->end_work = end_period;
    frame->context = delayed;
    delayed->function(&delayed->work, 0);
    frame->end_work = NULL;
    if (CSK_LIKELY(csk_pool_epoch() == epoch)) end_period(delayed);
}

/* The queue is open, and it was full or has dropped the work. */
static bool lacks_room(const csk_delayed_t *delayed, int status) {
    return status == EBUSY || (status == ECANCELED && !(csk_load(&delayed->queue->state, CSK_RELAXED) & STATE_SHUT));
}

static void run(csk_work_t *work, int status) {
    csk_delayed_t *delayed = (csk_delayed_t *)work;
    if (delayed->period_ns == 0) {
        call_last(delayed, status);
    } else if (status == 0) {
        run_periodic(delayed);
    } else if (!lacks_room(delayed, status) || !change(delayed, QUEUED, WAITS)) {
        set(delayed, LAST);
        csk_timer_cancel(&delayed->timer);
        call_last(delayed, status);
    }
}

/* A call without a turn counts as the queue's own work too: from there the queue can be neither destroyed nor waited
 * for. Returns false in a child that was forked meanwhile. */
static bool call_inside(csk_workqueue_t *queue, csk_work_t *work, int status) {
    csk_section_t section = { .queue = queue, .epoch = csk_pool_epoch() };
    csk_section_enter(&section);
    run(work, status);
    csk_section_leave(&section);
    return !csk_section_is_over(&section);
}

/* The timer's thread can't wait for room. So work that had to wait for its time takes no room. */
static int queue_work(csk_workqueue_t *queue, csk_delayed_t *delayed) {
    uint32_t beyond = queue->when_full == CSK_WORKQUEUE_WAIT ? WORK_BEYOND : 0;
    return csk_workqueue_submit_with_flags(queue, delayed->rank, &delayed->work, WORK_COUNTED | beyond, CSK_NEVER, run);
}

/* The first multiple of the period after `due_ns` that has not come yet. */
static int64_t next_due(int64_t due_ns, int64_t period_ns) {
    int64_t missed = (csk_platform_now() - due_ns) / period_ns, last_ns = due_ns + missed * period_ns;
    return last_ns > CSK_NEVER - period_ns ? CSK_NEVER : last_ns + period_ns;
}

static void time_has_come(csk_timer_t *timer, void *context) {
    csk_delayed_t *delayed = context;
    uint32_t state = look(delayed);
    if (delayed->period_ns != 0 && state != STOPPED && state != LAST) {
        delayed->due_ns = next_due(delayed->due_ns, delayed->period_ns);
        csk_cannot_fail(csk_timer_start(timer, delayed->due_ns, time_has_come, delayed));
    }
    if (!change(delayed, WAITS, QUEUED)) return;
    /* The queue may be destroyed as soon as the function was called. It belongs to this process: csk_delayed_start made
     * sure of that. */
    csk_workqueue_t *queue = delayed->queue;
    csk_workqueue_pin(queue);
    int error = queue_work(queue, delayed);
    if (error == 0 || call_inside(queue, &delayed->work, error)) csk_workqueue_unpin(queue);
}

int csk_delayed_start_ranked(csk_delayed_t *delayed, csk_rank_t rank, csk_workqueue_t *queue, int64_t deadline_ns,
                             int64_t period_ns, csk_work_function_t function) {
    if (function == NULL || period_ns < 0 || !csk_is_rank_or_unnamed(rank)) return EINVAL;
    if (queue->when_full == CSK_WORKQUEUE_DROP_OLDEST && csk_rank_in_order(rank) != csk_workqueue_rank(queue))
        return EINVAL;
    int error = csk_timer_prepare();
    if (error == 0) error = csk_workqueue_ready(queue);
    if (error != 0) return error;
    if (!change(delayed, STOPPED, WAITS)) return EBUSY;
    delayed->queue = queue;
    delayed->function = function;
    delayed->rank = rank;
    delayed->due_ns = deadline_ns > 0 ? deadline_ns : 0; /* a deadline before the clock's beginning means now */
    delayed->period_ns = period_ns;
    if (deadline_ns <= 0 && period_ns == 0) {
        time_has_come(&delayed->timer, delayed);
        return 0;
    }
    error = csk_timer_start(&delayed->timer, deadline_ns, time_has_come, delayed);
    if (error != 0) set(delayed, STOPPED);
    return error;
}

int csk_delayed_start(csk_delayed_t *delayed, csk_workqueue_t *queue, int64_t deadline_ns, int64_t period_ns,
                      csk_work_function_t function) {
    return csk_delayed_start_ranked(delayed, csk_workqueue_rank(queue), queue, deadline_ns, period_ns, function);
}

int csk_delayed_cancel(csk_delayed_t *delayed) {
    if (look(delayed) == STOPPED) return ENOENT;
    csk_timer_cancel(&delayed->timer);
    for (;;) {
        uint32_t state = look(delayed);
        if (state == STOPPED || state == LAST) return ENOENT;
        if (state == WAITS) {
            if (change(delayed, WAITS, STOPPED)) return 0;
        } else if (state == QUEUED && csk_workqueue_cancel(delayed->queue, &delayed->work) == 0) {
            if (change(delayed, QUEUED, STOPPED)) return 0;
            /* Another thread has cancelled it meanwhile, and was promised one more call. */
            call_inside(delayed->queue, &delayed->work, ECANCELED);
            return ENOENT;
        } else if (delayed->period_ns == 0) {
            return ENOENT;
        } else if (change(delayed, state, LAST)) {
            return EBUSY;
        }
    }
}
