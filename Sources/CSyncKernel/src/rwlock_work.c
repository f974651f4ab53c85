/* rwlock_work.c: sections that run by themselves, on workers.
 *
 * A work is an asynchronous waiter whose function posts it to the pool; but where a worker grants a write by leaving the one before,
 * it takes it along, which saves the wake. Not so a write at another lock: the section that runs may be about to wait for that.
 *
 * Writes that nobody gives up join the last waiter of the queue when that is such a write too: the order of arrival is the same, and queueing is
 * a link in a list. The list is the queue lock's until the first of them is granted, which takes it out of the queue; then the worker's. */
#include "internal/pool.h"
#include "internal/rwlock_queue.h"

static _Thread_local struct {
    const csk_rwlock_t *lock;        /* of the work that runs on this worker */
    csk_rwlock_work_t *first, *last; /* writes that were granted on this worker, linked by waiter.next_ready */
    bool keeps;                      /* the lock, for the write that comes next */
} mine __attribute__((tls_model("initial-exec")));

static csk_rwlock_work_t *work_of(csk_pool_item_t *item) { return (csk_rwlock_work_t *)((char *)item - offsetof(csk_rwlock_work_t, item)); }

static void write_granted(csk_gate_waiter_t *waiter, void *context, int status);

/* Each of them keeps the lock alive until it has ended its section. */
static void run_writes(csk_rwlock_work_t *work) {
    csk_rwlock_t *lock = work->waiter.rwlock;
    csk_rwlock_adopt(lock, CSK_RWLOCK_WRITE);
    for (csk_rwlock_work_t *next; work != NULL; work = next) {
        next = work->next;
        mine.keeps = next != NULL;
        work->function(work, work->context, 0);
        /* A function that left the lock for others has lost the place of those behind it. */
        if (next != NULL && !csk_rwlock_is_writing(lock)) csk_rwlock_wrlock(lock);
    }
}

int csk_rwlock_finish_write(csk_rwlock_t *lock) {
    if (!mine.keeps || mine.lock != lock) return csk_rwlock_unlock(lock);
    return csk_rwlock_is_writing(lock) ? 0 : EPERM;
}

/* When the function has returned, work and lock may be gone. */
static void run_one(csk_rwlock_work_t *work) {
    if (work->waiter.function == write_granted) {
        run_writes(work);
        return;
    }
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

static void write_granted(csk_gate_waiter_t *waiter, void *context, int status) { granted(waiter, context, status); }

/* Whether the last waiter is a write that this one can stand behind as one. */
static bool join_last(csk_rwlock_t *lock, csk_rwlock_work_t *work) {
    if (!(csk_load(&lock->state, CSK_RELAXED) & RW_WAITERS)) return false;
    csk_queue_lock(&lock->queue_lock);
    bool joins = lock->last != NULL && lock->last->function == write_granted;
    if (joins) {
        csk_rwlock_work_t *head = (csk_rwlock_work_t *)lock->last;
        head->last->next = work;
        head->last = work;
        head->waiter.bypassed++;
        lock->waiting++;
    }
    csk_queue_unlock(&lock->queue_lock);
    return joins;
}

int csk_rwlock_enqueue_write(csk_rwlock_t *lock, csk_rwlock_work_t *work, csk_rwlock_work_function_t function, void *context) {
    if (function == NULL) return EINVAL;
    int error = csk_pool_prepare();
    if (error != 0) return error;
    work->function = function;
    work->context = context;
    work->item.level = CSK_POOL_NORMAL;
    work->next = NULL;
    work->last = work;
    work->waiter.stays = 1;
    return join_last(lock, work) ? 0 : csk_rwlock_lock_async(lock, &work->waiter, CSK_RWLOCK_WRITE, CSK_NEVER, write_granted, NULL);
}

int csk_rwlock_enqueue(csk_rwlock_t *lock, csk_rwlock_work_t *work, int mode, int64_t deadline_ns, csk_rwlock_work_function_t function,
                       void *context) {
    if (function == NULL) return EINVAL;
    int error = csk_pool_prepare();
    if (error != 0) return error;
    work->function = function;
    work->context = context;
    work->item.level = CSK_POOL_NORMAL;
    work->waiter.stays = 0;
    return csk_rwlock_lock_async(lock, &work->waiter, mode, deadline_ns, granted, NULL);
}
