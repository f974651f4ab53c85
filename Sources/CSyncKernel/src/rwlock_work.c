/* rwlock_work.c: sections that run by themselves, on workers.
 *
 * A work is an asynchronous waiter whose function posts it to the pool; but where a worker grants a write by leaving the one before,
 * it takes it along, which saves the wake. Not so a write at another lock: the section that runs may be about to wait for that. */
#include "internal/pool.h"
#include "internal/rwlock_queue.h"

static _Thread_local struct {
    const csk_rwlock_t *lock;        /* of the work that runs on this worker */
    csk_rwlock_work_t *first, *last; /* writes that were granted on this worker, linked by waiter.next_ready */
} mine __attribute__((tls_model("initial-exec")));

static csk_rwlock_work_t *work_of(csk_pool_item_t *item) { return (csk_rwlock_work_t *)((char *)item - offsetof(csk_rwlock_work_t, item)); }

/* When the function has returned, work and lock may be gone. */
static void run_one(csk_rwlock_work_t *work) {
    int status = csk_rwlock_adopt(work->waiter.rwlock, work->waiter.mode);
    if (status != 0) csk_rwlock_leave(work->waiter.rwlock, RELEASE_READ);
    work->function(work, work->context, status);
}

static void run(csk_pool_item_t *item) {
    csk_rwlock_work_t *work = work_of(item);
    mine.lock = work->waiter.rwlock;
    do {
        run_one(work);
        work = mine.first;
        if (work != NULL) mine.first = (csk_rwlock_work_t *)work->waiter.next_ready;
    } while (work != NULL);
    mine.lock = NULL;
}

static void granted(csk_gate_waiter_t *waiter, void *context, int status) {
    (void)context;
    csk_rwlock_work_t *work = (csk_rwlock_work_t *)waiter;
    if (status != 0) {
        work->function(work, work->context, status);
    } else if (waiter->rwlock != mine.lock || waiter->mode != CSK_RWLOCK_WRITE) {
        /* There is a worker since the work was queued, so this can't fail. */
        csk_pool_post(&work->item, run);
    } else {
        waiter->next_ready = NULL;
        if (mine.first == NULL) mine.first = work;
        else mine.last->waiter.next_ready = waiter;
        mine.last = work;
    }
}

int csk_rwlock_enqueue(csk_rwlock_t *lock, csk_rwlock_work_t *work, int mode, int64_t deadline_ns, csk_rwlock_work_function_t function,
                       void *context) {
    if (function == NULL) return EINVAL;
    int error = csk_pool_prepare();
    if (error != 0) return error;
    work->function = function;
    work->context = context;
    return csk_rwlock_lock_async(lock, &work->waiter, mode, deadline_ns, granted, NULL);
}
