/* sem_async.c: asynchronous waiters at a semaphore. */
#include "base/raise.h"
#include "lock/sem_queue.h"

static int place(void *object, csk_waiter_t *waiter, const csk_request_t *request, csk_effects_t *effects) {
    csk_sem_t *sem = object;
    if (CSK_UNLIKELY(csk_sem_notes(sem) != SEM_NOTES_NEVER)) waiter->task = csk_waits_suspended_task();
    return csk_sem_insert(sem, waiter, request->rank, request->wants, effects) ? 0 : EUSERS;
}

static const csk_way_in_t way_in = { &csk_sem_queue_kind, csk_sem_lock_for_waiter, NULL, place, false };

int csk_sem_wait_async(csk_sem_t *sem, csk_rank_t rank, csk_waiter_t *waiter, uint32_t permits, int64_t deadline_ns,
                       csk_waiter_function_t function, void *context) {
    if (!csk_sem_is_request(sem, rank, permits)) return EINVAL;
    csk_request_t request = { function, context, deadline_ns, rank, permits, false };
    return csk_waiter_come(&way_in, sem, waiter, &request);
}

int csk_sem_raise(csk_sem_t *sem, csk_rank_t rank, csk_waiter_t *waiter) {
    if (!csk_is_rank(rank)) return EINVAL;
    csk_effects_t effects = { 0 };
    csk_sem_lock_queue(sem);
    bool waits = csk_waiter_state(waiter) == WAITER_QUEUED;
    if (waits && rank > waiter->node.rank) {
        csk_node_raise(&sem->waiters, &waiter->node, rank);
        csk_sem_settle(sem, &effects); /* the head may be another one, which asks for less */
    }
    csk_queue_unlock(&sem->queue_lock);
    csk_effects_perform(&effects);
    return waits ? 0 : ENOENT;
}

int csk_sem_cancel(csk_sem_t *sem, csk_waiter_t *waiter) { return csk_waiter_cancel(&csk_sem_queue_kind, sem, waiter); }
