/* rwlock_work.c: enqueued sections, which run on workers.
 *
 * A work is an asynchronous waiter whose function posts it to the pool. There is one exception: where a worker grants a
 * write by leaving the section before, the worker runs that write next itself, which saves the wake. It does not do so
 * with a write at another lock: the section that runs may be about to wait for that.
 *
 * Writes that can't be cancelled stand in the queue as a batch. A write that comes when the last waiter is a batch
 * joins it. That keeps the order of arrival, and costs one link in a list. The queue lock protects the list until the
 * batch is granted, which takes it out of the queue. Then the list belongs to the worker. */
#include <stdlib.h>

#include "pool/pool.h"
#include "readwrite/rwlock_queue.h"

typedef struct {
    csk_rwlock_work_t work;
    csk_rwlock_write_t *first, *last;
} batch_t;

static _Thread_local struct {
    const csk_rwlock_t *lock;        /* the lock of the work that runs on this worker */
    csk_rwlock_work_t *first, *last; /* writes that were granted on this worker, linked by waiter.next_ready */
    batch_t *batch;                  /* the batch that runs; its `first` is the write that comes next */
    bool kept;                       /* the write that runs has ended its section, and the worker has kept the lock */
    uint32_t epoch;                  /* the epoch of the process that all this is true of */
} mine __attribute__((tls_model("initial-exec")));

static csk_rwlock_work_t *work_of(csk_pool_item_t *item) {
    return (csk_rwlock_work_t *)((char *)item - offsetof(csk_rwlock_work_t, item));
}

static void batch_granted(csk_waiter_t *waiter, void *context, int status);

/* Each write of the batch keeps the lock alive until it has ended its section. */
static void run_batch(batch_t *batch) {
    csk_rwlock_t *lock = batch->work.waiter.rwlock;
    int status = csk_rwlock_adopt(lock, CSK_RWLOCK_WRITE);
    uint32_t epoch = csk_process_epoch();
    mine.batch = batch;
    do {
        csk_rwlock_write_t *write = batch->first;
        batch->first = write->next;
        mine.kept = false;
        write->function(write);
        if (CSK_UNLIKELY(csk_process_epoch() != epoch)) {
            if ((mine.kept || batch->first != NULL) && csk_rwlock_is_writing(lock)) csk_rwlock_unlock(lock);
            mine.batch = NULL; /* its writes are the parent's */
            break;
        }
        /* A function that has left the lock itself has lost the place of the writes behind it. */
        if (CSK_UNLIKELY(mine.batch != NULL && !mine.kept)) {
            if (!csk_rwlock_is_writing(lock)) status = csk_rwlock_wrlock(lock);
            csk_rwlock_finish_write(lock);
        }
    } while (mine.batch != NULL);
    (void)status; /* no other thread adopts it, and this one holds nothing */
    free(batch);
}

int csk_rwlock_finish_write(csk_rwlock_t *lock) {
    if (CSK_LIKELY(mine.batch != NULL && mine.lock == lock && mine.epoch == csk_process_epoch())) {
        mine.kept = mine.batch->first != NULL;
        if (mine.kept) return 0;
    }
    int status = csk_rwlock_unlock(lock);
    if (status != 0 || mine.lock != lock) return status;
    mine.lock = NULL; /* it may be gone */
    mine.batch = NULL;
    return 0;
}

/* A function has forked, and returned in the child. What this worker was to run next belongs to the parent, and the
 * child leaves the locks that were granted for it. */
static void give_up_what_comes_next(void) {
    for (csk_rwlock_work_t *work = mine.first; work != NULL; work = (csk_rwlock_work_t *)work->waiter.next_ready)
        csk_rwlock_leave(work->waiter.rwlock, RELEASE_WRITE);
    mine.first = NULL;
}

/* A process leaves its mark in the work while that is queued, so a child may queue it anew. */
static inline uint32_t mark_of_queued(void) { return csk_process_mark() | 1u; }

/* The function may queue the work again, or free it. */
static void call(csk_rwlock_work_t *work, int status) {
    csk_rwlock_work_function_t function = work->function;
    void *context = work->context;
    csk_store(&work->queued, 0u, CSK_RELEASE);
    function(work, context, status);
}

/* Once the work's function has returned, the work and the lock may be gone. */
static void run_one(csk_rwlock_work_t *work) {
    if (work->waiter.function == batch_granted) {
        run_batch((batch_t *)work);
        return;
    }
    csk_rwlock_t *lock = work->waiter.rwlock;
    mine.lock = NULL; /* what is granted meanwhile is for another worker: this one may wait for it */
    int status = csk_rwlock_adopt_section(lock, work->waiter.mode, work->waiter.deadline_ns);
    mine.lock = lock;
    call(work, status);
}

static void run(csk_pool_item_t *item);

/* The rest of a batch goes on with the lock, on another worker. Where the function left the lock to others it goes on
 * without the lock, and then it waits at the end of the queue. Relaxed: the worker that adopts the lock has by the post
 * what was done inside, and no other thread may take it. */
static void go_on_elsewhere(batch_t *batch, csk_rwlock_t *lock) {
    uint64_t found = csk_load(&lock->state, CSK_RELAXED);
    bool writing = csk_rwlock_is_writing(lock);
    if (writing) {
        while (!csk_cas(&lock->state, &found, CSK_GATE_NOBODY | RW_WRITER | (found & RW_FLAGS), CSK_RELAXED)) {}
        csk_cannot_fail(csk_pool_post(&batch->work.item, run));
    } else {
        csk_cannot_fail(csk_rwlock_lock_async(lock, &batch->work.waiter, CSK_RWLOCK_WRITE, CSK_NEVER, batch_granted,
                                              NULL));
    }
}

