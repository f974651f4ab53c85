/* rwlock_async.c: asynchronous waiters at the read-write lock. */
#include "readwrite/rwlock_queue.h"

static int place(void *object, csk_waiter_t *waiter, const csk_request_t *request, csk_effects_t *effects) {
    csk_rwlock_t *lock = object;
    waiter->mode = (uint8_t)request->wants;
    waiter->hand_over = 0;
    waiter->node.rank = 0;
    waiter->followers = 0;
    csk_rwlock_put_in(lock, waiter, false);
    if (lock->coming) csk_rwlock_pass_over(lock, csk_platform_now());
    csk_rwlock_settle(lock, RELEASE_NOTHING, effects);
    if (request->wants == CSK_RWLOCK_WRITE) csk_rwlock_stop_bias(lock);
    return 0;
}

static const csk_way_in_t way_in = { &csk_rwlock_queue_kind, csk_rwlock_lock_for_waiter, NULL, place, false };

int csk_rwlock_queue_waiter(csk_rwlock_t *lock, csk_waiter_t *waiter, int mode, int64_t deadline_ns,
                            csk_waiter_function_t function, void *context, bool stays) {
    if (mode != CSK_RWLOCK_READ && mode != CSK_RWLOCK_WRITE) return EINVAL;
    csk_request_t request = { function, context, deadline_ns, 0, (uint32_t)mode, stays };
    return csk_waiter_come(&way_in, lock, waiter, &request);
}

int csk_rwlock_lock_async(csk_rwlock_t *lock, csk_waiter_t *waiter, int mode, int64_t deadline_ns,
                          csk_waiter_function_t function, void *context) {
    if (lock->reader_bias) return ENOTSUP;
    return csk_rwlock_queue_waiter(lock, waiter, mode, deadline_ns, function, context, false);
}

int csk_rwlock_cancel(csk_rwlock_t *lock, csk_waiter_t *waiter) {
    return csk_waiter_cancel(&csk_rwlock_queue_kind, lock, waiter);
}

/* Takes one of the reads that were granted and not adopted. Returns false when there is none. */
static bool take_read(csk_rwlock_t *lock) {
    uint32_t left = csk_load(&lock->to_adopt, CSK_RELAXED);
    do {
        if (left == 0) return false;
    } while (!csk_cas(&lock->to_adopt, &left, left - 1, CSK_ACQUIRE));
    return true;
}

static void give_back(csk_rwlock_t *lock, int mode) {
    if (mode == CSK_RWLOCK_READ && !lock->reader_bias) take_read(lock);
    csk_rwlock_leave(lock, mode == CSK_RWLOCK_READ ? RELEASE_READ : RELEASE_WRITE);
}

static int adopt_read(csk_rwlock_t *lock) {
    csk_read_t *read = csk_reads_free();
    if (read == NULL) return ENOMEM;
    if (!lock->reader_bias && !take_read(lock)) {
        csk_reads_leave();
        return EINVAL;
    }
    csk_reads_begin(read, lock);
    return 0;
}

int csk_rwlock_adopt(csk_rwlock_t *lock, int mode) {
    if (csk_rwlock_is_inside(lock)) return EDEADLK;
    if (mode == CSK_RWLOCK_WRITE) return csk_rwlock_take_from_nobody(lock) ? 0 : EINVAL;
    if (mode != CSK_RWLOCK_READ || lock->reader_bias || csk_load(&lock->to_adopt, CSK_RELAXED) == 0) return EINVAL;
    return adopt_read(lock);
}

static int adopt_for_section(csk_rwlock_t *lock, int mode, int64_t deadline_ns) {
    if (!lock->reader_bias) return csk_rwlock_adopt(lock, mode);
    if (csk_rwlock_is_inside(lock)) return EDEADLK;
    if (mode == CSK_RWLOCK_WRITE)
        return csk_rwlock_take_from_nobody(lock) ? csk_rwlock_revoke(lock, deadline_ns) : EINVAL;
    int status = adopt_read(lock);
    if (status == 0) csk_rwlock_count_read(lock);
    return status;
}

int csk_rwlock_adopt_section(csk_rwlock_t *lock, int mode, int64_t deadline_ns) {
    int status = adopt_for_section(lock, mode, deadline_ns);
    if (CSK_LIKELY(status == 0)) return 0;
    give_back(lock, mode);
    return status == ENOMEM ? csk_rwlock_timedrdlock(lock, deadline_ns) : status;
}
