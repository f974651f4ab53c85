/* rwlock_write.c: writes that run by themselves, on workers.
 *
 * A write is an asynchronous waiter whose function posts it to the pool; but where a worker grants it by leaving the write before,
 * that worker takes it along, which saves the wake. */
#include "internal/pool.h"
#include "internal/rwlock_queue.h"

static _Thread_local struct {
    bool running;
    csk_rwlock_write_t *first, *last; /* granted on this worker, linked by waiter.next_ready */
} mine __attribute__((tls_model("initial-exec")));

static csk_rwlock_write_t *write_of(csk_pool_item_t *item) {
    return (csk_rwlock_write_t *)((char *)item - offsetof(csk_rwlock_write_t, item));
}

static void run_one(csk_rwlock_write_t *write) {
    csk_rwlock_t *lock = write->waiter.rwlock;
    csk_rwlock_adopt(lock, CSK_RWLOCK_WRITE);
    write->function(write, write->context);
    /* Unless the function has left the lock, or goes on as a reader. */
    if (csk_rwlock_is_writing(lock)) csk_rwlock_unlock(lock);
    else if (csk_rwlock_is_reading(lock)) csk_rwlock_unlock(lock);
}

static void run(csk_pool_item_t *item) {
    csk_rwlock_write_t *write = write_of(item);
    mine.running = true;
    do {
        run_one(write);
        write = mine.first;
        if (write != NULL) mine.first = (csk_rwlock_write_t *)write->waiter.next_ready;
    } while (write != NULL);
    mine.running = false;
}

static void granted(csk_gate_waiter_t *waiter, void *context, int status) {
    (void)context, (void)status;
    csk_rwlock_write_t *write = (csk_rwlock_write_t *)waiter;
    if (!mine.running) {
        /* There is a worker since the write was queued, so this can't fail. */
        csk_pool_post(&write->item, run);
        return;
    }
    waiter->next_ready = NULL;
    if (mine.first == NULL) mine.first = write;
    else mine.last->waiter.next_ready = waiter;
    mine.last = write;
}

int csk_rwlock_enqueue_write(csk_rwlock_t *lock, csk_rwlock_write_t *write, csk_rwlock_write_function_t function, void *context) {
    if (function == NULL) return EINVAL;
    int error = csk_pool_prepare();
    if (error != 0) return error;
    write->function = function;
    write->context = context;
    return csk_rwlock_lock_async(lock, &write->waiter, CSK_RWLOCK_WRITE, CSK_NEVER, granted, NULL);
}
