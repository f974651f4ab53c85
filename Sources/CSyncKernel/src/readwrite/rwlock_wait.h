/* rwlock_wait.h: how a thread enters the read-write lock, by the word alone or after waiting behind others. */
#ifndef CSK_INTERNAL_RWLOCK_WAIT_H
#define CSK_INTERNAL_RWLOCK_WAIT_H

#include "readwrite/rwlock_queue.h"

/* The deadline of the try functions: it has passed, and no clock shows it. */
#define RW_TRY INT64_MIN

/* Enters by the word alone. */
static inline bool csk_rwlock_pass(csk_rwlock_t *lock, int mode, uint64_t self) {
    uint64_t found = csk_load(&lock->state, CSK_RELAXED), entered;
    do {
        /* An upgrading reader comes before all waiters. */
        if (mode != RW_UPGRADE && !csk_rwlock_newcomers_enter(found)) return false;
        entered = csk_rwlock_entered(found & ~RW_FLAGS, mode, self);
        if (entered == 0) return false;
    } while (!csk_cas(&lock->state, &found, entered | (found & RW_FLAGS), CSK_ACQUIRE));
    return true;
}

/* For a thread that could not enter by the word alone. Returns 0, ETIMEDOUT or EDEADLK; EBUSY for RW_TRY. */
int csk_rwlock_enter_contended(csk_rwlock_t *lock, int mode, int64_t deadline_ns, uint64_t self);

#endif
