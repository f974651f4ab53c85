/* sem_async.c: asynchronous waiters at a semaphore. */
#include "base/raise.h"
#include "lock/sem_queue.h"

static bool take_out(csk_sem_t *sem, csk_waiter_t *waiter, int status) {
    return csk_waiter_take_out(&csk_sem_queue_kind, sem, waiter, status);
}

static void deadline_passed(csk_timer_t *timer, void *sem) { take_out(sem, csk_waiter_of_deadline(timer), ETIMEDOUT); }

int csk_sem_wait_async(csk_sem_t *sem, csk_rank_t rank, csk_waiter_t *waiter, uint32_t permits, int64_t deadline_ns,
                       csk_waiter_function_t function, void *context) {
    if (function == NULL || !csk_sem_is_request(sem, rank, permits)) return EINVAL;
    if (deadline_ns != CSK_NEVER) {
        int error = csk_timer_prepare();
        if (error != 0) return error;
    }
    csk_effects_t effects = { 0 };
    csk_sem_lock_queue(sem);
    if (csk_waiter_is_waiting(waiter)) {
        csk_queue_unlock(&sem->queue_lock);
        return EBUSY;
    }
    csk_waiter_for_function(waiter, sem, function, context, deadline_ns, false);
    if (CSK_UNLIKELY(csk_sem_notes(sem) != SEM_NOTES_NEVER)) waiter->task = csk_waits_suspended_task();
    bool has_room = csk_sem_insert(sem, waiter, rank, permits, &effects);
    bool waits = csk_waiter_waits(waiter, sem, CSK_OBJECT_SEM, deadline_passed);
    csk_queue_unlock(&sem->queue_lock);
    csk_waiter_has_queued(waits, sem, rank, &effects);
    return has_room ? 0 : EUSERS;
}

int csk_sem_raise(csk_sem_t *sem, csk_rank_t rank, csk_waiter_t *waiter) {
    rank = csk_rank_in_order(rank);
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

int csk_sem_cancel(csk_sem_t *sem, csk_waiter_t *waiter) { return take_out(sem, waiter, ECANCELED) ? 0 : ENOENT; }