/* A function has ended its thread inside its section. The section ends too. */
static const void *abandon(csk_pool_frame_t *frame) {
    (void)frame;
    csk_rwlock_t *lock = (csk_rwlock_t *)mine.lock;
    csk_rwlock_work_t *along = mine.first;
    batch_t *batch = mine.batch;
    if (CSK_UNLIKELY(mine.epoch != csk_process_epoch())) {
        /* This is a child: what comes next belongs to the parent. */
        give_up_what_comes_next();
        along = NULL;
        if (batch != NULL) batch->first = NULL;
    }
    mine.lock = NULL;
    mine.first = mine.last = NULL;
    mine.batch = NULL;
    if (batch != NULL && batch->first != NULL) {
        go_on_elsewhere(batch, lock);
    } else {
        free(batch);
        /* This thread must not leave a lock that was granted to others in the meantime. */
        while (lock != NULL && csk_rwlock_is_inside(lock)) csk_rwlock_unlock(lock);
    }
    for (csk_rwlock_work_t *next; along != NULL; along = next) {
        next = (csk_rwlock_work_t *)along->waiter.next_ready;
        csk_cannot_fail(csk_pool_post(&along->item, run));
    }
    return lock;
}

static void run(csk_pool_item_t *item) {
    csk_rwlock_work_t *work = work_of(item);
    uint32_t epoch = csk_process_epoch();
    csk_pool_frame->abandon = abandon;
    mine.epoch = epoch;
    do {
        mine.lock = work->waiter.rwlock;
        run_one(work);
        if (CSK_UNLIKELY(csk_process_epoch() != epoch)) give_up_what_comes_next();
        work = mine.first;
        if (work != NULL) mine.first = (csk_rwlock_work_t *)work->waiter.next_ready;
    } while (work != NULL);
    mine.lock = NULL;
}

static void granted(csk_waiter_t *waiter, void *context, int status) {
    (void)context;
    csk_rwlock_work_t *work = (csk_rwlock_work_t *)waiter;
    if (status != 0) {
        call(work, status);
    } else if (waiter->rwlock != mine.lock || waiter->mode != CSK_RWLOCK_WRITE ||
               CSK_UNLIKELY(mine.epoch != csk_process_epoch())) {
        /* There has been a worker since the work was queued, so this can't fail. */
        csk_cannot_fail(csk_pool_post(&work->item, run));
    } else {
        waiter->next_ready = NULL;
        if (mine.first == NULL) mine.first = work;
        else mine.last->waiter.next_ready = waiter;
        mine.last = work;
    }
}

static void batch_granted(csk_waiter_t *waiter, void *context, int status) { granted(waiter, context, status); }

/* Adds `write` to the last waiter, if that is a batch. Returns whether it did. */
static bool join_last(csk_rwlock_t *lock, csk_rwlock_write_t *write) {
    if (!(csk_load(&lock->state, CSK_RELAXED) & RW_WAITERS)) return false;
    csk_rwlock_lock_queue(lock);
    bool joins = lock->last != NULL && lock->last->function == batch_granted;
    if (joins) {
        batch_t *batch = (batch_t *)lock->last;
        write->next = NULL;
        batch->last->next = write;
        batch->last = write;
        batch->work.waiter.followers++;
        lock->waiting++;
    }
    csk_queue_unlock(&lock->queue_lock);
    return joins;
}

int csk_rwlock_enqueue_write(csk_rwlock_t *lock, csk_rwlock_write_t *write, csk_rwlock_write_function_t function) {
    if (function == NULL) return EINVAL;
    write->function = function;
    if (lock->reader_bias) return ENOTSUP;
    int error = csk_pool_prepare();
    if (error != 0) return error;
    if (join_last(lock, write)) return 0;
    batch_t *batch = malloc(sizeof *batch);
    if (batch == NULL) return ENOMEM;
    *batch = (batch_t){ .work = { .item = { .level = CSK_POOL_NORMAL } }, .first = write, .last = write };
    write->next = NULL;
    error = csk_rwlock_queue_waiter(lock, &batch->work.waiter, CSK_RWLOCK_WRITE, CSK_NEVER, batch_granted, NULL, true);
    if (error != 0) free(batch);
    return error;
}

int csk_rwlock_enqueue(csk_rwlock_t *lock, csk_rwlock_work_t *work, int mode, int64_t deadline_ns,
                       csk_rwlock_work_function_t function, void *context) {
    if (function == NULL) return EINVAL;
    int error = csk_pool_prepare();
    if (error != 0) return error;
    /* A work that is in use is not written to. Acquire: the thread that gave it back has read what is written here. */
    if (csk_exchange(&work->queued, mark_of_queued(), CSK_ACQUIRE) == mark_of_queued()) return EBUSY;
    work->function = function;
    work->context = context;
    work->item.level = CSK_POOL_NORMAL;
    error = csk_rwlock_queue_waiter(lock, &work->waiter, mode, deadline_ns, granted, NULL, false);
    if (error != 0) csk_store(&work->queued, 0u, CSK_RELEASE);
    return error;
}
