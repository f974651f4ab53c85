/* pqueue_async.c: asynchronous waiters in the lines of a blocking priority queue. See pqueue_line.h. */
#include "queue/pqueue_line.h"

static uint32_t *lock_queue(void *queue) {
    csk_pqueue_lock(queue);
    return NULL;
}
static void unlock_queue(void *queue) { pthread_mutex_unlock(&((csk_pqueue_t *)queue)->mutex); }
static void remove_waiter(void *queue, csk_waiter_t *waiter) {
    csk_pqueue_leave(queue, csk_pqueue_line_of(queue, waiter), waiter);
}
/* One that leaves had no promise, so no other is served by that. */
static bool settle(void *queue, csk_effects_t *effects) { return (void)queue, (void)effects, false; }

static const csk_queue_kind_t kind = { lock_queue, remove_waiter, settle, NULL, CSK_OBJECT_PQUEUE, unlock_queue };

typedef struct {
    csk_request_t request; /* the first: csk_waiter_come gives it back */
    csk_pqueue_item_t *item;
    int32_t priority;
} request_t;

/* Nothing is pushed into a closed queue, and only unpromised items are popped. */
static int refusal(void *object, const csk_waiter_t *waiter, csk_request_t *request) {
    const csk_pqueue_t *queue = object;
    bool pushes = request->wants == PQUEUE_PUSHES;
    if (csk_waiter_is_waiting(waiter)) return EBUSY;
    return queue->closed && (pushes || queue->count <= queue->poppers.promised) ? ESHUTDOWN : 0;
}

/* The waiter stands in its line, and is served at once if what it waits for is there. */
static int place(void *queue, csk_waiter_t *waiter, const csk_request_t *wanted, csk_effects_t *effects) {
    const request_t *request = (const request_t *)wanted;
    if (wanted->wants == PQUEUE_PUSHES) csk_pqueue_begin_push(queue, request->item, request->priority);
    csk_waiter_set(waiter, WAITER_QUEUED);
    waiter->mode = (uint8_t)wanted->wants;
    waiter->item = request->item;
    csk_pqueue_stand(queue, csk_pqueue_line_of(queue, waiter), waiter);
    csk_pqueue_serve(queue, effects);
    return 0;
}

static const csk_way_in_t way_in = { &kind, lock_queue, refusal, place, .is_only_listed = true };

int csk_pqueue_push_async(csk_pqueue_t *queue, int32_t priority, csk_waiter_t *waiter, csk_pqueue_item_t *item,
                          int64_t deadline_ns, csk_waiter_function_t function, void *context) {
    request_t request = { { function, context, deadline_ns, 0, PQUEUE_PUSHES, false }, item, priority };
    return csk_waiter_come(&way_in, queue, waiter, &request.request);
}

int csk_pqueue_pop_async(csk_pqueue_t *queue, csk_waiter_t *waiter, int64_t deadline_ns, csk_waiter_function_t function,
                         void *context) {
    request_t request = { { function, context, deadline_ns, 0, PQUEUE_POPS, false }, NULL, 0 };
    return csk_waiter_come(&way_in, queue, waiter, &request.request);
}

int csk_pqueue_cancel(csk_pqueue_t *queue, csk_waiter_t *waiter) { return csk_waiter_cancel(&kind, queue, waiter); }
