/* mutex.h: a recursive, owner-checked mutex with deadlines, shaped like pthread's: pthread code moves over by renaming.
 *
 * It is a gate in its one-word form: it may be destroyed and freed by the thread that has just unlocked it, although another
 * thread's unlock has not returned yet, as POSIX demands. Zero-filled memory (CSK_MUTEX_INITIALIZER) is a free mutex.
 *
 * A thread that ends while it holds one leaves it held; who waits for it reports that, see csk_set_reporter in observe.h. No later
 * thread passes for it, whatever memory it gets.
 *
 * Not callable from signal handlers. fork: as with pthread's, the child's thread holds what it held, at the same depth, and
 * may unlock it, also in a handler of pthread_atfork, whoever waits in the parent. A mutex that another thread held stays
 * held in the child and must be initialized anew; one that others only waited for is as good as new. */
#ifndef CSK_MUTEX_H
#define CSK_MUTEX_H

#include "gate.h"

CSK_BEGIN_DECLS

typedef struct csk_mutex {
    csk_gate_t gate;
} csk_mutex_t;

#ifdef __cplusplus
#define CSK_MUTEX_INITIALIZER {}
#else
#define CSK_MUTEX_INITIALIZER { { 0 } }
#endif

CSK_API int csk_mutex_lock_slow(csk_mutex_t *mutex, int64_t deadline_ns);
CSK_API int csk_mutex_unlock_slow(csk_mutex_t *mutex);

/* Makes a free mutex. 0. */
CSK_API int csk_mutex_init(csk_mutex_t *mutex);
/* EBUSY while it is held or waited for. */
CSK_API int csk_mutex_destroy(csk_mutex_t *mutex);

/* Takes the mutex, or one more level of it, by `deadline_ns`: 0, ETIMEDOUT, or EAGAIN at 2^32 levels. */
CSK_MUST_USE static inline int csk_mutex_timedlock(csk_mutex_t *mutex, int64_t deadline_ns) {
    uint64_t found = 0, self = csk_thread_number;
    if (CSK_UNLIKELY(self == CSK_THREAD_UNNUMBERED)) return csk_mutex_lock_slow(mutex, deadline_ns);
    if (CSK_LIKELY(__atomic_compare_exchange_n(&mutex->gate.held, &found, self, 0, __ATOMIC_ACQUIRE, __ATOMIC_RELAXED))) return 0;
    if ((found & ~UINT64_C(7)) == self) {
        if (CSK_UNLIKELY(mutex->gate.depth == UINT32_MAX)) return EAGAIN;
        __atomic_store_n(&mutex->gate.depth, mutex->gate.depth + 1, __ATOMIC_RELAXED);
        return 0;
    }
    return csk_mutex_lock_slow(mutex, deadline_ns);
}
/* The same without a deadline. */
static inline int csk_mutex_lock(csk_mutex_t *mutex) { return csk_mutex_timedlock(mutex, CSK_NEVER); }

/* Never waits: EBUSY when another thread holds it. */
CSK_API CSK_MUST_USE int csk_mutex_trylock(csk_mutex_t *mutex);

/* Gives back one level: 0, or EPERM when the calling thread does not hold it. */
static inline int csk_mutex_unlock(csk_mutex_t *mutex) {
    uint64_t self = csk_thread_number, expected = self;
    /* The depth is the holder's; whoever else reads it fails at the holder. */
    uint32_t depth = __atomic_load_n(&mutex->gate.depth, __ATOMIC_RELAXED);
    if (CSK_LIKELY(depth == 0)) {
        if (CSK_LIKELY(__atomic_compare_exchange_n(&mutex->gate.held, &expected, 0, 0, __ATOMIC_RELEASE, __ATOMIC_RELAXED))) return 0;
        return csk_mutex_unlock_slow(mutex);
    }
    if (CSK_UNLIKELY((__atomic_load_n(&mutex->gate.held, __ATOMIC_RELAXED) & ~UINT64_C(7)) != self)) return EPERM;
    __atomic_store_n(&mutex->gate.depth, depth - 1, __ATOMIC_RELAXED);
    return 0;
}

CSK_END_DECLS

#endif
