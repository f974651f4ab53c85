/* pqueue_async.c: asynchronous waiters in the lines of a blocking priority queue. See pqueue_line.h. */
#include "queue/pqueue_line.h"

static bool take_out(csk_pqueue_t *queue, csk_waiter_t *waiter, int status) {
    csk_effects_t effects = { 0 };
    csk_pqueue_lock(queue);
    bool queued = csk_waiter_state(waiter) == WAITER_QUEUED;
    if (queued) csk_pqueue_end(queue, waiter, status, &effects);
    csk_pqueue_unlock(queue, &effects);
    return queued;
}

static void deadline_passed(csk_timer_t *timer, void *queue) {
    take_out(queue, csk_waiter_of_deadline(timer), ETIMEDOUT);
}

/* Called under the mutex. Nothing is pushed into a closed queue, and only unpromised items are popped. */
static bool is_over(const csk_pqueue_t *queue, int mode) {
    return queue->closed && (mode == PQUEUE_PUSHES || queue->count <= queue->poppers.promised);
}

/* The waiter stands in its line, and is served at once if what it waits for is there. */
static int queue_waiter(csk_pqueue_t *queue, csk_waiter_t *waiter, uint8_t mode, csk_pqueue_item_t *item,
                        int32_t priority, int64_t deadline_ns, csk_waiter_function_t function, void *context) {
    if (function == NULL) return EINVAL;
    int status = deadline_ns == CSK_NEVER ? 0 : csk_timer_prepare();
    if (status != 0) return status;
    csk_effects_t effects = { 0 };
    csk_pqueue_lock(queue);
    if (csk_waiter_is_waiting(waiter)) status = EBUSY;
    else if (is_over(queue, mode)) status = ESHUTDOWN;
    else {
        if (mode == PQUEUE_PUSHES) csk_pqueue_begin_push(queue, item, priority);
        csk_waiter_for_function(waiter, queue, function, context, deadline_ns, false);
        csk_waiter_set(waiter, WAITER_QUEUED);
        waiter->mode = mode;
        waiter->item = item;
        csk_pqueue_stand(queue, csk_pqueue_line_of(queue, waiter), waiter);
        csk_pqueue_serve(queue, &effects);
        if (csk_waiter_state(waiter) == WAITER_QUEUED) {
            csk_waiter_list(waiter, CSK_OBJECT_PQUEUE);
            csk_waiter_start_deadline(waiter, queue, deadline_passed);
        }
    }
    csk_pqueue_unlock(queue, &effects);
    return status;
}

int csk_pqueue_push_async(csk_pqueue_t *queue, int32_t priority, csk_waiter_t *waiter, csk_pqueue_item_t *item,
                          int64_t deadline_ns, csk_waiter_function_t function, void *context) {
    return queue_waiter(queue, waiter, PQUEUE_PUSHES, item, priority, deadline_ns, function, context);
}

int csk_pqueue_pop_async(csk_pqueue_t *queue, csk_waiter_t *waiter, int64_t deadline_ns, csk_waiter_function_t function,
                         void *context) {
    return queue_waiter(queue, waiter, PQUEUE_POPS, NULL, 0, deadline_ns, function, context);
}

int csk_pqueue_cancel(csk_pqueue_t *queue, csk_waiter_t *waiter) {
    return take_out(queue, waiter, ECANCELED) ? 0 : ENOENT;
}
