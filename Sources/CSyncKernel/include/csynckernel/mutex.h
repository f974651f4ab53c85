/* mutex.h: a recursive, owner-checked mutex with deadlines, in the shape of pthread's, so that code for pthread moves
 * over by renaming.
 *
 * The mutex is a gate in its one-word form. The thread that has just unlocked it may destroy and free it, although
 * another thread's unlock has not returned yet, as POSIX demands. Waiters are granted it in the order of
 * their arrival. Zero-filled memory (CSK_MUTEX_INITIALIZER) is a free mutex.
 *
 * A thread that ends while it holds a mutex leaves it held. With glibc a thread that waits for the mutex reports that:
 * see csk_set_reporter in observe.h. No later thread is taken for the ended one, whatever memory it gets.
 *
 * No function here may be called from a signal handler.
 *
 * fork. As with pthread's mutex, the child's thread holds what it held before, at the same depth, and may unlock it,
 * even if others wait for it in the parent. It may also unlock it in a pthread_atfork handler. A mutex that another
 * thread held stays held in the child and must be initialized anew. A mutex for which other threads only waited may be
 * used at once.
 *
 * Example: a function that may be called with and without the mutex.
 *
 *     #include <csynckernel/csynckernel.h>
 *     #include <stdio.h>
 *
 *     static csk_mutex_t mutex = CSK_MUTEX_INITIALIZER;
 *     static long balance;
 *
 *     static void deposit(long amount) {
 *         csk_mutex_lock(&mutex);
 *         balance += amount;
 *         csk_mutex_unlock(&mutex);
 *     }
 *
 *     int main(void) {
 *         int status = csk_mutex_timedlock(&mutex, csk_deadline_after(csk_s(1)));
 *         if (status != 0) {
 *             fprintf(stderr, "%s\n", csk_status_text(status));
 *             return 1;
 *         }
 *         deposit(5);  // one more level, inside
 *         deposit(-2);
 *         csk_mutex_unlock(&mutex);
 *         printf("%ld\n", balance);
 *         return balance != 3 || csk_mutex_destroy(&mutex) != 0;
 *     }
 */
#ifndef CSK_MUTEX_H
#define CSK_MUTEX_H

#include "gate.h"

CSK_BEGIN_DECLS

typedef struct csk_mutex {
    csk_gate_t gate;
} csk_mutex_t;

#ifdef __cplusplus
#define CSK_MUTEX_INITIALIZER \
    {}
#else
#define CSK_MUTEX_INITIALIZER \
    {                         \
        { 0 }                 \
    }
#endif

/* For the inline functions only. */
CSK_API int csk_mutex_lock_slow(csk_mutex_t *mutex, int64_t deadline_ns);
CSK_API int csk_mutex_unlock_slow(csk_mutex_t *mutex);

/* Makes a free mutex. Always returns 0. */
CSK_API int csk_mutex_init(csk_mutex_t *mutex);
/* Ends the use of a mutex. Returns EBUSY while it is held or waited for. */
CSK_API int csk_mutex_destroy(csk_mutex_t *mutex);

/* Takes the mutex, or one more level of it, and waits until `deadline_ns` at most. Returns 0, ETIMEDOUT, or EAGAIN at
 * 2^32 levels. */
CSK_MUST_USE static inline int csk_mutex_timedlock(csk_mutex_t *mutex, int64_t deadline_ns) {
    uint64_t found = 0, self = csk_thread_number;
    if (CSK_UNLIKELY(self == CSK_THREAD_UNNUMBERED)) return csk_mutex_lock_slow(mutex, deadline_ns);
#ifdef CSK_LOCK_ORDER /* whether it is ordered is decided there: see order.h */
    if (CSK_UNLIKELY(__atomic_load_n(&mutex->gate.summary, __ATOMIC_RELAXED) == 0) && !csk_gate_is_mine(&mutex->gate))
        return csk_mutex_lock_slow(mutex, deadline_ns);
#endif
    if (CSK_LIKELY(__atomic_compare_exchange_n(&mutex->gate.held, &found, self, 0, __ATOMIC_ACQUIRE, __ATOMIC_RELAXED)))
        return 0;
    if ((found & ~UINT64_C(7)) == self) {
        if (CSK_UNLIKELY(mutex->gate.depth == UINT32_MAX)) return EAGAIN;
        __atomic_store_n(&mutex->gate.depth, mutex->gate.depth + 1, __ATOMIC_RELAXED);
        return 0;
    }
    return csk_mutex_lock_slow(mutex, deadline_ns);
}
/* Takes the mutex, or one more level of it, and waits as long as it takes. Returns 0, or EAGAIN at 2^32 levels. */
static inline int csk_mutex_lock(csk_mutex_t *mutex) { return csk_mutex_timedlock(mutex, CSK_NEVER); }

/* Takes the mutex, or one more level of it, if it can without waiting. Returns EBUSY when another thread holds it, or
 * EAGAIN at 2^32 levels. */
CSK_API CSK_MUST_USE int csk_mutex_trylock(csk_mutex_t *mutex);

/* Gives back one level. Returns 0, or EPERM when the calling thread does not hold the mutex. */
static inline int csk_mutex_unlock(csk_mutex_t *mutex) {
    uint64_t self = csk_thread_number, expected = self;
    /* The depth is the holder's. Any other thread that reads it fails at the check of the holder. */
    uint32_t depth = __atomic_load_n(&mutex->gate.depth, __ATOMIC_RELAXED);
    if (CSK_LIKELY(depth == 0)) {
        if (CSK_LIKELY(__atomic_compare_exchange_n(&mutex->gate.held, &expected, 0, 0, __ATOMIC_RELEASE,
                                                   __ATOMIC_RELAXED)))
            return 0;
        return csk_mutex_unlock_slow(mutex);
    }
    if (CSK_UNLIKELY((__atomic_load_n(&mutex->gate.held, __ATOMIC_RELAXED) & ~UINT64_C(7)) != self)) return EPERM;
    __atomic_store_n(&mutex->gate.depth, depth - 1, __ATOMIC_RELAXED);
    return 0;
}

CSK_END_DECLS

CSK_STATIC_ASSERT(sizeof(csk_mutex_t) == 88, "csk_mutex_t is part of the ABI");

#endif
